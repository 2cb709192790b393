//! Creates an io_uring with the best features that the kernel has, or explains why there is none.
//!
//! Source: the kernel's io_uring_setup(2).

use std::io;

use io_uring::{IoUring, cqueue, opcode, squeue};
use iogauge_core::plan::EnginePlan;

use crate::error::Error;

/// How the ring is used. With neither field set, requests are submitted by system calls and completions come by
/// interrupts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mode {
    /// Completions are polled for (`IORING_SETUP_IOPOLL`).
    pub(crate) poll: bool,
    /// A kernel thread submits, and polls if the plan says so (`IORING_SETUP_SQPOLL`).
    pub(crate) kernel_thread: bool,
}

impl Mode {
    /// Whether completions are seen only by calls that poll for them.
    pub(crate) const fn polls_by_call(self) -> bool {
        self.poll && !self.kernel_thread
    }
}

/// How long the kernel's submission thread polls before it sleeps.
const KERNEL_THREAD_IDLE_MS: u32 = 1_000;

/// Tries the best set-up first, then those of older kernels: no array of indices (6.6), deferred work run by this
/// thread alone (6.1), work run without interrupting it (5.19), no flags.
///
/// With `IORING_SETUP_DEFER_TASKRUN`, completions are posted only when this thread calls `io_uring_enter`: interrupts cost
/// it little, and one wake-up serves many. It is best even where io-wq threads execute the requests on this thread's CPU
/// (zram at depth 32: 4 % more IOPS than with `COOP_TASKRUN`, and 14 % less system time).
pub(crate) fn build<S: squeue::EntryMarker, C: cqueue::EntryMarker>(
    depth: u32,
    mode: Mode,
    plan: &EnginePlan,
) -> Result<IoUring<S, C>, Error> {
    let mut refusal = None;
    for level in (0..4).rev() {
        let mut builder = IoUring::<S, C>::builder();
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
        }
        if level >= 2 {
            builder.setup_single_issuer();
        }
        if level >= 1 && !mode.kernel_thread {
            builder.setup_taskrun_flag();
            if level >= 2 {
                builder.setup_defer_taskrun();
            } else {
                builder.setup_coop_taskrun();
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

/// Whether io_uring can pass commands to drivers, by entries of twice the size (Linux 5.19).
pub(crate) fn passes_commands() -> Result<(), Error> {
    available()?;
    let too_old = Error::TooOld {
        what: "io_uring_cmd",
        linux: "5.19",
    };
    let ring = match IoUring::<squeue::Entry128, cqueue::Entry32>::builder().build(1) {
        Ok(ring) => ring,
        Err(cause) if cause.raw_os_error() == Some(libc::EINVAL) => return Err(too_old),
        Err(cause) => return Err(refused(cause)),
    };
    let mut probe = io_uring::Probe::new();
    let known = ring.submitter().register_probe(&mut probe).is_ok();
    if known && probe.is_supported(opcode::UringCmd80::CODE) {
        Ok(())
    } else {
        Err(too_old)
    }
}

/// Explains a failed set-up.
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
