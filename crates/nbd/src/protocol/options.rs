//! The options that a client may send before it makes requests, and their replies.

use super::wire::{self, Fields};
use super::{MOST_OPTION, Phase, SECTOR, Session, Step};

/// The preferred size of requests, bytes.
const PREFERRED: u32 = 4096;

impl Session {
    pub(super) fn option(
        &mut self,
        no_zeroes: bool,
        input: &[u8],
        output: &mut Vec<u8>,
    ) -> (usize, Step<'static>) {
        if input.len() < wire::OPTION_BYTES {
            return (0, Step::More);
        }
        let mut fields = Fields(input);
        let (magic, option, length) = (fields.u64(), fields.u32(), fields.u32());
        if magic != wire::OPTION || length > MOST_OPTION {
            return self.over(wire::OPTION_BYTES, Step::Drop);
        }
        let Some(data) = fields.0.get(..length as usize) else {
            return (0, Step::More);
        };
        let used = wire::OPTION_BYTES + data.len();
        match option {
            wire::OPT_EXPORT_NAME if !self.is_named(data) => return self.over(used, Step::Drop),
            wire::OPT_EXPORT_NAME => {
                self.describe(output);
                let zeroes = if no_zeroes { 0 } else { 124 };
                output.resize(output.len() + zeroes, 0);
                self.phase = Phase::Requests;
            }
            wire::OPT_ABORT => {
                wire::option_reply(output, option, wire::REP_ACK, &[]);
                return self.over(used, Step::Finish);
            }
            wire::OPT_LIST if data.is_empty() => {
                let name = self.export.name.as_bytes();
                let length = (name.len() as u32).to_be_bytes();
                wire::option_reply(output, option, wire::REP_SERVER, &[&length, name]);
                wire::option_reply(output, option, wire::REP_ACK, &[]);
            }
            wire::OPT_LIST => wire::option_reply(output, option, wire::REP_ERR_INVALID, &[]),
            wire::OPT_INFO | wire::OPT_GO => self.inform(option, data, output),
            _ => wire::option_reply(output, option, wire::REP_ERR_UNSUP, &[]),
        }
        (used, Step::Again)
    }

    fn is_named(&self, name: &[u8]) -> bool {
        name.is_empty() || name == self.export.name.as_bytes()
    }

    /// Appends size and flags.
    fn describe(&self, output: &mut Vec<u8>) {
        output.extend(self.export.size_bytes.to_be_bytes());
        let read_only = if self.export.read_only {
            wire::READ_ONLY
        } else {
            0
        };
        output.extend((wire::TRANSMISSION_FLAGS | read_only).to_be_bytes());
    }

    /// Replies with all information about the export, and begins the transmission if the option is GO.
    fn inform(&mut self, option: u32, data: &[u8], output: &mut Vec<u8>) {
        let Some(name) = name_of(data) else {
            return wire::option_reply(output, option, wire::REP_ERR_INVALID, &[]);
        };
        if !self.is_named(name) {
            return wire::option_reply(output, option, wire::REP_ERR_UNKNOWN, &[]);
        }
        let mut export = wire::INFO_EXPORT.to_be_bytes().to_vec();
        self.describe(&mut export);
        wire::option_reply(output, option, wire::REP_INFO, &[&export]);
        let mut sizes = wire::INFO_BLOCK_SIZE.to_be_bytes().to_vec();
        for size in [SECTOR, PREFERRED, self.export.most_payload] {
            sizes.extend(size.to_be_bytes());
        }
        wire::option_reply(output, option, wire::REP_INFO, &[&sizes]);
        let name = [
            &wire::INFO_NAME.to_be_bytes()[..],
            self.export.name.as_bytes(),
        ];
        wire::option_reply(output, option, wire::REP_INFO, &name);
        wire::option_reply(output, option, wire::REP_ACK, &[]);
        if option == wire::OPT_GO {
            self.phase = Phase::Requests;
        }
    }
}

/// Returns the name in the data of `INFO` and `GO`. The data is the name's length, the name, a count, and that many
/// 16-bit numbers.
fn name_of(data: &[u8]) -> Option<&[u8]> {
    let (length, rest) = data.split_first_chunk()?;
    let (name, rest) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
    let (count, rest) = rest.split_first_chunk()?;
    (rest.len() == 2 * usize::from(u16::from_be_bytes(*count))).then_some(name)
}
