//! The memory of one worker's requests: one aligned mapping, touched and filled before the run.
//!
//! Every slot has a place of its own, page-aligned. A worker that both reads and writes has two places a slot, so that
//! it never writes back data that it read, such as the zeroes of an empty drive.
#![allow(unsafe_code)]

use std::io;
use std::ptr::{self, NonNull};
use std::time::Duration;

use iogauge_core::plan::{SizesPlan, WorkerPlan};
use iogauge_core::results::VerifyResult;
use iogauge_core::{Completion, Kind, Request};

use crate::engines::content::{Before, Content};
use crate::engines::stamps::{StampLog, Stamper};
use crate::engines::verify::{Checked, Pool, Verifier};
use crate::error::Error;

const PAGE: usize = 4096;
const HUGE_PAGE: usize = 2 << 20;

/// The kernel registers at most 1 GiB as one fixed buffer.
const LARGEST_FIXED: usize = 1 << 30;

/// How one worker's buffers lie in its mapping.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Layout {
    pub(crate) mapped_bytes: usize,
    stride: usize,
    read_places: usize,
    places: usize,
}

impl Layout {
    pub(crate) fn of(plan: &WorkerPlan) -> Self {
        let rw = plan.pattern.rw;
        let depth = plan.iodepth as usize;
        let mixed = (rw.reads() || plan.reads_back()) && rw.writes();
        let largest = plan
            .pattern
            .data_sizes()
            .map(SizesPlan::largest_bytes)
            .max();
        // At least one page, so that trims have an address too.
        let stride = (largest.unwrap_or(1) as usize).next_multiple_of(PAGE);
        let places = if mixed { 2 * depth } else { depth };
        let bytes = stride * places;
        let page = match plan.memory.huge_page_bytes as usize {
            0 if bytes >= HUGE_PAGE => HUGE_PAGE,
            0 => PAGE,
            huge => huge,
        };
        Self {
            mapped_bytes: bytes.next_multiple_of(page),
            stride,
            read_places: if mixed { depth } else { 0 },
            places,
        }
    }
}

/// What is known of a request that has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// What it read is what was written, or is not verified.
    Good,
    /// It read something else.
    Mismatch,
    /// What it read is being checked. Its slot is not free until [`Buffers::checked`] returns it.
    Checking,
}

/// One worker's buffers.
#[derive(Debug)]
pub struct Buffers {
    base: NonNull<u8>,
    mapped_bytes: usize,
    /// Distance between two places.
    stride: usize,
    /// Places that belong to reads; the places of writes follow. Zero if one kind of place serves both.
    read_places: usize,
    places: usize,
    places_per_fixed: usize,
    content: Content,
    /// Makes and checks blocks; absent if the plan verifies none.
    verifier: Option<Verifier>,
    /// Checks them on other threads; absent if the plan checks them on the worker's.
    pool: Option<Pool>,
    /// Stamps writes; absent if the plan stamps none.
    stamper: Option<Stamper>,
}

// SAFETY: this value owns the mapping, and only its pool and the kernel have addresses in it. Nothing in it is tied to a
// thread.
unsafe impl Send for Buffers {}

impl Buffers {
    /// Maps, touches and fills the buffers for `plan`.
    pub(crate) fn new(plan: &WorkerPlan) -> Result<Buffers, Error> {
        let Layout {
            mapped_bytes,
            stride,
            read_places,
            places,
        } = Layout::of(plan);
        let mut buffers = Buffers {
            base: match plan.memory.huge_page_bytes {
                0 => map(mapped_bytes)?,
                page_bytes => map_huge(mapped_bytes, page_bytes)?,
            },
            mapped_bytes,
            stride,
            read_places,
            places,
            places_per_fixed: (LARGEST_FIXED / stride).max(1),
            content: Content::new(&plan.buffers, plan.seed),
            verifier: Verifier::new(plan, stride),
            pool: None,
            stamper: None,
        };
        if let Some(verifier) = &buffers.verifier {
            buffers.pool = Pool::start(plan, verifier, &buffers.content)?;
        }
        let writes = plan.pattern.rw.writes();
        for place in 0..places {
            let written = writes && place >= buffers.read_places;
            let (content, buffer) = buffers.parts(place, stride);
            if written {
                content.fill(buffer);
            } else {
                // Touches the pages: writes zeroes, so that every address has a page.
                buffer.fill(0);
            }
        }
        Ok(buffers)
    }

