//! The checksums of fio 3.33, byte for byte as it stores them after a header.
//!
//! Four differ from the functions whose names they have. CRC-32 and CRC-32C start and end without the usual inversion. The
//! words of SHA-1 are stored in the machine's order. SHA-256 counts the message's length in the wrong byte order, stores
//! one byte of each word, and the last block. SHA-512 is no hash at all: fio 3.33 stores the end of the data over its
//! first 128 bytes, so it finds damage in these places only.
//!
//! Source: fio 3.33's crc/ and verify.c.

use crc::{Algorithm, CRC_7_MMC, CRC_16_ARC, CRC_64_REDIS, Crc, Table};
use iogauge_core::plan::Checksum;
use md5::{Digest, Md5};
use sha1::Sha1;
use sha3::{Sha3_224, Sha3_256, Sha3_384, Sha3_512};
use xxhash_rust::xxh32::xxh32;

/// The most bytes of a checksum.
pub(super) const LONGEST: usize = 128;

const CRC7: Crc<u8, Table<16>> = Crc::<u8, Table<16>>::new(&CRC_7_MMC);
const CRC16: Crc<u16, Table<16>> = Crc::<u16, Table<16>>::new(&CRC_16_ARC);
const CRC32: Crc<u32, Table<16>> = Crc::<u32, Table<16>>::new(&CRC_32_FIO);
const CRC64: Crc<u64, Table<16>> = Crc::<u64, Table<16>>::new(&CRC_64_REDIS);

/// POSIX's polynomial, without the length and the inversion.
const CRC_32_FIO: Algorithm<u32> = Algorithm {
    width: 32,
    poly: 0x04C1_1DB7,
    init: 0,
    refin: false,
    refout: false,
    xorout: 0,
    check: 0x89A1_897F,
    residue: 0,
};

/// Returns the bytes of a checksum.
pub(super) const fn bytes(checksum: Checksum) -> usize {
    match checksum {
        Checksum::Md5 => 16,
        Checksum::Crc64 => 8,
        Checksum::Crc32 | Checksum::Crc32c | Checksum::Xxhash => 4,
        Checksum::Crc16 => 2,
        Checksum::Crc7 => 1,
        Checksum::Sha1 => 20,
        Checksum::Sha256 => 64,
        Checksum::Sha512 => 128,
        Checksum::Sha3_224 => 28,
        Checksum::Sha3_256 => 32,
        Checksum::Sha3_384 => 48,
        Checksum::Sha3_512 => 64,
        Checksum::Meta | Checksum::Pattern | Checksum::PatternHdr | Checksum::Null => 0,
    }
}

/// The CRC-32C of a header's fields, and of data.
#[inline]
pub(super) fn crc32c(data: &[u8]) -> u32 {
    !crc32c::crc32c(data)
}

/// Stores the checksum of `data` at the start of `out`.
pub(super) fn store(checksum: Checksum, data: &[u8], out: &mut [u8]) {
    let mut put = |bytes: &[u8]| out[..bytes.len()].copy_from_slice(bytes);
    match checksum {
        Checksum::Crc32c => put(&crc32c(data).to_le_bytes()),
        Checksum::Crc32 => put(&CRC32.checksum(data).to_le_bytes()),
        Checksum::Crc64 => put(&CRC64.checksum(data).to_le_bytes()),
        Checksum::Crc16 => put(&CRC16.checksum(data).to_le_bytes()),
        Checksum::Crc7 => put(&[CRC7.checksum(data)]),
        Checksum::Xxhash => put(&xxh32(data, 1).to_le_bytes()),
        Checksum::Md5 => put(&Md5::digest(data)),
        Checksum::Sha1 => put(&sha1(data)),
        Checksum::Sha256 => put(&sha256(data)),
        Checksum::Sha512 => put(&sha512(data)),
        Checksum::Sha3_224 => put(&Sha3_224::digest(data)),
        Checksum::Sha3_256 => put(&Sha3_256::digest(data)),
        Checksum::Sha3_384 => put(&Sha3_384::digest(data)),
        Checksum::Sha3_512 => put(&Sha3_512::digest(data)),
        Checksum::Meta | Checksum::Pattern | Checksum::PatternHdr | Checksum::Null => {}
    }
}

