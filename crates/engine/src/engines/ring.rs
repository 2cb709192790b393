//! One io_uring, entered by one system call.
//!
//! The `io-uring` crate maps the rings and knows the kernel's numbers. This file makes the call `io_uring_enter`
//! itself, because the crate forgets a registered ring descriptor with each borrow of its submitter. `ring_setup.rs`
//! chooses the ring's flags; `uring.rs` decides what is submitted and what its completion means.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use io_uring::{EnterFlags, IoUring, cqueue, squeue};
use iogauge_core::Nanos;
use iogauge_core::plan::EnginePlan;

use crate::engines::buffers::Buffers;
use crate::engines::files::File;
use crate::engines::probe;
use crate::engines::ring_setup::{self, Mode};
use crate::error::Error;
use crate::wait::timespec;

/// One ring, by the kinds of its entries.
pub(crate) struct Ring<
    S: squeue::EntryMarker = squeue::Entry,
    C: cqueue::EntryMarker = cqueue::Entry,
> {
    ring: IoUring<S, C>,
    /// The descriptor passed to the kernel, or its index if it is registered.
    fd: i32,
    base_flags: u32,
    pub(crate) mode: Mode,
}

/// `IORING_REGISTER_RING_FDS`.
const REGISTER_RING_FDS: libc::c_uint = 20;

/// `IORING_UNREGISTER_RING_FDS`.
const UNREGISTER_RING_FDS: libc::c_uint = 21;

/// `struct io_uring_rsrc_update`.
#[repr(C)]
struct RingFd {
    offset: u32,
    reserved: u32,
    data: u64,
}

/// `struct io_uring_getevents_arg`.
#[repr(C)]
struct GetEvents {
    sigmask: u64,
    sigmask_size: u32,
    min_wait_usec: u32,
    timespec: u64,
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Ring<S, C> {
    /// Creates a ring with room for `depth` requests. It belongs to the calling thread.
    pub(crate) fn new(depth: u32, mode: Mode, plan: &EnginePlan) -> Result<Self, Error> {
        let ring = ring_setup::build(depth, mode, plan)?;
        let mut ring = Ring {
            fd: ring.as_raw_fd(),
            base_flags: 0,
            mode,
            ring,
        };
        ring.register_own_descriptor();
        Ok(ring)
    }

    /// Registers the ring's descriptor, so that the kernel does not look it up in every call. On older kernels it does
    /// nothing.
    fn register_own_descriptor(&mut self) {
        let mut update = RingFd {
            offset: u32::MAX,
            reserved: 0,
            data: self.fd as u64,
        };
        // SAFETY: the descriptor is open, `update` is one io_uring_rsrc_update as this operation reads and writes it.
        let registered = unsafe {
            libc::syscall(
                libc::SYS_io_uring_register,
                self.fd,
                REGISTER_RING_FDS,
                &raw mut update,
                1,
            )
        };
        if registered == 1 {
            self.fd = update.offset as i32;
            self.base_flags = EnterFlags::REGISTERED_RING.bits();
        }
    }

    /// Registers the buffers, so that the kernel does not look their pages up for every request.
    pub(crate) fn register_buffers(&self, buffers: &Buffers) -> Result<(), Error> {
        // SAFETY: the kernel itself holds the pages from here on, and they stay mapped as long as requests use them.
        let outcome = unsafe { self.ring.submitter().register_buffers(&buffers.fixed()) };
        outcome.map_err(|cause| match cause.raw_os_error() {
            Some(libc::ENOMEM) => {
                let limit_bytes = probe::lockable_bytes();
                Error::LockedMemory {
                    needed_bytes: buffers.bytes(),
                    limit_bytes,
                }
            }
            _ => Error::UringSetup {
                what: "registering buffers",
                cause,
            },
        })
    }

    /// Registers the files. Requests then name their indices.
    pub(crate) fn register_files(&self, files: &[File]) -> Result<(), Error> {
        let descriptors: Vec<_> = files.iter().map(File::raw).collect();
        let outcome = self.ring.submitter().register_files(&descriptors);
        outcome.map_err(|cause| Error::UringSetup {
            what: "registering files",
            cause,
        })
    }

    /// Returns the submission queue. The kernel sees new entries once the returned queue is dropped.
    #[inline(always)]
    pub(crate) fn submission(&mut self) -> squeue::SubmissionQueue<'_, S> {
        self.ring.submission()
    }

    /// Whether the kernel knows an operation.
    pub(crate) fn knows(&self, operation: u8) -> bool {
        let mut probe = io_uring::Probe::new();
        self.ring.submitter().register_probe(&mut probe).is_ok() && probe.is_supported(operation)
    }

