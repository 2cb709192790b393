//! One plan from its first stage to its last: threads started, watched, ended, collected.
//!
//! [`Run::start`] returns at once; one collecting thread runs the stages. It merges what the workers hand over, beats
//! for the heartbeat, and looks for workers that the kernel does not give back. It never touches the target.

use std::collections::VecDeque;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use crossbeam_queue::ArrayQueue;
use iogauge_core::log_record::LogRecord;
use iogauge_core::plan::RunPlan;
use iogauge_core::results::{Interval, RunResult};
use iogauge_core::stage::Stop;

use crate::clock::{Clock, ClockFacts};
use crate::error::Error;
use crate::heartbeat::Heartbeat;
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
    pub(crate) stop: AtomicBool,
    pub(crate) give_up: AtomicBool,
}

/// A run under way.
#[derive(Debug)]
pub struct Run {
    events: Arc<Events>,
    asked: Arc<Asked>,
    logs: Vec<Arc<ArrayQueue<LogRecord>>>,
}

impl Run {
    /// Starts a plan.
    ///
    /// # Errors
    /// Where the collecting thread cannot be started. Everything else comes as [`Event::Failed`].
    pub fn start(plan: RunPlan) -> Result<Self, Error> {
        let events = Arc::new(Events::default());
        let asked = Arc::new(Asked::default());
        let workers: usize = plan.stages.iter().map(|stage| stage.workers.len()).sum();
        let capacity = plan.request_log_capacity.max(1) as usize;
        let logs: Vec<_> = match plan.request_log {
            true => (0..workers)
                .map(|_| Arc::new(ArrayQueue::new(capacity)))
                .collect(),
            false => Vec::new(),
        };
        let run = Self {
            events: events.clone(),
            asked: asked.clone(),
            logs: logs.clone(),
        };
        std::thread::Builder::new()
            .name("iogauge-collect".into())
            .spawn(move || {
                // Whoever polls must hear of the end, even of one that should never come.
                let whole = AssertUnwindSafe(|| collect(&plan, &logs, &asked, &events));
                if std::panic::catch_unwind(whole).is_err() {
                    events.push(Event::Failed(Error::Thread {
                        what: "the collecting thread panicked",
                    }));
                }
            })
            .map_err(|cause| Error::Call {
                call: "starting a thread",
                cause,
            })?;
        Ok(run)
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

    /// Appends at most `limit` logged requests to `records`; those of one worker are in order of completion.
    pub fn requests(&self, limit: usize, records: &mut Vec<LogRecord>) {
        for log in &self.logs {
            while records.len() < limit {
                match log.pop() {
                    Some(record) => records.push(record),
                    None => break,
                }
            }
        }
    }
}

/// Runs the stages one after the other, and says how it went.
fn collect(
    plan: &RunPlan,
    logs: &[Arc<ArrayQueue<LogRecord>>],
    asked: &Arc<Asked>,
    events: &Arc<Events>,
) {
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
            logs,
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
            Err(error) if result.workers.is_empty() => return events.push(Event::Failed(error)),
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
    events.push(Event::Finished(Box::new(result)));
}
