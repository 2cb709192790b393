//! The engines: how requests reach a target and come back.
//!
//! An engine is one small struct behind [`Engine`]. [`open`] creates the one that a plan names.

mod aio;
mod blocking;
pub(crate) mod buffers;
mod commands;
mod content;
pub(crate) mod files;
mod mapped;
mod null;
mod open;
mod posix_aio;
pub mod probe;
mod ring;
mod ring_setup;
mod stamps;
mod sync;
mod uring;
mod verify;

pub use buffers::{Buffers, Ended};
pub use open::{UseEngine, open};
pub use stamps::StampLog;

use iogauge_core::{Completion, Nanos, Request};

use crate::error::Error;

/// Moves requests to a target and collects their completions. It owns the clock and the buffers, and fills a buffer
/// before it stamps `start`.
///
/// The contract, common to all engines:
/// - The constructor allocates, touches and registers everything. Nothing allocates later.
/// - `submit` takes a prefix of `requests` and returns how many; at least one, unless it returns an error. The next call
///   begins with the rest. A request that the kernel refuses is not an error of `submit`: it completes with its errno at
///   the next `reap`.
/// - `reap` appends completions (at most the plan's `reap_batch`) and returns once there are `min` of them, at `until`,
///   or when a signal interrupts it, whichever comes first. With `min == 0` and `until == None`, or with `until` in the
///   past, it does not wait. It meets `until` as closely as waiting allows, and is never early by more than the clock's
///   resolution.
/// - One `start` and one `issued` stamp serve all requests of a submission call; one `done` stamp serves all
///   completions taken from the ring at once.
pub trait Engine {
    /// Whether `submit` itself waits for the request, as in the synchronous engines.
    const BLOCKS: bool;
    /// Returns the current instant of the run's clock.
    fn now(&self) -> Nanos;
    /// Returns the last instant that `submit` stamped. Right after `submit` it serves as `now` and costs nothing.
    fn stamped(&self) -> Nanos;
    /// Submits requests to the kernel.
    fn submit(&mut self, requests: &[Request]) -> Result<usize, Error>;
    /// Collects completions.
    fn reap(
        &mut self,
        min: u32,
        until: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error>;
    /// Returns the memory of its requests; nothing if it moves no data.
    fn buffers(&mut self) -> Option<&mut Buffers> {
        None
    }
}
