//! The server's side of NBD as a state machine: bytes in, steps and bytes out. It has no socket, no clock and no data.
//!
//! A step gets the bytes that have arrived and returns how many of them it used; the sizes in which bytes arrive make
//! no difference. The session keeps none of its input, so no client can make it grow.
//!
//! It supports fixed newstyle negotiation and simple replies, with one export under its name and under the empty one.
//!
//! Source: doc/proto.md in github.com/NetworkBlockDevice/nbd.

mod options;
pub mod wire;

use std::sync::Arc;

use wire::{Fields, Refusal};

/// Most bytes of a read, a write, or zeroes that take up space: the protocol's limit for portable clients.
pub const MOST_PAYLOAD: u32 = 32 << 20;

/// Most bytes of an option's data. Names have at most 4096 bytes, so no well-behaved client sends more.
pub const MOST_OPTION: u32 = 8 << 10;

/// Offsets and lengths of requests are multiples of this, as a drive's are.
pub const SECTOR: u32 = 512;

/// What the server offers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Export {
    /// Its name besides the empty one, at most 255 bytes.
    pub name: String,
    /// Its size, positive, a multiple of [`SECTOR`].
    pub size_bytes: u64,
    /// Whether writes and trims are refused.
    pub read_only: bool,
    /// Most bytes of a read, a write, or zeroes that take up space; at most [`MOST_PAYLOAD`].
    pub most_payload: u32,
}

/// What a request does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Command {
    /// Read.
    Read,
    /// Write. Its data came in earlier steps.
    Write,
    /// The data is no longer needed.
    Trim,
    /// Write zeroes.
    Zero {
        /// Whether the zeroes take up space, so that later writes find room.
        provision: bool,
    },
    /// Make earlier writes durable.
    Flush,
}

/// A valid request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Request {
    /// The client's identifier for it.
    pub cookie: u64,
    /// What it does.
    pub command: Command,
    /// Offset: a multiple of [`SECTOR`], within the export. Zero for a flush.
    pub offset_bytes: u64,
    /// Length: positive, a multiple of [`SECTOR`]. Zero for a flush.
    pub length_bytes: u32,
    /// Whether the reply waits until the data is durable.
    pub fua: bool,
}

/// The outcome of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// None yet: it needs more bytes.
    More,
    /// It used bytes. Call it again.
    Again,
    /// Part of a write's data. Its request follows.
    Data {
        /// Offset of the data, within the export.
        offset_bytes: u64,
        /// The data, not empty.
        bytes: &'a [u8],
    },
    /// A request.
    Ask(Request),
    /// A request that must be answered with an error.
    Refuse {
        /// The client's identifier for it.
        cookie: u64,
        /// Why.
        refusal: Refusal,
    },
    /// The client ends the session: answer its requests, then close.
    Finish,
    /// The client violates the protocol: close.
    Drop,
}

#[derive(Debug)]
enum Phase {
    /// The client's flags come next.
    Flags,
    /// An option comes next.
    Options { no_zeroes: bool },
    /// A request comes next.
    Requests,
    /// A write's data comes next.
    Payload {
        request: Request,
        taken: u32,
        refusal: Option<Refusal>,
    },
    /// The session has ended.
    Over(Step<'static>),
}

/// One client's session.
#[derive(Debug)]
pub struct Session {
    export: Arc<Export>,
    phase: Phase,
}

impl Session {
    /// Begins a session and appends the greeting to `output`.
    pub fn new(export: Arc<Export>, output: &mut Vec<u8>) -> Self {
        wire::greeting(output);
        Self {
            export,
            phase: Phase::Flags,
        }
    }

    /// Whether the client may make requests.
    pub fn negotiated(&self) -> bool {
        matches!(self.phase, Phase::Requests | Phase::Payload { .. })
    }

    /// Takes one step. Returns how many bytes of `input` it used, and the outcome. Appends replies to options to
    /// `output`, at most 1 KiB a step. An input of [`MOST_OPTION`] bytes and a header is always enough for a step.
    pub fn step<'a>(&mut self, input: &'a [u8], output: &mut Vec<u8>) -> (usize, Step<'a>) {
        match self.phase {
            Phase::Flags => self.flags(input),
            Phase::Options { no_zeroes } => self.option(no_zeroes, input, output),
            Phase::Requests => self.request(input),
            Phase::Payload {
                request,
                taken,
                refusal,
            } => self.payload(input, request, taken, refusal),
            Phase::Over(step) => (0, step),
        }
    }

    fn over(&mut self, used: usize, step: Step<'static>) -> (usize, Step<'static>) {
        self.phase = Phase::Over(step);
        (used, step)
    }

    fn flags(&mut self, input: &[u8]) -> (usize, Step<'static>) {
        if input.len() < 4 {
            return (0, Step::More);
        }
        let flags = Fields(input).u32();
        if flags & !(wire::FIXED_NEWSTYLE | wire::NO_ZEROES) != 0 {
            return self.over(4, Step::Drop);
        }
        let no_zeroes = flags & wire::NO_ZEROES != 0;
        self.phase = Phase::Options { no_zeroes };
        (4, Step::Again)
    }

