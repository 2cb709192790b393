//! Where the time of requests went: the latency of each, split into parts that add up to it exactly.
//!
//! Whoever serves a request notes in its ledger until when it was in which part. The ledger ends where the request does,
//! so nothing is missing and nothing counts twice. Of things that happen side by side (data on the link while the pipe
//! serves), the one that ends last counts.
//!
//! A run is explained if its drives are. Otherwise nothing is noted: a medium whose requests end at once takes `()` as
//! their ledger, for which the compiler makes code without any notes, and all others ask once a step whether there is a
//! book.

mod bands;
mod book;
mod host;
mod part;
mod pauses;
mod rows;
mod sums;

pub use bands::{Band, DirectionParts, QUANTILES, RowParts};
pub(crate) use book::Book;
pub use book::{Ledger, Spent};
pub(crate) use host::HostBook;
pub use part::Part;
pub(crate) use pauses::Pauses;
pub(crate) use rows::RowSums;

#[cfg(test)]
mod tests;