    /// Returns the address of the request's bytes. Its slot and length must be within the plan.
    #[inline]
    pub(crate) fn address(&self, request: &Request) -> *mut u8 {
        // SAFETY: `place` checks that the place lies inside the mapping.
        unsafe { self.base.as_ptr().add(self.place(request) * self.stride) }
    }

    /// Returns the index in [`Buffers::fixed`] of the piece that holds the request's bytes.
    #[inline]
    pub(crate) fn fixed_index(&self, request: &Request) -> u16 {
        if self.places <= self.places_per_fixed {
            return 0;
        }
        (self.place(request) / self.places_per_fixed) as u16
    }

    /// Returns all of the memory, in pieces that the kernel can register as fixed buffers.
    pub(crate) fn fixed(&self) -> Vec<libc::iovec> {
        let piece = self.places_per_fixed * self.stride;
        (0..self.places * self.stride)
            .step_by(piece)
            .map(|start| libc::iovec {
                // SAFETY: `start` lies inside the mapping.
                iov_base: unsafe { self.base.as_ptr().add(start) }.cast(),
                iov_len: piece.min(self.places * self.stride - start),
            })
            .collect()
    }

    /// Returns the size of the mapping.
    pub(crate) fn bytes(&self) -> u64 {
        self.mapped_bytes as u64
    }

    /// Stamps what is written from now on, and notes it in `log`.
    pub(crate) fn stamp(&mut self, log: StampLog, plan: &WorkerPlan) {
        self.stamper = Some(Stamper::new(log, plan));
    }

    /// Fills the buffer of a write, and logs writes and flushes if the plan stamps writes. Call it before `start` is
    /// taken.
    #[inline]
    pub(crate) fn prepare(&mut self, request: &Request) {
        match request.kind {
            Kind::Write => self.fill(request),
            Kind::Sync | Kind::DataSync => {
                if let Some(stamper) = &mut self.stamper {
                    stamper.flush_begins(request);
                }
                return;
            }
            Kind::Read | Kind::Trim | Kind::RangeSync => return,
        }
        if self.stamper.is_some() {
            self.write_stamps(request);
        }
    }

    fn write_stamps(&mut self, request: &Request) {
        let mut stamper = self.stamper.take();
        let (_, buffer) = self.parts(self.place(request), request.length_bytes as usize);
        if let Some(stamper) = &mut stamper {
            stamper.write_begins(request, buffer);
        }
        self.stamper = stamper;
    }

    /// Fills the buffer of a write.
    #[inline]
    fn fill(&mut self, request: &Request) {
        if self.verifier.is_some() {
            self.with_verifier(request, |verifier, buffer, content| {
                verifier.fill(buffer, request, content);
            });
            return;
        }
        if self.content.before == Before::Nothing {
            return;
        }
        let (content, buffer) = self.parts(self.place(request), request.length_bytes as usize);
        match content.before {
            Before::Scramble => content.scramble(buffer, request.offset_bytes),
            _ => content.fill(buffer),
        }
    }

    /// Notes that a request has ended. If the plan verifies what it read, checks that, or hands it to the threads that
    /// do. Adds to `verified` what is wrong. Call it before the request's slot is used again.
    #[inline]
    pub(crate) fn ended(
        &mut self,
        request: &Request,
        completion: &Completion,
        verified: &mut VerifyResult,
    ) -> Ended {
        if let Some(stamper) = &mut self.stamper {
            stamper.ended(request, completion.result);
        }
        let complete = completion.result == Ok(request.length_bytes);
        let checks = |verifier: &Verifier| complete && verifier.checks(request);
        if !self.verifier.as_ref().is_some_and(checks) {
            return Ended::Good;
        }
        let bytes = self.address(request);
        if let Some(pool) = &mut self.pool {
            pool.check(request, completion, bytes);
            return Ended::Checking;
        }
        let good = self.with_verifier(request, |verifier, buffer, content| {
            verifier.check(buffer, request, content, verified)
        });
        match good {
            Some(false) => Ended::Mismatch,
            _ => Ended::Good,
        }
    }

