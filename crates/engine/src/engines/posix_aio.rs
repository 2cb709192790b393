//! posixaio: the C library's asynchronous I/O, which is threads that call pread and pwrite.
//!
//! glibc serves the requests to one file one after the other, in one thread. So a depth above one keeps several files
//! busy, and with one file it is a queue in front of a blocking call. That is what this engine measures. Its lists
//! are locked and its threads are started inside the library, where fio's engine has them, too. The library has no trim
//! request, so the thread makes trims itself.
//!
//! Source: aio(7); fio's engines/posixaio.c; glibc's sysdeps/pthread/aio_misc.c.
#![allow(unsafe_code)]

use std::mem;

use iogauge_core::plan::WorkerPlan;
use iogauge_core::{Completion, Errno, Kind, Nanos, Request};

use crate::Engine;
use crate::clock::Clock;
use crate::engines::blocking::OutsideQueue;
use crate::engines::buffers::Buffers;
use crate::engines::files::{self, File};
use crate::error::{Error, last_errno};
use crate::wait::Waiter;

/// How often a request is offered to a library that has no room for it.
const PATIENCE: u32 = 1000;

/// One request of the library, and its stamps.
struct Slot {
    control: libc::aiocb,
    start: Nanos,
    issued: Nanos,
}

/// The posixaio engine.
pub struct PosixAio {
    clock: Clock,
    waiter: Waiter,
    /// The last instant that `submit` stamped.
    stamp: Nanos,
    /// The library keeps their addresses while their requests are in flight.
    slots: Box<[Slot]>,
    /// The slots in flight, and the addresses of their requests.
    flying: Vec<u32>,
    addresses: Vec<*const libc::aiocb>,
    /// Completions of trims, which this thread makes, and of requests that the library refused.
    outside: OutsideQueue,
    reap_limit: usize,
    buffers: Buffers,
    files: Vec<File>,
}

impl PosixAio {
    /// Sets everything up for `plan`.
    pub fn new(plan: &WorkerPlan, clock: Clock, waiter: Waiter) -> Result<PosixAio, Error> {
        let depth = plan.iodepth as usize;
        let slot = || Slot {
            // SAFETY: an aiocb is plain numbers and pointers, for which zero is a value.
            control: unsafe { mem::zeroed() },
            start: 0,
            issued: 0,
        };
        Ok(PosixAio {
            clock,
            waiter,
            stamp: 0,
            slots: (0..depth).map(|_| slot()).collect(),
            flying: Vec::with_capacity(depth),
            addresses: Vec::with_capacity(depth),
            outside: OutsideQueue::new(depth),
            reap_limit: plan.engine.reap_batch as usize,
            files: files::open_all(plan)?,
            buffers: Buffers::new(plan)?,
        })
    }

    /// Hands the slot's request to the library.
    #[inline]
    fn hand_over(&mut self, request: &Request) -> Result<(), Errno> {
        let control = &raw mut self.slots[request.slot as usize].control;
        let mut patience = PATIENCE;
        loop {
            // SAFETY: the slot, its buffer and its descriptor belong to this engine, which keeps them until the request
            // returns, or for ever if it does not (see `drop`). The slot has no other request in flight.
            let result = unsafe {
                match request.kind {
                    Kind::Read => libc::aio_read(control),
                    Kind::Write => libc::aio_write(control),
                    Kind::Sync | Kind::RangeSync => libc::aio_fsync(libc::O_SYNC, control),
                    Kind::DataSync => libc::aio_fsync(libc::O_DSYNC, control),
                    Kind::Trim => unreachable!("trims are done by the thread"),
                }
            };
            if result == 0 {
                return Ok(());
            }
            match last_errno() {
                libc::EAGAIN if patience > 0 => {
                    patience -= 1;
                    std::thread::yield_now();
                }
                errno => return Err(Errno(errno)),
            }
        }
    }

