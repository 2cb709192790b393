//! Draws the I/O priority of each request: fio's cmdprio options.
//!
//! Source: fio 3.33's engines/cmdprio.c.

use crate::generate::{Rng, Stream};
use crate::plan::{PriorityPlan, WorkerPlan};
use crate::request::Request;

/// Which requests of a worker have a priority of their own.
#[derive(Debug)]
pub(crate) struct Priorities {
    shares: Box<[PriorityPlan]>,
    draws: Rng,
}

impl Priorities {
    /// Returns `None` if all requests have the priority of their thread.
    pub(crate) fn new(plan: &WorkerPlan) -> Option<Box<Self>> {
        let shares: Box<[PriorityPlan]> = plan.drawn_priorities().copied().collect();
        (!shares.is_empty()).then(|| {
            Box::new(Self {
                shares,
                draws: Rng::new(plan.seed, Stream::Priorities),
            })
        })
    }

    /// Returns the priority of the next request; 0: that of its thread.
    pub(crate) fn draw(&mut self, request: &Request) -> u16 {
        let mut drawn = self.draws.below(100) as u32;
        for share in &self.shares {
            let is_of_length = [0, request.length_bytes].contains(&share.length_bytes);
            if share.direction != request.kind.direction() || !is_of_length {
                continue;
            }
            if drawn < share.percent {
                return share.priority;
            }
            drawn -= share.percent;
        }
        0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Checksum, Rw};
    use crate::request::{Direction, Kind};
    use crate::testing;

    fn share(direction: Direction, length_bytes: u32, percent: u32, priority: u16) -> PriorityPlan {
        PriorityPlan {
            direction,
            length_bytes,
            percent,
            priority,
        }
    }

    fn drawn(priorities: &mut Priorities, kind: Kind, length_bytes: u32) -> Vec<u16> {
        let request = Request {
            kind,
            length_bytes,
            ..Request::none(0)
        };
        (0..10_000).map(|_| priorities.draw(&request)).collect()
    }

    #[test]
    fn requests_of_each_length_have_their_shares() {
        let mut plan = testing::plan(Rw::Randrw);
        plan.priorities = vec![
            share(Direction::Read, 4096, 20, 7),
            share(Direction::Read, 4096, 30, 8),
            share(Direction::Write, 0, 100, 9),
        ];
        let mut priorities = Priorities::new(&plan).expect("shares");
        let reads = drawn(&mut priorities, Kind::Read, 4096);
        for (priority, expected) in [(7, 2000), (8, 3000), (0, 5000)] {
            let count = reads.iter().filter(|drawn| **drawn == priority).count();
            assert!(count.abs_diff(expected) < 250, "{priority}: {count}");
        }
        assert_eq!(drawn(&mut priorities, Kind::Read, 8192), [0; 10_000]);
        assert_eq!(drawn(&mut priorities, Kind::Write, 512), [9; 10_000]);
        assert_eq!(drawn(&mut priorities, Kind::Sync, 0), [0; 10_000]);
    }

    #[test]
    fn reads_that_verify_the_writes_of_a_job_have_the_priority_of_its_thread() {
        let mut plan = testing::plan(Rw::Randwrite);
        plan.verify = Some(testing::verify(Checksum::Crc32c, 4096));
        assert!(plan.reads_back());
        plan.priorities = vec![share(Direction::Read, 0, 100, 7)];
        assert!(Priorities::new(&plan).is_none());
    }
}
