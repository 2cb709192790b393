//! The kernel's side of libaio: requests, events, and a context with its ring, in the layouts known since Linux 2.6.
//!
//! It makes the system calls and reads the mapped ring. The engine decides what requests and events mean.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

use iogauge_core::Nanos;

use crate::error::last_errno;
use crate::wait::timespec;

/// `struct iocb`, with the order of fields of little-endian machines.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Iocb {
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

impl Iocb {
    /// Creates a request whose event carries `data`.
    #[inline(always)]
    pub(crate) fn new(data: u64, opcode: u16, fd: i32) -> Iocb {
        Iocb {
            data,
            opcode,
            fd: fd as u32,
            ..Iocb::default()
        }
    }

    /// Adds a buffer to move, and the offset to move it to or from.
    #[inline(always)]
    pub(crate) fn moving(self, buffer: *mut u8, length: u32, offset: u64) -> Iocb {
        Iocb {
            buffer: buffer.expose_provenance() as u64,
            length: u64::from(length),
            offset: offset as i64,
            ..self
        }
    }

    /// Adds flags of preadv2 and pwritev2.
    #[inline(always)]
    pub(crate) fn with_flags(self, flags: i32) -> Iocb {
        Iocb {
            rw_flags: flags as u32,
            ..self
        }
    }

    /// Adds an I/O priority; 0: that of the thread.
    #[inline(always)]
    pub(crate) fn with_priority(self, priority: u16) -> Iocb {
        Iocb {
            priority: priority as i16,
            flags: if priority == 0 { 0 } else { HAS_PRIORITY },
            ..self
        }
    }
}

/// `IOCB_FLAG_IOPRIO`.
const HAS_PRIORITY: u32 = 1 << 1;

pub(crate) const PREAD: u16 = 0;
pub(crate) const PWRITE: u16 = 1;
pub(crate) const FSYNC: u16 = 2;
pub(crate) const FDSYNC: u16 = 3;

/// `struct io_event`.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Event {
    pub(crate) data: u64,
    iocb: u64,
    pub(crate) result: i64,
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
pub(crate) struct Context {
    address: usize,
    /// Whether this process can read its ring.
    readable: bool,
}

impl Context {
    /// Creates a context for `depth` requests, or returns the errno.
    pub(crate) fn new(depth: u32) -> Result<Context, i32> {
        let mut address = 0usize;
        // SAFETY: io_setup writes the context's address to the pointer, which is a zeroed word as it demands.
        if unsafe { libc::syscall(libc::SYS_io_setup, depth, &raw mut address) } != 0 {
            return Err(last_errno());
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

    /// Submits requests. Returns how many the kernel took, or the errno of the first.
    ///
    /// # Safety
    /// The pointers must be valid. Buffers and descriptors of the requests must stay valid until their events, or for
    /// ever if an event never comes.
    #[inline]
    pub(crate) unsafe fn submit(&self, batch: &mut [*mut Iocb]) -> Result<usize, i32> {
        // SAFETY: the caller keeps this function's contract; the slice is readable for its length.
        let taken = unsafe {
            libc::syscall(
                libc::SYS_io_submit,
                self.address,
                batch.len(),
                batch.as_mut_ptr(),
            )
        };
        if taken >= 0 {
            Ok(taken as usize)
        } else {
            Err(last_errno())
        }
    }

    /// Destroys the context. The kernel waits for the requests in flight.
    pub(crate) fn destroy(&self) {
        // SAFETY: io_destroy takes a number, and refuses one that is not a context.
        unsafe { libc::syscall(libc::SYS_io_destroy, self.address) };
    }

    /// Moves events out of the mapped ring; returns `None` if the ring cannot be read.
    #[inline]
    pub(crate) fn read(&self, events: &mut [Event]) -> Option<usize> {
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

    /// Waits for `min` events or until `timeout` has passed. Returns the number of events.
    #[inline]
    pub(crate) fn wait(
        &self,
        min: usize,
        events: &mut [Event],
        timeout: Option<Nanos>,
    ) -> Result<usize, i32> {
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
