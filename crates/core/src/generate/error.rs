//! Why a pattern cannot be created. A pattern that was created never fails.

use std::fmt;

use crate::request::Direction;

/// Why a [`Pattern`](super::Pattern) cannot be created. Each message says what is wrong and where.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PatternError {
    /// There is no region to work on.
    NoRegion,
    /// A region is too small for one request. Remedy: a larger region, or a smaller block size or alignment.
    RegionTooSmall {
        /// Index of the file.
        target: usize,
        /// Length of its region.
        region_bytes: u64,
        /// Direction that does not fit.
        direction: Direction,
        /// Length of that direction's smallest request.
        request_bytes: u32,
    },
    /// A region ends beyond the largest offset that a file can have, 2^63 - 1.
    RegionTooFar {
        /// Index of the file.
        target: usize,
    },
    /// No block size can be drawn: the smallest is zero or above the largest, no share is positive, or the alignment
    /// is zero.
    NoSize {
        /// Direction without sizes.
        direction: Direction,
    },
    /// Memory does not suffice for a random map of varying block sizes. Remedy: norandommap, or a larger block size.
    NoMemory {
        /// Index of the file.
        target: usize,
        /// Blocks of the smallest size in its region, one bit each.
        blocks: u64,
    },
    /// Memory does not suffice for the history of writes that are to be verified. Remedy: a smaller region, or larger
    /// blocks.
    NoHistory {
        /// Blocks of the regions.
        blocks: u64,
    },
    /// No zone of a zoned distribution has a positive share of the accesses.
    NoZone {
        /// Direction without zones.
        direction: Direction,
    },
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoRegion => write!(f, "there is no file to work on"),
            Self::RegionTooSmall {
                target,
                region_bytes,
                direction,
                request_bytes,
            } => write!(
                f,
                "file {target}: its region of {region_bytes} bytes has no room for an aligned {} of {request_bytes} bytes",
                direction.name()
            ),
            Self::RegionTooFar { target } => {
                write!(
                    f,
                    "file {target}: its region ends beyond the largest offset of a file, 2^63 - 1"
                )
            }
            Self::NoSize { direction } => {
                write!(f, "{}: no block size can be drawn", direction.name())
            }
            Self::NoMemory { target, blocks } => write!(
                f,
                "file {target}: no memory for a random map of {blocks} blocks; set norandommap, or a larger block size"
            ),
            Self::NoHistory { blocks } => write!(
                f,
                "no memory to remember which of {blocks} blocks are to be verified; use larger blocks or a smaller region"
            ),
            Self::NoZone { direction } => write!(
                f,
                "{}: no zone has a positive share of the accesses",
                direction.name()
            ),
        }
    }
}

impl std::error::Error for PatternError {}