    /// Whether it hands reads to other threads to be checked.
    pub(crate) fn has_pool(&self) -> bool {
        self.pool.is_some()
    }

    /// Returns a read that another thread has checked.
    pub(crate) fn checked(&mut self) -> Option<Checked> {
        self.pool.as_mut().and_then(Pool::take)
    }

    /// Returns how many reads it has handed over that [`Buffers::checked`] has not returned.
    pub(crate) fn pending_checks(&self) -> u32 {
        self.pool.as_ref().map_or(0, Pool::pending)
    }

    /// Waits until another thread has checked a read, at most for `patience`.
    pub(crate) fn wait_checked(&mut self, patience: Duration) {
        if let Some(pool) = &mut self.pool {
            pool.wait(patience);
        }
    }

    /// Calls `work` with the verifier and the request's bytes; not at all without a verifier.
    #[inline]
    fn with_verifier<T>(
        &mut self,
        request: &Request,
        work: impl FnOnce(&mut Verifier, &mut [u8], &Content) -> T,
    ) -> Option<T> {
        let mut verifier = self.verifier.take()?;
        let (content, buffer) = self.parts(self.place(request), request.length_bytes as usize);
        let done = work(&mut verifier, buffer, content);
        self.verifier = Some(verifier);
        Some(done)
    }

    /// Keeps the memory mapped for ever, because the kernel still holds requests. They would otherwise write into the
    /// next mapping at that address.
    pub(crate) fn leak(&mut self) {
        self.mapped_bytes = 0;
    }

    #[inline]
    fn place(&self, request: &Request) -> usize {
        let place = request.slot as usize
            + if request.kind == Kind::Write {
                self.read_places
            } else {
                0
            };
        assert!(
            place < self.places && request.length_bytes as usize <= self.stride,
            "outside the plan: {request:?}"
        );
        place
    }

    /// Returns the content generator and the first `length` bytes of one buffer.
    #[inline]
    fn parts(&mut self, place: usize, length: usize) -> (&mut Content, &mut [u8]) {
        assert!(place < self.places && length <= self.stride);
        // SAFETY: the place lies inside the mapping, which the kernel initialised to zero and which is reached only
        // through `self`, here borrowed mutably, and its pool. Neither the kernel nor the pool uses the place, since its
        // slot has no request in flight and none that is being checked.
        let buffer = unsafe {
            std::slice::from_raw_parts_mut(self.base.as_ptr().add(place * self.stride), length)
        };
        (&mut self.content, buffer)
    }
}

impl Drop for Buffers {
    fn drop(&mut self) {
        // Its threads may still look at the mapping.
        self.pool = None;
        if self.mapped_bytes > 0 {
            // SAFETY: `map` mapped this range, and it is unmapped once, here.
            unsafe { libc::munmap(self.base.as_ptr().cast(), self.mapped_bytes) };
        }
    }
}

/// Maps zeroed memory. From 2 MiB on, aligns it to huge pages and asks the kernel for them.
fn map(bytes: usize) -> Result<NonNull<u8>, Error> {
    let huge = bytes >= HUGE_PAGE;
    let mapping_bytes = if huge { bytes + HUGE_PAGE } else { bytes };
    // SAFETY: a fresh private mapping, placed by the kernel, touches nothing that exists.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            mapping_bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(Error::Memory {
            bytes: bytes as u64,
            cause: io::Error::last_os_error(),
        });
    }
    let start = start.cast::<u8>();
    if !huge {
        return Ok(NonNull::new(start).expect("the kernel never maps at zero"));
    }
    let head = start.align_offset(HUGE_PAGE);
    // SAFETY: `head` is below HUGE_PAGE, so [head, head + bytes) lies inside the mapping. Nothing refers to the rest,
    // which is unmapped. madvise only advises; its failure changes nothing.
    unsafe {
        let base = start.add(head);
        if head > 0 {
            libc::munmap(start.cast(), head);
        }
        if head < HUGE_PAGE {
            libc::munmap(base.add(bytes).cast(), HUGE_PAGE - head);
        }
        libc::madvise(base.cast(), bytes, libc::MADV_HUGEPAGE);
        Ok(NonNull::new_unchecked(base))
    }
}

