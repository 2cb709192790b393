//! One plan from its first stage to its last: threads started, watched, ended, collected.
//!
//! [`Run::start`] returns at once; one collecting thread runs the stages. It merges what the workers hand over, beats
//! for the heartbeat, and looks for workers that the kernel does not give back. It never touches the target.

use std::collections::VecDeque;
use std::fs::File;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use iogauge_core::plan::RunPlan;
use iogauge_core::results::{Interval, RunResult};
use iogauge_core::stage::Stop;

use crate::clock::{Clock, ClockFacts};
use crate::error::Error;
use crate::heartbeat::Heartbeat;
use crate::spill::{Spill, Spilled};
use crate::staging;

/// Intervals that may wait for whoever polls; beyond that the collector leaves slices with their workers.
pub(crate) const EVENTS: usize = 4096;

/// What a run tells while it goes on.
#[derive(Debug)]
pub enum Event {
    /// An interval of a row is over.
    Interval(Box<Interval>),
    /// The run is over; nothing follows.
    Finished(Box<RunResult<ClockFacts>>),
    /// The run could not be started; nothing follows.
    Failed(Error),
}

/// Events on their way from the collecting thread to whoever polls.
#[derive(Debug, Default)]
pub(crate) struct Events {
    queue: Mutex<VecDeque<Event>>,
    arrived: Condvar,
}

impl Events {
    pub(crate) fn push(&self, event: Event) {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push_back(event);
        self.arrived.notify_one();
    }

    pub(crate) fn full(&self) -> bool {
        self.queue
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .len()
            >= EVENTS
    }

    fn take(&self, timeout: Duration) -> Vec<Event> {
        let queue = self.queue.lock().unwrap_or_else(PoisonError::into_inner);
        let waited = self
            .arrived
            .wait_timeout_while(queue, timeout, |queue| queue.is_empty());
        waited
            .unwrap_or_else(PoisonError::into_inner)
            .0
            .drain(..)
            .collect()
    }
}

/// What the outside may ask of a run.
#[derive(Debug, Default)]
pub(crate) struct Asked {
    pub(crate) stop: Arc<AtomicBool>,
    pub(crate) give_up: AtomicBool,
}

/// A run under way.
#[derive(Debug)]
pub struct Run {
    events: Arc<Events>,
    asked: Arc<Asked>,
    spill: Option<Spill>,
}

impl Run {
    /// Starts a plan. Where it wants every request to be logged, they are spilled behind all that `log` has.
    ///
    /// # Errors
    /// Where a thread cannot be started. Everything else comes as [`Event::Failed`].
    pub fn start(plan: RunPlan, log: Option<File>) -> Result<Self, Error> {
        let events = Arc::new(Events::default());
        let asked = Arc::new(Asked::default());
        let log = log.filter(|_| plan.request_log);
        let spill = log.map(Spill::start).transpose()?;
        let run = Self {
            events: events.clone(),
            asked: asked.clone(),
            spill: spill.clone(),
        };
        let collecting = std::thread::Builder::new()
            .name("iogauge-collect".into())
            .spawn(move || {
                let plan = Arc::new(plan);
                let whole = || collect(&plan, spill.as_ref(), &asked, &events);
                survived(spill.as_ref(), &events, whole);
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

    /// What has happened, waiting for something to happen for `timeout` at most.
    pub fn poll(&self, timeout: Duration) -> Vec<Event> {
        self.events.take(timeout)
    }

    /// Asks the run to end: nothing more is issued, what is in flight is waited for.
    pub fn stop(&self) {
        self.asked.stop.store(true, Ordering::Relaxed);
    }

    /// Asks the run to end without waiting for what is in flight.
    pub fn give_up(&self) {
        self.stop();
        self.asked.give_up.store(true, Ordering::Relaxed);
    }

    /// What came of the log, once the run is over.
    pub fn spilled(&self) -> Option<Spilled> {
        self.spill.as_ref()?.spilled()
    }
}

/// Does what the collecting thread does. Whoever polls hears of a panic, and the log is closed.
fn survived(spill: Option<&Spill>, events: &Events, whole: impl FnOnce()) {
    if std::panic::catch_unwind(AssertUnwindSafe(whole)).is_err() {
        abandon(spill);
        events.push(Event::Failed(Error::Thread {
            what: "the collecting thread panicked",
        }));
    }
}

/// Closes the log of a run that nobody collects, and waits for nothing.
fn abandon(spill: Option<&Spill>) {
    if let Some(spill) = spill {
        spill.close(Duration::ZERO, || false);
    }
}

/// Waits until the log is written, unless an interrupt says not to wait.
fn close(spill: Option<&Spill>, plan: &RunPlan, asked: &Asked) {
    if let Some(spill) = spill {
        let patience = Duration::from_nanos(plan.give_up_ns);
        spill.close(patience, || !asked.give_up.load(Ordering::Relaxed));
    }
}

/// Runs the stages one after the other, and says how it went.
fn collect(plan: &Arc<RunPlan>, spill: Option<&Spill>, asked: &Arc<Asked>, events: &Arc<Events>) {
    let clock = Clock::get();
    let started = clock.now();
    let heartbeat = Arc::new(Heartbeat::default());
    let mut result = RunResult {
        rows: Vec::new(),
        workers: Vec::new(),
        in_flight: Vec::new(),
        drives: Vec::new(),
        clock: clock.facts(),
        stopped_by: None,
        error: None,
        elapsed_ns: 0,
    };
    let mut first_worker = 0;
    for (index, stage) in plan.stages.iter().enumerate() {
        let context = staging::Context {
            plan,
            stage,
            index: index as u32,
            first_worker,
            clock,
            heartbeat: &heartbeat,
            spill,
            asked,
            events,
        };
        match staging::run(&context) {
            Ok(outcome) => {
                result.rows.extend(outcome.rows);
                result.workers.extend(outcome.workers);
                result.in_flight.extend(outcome.in_flight);
                result.stopped_by = result.stopped_by.or(outcome.stopped_by);
                result.error = result.error.or(outcome.error);
            }
            Err(error) if result.workers.is_empty() => {
                close(spill, plan, asked);
                return events.push(Event::Failed(error));
            }
            // What earlier stages measured is kept.
            Err(error) => {
                result.error = Some(match error.hint() {
                    Some(hint) => format!("{error} (hint: {hint})"),
                    None => error.to_string(),
                });
                break;
            }
        }
        first_worker += stage.workers.len();
        if asked.stop.load(Ordering::Relaxed) {
            result.stopped_by = Some(Stop::Interrupt);
            break;
        }
    }
    result.clock = clock.facts();
    result.elapsed_ns = clock.now() - started;
    close(spill, plan, asked);
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
        survived(Some(&spill), &events, || panic!("as a bug would"));
        let heard = events.take(Duration::ZERO);
        assert!(matches!(heard[..], [Event::Failed(Error::Thread { .. })]));
        assert!(spill.spilled().unwrap().failure.is_some());
        let begun = Instant::now();
        while spill.has_thread() {
            assert!(begun.elapsed() < Duration::from_secs(60));
            std::thread::yield_now();
        }
    }
}
