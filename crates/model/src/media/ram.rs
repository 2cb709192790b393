//! Memory: it has no media time, only a latency. A measurement of it shows the machine.

use iogauge_core::{Kind, Nanos};
use serde::{Deserialize, Serialize};

use crate::drive::{Access, Active, Drive, Returned, rounded_up};
use crate::explain::{Book, Ledger, Part, Spent};
use crate::link::{Link, Way};

/// All parameters.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RamSpec {
    /// From command to completion, ns, in `[0, 1e9]`.
    pub latency_ns: f64,
}

impl RamSpec {
    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn check(&self) -> Result<(), String> {
        if !(0.0..=1e9).contains(&self.latency_ns) {
            return Err(format!(
                "latency_ns is {}, not in [0, 1e9]",
                self.latency_ns
            ));
        }
        Ok(())
    }
}

/// Memory behind a link.
#[derive(Debug)]
pub struct Ram {
    spec: RamSpec,
    link: Link,
    book: Option<Box<Book>>,
}

impl Ram {
    /// Creates memory behind a link.
    pub fn new(spec: RamSpec, link: Link) -> Self {
        Self {
            spec,
            link,
            book: None,
        }
    }
}

impl Drive for Ram {
    fn submit(&mut self, now: Nanos, access: Access) -> Option<Nanos> {
        let begins = now as f64 + self.link.switch_ns() + self.spec.latency_ns;
        let mut move_data = |way| self.link.transfer(way, begins, access.length_bytes).ends;
        let done = match access.kind {
            Kind::Read => move_data(Way::Out),
            Kind::Write => move_data(Way::In),
            Kind::Trim | Kind::Sync | Kind::DataSync | Kind::RangeSync => begins,
        };
        let at = rounded_up(done);
        if let Some(book) = &mut self.book {
            let mut spent = Spent::since(now);
            spent.until(Part::Fixed, begins);
            spent.until(Part::Link, done);
            book.keep(access.ticket, at, spent);
        }
        Some(at)
    }

    fn next_event(&self) -> Option<Nanos> {
        None
    }

    fn advance(&mut self, _: Nanos, _: &mut Vec<Returned>) {}

    fn active(&self) -> Active {
        Active::default()
    }

    fn explain(&mut self) {
        self.book = Some(Box::default());
    }

    fn is_explained(&self) -> bool {
        self.book.is_some()
    }

    fn take_spent(&mut self, ticket: u64, at: Nanos) -> Option<Spent> {
        self.book.as_mut()?.take(ticket, at)
    }
}