/// Maps zeroed memory of reserved huge pages of this size, a power of two.
fn map_huge(bytes: usize, page_bytes: u64) -> Result<NonNull<u8>, Error> {
    let size = (page_bytes.trailing_zeros() as libc::c_int) << libc::MAP_HUGE_SHIFT;
    // SAFETY: a fresh private mapping, placed by the kernel, touches nothing that exists.
    let start = unsafe {
        libc::mmap(
            ptr::null_mut(),
            bytes,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_HUGETLB | size,
            -1,
            0,
        )
    };
    if start == libc::MAP_FAILED {
        return Err(Error::HugePages {
            page_bytes,
            bytes: bytes as u64,
            cause: io::Error::last_os_error(),
        });
    }
    Ok(NonNull::new(start.cast::<u8>()).expect("the kernel never maps at zero"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use iogauge_core::plan::BufferPlan;

    fn buffers(read_places: usize, places: usize, stride: usize) -> Buffers {
        let plan = BufferPlan {
            refill: false,
            zero: false,
            scramble: true,
            compress_percent: 0.0,
            dedupe_percent: 0.0,
            pattern: vec![],
        };
        let mapped_bytes = (places * stride).next_multiple_of(HUGE_PAGE);
        Buffers {
            base: map(mapped_bytes).unwrap(),
            mapped_bytes,
            stride,
            read_places,
            places,
            places_per_fixed: (LARGEST_FIXED / stride).max(1),
            content: Content::new(&plan, 1),
            verifier: None,
            pool: None,
            stamper: None,
        }
    }

    fn request(slot: u32, kind: Kind) -> Request {
        Request {
            slot,
            target: 0,
            kind,
            offset_bytes: 0,
            length_bytes: 4096,
            intended: 0,
            ready: 0,
            check: Default::default(),
            priority: 0,
        }
    }

    #[test]
    fn places_are_aligned_and_apart() {
        let buffers = buffers(4, 8, 3 * PAGE);
        let mut addresses = Vec::new();
        for slot in 0..4 {
            for kind in [Kind::Read, Kind::Write] {
                let address = buffers.address(&request(slot, kind)) as usize;
                assert_eq!(address % PAGE, 0);
                addresses.push(address);
            }
        }
        addresses.sort_unstable();
        assert!(
            addresses
                .windows(2)
                .all(|pair| pair[1] - pair[0] >= 3 * PAGE)
        );
        assert_eq!(buffers.base.as_ptr() as usize % HUGE_PAGE, 0);
    }

    #[test]
    #[should_panic(expected = "outside the plan")]
    fn a_slot_beyond_the_depth_is_no_address() {
        buffers(0, 4, PAGE).address(&request(4, Kind::Read));
    }

    #[test]
    fn fixed_pieces_cover_everything_and_cut_no_place() {
        // The test needs addresses only, so this much memory is mapped and never touched.
        let buffers = buffers(0, 5, LARGEST_FIXED / 2);
        let pieces = buffers.fixed();
        assert_eq!(pieces.len(), 3);
        for slot in 0..5 {
            let request = request(slot, Kind::Read);
            let piece = pieces[usize::from(buffers.fixed_index(&request))];
            let (start, address) = (piece.iov_base as usize, buffers.address(&request) as usize);
            assert!(start <= address && address + buffers.stride <= start + piece.iov_len);
        }
    }
}
