//! What a ring is given and what it answers: the two kinds of entries, and what they mean.
//!
//! `uring.rs` moves entries, whatever they are. `file.rs` makes of a request the operation on a file (read, write,
//! fsync); `nvme.rs` makes of it an NVMe command.

pub(crate) mod file;
pub(crate) mod nvme;
mod sqe;

use io_uring::{cqueue, squeue};
use iogauge_core::plan::WorkerPlan;
use iogauge_core::{Errno, Request};

use crate::engines::buffers::Buffers;
use crate::engines::files::File;
use crate::engines::ring::Ring;
use crate::error::Error;

/// Translates requests to entries of the submission queue, and results back.
pub(crate) trait Commands: Sized {
    /// An entry of the submission queue.
    type Sqe: squeue::EntryMarker;
    /// An entry of the completion queue.
    type Cqe: cqueue::EntryMarker;

    /// Prepares everything for the files of `plan`, of which `registered` says whether the ring knows them by index.
    fn new(
        plan: &WorkerPlan,
        ring: &mut Ring<Self::Sqe, Self::Cqe>,
        files: &[File],
        registered: bool,
    ) -> Result<Self, Error>;

    /// Whether the thread itself must make the request, because the ring cannot take it.
    fn blocks(&self, request: &Request) -> bool;

    /// Returns the request's entry. What it refers to belongs to `buffers` or to this value, and stays where it is.
    fn entry(&mut self, request: &Request, buffers: &Buffers) -> Self::Sqe;

    /// Returns the bytes that the request moves and that the kernel's result leaves out.
    fn unreported_bytes(request: &Request) -> u32;

    /// Returns the bytes moved, from the kernel's result and the unreported bytes; or why it failed.
    fn outcome(result: i32, unreported_bytes: u32) -> Result<u32, Errno>;

    /// Keeps its memory for ever, because the kernel still holds requests that refer to it.
    fn leak(&mut self);
}
