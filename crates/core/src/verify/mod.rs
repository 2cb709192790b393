//! What a worker has written and must read back: fio's history of writes.

mod completed;
mod history;
mod marks;
mod queue;

pub use completed::Completed;
pub use history::{History, Recall};

#[cfg(test)]
mod tests;
