//! A drive that breaks its promises, on purpose: a volatile write cache in front of a store, and faults by seed.
//!
//! It is a state machine without socket and clock: a request and the instant in, what becomes of it out. The same
//! requests and the same seed meet the same faults. What it did is returned as [`Injected`], so that a test can compare
//! that with what a program noticed.
//!
//! Its memory is bounded: by the size of the cache, and by [`MOST_KEPT_BYTES`] each for old versions and for writes that
//! come again.

mod cache;
mod disk;
mod injector;
mod placing;
mod plan;
mod versions;

pub use disk::{Fate, Faulty, LateWrite, Reading};
pub use injector::Injected;
pub use plan::{FaultKind, FaultSpec, Faults, Keep, PowerCut, When};

/// Most bytes of old versions that are kept for stale reads, and most of writes that are kept to be written again.
pub const MOST_KEPT_BYTES: u64 = 16 << 20;

#[cfg(test)]
mod tests;
