//! The loop of one worker's thread: takes requests from the worker, submits, reaps and records.

use std::sync::atomic::Ordering;
use std::time::Duration;

use iogauge_core::recorder::LONG_GAP;
use iogauge_core::time::MILLISECOND;
use iogauge_core::{Completion, Errno, Kind, Nanos, Request, Want};

use crate::Engine;
use crate::engines::{Buffers, Ended};
use crate::error::Error;
use crate::priority::RealTimePriority;
use crate::run::exchange::{READING, Signals};
use crate::run::heartbeat::Heartbeat;
use crate::run::revocable::{Guard, Revocable};
use crate::run::worker_state::WorkerState;
use crate::wait::sleep;

/// While the log is full, check again after this long.
const FULL_LOG: Nanos = MILLISECOND / 10;

/// While other threads check reads, look again for checked ones after this long.
const CHECK: Nanos = MILLISECOND / 20;

/// How the loop ended.
#[derive(Debug)]
pub enum End {
    /// At this instant, with nothing to issue and nothing in flight.
    Finished(Nanos),
    /// At this instant, by order, with requests in flight.
    GaveUp(Nanos),
    /// Its state was revoked while the thread was inside the engine.
    Revoked,
}

/// What the loop needs besides its engine.
pub struct Loop<'a> {
    /// What the thread works on. It releases the state while it is inside the engine.
    pub state: &'a Revocable<WorkerState>,
    /// Orders to the thread, and its progress.
    pub signals: &'a Signals,
    /// Whether the process stood still.
    pub heartbeat: &'a Heartbeat,
    /// Most requests in flight.
    pub iodepth: u32,
    /// Most requests of a submission, positive.
    pub submit_batch: u32,
    /// How often a waiting thread checks for orders, positive.
    pub tick: Nanos,
    /// Makes what was written durable and drops it from the page cache.
    pub settle: &'a dyn Fn() -> Result<(), Error>,
    /// After its first request, it lets other processes of this computer start until this instant.
    pub lets_start_until: Nanos,
}