    /// Takes at most `limit` completions without waiting.
    #[inline]
    fn take(&mut self, limit: usize, done: &mut Vec<Completion>) -> usize {
        let stamp = self.clock.now();
        let (mut at, mut taken) = (0, 0);
        while at < self.flying.len() && taken < limit {
            let slot = &mut self.slots[self.flying[at] as usize];
            // SAFETY: the request was handed to the library and has not been taken back.
            let state = unsafe { libc::aio_error(&raw const slot.control) };
            if state == libc::EINPROGRESS {
                at += 1;
                continue;
            }
            // SAFETY: as above; it is complete, and taken back once, here.
            let moved = unsafe { libc::aio_return(&raw mut slot.control) };
            done.push(Completion {
                slot: self.flying[at],
                start: slot.start,
                issued: Some(slot.issued),
                done: stamp,
                result: match state {
                    0 => Ok(moved as u32),
                    errno => Err(Errno(errno)),
                },
            });
            self.flying.swap_remove(at);
            self.addresses.swap_remove(at);
            taken += 1;
        }
        taken
    }

    /// Waits until a request is complete, at most `timeout`. Returns false if a signal interrupts it.
    fn wait(&self, timeout: Option<Nanos>) -> bool {
        let spec = timeout.map(|nanos| libc::timespec {
            tv_sec: (nanos / 1_000_000_000) as libc::time_t,
            tv_nsec: (nanos % 1_000_000_000) as libc::c_long,
        });
        let address = spec
            .as_ref()
            .map_or(std::ptr::null(), |spec| &raw const *spec);
        // SAFETY: the list holds requests in flight, and `spec` outlives the call.
        let result = unsafe {
            libc::aio_suspend(
                self.addresses.as_ptr(),
                self.addresses.len() as libc::c_int,
                address,
            )
        };
        result == 0 || last_errno() != libc::EINTR
    }
}

impl Engine for PosixAio {
    const BLOCKS: bool = false;

    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    #[inline]
    fn stamped(&self) -> Nanos {
        self.stamp
    }

    /// Submits the first of `requests`: each takes a call of its own.
    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<usize, Error> {
        let Some(request) = requests.first() else {
            return Ok(0);
        };
        let file = &self.files[request.target as usize];
        if request.kind == Kind::Trim {
            self.stamp = self.outside.make(self.clock, file, request);
            return Ok(1);
        }
        let control = &mut self.slots[request.slot as usize].control;
        control.aio_fildes = file.raw();
        self.buffers.prepare(request);
        if matches!(request.kind, Kind::Read | Kind::Write) {
            control.aio_buf = self.buffers.address(request).cast();
            control.aio_nbytes = request.length_bytes as usize;
            control.aio_offset = request.offset_bytes as libc::off_t;
        }
        let start = self.clock.now();
        let outcome = self.hand_over(request);
        let issued = self.clock.now();
        self.stamp = issued;
        let slot = &mut self.slots[request.slot as usize];
        (slot.start, slot.issued) = (start, issued);
        match outcome {
            Ok(()) => {
                self.flying.push(request.slot);
                self.addresses.push(&raw const slot.control);
            }
            Err(errno) => self.outside.push(Completion {
                slot: request.slot,
                start,
                issued: Some(issued),
                done: issued,
                result: Err(errno),
            }),
        }
        Ok(1)
    }

    #[inline]
    fn reap(
        &mut self,
        min: u32,
        until: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        let mut taken = self.outside.reap(self.reap_limit, done);
        let available = taken + self.flying.len();
        if available == 0 {
            if let Some(until) = until {
                self.waiter.sleep_until(until);
            }
            return Ok(());
        }
        let want = (min as usize)
            .max(usize::from(until.is_some()))
            .min(available.min(self.reap_limit));
        taken += self.take(self.reap_limit - taken, done);
        while taken < want {
            let now = self.clock.now();
            if until.is_some_and(|until| until <= now) {
                break;
            }
            match until.map(|until| self.waiter.nap(now, until)) {
                Some(None) => std::hint::spin_loop(),
                nap => {
                    if !self.wait(nap.flatten()) {
                        break;
                    }
                }
            }
            taken += self.take(self.reap_limit - taken, done);
        }
        Ok(())
    }

    #[inline]
    fn buffers(&mut self) -> Option<&mut Buffers> {
        Some(&mut self.buffers)
    }
}

impl Drop for PosixAio {
    fn drop(&mut self) {
        if !self.flying.is_empty() {
            // The library's threads still use them.
            self.buffers.leak();
            mem::forget(mem::take(&mut self.slots));
            mem::forget(mem::take(&mut self.files));
        }
    }
}
