//! Decides where a worker's thread takes its memory from, and takes memory away from the machine: fio's numa_mem_policy
//! and lockmem.
//!
//! The policy of a thread holds for memory that it touches for the first time, so it is set before the buffers exist.
//! Source: set_mempolicy(2); fio's memory.c (fio_pin_memory).
#![allow(unsafe_code)]

use std::io;
use std::ptr;

use iogauge_core::plan::{NumaMode, NumaPlan};

use crate::error::Error;

/// The most nodes that Linux has.
const NODES: usize = 1024;
const WORD: usize = u64::BITS as usize;

/// Sets the calling thread's memory policy.
pub fn set_policy(policy: Option<&NumaPlan>) -> Result<(), Error> {
    let Some(NumaPlan { mode, nodes }) = policy else {
        return Ok(());
    };
    let mode = match mode {
        NumaMode::Default => libc::MPOL_DEFAULT,
        NumaMode::Prefer => libc::MPOL_PREFERRED,
        NumaMode::Bind => libc::MPOL_BIND,
        NumaMode::Interleave => libc::MPOL_INTERLEAVE,
        NumaMode::Local => libc::MPOL_LOCAL,
    };
    let mut mask = [0u64; NODES / WORD];
    for &node in nodes {
        if let Some(word) = mask.get_mut(node as usize / WORD) {
            *word |= 1 << (node as usize % WORD);
        }
    }
    // Without nodes the kernel takes no mask. It reads one bit less than it is told.
    let (address, bits) = match nodes.is_empty() {
        true => (ptr::null(), 0),
        false => (mask.as_ptr(), NODES + 1),
    };
    // SAFETY: the mask has NODES bits and outlives the call, which only reads it.
    let result = unsafe { libc::syscall(libc::SYS_set_mempolicy, mode, address, bits) };
    if result != 0 {
        return Err(Error::NumaPolicy {
            cause: io::Error::last_os_error(),
        });
    }
    Ok(())
}

/// Memory that is locked until this is dropped.
#[derive(Debug)]
pub struct Locked {
    start: *mut libc::c_void,
    bytes: usize,
}

impl Locked {
    /// Locks this much memory. Locking touches every page.
    pub fn new(bytes: u64) -> Result<Self, Error> {
        let failed = || Error::LockFailed {
            bytes,
            cause: io::Error::last_os_error(),
        };
        let size = bytes as usize;
        if size == 0 {
            return Ok(Self {
                start: ptr::null_mut(),
                bytes: 0,
            });
        }
        // SAFETY: a fresh private mapping, placed by the kernel, touches nothing that exists.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                size,
                libc::PROT_READ | libc::PROT_WRITE,
                libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
                -1,
                0,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(failed());
        }
        let locked = Self { start, bytes: size };
        // SAFETY: the range is the mapping of this value.
        match unsafe { libc::mlock(start, size) } {
            0 => Ok(locked),
            _ => Err(failed()),
        }
    }
}

impl Drop for Locked {
    fn drop(&mut self) {
        if self.bytes > 0 {
            // SAFETY: `new` mapped this range, and it is unmapped once, here.
            unsafe { libc::munmap(self.start, self.bytes) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked_kib() -> u64 {
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find(|line| line.starts_with("VmLck:"));
        let words = line.unwrap().split_ascii_whitespace();
        words.into_iter().nth(1).unwrap().parse().unwrap()
    }

    #[test]
    fn locked_memory_is_locked_and_given_back() {
        let before = locked_kib();
        let Ok(locked) = Locked::new(64 << 10) else {
            return; // The limit on locked memory of this machine is below that.
        };
        assert_eq!(locked_kib(), before + 64);
        drop(locked);
        assert_eq!(locked_kib(), before);
    }

    #[test]
    fn more_than_the_machine_has_cannot_be_locked() {
        let error = Locked::new(1 << 46).unwrap_err();
        assert!(error.hint().unwrap().contains("lockmem"), "{error}");
    }

    #[test]
    fn a_policy_is_that_of_one_thread() {
        let mode = || {
            let mut mode: libc::c_int = -1;
            let none = ptr::null_mut::<u64>();
            // SAFETY: the kernel writes one int to `mode`; no mask is asked for.
            let got =
                unsafe { libc::syscall(libc::SYS_get_mempolicy, &raw mut mode, none, 0, none, 0) };
            (got == 0).then_some(mode)
        };
        let Some(before) = mode() else {
            return; // A kernel without NUMA.
        };
        std::thread::spawn(move || {
            let plan = |mode, nodes| NumaPlan { mode, nodes };
            set_policy(Some(&plan(NumaMode::Interleave, vec![0]))).unwrap();
            assert_eq!(mode(), Some(libc::MPOL_INTERLEAVE));
            set_policy(Some(&plan(NumaMode::Bind, vec![0]))).unwrap();
            assert_eq!(mode(), Some(libc::MPOL_BIND));
            set_policy(Some(&plan(NumaMode::Local, vec![]))).unwrap();
            assert_eq!(mode(), Some(libc::MPOL_LOCAL));
            set_policy(None).unwrap();
            assert_eq!(mode(), Some(libc::MPOL_LOCAL));
            let absent = plan(NumaMode::Bind, vec![NODES as u32 - 1]);
            assert!(set_policy(Some(&absent)).is_err());
        })
        .join()
        .unwrap();
        assert_eq!(mode(), Some(before));
    }
}
