//! Creates a worker from its plan, and begins it.

use super::{
    ClosingSyncs, Counted, DepthSearch, IssueGap, Limits, MaxLatency, Slots, Source, Think,
    Verifying, Worker, Written,
};
use crate::generate::{Pattern, PatternError, Schedule, child_seed};
use crate::plan::{Rw, WorkerPlan};
use crate::priorities::Priorities;
use crate::replay::{Feed, Replay};
use crate::time::Nanos;

impl Worker {
    /// Creates a worker that has not begun. It allocates nothing after this.
    ///
    /// # Errors
    /// If no request can be drawn, for example because a region is smaller than a block.
    pub fn new(plan: &WorkerPlan) -> Result<Self, PatternError> {
        let regions: Vec<(u64, u64)> = plan
            .files
            .iter()
            .map(|file| (file.region_offset_bytes, file.region_bytes))
            .collect();
        let file_bytes = plan.files.iter().map(|file| file.file_bytes);
        let pattern = Pattern::new(&plan.pattern, &regions, plan.seed)?
            .with_holes(file_bytes, plan.is_synchronous());
        let verifying = Verifying::new(plan, &regions)?;
        Ok(Self::of(plan, Source::Pattern(pattern), verifying))
    }

    /// Creates a worker that replays the plan's trace, whose rows come from `feed`; without one, as [`Worker::new`].
    ///
    /// # Errors
    /// As of [`Worker::new`].
    pub fn with_feed(plan: &WorkerPlan, feed: Option<Box<dyn Feed>>) -> Result<Self, PatternError> {
        match (&plan.replay, feed) {
            (Some(replay), Some(feed)) => {
                let replay = Replay::new(replay, plan.iodepth, feed);
                Ok(Self::of(plan, Source::Trace(replay), None))
            }
            _ => Self::new(plan),
        }
    }

    fn of(plan: &WorkerPlan, source: Source, verifying: Option<Box<Verifying>>) -> Self {
        let rated = matches!(source, Source::Pattern(_));
        let schedule = |rate: crate::plan::SchedulePlan, direction: u64| {
            // A rate for a direction that is never issued would stay due for ever.
            let issued = plan.rated_directions()[direction as usize];
            (rated && issued && rate.has_rate())
                .then(|| Schedule::new(rate, plan.poisson, child_seed(plan.seed, direction)))
        };
        let rw = plan.pattern.rw;
        let written = Written::new(plan);
        let search = DepthSearch::new(plan);
        let max_latency = MaxLatency::new(plan);
        let priorities = Priorities::new(plan);
        let dry = verifying
            .as_ref()
            .is_some_and(|verifying| verifying.is_dry());
        Self {
            source,
            is_uniform: !plan.is_scheduled()
                && verifying.is_none()
                && search.is_none()
                && priorities.is_none(),
            schedules: [
                schedule(plan.schedule.read, 0),
                schedule(plan.schedule.write, 1),
                schedule(plan.schedule.trim, 2),
            ],
            pending: None,
            deferred: None,
            slots: Slots::new(plan.iodepth),
            refill_at: 0,
            iodepth_low: plan.iodepth_low,
            complete_min: plan.complete_min.max(1),
            blocked: false,
            draining: plan.create_only,
            start: 0,
            end: Nanos::MAX,
            ramp_end: Nanos::MAX,
            measured_from: Nanos::MAX,
            issued: Counted::default(),
            limits: (!plan.time_based || dry).then(|| Limits::new(plan)),
            last_length: plan.pattern.sizes.write.minimum_bytes,
            replay: plan.replay_loops && !plan.time_based && rw.random() && plan.pattern.random_map,
            trims_count: !matches!(rw, Rw::Trimwrite | Rw::Randtrimwrite),
            think: Think::new(plan),
            last_due: 0,
            first_unsynced: Nanos::MAX,
            closing: ClosingSyncs::new(plan),
            last_was_sync: false,
            issue_gap: IssueGap::default(),
            reap_gap: (0, 0),
            continue_on_read_error: plan.continue_on_read_error,
            continue_on_write_error: plan.continue_on_write_error,
            ignored_read_errors: plan.ignored_read_errors.clone(),
            ignored_write_errors: plan.ignored_write_errors.clone(),
            continue_on_mismatch: plan.verify.as_ref().is_some_and(|verify| verify.continues),
            failed: None,
            watched: verifying.is_some()
                || written.is_some()
                || search.is_some()
                || max_latency.is_some()
                || priorities.is_some(),
            verifying,
            written,
            flowing: None,
            search,
            max_latency,
            priorities,
        }
    }

    /// Begins at `start`, from which the schedule counts. The runtime follows the `ramp`, in which nothing counts
    /// toward the limits. A `runtime` of 0 is no limit.
    pub fn begin(&mut self, start: Nanos, ramp: Nanos, runtime: Nanos) {
        self.start = start;
        let ramp_end = start.saturating_add(ramp);
        self.ramp_end = if ramp == 0 { Nanos::MAX } else { ramp_end };
        self.end = if runtime == 0 {
            Nanos::MAX
        } else {
            ramp_end.saturating_add(runtime)
        };
        self.slots.begin(start);
        self.measured_from = ramp_end;
        let depth = match &mut self.search {
            Some(search) => {
                search.begin(ramp_end);
                if !search.keeps_adjusting() {
                    self.measured_from = Nanos::MAX;
                }
                1
            }
            None => self.slots.depth() as u32,
        };
        self.use_depth(depth, start);
        self.think.start(start);
        if let Source::Trace(replay) = &mut self.source {
            replay.begin(start);
        }
    }
}
