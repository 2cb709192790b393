//! An io_uring as the engine needs it: set up with the best that the kernel offers, and entered by one system call.
//!
//! The `io-uring` crate maps the rings and knows the kernel's numbers. Entering is done here, because the crate
//! remembers a registered ring descriptor only as long as one borrow of its submitter lasts. What is submitted, and
//! what its completion means, is `uring.rs`.
#![allow(unsafe_code)]

use std::io;
use std::os::fd::AsRawFd;
use std::ptr;

use io_uring::{EnterFlags, IoUring, cqueue, squeue};
use iogauge_core::Nanos;
use iogauge_core::plan::EnginePlan;

use crate::error::Error;
use crate::wait::timespec;

/// One SQE, in the kernel's layout. The crate builds entries one opcode at a time; here a request is a template of
/// its file and kind with four fields set.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sqe {
    pub(crate) opcode: u8,
    pub(crate) flags: u8,
    pub(crate) ioprio: u16,
    pub(crate) fd: i32,
    /// Offset, or the command of a uring_cmd.
    pub(crate) off: u64,
    pub(crate) addr: u64,
    pub(crate) len: u32,
    /// `rw_flags`, `fsync_flags` and so on.
    pub(crate) op_flags: u32,
    pub(crate) user_data: u64,
    pub(crate) buf_index: u16,
    pub(crate) personality: u16,
    pub(crate) file_index: u32,
    pub(crate) addr3: u64,
    pub(crate) pad: u64,
}

impl Sqe {
    /// The same entry as the crate has it.
    #[inline(always)]
    pub(crate) fn into_entry(self) -> squeue::Entry {
        // SAFETY: both are the kernel's 64 bytes, with equal alignment (asserted below), and take any bits.
        unsafe { std::mem::transmute::<Sqe, squeue::Entry>(self) }
    }
}

const _: () = assert!(size_of::<Sqe>() == 64 && align_of::<Sqe>() == align_of::<squeue::Entry>());

/// How the ring is used; by interrupts and by calls where neither is set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    /// Completions are polled for (`IORING_SETUP_IOPOLL`).
    pub(crate) poll: bool,
    /// A kernel thread submits, and polls where that is asked for (`IORING_SETUP_SQPOLL`).
    pub(crate) kernel_thread: bool,
}

impl Mode {
    /// Whether completions are found only by calls that look for them.
    pub(crate) const fn polls_by_call(self) -> bool {
        self.poll && !self.kernel_thread
    }
}

/// One ring.
pub(crate) struct Ring {
    ring: IoUring,
    /// The descriptor passed to the kernel, or its index where it is registered.
    fd: i32,
    base_flags: u32,
    pub(crate) mode: Mode,
}

/// `IORING_REGISTER_RING_FDS`.
const REGISTER_RING_FDS: libc::c_uint = 20;

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

/// How long the kernel's submission thread polls before it sleeps.
const KERNEL_THREAD_IDLE_MS: u32 = 1_000;

impl Ring {
    /// Sets up a ring with room for `depth` requests. It belongs to the calling thread.
    pub(crate) fn new(depth: u32, mode: Mode, plan: &EnginePlan) -> Result<Ring, Error> {
        let ring = build(depth, mode, plan)?;
        let mut ring = Ring {
            fd: ring.as_raw_fd(),
            base_flags: 0,
            mode,
            ring,
        };
        ring.register_own_descriptor();
        Ok(ring)
    }

    /// Spares the kernel the look-up of the descriptor in every call. Older kernels do without.
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

    /// The crate's ring, for what registers files and buffers.
    pub(crate) fn submitter(&self) -> io_uring::Submitter<'_> {
        self.ring.submitter()
    }

    /// Takes entries; the kernel sees them once the returned queue is dropped.
    #[inline(always)]
    pub(crate) fn submission(&mut self) -> squeue::SubmissionQueue<'_> {
        self.ring.submission()
    }

    /// Whether the kernel knows an operation.
    pub(crate) fn knows(&self, operation: u8) -> bool {
        let mut probe = io_uring::Probe::new();
        self.ring.submitter().register_probe(&mut probe).is_ok() && probe.is_supported(operation)
    }

    /// The completions that are there.
    #[inline(always)]
    pub(crate) fn completions(&mut self) -> cqueue::CompletionQueue<'_> {
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

    /// Submits, runs what completed meanwhile, and waits for nothing: one call for both directions. Returns how many
    /// the kernel took, or its errno.
    #[inline(always)]
    pub(crate) fn submit(&self, count: u32) -> Result<u32, i32> {
        self.enter(count, 0, EnterFlags::GETEVENTS)
    }

    /// Waits until `min` completions are there (zero: collects those that are due), a signal, or for `timeout`.
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
        // SAFETY: `argument` and the timespec that it points to live until the call returns, and are what EXT_ARG says.
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

