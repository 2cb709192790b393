//! Sets the CPUs of a worker's thread and measures what it used: CPU time, context switches, migrations.
//!
//! The plan decides which CPUs a thread may use.
#![allow(unsafe_code)]

use std::io;
use std::mem;

use iogauge_core::results::ThreadUsage;

use crate::error::Error;

/// Returns the CPUs that the calling thread may run on, in ascending order.
pub fn allowed_cpus() -> Result<Vec<u32>, Error> {
    // SAFETY: a cpu_set_t is plain bits, for which all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: `set` is a writable cpu_set_t of the size passed; pid 0 is the calling thread.
    if unsafe { libc::sched_getaffinity(0, mem::size_of_val(&set), &mut set) } != 0 {
        return Err(Error::Call {
            call: "sched_getaffinity",
            cause: io::Error::last_os_error(),
        });
    }
    // SAFETY: every index is below CPU_SETSIZE, so CPU_ISSET stays inside the set.
    Ok((0..libc::CPU_SETSIZE as u32)
        .filter(|&cpu| unsafe { libc::CPU_ISSET(cpu as usize, &set) })
        .collect())
}

/// Restricts the calling thread to `cpus`. An empty list changes nothing.
pub fn run_on(cpus: &[u32]) -> Result<(), Error> {
    if cpus.is_empty() {
        return Ok(());
    }
    let refused = |cause| Error::Affinity {
        cpus: cpus
            .iter()
            .map(u32::to_string)
            .collect::<Vec<_>>()
            .join(","),
        cause,
    };
    if cpus.iter().any(|&cpu| cpu >= libc::CPU_SETSIZE as u32) {
        return Err(refused(io::Error::from_raw_os_error(libc::EINVAL)));
    }
    // SAFETY: a cpu_set_t is plain bits, for which all zeroes is the empty set.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    for &cpu in cpus {
        // SAFETY: `cpu` was checked to be below CPU_SETSIZE.
        unsafe { libc::CPU_SET(cpu as usize, &mut set) };
    }
    // SAFETY: `set` is a valid cpu_set_t of the size passed; pid 0 is the calling thread.
    if unsafe { libc::sched_setaffinity(0, mem::size_of_val(&set), &set) } != 0 {
        return Err(refused(io::Error::last_os_error()));
    }
    Ok(())
}

/// Returns the CPU that the calling thread is on, without a system call if the C library needs none.
#[inline]
pub fn current_cpu() -> u32 {
    // SAFETY: sched_getcpu has no arguments and touches no memory of ours; -1 (no such call) becomes CPU 0.
    unsafe { libc::sched_getcpu() }.max(0) as u32
}

/// Returns what the calling thread has used so far. It costs two system calls and a read of /proc, too much for every
/// request.
pub fn thread_usage() -> ThreadUsage {
    // SAFETY: rusage is plain numbers, for which zero is a value.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: `usage` is a writable rusage; RUSAGE_THREAD exists since Linux 2.6.26.
    unsafe { libc::getrusage(libc::RUSAGE_THREAD, &mut usage) };
    let nanos =
        |time: libc::timeval| time.tv_sec as u64 * 1_000_000_000 + time.tv_usec as u64 * 1_000;
    ThreadUsage {
        user_ns: nanos(usage.ru_utime),
        system_ns: nanos(usage.ru_stime),
        voluntary_switches: usage.ru_nvcsw as u64,
        involuntary_switches: usage.ru_nivcsw as u64,
        migrations: migrations().unwrap_or(0),
        major_faults: usage.ru_majflt as u64,
        minor_faults: usage.ru_minflt as u64,
    }
}

/// Returns `se.nr_migrations` of the calling thread; the file exists with CONFIG_SCHED_DEBUG.
fn migrations() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/thread-self/sched").ok()?;
    let line = text
        .lines()
        .find(|line| line.starts_with("se.nr_migrations"))?;
    line.rsplit(':').next()?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pinned_thread_stays() {
        std::thread::spawn(|| {
            let allowed = allowed_cpus().unwrap();
            let last = *allowed.last().unwrap();
            run_on(&[last]).unwrap();
            assert_eq!(allowed_cpus().unwrap(), [last]);
            assert_eq!(current_cpu(), last);
        })
        .join()
        .unwrap();
    }

    #[test]
    fn an_empty_list_changes_nothing() {
        let before = allowed_cpus().unwrap();
        run_on(&[]).unwrap();
        assert_eq!(allowed_cpus().unwrap(), before);
    }

    #[test]
    fn a_cpu_that_is_not_there_is_named() {
        for cpu in [1000, 100_000] {
            let error = run_on(&[cpu]).unwrap_err();
            assert!(error.to_string().contains(&cpu.to_string()), "{error}");
            assert!(error.hint().is_some());
        }
    }

    #[test]
    fn usage_grows_with_work() {
        let before = thread_usage();
        let mut sum = 0u64;
        while thread_usage().since(before).user_ns == 0 {
            sum = (0..1_000_000u64).fold(sum, |a, b| a.rotate_left(5) ^ std::hint::black_box(b));
        }
        assert!(std::hint::black_box(sum) != 1);
    }
}
