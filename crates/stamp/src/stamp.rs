//! The stamp at the beginning of each sector: which write it is of, and where it belongs.
//!
//! A stamp for each sector of 512 bytes, rather than for each block, tells a torn block from a corrupt one: the sectors
//! of a torn block are whole, and of different writes. The checksum is over the entire sector, whatever fills the rest.
//!
//! Layout, little-endian: magic (8 bytes), run (8), address (8), sequence (8), generation (4), file (4), CRC-32C of all
//! other bytes (4), zeroes (4).

/// Bytes of a sector: what a drive tears at the smallest.
pub const SECTOR_BYTES: usize = 512;

/// Bytes of a stamp. The rest of the sector is free.
pub const STAMP_BYTES: usize = 48;

const MAGIC: [u8; 8] = *b"iogSTAMP";
const CHECKSUM: std::ops::Range<usize> = 40..44;

/// What a sector says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stamp {
    /// The run that wrote it.
    pub run: u64,
    /// Its file, by the number in the run.
    pub file: u32,
    /// The sector's offset in its file, bytes.
    pub address_bytes: u64,
    /// The write, from 1 on in the order in which writes began.
    pub sequence: u64,
    /// How often its block had been written in this run, with this write.
    pub generation: u32,
}

/// Why a sector has no valid stamp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unreadable {
    /// It has none: all zeroes.
    Blank,
    /// It has none: something else.
    Foreign,
    /// It has one of this run that is damaged.
    Damaged,
}

impl Stamp {
    /// Writes the stamp into a sector whose rest is filled.
    ///
    /// # Panics
    /// If the sector has not [`SECTOR_BYTES`] bytes.
    pub fn write(&self, sector: &mut [u8]) {
        assert_eq!(sector.len(), SECTOR_BYTES);
        sector[..8].copy_from_slice(&MAGIC);
        sector[8..16].copy_from_slice(&self.run.to_le_bytes());
        sector[16..24].copy_from_slice(&self.address_bytes.to_le_bytes());
        sector[24..32].copy_from_slice(&self.sequence.to_le_bytes());
        sector[32..36].copy_from_slice(&self.generation.to_le_bytes());
        sector[36..40].copy_from_slice(&self.file.to_le_bytes());
        sector[44..STAMP_BYTES].fill(0);
        let checksum = checksum_of(sector);
        sector[CHECKSUM].copy_from_slice(&checksum.to_le_bytes());
    }

    /// Writes the stamps of consecutive sectors, of which this is the first.
    ///
    /// ```
    /// use iogauge_stamp::Stamp;
    ///
    /// let first = Stamp { run: 7, file: 0, address_bytes: 4096, sequence: 3, generation: 1 };
    /// let mut block = [0; 4096];
    /// first.write_all(&mut block);
    /// assert_eq!(Stamp::read(&block[512..1024], 7, 0, 4608).unwrap().sequence, 3);
    /// ```
    ///
    /// # Panics
    /// If the bytes are not whole sectors.
    pub fn write_all(&self, bytes: &mut [u8]) {
        assert!(bytes.len().is_multiple_of(SECTOR_BYTES));
        let mut stamp = *self;
        for sector in bytes.chunks_exact_mut(SECTOR_BYTES) {
            stamp.write(sector);
            stamp.address_bytes += SECTOR_BYTES as u64;
        }
    }

    /// Reads the stamp of a sector that should be at this address of this file, in this run. A valid stamp of another
    /// address, file or run is returned as it is.
    ///
    /// # Errors
    /// If it has no valid stamp. It is damaged, rather than foreign, if two of magic, run, and address with file are
    /// right: no single damage changes two of them.
    ///
    /// # Panics
    /// If the sector has not [`SECTOR_BYTES`] bytes.
    pub fn read(
        sector: &[u8],
        run: u64,
        file: u32,
        address_bytes: u64,
    ) -> Result<Self, Unreadable> {
        assert_eq!(sector.len(), SECTOR_BYTES);
        let (has_magic, stamp) = (sector[..8] == MAGIC, Self::decode(sector));
        let stored = u32_at(sector, CHECKSUM.start);
        if has_magic && stored == checksum_of(sector) {
            return Ok(stamp);
        }
        let is_ours = stamp.run == run;
        let is_here = stamp.address_bytes == address_bytes && stamp.file == file;
        let signs = [has_magic, is_ours, is_here];
        if signs.into_iter().filter(|&sign| sign).count() >= 2 {
            return Err(Unreadable::Damaged);
        }
        if sector.iter().all(|&byte| byte == 0) {
            return Err(Unreadable::Blank);
        }
        Err(Unreadable::Foreign)
    }

