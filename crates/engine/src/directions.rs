//! What a pattern does to its files, as engines need to know it before the first request.

use iogauge_core::plan::{PatternPlan, Rw, SizesPlan};

/// Which kinds of request a pattern issues.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Directions {
    pub(crate) read: bool,
    pub(crate) write: bool,
    pub(crate) trim: bool,
}

impl Directions {
    pub(crate) const fn of(rw: Rw) -> Directions {
        let (read, write, trim) = match rw {
            Rw::Read | Rw::Randread => (true, false, false),
            Rw::Write | Rw::Randwrite => (false, true, false),
            Rw::Trim | Rw::Randtrim => (false, false, true),
            Rw::Readwrite | Rw::Randrw => (true, true, false),
            Rw::Trimwrite | Rw::Randtrimwrite => (false, true, true),
        };
        Directions { read, write, trim }
    }

    /// Whether the file's contents change.
    pub(crate) const fn changes(self) -> bool {
        self.write || self.trim
    }

    /// The sizes of the directions that move data through memory, with the direction's name.
    pub(crate) fn data(
        self,
        pattern: &PatternPlan,
    ) -> impl Iterator<Item = (&'static str, &SizesPlan)> {
        let read = self.read.then_some(("read", &pattern.sizes.read));
        let write = self.write.then_some(("write", &pattern.sizes.write));
        read.into_iter().chain(write)
    }

    /// The largest buffer that a request needs; at least one byte, so that trims have an address too.
    pub(crate) fn largest_bytes(self, pattern: &PatternPlan) -> usize {
        let largest_of = |sizes: &SizesPlan| {
            sizes
                .split
                .iter()
                .map(|share| share.size_bytes)
                .fold(sizes.maximum_bytes, u32::max)
        };
        self.data(pattern)
            .map(|(_, sizes)| largest_of(sizes))
            .max()
            .unwrap_or(1) as usize
    }
}
