//! Where the time of flash requests goes: a ledger for each request, and one for each of its paths.
//!
//! A read has a path for each of its pages; a write has one for its data, and one for each chunk that it covers only in
//! part. The path that ends last is the request's.

use iogauge_core::Nanos;

use super::dies::{Busy, Task};
use crate::drive::rounded_up;
use crate::explain::{Book, Ledger, Part, Spent};

/// A request inside the drive.
#[derive(Debug)]
struct Request {
    spent: Spent,
    paths: Vec<Spent>,
}

/// How long a die takes to read a page, ns.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct PageRead {
    /// With retry and stalls.
    pub(super) length: f64,
    pub(super) retry: f64,
    pub(super) stall: f64,
}

/// The ledgers of the requests inside, by slot, and of those that are done.
#[derive(Debug, Default)]
pub(super) struct Paths {
    requests: Vec<Request>,
    book: Book,
}

impl Paths {
    /// Begins the ledger of a request that was submitted at `now` and came to the controller at `comes`. The controller
    /// works on it for `command` until `at`.
    #[cold]
    pub(super) fn begin(&mut self, slot: u32, now: f64, comes: f64, command: f64, at: f64) {
        let mut spent = Spent::since(now as Nanos);
        spent.until(Part::Link, comes);
        spent.until(Part::Queue, at - command);
        spent.until(Part::Controller, at);
        let request = Request {
            spent,
            paths: Vec::new(),
        };
        let slot = slot as usize;
        if slot < self.requests.len() {
            self.requests[slot] = request;
        } else {
            self.requests.push(request);
        }
    }

    /// Adds a path that needs no die.
    #[cold]
    pub(super) fn add(&mut self, slot: u32) {
        let request = &mut self.requests[slot as usize];
        request.paths.push(request.spent);
    }

    /// Adds a path over a die, which was `busy` when the request came to it and has read the page at `ends`.
    #[cold]
    pub(super) fn add_page(&mut self, slot: u32, busy: Busy, page: PageRead, ends: f64) {
        let request = &mut self.requests[slot as usize];
        let mut path = request.spent;
        let begins = ends - page.length;
        path.until(Part::ReadWait, busy.reads_until.min(begins));
        if let Some((task, until)) = busy.operation {
            path.until(wait_for(task), until.min(begins));
        }
        path.until(Part::ReadWait, begins);
        path.until(Part::PageRead, ends - page.stall - page.retry);
        path.until(Part::Retry, ends - page.stall);
        path.until(Part::Stall, ends);
        request.paths.push(path);
    }

    /// Notes where the path is that goes on at `at`: in `part` until each instant.
    #[cold]
    pub(super) fn goes_on(&mut self, slot: u32, at: f64, parts: &[(Part, f64)]) {
        let mut paths = self.requests[slot as usize].paths.iter_mut();
        if let Some(path) = paths.find(|path| path.noted_until() == at) {
            for &(part, until) in parts {
                path.until(part, until);
            }
        }
    }

    /// Notes that all paths of a request have ended.
    #[cold]
    pub(super) fn join(&mut self, slot: u32) {
        let request = &mut self.requests[slot as usize];
        let by_end = |a: &Spent, b: &Spent| a.noted_until().total_cmp(&b.noted_until());
        if let Some(last) = request.paths.drain(..).max_by(by_end) {
            request.spent = last;
        }
    }

    /// Notes that a request whose paths have ended is in `part` until `at`.
    #[cold]
    pub(super) fn wait(&mut self, slot: u32, part: Part, at: f64) {
        self.requests[slot as usize].spent.until(part, at);
    }

    /// Ends the ledger of a request whose data needs `latency` at least before the host sees it at `at`.
    #[cold]
    pub(super) fn end(&mut self, slot: u32, ticket: u64, latency: f64, at: f64) {
        let spent = &mut self.requests[slot as usize].spent;
        spent.until(Part::Fixed, (spent.noted_until() + latency).min(at));
        spent.until(Part::Jitter, at);
        self.book.keep(ticket, rounded_up(at), *spent);
    }

    /// Takes the ledger of a request that returned at `at`.
    pub(super) fn take(&mut self, ticket: u64, at: Nanos) -> Option<Spent> {
        self.book.take(ticket, at)
    }
}

/// Returns what a read waits for while a die does an operation.
fn wait_for(task: Task) -> Part {
    match task {
        Task::Host { .. } => Part::ProgramWait,
        Task::MoveRead
        | Task::MoveProgram
        | Task::Erase
        | Task::FoldRead { .. }
        | Task::FoldProgram { .. } => Part::CollectionWait,
    }
}
