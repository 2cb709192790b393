//! Binary traces of SCSI commands of VMware's virtual disks, as CloudPhysics published them.
//!
//! The layout is that of the readers of libCacheSim and of Mimircache (`vscsi.h`): two versions of records, little-endian,
//! whose version is in the upper byte of the field `ver`. Times are in microseconds, addresses in blocks of 512 bytes,
//! lengths in bytes. Commands are SCSI's operation codes (SPC-4, SBC-3). A file has one disk.

use crate::damage::Damage;
use crate::devices::Devices;
use crate::records::Records;
use crate::row::{Direction, Row};

const FIRST_BYTES: usize = 32;
const SECOND_BYTES: usize = 40;
const BLOCK_BYTES: i64 = 512;
const US: i64 = 1000;

/// Reads a vscsi trace.
#[derive(Debug, Default)]
pub(crate) struct Vscsi {
    records: Records,
    /// Of the first record.
    version: Option<u8>,
    skipped: u64,
}

impl Vscsi {
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        devices: &mut Devices,
        rows: &mut Vec<Row>,
    ) -> Result<(), Damage> {
        let device = devices.number(b"");
        let Self {
            records,
            version,
            skipped,
        } = self;
        records.feed(bytes, |position, bytes| {
            if bytes.len() < FIRST_BYTES {
                return Ok(None);
            }
            let (first, second) = (bytes[15], bytes[3]);
            let known = *version.get_or_insert(if second == 2 { 2 } else { 1 });
            let (actual, length) = if known == 2 {
                (second, SECOND_BYTES)
            } else {
                (first, FIRST_BYTES)
            };
            if actual != known {
                return Err(Damage::byte(
                    position,
                    "is no record of version 1 or 2 of a vscsi trace",
                ));
            }
            if bytes.len() < length {
                return Ok(None);
            }
            match row(&bytes[..length], device) {
                Some(row) => rows.push(row),
                None => *skipped += 1,
            }
            Ok(Some(length))
        })
    }

    pub(crate) fn end(&mut self) -> Result<(), Damage> {
        match self.records.cut() {
            Some(position) => Err(Damage::byte(position, "the file ends within a record")),
            None => Ok(()),
        }
    }
}

/// Returns the request of a record; `None` for a command that neither moves data nor flushes.
fn row(record: &[u8], device: u32) -> Option<Row> {
    let second = record.len() == SECOND_BYTES;
    let (command_at, size_at) = if second { (0, 8) } else { (12, 4) };
    let long = |at: usize| record[at..at + 8].try_into().map(u64::from_le_bytes).ok();
    let size = u32::from_le_bytes(record[size_at..size_at + 4].try_into().ok()?);
    // READ, WRITE and SYNCHRONIZE CACHE of 6, 10, 12 and 16 bytes. UNMAP has its ranges in data that is not recorded.
    let direction = match record[command_at] {
        0x08 | 0x28 | 0xa8 | 0x88 => Direction::Read,
        0x0a | 0x2a | 0xaa | 0x8a => Direction::Write,
        0x35 | 0x91 => Direction::Sync,
        _ => return None,
    };
    // Both versions have the address and the time at the same places.
    let (block_at, time_at) = (16, 24);
    let scaled = |at: usize, unit: i64| {
        long(at).and_then(|value| i64::try_from(value).ok()?.checked_mul(unit))
    };
    let mut row = Row::request(
        scaled(time_at, US)?,
        device,
        direction,
        scaled(block_at, BLOCK_BYTES)?,
        i64::from(size),
    );
    if second {
        row.latency_ns = scaled(32, US)?;
    }
    Some(row)
}
