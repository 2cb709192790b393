//! Requests as operations on files and block devices, which go through the block layer: fio's io_uring.
#![allow(unsafe_code)]

use io_uring::{cqueue, opcode, squeue};
use iogauge_core::plan::WorkerPlan;
use iogauge_core::{Errno, Kind, Request};

use crate::engines::buffers::Buffers;
use crate::engines::commands::Commands;
use crate::engines::commands::sqe::{Access, Template, Trim};
use crate::engines::files::{self, File};
use crate::engines::ring::{Ring, enter_failed};
use crate::error::Error;

/// The templates of a worker's files.
pub(crate) struct FileCommands {
    templates: Vec<Template>,
    /// Whether the ring polls: it then takes no syncs.
    polls: bool,
}

impl Commands for FileCommands {
    type Sqe = squeue::Entry;
    type Cqe = cqueue::Entry;

    fn new(
        plan: &WorkerPlan,
        ring: &mut Ring,
        files: &[File],
        registered: bool,
    ) -> Result<Self, Error> {
        let trims = plan.trims();
        let mut templates = Vec::with_capacity(files.len());
        for (index, file) in files.iter().enumerate() {
            let fd = if registered { index as i32 } else { file.raw() };
            let access = Access {
                registered,
                fixed_buffers: plan.engine.fixedbufs,
                nonblocking: file.takes_nonblocking(),
            };
            let mut template = Template::new(fd, access, files::request_flags(&plan.engine));
            template.range_flags = file.range_flags();
            if trims {
                template.trim = how_to_trim(ring, file, &template)?;
            }
            templates.push(template);
        }
        Ok(Self {
            templates,
            polls: ring.mode.poll,
        })
    }

    #[inline(always)]
    fn blocks(&self, request: &Request) -> bool {
        match request.kind {
            Kind::Read | Kind::Write => false,
            Kind::Trim => self.templates[request.target as usize].trim == Trim::Blocking,
            Kind::Sync | Kind::DataSync => self.polls,
            // To the kernel, no bytes are all to the end of the file.
            Kind::RangeSync => self.polls || request.length_bytes == 0,
        }
    }

    #[inline(always)]
    fn entry(&mut self, request: &Request, buffers: &Buffers) -> squeue::Entry {
        self.templates[request.target as usize]
            .entry(request, buffers)
            .with_priority(request.priority)
            .into_entry()
    }

    /// A successful trim returns zero.
    #[inline(always)]
    fn unreported_bytes(request: &Request) -> u32 {
        if request.kind == Kind::Trim {
            request.length_bytes
        } else {
            0
        }
    }

    #[inline(always)]
    fn outcome(result: i32, unreported_bytes: u32) -> Result<u32, Errno> {
        match result {
            moved @ 0.. => Ok(moved as u32 + unreported_bytes),
            errno => Err(Errno(-errno)),
        }
    }

    /// Entries refer to no memory but the buffers.
    fn leak(&mut self) {}
}

/// Determines how the ring can trim `file`, by a discard command of length 0: a kernel that knows the command refuses
/// it as invalid.
fn how_to_trim(ring: &mut Ring, file: &File, template: &Template) -> Result<Trim, Error> {
    let (way, operation) = if file.is_block_device() {
        (Trim::Command, opcode::UringCmd16::CODE)
    } else {
        (Trim::Punch, opcode::Fallocate::CODE)
    };
    if ring.mode.poll || !ring.knows(operation) {
        return Ok(Trim::Blocking);
    }
    if way == Trim::Punch {
        return Ok(way);
    }
    // SAFETY: the entry refers to no memory.
    unsafe { ring.submission().push(&template.discard(0, 0).into_entry()) }
        .expect("an empty ring has room");
    if ring.mode.kernel_thread {
        ring.wake().map_err(enter_failed)?;
    } else {
        ring.submit(1).map_err(enter_failed)?;
    }
    ring.wait(1, None).map_err(enter_failed)?;
    let answer = ring
        .completions()
        .next()
        .map_or(-libc::EOPNOTSUPP, |entry| entry.result());
    Ok(if answer == -libc::EINVAL {
        way
    } else {
        Trim::Blocking
    })
}