/// # Safety
/// `argument` must be null, or what `flags` say, for the whole call. Queued entries must be valid.
#[inline(always)]
unsafe fn enter(
    fd: i32,
    submit: u32,
    min: u32,
    flags: u32,
    argument: *const libc::c_void,
    size: usize,
) -> Result<u32, i32> {
    // SAFETY: as this function demands; a wrong descriptor would be refused by the kernel.
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
    if result >= 0 {
        Ok(result as u32)
    } else {
        Err(crate::error::last_errno())
    }
}

/// Tries the best set-up first, then what older kernels understand: no array of indices (6.6), deferred work run by
/// this thread alone (6.1), work run without interrupting it (5.19), nothing special.
fn build(depth: u32, mode: Mode, plan: &EnginePlan) -> Result<IoUring, Error> {
    let mut refusal = None;
    for level in (0..4).rev() {
        let mut builder = IoUring::builder();
        builder
            .setup_clamp()
            .setup_cqsize((2 * depth).next_power_of_two());
        if mode.poll {
            builder.setup_iopoll();
        }
        if mode.kernel_thread {
            builder.setup_sqpoll(KERNEL_THREAD_IDLE_MS);
            if let Some(cpu) = plan.sqthread_poll_cpu {
                builder.setup_sqpoll_cpu(cpu);
            }
        }
        if level >= 1 {
            builder.setup_submit_all();
            if !mode.kernel_thread {
                builder.setup_taskrun_flag();
                if level == 1 {
                    builder.setup_coop_taskrun();
                }
            }
        }
        if level >= 2 {
            builder.setup_single_issuer();
            if !mode.kernel_thread {
                builder.setup_defer_taskrun();
            }
        }
        if level >= 3 {
            builder.setup_no_sqarray();
        }
        match builder.build(depth.next_power_of_two()) {
            Ok(ring) => return Ok(ring),
            Err(cause) if cause.raw_os_error() == Some(libc::EINVAL) => refusal = Some(cause),
            Err(cause) => return Err(refused(cause)),
        }
    }
    let cause = refusal.unwrap_or_else(|| io::Error::from_raw_os_error(libc::EINVAL));
    Err(Error::UringSetup {
        what: "set-up",
        cause,
    })
}

/// Whether io_uring can be used at all: sets up the smallest ring and drops it.
pub(crate) fn available() -> Result<(), Error> {
    IoUring::new(1).map(drop).map_err(refused)
}

/// What a failed set-up means.
fn refused(cause: io::Error) -> Error {
    match cause.raw_os_error() {
        Some(libc::ENOSYS) => Error::UringMissing,
        Some(libc::EPERM | libc::EACCES) => {
            let setting =
                std::fs::read_to_string("/proc/sys/kernel/io_uring_disabled").unwrap_or_default();
            let (reason, remedy) = match setting.trim() {
                "1" => (
                    "kernel.io_uring_disabled is 1",
                    "sysctl kernel.io_uring_disabled=0 (as root), join the group of kernel.io_uring_group, or use ioengine=libaio",
                ),
                "2" => (
                    "kernel.io_uring_disabled is 2",
                    "sysctl kernel.io_uring_disabled=0 (as root), or use ioengine=libaio",
                ),
                _ => (
                    "a security policy refuses it (seccomp, as in most containers, or an LSM)",
                    "allow io_uring_setup, io_uring_enter and io_uring_register in the container's seccomp profile, or use ioengine=libaio",
                ),
            };
            Error::UringDisabled {
                reason: reason.into(),
                remedy: remedy.into(),
            }
        }
        _ => Error::UringSetup {
            what: "set-up",
            cause,
        },
    }
}
