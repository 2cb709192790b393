//! The io_uring engines: fixed buffers, registered files and ring, batches, SQPOLL and IOPOLL.
//!
//! What the entries of the ring say is left to [`Commands`]: operations on files (io_uring), or NVMe commands
//! (io_uring_cmd).
//!
//! One `io_uring_enter` submits a batch and, with `GETEVENTS`, collects the completions so far; a reap that finds
//! enough of them makes no call. A single call that submits and *waits* would save a second call if nothing has
//! completed yet, but would make slat meaningless: it would return only after the device.
//!
//! - Under SQPOLL no call is made to submit: `issued` is absent. Waiting spins for a while before it sleeps.
//! - Under IOPOLL waiting is polling, and an `until` more than a millisecond away cannot interrupt it.
//! - The thread itself makes the requests that the ring cannot take, one at a time. On files these are trims if the
//!   kernel has no command for them or polls, and syncs if it polls.
//! - [`Uring`] can be dropped while requests are in flight; their buffers then stay mapped. The end of the *thread*
//!   waits for them: the kernel cancels a thread's requests and waits until that is done.
//!
//! Source: the kernel's io_uring_enter(2); fio 3.33's engines/io_uring.c.
#![allow(unsafe_code)]

use io_uring::cqueue;
use iogauge_core::plan::WorkerPlan;
use iogauge_core::{Completion, Nanos, Request};

use crate::Engine;
use crate::clock::Clock;
use crate::engines::blocking::OutsideQueue;
use crate::engines::buffers::Buffers;
use crate::engines::commands::Commands;
use crate::engines::files::{self, File};
use crate::engines::probe;
use crate::engines::ring::{Ring, enter_failed};
use crate::engines::ring_setup::Mode;
use crate::error::Error;
use crate::wait::Waiter;

/// The facts about a request that its completion needs.
#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    start: Nanos,
    issued: Option<Nanos>,
    /// See [`Commands::unreported_bytes`].
    unreported_bytes: u32,
}

/// When a reap began to wait.
struct Waiting {
    /// When the last submission was; 0 if there was none, or too long ago.
    submitted: Nanos,
    /// When it first waited; 0: not yet.
    began: Nanos,
}

/// An engine over one io_uring.
pub(crate) struct Uring<C: Commands> {
    clock: Clock,
    waiter: Waiter,
    /// The last instant that `submit` stamped.
    stamp: Nanos,
    ring: Ring<C::Sqe, C::Cqe>,
    slots: Box<[Slot]>,
    /// Requests in flight in the kernel.
    in_flight: u32,
    /// Completions of requests that this thread makes.
    outside: OutsideQueue,
    commands: C,
    submit_limit: usize,
    reap_limit: usize,
    buffers: Buffers,
    files: Vec<File>,
}

/// If `until` is at least this far away, a wait for polled completions polls inside the kernel.
const POLL_IN_KERNEL: Nanos = 1_000_000;

/// A wait this long only serves to check for orders now and then.
const LONG_WAIT: Nanos = 50_000_000;

/// How long a wait under SQPOLL spins before it sleeps.
const SPIN_BEFORE_SLEEP: Nanos = 1_000_000;

impl<C: Commands> Uring<C> {
    /// Creates the engine of `plan` for the calling thread. No other thread may use it.
    pub(crate) fn new(plan: &WorkerPlan, clock: Clock, waiter: Waiter) -> Result<Self, Error> {
        let engine = &plan.engine;
        let files = files::open_all(plan)?;
        let mode = Mode {
            poll: probe::polls(plan)?,
            kernel_thread: engine.sqthread_poll,
        };
        let mut ring = Ring::new(plan.iodepth, mode, engine)?;
        let buffers = Buffers::new(plan)?;
        if engine.fixedbufs {
            ring.register_buffers(&buffers)?;
        }
        // With registered files, the kernel's thread does not need our descriptor table, which it cannot use before
        // Linux 5.11.
        let registered = engine.registerfiles || mode.kernel_thread;
        if registered {
            ring.register_files(&files)?;
        }
        let commands = C::new(plan, &mut ring, &files, registered)?;
        Ok(Self {
            clock,
            waiter,
            stamp: 0,
            ring,
            slots: vec![Slot::default(); plan.iodepth as usize].into(),
            in_flight: 0,
            outside: OutsideQueue::new(plan.iodepth as usize),
            commands,
            submit_limit: plan.engine.submit_batch.get() as usize,
            reap_limit: plan.engine.reap_batch as usize,
            buffers,
            files,
        })
    }

