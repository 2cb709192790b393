//! Checks before a run what the kernel and the device allow: errors with their remedy, and warnings.
//!
//! It changes nothing: it looks at the plan, at the descriptors in it, at /proc and /sys, and opens files for reading
//! only. What only trying can show is said by [`crate::engines::open`]. Source: fio 3.33's checks of a job; proc(5), sysfs(5).
#![allow(unsafe_code)]

use std::io;
use std::mem;
use std::path::Path;

use iogauge_core::plan::{EngineKind, FilePlan, SizesPlan, WorkerPlan};
use serde::Serialize;

use crate::engines::files::File;
use crate::engines::ring_setup;
use crate::error::Error;

/// Something that makes a run mean less than it seems to. `code` is one of the schema's `Code`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Note {
    /// The schema's code.
    pub code: &'static str,
    /// What it will do differently, and where.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// Checks that the engine of `plan` can do what the plan asks of it, and says what it will do differently.
///
/// # Errors
/// Where a run could only fail: no io_uring, no libaio requests left, sizes that direct I/O refuses, polling without
/// direct I/O, writing to what may only be read.
pub fn check(plan: &WorkerPlan) -> Result<Vec<Note>, Error> {
    let mut notes = Vec::new();
    if plan.engine.kind == EngineKind::Null {
        return Ok(notes);
    }
    for file in &plan.files {
        if plan.pattern.rw.changes_files() && !file.writable {
            return Err(Error::ReadOnly {
                path: file.path.clone(),
            });
        }
        if plan.engine.direct {
            aligned(plan, file)?;
        }
    }
    match plan.engine.kind {
        EngineKind::IoUring => ring_setup::available()?,
        EngineKind::Libaio => enough_aio(u64::from(plan.iodepth))?,
        _ => {}
    }
    notes.extend(polling_note(plan)?);
    notes.extend(trim_note(plan));
    notes.extend(worker_note(plan)?);
    Ok(notes)
}

/// Whether an io_uring of this plan polls: the plan says so, and the queues of all its devices can.
pub(crate) fn polls(plan: &WorkerPlan) -> Result<bool, Error> {
    if !plan.engine.hipri || plan.engine.kind != EngineKind::IoUring {
        return Ok(false);
    }
    if !plan.engine.direct {
        return Err(Error::PollingNeedsDirect);
    }
    Ok(plan.files.iter().all(can_poll))
}

/// Whether io-wq threads execute some requests of `plan`, because io_uring cannot start them without blocking.
///
/// The kernel makes these threads as children of the one that submits, and they may run only where that one may: a
/// worker that is pinned shares its CPU with all of them. A trial shows it of direct I/O. Buffered I/O goes to them
/// wherever the page cache would block, syncs and holes punched into files always do.
///
/// # Errors
/// Where a file cannot be opened as the plan has it.
pub fn handed_over(plan: &WorkerPlan) -> Result<bool, Error> {
    if plan.engine.kind != EngineKind::IoUring {
        return Ok(false);
    }
    let pattern = &plan.pattern;
    let punches = pattern.rw.trims() && plan.files.iter().any(|file| !file.is_block_device);
    if !plan.engine.direct || pattern.rw.writes() && pattern.syncs() || punches {
        return Ok(true);
    }
    Ok(blocking_file(plan)?.is_some())
}

/// The first file whose driver or filesystem takes no direct I/O without blocking.
fn blocking_file(plan: &WorkerPlan) -> Result<Option<&FilePlan>, Error> {
    for file in &plan.files {
        if !File::open_to_probe(file)?.takes_nonblocking() {
            return Ok(Some(file));
        }
    }
    Ok(None)
}

