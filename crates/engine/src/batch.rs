//! How many requests go into one system call.

use iogauge_core::plan::WorkerPlan;

/// The most requests of one submission: what the job asks for, else an eighth of the queue.
///
/// A device should be at work on the first requests while the rest are still being handed over. With a whole queue in
/// one call, queue and device take turns instead: that cost 15 % of the IOPS at a depth of 32 on virtio-blk, and a quarter
/// of it 5 %, where an eighth cost nothing.
pub(crate) fn submit_limit(plan: &WorkerPlan) -> usize {
    let asked = plan
        .engine
        .submit_batch
        .unwrap_or_else(|| plan.iodepth.div_ceil(8));
    asked.max(1) as usize
}

/// The most completions taken at a time: what the job asks for, else all that are there.
pub(crate) fn reap_limit(plan: &WorkerPlan) -> usize {
    plan.engine
        .reap_batch
        .map_or(usize::MAX, |batch| batch.max(1) as usize)
}
