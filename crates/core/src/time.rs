//! Instants and lengths of time, both in nanoseconds.

/// Nanoseconds: an instant since the start of the clock that stamps a run, or the length between two of them.
pub type Nanos = u64;

/// Nanoseconds in a second.
pub const SECOND: Nanos = 1_000_000_000;

/// Nanoseconds in a millisecond.
pub const MILLISECOND: Nanos = 1_000_000;

/// Nanoseconds in a microsecond.
pub const MICROSECOND: Nanos = 1_000;
