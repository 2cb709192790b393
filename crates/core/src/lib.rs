//! What a worker wants and when, how a stage runs, and how completions are recorded.
//!
//! Pure state machines: nothing here does I/O, reads a clock, starts a thread or uses unsafe code. Real engines and
//! drive models drive the same [`Worker`], so a worker cannot tell one from the other.

#![forbid(unsafe_code)]

pub mod busy;
pub mod generate;
pub mod log_code;
pub mod log_record;
pub mod plan;
pub mod recorder;
pub mod request;
pub mod results;
mod rows;
mod stage;
pub mod stage_account;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod time;
pub mod worker;

pub use request::{Completion, Direction, Errno, Kind, Request, Want};
pub use stage::Stop;
pub use time::Nanos;
pub use worker::Worker;
