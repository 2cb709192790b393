//! The recorder against one that keeps everything.

mod cutting;
mod flags;
mod reference;
mod world;
