//! Feeds the session valid, invalid and broken messages, in pieces of any size.

use std::sync::Arc;

use proptest::prelude::*;

use super::wire::{self, Fields, Refusal};
use super::{Command, Export, MOST_OPTION, MOST_PAYLOAD, Request, SECTOR, Session, Step};

const SIZE: u64 = 1 << 20;

fn export(size_bytes: u64, read_only: bool) -> Arc<Export> {
    Arc::new(Export {
        name: "drive".into(),
        size_bytes,
        read_only,
        most_payload: MOST_PAYLOAD,
    })
}

/// The outcome of some bytes, with the data of each write joined.
#[derive(Clone, Debug, Default, PartialEq)]
struct Transcript {
    requests: Vec<Request>,
    refusals: Vec<(u64, Refusal)>,
    data: Vec<(u64, u8)>,
    end: Option<Step<'static>>,
    output: Vec<u8>,
}

struct Feeder {
    session: Session,
    pending: Vec<u8>,
    transcript: Transcript,
    size_bytes: u64,
}

impl Feeder {
    fn new(export: Arc<Export>) -> Self {
        let mut transcript = Transcript::default();
        Self {
            size_bytes: export.size_bytes,
            session: Session::new(export, &mut transcript.output),
            pending: Vec::new(),
            transcript,
        }
    }

    /// Feeds bytes as a connection does, and checks every step.
    fn feed(&mut self, bytes: &[u8]) {
        self.pending.extend_from_slice(bytes);
        let mut idle = 0;
        while self.transcript.end.is_none() {
            let before = self.transcript.output.len();
            let (used, step) = self
                .session
                .step(&self.pending, &mut self.transcript.output);
            assert!(used <= self.pending.len());
            assert!(self.transcript.output.len() - before <= 1024);
            // At most two steps in a row use no bytes.
            idle = if used == 0 { idle + 1 } else { 0 };
            assert!(idle < 3);
            match step {
                Step::More => {
                    assert_eq!(used, 0);
                    assert!(self.pending.len() < MOST_OPTION as usize + wire::OPTION_BYTES);
                    return;
                }
                Step::Again => {}
                Step::Data {
                    offset_bytes,
                    bytes,
                } => {
                    assert!(offset_bytes + bytes.len() as u64 <= self.size_bytes);
                    let places = (offset_bytes..).zip(bytes.iter().copied());
                    self.transcript.data.extend(places);
                }
                Step::Ask(request) => {
                    let end = request.offset_bytes + u64::from(request.length_bytes);
                    assert!(end <= self.size_bytes);
                    assert!(request.length_bytes > 0 || request.command == Command::Flush);
                    self.transcript.requests.push(request);
                }
                Step::Refuse { cookie, refusal } => {
                    self.transcript.refusals.push((cookie, refusal))
                }
                Step::Finish => self.transcript.end = Some(Step::Finish),
                Step::Drop => self.transcript.end = Some(Step::Drop),
            }
            self.pending.drain(..used);
        }
    }

    /// Creates a session that accepts requests.
    fn negotiated(export: Arc<Export>) -> Self {
        let mut feeder = Self::new(export);
        feeder.feed(&hello());
        feeder.feed(&go("drive"));
        assert!(feeder.session.negotiated());
        feeder.transcript = Transcript::default();
        feeder
    }

    /// Returns the session's answer to one request without data.
    fn asks(&mut self, flags: u16, command: u16, offset: u64, length: u32) -> Transcript {
        self.transcript = Transcript::default();
        self.feed(&request(flags, command, offset, length));
        self.transcript.clone()
    }
}

fn hello() -> Vec<u8> {
    let flags = wire::FIXED_NEWSTYLE | wire::NO_ZEROES;
    flags.to_be_bytes().to_vec()
}

fn option(option: u32, data: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::option(&mut bytes, option, data);
    bytes
}

fn go(name: &str) -> Vec<u8> {
    let mut data = (name.len() as u32).to_be_bytes().to_vec();
    data.extend(name.as_bytes());
    data.extend([0, 0]);
    option(wire::OPT_GO, &data)
}

fn request(flags: u16, command: u16, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::request(&mut bytes, flags, command, 7, offset, length);
    bytes
}

/// Returns the kinds of the replies to options.
fn replies(mut output: &[u8]) -> Vec<u32> {
    let mut kinds = Vec::new();
    while !output.is_empty() {
        let mut fields = Fields(output);
        assert_eq!(fields.u64(), wire::OPTION_REPLY);
        let (_, kind, length) = (fields.u32(), fields.u32(), fields.u32());
        kinds.push(kind);
        output = &output[20 + length as usize..];
    }
    kinds
}

