//! Why an engine cannot be opened or cannot continue, each reason with its remedy.
//!
//! A failed request is not an error here: it is a completion with an errno. Source: fio 3.33's continue_on_error.

use std::io;

/// Why an engine cannot be opened or cannot continue. [`Error::hint`] has the remedy.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The file could not be opened with the job's flags.
    #[error("{path}: cannot be opened for {access}: {cause}")]
    Open {
        /// The file.
        path: String,
        /// What for.
        access: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
    /// A region could not be read before the job.
    #[error("{path}: cannot be read before the job (pre_read): {cause}")]
    PreRead {
        /// The file.
        path: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// What a job wrote could not be made durable.
    #[error("{path}: what was written cannot be made durable (fdatasync): {cause}")]
    WriteBack {
        /// The file.
        path: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// `O_DIRECT` was refused.
    #[error("{path}: its filesystem does not support direct I/O")]
    NoDirect {
        /// The file.
        path: String,
    },
    /// The pattern writes, but the file was cleared for reading only.
    #[error("{path}: the job writes to it, but it may only be read")]
    ReadOnly {
        /// The file.
        path: String,
    },
    /// I/O of this size or at this offset would fail.
    #[error(
        "{path}: {what} of {value_bytes} bytes is not a multiple of {align_bytes}, as {by} needs here"
    )]
    Misaligned {
        /// The file.
        path: String,
        /// What is misaligned.
        what: &'static str,
        /// Its value.
        value_bytes: u64,
        /// What it must be a multiple of.
        align_bytes: u64,
        /// What needs it.
        by: Needs,
    },
    /// The kernel was built without io_uring, or is too old.
    #[error("this kernel has no io_uring")]
    UringMissing,
    /// The kernel is older than what the job uses.
    #[error("this kernel has no {what}: it needs Linux {linux}")]
    TooOld {
        /// The engine or option.
        what: &'static str,
        /// The first release that has it.
        linux: &'static str,
    },
    /// The target is no NVMe namespace.
    #[error("{path}: io_uring_cmd sends NVMe commands, and this is no NVMe namespace")]
    NoNamespace {
        /// The target.
        path: String,
    },
    /// One command cannot move as much.
    #[error(
        "{path}: a block size of {value_bytes} bytes is more than one NVMe command moves here ({limit_bytes})"
    )]
    TooLarge {
        /// The target.
        path: String,
        /// The largest block of the job.
        value_bytes: u64,
        /// The drive's and the driver's limit.
        limit_bytes: u64,
    },
    /// io_uring exists but may not be used.
    #[error("io_uring is not allowed here: {reason}")]
    UringDisabled {
        /// Which setting forbids it.
        reason: String,
        /// How to allow it.
        remedy: String,
    },
    /// The io_uring could not be set up.
    #[error("io_uring: {what} failed: {cause}")]
    UringSetup {
        /// The step that failed.
        what: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
    /// io_uring polls for completions of direct I/O only.
    #[error("hipri with io_uring needs direct I/O")]
    PollingNeedsDirect,
    /// Buffers or rings exceed what the process may lock in memory.
    #[error(
        "{needed_bytes} bytes of buffers cannot be registered: the process may lock {limit_bytes}"
    )]
    LockedMemory {
        /// Size of the buffers.
        needed_bytes: u64,
        /// `RLIMIT_MEMLOCK`.
        limit_bytes: u64,
    },
    /// The buffers cannot be allocated.
    #[error("no memory for {bytes} bytes of buffers: {cause}")]
    Memory {
        /// Size of the buffers.
        bytes: u64,
        /// What the kernel said.
        cause: io::Error,
    },
    /// The kernel would kill the workers for lack of memory.
    #[error(
        "the workers' buffers and histograms need {:.1} GiB of memory, but only {:.1} GiB are available",
        gib(*needed_bytes), gib(*available_bytes)
    )]
    TooLittleMemory {
        /// Bytes for the stage that needs the most.
        needed_bytes: u64,
        /// Bytes that the machine and this process's cgroups have left.
        available_bytes: u64,
    },
    /// The machine's limit on libaio requests leaves too few.
    #[error(
        "libaio: the job needs {needed} requests, but {used} of the machine's {limit} are in use"
    )]
    AioExhausted {
        /// The plan's depth.
        needed: u64,
        /// `fs.aio-nr`.
        used: u64,
        /// `fs.aio-max-nr`.
        limit: u64,
    },
    /// A worker cannot run on its CPUs.
    #[error("cannot run on CPU {cpus}: {cause}")]
    Affinity {
        /// The plan's CPUs.
        cpus: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// A worker's thread cannot have its priority.
    #[error("cannot set {option}: {cause}")]
    Priority {
        /// fio's name of it.
        option: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
    /// A thread cannot have its memory policy.
    #[error("cannot set numa_mem_policy: {cause}")]
    NumaPolicy {
        /// What the kernel said.
        cause: io::Error,
    },
    /// The memory of lockmem cannot be locked.
    #[error("cannot lock {bytes} bytes of memory: {cause}")]
    LockFailed {
        /// How much.
        bytes: u64,
        /// What the kernel said.
        cause: io::Error,
    },
    /// There are no huge pages for the buffers.
    #[error("no huge pages of {page_bytes} bytes for {bytes} bytes of buffers: {cause}")]
    HugePages {
        /// Size of a page.
        page_bytes: u64,
        /// Size of the buffers.
        bytes: u64,
        /// What the kernel said.
        cause: io::Error,
    },
    /// The kernel or the device lacks a flag of single requests.
    #[error("{path}: {option} is not possible here: {reason}")]
    NoFlag {
        /// The file.
        path: String,
        /// fio's name of the option.
        option: &'static str,
        /// Why.
        reason: String,
    },
    /// A file cannot be mapped.
    #[error("{path}: cannot be mapped into memory: {cause}")]
    Map {
        /// The file.
        path: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// The job's pattern cannot be generated.
    #[error("job {job}: {cause}")]
    Pattern {
        /// The job's name.
        job: String,
        /// What is wrong with it.
        cause: String,
    },
    /// A thread of iogauge failed.
    #[error("internal: {what}")]
    Thread {
        /// What happened.
        what: &'static str,
    },
    /// The kernel starts no more threads.
    #[error("the thread for {what} cannot be started: {cause}")]
    NoThread {
        /// What the thread is for.
        what: String,
        /// What the kernel said.
        cause: io::Error,
    },
    /// A system call of the engine itself failed in the middle of a run.
    #[error("{call} failed: {cause}")]
    Call {
        /// The call.
        call: &'static str,
        /// What the kernel said.
        cause: io::Error,
    },
}

/// What needs aligned sizes and offsets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Needs {
    /// Direct I/O, which a job can do without.
    DirectIo,
    /// An NVMe command, which counts blocks.
    NvmeCommand,
}

impl std::fmt::Display for Needs {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Needs::DirectIo => "direct I/O",
            Needs::NvmeCommand => "an NVMe command",
        })
    }
}

