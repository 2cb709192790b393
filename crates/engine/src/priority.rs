//! Sets how the scheduler and the block layer prefer a worker's thread: fio's nice, prio and prioclass.
#![allow(unsafe_code)]

use std::io;

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

#[cfg(test)]
mod tests {
    use super::*;

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