    /// Returns how many entries the ring takes now, at least one. It has room for iodepth, unless iodepth exceeds the
    /// largest ring and the kernel's thread is behind.
    #[inline]
    fn room(&mut self) -> usize {
        loop {
            let queue = self.ring.submission();
            match queue.capacity() - queue.len() {
                0 => std::hint::spin_loop(),
                room => return room,
            }
        }
    }

    /// Submits `count` queued entries to the kernel.
    #[inline]
    fn hand_over(&mut self, count: u32) -> Result<(), Error> {
        if self.ring.mode.kernel_thread {
            return self.ring.wake().map_err(enter_failed);
        }
        match self.ring.submit(count) {
            Ok(taken) if taken == count => Ok(()),
            Ok(taken) => self.hand_over_rest(count - taken, None),
            Err(errno) => self.hand_over_rest(count, Some(errno)),
        }
    }

    /// Submits the rest after the kernel took too few entries: it lacked memory, was interrupted, or (before Linux
    /// 5.18) stopped at a request that it refused. The completion of a refused request has its errno.
    #[cold]
    fn hand_over_rest(&mut self, mut count: u32, mut errno: Option<i32>) -> Result<(), Error> {
        let mut fruitless = 0;
        while count > 0 {
            match errno {
                None | Some(libc::EINTR) => {}
                // Wait for a request in flight: its completion frees memory.
                Some(libc::EAGAIN | libc::EBUSY | libc::ENOMEM) if fruitless < 1000 => {
                    fruitless += 1;
                    if self.in_flight > 0 && self.ring.completions().is_empty() {
                        let _ = self.ring.wait(1, Some(1_000_000));
                    } else {
                        std::thread::yield_now();
                    }
                }
                Some(errno) => return Err(enter_failed(errno)),
            }
            errno = match self.ring.submit(count) {
                Ok(0) => Some(libc::EAGAIN),
                Ok(taken) => {
                    count -= taken;
                    None
                }
                Err(errno) => Some(errno),
            };
        }
        Ok(())
    }

    /// Takes at most `limit` completions from the ring.
    #[inline(always)]
    fn take(&mut self, limit: usize, done: &mut Vec<Completion>) -> usize {
        let queue = self.ring.completions();
        let count = queue.len().min(limit);
        if count == 0 {
            return 0;
        }
        let stamp = self.clock.now();
        let slots = &self.slots;
        // A plain loop, because `extend` would be a separate call that checks the capacity for each completion.
        for entry in queue.take(count) {
            let entry: cqueue::Entry = entry.into();
            let slot = entry.user_data() as u32;
            let Slot {
                start,
                issued,
                unreported_bytes,
            } = slots[slot as usize];
            done.push(Completion {
                slot,
                start,
                issued,
                done: stamp,
                result: C::outcome(entry.result(), unreported_bytes),
            });
        }
        self.in_flight -= count as u32;
        count
    }

