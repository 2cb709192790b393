//! Pure generators: what a worker issues ([`Pattern`]), when it is due ([`Schedule`]), and the random numbers of both.
//!
//! A worker takes every random decision from these generators. A generator allocates everything when it is created; a
//! draw costs nanoseconds, allocates nothing, and returns the same for the same seed on every machine.
//!
//! Generators read no clock and do no I/O. Completions and the limits of time and number are the worker's.

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
mod strides;
mod syncs;
mod turns;
mod zipf;

pub use error::PatternError;
pub use io::Io;
pub use pattern::Pattern;
pub use rng::{Chance, Rng, Stream, child_seed};
pub use schedule::Schedule;

#[cfg(test)]
mod tests;
