//! The libaio engine. It makes the system calls io_setup, io_submit and io_getevents itself and does not need the
//! library.
//!
//! It reads completions from the ring that the kernel maps into the process, if the ring has the layout known since
//! 2.6. Otherwise, and to wait, it calls io_getevents. libaio has no request that trims or that syncs a range, so the
//! thread makes these itself.
//!
//! As always with libaio, buffered I/O blocks inside io_submit. Destroying a context waits in the kernel for its
//! requests. A context with requests in flight is therefore not destroyed; the end of the process waits for them.
//! Source: io_submit(2), io_getevents(2); fio 3.33's engines/libaio.c.
#![allow(unsafe_code)]

mod context;

use std::io;

use iogauge_core::plan::WorkerPlan;
use iogauge_core::{Completion, Errno, Kind, Nanos, Request};

use self::context::{Context, Event, FDSYNC, FSYNC, Iocb, PREAD, PWRITE};
use crate::Engine;
use crate::clock::Clock;
use crate::engines::blocking::OutsideQueue;
use crate::engines::buffers::Buffers;
use crate::engines::files::{self, File};
use crate::engines::probe;
use crate::error::Error;
use crate::wait::Waiter;

#[derive(Clone, Copy, Debug, Default)]
struct Slot {
    start: Nanos,
    issued: Nanos,
}

/// The libaio engine.
#[derive(Debug)]
pub struct Aio {
    clock: Clock,
    waiter: Waiter,
    /// The last instant that `submit` stamped.
    stamp: Nanos,
    context: Context,
    slots: Box<[Slot]>,
    iocbs: Box<[Iocb]>,
    /// The current submission: addresses in `iocbs`.
    batch: Vec<*mut Iocb>,
    events: Box<[Event]>,
    in_flight: u32,
    /// Completions of what this thread makes itself, and of requests that the kernel refused.
    outside: OutsideQueue,
    submit_limit: usize,
    reap_limit: usize,
    /// The flags of reads and of writes.
    flags: (i32, i32),
    buffers: Buffers,
    files: Vec<File>,
}

impl Aio {
    /// Sets everything up for `plan`.
    pub fn new(plan: &WorkerPlan, clock: Clock, waiter: Waiter) -> Result<Aio, Error> {
        let depth = plan.iodepth as usize;
        let (files, buffers) = (files::open_all(plan)?, Buffers::new(plan)?);
        let context = Context::new(plan.iodepth).map_err(|errno| {
            let unless_taken = probe::enough_aio(u64::from(plan.iodepth));
            unless_taken
                .err()
                .unwrap_or_else(|| failed("io_setup", errno))
        })?;
        Ok(Aio {
            clock,
            waiter,
            stamp: 0,
            files,
            buffers,
            context,
            slots: vec![Slot::default(); depth].into(),
            iocbs: vec![Iocb::default(); depth].into(),
            batch: Vec::with_capacity(depth),
            events: vec![Event::default(); depth].into(),
            in_flight: 0,
            outside: OutsideQueue::new(depth),
            submit_limit: plan.engine.submit_batch.get() as usize,
            reap_limit: plan.engine.reap_batch as usize,
            flags: files::request_flags(&plan.engine),
        })
    }

    #[inline]
    fn prepare(&mut self, request: &Request) {
        self.buffers.prepare(request);
        let opcode = match request.kind {
            Kind::Read => PREAD,
            Kind::Write => PWRITE,
            Kind::Sync => FSYNC,
            Kind::DataSync => FDSYNC,
            Kind::Trim | Kind::RangeSync => unreachable!("the thread makes them"),
        };
        let fd = self.files[request.target as usize].raw();
        let mut iocb = Iocb::new(u64::from(request.slot), opcode, fd);
        if matches!(request.kind, Kind::Read | Kind::Write) {
            let buffer = self.buffers.address(request);
            let flags = match request.kind {
                Kind::Read => self.flags.0,
                _ => self.flags.1,
            };
            iocb = iocb
                .moving(buffer, request.length_bytes, request.offset_bytes)
                .with_flags(flags)
                .with_priority(request.priority);
        }
        self.iocbs[request.slot as usize] = iocb;
        self.batch.push(&raw mut self.iocbs[request.slot as usize]);
    }

