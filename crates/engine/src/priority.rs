//! Sets how the scheduler and the block layer prefer a worker's thread: fio's nice, prio and prioclass, and a real-time
//! priority for the instant of a common start.
#![allow(unsafe_code)]

use std::io;
use std::marker::PhantomData;

use crate::error::Error;

/// "The calling thread", for ioprio_set.
const IOPRIO_WHO_PROCESS: libc::c_int = 1;

/// Adds `increment` to the calling thread's nice value. On Linux every thread has its own.
pub fn add_nice(increment: i32) -> Result<(), Error> {
    if increment == 0 {
        return Ok(());
    }
    // SAFETY: these calls take numbers only; `who` 0 is the calling thread.
    let refused = unsafe {
        // -1 is a nice value, too, so only errno tells an error.
        *libc::__errno_location() = 0;
        let nice = libc::getpriority(libc::PRIO_PROCESS, 0) + increment;
        libc::setpriority(libc::PRIO_PROCESS, 0, nice.clamp(-20, 19)) != 0
    };
    if refused {
        return Err(Error::Priority {
            option: "nice",
            cause: io::Error::last_os_error(),
        });
    }
    Ok(())
}

/// Sets the calling thread's I/O priority: a class and a level, as ioprio_set takes them.
pub fn set_io_priority(priority: Option<u16>) -> Result<(), Error> {
    let Some(priority) = priority else {
        return Ok(());
    };
    // SAFETY: the call takes numbers only; `who` 0 is the calling thread.
    let result = unsafe {
        libc::syscall(
            libc::SYS_ioprio_set,
            IOPRIO_WHO_PROCESS,
            0,
            libc::c_int::from(priority),
        )
    };
    if result != 0 {
        return Err(Error::Priority {
            option: "prio or prioclass",
            cause: io::Error::last_os_error(),
        });
    }
    Ok(())
}

/// Keeps the calling thread ahead of all others of the computer until it is dropped, so that no busy process delays it.
/// Changes nothing where the kernel permits no real-time priority, or the thread has another policy than the usual one.
///
/// Without an I/O priority of its own, a thread has that of the real-time class meanwhile.
pub(crate) struct Urgent {
    is_raised: bool,
    /// Another thread cannot drop it.
    of_thread: PhantomData<*const ()>,
}

impl Urgent {
    pub(crate) fn raise() -> Urgent {
        // SAFETY: the call takes a number; 0 is the calling thread.
        let is_usual = unsafe { libc::sched_getscheduler(0) } == libc::SCHED_OTHER;
        Urgent {
            is_raised: is_usual && set_policy(libc::SCHED_FIFO, 1),
            of_thread: PhantomData,
        }
    }
}

impl Drop for Urgent {
    fn drop(&mut self) {
        if self.is_raised {
            set_policy(libc::SCHED_OTHER, 0);
        }
    }
}

/// Sets the scheduling policy and the static priority of the calling thread; returns whether the kernel permits it.
fn set_policy(policy: libc::c_int, priority: libc::c_int) -> bool {
    let parameter = libc::sched_param {
        sched_priority: priority,
    };
    // SAFETY: `parameter` is a valid sched_param during the call; 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, policy, &parameter) == 0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_is_urgent_for_a_while_and_keeps_its_nice_value() {
        // SAFETY: the call takes a number; 0 is the calling thread.
        let policy = || unsafe { libc::sched_getscheduler(0) };
        std::thread::spawn(move || {
            add_nice(3).unwrap();
            let (usual, before) = (policy(), nice());
            let urgent = Urgent::raise();
            assert_eq!(policy() == libc::SCHED_FIFO, urgent.is_raised);
            // Within an urgent while, a second one changes nothing.
            drop(Urgent::raise());
            assert_eq!(policy() == libc::SCHED_FIFO, urgent.is_raised);
            drop(urgent);
            assert_eq!((policy(), nice()), (usual, before));
        })
        .join()
        .unwrap();
    }

    fn io_priority() -> libc::c_long {
        // SAFETY: the call takes numbers only; `who` 0 is the calling thread.
        unsafe { libc::syscall(libc::SYS_ioprio_get, IOPRIO_WHO_PROCESS, 0) }
    }

    fn nice() -> i32 {
        // SAFETY: the call takes numbers only; `who` 0 is the calling thread.
        unsafe { libc::getpriority(libc::PRIO_PROCESS, 0) }
    }

    #[test]
    fn one_thread_changes_and_no_other() {
        let before = nice();
        std::thread::spawn(move || {
            add_nice(3).unwrap();
            set_io_priority(Some(2 << 13 | 6)).unwrap();
            assert_eq!(nice(), (before + 3).min(19));
            assert_eq!(io_priority(), 2 << 13 | 6);
            set_io_priority(None).unwrap();
            assert_eq!(io_priority(), 2 << 13 | 6);
        })
        .join()
        .unwrap();
        assert_eq!(nice(), before);
    }

    #[test]
    fn a_class_that_linux_does_not_have_is_refused() {
        let error = set_io_priority(Some(7 << 13)).unwrap_err();
        assert!(error.to_string().contains("prio"), "{error}");
    }
}
