//! The log beside a run: which writes and flushes began and ended, in order. 32 bytes a record, only ever appended.
//!
//! A record is appended before its write begins, and after its write has ended. So the order of records is the order of
//! what happened: if the end of a write comes before the beginning of a flush, the flush covers the write. Each record
//! has a checksum. Damaged records at the end were cut off by a crash; before a whole record they are an error.
//!
//! Layout, little-endian: kind (1 byte), flags (1; 1: FUA), file (2), length (4), sequence (8), offset (8), zeroes (4),
//! CRC-32C of all before (4). The header is the first record: kind, version (1), zeroes (2), block bytes (4), run (8),
//! zeroes (8), flags (4; 1: the target was all zeroes), CRC-32C (4).

use crate::stamp::{u32_at, u64_at};

/// Bytes of a record and of the header.
pub const RECORD_BYTES: usize = 32;

const VERSION: u8 = 1;
const HEADER: u8 = b'i';
const FUA: u8 = 1;
const ZEROES: u32 = 1;

/// What all records of a log share.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The run; not zero.
    pub run: u64,
    /// Bytes of a block: a multiple of 512. Every write is of whole blocks.
    pub block_bytes: u32,
    /// Whether the target was all zeroes before.
    pub zeroes: bool,
}

/// Something that happened to a target.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Record {
    /// A write is about to be issued.
    Write {
        /// Its number, from 1 on; a later write has a larger one.
        sequence: u64,
        /// The number of the file.
        file: u16,
        /// Where: a multiple of the block size.
        offset_bytes: u64,
        /// How much: a positive multiple of the block size.
        length_bytes: u32,
        /// Whether its completion makes it durable.
        fua: bool,
    },
    /// A write has completed.
    Written {
        /// Its number.
        sequence: u64,
    },
    /// A write has failed, or its time was over: it may be there or not, and must not come later.
    Failed {
        /// Its number.
        sequence: u64,
    },
    /// A flush is about to be issued.
    Flush {
        /// Its number, among flushes.
        sequence: u64,
        /// The number of the file.
        file: u16,
    },
    /// A flush has completed.
    Flushed {
        /// Its number.
        sequence: u64,
    },
}

/// Why a log cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogError {
    /// It does not begin as a log does.
    NotALog,
    /// It is of another version.
    Version(u8),
    /// A record before its end is damaged.
    Damaged {
        /// Where the record begins.
        offset_bytes: u64,
    },
}

impl std::fmt::Display for LogError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            LogError::NotALog => formatter.write_str("not a stamp log"),
            LogError::Version(version) => {
                write!(formatter, "a log of version {version}, not of {VERSION}")
            }
            LogError::Damaged { offset_bytes } => {
                write!(formatter, "damaged at byte {offset_bytes}")
            }
        }
    }
}

impl std::error::Error for LogError {}

type Bytes = [u8; RECORD_BYTES];

fn sealed(mut bytes: Bytes) -> Bytes {
    let checksum = crc32c::crc32c(&bytes[..28]);
    bytes[28..].copy_from_slice(&checksum.to_le_bytes());
    bytes
}

fn is_whole(bytes: &[u8]) -> bool {
    u32_at(bytes, 28) == crc32c::crc32c(&bytes[..28])
}

impl Header {
    /// Returns the bytes with which a log begins.
    pub fn encode(&self) -> Bytes {
        let mut bytes = [0; RECORD_BYTES];
        (bytes[0], bytes[1]) = (HEADER, VERSION);
        bytes[4..8].copy_from_slice(&self.block_bytes.to_le_bytes());
        bytes[8..16].copy_from_slice(&self.run.to_le_bytes());
        let flags = if self.zeroes { ZEROES } else { 0 };
        bytes[24..28].copy_from_slice(&flags.to_le_bytes());
        sealed(bytes)
    }

    fn decode(bytes: &[u8]) -> Result<Self, LogError> {
        if bytes[0] != HEADER || !is_whole(bytes) {
            return Err(LogError::NotALog);
        }
        if bytes[1] != VERSION {
            return Err(LogError::Version(bytes[1]));
        }
        let block_bytes = u32_at(bytes, 4);
        if block_bytes == 0 || !block_bytes.is_multiple_of(512) {
            return Err(LogError::NotALog);
        }
        Ok(Self {
            run: u64_at(bytes, 8),
            block_bytes,
            zeroes: u32_at(bytes, 24) & ZEROES != 0,
        })
    }
}

