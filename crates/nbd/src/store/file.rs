//! Data in a sparse file.

use std::fs::{File, OpenOptions};
use std::io;
use std::os::unix::fs::FileExt;
use std::path::Path;

use rustix::fs::{FallocateFlags, FlockOperation};

use super::Store;
use crate::error::Error;
use crate::protocol::wire::Refusal;

/// Bytes of zeroes written at a time.
const ZEROES: usize = 128 << 10;

/// See the module's text.
#[derive(Debug)]
pub struct FileStore {
    file: File,
}

impl FileStore {
    /// Makes the file where it is missing, unless it is only to be read. One that is there must be a regular file of
    /// just this size: anything else at this path is somebody's, and not ours to write to. One server writes to it, or
    /// several read it.
    ///
    /// # Errors
    /// Where that cannot be had.
    pub fn open(path: &Path, size_bytes: u64, read_only: bool) -> Result<Self, Error> {
        let name = path.display().to_string();
        let failed = |cause: io::Error| Error::Data {
            path: name.clone(),
            cause,
        };
        let mut options = OpenOptions::new();
        options.read(true).write(!read_only);
        let (file, new) = match std::fs::metadata(path) {
            Err(cause) if cause.kind() == io::ErrorKind::NotFound && !read_only => {
                (options.create_new(true).open(path).map_err(failed)?, true)
            }
            Err(cause) => return Err(failed(cause)),
            // Looked at before it is opened: opening a pipe or a device may do something.
            Ok(there) if !there.is_file() || there.len() != size_bytes => {
                return Err(Error::Occupied {
                    path: name,
                    size_bytes,
                });
            }
            Ok(_) => (options.open(path).map_err(failed)?, false),
        };
        let lock = if read_only {
            FlockOperation::NonBlockingLockShared
        } else {
            FlockOperation::NonBlockingLockExclusive
        };
        rustix::fs::flock(&file, lock).map_err(|cause| failed(cause.into()))?;
        if new {
            file.set_len(size_bytes).map_err(failed)?;
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
                // A filesystem without holes keeps the zeroes themselves.
                Err(rustix::io::Errno::OPNOTSUPP) => self.write_zeroes(offset_bytes, length_bytes),
                other => other.map_err(io::Error::from),
            }
        };
        done.map_err(refusal)
    }
}
