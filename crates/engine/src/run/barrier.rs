//! An asymmetric memory barrier: free for its frequent side, a system call for its rare side.
//!
//! Two threads that each write one flag and then read the other's need a full barrier in between. If one thread does so
//! in every round of its loop and the other once a run, the kernel can insert the first one's barrier when the second
//! calls membarrier (Linux 4.14). Source: membarrier(2).
#![allow(unsafe_code)]

use std::sync::OnceLock;
use std::sync::atomic::{Ordering, compiler_fence, fence};

/// `MEMBARRIER_CMD_PRIVATE_EXPEDITED`.
const PRIVATE_EXPEDITED: libc::c_long = 1 << 3;

/// `MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED`.
const REGISTER_PRIVATE_EXPEDITED: libc::c_long = 1 << 4;

fn membarrier(command: libc::c_long) -> bool {
    // SAFETY: the call takes numbers only and touches no memory of ours.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}

/// The frequent side's half of the barrier. Create it before the threads that use it.
#[derive(Clone, Copy, Debug)]
pub struct Light {
    kernel_helps: bool,
}

impl Light {
    /// Returns the barrier. Once a process, registers it with the kernel and notes whether the kernel supports it.
    pub fn get() -> Light {
        static REGISTERED: OnceLock<bool> = OnceLock::new();
        Light {
            kernel_helps: *REGISTERED.get_or_init(|| membarrier(REGISTER_PRIVATE_EXPEDITED)),
        }
    }

    /// Makes the frequent side's half of the barrier, between the write of its own flag and the read of the other's.
    #[inline(always)]
    pub fn pass(self) {
        if self.kernel_helps {
            compiler_fence(Ordering::SeqCst);
        } else {
            fence(Ordering::SeqCst);
        }
    }

    /// Makes the rare side's half of the barrier, at the same place.
    pub fn heavy(self) {
        fence(Ordering::SeqCst);
        if self.kernel_helps {
            // The kernel never refuses a registered process.
            let done = membarrier(PRIVATE_EXPEDITED);
            debug_assert!(done, "membarrier failed");
        }
    }
}
