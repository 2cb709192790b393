//! Requests as NVMe commands to a namespace's character device, past the block layer: fio's io_uring_cmd.
//!
//! A command lies in the second half of an entry of twice the usual size. The driver takes it as it is: no scheduler,
//! no splitting, no page cache. Flush serves syncs, and Dataset Management trims. With `sync`, writes carry the bit for
//! Force Unit Access, as the block layer does for O_DSYNC on drives with a volatile cache.
//!
//! A failed command returns its NVMe status. It becomes the errno that the block layer makes of that status, so that
//! both ways to a drive count the same errors.
//!
//! Source: NVM Express Base Specification 2.0, Figure 87 and 4.6; NVM Command Set 1.0, 3.2; the kernel's
//! `struct nvme_uring_cmd` (include/uapi/linux/nvme_ioctl.h) and nvme_error_status; fio 3.33's engines/nvme.c.
#![allow(unsafe_code)]

use io_uring::{cqueue, opcode, squeue};
use iogauge_core::plan::{NamespacePlan, SyncMode, WorkerPlan};
use iogauge_core::{Errno, Kind, Request};

use crate::engines::buffers::Buffers;
use crate::engines::commands::Commands;
use crate::engines::files::File;
use crate::engines::ring::Ring;
use crate::error::Error;

/// `struct nvme_uring_cmd`: one command, without the parts that no request uses.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Command {
    opcode: u8,
    flags: u8,
    reserved: u16,
    nsid: u32,
    cdw2: u32,
    cdw3: u32,
    metadata: u64,
    address: u64,
    metadata_length: u32,
    data_length: u32,
    cdw10: u32,
    cdw11: u32,
    cdw12: u32,
    cdw13: u32,
    cdw14: u32,
    cdw15: u32,
    /// 0: the driver's own for I/O, as under the block layer.
    timeout_ms: u32,
    reserved2: u32,
}

/// One SQE of 128 bytes, in the kernel's layout.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default)]
struct Sqe {
    opcode: u8,
    flags: u8,
    priority: u16,
    fd: i32,
    operation: u32,
    padding: u32,
    address: u64,
    length: u32,
    operation_flags: u32,
    user_data: u64,
    buffer_index: u16,
    personality: u16,
    file_index: u32,
    command: Command,
    unused: u64,
}

const _: () = assert!(size_of::<Command>() == 72);
const _: () = assert!(
    size_of::<Sqe>() == size_of::<squeue::Entry128>()
        && align_of::<Sqe>() == align_of::<squeue::Entry128>()
);

impl Sqe {
    /// Converts it to the crate's entry.
    #[inline(always)]
    fn into_entry(self) -> squeue::Entry128 {
        // SAFETY: both types are the kernel's 128 bytes, have equal alignment (asserted above), and allow any bits.
        unsafe { std::mem::transmute::<Sqe, squeue::Entry128>(self) }
    }
}

/// One range of a Dataset Management command.
#[repr(C)]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Range {
    attributes: u32,
    blocks: u32,
    first: u64,
}

/// `NVME_URING_CMD_IO`: `_IOWR('N', 0x80, struct nvme_uring_cmd)`.
const IO: u32 = 3 << 30 | (size_of::<Command>() as u32) << 16 | (b'N' as u32) << 8 | 0x80;

/// `IORING_URING_CMD_FIXED`.
const FIXED_BUFFER: u32 = 1;

/// `IOSQE_FIXED_FILE`.
const FIXED_FILE: u8 = 1;

const FLUSH: u8 = 0x00;
const WRITE: u8 = 0x01;
const READ: u8 = 0x02;
const DATASET_MANAGEMENT: u8 = 0x09;

/// Command Dword 11 of Dataset Management: deallocate.
const DEALLOCATE: u32 = 1 << 2;

/// Command Dword 12 of a write: Force Unit Access.
const FORCE_UNIT_ACCESS: u32 = 1 << 30;