    /// Submits the batch. Returns how many requests the kernel took, and the errno of the next one if the kernel
    /// refused it.
    #[inline]
    fn hand_over(&mut self) -> Result<(usize, Option<Errno>), Error> {
        let mut patience = 1000;
        loop {
            // SAFETY: the batch points at iocbs of this engine, which owns their buffers and descriptors. It keeps them
            // until their events, or for ever if an event never comes (see `drop`).
            match unsafe { self.context.submit(&mut self.batch) } {
                Ok(taken) => return Ok((taken, None)),
                Err(libc::EINTR) => {}
                Err(libc::EAGAIN | libc::ENOMEM) if patience > 0 => {
                    patience -= 1;
                    std::thread::yield_now();
                }
                Err(libc::ENOSYS) => return Err(failed("io_submit", libc::ENOSYS)),
                Err(errno) => return Ok((0, Some(Errno(errno)))),
            }
        }
    }

    /// Takes at most `limit` completions from the ring without waiting.
    #[inline]
    fn take(&mut self, limit: usize, done: &mut Vec<Completion>) -> Result<usize, Error> {
        let limit = limit.min(self.in_flight as usize);
        let count = match self.context.read(&mut self.events[..limit]) {
            Some(count) => count,
            None => self
                .context
                .wait(0, &mut self.events[..limit], Some(0))
                .unwrap_or_interrupted("io_getevents")?,
        };
        self.give(count, done);
        Ok(count)
    }

    /// Appends the first `count` events to `done`.
    #[inline]
    fn give(&mut self, count: usize, done: &mut Vec<Completion>) {
        if count == 0 {
            return;
        }
        let stamp = self.clock.now();
        let slots = &self.slots;
        done.extend(self.events[..count].iter().map(|event| {
            let Slot { start, issued } = slots[event.data as usize];
            let result = if event.result >= 0 {
                Ok(event.result as u32)
            } else {
                Err(Errno(-event.result as i32))
            };
            Completion {
                slot: event.data as u32,
                start,
                issued: Some(issued),
                done: stamp,
                result,
            }
        }));
        self.in_flight -= count as u32;
    }
}

/// Whether libaio has no such request.
#[inline]
fn made_by_thread(request: &Request) -> bool {
    matches!(request.kind, Kind::Trim | Kind::RangeSync)
}

impl Engine for Aio {
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
        let requests = &requests[..requests.len().min(self.submit_limit)];
        let Some(first) = requests.first() else {
            return Ok(0);
        };
        if made_by_thread(first) {
            let file = &self.files[first.target as usize];
            self.stamp = self.outside.make(self.clock, file, first);
            return Ok(1);
        }
        // What the kernel did not take of the last batch comes first again, and is prepared already.
        let prepared = self.batch.len();
        for request in requests
            .iter()
            .take_while(|request| !made_by_thread(request))
            .skip(prepared)
        {
            self.prepare(request);
        }
        let start = self.clock.now();
        let (taken, refusal) = self.hand_over()?;
        self.batch.drain(..taken + usize::from(refusal.is_some()));
        let issued = self.clock.now();
        self.stamp = issued;
        for request in &requests[..taken] {
            self.slots[request.slot as usize] = Slot { start, issued };
        }
        self.in_flight += taken as u32;
        let Some(errno) = refusal else {
            return Ok(taken);
        };
        let slot = requests[taken].slot;
        self.outside.push(Completion {
            slot,
            start,
            issued: Some(issued),
            done: issued,
            result: Err(errno),
        });
        Ok(taken + 1)
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
        if available == 0 {
            if let Some(until) = until {
                self.waiter.sleep_until(until);
            }
            return Ok(());
        }
        let want = (min.max(u32::from(until.is_some())) as usize)
            .min(available)
            .min(self.reap_limit);
        taken += self.take(self.reap_limit - taken, done)?;
        while taken < want {
            let now = self.clock.now();
            let nap = match until {
                Some(until) if until <= now => break,
                Some(until) => self.waiter.nap(now, until),
                None => Some(Nanos::MAX),
            };
            let Some(nap) = nap else {
                std::hint::spin_loop();
                taken += self.take(self.reap_limit - taken, done)?;
                continue;
            };
            let room = (self.reap_limit - taken).min(self.in_flight as usize);
            let timeout = until.is_some().then_some(nap);
            match self
                .context
                .wait(want - taken, &mut self.events[..room], timeout)
            {
                Ok(count) => {
                    self.give(count, done);
                    taken += count;
                }
                Err(libc::EINTR) => break,
                Err(errno) => return Err(failed("io_getevents", errno)),
            }
        }
        Ok(())
    }

    #[inline]
    fn buffers(&mut self) -> Option<&mut Buffers> {
        Some(&mut self.buffers)
    }
}

