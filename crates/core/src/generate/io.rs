//! What a pattern returns: a request before it has a slot and a time.

use crate::request::Kind;

/// A request without its slot and times.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Io {
    /// Index into the worker's files.
    pub target: u32,
    /// What the request does.
    pub kind: Kind,
    /// Where, from the start of the file. Zero for syncs, whose range the worker knows.
    pub offset_bytes: u64,
    /// How much. Zero for syncs, too.
    pub length_bytes: u32,
}
