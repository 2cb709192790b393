//! A request as the request log stores it.

use crate::request::{Completion, Request};
use crate::time::Nanos;

/// One request in the log: 72 bytes, little-endian, no padding.
#[derive(Clone, Copy, Debug, Default, bytemuck::Pod, bytemuck::Zeroable)]
#[repr(C)]
#[allow(missing_docs)]
pub struct LogRecord {
    pub intended_ns: u64,
    pub ready_ns: u64,
    pub start_ns: u64,
    /// `u64::MAX` where it is not known.
    pub issued_ns: u64,
    pub done_ns: u64,
    pub offset_bytes: u64,
    pub length_bytes: u32,
    /// Bytes moved, or the negative errno.
    pub result: i32,
    pub worker: u32,
    pub row: u32,
    pub target: u16,
    /// As ioprio_set takes it; 0: none.
    pub priority: u16,
    /// By `Direction`.
    pub direction: u8,
    /// 1 during the ramp.
    pub ramp: u8,
    pub stage: u16,
}

/// The worker whose requests a log holds, and the instant from which it counts.
#[derive(Clone, Copy, Debug, Default)]
pub struct LogOrigin {
    /// Index of the worker in its run.
    pub worker: u32,
    /// Its row.
    pub row: u32,
    /// Its stage.
    pub stage: u16,
    /// Logged instants count from the start of the stage.
    pub stage_start: Nanos,
    /// When the ramp ends.
    pub ramp_end: Nanos,
    /// The I/O priority of its thread; 0: none.
    pub priority: u16,
}

impl LogRecord {
    /// Creates the record of a completed request of the worker that `log_origin` names.
    pub fn new(log_origin: &LogOrigin, request: &Request, completion: &Completion) -> Self {
        let since = |instant: Nanos| instant.saturating_sub(log_origin.stage_start);
        Self {
            intended_ns: since(request.intended),
            ready_ns: since(request.ready),
            start_ns: since(completion.start),
            issued_ns: completion.issued.map_or(u64::MAX, since),
            done_ns: since(completion.done),
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes,
            result: match completion.result {
                Ok(bytes) => i32::try_from(bytes).unwrap_or(i32::MAX),
                Err(errno) => -errno.0,
            },
            worker: log_origin.worker,
            row: log_origin.row,
            // A job has at most 65,536 files (schema/jobs.py).
            target: request.target as u16,
            priority: match request.priority {
                0 => log_origin.priority,
                own => own,
            },
            direction: request.kind.direction() as u8,
            ramp: u8::from(completion.done < log_origin.ramp_end),
            stage: log_origin.stage,
        }
    }
}

/// Returns the bytes of log records: little-endian, in [`LogRecord`]'s layout.
pub fn bytes_of(records: &[LogRecord]) -> &[u8] {
    bytemuck::cast_slice(records)
}
