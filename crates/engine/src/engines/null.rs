//! The null engine: completes every request at the next reap. It measures iogauge itself.
//!
//! It stamps where a real engine would, and touches no file or buffer.

use iogauge_core::plan::WorkerPlan;
use iogauge_core::{Completion, Kind, Nanos, Request};

use crate::Engine;
use crate::clock::Clock;
use crate::error::Error;
use crate::wait::Waiter;

/// The null engine.
#[derive(Debug)]
pub struct Null {
    clock: Clock,
    waiter: Waiter,
    reap_limit: usize,
    submit_limit: usize,
    /// Whether the end of a submission is stamped: as in fio, only with a queue.
    stamps_issue: bool,
    /// Requests in flight, the oldest first; `done` is not stamped yet.
    in_flight: Vec<Completion>,
}

impl Null {
    /// Creates the engine with room for the requests of `plan`.
    pub fn new(plan: &WorkerPlan, clock: Clock, waiter: Waiter) -> Null {
        Null {
            clock,
            waiter,
            reap_limit: plan.engine.reap_batch as usize,
            submit_limit: plan.engine.submit_batch.get() as usize,
            stamps_issue: plan.stamps_issue(),
            in_flight: Vec::with_capacity(plan.iodepth as usize),
        }
    }
}

impl Engine for Null {
    const BLOCKS: bool = false;

    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    #[inline]
    fn stamped(&self) -> Nanos {
        self.in_flight.last().map_or(0, |completion| {
            completion.issued.unwrap_or(completion.start)
        })
    }

    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<usize, Error> {
        let requests = &requests[..requests.len().min(self.submit_limit)];
        let start = self.clock.now();
        let issued = self.stamps_issue.then(|| self.clock.now());
        self.in_flight.extend(requests.iter().map(|request| {
            let moved = match request.kind {
                Kind::Sync | Kind::DataSync | Kind::RangeSync => 0,
                _ => request.length_bytes,
            };
            Completion {
                slot: request.slot,
                start,
                issued,
                done: start,
                result: Ok(moved),
            }
        }));
        Ok(requests.len())
    }

    #[inline]
    fn reap(
        &mut self,
        _min: u32,
        until: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        if self.in_flight.is_empty() {
            if let Some(until) = until {
                self.waiter.sleep_until(until);
            }
            return Ok(());
        }
        let stamp = self.clock.now();
        let count = self.in_flight.len().min(self.reap_limit);
        done.extend(self.in_flight.drain(..count).map(|completion| Completion {
            done: stamp,
            ..completion
        }));
        Ok(())
    }
}
