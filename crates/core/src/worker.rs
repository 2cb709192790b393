//! One thread's share of a job: decides the next request and when it is due. Does no I/O and reads no clock.
//!
//! Whoever drives a worker asks [`Worker::next`] until it wants to wait, submits what it wanted, and reports every
//! completion to [`Worker::complete`]. The same worker serves real engines and drive models.
//!
//! A scheduled worker that finds itself late catches up as fast as its depth allows, without draining its queue; every
//! request keeps the instant at which it was intended. What a late start does to the requests behind it is charged
//! to the generator too: a slot counts as free from the instant at which it would have been, had its last request
//! started in time. Otherwise two seconds lost by the generator would look like two seconds of queueing.

use crate::generate::{Io, Pattern, PatternError, Schedule, child_seed};
use crate::plan::WorkerPlan;
use crate::recorder::{self, LATE};
use crate::request::{Completion, Direction, Errno, Kind, Request, Want};
use crate::time::Nanos;

/// One of the worker's `iodepth` places for a request.
#[derive(Clone, Copy, Debug)]
struct Slot {
    request: Request,
    /// When it became free, or would have, had its last request started in time.
    free_at: Nanos,
    busy: bool,
}

/// See the module's text.
#[derive(Debug)]
pub struct Worker {
    pattern: Pattern,
    /// When requests are due since the worker's start, by direction: read, write, trim.
    schedules: [Option<Schedule>; 3],
    pending: Option<Io>,
    slots: Box<[Slot]>,
    /// Free slots, the longest free one first: a ring of `iodepth` entries.
    free: Box<[u32]>,
    free_head: usize,
    in_flight: u32,
    low: u32,
    complete_min: u32,
    /// Full, and waiting to be drained to `low`.
    blocked: bool,
    draining: bool,
    start: Nanos,
    /// End of its time; `Nanos::MAX` where it has no limit.
    end: Nanos,
    /// `Nanos::MAX` once it is over, or where there is none.
    ramp_end: Nanos,
    time_based: bool,
    number_ios: u64,
    io_bytes: u64,
    issued_ios: u64,
    issued_bytes: u64,
    /// Length of the last request issued, which stands for those that never were.
    last_length: u32,
    passes_left: u64,
    /// Loops repeat the same requests.
    replay: bool,
    think: Think,
    continue_on_read_error: bool,
    continue_on_write_error: bool,
    failed: Option<Errno>,
}

/// Pauses between requests.
#[derive(Debug)]
struct Think {
    pause: Nanos,
    spin: Nanos,
    blocks: u64,
    completed: u64,
    /// The pause under way: when its spinning ends, and when it does.
    until: Option<(Nanos, Nanos)>,
}

impl Worker {
    /// A worker that has not begun. Allocates everything it will ever need.
    ///
    /// # Errors
    /// Where the pattern cannot be drawn, such as a region smaller than a block.
    pub fn new(plan: &WorkerPlan) -> Result<Self, PatternError> {
        let regions: Vec<(u64, u64)> =
            plan.files.iter().map(|file| (file.region_offset_bytes, file.region_bytes)).collect();
        let nothing = Request {
            slot: 0,
            target: 0,
            kind: Kind::Read,
            offset_bytes: 0,
            length_bytes: 0,
            intended: 0,
            ready: 0,
        };
        let schedule = |rate: crate::plan::SchedulePlan, direction: u64| {
            let issued = recorder::directions(plan)[direction as usize];
            (issued && (rate.rate_iops > 0 || rate.rate_Bps > 0))
                .then(|| Schedule::new(rate, plan.poisson, child_seed(plan.seed, direction)))
        };
        Ok(Self {
            pattern: Pattern::new(&plan.pattern, &regions, plan.seed)?,
            schedules: [
                schedule(plan.schedule.read, 0),
                schedule(plan.schedule.write, 1),
                schedule(plan.schedule.trim, 2),
            ],
            pending: None,
            slots: (0..plan.iodepth)
                .map(|slot| Slot { request: Request { slot, ..nothing }, free_at: 0, busy: false })
                .collect(),
            free: (0..plan.iodepth).collect(),
            free_head: 0,
            in_flight: 0,
            low: plan.iodepth_low.min(plan.iodepth),
            complete_min: plan.complete_min.max(1),
            blocked: false,
            draining: false,
            start: 0,
            end: Nanos::MAX,
            ramp_end: Nanos::MAX,
            time_based: plan.time_based,
            number_ios: plan.number_ios,
            io_bytes: plan.io_bytes,
            issued_ios: 0,
            issued_bytes: 0,
            last_length: plan.pattern.sizes.write.minimum_bytes,
            passes_left: plan.loops,
            replay: plan.replay_loops,
            think: Think {
                pause: plan.thinktime_ns,
                spin: plan.thinktime_spin_ns.min(plan.thinktime_ns),
                blocks: plan.thinktime_blocks.max(1),
                completed: 0,
                until: None,
            },
            continue_on_read_error: plan.continue_on_read_error,
            continue_on_write_error: plan.continue_on_write_error,
            failed: None,
        })
    }