impl Loop<'_> {
    /// Runs until the worker is finished. Drops `priority` after the first submission, or before the first wait if
    /// there is nothing to submit. Calls `ramped` once the ramp is over, if there is one.
    ///
    /// # Errors
    /// If the engine itself fails, or what was written cannot be made durable. Failed requests are completions.
    pub fn run<E: Engine>(
        &self,
        engine: &mut E,
        mut priority: Option<RealTimePriority>,
        mut ramped: impl FnMut(),
    ) -> Result<End, Error> {
        let limit = self.submit_batch.min(self.iodepth) as usize;
        let mut batch: Vec<Request> = Vec::with_capacity(limit);
        let mut done: Vec<Completion> = Vec::with_capacity(self.iodepth as usize);
        let Some(mut state) = self.state.acquire() else {
            return Ok(End::Revoked);
        };
        let has_pool = engine.buffers().is_some_and(|buffers| buffers.has_pool());
        let mut now = engine.now();
        let mut in_ramp = now < state.worker.measured_from();
        let mut issued = false;
        // Until the ramp and the start are over and a request was issued, so that the rest of the run pays for one check.
        let mut beginning = true;
        loop {
            // An engine that never sleeps would let others on this CPU start 4 ms later. What is in flight is not kept
            // waiting.
            if beginning && issued && now < self.lets_start_until && state.worker.in_flight() == 0 {
                sleep(self.lets_start_until - now);
                now = engine.now();
            }
            let stop = self.signals.stopped();
            if stop {
                state.worker.stop(now);
            }
            state.recorder.advance(now);
            batch.clear();
            // A worker that has nothing more to issue does not wait for the log.
            let want = if stop || state.may_issue(now, limit) || state.worker.is_over(now) {
                state
                    .worker
                    .fill(now, limit, |request| batch.push(*request))
            } else {
                Some(Want::Wait {
                    completions: 1,
                    until: Some(now + FULL_LOG),
                })
            };
            if beginning {
                if in_ramp && now >= state.worker.measured_from() {
                    in_ramp = false;
                    state.measure_from(now);
                    ramped();
                }
                if !issued && !batch.is_empty() {
                    issued = true;
                    let at = &self.signals.first_issued_ns;
                    at.store(engine.now(), Ordering::Relaxed);
                }
                beginning = in_ramp || !issued || now < self.lets_start_until;
            }
            if batch.is_empty() {
                drop(priority.take());
            }
            let reading = state.worker.reading_back().unwrap_or(READING);
            self.signals.reading_ns.store(reading, Ordering::Relaxed);
            let (min, until) = match want {
                Some(Want::Finished) if batch.is_empty() => return Ok(End::Finished(now)),
                Some(Want::Spin { until }) if batch.is_empty() => {
                    let spun = spin(engine, until.min(now + self.tick));
                    state.busy.in_flight(0, spun - now);
                    now = spun;
                    continue;
                }
                Some(Want::Settle) if batch.is_empty() => {
                    drop(state);
                    (self.settle)()?;
                    let Some(guard) = self.state.acquire() else {
                        return Ok(End::Revoked);
                    };
                    state = guard;
                    now = engine.now();
                    continue;
                }
                Some(Want::Wait { completions, until }) => (completions.max(1), until),
                // The batch is full or ends here: submit it, and take requests again.
                _ => (0, None),
            };
            // Give up only with an empty batch: a request that was never submitted must not be reported as in flight.
            // The order to stop precedes the order to give up, so the batch empties.
            if batch.is_empty() && self.signals.give_up.load(Ordering::Relaxed) {
                return Ok(End::GaveUp(now));
            }
            let mut deadline = (now + self.tick).min(until.unwrap_or(Nanos::MAX));
            let in_flight = state.worker.in_flight();
            self.signals.in_flight.store(in_flight, Ordering::Relaxed);
            drop(state);

            let mut looked_at = if E::BLOCKS { engine.now() } else { 0 };
            let mut submitted = 0;
            let mut calls = 0;
            while submitted < batch.len() {
                submitted += engine.submit(&batch[submitted..])?;
                calls += 1;
            }
            drop(priority.take());
            if !E::BLOCKS {
                looked_at = if calls > 0 {
                    engine.stamped()
                } else {
                    engine.now()
                };
            }
            let pending = match has_pool {
                true => engine
                    .buffers()
                    .map_or(0, |buffers| buffers.pending_checks()),
                false => 0,
            };
            if pending > 0 && pending < in_flight {
                // A check may end before the next completion comes, which is what the engine waits for.
                deadline = deadline.min(now + CHECK);
            }
            if min > 0 && pending > 0 && pending == in_flight {
                let patience = deadline.saturating_sub(engine.now());
                if let Some(buffers) = engine.buffers() {
                    buffers.wait_checked(Duration::from_nanos(patience));
                }
            } else if min > 0 {
                let min = min.min((in_flight - pending).max(1));
                engine.reap(min, Some(deadline), &mut done)?;
            } else if E::BLOCKS {
                engine.reap(0, None, &mut done)?;
            }
            let Some(guard) = self.state.acquire() else {
                return Ok(End::Revoked);
            };
            state = guard;

            let after = done
                .last()
                .map_or_else(|| engine.now(), |last| last.done.max(now));
            // In an engine that blocks, this time is the service time of the requests.
            let slept = min > 0 && !(E::BLOCKS && calls > 0);
            let overslept = if slept {
                after.saturating_sub(deadline.max(looked_at))
            } else {
                0
            };
            let gap = looked_at.saturating_sub(now) + overslept;
            state.recorder.gap(gap, after);
            // A completion after a long wait was seen when it came.
            if gap > LONG_GAP && !E::BLOCKS && after.saturating_sub(now) < 2 * gap {
                state.worker.reaping_resumed(after - gap, after);
            }
            if calls > 0 {
                state.busy.submitted(calls, submitted as u32, in_flight);
            }
            state.busy.in_flight(in_flight, after.saturating_sub(now));
            if !done.is_empty() {
                self.complete(engine, &mut state, &mut done);
            }
            if has_pool && let Some(buffers) = engine.buffers() {
                take_checked(buffers, &mut state)?;
            }
            now = after;
        }
    }

    /// Records the completions and passes them to the worker.
    #[inline]
    fn complete<E: Engine>(
        &self,
        engine: &mut E,
        state: &mut Guard<'_, WorkerState>,
        done: &mut Vec<Completion>,
    ) {
        let WorkerState {
            worker,
            recorder,
            busy,
            log,
            verified,
        } = &mut **state;
        busy.reaped(done.len() as u32);
        if E::BLOCKS {
            for completion in done.iter() {
                if completion.done - completion.start > LONG_GAP
                    && let Some((length, end)) =
                        self.heartbeat.stall(completion.start, completion.done)
                {
                    recorder.gap(length, end);
                    worker.reaping_resumed(end - length, end);
                }
            }
        }
        let mut bytes = [0; 3];
        for completion in done.iter_mut() {
            let request = worker.request(completion.slot);
            // A request that moved no bytes has failed: the file has become shorter.
            if completion.result == Ok(0) && matches!(request.kind, Kind::Read | Kind::Write) {
                completion.result = Err(Errno(libc::ENODATA));
            }
            recorder.record(request, completion);
            // An engine without data finds everything as it was written, as in fio.
            let ended = match engine.buffers() {
                Some(buffers) => buffers.ended(request, completion, verified),
                None => Ended::Good,
            };
            if ended == Ended::Mismatch {
                recorder.mismatch(request);
            }
            if let Some(log) = log {
                log.push(request, completion);
            }
            if let (Ok(moved), Some(sum)) = (
                completion.result,
                bytes.get_mut(request.kind.direction() as usize),
            ) {
                *sum += u64::from(moved);
            }
            if ended == Ended::Checking {
                continue;
            }
            worker.complete(completion);
            if ended == Ended::Mismatch {
                worker.mismatched(completion.done);
            }
        }
        Signals::add(&self.signals.completions, done.len() as u64);
        for (counter, moved) in self.signals.bytes.iter().zip(bytes) {
            if moved > 0 {
                Signals::add(counter, moved);
            }
        }
        done.clear();
    }
}

/// Passes the reads that other threads have checked to the worker.
fn take_checked(buffers: &mut Buffers, state: &mut WorkerState) -> Result<(), Error> {
    while let Some(checked) = buffers.checked() {
        let result = checked.result.ok_or(Error::Thread {
            what: "a thread that verifies panicked",
        })?;
        let mismatch = result.failed > 0;
        state.verified.add(result);
        if mismatch {
            state.recorder.mismatch(&checked.request);
        }
        state.worker.complete(&checked.completion);
        if mismatch {
            state.worker.mismatched(checked.completion.done);
        }
    }
    Ok(())
}

/// Busy-waits until `until`. Returns the instant at which it stopped.
fn spin<E: Engine>(engine: &E, until: Nanos) -> Nanos {
    loop {
        let now = engine.now();
        if now >= until {
            return now;
        }
        std::hint::spin_loop();
    }
}

#[cfg(test)]
mod tests;
