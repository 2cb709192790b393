//! Compares the recorder with one that keeps every completion.

mod cutting;
mod flags;
mod priorities;
mod reference;
mod world;