    /// Waits until `min` completions are in the ring or until `until`. Returns whether to look again.
    #[inline]
    fn wait(&mut self, min: u32, until: Option<Nanos>, since: &mut Waiting) -> Result<bool, Error> {
        // In a long wait, the time since the last submission is too short to matter.
        let submitted = std::mem::take(&mut since.submitted);
        let long = until.is_none_or(|until| until > submitted + LONG_WAIT);
        let now = if submitted > 0 && long {
            submitted
        } else {
            self.clock.now()
        };
        if until.is_some_and(|until| until <= now) {
            return Ok(false);
        }
        if since.began == 0 {
            since.began = now;
        }
        let ahead = until.map_or(Nanos::MAX, |until| until - now);
        let nap = until.map(|until| self.waiter.nap(now, until));
        let mode = self.ring.mode;
        let outcome = match nap {
            _ if mode.polls_by_call() => self
                .ring
                .wait(if ahead > POLL_IN_KERNEL { min } else { 0 }, None),
            _ if mode.kernel_thread
                && self.waiter.spins()
                && now - since.began < SPIN_BEFORE_SLEEP =>
            {
                std::hint::spin_loop();
                return Ok(true);
            }
            Some(None) => {
                std::hint::spin_loop();
                if !self.ring.has_deferred_work() {
                    return Ok(true);
                }
                self.ring.wait(0, None)
            }
            Some(nap) => self.ring.wait(min, nap),
            None => self.ring.wait(min, None),
        };
        match outcome {
            Ok(()) => Ok(true),
            Err(libc::EINTR) => Ok(false),
            Err(errno) => Err(enter_failed(errno)),
        }
    }
}

impl<C: Commands> Engine for Uring<C> {
    const BLOCKS: bool = false;

    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    #[inline]
    fn stamped(&self) -> Nanos {
        self.stamp
    }

    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<usize, Error> {
        let limit = self.submit_limit.min(self.room());
        let requests = &requests[..requests.len().min(limit)];
        let Some(request) = requests.first() else {
            return Ok(0);
        };
        if self.commands.blocks(request) {
            self.buffers.prepare(request);
            let file = &self.files[request.target as usize];
            self.stamp = self.outside.make(self.clock, file, request);
            return Ok(1);
        }
        // One pass over the requests, since they and their entries are cold in the caches after the kernel's work.
        let mut count = 0;
        let mut queue = self.ring.submission();
        for request in requests {
            if self.commands.blocks(request) {
                break;
            }
            self.buffers.prepare(request);
            let entry = self.commands.entry(request, &self.buffers);
            // SAFETY: descriptor and memory belong to this engine. It keeps them until the completion, or for ever if
            // that never comes (see `drop`).
            unsafe { queue.push(&entry) }.expect("no more requests than room");
            count += 1;
        }
        let requests = &requests[..count];
        let start = self.clock.now();
        drop(queue);
        self.hand_over(count as u32)?;
        let issued = (!self.ring.mode.kernel_thread).then(|| self.clock.now());
        self.stamp = issued.unwrap_or(start);
        for request in requests {
            self.slots[request.slot as usize] = Slot {
                start,
                issued,
                unreported_bytes: C::unreported_bytes(request),
            };
        }
        self.in_flight += count as u32;
        Ok(count)
    }

    #[inline]
    fn reap(
        &mut self,
        min: u32,
        until: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        let mut taken = self.outside.reap(self.reap_limit, done);
        let available = taken + self.in_flight as usize;
        let want = (min.max(u32::from(until.is_some())) as usize)
            .min(available)
            .min(self.reap_limit);
        if available == 0 {
            if let Some(until) = until {
                self.waiter.sleep_until(until);
            }
            return Ok(());
        }
        taken += self.take(self.reap_limit - taken, done);
        let mut since = Waiting {
            submitted: std::mem::take(&mut self.stamp),
            began: 0,
        };
        while taken < want && self.wait((want - taken) as u32, until, &mut since)? {
            taken += self.take(self.reap_limit - taken, done);
        }
        // Look once more: at `until`, after a signal, or for the first time. Under polling, only a call finds
        // completions.
        if taken < want.max(1) && self.in_flight > 0 {
            if self.ring.mode.polls_by_call() || self.ring.has_deferred_work() {
                let _ = self.ring.wait(0, None);
            }
            self.take(self.reap_limit - taken, done);
        }
        Ok(())
    }

    #[inline]
    fn buffers(&mut self) -> Option<&mut Buffers> {
        Some(&mut self.buffers)
    }
}

impl<C: Commands> Drop for Uring<C> {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            self.buffers.leak();
            self.commands.leak();
        }
    }
}
