//! Checks that the machine has enough memory for what workers touch before they begin.
//!
//! The kernel overcommits memory and kills a process that touches too much of it. A check beforehand gives the user an
//! error instead. Source: proc_meminfo(5), the kernel's cgroup-v2.rst.

use std::fs;
use std::path::Path;

use iogauge_core::plan::{EngineKind, RunPlan, WorkerPlan};
use iogauge_core::recorder::{self, histogram};
use iogauge_core::verify::History;

use crate::engines::StampLog;
use crate::engines::buffers::Layout;
use crate::error::Error;
use crate::run::exchange::SPARES;
use crate::run::spill::WorkerLog;

/// Checks that the stamp logs, and the buffers, histograms and logs of every stage, fit into the memory that
/// this process can get.
///
/// # Errors
/// If a stage needs more. If the free memory is unknown, the check passes.
pub fn check(plan: &RunPlan) -> Result<(), Error> {
    // A stage frees its memory before the next one allocates.
    let needed = plan
        .stages
        .iter()
        .map(|stage| {
            stage
                .workers
                .iter()
                .map(|worker| needed_bytes(plan, worker))
                .sum::<u64>()
        })
        .max();
    let stamp_logs: u64 = plan.stamp_logs.iter().map(StampLog::needed_bytes).sum();
    let needed = needed.map(|of_stage| of_stage + stamp_logs);
    match (needed, available_bytes(Path::new("/"))) {
        (Some(needed_bytes), Some(available_bytes)) if needed_bytes > available_bytes => {
            Err(Error::TooLittleMemory {
                needed_bytes,
                available_bytes,
            })
        }
        _ => Ok(()),
    }
}

/// Returns the bytes of one worker's buffers, histograms, log and history of writes.
fn needed_bytes(run: &RunPlan, plan: &WorkerPlan) -> u64 {
    let kept = recorder::kept_latencies(plan, plan.stamps_issue());
    // A slice also has a histogram of loop gaps.
    let histograms = 1
        + kept
            .iter()
            .flatten()
            .flatten()
            .filter(|kept| **kept)
            .count()
        + plan
            .priority_latency
            .map_or(0, |_| plan.priorities_of_requests().len());
    let slices = (1 + SPARES) * histograms * histogram::BUCKETS * size_of::<u32>();
    let buffers = match plan.engine.kind {
        EngineKind::Null => 0,
        _ => Layout::of(plan).mapped_bytes,
    };
    let log = match run.request_log {
        true => WorkerLog::bytes(run, plan.iodepth),
        false => 0,
    };
    let history = match plan.reads_back() {
        true => History::needed_bytes(
            &plan.pattern,
            plan.files.iter().map(|file| file.region_bytes),
            plan.trims_written(),
        ),
        false => 0,
    };
    (buffers + slices + log) as u64 + history
}

/// Returns the bytes that this process can still get: what the machine has left, or its tightest cgroup if that is
/// less.
fn available_bytes(root: &Path) -> Option<u64> {
    let meminfo = fs::read_to_string(root.join("proc/meminfo")).ok()?;
    let free = field(&meminfo, "MemAvailable:")? * 1024;
    Some(cgroup_bytes(root).map_or(free, |left| left.min(free)))
}

/// Returns the bytes that the cgroups of this process have left; `None` without a limit.
fn cgroup_bytes(root: &Path) -> Option<u64> {
    let cgroups = fs::read_to_string(root.join("proc/self/cgroup")).ok()?;
    let path = cgroups.lines().find_map(|line| line.strip_prefix("0::/"))?;
    let mount = root.join("sys/fs/cgroup");
    Path::new(path)
        .ancestors()
        .filter_map(|group| left_in(&mount.join(group)))
        .min()
}

/// Returns the bytes that one cgroup has left. Page cache counts as free, since the kernel drops it before it kills a
/// process. `file` in memory.stat is not used: it includes tmpfs, which the kernel cannot drop.
fn left_in(group: &Path) -> Option<u64> {
    let read = |name| fs::read_to_string(group.join(name)).ok();
    let limit: u64 = read("memory.max")?.trim().parse().ok()?;
    let used: u64 = read("memory.current")?.trim().parse().ok()?;
    let stat = read("memory.stat")?;
    let cache = field(&stat, "active_file")? + field(&stat, "inactive_file")?;
    Some(limit.saturating_sub(used.saturating_sub(cache)))
}

/// Returns the number that follows `name` at the start of a line.
fn field(text: &str, name: &str) -> Option<u64> {
    text.lines().find_map(|line| {
        let mut words = line.split_ascii_whitespace();
        (words.next() == Some(name)).then(|| words.next()?.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_core::plan::Rw;
    use iogauge_core::testing::{plan, run_plan};

    const MEMINFO: &str =
        "MemTotal:        8000 kB\nMemFree:          100 kB\nMemAvailable:    3000 kB\n";

    /// Creates a tree with `files`, each with its content.
    fn tree(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().unwrap();
        for (path, content) in files {
            let path = root.path().join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, content).unwrap();
        }
        root
    }

    #[test]
    fn the_least_of_machine_and_cgroups_counts() {
        let group = "sys/fs/cgroup/user/app";
        let root = tree(&[
            ("proc/meminfo", MEMINFO),
            ("proc/self/cgroup", "1:cpu:/x\n0::/user/app\n"),
            ("sys/fs/cgroup/user/memory.max", "max\n"),
            (&format!("{group}/memory.max"), "1000000\n"),
            (&format!("{group}/memory.current"), "700000\n"),
            (
                &format!("{group}/memory.stat"),
                "anon 400000\nfile 300000\nshmem 100000\ninactive_file 150000\nactive_file 50000\n",
            ),
        ]);
        assert_eq!(available_bytes(root.path()), Some(500_000));
        fs::write(root.path().join(group).join("memory.max"), "9000000").unwrap();
        assert_eq!(available_bytes(root.path()), Some(3000 * 1024));
    }

    #[test]
    fn unknown_free_memory_passes() {
        assert_eq!(available_bytes(tree(&[]).path()), None);
        let root = tree(&[("proc/meminfo", MEMINFO)]);
        assert_eq!(available_bytes(root.path()), Some(3000 * 1024));
    }

    #[test]
    fn a_worker_needs_its_buffers_its_histograms_and_its_log() {
        let mut run = run_plan(Vec::new());
        run.request_log = false;
        let mut plan = plan(Rw::Randread);
        plan.engine.kind = EngineKind::Psync;
        plan.iodepth = 1;
        let one = needed_bytes(&run, &plan);
        plan.iodepth = 1024;
        assert_eq!(
            needed_bytes(&run, &plan) - one,
            Layout::of(&plan).mapped_bytes as u64 - 4096
        );
        plan.engine.kind = EngineKind::IoUring;
        let polled = needed_bytes(&run, &plan);
        assert!(polled > one + Layout::of(&plan).mapped_bytes as u64);
        run.request_log = true;
        let log = WorkerLog::bytes(&run, plan.iodepth) as u64;
        assert_eq!(needed_bytes(&run, &plan), polled + log);
        // 65,536 requests of 72 bytes.
        assert_eq!(log, 4_718_592);
    }
}