impl Error {
    /// Returns the remedy.
    ///
    /// ```
    /// assert!(iogauge_engine::Error::PollingNeedsDirect.hint().unwrap().contains("direct=1"));
    /// ```
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Error::Open { cause, .. } => match cause.raw_os_error() {
                Some(libc::EACCES | libc::EPERM) => "check its permissions, or run as root".into(),
                Some(libc::EROFS) => "its filesystem is mounted read-only: remount it, or only read".into(),
                Some(libc::EBUSY) => "another program holds it exclusively: unmount it, or stop that program".into(),
                Some(libc::EMFILE | libc::ENFILE) => "raise the limit on open files (ulimit -n)".into(),
                _ => return None,
            },
            Error::PreRead { .. } => "remove pre_read, or check the drive".into(),
            Error::WriteBack { .. } => "look at dmesg for the drive".into(),
            Error::NoDirect { .. } => {
                "use direct=0 (the page cache is then measured too), or a file on ext4, xfs or a block device".into()
            }
            Error::ReadOnly { .. } => "use rw=read or rw=randread, or a target that may be written".into(),
            Error::Misaligned { what, align_bytes, by, .. } => {
                let instead = if *by == Needs::DirectIo { ", or use direct=0" } else { "" };
                format!("make the {what} a multiple of {align_bytes}{instead}")
            }
            Error::UringMissing => "use ioengine=libaio, or Linux 5.6 or later with CONFIG_IO_URING; in a container, a seccomp profile may forbid it".into(),
            Error::TooOld { linux, .. } => {
                format!("use Linux {linux} or later, or ioengine=io_uring on the block device")
            }
            Error::NoNamespace { .. } => "use ioengine=io_uring, or a namespace (/dev/ng0n1, /dev/nvme0n1)".into(),
            Error::TooLarge { limit_bytes, .. } => {
                format!("use a bs of at most {limit_bytes}, or ioengine=io_uring, for which the kernel splits requests")
            }
            Error::UringDisabled { remedy, .. } => remedy.clone(),
            Error::UringSetup { cause, .. } => match cause.raw_os_error() {
                Some(libc::ENOMEM) => "raise the limit on locked memory (ulimit -l), or lower iodepth".into(),
                Some(libc::EPERM) => "sqthread_poll needs root before Linux 5.11".into(),
                Some(libc::EINVAL) => "lower iodepth; check that sqthread_poll_cpu is a CPU that is online".into(),
                _ => "use ioengine=libaio".into(),
            },
            Error::PollingNeedsDirect => "add direct=1, or remove hipri".into(),
            Error::LockedMemory { .. } => {
                "raise the limit (ulimit -l, or LimitMEMLOCK= of a service), lower iodepth or bs, or remove fixedbufs"
                    .into()
            }
            Error::Memory { .. } | Error::TooLittleMemory { .. } => "lower iodepth, bs or numjobs".into(),
            Error::AioExhausted { needed, used, .. } => {
                format!("sysctl fs.aio-max-nr={} (as root), or lower iodepth", (needed + used).next_power_of_two())
            }
            Error::Affinity { .. } => {
                "name CPUs that are online and that this process may use (taskset -p $$ shows them)".into()
            }
            Error::Priority { .. } => {
                "run as root (a real-time class and a nice below 0 need CAP_SYS_ADMIN and CAP_SYS_NICE), or remove it".into()
            }
            Error::NumaPolicy { .. } => {
                "name nodes that have memory (lscpu shows them), or remove numa_mem_policy".into()
            }
            Error::LockFailed { .. } => {
                "lower lockmem, or allow more locked memory: ulimit -l, or run as root".into()
            }
            Error::HugePages { page_bytes, bytes, .. } => format!(
                "reserve {} of them for every worker (/sys/kernel/mm/hugepages/hugepages-{}kB/nr_hugepages), or \
                 remove mem: buffers from 2 MiB on use transparent huge pages anyway",
                bytes.div_ceil(*page_bytes),
                page_bytes >> 10
            ),
            Error::NoFlag { option, .. } => format!("remove {option}, or use another kernel or target"),
            Error::Map { .. } => "use ioengine=psync with direct=0".into(),
            Error::Thread { .. } => "this is a defect of iogauge: please report it with the command that caused it".into(),
            Error::NoThread { .. } => {
                "raise the limit on processes and threads (ulimit -u, or pids.max of its cgroup), or lower numjobs or verify_async".into()
            }
            Error::Pattern { .. } | Error::Call { .. } => return None,
        };
        Some(text)
    }
}

/// Converts bytes to GiB.
fn gib(bytes: u64) -> f64 {
    bytes as f64 / f64::from(1 << 30)
}

/// Returns the errno of the system call that has just failed on this thread.
pub(crate) fn last_errno() -> i32 {
    io::Error::last_os_error()
        .raw_os_error()
        .unwrap_or(libc::EIO)
}
