//! A simulated target and the loop that drives a worker against it.
//!
//! The loop does what an engine's thread does, in virtual time: it takes requests from the worker, submits them, waits,
//! and returns completions, each stamped when it is seen. At each step it checks what must hold for any plan.

use crate::generate::{Rng, Stream};
use crate::plan::WorkerPlan;
use crate::recorder::LONG_GAP;
use crate::request::{Completion, Errno, Kind, Request, Want};
use crate::time::Nanos;
use crate::worker::Worker;

/// When a run begins. It is not zero, so that no instant is mistaken for a length of time.
pub(super) const START: Nanos = 1_000_000_007;

/// One request from its issue to its end.
#[derive(Clone, Copy, Debug)]
pub(super) struct Served {
    pub(super) request: Request,
    /// When the worker issued it, which is also when it was submitted.
    pub(super) start: Nanos,
    /// When it was seen to be done.
    pub(super) done: Nanos,
}

impl Served {
    pub(super) fn lateness(&self) -> Nanos {
        self.start - self.request.ready
    }

    pub(super) fn queued(&self) -> Nanos {
        self.request.ready - self.request.intended
    }

    pub(super) fn lat(&self) -> Nanos {
        self.done - self.start
    }

    pub(super) fn response(&self) -> Nanos {
        self.done - self.request.intended
    }
}

type Service<'a> = dyn FnMut(&Request, &mut Rng) -> Nanos + 'a;
type Outcome<'a> = dyn FnMut(&Request) -> Result<u32, Errno> + 'a;

/// How the simulated target and the thread in front of it behave.
pub(super) struct World<'a> {
    /// Service time of a request.
    pub(super) service: Box<Service<'a>>,
    /// Requests served at the same time; the others queue inside the target.
    pub(super) servers: usize,
    /// How late the thread wakes, drawn for each wait.
    pub(super) wake: Box<dyn FnMut(&mut Rng) -> Nanos + 'a>,
    /// Times in which the entire process stands still: from, length; in order.
    pub(super) stalls: Vec<(Nanos, Nanos)>,
    /// A time in which the generator issues nothing, unless the worker is over: from, length.
    pub(super) hold: Option<(Nanos, Nanos)>,
    /// How a request ends.
    pub(super) result: Box<Outcome<'a>>,
    /// Most requests of a submission.
    pub(super) batch: usize,
    /// Whether waits now and then end early, as by a signal or a look at the clock.
    pub(super) interrupted: bool,
    /// When the worker is stopped.
    pub(super) stop: Option<Nanos>,
    pub(super) seed: u64,
}

impl World<'_> {
    /// Creates a target that takes `service` for every request, and a thread that is never late.
    pub(super) fn fast(service: Nanos) -> Self {
        World {
            service: Box::new(move |_, _| service),
            servers: usize::MAX,
            wake: Box::new(|_| 0),
            stalls: Vec::new(),
            hold: None,
            result: Box::new(|request| Ok(request.length_bytes)),
            batch: usize::MAX,
            interrupted: false,
            stop: None,
            seed: 1,
        }
    }

    /// Creates a target that takes any time up to `slowest`, and a thread that wakes up to `latest` late.
    pub(super) fn random(seed: u64, slowest: Nanos, latest: Nanos) -> Self {
        World {
            service: Box::new(move |_, rng| 1 + rng.below(slowest)),
            wake: Box::new(move |rng| rng.below(latest + 1)),
            interrupted: true,
            seed,
            ..World::fast(0)
        }
    }
}

/// The course of a run.
pub(super) struct Trace {
    /// In the order of issue.
    pub(super) served: Vec<Served>,
    pub(super) worker: Worker,
    /// When the worker said that it was finished.
    pub(super) end: Nanos,
    /// When it busy-waited: from, to.
    pub(super) spins: Vec<(Nanos, Nanos)>,
    /// How often what was written had to be made durable.
    pub(super) settled: u64,
}

impl Trace {
    pub(super) fn of_kind(&self, kind: Kind) -> impl Iterator<Item = &Served> {
        self.served
            .iter()
            .filter(move |served| served.request.kind == kind)
    }

    pub(super) fn count(&self, kind: Kind) -> u64 {
        self.of_kind(kind).count() as u64
    }

    pub(super) fn bytes(&self) -> u64 {
        self.served
            .iter()
            .map(|served| u64::from(served.request.length_bytes))
            .sum()
    }
}

/// Runs `plan` to its end.
pub(super) fn run(plan: &WorkerPlan, world: World<'_>) -> Trace {
    drive(Worker::new(plan).expect("the plan is valid"), plan, world)
}

/// Drives a worker of `plan` to its end.
pub(super) fn drive(mut worker: Worker, plan: &WorkerPlan, world: World<'_>) -> Trace {
    worker.begin(START, plan.ramp_ns, plan.runtime_ns);
    Sim {
        depth: plan.iodepth,
        refill_at: plan
            .iodepth_low
            .min(plan.iodepth - plan.complete_min.max(1)),
        full: false,
        held_since: None,
        now: START,
        rng: Rng::new(world.seed, Stream::Jumps),
        in_flight: Vec::new(),
        trace: Trace {
            served: Vec::new(),
            worker,
            end: 0,
            spins: Vec::new(),
            settled: 0,
        },
        world,
    }
    .run()
}

struct Sim<'a> {
    depth: u32,
    refill_at: u32,
    /// Whether it was full since it was last drained to `refill_at`.
    full: bool,
    /// Since when it has issued nothing.
    held_since: Option<Nanos>,
    now: Nanos,
    rng: Rng,
    world: World<'a>,
    /// When each request will be done, and its index in `trace.served`.
    in_flight: Vec<(Nanos, usize)>,
    trace: Trace,
}

