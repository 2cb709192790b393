//! The line before the drive: which requests it has, and which still wait to be given to it.
//!
//! A drive does not give back what it was given. So it gets requests in pieces, and only so many at a time as keep it
//! busy; what waits behind them belongs to its connection and goes with it. Connections take turns, piece by piece.

use iogauge_core::Nanos;

use crate::protocol::{Command, Request};

/// What one piece of a read or a write holds at most, bytes.
pub(crate) const PIECE: u32 = 1 << 20;
/// What the pieces in the drive hold together at most, bytes: enough that any drive is busy while the next ones come.
pub(crate) const MOST_BYTES: u64 = 8 << 20;
/// Pieces in the drive at most: as many commands as Linux has in flight on a queue of an NVMe drive.
pub(crate) const MOST_PIECES: usize = 1024;

/// A request that is not answered, and how much of it the drive was given.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Flight {
    /// When it came.
    pub(crate) came: Nanos,
    pub(crate) request: Request,
    /// Bytes that the drive was given, from the first on.
    given_bytes: u32,
    /// Whether the drive was given all of it.
    all_given: bool,
    /// Its pieces that the drive has.
    inside: u32,
}

impl Flight {
    /// A request that came at an instant.
    pub(crate) fn new(came: Nanos, request: Request) -> Self {
        Self {
            came,
            request,
            given_bytes: 0,
            all_given: false,
            inside: 0,
        }
    }

    /// The next piece for the drive. Trims and flushes move no data, and are one piece.
    pub(crate) fn next_piece(&self) -> Request {
        let moves_data = matches!(
            self.request.command,
            Command::Read | Command::Write | Command::Zero { provision: true }
        );
        let left = self.request.length_bytes - self.given_bytes;
        Request {
            offset_bytes: self.request.offset_bytes + u64::from(self.given_bytes),
            length_bytes: if moves_data { left.min(PIECE) } else { left },
            ..self.request
        }
    }

    /// The drive gets the next piece.
    pub(crate) fn give(&mut self) {
        self.given_bytes += self.next_piece().length_bytes;
        self.all_given = self.given_bytes == self.request.length_bytes;
        self.inside += 1;
    }

    /// Whether the drive was given all of it.
    pub(crate) fn is_given(&self) -> bool {
        self.all_given
    }

    /// The drive is done with a piece.
    pub(crate) fn take_back(&mut self) {
        self.inside -= 1;
    }

    /// Whether the drive has none of it.
    pub(crate) fn is_outside(&self) -> bool {
        self.inside == 0
    }
}

/// A piece that the drive has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Owner {
    /// The connection's index.
    pub(crate) connection: usize,
    /// The request's place there.
    pub(crate) place: u32,
    bytes: u64,
}

/// The pieces that the drive has, by their tickets.
#[derive(Debug)]
pub(crate) struct Inside {
    owners: Vec<Option<Owner>>,
    free: Vec<u32>,
    most_pieces: usize,
    bytes: u64,
}

impl Inside {
    /// Nothing yet. A drive that lets in `queue` commands at a time gets twice as many pieces, so that one is at hand
    /// whenever another is done; `None`: it lets in more than any host has.
    pub(crate) fn new(queue: Option<u32>) -> Self {
        let most_pieces = queue.map_or(MOST_PIECES, |queue| MOST_PIECES.min(2 * queue as usize));
        Self {
            owners: Vec::new(),
            free: Vec::new(),
            most_pieces,
            bytes: 0,
        }
    }

    /// Whether the drive may get a piece now. One that is larger than all room enters alone.
    pub(crate) fn has_room(&self, piece: &Request) -> bool {
        let pieces = self.owners.len() - self.free.len();
        let bytes = self.bytes + u64::from(piece.length_bytes);
        pieces == 0 || (pieces < self.most_pieces && bytes <= MOST_BYTES)
    }

    /// The drive gets a piece of the request at a place of a connection: returns its ticket.
    pub(crate) fn enter(&mut self, connection: usize, place: u32, piece: &Request) -> u64 {
        let ticket = self.free.pop().unwrap_or_else(|| {
            self.owners.push(None);
            self.owners.len() as u32 - 1
        });
        let bytes = u64::from(piece.length_bytes);
        self.bytes += bytes;
        self.owners[ticket as usize] = Some(Owner {
            connection,
            place,
            bytes,
        });
        ticket.into()
    }

    /// The drive is done with a piece: returns whose it was.
    pub(crate) fn leave(&mut self, ticket: u64) -> Owner {
        let owner = self.owners[ticket as usize].take();
        let owner = owner.expect("the drive returns each ticket once");
        self.free.push(ticket as u32);
        self.bytes -= owner.bytes;
        owner
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn request(command: Command, length_bytes: u32) -> Request {
        Request {
            cookie: 1,
            command,
            offset_bytes: 4096,
            length_bytes,
            fua: false,
        }
    }

    /// Offsets and lengths of the pieces that a request becomes.
    fn pieces(command: Command, length_bytes: u32) -> Vec<(u64, u32)> {
        let mut flight = Flight::new(0, request(command, length_bytes));
        let mut found = Vec::new();
        while !flight.is_given() {
            let piece = flight.next_piece();
            found.push((piece.offset_bytes, piece.length_bytes));
            flight.give();
        }
        assert!(!flight.is_outside());
        (0..found.len()).for_each(|_| flight.take_back());
        assert!(flight.is_outside());
        found
    }

    #[test]
    fn data_moves_in_pieces_and_all_of_it_once() {
        assert_eq!(pieces(Command::Read, 512), [(4096, 512)]);
        let first = u64::from(PIECE) + 4096;
        let expected = [
            (4096, PIECE),
            (first, PIECE),
            (first + u64::from(PIECE), 512),
        ];
        assert_eq!(pieces(Command::Write, 2 * PIECE + 512), expected);
        let zeroes = Command::Zero { provision: true };
        assert_eq!(pieces(zeroes, 2 * PIECE).len(), 2);
        assert_eq!(pieces(Command::Trim, 1 << 30), [(4096, 1 << 30)]);
        assert_eq!(pieces(Command::Flush, 0), [(4096, 0)]);
    }

    #[test]
    fn the_drive_has_no_more_than_its_bounds() {
        let mut inside = Inside::new(None);
        let large = request(Command::Read, PIECE);
        let mut tickets = Vec::new();
        while inside.has_room(&large) {
            tickets.push(inside.enter(3, 7, &large));
        }
        assert_eq!(tickets.len() as u64, MOST_BYTES / u64::from(PIECE));
        let owner = inside.leave(tickets[0]);
        assert_eq!((owner.connection, owner.place), (3, 7));
        assert!(inside.has_room(&large));
        let small = request(Command::Read, 512);
        let mut tagged = Inside::new(Some(32));
        while tagged.has_room(&small) {
            tagged.enter(0, 0, &small);
        }
        assert_eq!(tagged.owners.len(), 64);
    }

    #[test]
    fn what_is_larger_than_all_room_enters_alone() {
        let trim = request(Command::Trim, 1 << 30);
        let mut inside = Inside::new(None);
        assert!(inside.has_room(&trim));
        let ticket = inside.enter(0, 0, &trim);
        assert!(!inside.has_room(&request(Command::Flush, 0)));
        inside.leave(ticket);
        inside.enter(0, 0, &request(Command::Read, 512));
        assert!(!inside.has_room(&trim));
    }
}
