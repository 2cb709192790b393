//! Reads traces of I/O requests that other programs recorded: bytes in, rows out, in bounded memory.
//!
//! A [`Parser`] gets a file in pieces, cut anywhere, and appends its rows; what it returns does not depend on the cuts.
//! blktrace records two events for a request, in a file for each CPU. Its rows are these events, which the caller puts
//! in order of time and gives to [`Pairing`]. [`Reuse`] counts how often requests come back to the same blocks.
//!
//! The crate opens no file and reads no clock. Layouts and their sources are in the module of each format.

#![forbid(unsafe_code)]

mod blktrace;
mod damage;
mod devices;
mod fields;
mod iolog;
mod lines;
mod pairing;
mod parser;
mod records;
mod reuse;
mod row;
mod table;
mod vscsi;

pub use damage::Damage;
pub use pairing::Pairing;
pub use parser::{Format, Parser};
pub use reuse::Reuse;
pub use row::{Direction, Kind, Row, UNKNOWN, bytes_of, rows_of};
