//! The stamp log of a target.

use serde::Deserialize;

/// The log of the writes to one target that carry stamps: `verify=stamp`. Its workers write to that target alone.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct StampLogPlan {
    /// For messages.
    pub path: String,
    /// A descriptor of the empty file, open for writing.
    pub fd: i32,
    /// The number of the run in each stamp, not zero.
    pub run: u64,
    /// Every write is of whole blocks of this size, a multiple of 512.
    pub block_bytes: u32,
    /// Where in the target the first region begins, a multiple of a block.
    pub start_bytes: u64,
    /// Where the last region ends.
    pub end_bytes: u64,
}
