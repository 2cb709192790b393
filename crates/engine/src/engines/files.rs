//! A worker's own descriptors, and the requests that need no buffer: trims and syncs.
//!
//! The safety check opened and cleared the descriptors in the plan. Each worker opens the same file again through
//! `/proc/self/fd`, with its own flags. No path is looked up again, so it is certainly the file that was checked.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use iogauge_core::plan::{Advice, EnginePlan, FilePlan, RangeSync, SyncMode, WorkerPlan};
use iogauge_core::{Errno, Kind, Request, TO_THE_END};

use crate::error::{Error, last_errno};

/// One file of a worker, open with the flags of its job.
#[derive(Debug)]
pub(crate) struct File {
    fd: OwnedFd,
    is_block_device: bool,
    range_flags: libc::c_uint,
    /// The plan's own descriptor of a block device, if its blocks are trimmed.
    exclusive: Option<OwnedFd>,
}

/// `RWF_ATOMIC`, since Linux 6.11.
const ATOMIC: libc::c_int = 0x40;
/// `RWF_DONTCACHE`, since Linux 6.14.
pub(crate) const DONTCACHE: libc::c_int = 0x80;

/// Returns the flags of single reads and those of single writes: fio's uncached, nowait and atomic. As in fio, only
/// writes are atomic, and direct I/O ignores uncached.
pub(crate) fn request_flags(engine: &EnginePlan) -> (libc::c_int, libc::c_int) {
    let mut both = 0;
    if engine.uncached && !engine.direct {
        both |= DONTCACHE;
    }
    if engine.nowait {
        both |= libc::RWF_NOWAIT;
    }
    (both, if engine.atomic { both | ATOMIC } else { both })
}

/// Returns the flags of sync_file_range.
fn range_flags(plan: RangeSync) -> libc::c_uint {
    let flag = |is_set: bool, flag| if is_set { flag } else { 0 };
    flag(plan.wait_before, libc::SYNC_FILE_RANGE_WAIT_BEFORE)
        | flag(plan.write, libc::SYNC_FILE_RANGE_WRITE)
        | flag(plan.wait_after, libc::SYNC_FILE_RANGE_WAIT_AFTER)
}

/// Returns the length of a range that is synced, as the kernel takes it: 0 to the end of the file.
pub(crate) fn kernel_length(request: &Request) -> u32 {
    match request.length_bytes {
        TO_THE_END => 0,
        length => length,
    }
}

/// Opens all files of `plan`.
pub(crate) fn open_all(plan: &WorkerPlan) -> Result<Vec<File>, Error> {
    plan.files
        .iter()
        .map(|file| File::open(plan, file))
        .collect()
}

impl File {
    fn open(plan: &WorkerPlan, file: &FilePlan) -> Result<File, Error> {
        let changes = plan.changes_files();
        if changes && !file.writable {
            return Err(Error::ReadOnly {
                path: file.path.clone(),
            });
        }
        let (mut flags, access) = if changes {
            (libc::O_RDWR, "writing")
        } else {
            (libc::O_RDONLY, "reading")
        };
        flags |= libc::O_CLOEXEC;
        if let Some(namespace) = file.namespace {
            // It takes commands only: flags of I/O mean nothing there, and O_DIRECT is refused.
            return File::reopen(file, namespace.fd, flags, access);
        }
        if plan.engine.direct {
            flags |= libc::O_DIRECT;
        }
        flags |= match plan.engine.sync {
            SyncMode::None => 0,
            SyncMode::Sync => libc::O_SYNC,
            SyncMode::Dsync => libc::O_DSYNC,
        };
        let mut opened = File::reopen(file, file.fd, flags, access)?;
        opened.range_flags = plan.pattern.sync_file_range.map_or(0, range_flags);
        opened.advise(plan.advice, file);
        if plan.trims() && changes && file.is_block_device {
            opened.exclusive = Some(File::duplicate(file)?);
        }
        Ok(opened)
    }

    /// Duplicates the descriptor of the safety check, which holds a device exclusively. While it does, the kernel refuses
    /// to discard through any other descriptor what the page cache has still to write (EBUSY).
    fn duplicate(file: &FilePlan) -> Result<OwnedFd, Error> {
        // SAFETY: the run keeps the plan's descriptors open until its threads have opened theirs.
        let held = unsafe { BorrowedFd::borrow_raw(file.fd) };
        held.try_clone_to_owned().map_err(|cause| Error::Open {
            path: file.path.clone(),
            access: "trimming",
            cause,
        })
    }

