//! The binary files of blktrace, as Linux's `include/uapi/linux/blktrace_api.h` lays them out, of either byte order.
//!
//! A record is 48 bytes and what a driver or the kernel adds to it. Of all actions two matter: a request was queued, or
//! a range was completed. Requests that were merged, split or remapped on their way are so what the program asked for.
//! A flush is a request without data; a write that flushes before or forces its data to the medium counts as a write.

use crate::damage::Damage;
use crate::devices::Devices;
use crate::records::Records;
use crate::row::{Direction, Kind, Row};

const HEAD_BYTES: usize = 48;
const MAGIC: u32 = 0x6561_7400;
const VERSION: u32 = 7;
const SECTOR_BYTES: i64 = 512;

const QUEUE: u32 = 1;
const COMPLETE: u32 = 8;
/// Categories, in the upper half of an action.
const WRITE: u32 = 1 << (16 + 1);
const FLUSH: u32 = 1 << (16 + 2);
/// Commands that are no reads and writes of a file system or a program.
const PASS_THROUGH: u32 = 1 << (16 + 9);
const NOTIFY: u32 = 1 << (16 + 10);
const DISCARD: u32 = 1 << (16 + 13);
const DRIVER_DATA: u32 = 1 << (16 + 14);

/// Reads what blktrace wrote.
#[derive(Debug, Default)]
pub(crate) struct Blktrace {
    records: Records,
    swapped: Option<bool>,
    skipped: u64,
    device: Option<(u32, u32)>,
}

impl Blktrace {
    pub(crate) fn skipped(&self) -> u64 {
        self.skipped
    }

    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        devices: &mut Devices,
        rows: &mut Vec<Row>,
    ) -> Result<(), Damage> {
        let Self {
            records,
            swapped,
            skipped,
            device,
        } = self;
        records.feed(bytes, |position, bytes| {
            let Some((head, _)) = bytes.split_first_chunk::<HEAD_BYTES>() else {
                return Ok(None);
            };
            let record =
                Record::read(head, swapped).map_err(|problem| Damage::byte(position, problem))?;
            let length = HEAD_BYTES + record.added_bytes;
            if bytes.len() < length {
                return Ok(None);
            }
            match record.row() {
                Meaning::Row(mut row) => {
                    row.device = match device {
                        Some((last, number)) if *last == record.device => *number,
                        _ => {
                            let name =
                                format!("{}:{}", record.device >> 20, record.device & 0xf_ffff);
                            let number = devices.number(name.as_bytes());
                            *device = Some((record.device, number));
                            number
                        }
                    };
                    rows.push(row);
                }
                Meaning::Empty => *skipped += 1,
                Meaning::Other => {}
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

/// The fields of a record that matter.
struct Record {
    time_ns: u64,
    sector: u64,
    bytes: u32,
    action: u32,
    device: u32,
    added_bytes: usize,
}

enum Meaning {
    /// The begin or the end of a request.
    Row(Row),
    /// A request without data that is no flush.
    Empty,
    /// Something else.
    Other,
}

impl Record {
    fn read(head: &[u8; HEAD_BYTES], swapped: &mut Option<bool>) -> Result<Self, String> {
        let stored: [u8; 4] = head[..4].try_into().unwrap_or_default();
        let is_magic = |magic: u32| magic & !0xff == MAGIC;
        let swap = *swapped.get_or_insert(!is_magic(u32::from_le_bytes(stored)));
        let fields = Fields { head, swap };
        let magic = fields.word(0);
        if !is_magic(magic) {
            return Err(format!("{magic:08x} is not the magic number of blktrace"));
        }
        if magic & 0xff != VERSION {
            return Err(format!(
                "version {} of blktrace's records is not known",
                magic & 0xff
            ));
        }
        Ok(Self {
            time_ns: fields.long(8),
            sector: fields.long(16),
            bytes: fields.word(24),
            action: fields.word(28),
            device: fields.word(36),
            added_bytes: usize::from(fields.half(46)),
        })
    }

    fn row(&self) -> Meaning {
        if self.action & (NOTIFY | DRIVER_DATA | PASS_THROUGH) != 0 {
            return Meaning::Other;
        }
        let kind = match self.action & 0xffff {
            QUEUE => Kind::Begin,
            COMPLETE => Kind::End,
            _ => return Meaning::Other,
        };
        let direction = if self.action & DISCARD != 0 {
            Direction::Trim
        } else if self.action & FLUSH != 0 && self.bytes == 0 {
            Direction::Sync
        } else if self.action & WRITE != 0 {
            Direction::Write
        } else {
            Direction::Read
        };
        if self.bytes == 0 && direction != Direction::Sync {
            return if kind == Kind::Begin {
                Meaning::Empty
            } else {
                Meaning::Other
            };
        }
        // A flush has no place; the kernel writes all ones there.
        let sector = if direction == Direction::Sync {
            0
        } else {
            self.sector
        };
        let (Ok(time_ns), Ok(sector)) = (i64::try_from(self.time_ns), i64::try_from(sector)) else {
            return Meaning::Empty;
        };
        let Some(offset) = sector.checked_mul(SECTOR_BYTES) else {
            return Meaning::Empty;
        };
        let mut row = Row::request(time_ns, 0, direction, offset, i64::from(self.bytes));
        row.kind = kind as u8;
        Meaning::Row(row)
    }
}

/// The fields of a record, of the byte order of the machine that wrote it.
struct Fields<'a> {
    head: &'a [u8; HEAD_BYTES],
    swap: bool,
}

impl Fields<'_> {
    fn half(&self, at: usize) -> u16 {
        let bytes = self.head[at..at + 2].try_into().unwrap_or_default();
        if self.swap {
            u16::from_be_bytes(bytes)
        } else {
            u16::from_le_bytes(bytes)
        }
    }

    fn word(&self, at: usize) -> u32 {
        let bytes = self.head[at..at + 4].try_into().unwrap_or_default();
        if self.swap {
            u32::from_be_bytes(bytes)
        } else {
            u32::from_le_bytes(bytes)
        }
    }

    fn long(&self, at: usize) -> u64 {
        let bytes = self.head[at..at + 8].try_into().unwrap_or_default();
        if self.swap {
            u64::from_be_bytes(bytes)
        } else {
            u64::from_le_bytes(bytes)
        }
    }
}
