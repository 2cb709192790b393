//! Checks before a run what the kernel and the device allow. Returns errors with their remedy, and warnings.
//!
//! It changes nothing: it reads the plan, the descriptors in it, /proc and /sys, and opens files for reading only.
//! Errors that occur only when an engine is opened come from [`crate::engines::open`]. Source: fio 3.33's checks of a
//! job; proc(5), sysfs(5).
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::path::Path;

use iogauge_core::Direction;
use iogauge_core::plan::{EngineKind, FilePlan, SizesPlan, WorkerPlan};
use serde::Serialize;

use crate::engines::files::{DONTCACHE, File};
use crate::engines::ring_setup;
use crate::error::{Error, Needs};

/// A warning that a run will not do all that its job says. `code` is one of the schema's `Code`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The schema's code.
    pub code: &'static str,
    /// What the run will do differently, and where.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// Checks that the engine of `plan` can do what the plan says. Returns a warning for each thing that it will do
/// differently.
///
/// # Errors
/// If a run would certainly fail: no io_uring, no libaio requests left, sizes that direct I/O refuses, polling without
/// direct I/O, writes to a read-only file.
pub fn check(plan: &WorkerPlan) -> Result<Vec<Note>, Error> {
    let mut notes = Vec::new();
    if plan.engine.kind == EngineKind::Null {
        return Ok(notes);
    }
    for file in &plan.files {
        if plan.changes_files() && !file.writable {
            return Err(Error::ReadOnly {
                path: file.path.clone(),
            });
        }
        if plan.engine.direct && plan.engine.kind != EngineKind::Mmap {
            aligned(plan, file)?;
        }
        takes_flags(plan, file)?;
        if plan.engine.kind == EngineKind::IoUringCmd {
            fits_a_command(plan, file)?;
        }
    }
    match plan.engine.kind {
        EngineKind::IoUringCmd => {
            ring_setup::passes_commands()?;
            if plan.engine.fixedbufs && kernel() < (6, 1) {
                return Err(Error::TooOld {
                    what: "fixedbufs with io_uring_cmd",
                    linux: "6.1",
                });
            }
        }
        EngineKind::IoUring => ring_setup::available()?,
        EngineKind::Libaio => enough_aio(u64::from(plan.iodepth))?,
        _ => {}
    }
    notes.extend(polling_note(plan)?);
    notes.extend(trim_note(plan));
    notes.extend(worker_note(plan)?);
    Ok(notes)
}

/// Whether an io_uring of this plan polls: the plan has hipri, and the queues of all its devices support polling.
pub(crate) fn polls(plan: &WorkerPlan) -> Result<bool, Error> {
    if !plan.engine.hipri {
        return Ok(false);
    }
    let able = match plan.engine.kind {
        EngineKind::IoUring if !plan.engine.direct => return Err(Error::PollingNeedsDirect),
        EngineKind::IoUring => true,
        EngineKind::IoUringCmd => kernel() >= (6, 1),
        _ => false,
    };
    Ok(able && plan.files.iter().all(can_poll))
}

/// Whether io-wq threads execute some requests of `plan`, because io_uring cannot start them without blocking.
///
/// These threads may run only on the CPUs of the submitting thread, so a pinned worker shares its CPU with all of them.
/// For direct I/O, a trial read shows whether they are used. Buffered I/O goes to them if the page cache would block;
/// syncs and hole punching always do.
///
/// # Errors
/// If a file cannot be opened with the plan's flags.
pub fn handed_over(plan: &WorkerPlan) -> Result<bool, Error> {
    if plan.engine.kind == EngineKind::Posixaio {
        return Ok(true); // Its threads inherit the CPUs of the one that submits.
    }
    if plan.engine.kind != EngineKind::IoUring {
        return Ok(false);
    }
    let pattern = &plan.pattern;
    let punches = plan.trims() && plan.files.iter().any(|file| !file.is_block_device);
    let writes = pattern.rw.writes() || plan.replay.is_some();
    let syncs = writes && plan.directions()[Direction::Sync as usize];
    if !plan.engine.direct || syncs || punches {
        return Ok(true);
    }
    Ok(blocking_file(plan)?.is_some())
}