/// `RLIMIT_MEMLOCK` of this process.
pub(crate) fn lockable_bytes() -> u64 {
    let mut limit = libc::rlimit {
        rlim_cur: 0,
        rlim_max: 0,
    };
    // SAFETY: `limit` is a writable rlimit.
    unsafe { libc::getrlimit(libc::RLIMIT_MEMLOCK, &mut limit) };
    limit.rlim_cur
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
        EngineKind::IoUring if polls(plan)? => None,
        EngineKind::IoUring => {
            let file = plan
                .files
                .iter()
                .find(|file| !can_poll(file))
                .map_or("", |file| &file.path);
            note(
                format!("{file}: its device has no polled queues, so that hipri has no effect"),
                "NVMe: load the driver with nvme.poll_queues=N, N at least the number of workers; virtio-blk: poll_queues",
            )
        }
        EngineKind::Pvsync2 if kernel() >= (5, 19) => note(
            "since Linux 5.19 pvsync2's hipri does not poll any more".into(),
            "use ioengine=io_uring with hipri=1 and direct=1 on a device with polled queues",
        ),
        EngineKind::Pvsync2 => None,
        _ => note(
            format!(
                "{:?} cannot poll for completions, so that hipri has no effect",
                plan.engine.kind
            )
            .to_lowercase(),
            "use ioengine=io_uring with hipri=1 and direct=1",
        ),
    })
}

/// Trims that stop the thread until they are done, where the job expects them to be in flight beside others.
fn trim_note(plan: &WorkerPlan) -> Option<Note> {
    let blocks = match plan.engine.kind {
        EngineKind::Libaio => true,
        EngineKind::IoUring => {
            plan.engine.hipri
                || (plan.files.iter().any(|file| file.is_block_device) && kernel() < (6, 12))
        }
        _ => false,
    };
    (plan.pattern.rw.trims() && plan.iodepth > 1 && blocks).then(|| Note {
        code: "engine_fallback",
        message: "trims are done one at a time here, and hold up the requests behind them".into(),
        hint: "use ioengine=io_uring without hipri, on Linux 6.12 or later for block devices; or trims in a job of their own"
            .into(),
    })
}

/// Devices that take no I/O without blocking, of which io_uring's latencies include a change of threads.
fn worker_note(plan: &WorkerPlan) -> Result<Option<Note>, Error> {
    if plan.engine.kind != EngineKind::IoUring || !plan.engine.direct {
        return Ok(None);
    }
    Ok(blocking_file(plan)?.map(|file| Note {
        code: "engine_fallback",
        message: format!(
            "{}: its driver has no non-blocking I/O, so that io_uring hands every request to a kernel thread",
            file.path
        ),
        hint: "use ioengine=pvsync2 with more jobs to measure the device itself".into(),
    }))
}

/// Compares sizes and places with what direct I/O on this file needs. Where nobody knows, nothing is refused.
fn aligned(plan: &WorkerPlan, file: &FilePlan) -> Result<(), Error> {
    let Some(align_bytes) = direct_alignment(file) else {
        return Ok(());
    };
    let refuse = |what, value_bytes: u64| match value_bytes % align_bytes {
        0 => Ok(()),
        _ => Err(Error::Misaligned {
            path: file.path.clone(),
            what,
            value_bytes,
            align_bytes,
        }),
    };
    refuse("offset", file.region_offset_bytes)?;
    for sizes in plan.pattern.data_sizes() {
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

/// The sizes that occur: those of the split, or the smallest, of which a range draws multiples.
fn used_sizes(sizes: &SizesPlan) -> impl Iterator<Item = u32> {
    let split = sizes.split.iter().map(|share| share.size_bytes);
    split.chain(sizes.split.is_empty().then_some(sizes.minimum_bytes))
}

/// What offsets and lengths of direct I/O must be multiples of: statx says (Linux 6.1), or the device's sector size.
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
    // A partition has its queue in the directory above.
    ["queue", "../queue"].iter().any(|queue| {
        std::fs::read_to_string(Path::new(&device).join(queue).join("io_poll"))
            .is_ok_and(|value| value.trim() == "1")
    })
}

/// The number of the block device that `file` is or lies on.
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

/// libaio's requests are counted over the whole machine.
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

/// The running kernel, major and minor; (0, 0) where it does not say.
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
