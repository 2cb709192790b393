//! Passes events from a run to its poller, and in the other direction the order to stop and the answer to a held run.

use std::collections::VecDeque;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Condvar, Mutex, PoisonError};
use std::time::Duration;

use iogauge_core::results::{Interval, RunResult};

use crate::clock::ClockFacts;
use crate::error::Error;

/// How many events may wait for the poller. With more, the collector leaves slices with their workers.
const MOST_EVENTS: usize = 4096;

/// The longest time after which a run that waits sees an order to stop.
const LOOK: Duration = Duration::from_millis(100);

/// What happens during a run.
#[derive(Debug)]
pub enum Event {
    /// An interval of a row is over.
    Interval(Box<Interval>),
    /// The run waits before the stage at this index, until it is let go on or stopped.
    Held(usize),
    /// The run is over; nothing follows.
    Finished(Box<RunResult<ClockFacts>>),
    /// The run could not be started; nothing follows.
    Failed(Error),
}

/// Events on their way from the collecting thread to the poller.
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
            >= MOST_EVENTS
    }

    /// Takes all events. Waits at most `timeout` for the first.
    pub(crate) fn take(&self, timeout: Duration) -> Vec<Event> {
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

/// Where a run waits before a stage, and its caller's answer.
#[derive(Debug, Default)]
pub struct Hold {
    answer: Mutex<Option<Result<(), String>>>,
    answered: Condvar,
}

impl Hold {
    /// Lets the run go on, or ends it before the stage for the reason given.
    pub fn answer(&self, answer: Result<(), String>) {
        *self.answer.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
        self.answered.notify_all();
    }

    /// Waits for the answer. Returns `Ok` on an order to stop, too.
    ///
    /// # Errors
    /// If the run must end.
    pub fn wait(&self, stopped: impl Fn() -> bool) -> Result<(), String> {
        let mut answer = self.answer.lock().unwrap_or_else(PoisonError::into_inner);
        while answer.is_none() && !stopped() {
            let waited = self.answered.wait_timeout(answer, LOOK);
            answer = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
        answer.take().unwrap_or(Ok(()))
    }
}

/// Whether a run must end early.
#[derive(Debug, Default)]
pub(crate) struct StopFlags {
    /// Issue no further request, but wait for those in flight.
    pub(crate) stop: Arc<AtomicBool>,
    /// Do not wait for requests in flight either.
    pub(crate) give_up: AtomicBool,
}