    /// Says in which order the region is accessed. The kernel may ignore it, and then nothing is wrong.
    fn advise(&self, advice: Advice, file: &FilePlan) {
        let advice = match advice {
            Advice::None => return,
            Advice::Random => libc::POSIX_FADV_RANDOM,
            Advice::Sequential => libc::POSIX_FADV_SEQUENTIAL,
        };
        let (offset, length) = (file.region_offset_bytes as i64, file.region_bytes as i64);
        // SAFETY: it takes a descriptor, which this owns, and numbers.
        unsafe { libc::posix_fadvise(self.raw(), offset, length, advice) };
    }

    /// Opens the file for direct reads only, to probe it. Closing a device that was open for writing would make the
    /// system probe it for a filesystem.
    pub(crate) fn open_to_probe(file: &FilePlan) -> Result<File, Error> {
        let flags = libc::O_RDONLY | libc::O_DIRECT | libc::O_CLOEXEC;
        File::reopen(file, file.fd, flags, "direct reading")
    }

    fn reopen(
        file: &FilePlan,
        fd: RawFd,
        flags: libc::c_int,
        access: &'static str,
    ) -> Result<File, Error> {
        let link = link_to(fd);
        // SAFETY: `link` is a string that ends in zero and outlives the call.
        let fd = unsafe { libc::open(link.as_ptr(), flags) };
        if fd < 0 {
            let cause = io::Error::last_os_error();
            let path = file.path.clone();
            return Err(match cause.raw_os_error() {
                Some(libc::EINVAL) if flags & libc::O_DIRECT != 0 => Error::NoDirect { path },
                _ => Error::Open {
                    path,
                    access,
                    cause,
                },
            });
        }
        // SAFETY: `fd` was just opened, and nothing else owns it.
        let fd = unsafe { OwnedFd::from_raw_fd(fd) };
        Ok(File {
            fd,
            is_block_device: file.is_block_device,
            range_flags: 0,
            exclusive: None,
        })
    }

    /// Whether it supports non-blocking direct I/O. Without that, io_uring passes every request to a kernel thread.
    pub(crate) fn takes_nonblocking(&self) -> bool {
        self.takes_flag(libc::RWF_NOWAIT)
    }

    /// Whether requests can have this flag. It tries to read one byte with it: a file that supports the flag may refuse
    /// that as misaligned.
    pub(crate) fn takes_flag(&self, flag: libc::c_int) -> bool {
        let mut byte = 0u8;
        let vector = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        // SAFETY: the vector names one writable byte; both live for the whole call.
        let read = unsafe { libc::preadv2(self.raw(), &vector, 1, 0, flag) };
        read >= 0 || last_errno() != libc::EOPNOTSUPP
    }

    pub(crate) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
    }

    /// Returns the size of a file; `None` for a block device.
    pub(crate) fn file_bytes(&self) -> Option<u64> {
        // SAFETY: stat is plain numbers, for which zero is a value; `facts` is writable.
        let mut facts: libc::stat = unsafe { std::mem::zeroed() };
        // SAFETY: as above.
        let known = unsafe { libc::fstat(self.raw(), &mut facts) } == 0;
        (known && !self.is_block_device).then_some(facts.st_size as u64)
    }

    /// Returns the flags of its calls of sync_file_range.
    pub(crate) fn range_flags(&self) -> u32 {
        self.range_flags
    }

    pub(crate) fn is_block_device(&self) -> bool {
        self.is_block_device
    }

    /// Trims or syncs, on the calling thread. Returns the bytes trimmed.
    pub(crate) fn without_data(&self, request: &Request) -> Result<u32, Errno> {
        let &Request {
            kind,
            offset_bytes,
            length_bytes,
            ..
        } = request;
        let fd = self.raw();
        let failed = loop {
            let range = [offset_bytes, u64::from(length_bytes)];
            let result = match kind {
                // SAFETY: BLKDISCARD reads two u64 from the pointer, which `range` holds.
                Kind::Trim if self.is_block_device => unsafe {
                    let fd = self.exclusive.as_ref().map_or(fd, AsRawFd::as_raw_fd);
                    libc::ioctl(fd, BLKDISCARD, range.as_ptr())
                },
                // SAFETY: fallocate takes numbers only.
                Kind::Trim => unsafe {
                    libc::fallocate(fd, PUNCH, offset_bytes as i64, i64::from(length_bytes))
                },
                // SAFETY: fsync and fdatasync take numbers only.
                Kind::Sync => unsafe { libc::fsync(fd) },
                // SAFETY: as above.
                Kind::DataSync => unsafe { libc::fdatasync(fd) },
                // Nothing was written. To the kernel, no bytes are all to the end of the file.
                Kind::RangeSync if length_bytes == 0 => 0,
                // SAFETY: as above.
                Kind::RangeSync => unsafe {
                    let length = i64::from(kernel_length(request));
                    libc::sync_file_range(fd, offset_bytes as i64, length, self.range_flags)
                },
                Kind::Read | Kind::Write => unreachable!("reads and writes have a buffer"),
            };
            match result {
                0.. => return Ok(if kind == Kind::Trim { length_bytes } else { 0 }),
                _ => match last_errno() {
                    libc::EINTR => {}
                    errno => break errno,
                },
            }
        };
        Err(Errno(failed))
    }
}

