//! psync and pvsync2: the thread makes one request at a time.
//!
//! A submission ends with the request's completion. `issued` is therefore absent, there is no slat, and clat is lat, as
//! in fio.
//!
//! pvsync2's `hipri` passes `RWF_HIPRI`, which no longer polls since Linux 5.19; the probe warns of it.
//! Source: preadv2(2); fio 3.33's engines/sync.c.
#![allow(unsafe_code)]

use std::os::fd::RawFd;

use iogauge_core::plan::{EngineKind, WorkerPlan};
use iogauge_core::{Completion, Errno, Kind, Nanos, Request};

use crate::Engine;
use crate::clock::Clock;
use crate::engines::blocking;
use crate::engines::buffers::Buffers;
use crate::engines::files::{self, File};
use crate::error::{Error, last_errno};
use crate::wait::Waiter;

/// How bytes are moved.
#[derive(Clone, Copy, Debug)]
enum Call {
    /// pread and pwrite.
    Plain,
    /// preadv2 and pwritev2, with the flags of reads and of writes.
    Vectored(libc::c_int, libc::c_int),
}

/// The psync and pvsync2 engines.
#[derive(Debug)]
pub struct Sync {
    clock: Clock,
    waiter: Waiter,
    files: Vec<File>,
    buffers: Buffers,
    call: Call,
    completions: Vec<Completion>,
}

impl Sync {
    /// Opens the files and creates the buffers of `plan`.
    pub fn new(plan: &WorkerPlan, clock: Clock, waiter: Waiter) -> Result<Sync, Error> {
        let call = match plan.engine.kind {
            EngineKind::Pvsync2 => {
                let polled = if plan.engine.hipri {
                    libc::RWF_HIPRI
                } else {
                    0
                };
                let (read, write) = files::request_flags(&plan.engine);
                Call::Vectored(polled | read, polled | write)
            }
            _ => Call::Plain,
        };
        Ok(Sync {
            clock,
            waiter,
            files: files::open_all(plan)?,
            buffers: Buffers::new(plan)?,
            call,
            completions: Vec::with_capacity(plan.iodepth as usize),
        })
    }
}

impl Engine for Sync {
    const BLOCKS: bool = true;

    #[inline]
    fn now(&self) -> Nanos {
        self.clock.now()
    }

    #[inline]
    fn stamped(&self) -> Nanos {
        self.completions
            .last()
            .map_or(0, |completion| completion.done)
    }

    /// Makes the first of `requests`, from beginning to end.
    #[inline]
    fn submit(&mut self, requests: &[Request]) -> Result<usize, Error> {
        let Some(request) = requests.first() else {
            return Ok(0);
        };
        self.buffers.prepare(request);
        let file = &self.files[request.target as usize];
        let address = match request.kind {
            Kind::Read | Kind::Write => self.buffers.address(request),
            _ => std::ptr::null_mut(),
        };
        let completion = blocking::complete(self.clock, request.slot, || match request.kind {
            Kind::Read | Kind::Write => move_bytes(self.call, file.raw(), request, address),
            Kind::Trim | Kind::Sync | Kind::DataSync | Kind::RangeSync => {
                file.without_data(request)
            }
        });
        self.completions.push(completion);
        Ok(1)
    }

    #[inline]
    fn reap(
        &mut self,
        _min: u32,
        until: Option<Nanos>,
        done: &mut Vec<Completion>,
    ) -> Result<(), Error> {
        if !self.completions.is_empty() {
            done.append(&mut self.completions);
        } else if let Some(until) = until {
            self.waiter.sleep_until(until);
        }
        Ok(())
    }

    #[inline]
    fn buffers(&mut self) -> Option<&mut Buffers> {
        Some(&mut self.buffers)
    }
}

/// Reads or writes. Repeats the call if a signal comes before the first byte.
#[inline]
fn move_bytes(call: Call, fd: RawFd, request: &Request, address: *mut u8) -> Result<u32, Errno> {
    let length = request.length_bytes as usize;
    let offset = request.offset_bytes as i64;
    let buffer = address.cast::<libc::c_void>();
    loop {
        // SAFETY: `address` is the slot's own buffer, at least `length` long and valid as long as the engine. Nothing
        // else uses it during the call. The iovec outlives the call.
        let moved = unsafe {
            match (call, request.kind) {
                (Call::Plain, Kind::Read) => libc::pread64(fd, buffer, length, offset),
                (Call::Plain, _) => libc::pwrite64(fd, buffer, length, offset),
                (Call::Vectored(read, write), kind) => {
                    let vector = libc::iovec {
                        iov_base: buffer,
                        iov_len: length,
                    };
                    if kind == Kind::Read {
                        libc::preadv2(fd, &vector, 1, offset, read)
                    } else {
                        libc::pwritev2(fd, &vector, 1, offset, write)
                    }
                }
            }
        };
        if moved >= 0 {
            return Ok(moved as u32);
        }
        match last_errno() {
            libc::EINTR => {}
            errno => return Err(Errno(errno)),
        }
    }
}