fn sha1(data: &[u8]) -> [u8; 20] {
    let mut sum: [u8; 20] = Sha1::digest(data).into();
    for word in sum.chunks_exact_mut(4) {
        word.reverse();
    }
    sum
}

/// The initial state of SHA-256 (FIPS 180-4).
const SHA256: [u32; 8] = [
    0x6A09_E667,
    0xBB67_AE85,
    0x3C6E_F372,
    0xA54F_F53A,
    0x510E_527F,
    0x9B05_688C,
    0x1F83_D9AB,
    0x5BE0_CD19,
];

fn sha256(data: &[u8]) -> [u8; 64] {
    let mut state = SHA256;
    let (blocks, rest) = data.as_chunks::<64>();
    sha2::block_api::compress256(&mut state, blocks);
    let mut last = [0; 64];
    last[..rest.len()].copy_from_slice(rest);
    last[rest.len()] = 0x80;
    if rest.len() >= 56 {
        sha2::block_api::compress256(&mut state, &[last]);
        last = [0; 64];
    }
    last[56..].copy_from_slice(&(u64::from(data.len() as u32) << 3).to_le_bytes());
    sha2::block_api::compress256(&mut state, &[last]);
    for (byte, word) in last.iter_mut().zip(state) {
        *byte = word as u8;
    }
    last
}

fn sha512(data: &[u8]) -> [u8; 128] {
    let mut out = [0; 128];
    let (first, rest) = (data.len().min(128), data.len() % 128);
    out[..first].copy_from_slice(&data[..first]);
    out[..rest].copy_from_slice(&data[data.len() - rest..]);
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sum(checksum: Checksum, data: &[u8]) -> Vec<u8> {
        let mut out = [0; LONGEST];
        store(checksum, data, &mut out);
        out[..bytes(checksum)].to_vec()
    }

    #[test]
    fn standard_functions_give_their_check_values() {
        let check = b"123456789";
        assert_eq!(sum(Checksum::Crc7, check), [0x75]);
        assert_eq!(sum(Checksum::Crc16, check), 0xBB3Du16.to_le_bytes());
        assert_eq!(sum(Checksum::Crc32, check), 0x89A1_897Fu32.to_le_bytes());
        assert_eq!(
            sum(Checksum::Crc32c, check),
            (!0xE306_9283u32).to_le_bytes()
        );
        assert_eq!(
            sum(Checksum::Crc64, check),
            0xE9C6_D914_C4B8_D9CAu64.to_le_bytes()
        );
        assert_eq!(sum(Checksum::Xxhash, check), 0xF261_918Cu32.to_le_bytes());
    }

    #[test]
    fn every_byte_counts_in_every_checksum_that_is_one() {
        let data: Vec<u8> = (0..1000u32).map(|at| (at * 7 % 251) as u8).collect();
        for checksum in [
            Checksum::Md5,
            Checksum::Crc64,
            Checksum::Crc32,
            Checksum::Crc32c,
            Checksum::Crc16,
            Checksum::Crc7,
            Checksum::Sha1,
            Checksum::Sha256,
            Checksum::Sha3_224,
            Checksum::Sha3_256,
            Checksum::Sha3_384,
            Checksum::Sha3_512,
            Checksum::Xxhash,
        ] {
            let good = sum(checksum, &data);
            for at in 0..data.len() {
                let mut damaged = data.clone();
                damaged[at] ^= 1;
                assert_ne!(sum(checksum, &damaged), good, "{checksum:?} {at}");
            }
        }
    }
}
