//! Decides what a worker issues and when, how a stage runs, and how completions are recorded.
//!
//! These are pure state machines. They do no I/O, read no clock, start no thread and use no unsafe code. Real engines
//! and drive models drive the same [`Worker`], so a worker cannot tell one from the other.

#![forbid(unsafe_code)]

pub mod busy;
pub mod flow;
pub mod generate;
pub mod log_code;
pub mod log_record;
pub mod plan;
mod priorities;
pub mod recorder;
pub mod replay;
pub mod request;
pub mod results;
mod rows;
mod stage;
pub mod stage_account;
pub mod steady;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod verify;
pub mod worker;

pub use request::{Check, Completion, Direction, Errno, Kind, Request, TO_THE_END, Want};
pub use stage::Stop;
pub use time::Nanos;
pub use worker::Worker;