impl Record {
    /// Returns its bytes.
    #[inline]
    pub fn encode(&self) -> Bytes {
        let mut bytes = [0; RECORD_BYTES];
        let (kind, sequence) = match *self {
            Record::Write { sequence, .. } => (1, sequence),
            Record::Written { sequence } => (2, sequence),
            Record::Failed { sequence } => (3, sequence),
            Record::Flush { sequence, .. } => (4, sequence),
            Record::Flushed { sequence } => (5, sequence),
        };
        bytes[0] = kind;
        bytes[8..16].copy_from_slice(&sequence.to_le_bytes());
        match *self {
            Record::Write {
                file,
                offset_bytes,
                length_bytes,
                fua,
                ..
            } => {
                bytes[1] = if fua { FUA } else { 0 };
                bytes[2..4].copy_from_slice(&file.to_le_bytes());
                bytes[4..8].copy_from_slice(&length_bytes.to_le_bytes());
                bytes[16..24].copy_from_slice(&offset_bytes.to_le_bytes());
            }
            Record::Flush { file, .. } => bytes[2..4].copy_from_slice(&file.to_le_bytes()),
            _ => {}
        }
        sealed(bytes)
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        if !is_whole(bytes) {
            return None;
        }
        let sequence = u64_at(bytes, 8);
        let file = u16::from_le_bytes([bytes[2], bytes[3]]);
        Some(match bytes[0] {
            1 => Record::Write {
                sequence,
                file,
                offset_bytes: u64_at(bytes, 16),
                length_bytes: u32_at(bytes, 4),
                fua: bytes[1] & FUA != 0,
            },
            2 => Record::Written { sequence },
            3 => Record::Failed { sequence },
            4 => Record::Flush { sequence, file },
            5 => Record::Flushed { sequence },
            _ => return None,
        })
    }
}

/// Reads a log in pieces, cut anywhere.
#[derive(Debug, Default)]
pub struct LogReader {
    header: Option<Header>,
    rest: Vec<u8>,
    position_bytes: u64,
    /// Where a damaged record begins. If a whole record follows, it is not the log's end.
    damaged_at: Option<u64>,
}

impl LogReader {
    /// Reads a piece, and calls `visit` with its records and their positions in the log.
    ///
    /// # Errors
    /// If it is not a log, or a whole record follows a damaged one.
    pub fn feed(
        &mut self,
        bytes: &[u8],
        mut visit: impl FnMut(u64, Record),
    ) -> Result<(), LogError> {
        let missing = (RECORD_BYTES - self.rest.len()).min(bytes.len());
        let (first, others) = bytes.split_at(missing);
        self.rest.extend_from_slice(first);
        if self.rest.len() < RECORD_BYTES {
            return Ok(());
        }
        let rest = std::mem::take(&mut self.rest);
        self.take(&rest, &mut visit)?;
        let records = others.chunks_exact(RECORD_BYTES);
        self.rest.extend_from_slice(records.remainder());
        for record in records {
            self.take(record, &mut visit)?;
        }
        Ok(())
    }

    fn take(&mut self, bytes: &[u8], visit: &mut impl FnMut(u64, Record)) -> Result<(), LogError> {
        let position_bytes = self.position_bytes;
        self.position_bytes += RECORD_BYTES as u64;
        if self.header.is_none() {
            self.header = Some(Header::decode(bytes)?);
            return Ok(());
        }
        match (Record::decode(bytes), self.damaged_at) {
            (Some(_), Some(offset_bytes)) => return Err(LogError::Damaged { offset_bytes }),
            (Some(record), None) => visit(position_bytes / RECORD_BYTES as u64, record),
            (None, at) => self.damaged_at = at.or(Some(position_bytes)),
        }
        Ok(())
    }

    /// Returns the header, once its bytes were read.
    pub fn header(&self) -> Option<Header> {
        self.header
    }

