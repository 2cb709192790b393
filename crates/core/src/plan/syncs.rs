//! Syncs of what was written.

use serde::Deserialize;

/// fio's `sync_file_range`: after how many writes it is called, and with which flags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct RangeSync {
    /// Writes between two calls, positive.
    pub every: u64,
    /// Waits for pages of the range that are being written.
    pub wait_before: bool,
    /// Begins to write dirty pages of the range.
    pub write: bool,
    /// Waits until these pages are written.
    pub wait_after: bool,
}