    fn decode(sector: &[u8]) -> Self {
        Self {
            run: u64_at(sector, 8),
            address_bytes: u64_at(sector, 16),
            sequence: u64_at(sector, 24),
            generation: u32_at(sector, 32),
            file: u32_at(sector, 36),
        }
    }
}

fn checksum_of(sector: &[u8]) -> u32 {
    let before = crc32c::crc32c(&sector[..CHECKSUM.start]);
    crc32c::crc32c_append(before, &sector[CHECKSUM.end..])
}

/// Returns the four bytes from `at` on as a number.
pub(crate) fn u32_at(bytes: &[u8], at: usize) -> u32 {
    let mut word = [0; 4];
    word.copy_from_slice(&bytes[at..at + 4]);
    u32::from_le_bytes(word)
}

/// Returns the eight bytes from `at` on as a number.
pub(crate) fn u64_at(bytes: &[u8], at: usize) -> u64 {
    let mut word = [0; 8];
    word.copy_from_slice(&bytes[at..at + 8]);
    u64::from_le_bytes(word)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stamps() -> impl Strategy<Value = Stamp> {
        // A run's number is random; with 0 an erased sector would look like one of its own.
        let numbers = (
            1..u64::MAX,
            0..4u32,
            0..1u64 << 40,
            1..u64::MAX,
            1..u32::MAX,
        );
        numbers.prop_map(|(run, file, sector, sequence, generation)| Stamp {
            run,
            file,
            address_bytes: sector * SECTOR_BYTES as u64,
            sequence,
            generation,
        })
    }

    fn sectors() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(any::<u8>(), SECTOR_BYTES)
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(stamp in stamps(), mut sector in sectors()) {
            let rest = sector[STAMP_BYTES..].to_vec();
            stamp.write(&mut sector);
            prop_assert_eq!(&sector[STAMP_BYTES..], &rest[..]);
            let read = |run, file, address| Stamp::read(&sector, run, file, address);
            prop_assert_eq!(read(stamp.run, stamp.file, stamp.address_bytes), Ok(stamp));
            prop_assert_eq!(read(stamp.run ^ 1, stamp.file + 1, 0), Ok(stamp));
        }

        #[test]
        fn any_flipped_bit_is_damage(
            stamp in stamps(), mut sector in sectors(), bit in 0..SECTOR_BYTES * 8
        ) {
            stamp.write(&mut sector);
            sector[bit / 8] ^= 1 << (bit % 8);
            let read = Stamp::read(&sector, stamp.run, stamp.file, stamp.address_bytes);
            prop_assert_eq!(read, Err(Unreadable::Damaged));
        }

        #[test]
        fn foreign_content_is_no_damage(sector in sectors(), run in 1u64.., address in any::<u64>()) {
            prop_assert_eq!(Stamp::read(&sector, run, 0, address), Err(Unreadable::Foreign));
        }
    }

    #[test]
    fn the_layout_stays() {
        let stamp = Stamp {
            run: 0x0102,
            file: 3,
            address_bytes: 0x1000,
            sequence: 5,
            generation: 6,
        };
        let mut sector = [0xee; SECTOR_BYTES];
        stamp.write(&mut sector);
        let head =
            b"iogSTAMP\x02\x01\0\0\0\0\0\0\0\x10\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x06\0\0\0\x03\0\0\0";
        assert_eq!(sector[..CHECKSUM.start], head[..]);
        assert_eq!(sector[CHECKSUM.end..STAMP_BYTES], [0; 4]);
        assert_eq!(u32_at(&sector, CHECKSUM.start), checksum_of(&sector));
    }

    #[test]
    fn an_erased_sector_is_blank() {
        assert_eq!(
            Stamp::read(&[0; SECTOR_BYTES], 1, 0, 0),
            Err(Unreadable::Blank)
        );
        assert_eq!(
            Stamp::read(&[0; SECTOR_BYTES], 1, 0, 512),
            Err(Unreadable::Blank)
        );
    }
}