/// Draws a client's message: mostly valid, so that the session gets far.
fn message() -> impl Strategy<Value = Vec<u8>> {
    let sensible = (0u64..2100, 1u32..64, 0u16..10, any::<u16>()).prop_map(
        |(sector, sectors, command, flags)| {
            let (offset, length) = (sector * u64::from(SECTOR), sectors * SECTOR);
            let mut bytes = request(flags & 3, command, offset, length);
            if command == wire::CMD_WRITE {
                bytes.resize(bytes.len() + length as usize, flags as u8);
            }
            bytes
        },
    );
    let odd = (any::<u16>(), any::<u16>(), any::<u64>(), any::<u32>())
        .prop_map(|(flags, command, offset, length)| request(flags, command, offset, length));
    let options = (0u32..12, prop::collection::vec(any::<u8>(), 0..40))
        .prop_map(|(number, data)| option(number, &data));
    let noise = prop::collection::vec(any::<u8>(), 0..100);
    prop_oneof![12 => sensible, 1 => odd, 1 => options, 1 => noise]
}

/// Draws a client's messages; most negotiate correctly.
fn conversation() -> impl Strategy<Value = Vec<u8>> {
    let messages = prop::collection::vec(message(), 0..12);
    (prop::bool::weighted(0.9), messages).prop_map(|(polite, messages)| {
        let mut bytes = Vec::new();
        if polite {
            bytes.extend(hello());
            bytes.extend(go(""));
        }
        bytes.extend(messages.concat());
        bytes
    })
}

proptest! {
    #[test]
    fn the_sizes_in_which_bytes_arrive_make_no_difference(
        bytes in conversation(),
        read_only in any::<bool>(),
        cuts in prop::collection::vec(1usize..3000, 1..20),
    ) {
        let mut uncut = Feeder::new(export(SIZE, read_only));
        uncut.feed(&bytes);
        let mut cut = Feeder::new(export(SIZE, read_only));
        let mut rest = &bytes[..];
        for length in cuts.iter().cycle() {
            let (head, tail) = rest.split_at(rest.len().min(*length));
            cut.feed(head);
            rest = tail;
            if rest.is_empty() {
                break;
            }
        }
        prop_assert_eq!(uncut.transcript, cut.transcript);
    }

    #[test]
    fn garbage_after_any_valid_prefix_is_harmless(
        beginning in 0usize..200,
        noise in prop::collection::vec(any::<u8>(), 0..20_000),
    ) {
        let polite = [hello(), go("drive"), request(0, wire::CMD_READ, 0, 512)].concat();
        let mut feeder = Feeder::new(export(SIZE, false));
        feeder.feed(&polite[..beginning.min(polite.len())]);
        feeder.feed(&noise);
    }
}

#[test]
fn single_bytes_lead_to_the_same_steps() {
    let mut bytes = [hello(), option(wire::OPT_LIST, &[]), go("drive")].concat();
    bytes.extend(request(0, wire::CMD_WRITE, 512, 1024));
    bytes.extend([9; 1024]);
    bytes.extend(request(wire::FLAG_FUA, wire::CMD_FLUSH, 0, 0));
    bytes.extend(request(0, wire::CMD_DISC, 0, 0));
    let mut feeder = Feeder::new(export(SIZE, false));
    for byte in &bytes {
        feeder.feed(&[*byte]);
    }
    let commands = feeder
        .transcript
        .requests
        .iter()
        .map(|request| request.command);
    assert!(commands.eq([Command::Write, Command::Flush]));
    assert_eq!(feeder.transcript.data.len(), 1024);
    assert_eq!(feeder.transcript.end, Some(Step::Finish));
}

#[test]
fn an_unknown_option_is_refused_and_the_session_continues() {
    let mut feeder = Feeder::new(export(SIZE, false));
    feeder.feed(&hello());
    // These include TLS, structured replies and metadata.
    for number in [0, 4, 5, 8, 9, 10, 11, u32::MAX] {
        feeder.transcript.output.clear();
        feeder.feed(&option(number, &[1; 100]));
        assert_eq!(replies(&feeder.transcript.output), [wire::REP_ERR_UNSUP]);
    }
    feeder.feed(&go("drive"));
    assert!(feeder.session.negotiated());
}

#[test]
fn only_the_exports_names_are_accepted() {
    for name in ["other", "driv", "drives", "drive\0", "../drive", "*"] {
        let mut feeder = Feeder::new(export(SIZE, false));
        feeder.feed(&hello());
        feeder.transcript.output.clear();
        feeder.feed(&go(name));
        assert_eq!(replies(&feeder.transcript.output), [wire::REP_ERR_UNKNOWN]);
        assert!(!feeder.session.negotiated());
        feeder.feed(&option(wire::OPT_EXPORT_NAME, name.as_bytes()));
        assert_eq!(feeder.transcript.end, Some(Step::Drop), "{name}");
    }
}

