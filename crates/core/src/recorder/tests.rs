//! Compares the recorder with one that keeps every completion.

mod cutting;
mod flags;
mod reference;
mod world;
