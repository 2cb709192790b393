//! The export's data: sparse in memory, or in a sparse file. Data that was never written reads as zeroes.
//!
//! The drive model alone decides the time of a request. A store is as fast as possible and ignores flushes: data in a
//! file survives the server, but survives a crash of the machine only if the kernel has written it back.

mod file;
mod memory;

pub use file::FileStore;
pub use memory::MemoryStore;

use crate::protocol::wire::Refusal;

/// Stores bytes by offset. All ranges lie within the export.
pub trait Store: Send {
    /// Fills `bytes` with the data at `offset_bytes`.
    ///
    /// # Errors
    /// If the data cannot be read.
    fn read(&self, offset_bytes: u64, bytes: &mut [u8]) -> Result<(), Refusal>;
    /// Stores `bytes` at `offset_bytes`.
    ///
    /// # Errors
    /// If there is no room. A part of the data may then be written.
    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Refusal>;
    /// Makes a range read as zeroes. With `provision` the range takes up space, so that later writes find room.
    ///
    /// # Errors
    /// If there is no room. A part of the range may then be zeroes.
    fn zero(
        &mut self,
        offset_bytes: u64,
        length_bytes: u32,
        provision: bool,
    ) -> Result<(), Refusal>;
}

#[cfg(test)]
mod tests;
