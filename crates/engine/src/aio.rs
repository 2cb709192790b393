//! The libaio engine, by its system calls: io_setup, io_submit, io_getevents. Nothing of the C library is needed.
//!
//! Completions are read from the ring that the kernel maps into the process, where it has the layout known since
//! 2.6; otherwise, and to wait, io_getevents is called. Trims have no libaio request and are done by the thread.
//!
//! Buffered I/O blocks inside io_submit, as everywhere with libaio. Destroying a context waits for its requests in
//! the kernel: with some in flight the context is left to the end of the process, which then waits for them.
//! Source: peers.md section 5.
#![allow(unsafe_code)]

use std::collections::VecDeque;
use std::io;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use iogauge_core::plan::WorkerPlan;
use iogauge_core::{Completion, Errno, Kind, Nanos, Request};

use crate::Engine;
use crate::buffers::Buffers;
use crate::clock::Clock;
use crate::error::{Error, last_errno};
use crate::files::{self, File};
use crate::wait::{Waiter, timespec};

/// `struct iocb`, little-endian, as all that iogauge runs on is.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Iocb {
    data: u64,
    key: u32,
    rw_flags: u32,
    opcode: u16,
    priority: i16,
    fd: u32,
    buffer: u64,
    length: u64,
    offset: i64,
    reserved: u64,
    flags: u32,
    event_fd: u32,
}

const _: () = assert!(size_of::<Iocb>() == 64);

const PREAD: u16 = 0;
const PWRITE: u16 = 1;
const FSYNC: u16 = 2;
const FDSYNC: u16 = 3;

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Event {
    data: u64,
    iocb: u64,
    result: i64,
    result2: i64,
}

/// `struct aio_ring`, which a context's address points at; its events follow.
#[repr(C)]
struct RingHead {
    id: u32,
    entries: u32,
    head: AtomicU32,
    tail: AtomicU32,
    magic: u32,
    compatible: u32,
    incompatible: u32,
    header_bytes: u32,
}

const RING_MAGIC: u32 = 0xA10A_10A1;

/// The kernel's `io_context_t`.
#[derive(Debug)]
struct Context {
    address: usize,
    /// Whether its ring can be read here.
    readable: bool,
}

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
    context: Context,
    slots: Box<[Slot]>,
    iocbs: Box<[Iocb]>,
    /// The submission under way: addresses in `iocbs`.
    batch: Vec<*mut Iocb>,
    events: Box<[Event]>,
    in_flight: u32,
    /// Done by this thread or refused, and not yet handed out.
    finished: VecDeque<Completion>,
    submit_limit: usize,
    reap_limit: usize,
    buffers: Buffers,
    files: Vec<File>,
}

impl Aio {
    /// Sets everything up for `plan`.
    pub fn new(plan: &WorkerPlan, clock: Clock, waiter: Waiter) -> Result<Aio, Error> {
        let depth = plan.iodepth as usize;
        let limit = |batch: Option<u32>| batch.map_or(usize::MAX, |batch| batch as usize);
        Ok(Aio {
            clock,
            waiter,
            files: files::open_all(plan)?,
            context: Context::new(plan.iodepth)?,
            slots: vec![Slot::default(); depth].into(),
            iocbs: vec![Iocb::default(); depth].into(),
            batch: Vec::with_capacity(depth),
            events: vec![Event::default(); depth].into(),
            in_flight: 0,
            finished: VecDeque::with_capacity(depth),
            submit_limit: limit(plan.engine.submit_batch),
            reap_limit: limit(plan.engine.reap_batch),
            buffers: Buffers::new(plan)?,
        })
    }

    #[inline]
    fn prepare(&mut self, request: &Request) {
        self.buffers.prepare(request);
        let (opcode, buffer) = match request.kind {
            Kind::Read => (PREAD, self.buffers.address(request).expose_provenance()),
            Kind::Write => (PWRITE, self.buffers.address(request).expose_provenance()),
            Kind::Sync => (FSYNC, 0),
            Kind::DataSync => (FDSYNC, 0),
            Kind::Trim => unreachable!("trims are done by the thread"),
        };
        let iocb = &mut self.iocbs[request.slot as usize];
        *iocb = Iocb {
            data: u64::from(request.slot),
            opcode,
            fd: self.files[request.target as usize].raw() as u32,
            buffer: buffer as u64,
            length: u64::from(request.length_bytes),
            offset: request.offset_bytes as i64,
            ..Iocb::default()
        };
        self.batch.push(iocb);
    }

