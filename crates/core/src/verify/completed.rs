//! The last writes that returned, of each file: what a later run must know to verify no write that was still in flight.
//!
//! Nothing allocates after [`Completed::new`].
//!
//! Source: fio 3.33's io_u.c (file_log_write_comp) and verify.c (__fill_file_completions).

use crate::generate::Io;
use crate::plan::CompletedWrite;

/// The last completions of each file, as many as can be in flight.
#[derive(Debug)]
pub struct Completed {
    files: Box<[Ring]>,
}

#[derive(Clone, Debug)]
struct Ring {
    offsets: Box<[u64]>,
    /// Writes that returned, also those that are no longer in the ring.
    count: u64,
}

impl Completed {
    /// Creates room for `iodepth` completions of each of `files`.
    pub fn new(files: usize, iodepth: u32) -> Self {
        let ring = Ring {
            offsets: vec![0; iodepth as usize].into_boxed_slice(),
            count: 0,
        };
        Self {
            files: vec![ring; files].into_boxed_slice(),
        }
    }

    /// Notes a write that succeeded.
    #[inline]
    pub fn push(&mut self, io: &Io) {
        let ring = &mut self.files[io.target as usize];
        let place = (ring.count % ring.offsets.len() as u64) as usize;
        ring.offsets[place] = io.offset_bytes;
        ring.count += 1;
    }

    /// Returns the writes that it has, file by file, the last first.
    pub fn latest(&self) -> Vec<CompletedWrite> {
        let files = self.files.iter().enumerate();
        files
            .flat_map(|(target, ring)| {
                let depth = ring.offsets.len() as u64;
                (ring.count.saturating_sub(depth)..ring.count)
                    .rev()
                    .map(move |nth| CompletedWrite {
                        target: target as u32,
                        offset_bytes: ring.offsets[(nth % depth) as usize],
                    })
            })
            .collect()
    }
}
