//! Drives real targets: threads, clock, buffers and engines. All unsafe code of iogauge is in this crate.
//!
//! [`Engine`] is the contract of every engine (`engines`). [`run`] starts the threads of a plan, stage by stage; each
//! thread takes requests from its [`iogauge_core::Worker`] and passes them to its engine.

pub mod affinity;
mod clock;
mod engines;
mod error;
pub mod memory;
mod priority;
pub mod run;
mod thread_memory;
mod wait;

pub use clock::{Anchor, Clock, ClockFacts, monotonic_ns};
pub use engines::{Buffers, Engine, UseEngine, open, probe};
pub use error::{Error, Needs};
pub use wait::{Waiter, sleep_slack, start_together};