/// `_IO(0x12, 119)`, as the asm-generic ioctl numbers have it (x86, Arm, RISC-V).
const BLKDISCARD: libc::Ioctl = 0x1277;

/// The flags of a hole punch: the file keeps its size.
pub(crate) const PUNCH: libc::c_int = libc::FALLOC_FL_PUNCH_HOLE | libc::FALLOC_FL_KEEP_SIZE;

/// How much [`pre_read`] reads at a time.
const PRE_READ_BYTES: u64 = 1 << 20;

/// Reads the worker's regions into the page cache, unless it is stopped before.
pub(crate) fn pre_read(plan: &WorkerPlan, stopped: impl Fn() -> bool) -> Result<(), Error> {
    let mut buffer = vec![0; PRE_READ_BYTES as usize];
    for file in plan.files.iter().filter(|file| file.fd >= 0) {
        let opened = File::reopen(file, file.fd, libc::O_RDONLY | libc::O_CLOEXEC, "reading")?;
        let reader = std::fs::File::from(opened.fd);
        let end = file.region_offset_bytes + file.region_bytes;
        for offset in (file.region_offset_bytes..end).step_by(PRE_READ_BYTES as usize) {
            if stopped() {
                return Ok(());
            }
            let length = PRE_READ_BYTES.min(end - offset) as usize;
            reader
                .read_exact_at(&mut buffer[..length], offset)
                .map_err(|cause| Error::PreRead {
                    path: file.path.clone(),
                    cause,
                })?;
        }
    }
    Ok(())
}

/// Writes back and drops the cached pages of the worker's regions, so that its reads reach the target. Pages of
/// memory-backed filesystems cannot be dropped; the warning about the page cache covers that case.
///
/// # Errors
/// If pages could not be written back: what was written is lost. A target without a page cache has none to write.
pub(crate) fn invalidate(plan: &WorkerPlan) -> Result<(), Error> {
    let mut written = Ok(());
    for file in plan.files.iter().filter(|file| file.fd >= 0) {
        let (offset, length) = (file.region_offset_bytes as i64, file.region_bytes as i64);
        // SAFETY: both calls take a descriptor, which stays open for the whole run, and numbers.
        unsafe {
            if file.writable && libc::fdatasync(file.fd) != 0 {
                let cause = std::io::Error::last_os_error();
                if !matches!(cause.raw_os_error(), Some(libc::EINVAL | libc::EROFS)) {
                    let path = file.path.clone();
                    written = written.and(Err(Error::WriteBack { path, cause }));
                }
            }
            libc::posix_fadvise(file.fd, offset, length, libc::POSIX_FADV_DONTNEED);
        }
    }
    written
}

/// Opens the file behind a descriptor anew, at its beginning.
pub(crate) fn reopen_for_writing(fd: RawFd) -> io::Result<std::fs::File> {
    let link = link_to(fd);
    // SAFETY: `link` is a string that ends in zero and outlives the call.
    let own = unsafe { libc::open(link.as_ptr(), libc::O_WRONLY | libc::O_CLOEXEC) };
    if own < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the descriptor was just opened and nothing else has it.
    Ok(unsafe { std::fs::File::from_raw_fd(own) })
}

fn link_to(fd: RawFd) -> CString {
    CString::new(format!("/proc/self/fd/{fd}")).expect("no zero byte in it")
}

#[cfg(test)]
mod tests {
    use iogauge_core::plan::Rw;
    use iogauge_core::testing::{file, plan};

    use super::*;

    #[test]
    fn a_file_whose_pages_are_not_written_back_is_named_unless_nothing_is_written() {
        let mut job = plan(Rw::Write);
        job.files = vec![file(8)];
        job.files[0].fd = libc::c_int::MAX;
        for writable in [false, true] {
            job.files[0].writable = writable;
            let error = invalidate(&job).err().map(|error| error.to_string());
            assert_eq!(error.is_some(), writable);
            assert!(error.is_none_or(|error| error.contains("Bad file descriptor")));
        }
    }
}
