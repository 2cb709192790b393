//! A worker's own descriptors, and the requests that need no buffer: trims and syncs.
//!
//! The safety check opened and cleared the descriptors in the plan. Each worker opens the same file again through
//! `/proc/self/fd`, with its own flags. No path is looked up again, so it is certainly the file that was checked.
#![allow(unsafe_code)]

use std::ffi::CString;
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::fs::FileExt;

use iogauge_core::plan::{FilePlan, SyncMode, WorkerPlan};
use iogauge_core::{Errno, Kind, Request};

use crate::error::{Error, last_errno};

/// One file of a worker, open with the flags of its job.
#[derive(Debug)]
pub(crate) struct File {
    fd: OwnedFd,
    is_block_device: bool,
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
        let changes = plan.pattern.rw.changes_files();
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
        File::reopen(file, file.fd, flags, access)
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
        let link = CString::new(format!("/proc/self/fd/{fd}")).expect("no zero byte in it");
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
        })
    }

    /// Whether it supports non-blocking direct I/O. Without that, io_uring passes every request to a kernel thread. It
    /// tries to read one byte with RWF_NOWAIT: a file that supports that flag refuses the read as misaligned.
    pub(crate) fn takes_nonblocking(&self) -> bool {
        let mut byte = 0u8;
        let vector = libc::iovec {
            iov_base: (&raw mut byte).cast(),
            iov_len: 1,
        };
        // SAFETY: the vector names one writable byte; both live for the whole call.
        let read = unsafe { libc::preadv2(self.raw(), &vector, 1, 0, libc::RWF_NOWAIT) };
        read >= 0 || last_errno() != libc::EOPNOTSUPP
    }

    pub(crate) fn raw(&self) -> RawFd {
        self.fd.as_raw_fd()
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
pub(crate) fn invalidate(plan: &WorkerPlan) {
    for file in plan.files.iter().filter(|file| file.fd >= 0) {
        let (offset, length) = (file.region_offset_bytes as i64, file.region_bytes as i64);
        // SAFETY: both calls take a descriptor, which stays open for the whole run, and numbers.
        unsafe {
            if file.writable {
                libc::fdatasync(file.fd);
            }
            libc::posix_fadvise(file.fd, offset, length, libc::POSIX_FADV_DONTNEED);
        }
    }
}
