//! Runs one plan from its first stage to its last: starts, watches and ends its threads, and collects their results.
//!
//! [`Run::start`] returns at once; one collecting thread runs the stages. It merges the slices of the workers, beats
//! for the heartbeat, and checks for threads that do not return from the kernel. It never touches the target.

mod barrier;
mod events;
pub(crate) mod exchange;
mod heartbeat;
mod revocable;
pub mod rows_file;
pub mod spill;
mod stage_runner;
mod starting;
mod worker_loop;
mod worker_state;
mod worker_thread;

use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use iogauge_core::Stop;
use iogauge_core::plan::RunPlan;
use iogauge_core::results::RunResult;

use crate::clock::{Clock, monotonic_ns};
use crate::engines::StampLog;
use crate::error::Error;
pub use crate::run::events::{Event, Hold};
use crate::run::events::{Events, StopFlags};
use crate::run::heartbeat::Heartbeat;
use crate::run::spill::{Spill, Spilled};

/// A run in progress.
#[derive(Debug)]
pub struct Run {
    events: Arc<Events>,
    stop_flags: Arc<StopFlags>,
    hold: Arc<Hold>,
    spill: Option<Spill>,
}

impl Run {
    /// Starts a plan. If the plan logs every request, appends the requests to `log`.
    ///
    /// # Errors
    /// If a thread cannot be started. Every other error is an [`Event::Failed`].
    pub fn start(plan: RunPlan, log: Option<File>) -> Result<Self, Error> {
        let events = Arc::new(Events::default());
        let stop_flags = Arc::new(StopFlags::default());
        let log = log.filter(|_| plan.request_log);
        let spill = log.map(Spill::start).transpose()?;
        let run = Self {
            events: events.clone(),
            stop_flags: stop_flags.clone(),
            hold: Arc::default(),
            spill: spill.clone(),
        };
        let hold = run.hold.clone();
        let collecting = std::thread::Builder::new()
            .name("iogauge-collect".into())
            .spawn(move || {
                let plan = Arc::new(plan);
                let work = || collect(&plan, spill.as_ref(), &stop_flags, &hold, &events);
                report_panic(spill.as_ref(), &events, work);
            });
        match collecting {
            Ok(_) => Ok(run),
            Err(cause) => {
                abandon(run.spill.as_ref());
                Err(Error::NoThread {
                    what: "the collector".into(),
                    cause,
                })
            }
        }
    }

    /// Returns the events so far. Waits at most `timeout` for the first.
    pub fn poll(&self, timeout: Duration) -> Vec<Event> {
        self.events.take(timeout)
    }

    /// Lets a run that is held go on, or ends it there for the reason given.
    pub fn proceed(&self, answer: Result<(), String>) {
        self.hold.answer(answer);
    }