    /// Returns the completion queue.
    #[inline(always)]
    pub(crate) fn completions(&mut self) -> cqueue::CompletionQueue<'_, C> {
        self.ring.completion()
    }

    /// Whether completions wait in the kernel for a call that collects them.
    #[inline(always)]
    pub(crate) fn has_deferred_work(&mut self) -> bool {
        let queue = self.ring.submission();
        queue.taskrun() || queue.cq_overflow()
    }

    /// Wakes the kernel's submission thread if it sleeps.
    #[inline]
    pub(crate) fn wake(&mut self) -> Result<(), i32> {
        if self.ring.submission().need_wakeup() {
            self.enter(0, 0, EnterFlags::SQ_WAKEUP)?;
        }
        Ok(())
    }

    /// Submits `count` entries and collects completions in one call, without waiting. Returns how many entries the
    /// kernel took, or its errno.
    #[inline(always)]
    pub(crate) fn submit(&self, count: u32) -> Result<u32, i32> {
        self.enter(count, 0, EnterFlags::GETEVENTS)
    }

    /// Waits for `min` completions, a signal or `timeout`. With `min` 0, collects the completions that are due.
    #[inline]
    pub(crate) fn wait(&self, min: u32, timeout: Option<Nanos>) -> Result<(), i32> {
        let Some(timeout) = timeout else {
            return self.enter(0, min, EnterFlags::GETEVENTS).map(drop);
        };
        let length = timespec(timeout);
        let argument = GetEvents {
            sigmask: 0,
            sigmask_size: 0,
            min_wait_usec: 0,
            timespec: (&raw const length).expose_provenance() as u64,
        };
        let flags = EnterFlags::GETEVENTS | EnterFlags::EXT_ARG;
        // SAFETY: `argument` and the timespec that it points to live until the call returns, and have the layout of
        // EXT_ARG.
        let result = unsafe {
            enter(
                self.fd,
                0,
                min,
                flags.bits() | self.base_flags,
                (&raw const argument).cast(),
                size_of::<GetEvents>(),
            )
        };
        match result {
            Ok(_) | Err(libc::ETIME) => Ok(()),
            Err(errno) => Err(errno),
        }
    }

    #[inline(always)]
    fn enter(&self, submit: u32, min: u32, flags: EnterFlags) -> Result<u32, i32> {
        // SAFETY: no argument structure is passed.
        unsafe {
            enter(
                self.fd,
                submit,
                min,
                flags.bits() | self.base_flags,
                ptr::null(),
                0,
            )
        }
    }
}

impl<S: squeue::EntryMarker, C: cqueue::EntryMarker> Drop for Ring<S, C> {
    /// Unregisters the descriptor. Otherwise the ring and the pages of its buffers would be kept as long as the thread
    /// lives.
    fn drop(&mut self) {
        if self.base_flags == 0 {
            return;
        }
        let mut update = RingFd {
            offset: self.fd as u32,
            reserved: 0,
            data: 0,
        };
        let fd = self.ring.as_raw_fd();
        // SAFETY: the descriptor is open, `update` is one io_uring_rsrc_update as this operation reads it.
        unsafe {
            libc::syscall(
                libc::SYS_io_uring_register,
                fd,
                UNREGISTER_RING_FDS,
                &raw mut update,
                1,
            )
        };
    }
}

/// # Safety
/// Until the call returns, `argument` must be null or point at what `flags` say. Queued entries must be valid.
#[inline(always)]
unsafe fn enter(
    fd: i32,
    submit: u32,
    min: u32,
    flags: u32,
    argument: *const libc::c_void,
    size: usize,
) -> Result<u32, i32> {
    // SAFETY: the caller keeps this function's contract; the kernel refuses a wrong descriptor.
    let result = unsafe { call(fd, submit, min, flags, argument, size) };
    if result >= 0 {
        Ok(result as u32)
    } else {
        Err(-result as i32)
    }
}

/// Makes the system call without the C library: after the kernel's work the caches are cold, and every line of code
/// costs time. Returns the kernel's own result, a negative errno if it failed.
#[cfg(target_arch = "x86_64")]
#[inline(always)]
unsafe fn call(
    fd: i32,
    submit: u32,
    min: u32,
    flags: u32,
    argument: *const libc::c_void,
    size: usize,
) -> isize {
    let result: isize;
    // SAFETY: the x86-64 convention: number in rax, arguments in rdi, rsi, rdx, r10, r8, r9, result in rax; the kernel
    // overwrites rcx and r11. The contract of `enter` covers the memory that the call accesses.
    unsafe {
        std::arch::asm!(
            "syscall",
            inlateout("rax") libc::SYS_io_uring_enter as isize => result,
            in("rdi") fd as isize,
            in("rsi") submit as usize,
            in("rdx") min as usize,
            in("r10") flags as usize,
            in("r8") argument,
            in("r9") size,
            lateout("rcx") _,
            lateout("r11") _,
            options(nostack),
        );
    }
    result
}

/// Makes the system call through the C library.
#[cfg(not(target_arch = "x86_64"))]
#[inline(always)]
unsafe fn call(
    fd: i32,
    submit: u32,
    min: u32,
    flags: u32,
    argument: *const libc::c_void,
    size: usize,
) -> isize {
    // SAFETY: the caller keeps the contract of `enter`.
    let result = unsafe {
        libc::syscall(
            libc::SYS_io_uring_enter,
            fd,
            submit,
            min,
            flags,
            argument,
            size,
        )
    };
    match result {
        0.. => result as isize,
        _ => -(crate::error::last_errno() as isize),
    }
}

/// Returns the error of an `io_uring_enter` that is not tried again.
pub(crate) fn enter_failed(errno: i32) -> Error {
    Error::Call {
        call: "io_uring_enter",
        cause: io::Error::from_raw_os_error(errno),
    }
}
