//! Where the time of requests goes that wait outside of the media, or are split into several commands.

use std::collections::BTreeMap;

use iogauge_core::Nanos;

use crate::explain::{Ledger, Part, Spent};

/// The ledgers of such requests, by ticket.
#[derive(Debug, Default)]
pub(super) struct Outside(BTreeMap<u64, Spent>);

impl Outside {
    /// Begins the ledger of a request that came at `now` and is admitted at `from`.
    pub(super) fn wait(&mut self, ticket: u64, now: Nanos, from: Nanos, throttled: bool) {
        let mut spent = Spent::since(now);
        let part = if throttled {
            Part::Throttle
        } else {
            Part::LowPower
        };
        spent.until(part, from as f64);
        self.0.insert(ticket, spent);
    }

    /// Notes that a request that waited enters at `now`.
    pub(super) fn enter(&mut self, ticket: u64, now: Nanos) {
        if let Some(spent) = self.0.get_mut(&ticket) {
            spent.until(Part::Entry, now as f64);
        }
    }

    /// Adds what the last command of a request spent its time on.
    pub(super) fn add(&mut self, ticket: u64, inside: Option<Spent>) {
        if let Some(spent) = self.join(ticket, inside) {
            self.0.insert(ticket, spent);
        }
    }

    /// Returns what a request spent its time on, of which the media know `inside`.
    pub(super) fn join(&mut self, ticket: u64, inside: Option<Spent>) -> Option<Spent> {
        match (self.0.remove(&ticket), inside) {
            (Some(mut spent), Some(inside)) => {
                spent.append(Part::Entry, &inside);
                Some(spent)
            }
            (outside, inside) => outside.or(inside),
        }
    }
}
