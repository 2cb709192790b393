//! Real ways to a target: threads, clock, buffers, and the engines themselves. The only unsafe code of iogauge.
//!
//! An engine is one small struct behind [`Engine`]; a worker's thread (`drive`) asks its [`iogauge_core::Worker`]
//! what it wants and hands it to the engine. [`run`] starts the threads of a plan, stage by stage.

pub mod affinity;
mod aio;
mod aio_context;
mod barrier;
mod blocking;
mod buffers;
mod clock;
mod content;
mod drive;
mod error;
mod events;
pub mod exchange;
mod files;
mod heartbeat;
pub mod memory;
mod null;
mod open;
pub mod probe;
mod revocable;
mod ring;
mod ring_setup;
pub mod run;
pub mod spill;
mod sqe;
mod stage_runner;
mod sync;
mod uring;
mod wait;
mod worker_state;
mod worker_thread;

pub use clock::{Clock, ClockFacts};
pub use error::Error;
pub use open::{UseEngine, open};
pub use wait::{Waiter, sleep_slack};

use iogauge_core::{Completion, Nanos, Request};

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
