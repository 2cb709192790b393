//! Models drives and machines as state machines in virtual time, and runs workers on them.
//!
//! The workers, stages and recorders are those of the real engines, so neither they nor a suite can tell a modelled
//! drive from a real one. The crate does no I/O, reads no clock, starts no thread and uses no unsafe code: the same
//! seed repeats a modelled run, request by request, on any machine.
//!
//! Source: the published figures to which models are fitted; docs/accuracy.md compares both.

#![forbid(unsafe_code)]

pub mod device;
pub mod drive;
pub mod explain;
mod exponential;
pub mod link;
pub mod machine;
pub mod media;
mod noise;
mod order;
mod pending;
pub mod power;
pub mod run;
mod slices;
pub mod spec;
pub mod stalls;
mod thread;

pub use device::Device;
pub use drive::{Access, Active, Drive, Returned};
pub use explain::{Part, RowParts, Spent};
pub use machine::Machine;
pub use media::MediaSpec;
pub use media::nand::Nand;
pub use media::xpoint::Xpoint;
pub use noise::NoiseSpec;
pub use pending::Pending;
pub use run::{Event, replay, run};
pub use spec::DriveSpec;
