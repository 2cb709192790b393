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

/// A real-time priority of the calling thread, until it is dropped: no busy process delays the thread.
///
/// Nothing changes where the kernel permits no such priority, or the thread has another policy than the usual one.
/// Threads that it starts, or the kernel for it, do not inherit the priority. Meanwhile a thread without an I/O
/// priority has the real-time I/O class.
pub(crate) struct RealTimePriority {
    /// The timer slack of before, ns, if the priority was raised: a change of policy sets it to the kernel's default.
    slack_ns: Option<libc::c_int>,
    not_send: PhantomData<*const ()>,
}

impl RealTimePriority {
    pub(crate) fn raise() -> RealTimePriority {
        // SAFETY: the calls take numbers only; 0 is the calling thread.
        let (policy, slack_ns) = unsafe {
            (
                libc::sched_getscheduler(0),
                libc::prctl(libc::PR_GET_TIMERSLACK),
            )
        };
        let raised = policy == libc::SCHED_OTHER
            && set_policy(libc::SCHED_FIFO | libc::SCHED_RESET_ON_FORK, 1);
        RealTimePriority {
            slack_ns: raised.then_some(slack_ns),
            not_send: PhantomData,
        }
    }

    /// Whether the kernel permitted it.
    pub(crate) fn is_raised(&self) -> bool {
        self.slack_ns.is_some()
    }
}

impl Drop for RealTimePriority {
    fn drop(&mut self) {
        let Some(slack_ns) = self.slack_ns else {
            return;
        };
        // Without CAP_SYS_NICE, the kernel does not let a thread take back SCHED_RESET_ON_FORK.
        if !set_policy(libc::SCHED_OTHER, 0) {
            set_policy(libc::SCHED_OTHER | libc::SCHED_RESET_ON_FORK, 0);
        }
        // SAFETY: the call takes numbers only, and cannot fail with a positive one.
        unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, slack_ns as libc::c_ulong) };
    }
}

/// Whether the calling thread has a real-time priority.
#[cfg(test)]
pub(crate) fn is_real_time() -> bool {
    // SAFETY: the call takes a number; 0 is the calling thread.
    let policy = unsafe { libc::sched_getscheduler(0) };
    policy & !libc::SCHED_RESET_ON_FORK == libc::SCHED_FIFO
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
    fn after_a_real_time_priority_a_thread_is_as_before() {
        // SAFETY: the call takes numbers only.
        let slack_ns = || unsafe { libc::prctl(libc::PR_GET_TIMERSLACK) };
        std::thread::spawn(move || {
            add_nice(3).unwrap();
            crate::wait::sharpen_timer();
            let before = (is_real_time(), nice(), slack_ns());
            let priority = RealTimePriority::raise();
            let is_raised = priority.is_raised();
            assert_eq!(is_real_time(), is_raised);
            // A second one on the same thread changes nothing.
            drop(RealTimePriority::raise());
            assert_eq!(is_real_time(), is_raised);
            assert!(!std::thread::spawn(is_real_time).join().unwrap());
            drop(priority);
            assert_eq!((is_real_time(), nice(), slack_ns()), before);
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
