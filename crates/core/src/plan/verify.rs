//! How written data is verified.

use serde::{Deserialize, Serialize};

/// What follows the header of a block, so that damage is found: fio's `verify`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(rename_all = "lowercase")]
#[allow(missing_docs)]
pub enum Checksum {
    Md5,
    Crc64,
    Crc32,
    Crc32c,
    Crc16,
    Crc7,
    Sha1,
    Sha256,
    Sha512,
    #[serde(rename = "sha3-224")]
    Sha3_224,
    #[serde(rename = "sha3-256")]
    Sha3_256,
    #[serde(rename = "sha3-384")]
    Sha3_384,
    #[serde(rename = "sha3-512")]
    Sha3_512,
    Xxhash,
    /// The header alone.
    Meta,
    /// A pattern instead of a checksum, without a header.
    Pattern,
    /// A pattern instead of a checksum, after a header.
    #[serde(rename = "pattern_hdr")]
    PatternHdr,
    /// Nothing is written or checked.
    Null,
}

/// Which of the verified writes are trimmed, and when: fio's `trim_percentage` and its options.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
pub struct VerifyTrims {
    /// How many of 100 writes are trimmed, in the mean; positive.
    pub percentage: u32,
    /// Writes after which some are trimmed, positive.
    pub backlog: u64,
    /// How many are then trimmed, positive.
    pub batch: u64,
    /// Whether trimmed blocks are read back, and must be zeroes.
    pub reads_zeroes: bool,
}

/// A write that returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct CompletedWrite {
    /// Index into the worker's files.
    pub target: u32,
    /// Where it began.
    pub offset_bytes: u64,
}

/// How far a worker's writes came: fio's verify state.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub struct VerifyState {
    /// Writes that were issued.
    pub writes: u64,
    /// How many of them could be in flight.
    pub depth: u32,
    /// The last that returned: at most `depth` of each file.
    pub completed: Vec<CompletedWrite>,
}

impl VerifyState {
    /// Whether the `nth` write had returned, if it was of `target` at `offset_bytes`.
    pub fn has(&self, nth: u64, target: u32, offset_bytes: u64) -> bool {
        let write = CompletedWrite {
            target,
            offset_bytes,
        };
        nth + u64::from(self.depth) < self.writes || self.completed.contains(&write)
    }
}

/// How written data is verified: fio's `verify` and its options.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub struct VerifyPlan {
    /// What is written and checked.
    pub checksum: Checksum,
    /// Distance between two headers, positive.
    pub interval_bytes: u32,
    /// How far into its interval a header is moved.
    pub offset_bytes: u32,
    /// What is written instead of random bytes; may be empty.
    pub pattern: Vec<u8>,
    /// Where in the pattern the offset of the request is inserted.
    pub pattern_offsets: Vec<u32>,
    /// Bytes of a request after which the pattern begins anew, and its offset grows by as many; 0: it does not.
    pub pattern_interval_bytes: u32,
    /// The job's number in headers.
    pub thread: u16,
    /// Reads back what it wrote.
    pub reads_back: bool,
    /// Writes nothing, and reads back what it would have written.
    pub dry: bool,
    /// Whether a header must have the number of the last write to its block.
    pub numbers: bool,
    /// Writes after which some are read back; 0: only at the end of a pass.
    pub backlog: u64,
    /// How many are then read back; 0: `backlog`.
    pub backlog_batch: u64,
    /// Which writes are trimmed before they are read back; absent: none.
    pub trims: Option<VerifyTrims>,
    /// Whether the result says how far the writes came.
    pub saves_state: bool,
    /// How far the writes came that a dry run verifies; absent: all were made.
    pub state: Option<VerifyState>,
    /// Whether the first bad header of a request hides the others.
    pub fatal: bool,
    /// Whether the data of bad blocks is returned.
    pub dump: bool,
    /// Bad blocks are counted and do not end the worker.
    pub continues: bool,
    /// Threads that check what was read; 0: the worker's thread does.
    pub threads: u32,
    /// CPUs that they may run on; empty: those of the worker's thread.
    pub cpus: Vec<u32>,
}