    /// Ends the run: issues no further request and waits for those in flight.
    pub fn stop(&self) {
        self.stop_flags.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the run without waiting for requests in flight.
    pub fn give_up(&self) {
        self.stop();
        self.stop_flags.give_up.store(true, Ordering::Relaxed);
    }

    /// Returns the outcome of the log, once the run is over.
    pub fn spilled(&self) -> Option<Spilled> {
        self.spill.as_ref()?.spilled()
    }
}

/// Does the collecting thread's work. If that panics, closes the log and reports it.
fn report_panic(spill: Option<&Spill>, events: &Events, work: impl FnOnce()) {
    if std::panic::catch_unwind(AssertUnwindSafe(work)).is_err() {
        abandon(spill);
        events.push(Event::Failed(Error::Thread {
            what: "the collecting thread panicked",
        }));
    }
}

/// Closes the log without waiting, because no thread will collect the run.
fn abandon(spill: Option<&Spill>) {
    if let Some(spill) = spill {
        spill.close(Duration::ZERO, || false);
    }
}

/// Waits until the log is written or a second interrupt ends the wait.
fn close(spill: Option<&Spill>, plan: &RunPlan, stop_flags: &StopFlags) {
    if let Some(spill) = spill {
        let patience = Duration::from_nanos(plan.give_up_ns);
        spill.close(patience, || !stop_flags.give_up.load(Ordering::Relaxed));
    }
}

/// Waits until the stamp logs are written or a second interrupt ends the wait.
fn close_all(stamp_logs: &[StampLog], plan: &RunPlan, stop_flags: &StopFlags) {
    let patience = Duration::from_nanos(plan.give_up_ns);
    for log in stamp_logs {
        log.close(patience, || !stop_flags.give_up.load(Ordering::Relaxed));
    }
}

/// Runs the stages one after the other and reports the result.
fn collect(
    plan: &Arc<RunPlan>,
    spill: Option<&Spill>,
    stop_flags: &Arc<StopFlags>,
    hold: &Hold,
    events: &Arc<Events>,
) {
    let clock = Clock::get();
    let started = clock.now();
    let heartbeat = Arc::new(Heartbeat::default());
    let mut result = RunResult::new(clock.facts());
    let mut stamp_logs = Vec::with_capacity(plan.stamp_logs.len());
    for log in &plan.stamp_logs {
        match StampLog::start(log) {
            Ok(log) => stamp_logs.push(log),
            Err(error) => {
                close(spill, plan, stop_flags);
                close_all(&stamp_logs, plan, stop_flags);
                return events.push(Event::Failed(error));
            }
        }
    }
    for index in 0..plan.stages.len() {
        if plan.stages[index].held {
            events.push(Event::Held(index));
            let refusal = hold.wait(|| stop_flags.stop.load(Ordering::Relaxed)).err();
            if refusal.is_some() {
                result.error = refusal;
                break;
            }
            if stop_flags.stop.load(Ordering::Relaxed) {
                result.stopped_by = Some(Stop::Interrupt);
                break;
            }
        }
        let context = stage_runner::Context {
            plan,
            index,
            clock,
            heartbeat: &heartbeat,
            spill,
            stamp_logs: &stamp_logs,
            stop_flags,
            events,
        };
        match stage_runner::run(&context) {
            Ok(stage) if stage.ends_run => {
                result.add(stage);
                break;
            }
            Ok(stage) => result.add(stage),
            Err(error) if result.workers.is_empty() => {
                close(spill, plan, stop_flags);
                close_all(&stamp_logs, plan, stop_flags);
                return events.push(Event::Failed(error));
            }
            // Keep what earlier stages measured.
            Err(error) => {
                result.error = Some(match error.hint() {
                    Some(hint) => format!("{error} (hint: {hint})"),
                    None => error.to_string(),
                });
                break;
            }
        }
        if stop_flags.stop.load(Ordering::Relaxed) {
            result.stopped_by = Some(Stop::Interrupt);
            break;
        }
    }
    result.clock = clock.facts();
    result.elapsed_ns = match plan.start_at_ns.and(result.started_ns) {
        // Without the wait for its instant.
        Some(at) => monotonic_ns().saturating_sub(at),
        None => clock.now() - started,
    };
    close(spill, plan, stop_flags);
    close_all(&stamp_logs, plan, stop_flags);
    result.stamp_logs = stamp_logs.iter().map(StampLog::result).collect();
    for log in &result.stamp_logs {
        let failure = log.failure.as_ref();
        result.error = result
            .error
            .take()
            .or_else(|| failure.map(|why| stage_runner::unlogged(&log.path, why)));
    }
    events.push(Event::Finished(Box::new(result)));
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    #[test]
    fn a_collector_that_panics_ends_the_run_and_its_log() {
        let (_reader, writer) = std::io::pipe().unwrap();
        let file = File::from(std::os::fd::OwnedFd::from(writer));
        let spill = Spill::start(file).unwrap();
        let events = Events::default();
        report_panic(Some(&spill), &events, || panic!("as a bug would"));
        let events = events.take(Duration::ZERO);
        assert!(matches!(events[..], [Event::Failed(Error::Thread { .. })]));
        assert!(spill.spilled().unwrap().failure.is_some());
        let begun = Instant::now();
        while spill.has_thread() {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
    }
}