/// A namespace, and how its entries begin.
#[derive(Clone, Copy, Debug)]
struct Namespace {
    base: Sqe,
    block_bytes: u32,
}

impl Namespace {
    /// Returns the number of the first block of a request, and how many it has.
    #[inline(always)]
    fn blocks(&self, request: &Request) -> (u64, u32) {
        let block_bytes = self.block_bytes;
        (
            request.offset_bytes / u64::from(block_bytes),
            request.length_bytes / block_bytes,
        )
    }

    /// Returns the entry of `command`.
    #[inline(always)]
    fn entry(&self, request: &Request, command: Command) -> Sqe {
        Sqe {
            user_data: u64::from(request.slot),
            command: Command {
                nsid: self.base.command.nsid,
                ..command
            },
            ..self.base
        }
    }
}

/// The namespaces of a worker.
pub(crate) struct NvmeCommands {
    namespaces: Vec<Namespace>,
    /// What trims refer to, one for each slot.
    ranges: Box<[Range]>,
    fixed_buffers: bool,
    /// Command Dword 12 of writes.
    write_flags: u32,
}

impl Commands for NvmeCommands {
    type Sqe = squeue::Entry128;
    type Cqe = cqueue::Entry32;

    fn new(
        plan: &WorkerPlan,
        _: &mut Ring<Self::Sqe, Self::Cqe>,
        files: &[File],
        registered: bool,
    ) -> Result<Self, Error> {
        let mut namespaces = Vec::with_capacity(files.len());
        for (index, (file, planned)) in files.iter().zip(&plan.files).enumerate() {
            let Some(NamespacePlan {
                nsid, block_bytes, ..
            }) = planned.namespace
            else {
                return Err(Error::NoNamespace {
                    path: planned.path.clone(),
                });
            };
            let base = Sqe {
                opcode: opcode::UringCmd80::CODE,
                flags: if registered { FIXED_FILE } else { 0 },
                fd: if registered { index as i32 } else { file.raw() },
                operation: IO,
                command: Command {
                    nsid,
                    ..Command::default()
                },
                ..Sqe::default()
            };
            namespaces.push(Namespace { base, block_bytes });
        }
        Ok(Self {
            namespaces,
            ranges: vec![Range::default(); plan.iodepth as usize].into(),
            fixed_buffers: plan.engine.fixedbufs,
            write_flags: match plan.engine.sync {
                SyncMode::None => 0,
                SyncMode::Sync | SyncMode::Dsync => FORCE_UNIT_ACCESS,
            },
        })
    }

    /// The driver takes every command, polled or not.
    #[inline(always)]
    fn blocks(&self, _: &Request) -> bool {
        false
    }

    #[inline(always)]
    fn entry(&mut self, request: &Request, buffers: &Buffers) -> squeue::Entry128 {
        let namespace = &self.namespaces[request.target as usize];
        let (first, blocks) = namespace.blocks(request);
        let moved = |opcode, flags: u32| {
            let entry = namespace.entry(
                request,
                Command {
                    opcode,
                    address: buffers.address(request).expose_provenance() as u64,
                    data_length: request.length_bytes,
                    cdw10: first as u32,
                    cdw11: (first >> 32) as u32,
                    cdw12: (blocks - 1) | flags,
                    ..Command::default()
                },
            );
            if self.fixed_buffers {
                Sqe {
                    operation_flags: FIXED_BUFFER,
                    buffer_index: buffers.fixed_index(request),
                    ..entry
                }
            } else {
                entry
            }
        };
        let entry = match request.kind {
            Kind::Read => moved(READ, 0),
            Kind::Write => moved(WRITE, self.write_flags),
            Kind::Sync | Kind::DataSync | Kind::RangeSync => namespace.entry(
                request,
                Command {
                    opcode: FLUSH,
                    ..Command::default()
                },
            ),
            Kind::Trim => {
                let range = &mut self.ranges[request.slot as usize];
                *range = Range {
                    attributes: 0,
                    blocks,
                    first,
                };
                namespace.entry(
                    request,
                    Command {
                        opcode: DATASET_MANAGEMENT,
                        address: (&raw mut *range).expose_provenance() as u64,
                        data_length: size_of::<Range>() as u32,
                        // One range: the number counts from zero.
                        cdw10: 0,
                        cdw11: DEALLOCATE,
                        ..Command::default()
                    },
                )
            }
        };
        entry.into_entry()
    }

