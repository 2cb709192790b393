//! Where the export's data is: sparse in memory, or in a sparse file. What was never written reads as zeroes.
//!
//! Time is the drive model's alone. A store is as fast as it can be, and a flush asks nothing of it: data in a file
//! outlives the server, and outlives the machine only where the kernel has written it back.

mod file;
mod memory;

pub use file::FileStore;
pub use memory::MemoryStore;

use crate::protocol::wire::Refusal;

/// Bytes by their place. All ranges lie within the export.
pub trait Store: Send {
    /// Fills `bytes` with what is at `offset_bytes`.
    ///
    /// # Errors
    /// Where the data cannot be had.
    fn read(&self, offset_bytes: u64, bytes: &mut [u8]) -> Result<(), Refusal>;
    /// Keeps `bytes` at `offset_bytes`.
    ///
    /// # Errors
    /// Where there is no room; part of it may be written then.
    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Refusal>;
    /// Makes a range read as zeroes; with `provision` it takes up space, so that later writes have it.
    ///
    /// # Errors
    /// Where there is no room; part of it may be zeroes then.
    fn zero(
        &mut self,
        offset_bytes: u64,
        length_bytes: u32,
        provision: bool,
    ) -> Result<(), Refusal>;
}

#[cfg(test)]
mod tests;