impl Drop for Aio {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            self.buffers.leak();
            return;
        }
        self.context.destroy();
    }
}

/// The result of a call that a signal may interrupt.
trait Interruptible {
    /// Returns 0 events for an interruption.
    fn unwrap_or_interrupted(self, call: &'static str) -> Result<usize, Error>;
}

impl Interruptible for Result<usize, i32> {
    fn unwrap_or_interrupted(self, call: &'static str) -> Result<usize, Error> {
        match self {
            Ok(count) => Ok(count),
            Err(libc::EINTR) => Ok(0),
            Err(errno) => Err(failed(call, errno)),
        }
    }
}

fn failed(call: &'static str, errno: i32) -> Error {
    Error::Call {
        call,
        cause: io::Error::from_raw_os_error(errno),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU32;
    use std::os::fd::AsRawFd;
    use std::time::Duration;

    use iogauge_core::plan::{EngineKind, EnginePlan, FilePlan, Rw, StampLogPlan};
    use iogauge_core::testing;
    use iogauge_stamp::{LogReader, Record};

    use super::*;
    use crate::engines::StampLog;

    const BLOCK: u32 = 4096;

    fn request(slot: u32, kind: Kind, offset_bytes: u64) -> Request {
        Request {
            slot,
            target: 0,
            kind,
            offset_bytes,
            length_bytes: BLOCK,
            intended: 0,
            ready: 0,
            check: Default::default(),
            priority: 0,
        }
    }

    fn plan(file: &std::fs::File) -> WorkerPlan {
        let ordinary = testing::plan(Rw::Randrw);
        let file_bytes = file.metadata().unwrap().len();
        WorkerPlan {
            engine: EnginePlan {
                kind: EngineKind::Libaio,
                submit_batch: NonZeroU32::new(8).unwrap(),
                ..ordinary.engine
            },
            files: vec![FilePlan {
                path: "file".into(),
                fd: file.as_raw_fd(),
                writable: true,
                is_block_device: false,
                file_bytes,
                region_offset_bytes: 0,
                region_bytes: file_bytes,
                namespace: None,
            }],
            ..ordinary
        }
    }

    /// The kernel takes what is before a request that it refuses, and leaves the rest of the batch to the next call.
    #[test]
    fn what_the_kernel_did_not_take_is_logged_once() {
        let (file, log_file) = (
            tempfile::tempfile().unwrap(),
            tempfile::NamedTempFile::new().unwrap(),
        );
        file.set_len(16 * u64::from(BLOCK)).unwrap();
        let clock = Clock::get();
        let plan = plan(&file);
        let mut engine = Aio::new(&plan, clock, Waiter::new(clock, plan.spin)).unwrap();
        let log = StampLog::start(&StampLogPlan {
            path: "stamps.log".into(),
            fd: log_file.as_file().as_raw_fd(),
            run: 7,
            block_bytes: BLOCK,
            start_bytes: 0,
            end_bytes: 16 * u64::from(BLOCK),
        })
        .unwrap();
        engine.buffers.stamp(log.clone(), &plan);

        let beyond = 1 << 63;
        let requests = [
            request(0, Kind::Write, 0),
            request(1, Kind::Read, beyond),
            request(2, Kind::Write, 2 * u64::from(BLOCK)),
            request(3, Kind::Read, beyond),
            request(4, Kind::Write, 4 * u64::from(BLOCK)),
        ];
        let (mut submitted, mut done) = (0, Vec::new());
        while submitted < requests.len() {
            submitted += engine.submit(&requests[submitted..]).unwrap();
        }
        while done.len() < requests.len() {
            engine.reap(1, None, &mut done).unwrap();
        }
        done.sort_by_key(|completion| completion.slot);
        let results: Vec<_> = done.iter().map(|completion| completion.result).collect();
        let refused = Err(Errno(libc::EINVAL));
        assert_eq!(results, [Ok(BLOCK), refused, Ok(BLOCK), refused, Ok(BLOCK)]);

        log.close(Duration::from_secs(60), || true);
        let mut offsets = Vec::new();
        let bytes = std::fs::read(log_file.path()).unwrap();
        LogReader::default()
            .feed(&bytes, |_, record| {
                if let Record::Write { offset_bytes, .. } = record {
                    offsets.push(offset_bytes / u64::from(BLOCK));
                }
            })
            .unwrap();
        assert_eq!(offsets, [0, 2, 4]);
    }
}
