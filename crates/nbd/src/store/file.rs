//! Data in a sparse file.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rustix::fs::{FallocateFlags, FlockOperation};

use super::Store;
use crate::error::Error;
use crate::protocol::wire::Refusal;

/// Bytes of zeroes written at a time.
const ZEROES: usize = 128 << 10;

/// Data in a sparse file.
#[derive(Debug)]
pub struct FileStore {
    file: File,
}

impl FileStore {
    /// Keeps data in a file of the export's size that is open for reading and, unless `read_only`, for writing. Either
    /// one server writes to a file, or several read it. The caller that opened the file decides whether it may be
    /// written.
    ///
    /// # Errors
    /// If it has another size, or another server uses it.
    pub fn new(file: File, size_bytes: u64, read_only: bool) -> Result<Self, Error> {
        let failed = |cause| Error::Data { cause };
        let lock = if read_only {
            FlockOperation::NonBlockingLockShared
        } else {
            FlockOperation::NonBlockingLockExclusive
        };
        rustix::fs::flock(&file, lock).map_err(|cause| failed(cause.into()))?;
        let file_bytes = file.metadata().map_err(failed)?.len();
        if file_bytes != size_bytes {
            return Err(Error::DataSize {
                file_bytes,
                size_bytes,
            });
        }
        Ok(Self { file })
    }

    fn write_zeroes(&self, offset_bytes: u64, length_bytes: u32) -> io::Result<()> {
        static NOTHING: [u8; ZEROES] = [0; ZEROES];
        let end = offset_bytes + u64::from(length_bytes);
        let mut at = offset_bytes;
        while at < end {
            let bytes = (end - at).min(ZEROES as u64);
            self.file.write_all_at(&NOTHING[..bytes as usize], at)?;
            at += bytes;
        }
        Ok(())
    }
}

fn refusal(cause: io::Error) -> Refusal {
    match cause.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => {
            Refusal::NoSpace
        }
        _ => Refusal::Io,
    }
}

impl Store for FileStore {
    fn read(&self, offset_bytes: u64, bytes: &mut [u8]) -> Result<(), Refusal> {
        self.file
            .read_exact_at(bytes, offset_bytes)
            .map_err(refusal)
    }

    fn write(&mut self, offset_bytes: u64, bytes: &[u8]) -> Result<(), Refusal> {
        self.file.write_all_at(bytes, offset_bytes).map_err(refusal)
    }

    fn zero(
        &mut self,
        offset_bytes: u64,
        length_bytes: u32,
        provision: bool,
    ) -> Result<(), Refusal> {
        let hole = FallocateFlags::PUNCH_HOLE | FallocateFlags::KEEP_SIZE;
        let done = if provision {
            self.write_zeroes(offset_bytes, length_bytes)
        } else {
            match rustix::fs::fallocate(&self.file, hole, offset_bytes, length_bytes.into()) {
                // A filesystem without holes stores the zeroes.
                Err(rustix::io::Errno::OPNOTSUPP) => self.write_zeroes(offset_bytes, length_bytes),
                other => other.map_err(io::Error::from),
            }
        };
        done.map_err(refusal)
    }
}