    fn request(&mut self, input: &[u8]) -> (usize, Step<'static>) {
        if input.len() < wire::REQUEST_BYTES {
            return (0, Step::More);
        }
        let mut fields = Fields(input);
        let (magic, flags, command) = (fields.u32(), fields.u16(), fields.u16());
        let (cookie, offset_bytes, length_bytes) = (fields.u64(), fields.u64(), fields.u32());
        let used = wire::REQUEST_BYTES;
        // Close after an oversized write: its data cannot be told from requests, or is not worth skipping.
        let oversized = command == wire::CMD_WRITE && length_bytes > self.export.most_payload;
        if magic != wire::REQUEST || oversized {
            return self.over(used, Step::Drop);
        }
        if command == wire::CMD_DISC {
            return self.over(used, Step::Finish);
        }
        let request = |command| Request {
            cookie,
            command,
            offset_bytes,
            length_bytes,
            fua: flags & wire::FLAG_FUA != 0,
        };
        let checked = meaning(command, flags)
            .map(request)
            .and_then(|request| self.check(request));
        if command == wire::CMD_WRITE {
            self.phase = Phase::Payload {
                request: request(Command::Write),
                taken: 0,
                refusal: checked.err(),
            };
            return (used, Step::Again);
        }
        let step = match checked {
            Ok(request) => Step::Ask(request),
            Err(refusal) => Step::Refuse { cookie, refusal },
        };
        (used, step)
    }

    /// Checks that a request fits the export.
    fn check(&self, request: Request) -> Result<Request, Refusal> {
        let (offset, length) = (request.offset_bytes, request.length_bytes);
        let harmless = matches!(request.command, Command::Read | Command::Flush);
        if self.export.read_only && !harmless {
            return Err(Refusal::NotPermitted);
        }
        let beyond = match request.command {
            Command::Flush if offset != 0 || length != 0 => return Err(Refusal::Invalid),
            Command::Flush => return Ok(request),
            Command::Read if length > self.export.most_payload => return Err(Refusal::Invalid),
            Command::Zero { provision: true } if length > self.export.most_payload => {
                return Err(Refusal::Overflow);
            }
            Command::Read | Command::Trim => Refusal::Invalid,
            Command::Write | Command::Zero { .. } => Refusal::NoSpace,
        };
        let sectors = u64::from(SECTOR);
        if length == 0 || !length.is_multiple_of(SECTOR) || !offset.is_multiple_of(sectors) {
            return Err(Refusal::Invalid);
        }
        match offset.checked_add(u64::from(length)) {
            Some(end) if end <= self.export.size_bytes => Ok(request),
            _ => Err(beyond),
        }
    }

    /// Takes data of a write. Skips the data of a refused write up to the next request.
    fn payload<'a>(
        &mut self,
        input: &'a [u8],
        request: Request,
        taken: u32,
        refusal: Option<Refusal>,
    ) -> (usize, Step<'a>) {
        let left = request.length_bytes - taken;
        if left == 0 {
            self.phase = Phase::Requests;
            let cookie = request.cookie;
            let refused = refusal.map(|refusal| Step::Refuse { cookie, refusal });
            return (0, refused.unwrap_or(Step::Ask(request)));
        }
        if input.is_empty() {
            return (0, Step::More);
        }
        let bytes = &input[..input.len().min(left as usize)];
        self.phase = Phase::Payload {
            request,
            taken: taken + bytes.len() as u32,
            refusal,
        };
        let step = match refusal {
            Some(_) => Step::Again,
            None => Step::Data {
                offset_bytes: request.offset_bytes + u64::from(taken),
                bytes,
            },
        };
        (bytes.len(), step)
    }
}

/// Returns the meaning of a command, if these flags are valid for it. Every command may carry FUA, even reads, since
/// some clients send that.
fn meaning(command: u16, flags: u16) -> Result<Command, Refusal> {
    let provision = flags & wire::FLAG_NO_HOLE != 0;
    let (command, known) = match command {
        wire::CMD_READ => (Command::Read, wire::FLAG_FUA),
        wire::CMD_WRITE => (Command::Write, wire::FLAG_FUA),
        wire::CMD_FLUSH => (Command::Flush, wire::FLAG_FUA),
        wire::CMD_TRIM => (Command::Trim, wire::FLAG_FUA),
        wire::CMD_WRITE_ZEROES => {
            let known = wire::FLAG_FUA | wire::FLAG_NO_HOLE;
            (Command::Zero { provision }, known)
        }
        _ => return Err(Refusal::Invalid),
    };
    if flags & !known == 0 {
        Ok(command)
    } else {
        Err(Refusal::Invalid)
    }
}

#[cfg(test)]
mod tests;
