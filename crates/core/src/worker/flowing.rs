//! Holds a worker that is ahead of the others of its flow: fio's `flow`.

use super::Worker;
use crate::flow::Share;
use crate::plan::{FlowPlan, WorkerPlan};
use crate::request::Want;
use crate::time::{MICROSECOND, Nanos};

/// How long a worker that is held waits for a completion before it looks again.
const LOOK_AGAIN: Nanos = 10 * MICROSECOND;

/// A worker's part of its flow, and the pause that it makes when it is held.
#[derive(Debug)]
pub(super) struct Flowing {
    share: Share,
    sleep: Nanos,
    held: bool,
    /// Whether it waits for its last requests before a pause.
    draining: bool,
    /// When the pause ends.
    until: Nanos,
}

impl Flowing {
    fn new(plan: FlowPlan, share: Share) -> Self {
        Self {
            share,
            sleep: plan.sleep_ns,
            held: false,
            draining: false,
            until: 0,
        }
    }

    /// Counts a request that is being issued.
    pub(super) fn count(&mut self) {
        self.share.count();
    }
}

impl Worker {
    /// Makes the worker proceed as its share of a flow allows, if its plan has one.
    pub fn join(&mut self, plan: &WorkerPlan, share: Option<Share>) {
        let flowing = plan.flow.zip(share);
        self.flowing = flowing.map(|(plan, share)| Box::new(Flowing::new(plan, share)));
        self.watched |= self.flowing.is_some();
        self.is_uniform &= self.flowing.is_none();
    }

    /// Leaves its flow, so that the others do not wait for it.
    pub(super) fn leave_flow(&mut self) {
        if let Some(flowing) = &mut self.flowing {
            flowing.share.leave();
        }
    }

    /// Returns what it wants while it is held; `None` if it is not. Of a rate, what was due while it was held is dropped.
    pub(super) fn held(&mut self, now: Nanos) -> Option<Want> {
        let want = self.wait_for_flow(now);
        let flowing = self.flowing.as_mut()?;
        if std::mem::replace(&mut flowing.held, want.is_some()) && want.is_none() {
            self.drop_due_before(now - self.start);
        }
        want
    }

    fn wait_for_flow(&mut self, now: Nanos) -> Option<Want> {
        let in_flight = self.slots.in_flight();
        let flowing = self.flowing.as_mut()?;
        if now < flowing.until {
            let until = flowing.until;
            return Some(self.wait_until(until));
        }
        if !flowing.draining {
            if !flowing.share.is_held() {
                return None;
            }
            flowing.draining = flowing.sleep > 0;
        }
        if flowing.draining {
            if in_flight > 0 {
                return Some(self.wait_for_one(now));
            }
            flowing.draining = false;
            flowing.until = now + flowing.sleep;
            let until = flowing.until;
            return Some(self.wait_until(until));
        }
        if in_flight > 0 {
            return Some(self.wait_until(now + LOOK_AGAIN));
        }
        // As in fio, it does not sleep: a thread that sleeps would hold up the others.
        Some(Want::Spin {
            until: (now + MICROSECOND).min(self.end),
        })
    }
}