impl Sim<'_> {
    fn run(mut self) -> Trace {
        for _ in 0..10_000_000 {
            if self.world.stop.is_some_and(|stop| stop <= self.now) {
                self.trace.worker.stop(self.now);
            }
            let over = self.trace.worker.is_over(self.now);
            if !over && self.is_held() {
                self.reap();
                continue;
            }
            let mut submitted = 0;
            let want = loop {
                match self.trace.worker.next(self.now) {
                    Want::Issue(slot) => {
                        let request = *self.trace.worker.request(slot);
                        assert!(!over, "{request:?} of a worker that was over");
                        self.submit(request);
                    }
                    other => break Some(other),
                }
                submitted += 1;
                if submitted == self.world.batch {
                    break None;
                }
            };
            match want {
                None => {}
                Some(Want::Issue(_)) => unreachable!(),
                Some(Want::Finished) => {
                    assert!(
                        self.in_flight.is_empty(),
                        "finished with requests in flight"
                    );
                    assert_eq!(self.trace.worker.in_flight(), 0);
                    self.trace.end = self.now;
                    return self.trace;
                }
                Some(Want::Settle) => {
                    assert!(self.in_flight.is_empty(), "settled with requests in flight");
                    self.trace.settled += 1;
                }
                Some(Want::Spin { until }) => {
                    assert!(until > self.now && self.in_flight.is_empty());
                    self.trace.spins.push((self.now, until));
                    self.now = until;
                }
                Some(Want::Wait { completions, until }) => self.wait(completions, until),
            }
            self.reap();
        }
        panic!("the worker does not come to its end");
    }

    /// During the hold, waits for the next completion or the end of the hold.
    fn is_held(&mut self) -> bool {
        let Some((from, length)) = self.world.hold.filter(|(from, _)| *from <= self.now) else {
            return false;
        };
        if self.now >= from + length {
            self.world.hold = None;
            if let Some(since) = self.held_since {
                self.trace.worker.issuing_resumed(since);
            }
            return false;
        }
        self.held_since.get_or_insert(self.now);
        self.wait(self.in_flight.len().min(1) as u32, Some(from + length));
        true
    }

    /// Checks a request and submits it to the target.
    fn submit(&mut self, request: Request) {
        let (now, flying) = (self.now, self.in_flight.len());
        assert!(request.slot < self.depth);
        assert!(
            !self
                .in_flight
                .iter()
                .any(|&(_, at)| self.trace.served[at].request.slot == request.slot)
        );
        assert!(
            request.intended <= request.ready && request.ready <= now,
            "{request:?} issued at {now}"
        );
        assert!(START <= request.intended);
        assert!(
            !self.full || flying <= self.refill_at as usize,
            "filled again too early, at {flying}"
        );
        self.full = flying + 1 == self.depth as usize;
        assert_eq!(self.trace.worker.in_flight() as usize, flying + 1);
        assert_eq!(*self.trace.worker.request(request.slot), request);
        // The server that becomes free first takes the request.
        let service = (self.world.service)(&request, &mut self.rng);
        let mut busy: Vec<Nanos> = self.in_flight.iter().map(|&(done, _)| done).collect();
        busy.sort_unstable();
        let begin = busy
            .len()
            .checked_sub(self.world.servers)
            .map_or(now, |ahead| busy[ahead].max(now));
        self.in_flight
            .push((begin + service, self.trace.served.len()));
        self.trace.served.push(Served {
            request,
            start: now,
            done: 0,
        });
    }

    /// Waits for `completions` or `until`, and then until the thread wakes.
    fn wait(&mut self, completions: u32, until: Option<Nanos>) {
        let mut dues: Vec<Nanos> = self.in_flight.iter().map(|&(done, _)| done).collect();
        assert!(
            completions as usize <= dues.len(),
            "waits for more than there are"
        );
        assert!(
            completions > 0 || (until.is_some() && dues.is_empty()),
            "waits for nothing"
        );
        assert!(
            until.is_none_or(|until| until > self.now),
            "waits for the past"
        );
        dues.sort_unstable();
        let enough = completions.checked_sub(1).map(|last| dues[last as usize]);
        let mut wake = [enough, until]
            .into_iter()
            .flatten()
            .min()
            .expect("one of them is there")
            .max(self.now);
        if self.world.interrupted && self.rng.below(8) == 0 {
            wake = self.now + self.rng.below(wake - self.now + 1);
        }
        self.now = wake.saturating_add((self.world.wake)(&mut self.rng));
        if self.now - wake > LONG_GAP {
            self.trace.worker.reaping_resumed(wake, self.now);
        }
    }

    /// Returns completions in any order. If the thread slept too long to have seen them on time, reports the gap.
    fn reap(&mut self) {
        while let Some(&(from, length)) = self.world.stalls.first() {
            if from > self.now {
                break;
            }
            self.world.stalls.remove(0);
            let end = from + length;
            if self.now < end {
                // Drivers do not report shorter gaps.
                if end - self.now > LONG_GAP {
                    self.trace.worker.reaping_resumed(self.now, end);
                }
                self.now = end;
            }
        }
        let mut done: Vec<(Nanos, usize)> = self
            .in_flight
            .extract_if(.., |&mut (done, _)| done <= self.now)
            .collect();
        while !done.is_empty() {
            let (_, at) = done.swap_remove(self.rng.below(done.len() as u64) as usize);
            let served = &mut self.trace.served[at];
            assert_eq!(served.done, 0, "completed twice");
            served.done = self.now;
            self.trace.worker.complete(&Completion {
                slot: served.request.slot,
                start: served.start,
                issued: None,
                done: self.now,
                result: (self.world.result)(&served.request),
            });
        }
    }
}