/// Returns the first file whose driver or filesystem blocks on direct I/O.
fn blocking_file(plan: &WorkerPlan) -> Result<Option<&FilePlan>, Error> {
    for file in &plan.files {
        if !File::open_to_probe(file)?.takes_nonblocking() {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// Returns `RLIMIT_MEMLOCK` of this process.
pub(crate) fn lockable_bytes() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a writable rlimit.
    unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    limit.rlim_cur
}

/// Checks that the kernel and the file know the flags of the plan's requests, by reading and writing nothing with them.
fn takes_flags(plan: &WorkerPlan, file: &FilePlan) -> Result<(), Error> {
    let refuse = |option, reason: String| {
        Err(Error::NoFlag {
            path: file.path.clone(),
            option,
            reason,
        })
    };
    let opened = || File::open_to_probe(file);
    if plan.engine.uncached && !plan.engine.direct && !opened()?.takes_flag(DONTCACHE) {
        return refuse(
            "uncached",
            "RWF_DONTCACHE needs Linux 6.14 and a filesystem that has it".into(),
        );
    }
    if plan.engine.nowait && !opened()?.takes_nonblocking() {
        return refuse("nowait", "its driver has no non-blocking I/O".into());
    }
    if plan.engine.atomic {
        return match atomic_limits(file) {
            None => refuse(
                "atomic",
                "RWF_ATOMIC needs Linux 6.11 and a drive and filesystem that write atomically"
                    .into(),
            ),
            Some((least, most)) => {
                let torn = used_sizes(&plan.pattern.sizes.write)
                    .chain([plan.pattern.sizes.write.largest_bytes()])
                    .find(|size| !size.is_power_of_two() || !(least..=most).contains(size));
                match torn.filter(|_| plan.pattern.rw.writes()) {
                    Some(size) => refuse(
                        "atomic",
                        format!(
                            "a write of {size} bytes is not a power of two from {least} to {most}"
                        ),
                    ),
                    None => Ok(()),
                }
            }
        };
    }
    Ok(())
}

/// Returns the least and the most bytes of one atomic write to the file; `None` if there are none.
fn atomic_limits(file: &FilePlan) -> Option<(u32, u32)> {
    /// `STATX_WRITE_ATOMIC`.
    const WRITE_ATOMIC: u32 = 0x0001_0000;
    /// Where the two numbers are in a statx: `stx_atomic_write_unit_min` and `_max`.
    const AT: usize = 0xA8;
    let mut facts = [0u32; 64];
    // SAFETY: the path is an empty string that ends in zero, `facts` has the 256 bytes of a statx.
    let status = unsafe {
        libc::statx(
            file.fd,
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            WRITE_ATOMIC,
            facts.as_mut_ptr().cast(),
        )
    };
    let known = status == 0 && facts[0] & WRITE_ATOMIC != 0;
    (known && facts[AT / 4 + 1] > 0).then_some((facts[AT / 4], facts[AT / 4 + 1]))
}

fn polling_note(plan: &WorkerPlan) -> Result<Option<Note>, Error> {
    let note = |message: String, hint: &str| {
        Some(Note {
            code: "no_polling",
            message,
            hint: hint.into(),
        })
    };
    if !plan.engine.hipri {
        return Ok(None);
    }
    Ok(match plan.engine.kind {
        EngineKind::IoUring | EngineKind::IoUringCmd if polls(plan)? => None,
        EngineKind::IoUringCmd if kernel() < (6, 1) => note(
            "before Linux 6.1, io_uring_cmd does not poll with hipri".into(),
            "use ioengine=io_uring with hipri=1 and direct=1, or a newer kernel",
        ),
        EngineKind::IoUring | EngineKind::IoUringCmd => {
            let file = plan
                .files
                .iter()
                .find(|file| !can_poll(file))
                .map_or("", |file| &file.path);
            note(
                format!("{file}: its device has no polled queues, so hipri has no effect"),
                "NVMe: load the driver with nvme.poll_queues=N, N at least the number of workers; virtio-blk: poll_queues",
            )
        }
        EngineKind::Pvsync2 if kernel() >= (5, 19) => note(
            "since Linux 5.19, pvsync2 no longer polls with hipri".into(),
            "use ioengine=io_uring with hipri=1 and direct=1 on a device with polled queues",
        ),
        EngineKind::Pvsync2 => None,
        _ => note(
            format!(
                "{:?} cannot poll for completions, so hipri has no effect",
                plan.engine.kind
            )
            .to_lowercase(),
            "use ioengine=io_uring with hipri=1 and direct=1",
        ),
    })
}

/// Warns of trims that block the thread, although the job has a queue depth above one.
fn trim_note(plan: &WorkerPlan) -> Option<Note> {
    let blocks = match plan.engine.kind {
        EngineKind::Libaio => true,
        EngineKind::IoUring => {
            plan.engine.hipri
                || (plan.files.iter().any(|file| file.is_block_device) && kernel() < (6, 12))
        }
        _ => false,
    };
    (plan.trims() && plan.iodepth > 1 && blocks).then(|| Note {
        code: "engine_fallback",
        message: "trims run one at a time here and delay the requests behind them".into(),
        hint: "use ioengine=io_uring without hipri, on Linux 6.12 or later for block devices; or put trims in a job of their own"
            .into(),
    })
}

/// Warns of devices that always block on I/O. io_uring's latencies then include a switch to another thread.
fn worker_note(plan: &WorkerPlan) -> Result<Option<Note>, Error> {
    if plan.engine.kind != EngineKind::IoUring || !plan.engine.direct {
        return Ok(None);
    }
    Ok(blocking_file(plan)?.map(|file| Note {
        code: "engine_fallback",
        message: format!(
            "{}: its driver has no non-blocking I/O, so io_uring hands every request to a kernel thread",
            file.path
        ),
        hint: "use ioengine=pvsync2 with more jobs to measure the device itself".into(),
    }))
}

/// Checks that sizes and offsets are aligned as direct I/O on this file, or an NVMe command to it, requires. If the
/// requirement is unknown, accepts all.
fn aligned(plan: &WorkerPlan, file: &FilePlan) -> Result<(), Error> {
    let (by, alignment) = match file.namespace {
        Some(namespace) => (Needs::NvmeCommand, Some(u64::from(namespace.block_bytes))),
        None => (Needs::DirectIo, direct_alignment(file)),
    };
    let Some(align_bytes) = alignment else {
        return Ok(());
    };
    let refuse = |what, value_bytes: u64| match value_bytes % align_bytes {
        0 => Ok(()),
        _ => Err(Error::Misaligned {
            path: file.path.clone(),
            what,
            value_bytes,
            align_bytes,
            by,
        }),
    };
    refuse("offset", file.region_offset_bytes)?;
    // The kernel itself checks a trim through the block layer; a command would leave out its last bytes.
    let trimmed =
        (by == Needs::NvmeCommand && plan.pattern.rw.trims()).then_some(&plan.pattern.sizes.trim);
    for sizes in plan.pattern.data_sizes().chain(trimmed) {
        for size in used_sizes(sizes) {
            refuse("block size", u64::from(size))?;
        }
        if plan.pattern.rw.random() {
            refuse(
                "alignment of random offsets (ba)",
                u64::from(sizes.align_bytes),
            )?;
        }
    }
    if !plan.pattern.rw.random() && plan.pattern.sequence != 0 {
        refuse(
            "hole between sequential I/Os",
            plan.pattern.sequence.unsigned_abs(),
        )?;
    }
    Ok(())
}

/// Checks that the file is a namespace, and that one command can move the job's largest block: the driver splits
/// nothing.
fn fits_a_command(plan: &WorkerPlan, file: &FilePlan) -> Result<(), Error> {
    let path = || file.path.clone();
    let namespace = file
        .namespace
        .ok_or_else(|| Error::NoNamespace { path: path() })?;
    let sizes = plan.pattern.data_sizes().map(SizesPlan::largest_bytes);
    match sizes.max() {
        Some(largest) if largest > namespace.largest_bytes => Err(Error::TooLarge {
            path: path(),
            value_bytes: u64::from(largest),
            limit_bytes: u64::from(namespace.largest_bytes),
        }),
        _ => Ok(()),
    }
}

/// Returns the sizes that must be aligned: those of the split, or the smallest size, since a range draws multiples of
/// it.
fn used_sizes(sizes: &SizesPlan) -> impl Iterator<Item = u32> {
    let split = sizes.split.iter().map(|share| share.size_bytes);
    split.chain(sizes.split.is_empty().then_some(sizes.minimum_bytes))
}

/// Returns the alignment of direct I/O in bytes, by statx (Linux 6.1) or else the device's sector size.
fn direct_alignment(file: &FilePlan) -> Option<u64> {
    // SAFETY: statx is plain numbers, for which zero is a value.
    let mut facts: libc::statx = unsafe { mem::zeroed() };
    // SAFETY: the path is an empty string that ends in zero, `facts` a writable statx.
    let status = unsafe {
        libc::statx(
            file.fd,
            c"".as_ptr(),
            libc::AT_EMPTY_PATH,
            libc::STATX_DIOALIGN,
            &mut facts,
        )
    };
    if status == 0 && facts.stx_mask & libc::STATX_DIOALIGN != 0 && facts.stx_dio_offset_align > 0 {
        return Some(u64::from(facts.stx_dio_offset_align));
    }
    let mut sector_bytes: libc::c_int = 0;
    // SAFETY: BLKSSZGET writes one int to the pointer, which `sector_bytes` is.
    let known = file.is_block_device
        && unsafe { libc::ioctl(file.fd, libc::BLKSSZGET, &mut sector_bytes) } == 0;
    known
        .then_some(sector_bytes as u64)
        .filter(|&bytes| bytes > 0)
}

/// Whether the queue of the device under `file` can be polled.
fn can_poll(file: &FilePlan) -> bool {
    let Ok((major, minor)) = device(file) else {
        return false;
    };
    let device = format!("/sys/dev/block/{major}:{minor}");
    // A partition's queue is in the directory above.
    ["queue", "../queue"].iter().any(|queue| {
        std::fs::read_to_string(Path::new(&device).join(queue).join("io_poll"))
            .is_ok_and(|value| value.trim() == "1")
    })
}

/// Returns the number of the block device that `file` is or lies on.
fn device(file: &FilePlan) -> io::Result<(u32, u32)> {
    // SAFETY: stat is plain numbers, for which zero is a value.
    let mut facts: libc::stat = unsafe { mem::zeroed() };
    // SAFETY: `facts` is a writable stat.
    if unsafe { libc::fstat(file.fd, &mut facts) } != 0 {
        return Err(io::Error::last_os_error());
    }
    let number = if file.is_block_device {
        facts.st_rdev
    } else {
        facts.st_dev
    };
    Ok((libc::major(number), libc::minor(number)))
}

/// Checks that enough libaio requests are left. Their limit is machine-wide.
pub(crate) fn enough_aio(needed: u64) -> Result<(), Error> {
    let number = |name: &str| -> Option<u64> {
        std::fs::read_to_string(format!("/proc/sys/fs/{name}"))
            .ok()?
            .trim()
            .parse()
            .ok()
    };
    match (number("aio-nr"), number("aio-max-nr")) {
        (Some(used), Some(limit)) if used + needed > limit => Err(Error::AioExhausted {
            needed,
            used,
            limit,
        }),
        _ => Ok(()),
    }
}

/// Returns the running kernel's version, major and minor; (0, 0) if it is unknown.
fn kernel() -> (u32, u32) {
    parse_release(&std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default())
        .unwrap_or_default()
}

fn parse_release(release: &str) -> Option<(u32, u32)> {
    let mut numbers = release.split(|c: char| !c.is_ascii_digit()).map(str::parse);
    Some((numbers.next()?.ok()?, numbers.next()?.ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn releases() {
        assert_eq!(parse_release("6.18.44-fc\n"), Some((6, 18)));
        assert_eq!(parse_release("5.4.0-1-amd64"), Some((5, 4)));
        assert_eq!(parse_release("6.1+"), Some((6, 1)));
        assert_eq!(parse_release(""), None);
        assert!((5, 19) < (6, 1));
    }
}
