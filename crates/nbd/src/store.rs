//! The export's data: sparse in memory, or in a sparse file. Data that was never written reads as zeroes.
//!
//! Only the drive model decides the time of a request. A store is as fast as it can be, and a flush asks nothing of it:
//! data in a file outlives the server, but outlives the machine only after the kernel has written it back.

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
    /// If there is no room. Part of the data may be written then.
    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Refusal>;
    /// Makes a range read as zeroes. With `provision` it takes up space, so that later writes have it.
    ///
    /// # Errors
    /// If there is no room. Part of the range may be zeroes then.
    fn zero(
        &mut self,
        offset_bytes: u64,
        length_bytes: u32,
        provision: bool,
    ) -> Result<(), Refusal>;
}

#[cfg(test)]
mod tests;
