//! The constants of the protocol and the encoding of its messages, which are big-endian.
//!
//! Source: doc/proto.md in github.com/NetworkBlockDevice/nbd, "Values".

/// ASCII `NBDMAGIC`.
pub const GREETING: u64 = 0x4e42_444d_4147_4943;
/// ASCII `IHAVEOPT`: before every option.
pub const OPTION: u64 = 0x4948_4156_454f_5054;
/// Before every reply to an option.
pub const OPTION_REPLY: u64 = 0x0003_e889_0455_65a9;
/// Before every request.
pub const REQUEST: u32 = 0x2560_9513;
/// Before every reply to a request.
pub const SIMPLE_REPLY: u32 = 0x6744_6698;

/// Both sides speak the fixed newstyle negotiation.
pub const FIXED_NEWSTYLE: u32 = 1;
/// No 124 zeroes follow the reply to [`OPT_EXPORT_NAME`].
pub const NO_ZEROES: u32 = 1 << 1;

/// Choose an export, and begin.
pub const OPT_EXPORT_NAME: u32 = 1;
/// End the session.
pub const OPT_ABORT: u32 = 2;
/// List the exports.
pub const OPT_LIST: u32 = 3;
/// Describe an export.
pub const OPT_INFO: u32 = 6;
/// Describe an export, and begin.
pub const OPT_GO: u32 = 7;

/// The option is accepted, and the reply over.
pub const REP_ACK: u32 = 1;
/// Names an export.
pub const REP_SERVER: u32 = 2;
/// Describes an export.
pub const REP_INFO: u32 = 3;
/// The option is unknown, or not offered.
pub const REP_ERR_UNSUP: u32 = 0x8000_0001;
/// The option's data is malformed.
pub const REP_ERR_INVALID: u32 = 0x8000_0003;
/// There is no such export.
pub const REP_ERR_UNKNOWN: u32 = 0x8000_0006;

/// Size and flags.
pub const INFO_EXPORT: u16 = 0;
/// The name.
pub const INFO_NAME: u16 = 1;
/// Smallest, preferred and largest request.
pub const INFO_BLOCK_SIZE: u16 = 3;

/// The features of the export: flush, forced unit access, trim, write zeroes, several connections.
pub const TRANSMISSION_FLAGS: u16 = 1 | 1 << 2 | 1 << 3 | 1 << 5 | 1 << 6 | 1 << 8;
/// Added for a read-only export.
pub const READ_ONLY: u16 = 1 << 1;

/// Read.
pub const CMD_READ: u16 = 0;
/// Write; the data follows.
pub const CMD_WRITE: u16 = 1;
/// Disconnect.
pub const CMD_DISC: u16 = 2;
/// Flush.
pub const CMD_FLUSH: u16 = 3;
/// Trim.
pub const CMD_TRIM: u16 = 4;
/// Write zeroes.
pub const CMD_WRITE_ZEROES: u16 = 6;

/// The reply waits until the data is durable.
pub const FLAG_FUA: u16 = 1;
/// Zeroes take up space.
pub const FLAG_NO_HOLE: u16 = 1 << 1;

/// Bytes of a request without its data.
pub const REQUEST_BYTES: usize = 28;
/// Bytes of an option without its data.
pub const OPTION_BYTES: usize = 16;

/// Why a request fails, with the protocol's error numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Refusal {
    /// The export is read-only.
    NotPermitted = 1,
    /// The data could not be moved.
    Io = 5,
    /// The request is malformed.
    Invalid = 22,
    /// The request lies beyond the end, or there is no room for its data.
    NoSpace = 28,
    /// The request asks for too much at once.
    Overflow = 75,
}

/// Appends the server's first message.
pub fn greeting(to: &mut Vec<u8>) {
    to.extend(GREETING.to_be_bytes());
    to.extend(OPTION.to_be_bytes());
    to.extend(((FIXED_NEWSTYLE | NO_ZEROES) as u16).to_be_bytes());
}

/// Appends a reply to an option.
pub fn option_reply(to: &mut Vec<u8>, option: u32, kind: u32, data: &[&[u8]]) {
    let length: usize = data.iter().map(|part| part.len()).sum();
    to.extend(OPTION_REPLY.to_be_bytes());
    to.extend(option.to_be_bytes());
    to.extend(kind.to_be_bytes());
    to.extend((length as u32).to_be_bytes());
    for part in data {
        to.extend_from_slice(part);
    }
}

/// Appends a reply to a request, without the data of a read.
pub fn simple_reply(to: &mut Vec<u8>, cookie: u64, refusal: Option<Refusal>) {
    to.extend(SIMPLE_REPLY.to_be_bytes());
    to.extend(refusal.map_or(0, |why| why as u32).to_be_bytes());
    to.extend(cookie.to_be_bytes());
}

/// Appends a request, without the data of a write.
pub fn request(to: &mut Vec<u8>, flags: u16, command: u16, cookie: u64, offset: u64, length: u32) {
    to.extend(REQUEST.to_be_bytes());
    to.extend(flags.to_be_bytes());
    to.extend(command.to_be_bytes());
    to.extend(cookie.to_be_bytes());
    to.extend(offset.to_be_bytes());
    to.extend(length.to_be_bytes());
}

/// Appends an option.
pub fn option(to: &mut Vec<u8>, option: u32, data: &[u8]) {
    to.extend(OPTION.to_be_bytes());
    to.extend(option.to_be_bytes());
    to.extend((data.len() as u32).to_be_bytes());
    to.extend(data);
}

/// Takes big-endian numbers from the front of a slice. Panics if it is too short.
pub struct Fields<'a>(pub &'a [u8]);

impl Fields<'_> {
    fn take<const N: usize>(&mut self) -> [u8; N] {
        let (head, rest) = self.0.split_first_chunk().expect("the length was checked");
        self.0 = rest;
        *head
    }

    /// Takes two bytes.
    pub fn u16(&mut self) -> u16 {
        u16::from_be_bytes(self.take())
    }

    /// Takes four bytes.
    pub fn u32(&mut self) -> u32 {
        u32::from_be_bytes(self.take())
    }

    /// Takes eight bytes.
    pub fn u64(&mut self) -> u64 {
        u64::from_be_bytes(self.take())
    }
}
