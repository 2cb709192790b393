//! The engines: how requests reach a target and come back.
//!
//! An engine is one small struct behind [`Engine`]. [`open`] makes the one that a plan names.

mod aio;
mod aio_context;
mod blocking;
pub(crate) mod buffers;
mod content;
pub(crate) mod files;
mod null;
mod open;
pub mod probe;
mod ring;
mod ring_setup;
mod sqe;
mod sync;
mod uring;

pub use open::{UseEngine, open};

use iogauge_core::{Completion, Nanos, Request};

use crate::error::Error;

/// A real way to the target; owns clock and buffers (filled before `start` is stamped).
///
/// The contract, common to all engines:
/// - everything is allocated, touched and registered when the engine is made; nothing allocates later;
/// - `submit` takes a prefix of `requests` and returns how many; at least one, unless an error is returned. A request
///   that the kernel refuses is not an error of `submit`: it completes with its errno at the next `reap`;
/// - `reap` appends completions (at most the plan's `reap_batch`) and returns once there are `min` of them, at
///   `until`, or when interrupted by a signal, whichever comes first. `min == 0` with `until == None` only looks.
///   `until` is met as closely as waiting allows, never early by more than the clock's resolution; it may be in the
///   past, which only looks;
/// - one `start` and one `issued` stamp serve a whole submission call, one `done` stamp all completions taken
///   from the ring at once.
pub trait Engine {
    /// Whether `submit` itself waits for the request: the synchronous engines.
    const BLOCKS: bool;
    /// The current instant of the run's clock.
    fn now(&self) -> Nanos;
    /// The last instant stamped by `submit`: as good as `now` right after it, and free.
    fn stamped(&self) -> Nanos;
    /// Hands requests to the kernel.
    fn submit(&mut self, requests: &[Request]) -> Result<usize, Error>;
    /// Collects completions.
    fn reap(
        &mut self,
        min: u32,
        until: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error>;
}