    /// The result is a status only.
    #[inline(always)]
    fn unreported_bytes(request: &Request) -> u32 {
        request.length_bytes
    }

    #[inline(always)]
    fn outcome(result: i32, unreported_bytes: u32) -> Result<u32, Errno> {
        match result {
            0 => Ok(unreported_bytes),
            status @ 1.. => Err(Errno(errno_of(status as u32))),
            errno => Err(Errno(-errno)),
        }
    }

    /// Leaves the ranges to a drive that may still read them.
    fn leak(&mut self) {
        Box::leak(std::mem::take(&mut self.ranges));
    }
}

/// Returns the errno that the block layer makes of an NVMe status: its type and code, as the kernel's nvme_error_status
/// and blk_status_to_errno map them.
#[cold]
fn errno_of(status: u32) -> i32 {
    // Above are flags: more information, do not retry.
    match status & 0x7ff {
        // Capacity exceeded.
        0x081 => libc::ENOSPC,
        // LBA out of range, command interrupted, namespace not ready.
        0x080 | 0x021 | 0x082 => libc::EREMOTEIO,
        // Conflicting attributes, invalid opcode, field or namespace.
        0x180 | 0x001 | 0x002 | 0x00b => libc::EOPNOTSUPP,
        // Read only, write fault, unrecovered read error, compare failure, access denied, unwritten block.
        0x182 | 0x280 | 0x281 | 0x285 | 0x286 | 0x287 => libc::ENODATA,
        // Protection information.
        0x181 | 0x282 | 0x283 | 0x284 => libc::EILSEQ,
        // Reservation conflict.
        0x083 => libc::EBADE,
        // Host path error.
        0x370 => libc::ENOLINK,
        // Too many active zones.
        0x1bd => libc::EOVERFLOW,
        // Too many open zones.
        0x1be => libc::ETOOMANYREFS,
        _ => libc::EIO,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operation_is_the_kernels() {
        assert_eq!(IO, 0xC048_4E80);
        assert_eq!(std::mem::offset_of!(Sqe, command), 48);
        assert_eq!(std::mem::offset_of!(Command, cdw10), 40);
        assert_eq!(std::mem::offset_of!(Command, timeout_ms), 64);
    }

    #[test]
    fn a_status_counts_as_the_errno_of_the_block_layer() {
        let outcome = |result| NvmeCommands::outcome(result, 4096);
        assert_eq!(outcome(0), Ok(4096));
        assert_eq!(outcome(-libc::ENODEV), Err(Errno(libc::ENODEV)));
        assert_eq!(outcome(0x281), Err(Errno(libc::ENODATA)));
        // With the bits "more" and "do not retry".
        assert_eq!(outcome(0x6281), Err(Errno(libc::ENODATA)));
        assert_eq!(outcome(0x4002), Err(Errno(libc::EOPNOTSUPP)));
        assert_eq!(outcome(0x006), Err(Errno(libc::EIO)));
    }

    #[test]
    fn blocks_count_from_the_namespaces_size() {
        for (block_bytes, first, blocks) in [(512, 24, 16), (4096, 3, 2)] {
            let namespace = Namespace {
                base: Sqe::default(),
                block_bytes,
            };
            let request = Request {
                slot: 0,
                target: 0,
                kind: Kind::Read,
                offset_bytes: 3 * 4096,
                length_bytes: 2 * 4096,
                intended: 0,
                ready: 0,
                check: Default::default(),
                priority: 0,
            };
            assert_eq!(namespace.blocks(&request), (first, blocks));
        }
    }
}