    /// Whether its end is incomplete or damaged: a crash cut it off.
    pub fn is_cut(&self) -> bool {
        !self.rest.is_empty() || self.damaged_at.is_some()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records() -> impl Strategy<Value = Record> {
        let write = (
            any::<u64>(),
            any::<u16>(),
            any::<u64>(),
            any::<u32>(),
            any::<bool>(),
        );
        prop_oneof![
            write.prop_map(
                |(sequence, file, offset_bytes, length_bytes, fua)| Record::Write {
                    sequence,
                    file,
                    offset_bytes,
                    length_bytes,
                    fua
                }
            ),
            any::<u64>().prop_map(|sequence| Record::Written { sequence }),
            any::<u64>().prop_map(|sequence| Record::Failed { sequence }),
            (any::<u64>(), any::<u16>())
                .prop_map(|(sequence, file)| Record::Flush { sequence, file }),
            any::<u64>().prop_map(|sequence| Record::Flushed { sequence }),
        ]
    }

    const HEADER: Header = Header {
        run: 9,
        block_bytes: 4096,
        zeroes: true,
    };

    fn bytes_of(records: &[Record]) -> Vec<u8> {
        let mut bytes = HEADER.encode().to_vec();
        records
            .iter()
            .for_each(|record| bytes.extend(record.encode()));
        bytes
    }

    fn read(bytes: &[u8], piece: usize) -> (LogReader, Vec<Record>, Result<(), LogError>) {
        let (mut reader, mut read) = (LogReader::default(), Vec::new());
        let mut outcome = Ok(());
        for piece in bytes.chunks(piece) {
            outcome = outcome.and_then(|()| {
                reader.feed(piece, |position, record| {
                    assert_eq!(position, read.len() as u64 + 1);
                    read.push(record);
                })
            });
        }
        (reader, read, outcome)
    }

    proptest! {
        #[test]
        fn what_is_appended_is_read_in_any_pieces(
            records in prop::collection::vec(records(), 0..20), piece in 1..100usize
        ) {
            let (reader, read, outcome) = read(&bytes_of(&records), piece);
            prop_assert_eq!(outcome, Ok(()));
            prop_assert_eq!(reader.header(), Some(HEADER));
            prop_assert!(!reader.is_cut());
            prop_assert_eq!(read, records);
        }

        #[test]
        fn a_log_that_ends_anywhere_is_read_up_to_there(
            records in prop::collection::vec(records(), 1..10), kept in 0.0..1.0f64, piece in 1..100usize
        ) {
            let bytes = bytes_of(&records);
            let most = bytes.len() - RECORD_BYTES;
            let kept = RECORD_BYTES + (most as f64 * kept) as usize;
            let (reader, read, outcome) = read(&bytes[..kept], piece);
            prop_assert_eq!(outcome, Ok(()));
            prop_assert_eq!(&read[..], &records[..kept / RECORD_BYTES - 1]);
            prop_assert_eq!(reader.is_cut(), !kept.is_multiple_of(RECORD_BYTES));
        }

        #[test]
        fn damage_is_an_error_unless_it_is_the_end(
            records in prop::collection::vec(records(), 2..6), at in any::<prop::sample::Index>(), bit in 0..256usize
        ) {
            let mut bytes = bytes_of(&records);
            let hit = at.index(records.len());
            bytes[(hit + 1) * RECORD_BYTES + bit / 8] ^= 1 << (bit % 8);
            let (reader, read, outcome) = read(&bytes, 33);
            if hit == records.len() - 1 {
                prop_assert_eq!(outcome, Ok(()));
                prop_assert!(reader.is_cut());
                prop_assert_eq!(&read[..], &records[..hit]);
            } else {
                let offset_bytes = ((hit + 1) * RECORD_BYTES) as u64;
                prop_assert_eq!(outcome, Err(LogError::Damaged { offset_bytes }));
            }
        }

        #[test]
        fn no_bytes_make_it_panic(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let (reader, _, outcome) = read(&bytes, 7);
            prop_assert!(outcome.is_err() || reader.header().is_none());
        }
    }

    #[test]
    fn another_version_is_refused_by_its_number() {
        let mut header = HEADER.encode();
        header[1] = 9;
        let (_, _, outcome) = read(&sealed(header), 5);
        assert_eq!(outcome, Err(LogError::Version(9)));
        assert!(outcome.unwrap_err().to_string().contains("version 9"));
    }
}