    /// Begins at `start`, which the schedule counts from. `ramp` lies before the runtime and does not count for
    /// the limits; a `runtime` of 0 is no limit.
    pub fn begin(&mut self, start: Nanos, ramp: Nanos, runtime: Nanos) {
        self.start = start;
        self.ramp_end = if ramp == 0 { Nanos::MAX } else { start + ramp };
        self.end = if runtime == 0 { Nanos::MAX } else { start + ramp + runtime };
        for slot in &mut self.slots {
            slot.free_at = start;
        }
    }

    /// What the worker wants at `now`. `now` never goes back.
    #[inline]
    pub fn next(&mut self, now: Nanos) -> Want {
        if now >= self.ramp_end {
            self.end_ramp();
        }
        if now >= self.end && !self.catches_up() {
            self.draining = true;
        }
        if self.draining {
            return match self.in_flight {
                0 => Want::Finished,
                completions => Want::Wait { completions, until: None },
            };
        }
        if self.in_flight as usize == self.slots.len() {
            self.blocked = true;
        }
        if self.blocked {
            let above = self.in_flight.saturating_sub(self.low);
            if self.in_flight as usize == self.slots.len() || above > 0 {
                let completions = self.complete_min.max(above).min(self.in_flight);
                return Want::Wait { completions, until: self.deadline(now) };
            }
            self.blocked = false;
        }
        if let Some((spin_until, until)) = self.think.until.filter(|_| now < self.end) {
            if now < spin_until {
                return Want::Spin { until: spin_until.min(self.end) };
            }
            if now < until {
                return self.wait_until(until);
            }
        }
        let Some(io) = self.pending.take().or_else(|| self.draw(now)) else {
            self.draining = true;
            return self.next(now);
        };
        self.place(io, now)
    }

    /// Issues `io` if it is due, and waits for its time otherwise.
    #[inline]
    fn place(&mut self, io: Io, now: Nanos) -> Want {
        let mut intended = now;
        let direction = io.kind.direction() as usize;
        if let Some(Some(schedule)) = self.schedules.get_mut(direction) {
            intended = self.start.saturating_add(schedule.peek());
            if intended > now {
                self.pending = Some(io);
                if now >= self.end {
                    self.draining = true;
                    return self.next(now);
                }
                return self.wait_until(intended);
            }
            schedule.advance(io.length_bytes);
            if let Some((_, until)) = self.think.until.take() {
                intended = intended.max(until);
            }
        } else if let Some((_, until)) = self.think.until.take() {
            intended = until;
        }
        let place = self.free[self.free_head];
        self.free_head = if self.free_head + 1 == self.free.len() { 0 } else { self.free_head + 1 };
        self.in_flight += 1;
        self.issued_ios += 1;
        self.issued_bytes += u64::from(io.length_bytes);
        if io.length_bytes > 0 {
            self.last_length = io.length_bytes;
        }
        let slot = &mut self.slots[place as usize];
        slot.busy = true;
        slot.request = Request {
            slot: place,
            target: io.target,
            kind: io.kind,
            offset_bytes: io.offset_bytes,
            length_bytes: io.length_bytes,
            intended,
            ready: intended.max(slot.free_at),
        };
        Want::Issue(slot.request)
    }

    /// What counts begins here: limits are counted anew, and what a schedule still owed from the ramp is let go, so that
    /// catching up on it does not press on the target while it is measured.
    #[cold]
    fn end_ramp(&mut self) {
        let ramp = self.ramp_end - self.start;
        self.ramp_end = Nanos::MAX;
        (self.issued_ios, self.issued_bytes) = (0, 0);
        let length = self.last_length;
        for schedule in self.schedules.iter_mut().flatten() {
            while schedule.peek() < ramp {
                schedule.advance(length);
            }
        }
    }

    /// The next request of the pattern, as far as the job's limits allow one.
    #[inline]
    fn draw(&mut self, now: Nanos) -> Option<Io> {
        if self.number_ios > 0 && self.issued_ios >= self.number_ios {
            return None;
        }
        if self.io_bytes > 0 && self.issued_bytes >= self.io_bytes && !self.next_pass() {
            return None;
        }
        if let Some(io) = self.next_due(now) {
            return Some(io);
        }
        if self.io_bytes > 0 {
            self.pattern.rewind();
        } else if !self.next_pass() {
            return None;
        }
        self.next_due(now)
    }

