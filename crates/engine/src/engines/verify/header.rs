//! The header of a block, as fio 3.33 lays it out: 40 bytes, little-endian, before a checksum of the data after it.
//!
//! Newer versions of fio have another header, with a version in it, and do not read this one.
//! Source: fio 3.33's verify.h.

use iogauge_core::plan::Checksum;

use super::checksums;

/// The bytes of a header without its checksum.
pub(super) const BYTES: usize = 40;

const MAGIC: u16 = 0xACCA;
/// Where the header's own checksum is, of all bytes before it.
const CRC_AT: usize = 36;

/// The fields of a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Header {
    pub(super) checksum: u16,
    pub(super) length: u32,
    pub(super) seed: u64,
    pub(super) offset: u64,
    pub(super) seconds: u32,
    pub(super) nanoseconds: u32,
    pub(super) thread: u16,
    pub(super) number: u16,
}

/// What is wrong with a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Fault {
    pub(super) field: &'static str,
    pub(super) expected: String,
    pub(super) actual: String,
}

impl Header {
    /// Stores the header in the first bytes of `block`.
    #[inline]
    pub(super) fn store(&self, block: &mut [u8]) {
        let block = &mut block[..BYTES];
        block[0..2].copy_from_slice(&MAGIC.to_le_bytes());
        block[2..4].copy_from_slice(&self.checksum.to_le_bytes());
        block[4..8].copy_from_slice(&self.length.to_le_bytes());
        block[8..16].copy_from_slice(&self.seed.to_le_bytes());
        block[16..24].copy_from_slice(&self.offset.to_le_bytes());
        block[24..28].copy_from_slice(&self.seconds.to_le_bytes());
        block[28..32].copy_from_slice(&self.nanoseconds.to_le_bytes());
        block[32..34].copy_from_slice(&self.thread.to_le_bytes());
        block[34..36].copy_from_slice(&self.number.to_le_bytes());
        let crc = checksums::crc32c(&block[..CRC_AT]);
        block[CRC_AT..].copy_from_slice(&crc.to_le_bytes());
    }

    /// Reads the header of `block`.
    ///
    /// # Errors
    /// If it is none, or damaged.
    #[inline]
    pub(super) fn load(block: &[u8]) -> Result<Header, Fault> {
        let header = Header {
            checksum: u16_at(block, 2),
            length: u32_at(block, 4),
            seed: u64_at(block, 8),
            offset: u64_at(block, 16),
            seconds: u32_at(block, 24),
            nanoseconds: u32_at(block, 28),
            thread: u16_at(block, 32),
            number: u16_at(block, 34),
        };
        differs("magic of the header", MAGIC, u16_at(block, 0), hex)?;
        let crc = checksums::crc32c(&block[..CRC_AT]);
        differs("crc32c of the header", crc, u32_at(block, CRC_AT), hex)?;
        Ok(header)
    }
}

/// Returns a fault if a field is not as expected.
#[inline]
pub(super) fn differs<T: PartialEq + Copy>(
    field: &'static str,
    expected: T,
    actual: T,
    text: impl Fn(T) -> String,
) -> Result<(), Fault> {
    if expected == actual {
        return Ok(());
    }
    Err(Fault {
        field,
        expected: text(expected),
        actual: text(actual),
    })
}

fn hex<T: std::fmt::LowerHex>(value: T) -> String {
    format!("{value:#x}")
}

fn u16_at(block: &[u8], at: usize) -> u16 {
    u16::from_le_bytes([block[at], block[at + 1]])
}

fn u32_at(block: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(std::array::from_fn(|byte| block[at + byte]))
}

fn u64_at(block: &[u8], at: usize) -> u64 {
    u64::from_le_bytes(std::array::from_fn(|byte| block[at + byte]))
}

/// Returns fio's number of a checksum.
pub(super) const fn code(checksum: Checksum) -> u16 {
    match checksum {
        Checksum::Meta => 1,
        Checksum::Md5 => 2,
        Checksum::Crc64 => 3,
        Checksum::Crc32 => 4,
        Checksum::Crc32c => 5,
        Checksum::Crc16 => 7,
        Checksum::Crc7 => 8,
        Checksum::Sha256 => 9,
        Checksum::Sha512 => 10,
        Checksum::Sha3_224 => 11,
        Checksum::Sha3_256 => 12,
        Checksum::Sha3_384 => 13,
        Checksum::Sha3_512 => 14,
        Checksum::Xxhash => 15,
        Checksum::Sha1 => 16,
        Checksum::PatternHdr => 17,
        Checksum::Pattern => 18,
        Checksum::Null => 19,
    }
}

/// Returns how users name the checksum with a number of fio.
pub(super) fn name(code: u16) -> String {
    let names = [
        "none",
        "meta",
        "md5",
        "crc64",
        "crc32",
        "crc32c",
        "crc32c",
        "crc16",
        "crc7",
        "sha256",
        "sha512",
        "sha3-224",
        "sha3-256",
        "sha3-384",
        "sha3-512",
        "xxhash",
        "sha1",
        "pattern_hdr",
        "pattern",
        "null",
    ];
    match names.get(code as usize) {
        Some(name) => (*name).to_owned(),
        None => format!("{code:#x}"),
    }
}
