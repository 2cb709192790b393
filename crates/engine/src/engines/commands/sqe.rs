//! A request as io_uring takes it: one 64-byte submission queue entry.
//!
//! The `io-uring` crate builds entries one opcode at a time. Here a request is a template of its file and kind with
//! four fields set. `ring.rs` passes entries to the kernel.
#![allow(unsafe_code)]

use io_uring::{opcode, squeue};
use iogauge_core::{Kind, Request};

use crate::engines::buffers::Buffers;
use crate::engines::files::{self, PUNCH};

/// One SQE, in the kernel's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Sqe {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    /// Offset, or the command of a uring_cmd.
    offset: u64,
    address: u64,
    length: u32,
    /// `rw_flags`, `fsync_flags` and so on.
    op_flags: u32,
    user_data: u64,
    buffer_index: u16,
    personality: u16,
    file_index: u32,
    address3: u64,
    padding: u64,
}

const _: () = assert!(size_of::<Sqe>() == 64 && align_of::<Sqe>() == align_of::<squeue::Entry>());

impl Sqe {
    /// Adds an I/O priority; 0: that of the thread.
    #[inline(always)]
    pub(crate) fn with_priority(self, priority: u16) -> Sqe {
        Sqe { priority, ..self }
    }

    /// Converts it to the crate's entry.
    #[inline(always)]
    pub(crate) fn into_entry(self) -> squeue::Entry {
        // SAFETY: both types are the kernel's 64 bytes, have equal alignment (asserted above), and allow any bits.
        unsafe { std::mem::transmute::<Sqe, squeue::Entry>(self) }
    }
}

/// How a file is trimmed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Trim {
    /// `BLOCK_URING_CMD_DISCARD`, for block devices since Linux 6.12.
    Command,
    /// `IORING_OP_FALLOCATE`, for files.
    Punch,
    /// The thread makes the trim, not the ring.
    Blocking,
}

/// What all requests for one file have in common.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Template {
    read: Sqe,
    write: Sqe,
    pub(crate) trim: Trim,
    /// The flags of sync_file_range.
    pub(crate) range_flags: u32,
    /// `ASYNC` for discards of a device that always blocks on I/O: the kernel itself hands reads and writes of such a
    /// device to a worker thread, but fails its discards.
    discard_flags: u8,
}

/// How requests name a file and its buffers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Access {
    /// Whether its descriptor is an index among the registered files.
    pub(crate) registered: bool,
    /// Whether the buffers are registered.
    pub(crate) fixed_buffers: bool,
    /// See [`crate::engines::files::File::takes_nonblocking`].
    pub(crate) nonblocking: bool,
}

/// `IOSQE_FIXED_FILE`.
const FIXED_FILE: u8 = 1;

/// `IOSQE_ASYNC`.
const ASYNC: u8 = 1 << 4;

/// `IORING_FSYNC_DATASYNC`.
const DATASYNC: u32 = 1;

/// `BLOCK_URING_CMD_DISCARD`: `_IO(0x12, 0)`.
const DISCARD: u64 = 0x1200;

impl Template {
    /// Creates the template of a file, by its descriptor or by its index among the registered files, with the flags of
    /// its reads and of its writes.
    pub(crate) fn new(fd: i32, access: Access, (read_flags, write_flags): (i32, i32)) -> Template {
        let (read, write) = if access.fixed_buffers {
            (opcode::ReadFixed::CODE, opcode::WriteFixed::CODE)
        } else {
            (opcode::Read::CODE, opcode::Write::CODE)
        };
        let of = |opcode| Sqe {
            opcode,
            fd,
            flags: if access.registered { FIXED_FILE } else { 0 },
            ..Sqe::default()
        };
        Template {
            read: Sqe {
                op_flags: read_flags as u32,
                ..of(read)
            },
            write: Sqe {
                op_flags: write_flags as u32,
                ..of(write)
            },
            trim: Trim::Blocking,
            range_flags: 0,
            discard_flags: if access.nonblocking { 0 } else { ASYNC },
        }
    }

    /// Returns the request's entry.
    #[inline(always)]
    pub(crate) fn entry(&self, request: &Request, buffers: &Buffers) -> Sqe {
        let user_data = u64::from(request.slot);
        let with_data = |base: Sqe| Sqe {
            offset: request.offset_bytes,
            address: buffers.address(request).expose_provenance() as u64,
            length: request.length_bytes,
            user_data,
            buffer_index: buffers.fixed_index(request),
            ..base
        };
        let without_data = |opcode| Sqe {
            opcode,
            user_data,
            op_flags: 0,
            ..self.read
        };
        match request.kind {
            Kind::Read => with_data(self.read),
            Kind::Write => with_data(self.write),
            Kind::Sync => without_data(opcode::Fsync::CODE),
            Kind::DataSync => Sqe {
                op_flags: DATASYNC,
                ..without_data(opcode::Fsync::CODE)
            },
            Kind::RangeSync => Sqe {
                offset: request.offset_bytes,
                length: files::kernel_length(request),
                op_flags: self.range_flags,
                ..without_data(opcode::SyncFileRange::CODE)
            },
            Kind::Trim if self.trim == Trim::Command => Sqe {
                user_data,
                ..self.discard(request.offset_bytes, u64::from(request.length_bytes))
            },
            Kind::Trim => Sqe {
                offset: request.offset_bytes,
                address: u64::from(request.length_bytes),
                length: PUNCH as u32,
                ..without_data(opcode::Fallocate::CODE)
            },
        }
    }

    /// Returns an entry that discards a range of a block device.
    pub(crate) fn discard(&self, offset_bytes: u64, length_bytes: u64) -> Sqe {
        Sqe {
            opcode: opcode::UringCmd16::CODE,
            flags: self.read.flags | self.discard_flags,
            offset: DISCARD,
            address: offset_bytes,
            address3: length_bytes,
            op_flags: 0,
            ..self.read
        }
    }
}
