//! Pure generators: what a worker issues ([`Pattern`]), when it is due ([`Schedule`]), and the random numbers of both.
//!
//! A worker draws from these and does nothing else with chance. Everything is allocated when a generator is made; a
//! draw costs nanoseconds, allocates nothing, and for the same seed is the same on every machine.
//!
//! What they do not do: no clock, no I/O, no completions, no limits of time or number. Those are the worker's.

mod block_map;
mod error;
mod io;
mod layout;
mod pattern;
mod permutation;
mod plain;
mod region;
mod rng;
mod schedule;
mod sizes;
mod spread;
mod syncs;
mod zipf;

pub use error::PatternError;
pub use io::Io;
pub use pattern::Pattern;
pub use rng::{Chance, Rng, Stream, child_seed};
pub use schedule::Schedule;

#[cfg(test)]
mod tests;