    /// Hands the batch over. Returns how many requests were taken, and the errno of the next one if it was refused.
    #[inline]
    fn hand_over(&mut self) -> Result<(usize, Option<Errno>), Error> {
        let mut patience = 1000;
        loop {
            // SAFETY: the batch points at iocbs of this engine, whose buffers and descriptors it owns and keeps.
            let taken = unsafe {
                libc::syscall(
                    libc::SYS_io_submit,
                    self.context.address,
                    self.batch.len(),
                    self.batch.as_mut_ptr(),
                )
            };
            if taken > 0 {
                return Ok((taken as usize, None));
            }
            match last_errno() {
                libc::EINTR => {}
                libc::EAGAIN | libc::ENOMEM if taken < 0 && patience > 0 => {
                    patience -= 1;
                    std::thread::yield_now();
                }
                libc::ENOSYS => return Err(failed("io_submit", libc::ENOSYS)),
                errno => return Ok((0, Some(Errno(errno)))),
            }
        }
    }

    /// Takes what is there, at most `limit`, without waiting.
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

    /// Hands out the first `count` events.
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

impl Engine for Aio {
    const BLOCKS: bool = false;

    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<usize, Error> {
        let requests = &requests[..requests.len().min(self.submit_limit)];
        let Some(first) = requests.first() else {
            return Ok(0);
        };
        if first.kind == Kind::Trim {
            let start = self.clock.now();
            let file = &self.files[first.target as usize];
            let result = file.without_data(first.kind, first.offset_bytes, first.length_bytes);
            let done = self.clock.now();
            self.finished.push_back(Completion {
                slot: first.slot,
                start,
                issued: None,
                done,
                result,
            });
            return Ok(1);
        }
        self.batch.clear();
        for request in requests
            .iter()
            .take_while(|request| request.kind != Kind::Trim)
        {
            self.prepare(request);
        }
        let start = self.clock.now();
        let (taken, refusal) = self.hand_over()?;
        let issued = self.clock.now();
        for request in &requests[..taken] {
            self.slots[request.slot as usize] = Slot { start, issued };
        }
        self.in_flight += taken as u32;
        let Some(errno) = refusal else {
            return Ok(taken);
        };
        let slot = requests[taken].slot;
        self.finished.push_back(Completion {
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
        let mut taken = self.finished.len().min(self.reap_limit);
        done.extend(self.finished.drain(..taken));
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
}

impl Drop for Aio {
    fn drop(&mut self) {
        if self.in_flight > 0 {
            self.buffers.leak();
            return;
        }
        // SAFETY: the context is this engine's, has nothing in flight, and is not used again.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.context.address) };
    }
}

impl Context {
    fn new(depth: u32) -> Result<Context, Error> {
        let mut address = 0usize;
        // SAFETY: io_setup writes the context's address to the pointer, which is a zeroed word as it demands.
        if unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut address) } != 0 {
            let errno = last_errno();
            crate::probe::enough_aio(u64::from(depth))?;
            return Err(failed("io_setup", errno));
        }
        let head = ptr::with_exposed_provenance::<RingHead>(address);
        // SAFETY: a context's address is that of its ring, which the kernel has mapped readable.
        let (magic, incompatible, entries) =
            unsafe { ((*head).magic, (*head).incompatible, (*head).entries) };
        Ok(Context {
            address,
            readable: magic == RING_MAGIC && incompatible == 0 && entries > 0,
        })
    }

    /// Moves events from the mapped ring; `None` where it cannot be read.
    #[inline]
    fn read(&self, events: &mut [Event]) -> Option<usize> {
        if !self.readable {
            return None;
        }
        let ring = ptr::with_exposed_provenance::<RingHead>(self.address);
        // SAFETY: the ring stays mapped until io_destroy, which comes last; head and tail are atomics shared with the
        // kernel, and `entries` does not change.
        let ring = unsafe { &*ring };
        let mut head = ring.head.load(Ordering::Relaxed);
        let tail = ring.tail.load(Ordering::Acquire);
        let mut count = 0;
        while head != tail && count < events.len() {
            // SAFETY: `head` is below `entries`, and the events begin right after the header.
            events[count] = unsafe {
                ptr::from_ref(ring)
                    .add(1)
                    .cast::<Event>()
                    .add(head as usize)
                    .read()
            };
            head = if head + 1 == ring.entries {
                0
            } else {
                head + 1
            };
            count += 1;
        }
        if count > 0 {
            ring.head.store(head, Ordering::Release);
        }
        Some(count)
    }

    /// Waits for `min` events, or for `timeout`. Returns how many came.
    #[inline]
    fn wait(&self, min: usize, events: &mut [Event], timeout: Option<Nanos>) -> Result<usize, i32> {
        let mut length = timeout.map(timespec);
        let length = length.as_mut().map_or(ptr::null_mut(), ptr::from_mut);
        // SAFETY: `events` is writable for its length, and the timespec, if any, lives for the call.
        let count = unsafe {
            libc::syscall(
                libc::SYS_io_getevents,
                self.address,
                min,
                events.len(),
                events.as_mut_ptr(),
                length,
            )
        };
        if count >= 0 {
            Ok(count as usize)
        } else {
            Err(last_errno())
        }
    }
}

/// What a call that a signal may interrupt came to.
trait Interruptible {
    /// An interruption is no event.
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
