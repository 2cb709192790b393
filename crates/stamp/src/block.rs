//! What the sectors of a block say.

use crate::stamp::{SECTOR_BYTES, Stamp, Unreadable};

/// What a sector says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Sector {
    /// It holds a version that belongs here.
    Version {
        /// The write.
        sequence: u64,
        /// How often the block had been written with it.
        generation: u32,
    },
    /// It holds what this run wrote elsewhere.
    Elsewhere {
        /// The write.
        sequence: u64,
        /// The file where it belongs.
        file: u32,
        /// Its offset there.
        address_bytes: u64,
    },
    /// It holds zeroes.
    Blank,
    /// It holds something that this run did not write.
    Foreign,
    /// It holds a damaged stamp of this run, or damaged content.
    Damaged,
}

impl Sector {
    /// Reads a sector that should be at this address, in this run.
    fn read(sector: &[u8], run: u64, file: u32, address_bytes: u64) -> Self {
        match Stamp::read(sector, run, file, address_bytes) {
            Err(Unreadable::Blank) => Sector::Blank,
            Err(Unreadable::Foreign) => Sector::Foreign,
            Err(Unreadable::Damaged) => Sector::Damaged,
            Ok(stamp) if stamp.run != run => Sector::Foreign,
            Ok(stamp) if stamp.address_bytes == address_bytes && stamp.file == file => {
                Sector::Version {
                    sequence: stamp.sequence,
                    generation: stamp.generation,
                }
            }
            Ok(stamp) => Sector::Elsewhere {
                sequence: stamp.sequence,
                file: stamp.file,
                address_bytes: stamp.address_bytes,
            },
        }
    }
}

/// What the sectors of a block say, in their order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Block {
    /// A single one if all are of the same version: nearly all blocks of a drive.
    sectors: Box<[Sector]>,
    count: u32,
}

impl Block {
    /// Reads a block that should be at this address, in this run.
    ///
    /// # Panics
    /// If it is empty, or not of whole sectors.
    pub fn read(bytes: &[u8], run: u64, file: u32, address_bytes: u64) -> Self {
        assert!(!bytes.is_empty() && bytes.len().is_multiple_of(SECTOR_BYTES));
        let addresses = (address_bytes..).step_by(SECTOR_BYTES);
        let sectors = bytes.chunks_exact(SECTOR_BYTES).zip(addresses);
        let sectors: Vec<Sector> = sectors
            .map(|(sector, address)| Sector::read(sector, run, file, address))
            .collect();
        let count = sectors.len() as u32;
        let uniform = sectors.iter().all(|&sector| sector == sectors[0]);
        let kept = if uniform { &sectors[..1] } else { &sectors[..] };
        Self {
            sectors: kept.into(),
            count,
        }
    }

    /// Returns its sectors in their order.
    pub fn sectors(&self) -> impl Iterator<Item = Sector> {
        let uniform = self.sectors.len() == 1;
        (0..self.count as usize).map(move |index| self.sectors[if uniform { 0 } else { index }])
    }

    /// Returns the different sectors, or all of them.
    pub fn kinds(&self) -> &[Sector] {
        &self.sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_sector_speaks_for_itself() {
        let mut bytes = [0; 4096];
        let mut stamp = Stamp {
            run: 5,
            file: 1,
            address_bytes: 8192,
            sequence: 3,
            generation: 2,
        };
        stamp.write_all(&mut bytes);
        let version = Sector::Version {
            sequence: 3,
            generation: 2,
        };
        let uniform_block = Block::read(&bytes, 5, 1, 8192);
        assert_eq!(uniform_block.sectors().collect::<Vec<_>>(), [version; 8]);
        assert_eq!(uniform_block.kinds(), [version]);
        bytes[700] ^= 1;
        bytes[1024..1536].fill(0);
        stamp.run = 6;
        stamp.write(&mut bytes[1536..2048]);
        let mixed = Block::read(&bytes, 5, 1, 8192);
        let expected = [
            version,
            Sector::Damaged,
            Sector::Blank,
            Sector::Foreign,
            version,
        ];
        assert_eq!(mixed.kinds()[..5], expected);
        assert_eq!(mixed.sectors().count(), 8);
        let elsewhere = Sector::Elsewhere {
            sequence: 3,
            file: 1,
            address_bytes: 8192,
        };
        assert_eq!(Block::read(&bytes, 5, 0, 8192).kinds()[0], elsewhere);
        assert_eq!(Block::read(&bytes, 5, 1, 0).kinds()[0], elsewhere);
    }
}
