//! The ledger of one request, and the ledgers of requests whose end a drive knows.

use std::collections::BTreeMap;

use iogauge_core::Nanos;

use super::part::Part;

/// Takes notes of where a request is, in the order of time.
pub trait Ledger: Copy {
    /// Whether it keeps the notes.
    const KEEPS: bool;
    /// Notes that the request is in `part` from the last noted instant until `at`, ns. Does nothing if `at` is not
    /// later.
    fn until(&mut self, part: Part, at: f64);
}

/// The ledger of a request that nobody explains.
impl Ledger for () {
    const KEEPS: bool = false;

    #[inline(always)]
    fn until(&mut self, _: Part, _: f64) {}
}

/// What a request spent its time on.
///
/// Instants are rounded to nanoseconds before their differences are taken, so that parts always add up.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spent {
    began: Nanos,
    until: f64,
    last: Part,
    parts: [Nanos; Part::COUNT],
}

impl Spent {
    /// Begins the ledger of a request at `began`.
    pub fn since(began: Nanos) -> Self {
        Self {
            began,
            until: began as f64,
            last: Part::Submit,
            parts: [0; Part::COUNT],
        }
    }

    /// Returns when the request began.
    pub(crate) fn began(&self) -> Nanos {
        self.began
    }

    /// Returns the last noted instant.
    pub(crate) fn noted_until(&self) -> f64 {
        self.until
    }

    /// Returns the time of each part, ns.
    pub fn parts(&self) -> &[Nanos; Part::COUNT] {
        &self.parts
    }

    /// Returns the time of a part, ns.
    pub fn of(&self, part: Part) -> Nanos {
        self.parts[part as usize]
    }

    /// Returns the time of all parts, ns.
    pub fn total(&self) -> Nanos {
        self.parts.iter().sum()
    }

    /// Ends the ledger at `at`. What is left, a fraction of a nanosecond, belongs to the last part.
    pub(crate) fn end(&mut self, at: Nanos) {
        self.until(self.last, at as f64);
    }

    /// Continues with the ledger of a later piece of the same request. The request waits in `between` until that begins.
    pub(crate) fn append(&mut self, between: Part, later: &Spent) {
        self.until(between, later.began as f64);
        for (part, more) in self.parts.iter_mut().zip(later.parts) {
            *part += more;
        }
        (self.until, self.last) = (later.until, later.last);
    }
}

impl Ledger for Spent {
    const KEEPS: bool = true;

    fn until(&mut self, part: Part, at: f64) {
        if at > self.until {
            self.parts[part as usize] += rounded(at) - rounded(self.until);
            (self.until, self.last) = (at, part);
        }
    }
}

fn rounded(at: f64) -> Nanos {
    libm::round(at) as Nanos
}

/// The ledgers of requests whose end a drive knows, until somebody takes them.
#[derive(Debug, Default)]
pub(crate) struct Book(BTreeMap<(u64, Nanos), Spent>);

impl Book {
    /// Keeps the ledger of the request `ticket`, which ends at `at`.
    pub(crate) fn keep(&mut self, ticket: u64, at: Nanos, mut spent: Spent) {
        spent.end(at);
        self.0.insert((ticket, at), spent);
    }

    /// Takes the ledger of the request that ended at `at`. Forgets all others of its ticket: pieces of a split request
    /// share one, and only the last to return counts.
    pub(crate) fn take(&mut self, ticket: u64, at: Nanos) -> Option<Spent> {
        let taken = self.0.remove(&(ticket, at));
        let others = self.0.range((ticket, 0)..=(ticket, Nanos::MAX));
        let others: Vec<(u64, Nanos)> = others.map(|(&key, _)| key).collect();
        for other in others {
            self.0.remove(&other);
        }
        taken
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_however_instants_are_rounded() {
        let mut spent = Spent::since(10);
        spent.until(Part::Queue, 12.4);
        spent.until(Part::Pipe, 12.6);
        spent.until(Part::Link, 11.0);
        spent.until(Part::Fixed, 15.3);
        spent.end(16);
        assert_eq!(
            [Part::Queue, Part::Pipe, Part::Link, Part::Fixed].map(|part| spent.of(part)),
            [2, 1, 0, 3]
        );
        assert_eq!(spent.total(), 6);
    }

    #[test]
    fn a_later_piece_is_appended_with_the_time_between() {
        let mut spent = Spent::since(0);
        spent.until(Part::Pipe, 5.0);
        let mut later = Spent::since(7);
        later.until(Part::Flush, 9.0);
        spent.append(Part::Entry, &later);
        spent.end(10);
        assert_eq!((spent.of(Part::Pipe), spent.of(Part::Entry)), (5, 2));
        assert_eq!((spent.of(Part::Flush), spent.total()), (3, 10));
    }

    #[test]
    fn of_pieces_that_share_a_ticket_the_last_is_taken() {
        let mut book = Book::default();
        book.keep(1, 20, Spent::since(0));
        book.keep(1, 30, Spent::since(0));
        book.keep(2, 30, Spent::since(10));
        assert_eq!(book.take(1, 30).map(|spent| spent.total()), Some(30));
        assert_eq!(book.take(1, 20), None);
        assert_eq!(book.take(2, 30).map(|spent| spent.total()), Some(20));
    }
}