#[test]
fn lengths_inside_an_option_are_not_trusted() {
    for data in [
        &[][..],
        &[0, 0, 0, 5, b'd'],
        &[0xff, 0xff, 0xff, 0xff, 0, 0],
        &[0, 0, 0, 0, 0xff, 0xff],
        &[0, 0, 0, 0, 0],
    ] {
        let mut feeder = Feeder::new(export(SIZE, false));
        feeder.feed(&hello());
        feeder.transcript.output.clear();
        feeder.feed(&option(wire::OPT_GO, data));
        assert_eq!(replies(&feeder.transcript.output), [wire::REP_ERR_INVALID]);
    }
    for length in [MOST_OPTION + 1, u32::MAX] {
        let mut feeder = Feeder::new(export(SIZE, false));
        feeder.feed(&hello());
        let mut header = option(wire::OPT_GO, &[]);
        header[12..].copy_from_slice(&length.to_be_bytes());
        feeder.feed(&header);
        assert_eq!(feeder.transcript.end, Some(Step::Drop));
    }
}

#[test]
fn lengths_up_to_4_gib_are_refused_where_they_cannot_be_served() {
    let huge = 1 << 40;
    let sectors = u32::MAX - u32::MAX % SECTOR;
    let mut feeder = Feeder::negotiated(export(huge, false));
    let refusals = |transcript: Transcript| transcript.refusals;
    let read = refusals(feeder.asks(0, wire::CMD_READ, 0, sectors));
    assert_eq!(read, [(7, Refusal::Invalid)]);
    let held = wire::FLAG_NO_HOLE;
    let zero = refusals(feeder.asks(held, wire::CMD_WRITE_ZEROES, 0, sectors));
    assert_eq!(zero, [(7, Refusal::Overflow)]);
    // Holes of any size cost nothing.
    for command in [wire::CMD_TRIM, wire::CMD_WRITE_ZEROES] {
        let transcript = feeder.asks(0, command, huge - u64::from(sectors), sectors);
        assert_eq!(transcript.requests.len(), 1);
    }
    assert_eq!(
        feeder
            .asks(0, wire::CMD_READ, 0, MOST_PAYLOAD)
            .requests
            .len(),
        1
    );
    let write = feeder.asks(0, wire::CMD_WRITE, 0, u32::MAX);
    assert_eq!(write.end, Some(Step::Drop));
}

#[test]
fn requests_beyond_the_end_are_refused() {
    let mut feeder = Feeder::negotiated(export(SIZE, false));
    for offset in [SIZE - 512, SIZE, 1 << 63, u64::MAX - 511] {
        let read = feeder.asks(0, wire::CMD_READ, offset, 1024);
        assert_eq!(read.refusals, [(7, Refusal::Invalid)]);
        let zero = feeder.asks(0, wire::CMD_WRITE_ZEROES, offset, 1024);
        assert_eq!(zero.refusals, [(7, Refusal::NoSpace)]);
    }
    for (offset, length) in [(1, 512), (0, 511), (0, 0)] {
        let read = feeder.asks(0, wire::CMD_READ, offset, length);
        assert_eq!(read.refusals, [(7, Refusal::Invalid)]);
    }
}

#[test]
fn the_data_of_a_refused_write_is_skipped() {
    let mut feeder = Feeder::negotiated(export(SIZE, false));
    feeder.feed(&request(0, wire::CMD_WRITE, SIZE, 1024));
    feeder.feed(&[0xff; 1024]);
    feeder.feed(&request(0, wire::CMD_READ, 0, 512));
    assert_eq!(feeder.transcript.refusals, [(7, Refusal::NoSpace)]);
    assert_eq!(feeder.transcript.data, []);
    assert_eq!(feeder.transcript.requests.len(), 1);
}

#[test]
fn a_read_only_export_can_only_be_read() {
    let mut feeder = Feeder::negotiated(export(SIZE, true));
    for command in [wire::CMD_TRIM, wire::CMD_WRITE_ZEROES] {
        let transcript = feeder.asks(0, command, 0, 512);
        assert_eq!(transcript.refusals, [(7, Refusal::NotPermitted)]);
    }
    feeder.feed(&request(0, wire::CMD_WRITE, 0, 512));
    feeder.feed(&[1; 512]);
    assert_eq!(
        feeder.transcript.refusals.last(),
        Some(&(7, Refusal::NotPermitted))
    );
    assert_eq!(feeder.transcript.data, []);
    assert_eq!(feeder.asks(0, wire::CMD_READ, 0, 512).requests.len(), 1);
    assert_eq!(feeder.asks(0, wire::CMD_FLUSH, 0, 0).requests.len(), 1);
}

#[test]
fn commands_and_flags_that_were_not_offered_are_refused() {
    let mut feeder = Feeder::negotiated(export(SIZE, false));
    for (flags, command) in [(0, 5), (0, 7), (0, 0xffff), (1 << 2, 0), (1 << 4, 6)] {
        let transcript = feeder.asks(flags, command, 0, 512);
        assert_eq!(
            transcript.refusals,
            [(7, Refusal::Invalid)],
            "{flags} {command}"
        );
    }
}
