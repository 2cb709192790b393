//! mmap: copies between the slot's buffer and the mapped file.
//!
//! A file is mapped from the region on, and stays so; fio maps a gigabyte at a time. A sync is an msync of all of it. With
//! `direct`, as in fio, each request also writes its pages back and drops them from the page cache. The kernel is told
//! whether the pattern is random, which decides how far it reads ahead.
//!
//! The kernel reports an I/O error of a mapping as SIGBUS, which ends the process, as it ends fio.
//! Source: mmap(2); fio's engines/mmap.c.
#![allow(unsafe_code)]

use std::io;
use std::ptr;

use iogauge_core::plan::{Advice, FilePlan, WorkerPlan};
use iogauge_core::{Completion, Errno, Kind, Nanos, Request};

use crate::Engine;
use crate::clock::Clock;
use crate::engines::blocking;
use crate::engines::buffers::Buffers;
use crate::engines::files::{self, File};
use crate::error::{Error, last_errno};
use crate::wait::Waiter;

const PAGE: u64 = 4096;

/// One mapped region.
#[derive(Debug)]
struct Mapping {
    start: *mut u8,
    /// Offset in the file of the first mapped byte.
    offset_bytes: u64,
    bytes: usize,
}

impl Mapping {
    fn new(plan: &WorkerPlan, file: &FilePlan, opened: &File) -> Result<Self, Error> {
        let offset_bytes = file.region_offset_bytes - file.region_offset_bytes % PAGE;
        // A page past the end of a file would be a SIGBUS.
        let end = match opened.file_bytes() {
            Some(size) => size,
            None => file.region_offset_bytes + file.region_bytes,
        };
        let bytes = end.saturating_sub(offset_bytes) as usize;
        let protection = if plan.changes_files() {
            libc::PROT_READ | libc::PROT_WRITE
        } else {
            libc::PROT_READ
        };
        // SAFETY: a fresh mapping, placed by the kernel, of a descriptor that is open; it touches nothing that exists.
        let start = unsafe {
            libc::mmap(
                ptr::null_mut(),
                bytes,
                protection,
                libc::MAP_SHARED,
                opened.raw(),
                offset_bytes as i64,
            )
        };
        if start == libc::MAP_FAILED {
            return Err(Error::Map {
                path: file.path.clone(),
                cause: io::Error::last_os_error(),
            });
        }
        if plan.advice != Advice::None {
            let advice = if plan.pattern.rw.random() {
                libc::MADV_RANDOM
            } else {
                libc::MADV_SEQUENTIAL
            };
            // SAFETY: the range was just mapped. madvise only advises; its failure changes nothing.
            unsafe { libc::madvise(start, bytes, advice) };
        }
        Ok(Self {
            start: start.cast(),
            offset_bytes,
            bytes,
        })
    }

    /// Returns the address of `length` bytes at an offset of the file; EINVAL if they are not mapped.
    #[inline]
    fn at(&self, offset_bytes: u64, length: usize) -> Result<*mut u8, Errno> {
        let at = offset_bytes.wrapping_sub(self.offset_bytes) as usize;
        if at.checked_add(length).is_none_or(|end| end > self.bytes) {
            return Err(Errno(libc::EINVAL));
        }
        // SAFETY: `at` lies inside the mapping.
        Ok(unsafe { self.start.add(at) })
    }

    /// Returns how many bytes of a request are mapped: as with pread, a read at the end of the file is short. A write
    /// cannot extend a mapping.
    #[inline]
    fn within(&self, request: &Request) -> Result<usize, Errno> {
        let length = request.length_bytes as usize;
        let at = request.offset_bytes.saturating_sub(self.offset_bytes);
        let left = (self.bytes as u64).saturating_sub(at);
        if left >= length as u64 {
            return Ok(length);
        }
        match request.kind {
            Kind::Read => Ok(left as usize),
            _ => Err(Errno(libc::EINVAL)),
        }
    }

    /// Writes the pages of a range back and drops them.
    fn drop_pages(&self, offset_bytes: u64, length: usize) -> Result<(), Errno> {
        if length == 0 {
            return Ok(());
        }
        let within = (offset_bytes % PAGE) as usize;
        let start = self.at(offset_bytes - within as u64, length + within)?;
        // SAFETY: the range lies inside the mapping, which `at` checked.
        let failed = unsafe {
            libc::msync(start.cast(), length + within, libc::MS_SYNC) != 0
                || libc::madvise(start.cast(), length + within, libc::MADV_DONTNEED) != 0
        };
        if failed {
            return Err(Errno(last_errno()));
        }
        Ok(())
    }

    fn sync(&self) -> Result<u32, Errno> {
        // SAFETY: the range is the mapping.
        match unsafe { libc::msync(self.start.cast(), self.bytes, libc::MS_SYNC) } {
            0 => Ok(0),
            _ => Err(Errno(last_errno())),
        }
    }
}

impl Drop for Mapping {
    fn drop(&mut self) {
        // SAFETY: `new` mapped this range, and it is unmapped once, here.
        unsafe { libc::munmap(self.start.cast(), self.bytes) };
    }
}

/// The mmap engine.
#[derive(Debug)]
pub struct Mapped {
    clock: Clock,
    waiter: Waiter,
    files: Vec<(File, Mapping)>,
    buffers: Buffers,
    drops_pages: bool,
    completions: Vec<Completion>,
}

impl Mapped {
    /// Opens and maps the files and creates the buffers of `plan`.
    pub fn new(plan: &WorkerPlan, clock: Clock, waiter: Waiter) -> Result<Mapped, Error> {
        let opened = files::open_all(plan)?;
        let mapped = opened.into_iter().zip(&plan.files).map(|(file, of)| {
            let mapping = Mapping::new(plan, of, &file)?;
            Ok((file, mapping))
        });
        Ok(Mapped {
            clock,
            waiter,
            files: mapped.collect::<Result<_, Error>>()?,
            buffers: Buffers::new(plan)?,
            drops_pages: plan.engine.direct,
            completions: Vec::with_capacity(plan.iodepth as usize),
        })
    }
}

impl Engine for Mapped {
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
        let (file, mapping) = &self.files[request.target as usize];
        let completion = blocking::complete(self.clock, request.slot, || match request.kind {
            Kind::Read | Kind::Write => {
                let length = mapping.within(request)?;
                copy(mapping, request, length, self.buffers.address(request))?;
                if self.drops_pages {
                    mapping.drop_pages(request.offset_bytes, length)?;
                }
                Ok(length as u32)
            }
            Kind::Sync | Kind::DataSync | Kind::RangeSync => mapping.sync(),
            Kind::Trim => file.without_data(request),
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

/// Copies a read out of the mapping, or a write into it.
#[inline]
fn copy(mapping: &Mapping, request: &Request, length: usize, buffer: *mut u8) -> Result<(), Errno> {
    if length == 0 {
        return Ok(());
    }
    let mapped = mapping.at(request.offset_bytes, length)?;
    // SAFETY: `buffer` is the slot's own, at least `length` long; `at` checked the mapped range, and the two are apart.
    // Others may change the file meanwhile, so its bytes are only copied and never looked at.
    unsafe {
        match request.kind {
            Kind::Read => ptr::copy_nonoverlapping(mapped, buffer, length),
            _ => ptr::copy_nonoverlapping(buffer, mapped, length),
        }
    }
    Ok(())
}
