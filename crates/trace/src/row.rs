//! One row of a trace: a request, or one of its two events.

use bytemuck::{Pod, Zeroable};
use serde::Deserialize;

/// The latency of a request whose end the trace does not have.
pub const UNKNOWN: i64 = -1;

/// What a request does. The numbers are those of [`Row::direction`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
#[repr(u8)]
pub enum Direction {
    /// Reads data.
    Read = 0,
    /// Writes data.
    Write = 1,
    /// Discards data.
    Trim = 2,
    /// Flushes the cache of the device, or the file.
    Sync = 3,
}

/// What a row stands for. The numbers are those of [`Row::kind`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A request.
    Request = 0,
    /// A request arrived.
    Begin = 1,
    /// A range of a device completed, which may be a part of a request or several requests.
    End = 2,
    /// A request that makes data durable, without the metadata that it does not need (fdatasync).
    DataSync = 3,
}

/// A request of a trace. Python reads an array of rows as a NumPy array of the same layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Pod, Zeroable)]
#[repr(C)]
pub struct Row {
    /// When it arrived, from the zero of the trace's clock.
    pub time_ns: i64,
    /// Where on the device it begins.
    pub offset_bytes: i64,
    /// How many bytes it moves.
    pub size_bytes: i64,
    /// From its arrival to its completion, or [`UNKNOWN`].
    pub latency_ns: i64,
    /// The number of its device in the order of first appearance.
    pub device: u32,
    /// A [`Direction`].
    pub direction: u8,
    /// A [`Kind`].
    pub kind: u8,
    /// Zero.
    pub padding: u16,
}

impl Row {
    /// Returns a whole request.
    pub fn request(
        time_ns: i64,
        device: u32,
        direction: Direction,
        offset_bytes: i64,
        size_bytes: i64,
    ) -> Self {
        Self {
            time_ns,
            offset_bytes,
            size_bytes,
            latency_ns: UNKNOWN,
            device,
            direction: direction as u8,
            kind: Kind::Request as u8,
            padding: 0,
        }
    }
}

/// Returns rows as bytes.
pub fn bytes_of(rows: &[Row]) -> &[u8] {
    bytemuck::cast_slice(rows)
}

/// Returns bytes as rows, whatever their alignment; `None` if their number fits no row.
pub fn rows_of(bytes: &[u8]) -> Option<Vec<Row>> {
    let exact = bytes.len().is_multiple_of(size_of::<Row>());
    exact.then(|| {
        bytes
            .chunks_exact(size_of::<Row>())
            .map(bytemuck::pod_read_unaligned)
            .collect()
    })
}