    /// The pattern's next request. Where reads and writes have rates of their own, the one that is due first; where only one
    /// has, the other as long as that one is not due.
    #[inline]
    fn next_due(&mut self, now: Nanos) -> Option<Io> {
        let not_due = |schedule: &Schedule| self.start.saturating_add(schedule.peek()) > now;
        let toward = match (&self.schedules[0], &self.schedules[1]) {
            (None, None) => return self.pattern.next(),
            (Some(reads), Some(writes)) if reads.peek() <= writes.peek() => Direction::Read,
            (Some(_), Some(_)) => Direction::Write,
            (Some(reads), None) if not_due(reads) => Direction::Write,
            (None, Some(writes)) if not_due(writes) => Direction::Read,
            _ => return self.pattern.next(),
        };
        self.pattern.next_toward(toward)
    }

    /// Begins the next pass over the region, if there is one.
    #[cold]
    fn next_pass(&mut self) -> bool {
        if !self.time_based && self.ramp_end == Nanos::MAX {
            self.passes_left -= 1;
            if self.passes_left == 0 {
                self.passes_left = 1;
                return false;
            }
        }
        self.issued_bytes = 0;
        if self.replay && !self.time_based {
            self.pattern.replay();
        } else {
            self.pattern.rewind();
        }
        true
    }

    fn wait_until(&self, until: Nanos) -> Want {
        Want::Wait { completions: self.in_flight.min(1), until: Some(until.min(self.end)) }
    }

    /// When its time is over, where that is still to come.
    fn deadline(&self, now: Nanos) -> Option<Nanos> {
        (now < self.end && self.end != Nanos::MAX).then_some(self.end)
    }

    /// Whether there is still something to issue after the end: requests that a generator in time would have issued before
    /// it. Those that the target kept waiting are not among them: they stay undone, and are counted as overdue.
    #[cold]
    fn catches_up(&self) -> bool {
        let dues = self.schedules.iter().flatten().map(|schedule| self.start.saturating_add(schedule.peek()));
        let Some(due) = dues.min() else { return false };
        // Where all slots are taken, whether one is free in time shows when it is.
        let free_at = match self.in_flight as usize == self.slots.len() {
            true => 0,
            false => self.slots[self.free[self.free_head] as usize].free_at,
        };
        due.max(free_at) < self.end
    }

    /// Takes a completion of a request that is in flight.
    #[inline]
    pub fn complete(&mut self, completion: &Completion) {
        let slot = &mut self.slots[completion.slot as usize];
        debug_assert!(slot.busy, "slot {} completed twice", completion.slot);
        let lateness = completion.start.saturating_sub(slot.request.ready);
        slot.free_at = completion.done - if lateness > LATE { lateness } else { 0 };
        slot.busy = false;
        let kind = slot.request.kind;
        let mut tail = self.free_head + self.slots.len() - self.in_flight as usize;
        if tail >= self.free.len() {
            tail -= self.free.len();
        }
        self.free[tail] = completion.slot;
        self.in_flight -= 1;
        if self.think.pause > 0 {
            self.think.completed += 1;
            if self.think.completed % self.think.blocks == 0 {
                self.think.until = Some((completion.done + self.think.spin, completion.done + self.think.pause));
            }
        }
        if let Err(errno) = completion.result {
            self.fail(kind, errno);
        }
    }

    #[cold]
    fn fail(&mut self, kind: Kind, errno: Errno) {
        let goes_on = match kind {
            Kind::Read => self.continue_on_read_error,
            _ => self.continue_on_write_error,
        };
        if !goes_on {
            self.failed.get_or_insert(errno);
            self.draining = true;
        }
    }

    /// Issues nothing more from `now` on; what is in flight still comes back.
    pub fn stop(&mut self, now: Nanos) {
        self.draining = true;
        self.end = self.end.min(now);
    }

    /// The request in a slot: the one in flight, or the last one.
    #[inline]
    pub fn request(&self, slot: u32) -> &Request {
        &self.slots[slot as usize].request
    }

    /// How many requests are in flight.
    #[inline]
    pub fn in_flight(&self) -> u32 {
        self.in_flight
    }

    /// The requests that are in flight.
    pub fn requests_in_flight(&self) -> impl Iterator<Item = &Request> {
        self.slots.iter().filter(|slot| slot.busy).map(|slot| &slot.request)
    }

    /// The error that ended it, if one did.
    pub fn failed(&self) -> Option<Errno> {
        self.failed
    }

    /// How many requests were due before the end of its time and not issued; says at most `limit`.
    pub fn overdue(&self, limit: u64) -> u64 {
        let mut count = 0;
        for schedule in self.schedules.iter().flatten() {
            let mut rest = schedule.clone();
            while count < limit && self.end != Nanos::MAX && self.start.saturating_add(rest.peek()) < self.end {
                rest.advance(self.last_length);
                count += 1;
            }
        }
        count
    }
}

#[cfg(test)]
mod tests;
