//! Drives and machines as state machines in virtual time, and the loop that runs workers on them.
//!
//! The workers, stages and recorders are those of the real engines, so neither they nor a suite can tell a modelled
//! drive from a real one. Nothing here does I/O, reads a clock, starts a thread or uses unsafe code: a modelled run
//! repeats, request by request, for the same seed, on any machine.
//!
//! Source: the published figures to which models are fitted; docs/accuracy.md has them beside what they show.

#![forbid(unsafe_code)]

pub mod device;
pub mod disk;
pub mod drive;
mod exponential;
pub mod ftl;
pub mod link;
pub mod machine;
mod media;
pub mod nand;
mod noise;
mod pending;
pub mod power;
pub mod ram;
pub mod run;
pub mod spec;
pub mod stalls;
mod thread;
mod victims;
pub mod xpoint;

pub use device::Device;
pub use drive::{Access, Active, Drive, Returned};
pub use machine::Machine;
pub use nand::Nand;
pub use noise::NoiseSpec;
pub use pending::Pending;
pub use run::{Event, run};
pub use spec::{DriveSpec, MediaSpec};
pub use xpoint::Xpoint;
