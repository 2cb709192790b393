//! Decides what a worker issues next: direction, file, offset and length, by fio's rules.
//!
//! A *pass* covers the regions once. It ends when every region is exhausted (a sequential stream at its end, a random
//! map used up), or when the issued bytes equal the regions' bytes, whichever comes first. In mixed patterns reads and
//! writes count together; in the trimwrite patterns only writes count. If some files are likelier than others, only the
//! bytes end a pass: a file that is exhausted begins again. After a pass, the worker chooses:
//! [`Pattern::rewind`] continues with fresh random numbers, as fio does under time_based; [`Pattern::replay`] repeats
//! the same requests, as fio's loops do under randrepeat.
//!
//! Which file comes next is decided in `turns`. This differs from fio in four ways. A request never leaves its region. In
//! a random pattern, a sequential continuation that has no room continues at random instead of ending the job. Under a
//! random map each fixed size has an order of its own, and sizes that are never issued do not count. Shares may have
//! fractions of a percent.
//!
//! The limits of time, bytes (io_size) and number, and the rates, are the worker's.
//!
//! Source: fio 3.33's documentation and code; the tables of `tests/fio_facts.rs`, taken from fio 3.33.

use super::error::PatternError;
use super::io::Io;
use super::layout::{Shapes, in_order, lay_out};
use super::plain::Plain;
use super::region::{Place, Region};
use super::rng::{Chance, Rng, Stream};
use super::strides::Strides;
use super::syncs::Syncs;
use super::turns::Turns;
use crate::plan::{PatternPlan, Rw};
use crate::request::{Direction, Kind};

const TRIM: usize = Direction::Trim as usize;

/// How the direction of the next request is chosen.
#[derive(Clone, Copy, Debug)]
enum Mix {
    Always(Kind),
    /// A read with this probability, else a write.
    ReadWrite(Chance),
    /// A trim, then a write of the same blocks, file by file.
    TrimWrite,
}

/// Decides requests one by one, in nanoseconds and without allocating.
///
/// Memory: a few hundred bytes a file; under a random map with varying block sizes also 1 bit for every block of the
/// smallest size (32 MiB for 1 TiB in blocks of 4 KiB).
///
/// ```
/// use iogauge_core::generate::Pattern;
/// use iogauge_core::plan::{Distribution, FileOrder, PatternPlan, PerDirection, Rw, SizesPlan};
///
/// fn same<T: Clone>(value: T) -> PerDirection<T> {
///     PerDirection { read: value.clone(), write: value.clone(), trim: value }
/// }
/// let sizes = SizesPlan { minimum_bytes: 4096, maximum_bytes: 4096, split: vec![], align_bytes: 4096 };
/// let plan = PatternPlan {
///     rw: Rw::Randread,
///     sequence: 0,
///     sizes: same(sizes),
///     distribution: same(Distribution::Random),
///     percentage_random: same(100.0),
///     rwmix_read_percent: 50.0,
///     random_map: true,
///     fsync_every: 0,
///     fdatasync_every: 0,
///     sync_file_range: None,
///     sync_at_end: false,
///     file_order: FileOrder::Roundrobin,
///     file_distribution: Distribution::Random,
///     file_run: 1,
///     open_files: 0,
///     strides: None,
/// };
/// let mut pattern = Pattern::new(&plan, &[(1 << 20, 16 * 4096)], 1)?;
/// let mut offsets: Vec<u64> = std::iter::from_fn(|| pattern.next()).map(|io| io.offset_bytes).collect();
/// offsets.sort_unstable();
/// assert!(offsets.into_iter().eq((0..16).map(|block| (1 << 20) + block * 4096)));
/// # Ok::<(), iogauge_core::generate::PatternError>(())
/// ```
#[derive(Clone, Debug)]
pub struct Pattern {
    seed: u64,
    mix: Mix,
    random: bool,
    /// Requests in sequence from each random offset, at least 1. `run_left` counts those still to come.
    run_length: u64,
    run_left: u64,
    jump: [Chance; 3],
    shapes: Shapes,
    /// The fast path, if the pattern is plain.
    pub(super) plain: Option<Plain>,
    regions: Box<[Region]>,
    turns: Turns,
    strides: Option<Strides>,
    syncs: Syncs,
    pass_bytes: u64,
    issued_bytes: u64,
    draws: Draws,
}

/// The streams of random numbers: one for each kind of decision.
#[derive(Clone, Debug)]
struct Draws {
    offsets: Rng,
    sizes: Rng,
    mix: Rng,
    jumps: Rng,
}

impl Draws {
    fn new(seed: u64) -> Self {
        Self {
            offsets: Rng::new(seed, Stream::Offsets),
            sizes: Rng::new(seed, Stream::Sizes),
            mix: Rng::new(seed, Stream::Mix),
            jumps: Rng::new(seed, Stream::Jumps),
        }
    }
}

impl Pattern {
    /// Creates the pattern of the plan over the given regions, `(offset, bytes)` of each file.
    ///
    /// # Errors
    /// If a region has no room for the smallest request of a direction, if a distribution has nothing to draw, or if
    /// memory does not suffice for a random map.
    pub fn new(
        plan: &PatternPlan,
        regions: &[(u64, u64)],
        seed: u64,
    ) -> Result<Self, PatternError> {
        let mut draws = Draws::new(seed);
        let windows = plan
            .strides
            .map(|strides| Strides::windows(strides, regions));
        let drawn = windows.as_deref().unwrap_or(regions);
        let (shapes, built) = lay_out(plan, drawn, seed, &mut draws.offsets)?;
        let random = plan.rw.random();
        let mix = match plan.rw {
            Rw::Read | Rw::Randread => Mix::Always(Kind::Read),
            Rw::Write | Rw::Randwrite => Mix::Always(Kind::Write),
            Rw::Trim | Rw::Randtrim => Mix::Always(Kind::Trim),
            Rw::Readwrite | Rw::Randrw => {
                Mix::ReadWrite(Chance::from_percent(plan.rwmix_read_percent))
            }
            Rw::Trimwrite | Rw::Randtrimwrite => Mix::TrimWrite,
        };
        let plain = match mix {
            Mix::Always(kind) => shapes[kind.direction() as usize]
                .as_ref()
                .and_then(|shape| Plain::new(plan, kind, shape, &built)),
            Mix::ReadWrite(_) | Mix::TrimWrite => None,
        };
        Ok(Self {
            seed,
            mix,
            plain,
            random,
            run_length: if random {
                plan.sequence.max(1).unsigned_abs()
            } else {
                1
            },
            run_left: 0,
            jump: in_order(&plan.percentage_random).map(|percent| Chance::from_percent(*percent)),
            shapes,
            regions: built,
            turns: Turns::new(plan, regions.len(), seed),
            strides: plan.strides.map(|strides| Strides::new(strides, regions)),
            syncs: Syncs::new(
                plan.fsync_every,
                plan.fdatasync_every,
                plan.sync_file_range.map_or(0, |range| range.every),
            ),
            pass_bytes: regions
                .iter()
                .fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes)),
            issued_bytes: 0,
            draws,
        })
    }

    /// Places sequential requests with holes in files of the given lengths, for they wrap around at the ends of the
    /// files. With `by_files`, a pass with holes ends when all files are exhausted, whatever was issued: fio counts the
    /// bytes of a pass only under asynchronous engines.
    #[must_use]
    pub fn with_holes(mut self, file_bytes: impl Iterator<Item = u64>, by_files: bool) -> Self {
        if !self.random && self.shapes.iter().flatten().any(|shape| shape.gap != 0) {
            for (region, bytes) in self.regions.iter_mut().zip(file_bytes) {
                region.in_file(bytes);
            }
            if by_files {
                self.pass_bytes = u64::MAX;
            }
        }
        self
    }

    /// Returns the next request, or `None` at the end of the pass. Every pass has at least one request.
    #[inline]
    #[allow(clippy::should_implement_trait)] // Not an iterator: after None, a rewind continues.
    pub fn next(&mut self) -> Option<Io> {
        match &self.plain {
            Some(plain) if self.issued_bytes < self.pass_bytes => {
                let io = plain.next(&mut self.draws.offsets);
                self.issued_bytes += u64::from(io.length_bytes);
                Some(io)
            }
            Some(_) => None,
            None => self.next_of(None, true),
        }
    }

    /// Returns the bytes of each request of a burst; `None` if the pattern is not plain, and so has no bursts.
    #[inline(always)]
    pub(crate) fn burst_length(&self) -> Option<u64> {
        self.plain.as_ref().map(Plain::length)
    }

    /// Returns up to `most` requests, the same that [`Self::next`] would return one by one. Returns `None` if the
    /// pattern is not plain.
    #[inline(always)]
    pub(crate) fn burst(
        &mut self,
        most: usize,
    ) -> Option<impl ExactSizeIterator<Item = Io> + use<'_>> {
        let plain = self.plain.as_ref()?;
        let left = self.pass_bytes.saturating_sub(self.issued_bytes);
        // A pass seldom ends, and a division takes long.
        let count = if most as u64 * plain.length() <= left {
            most
        } else {
            left.div_ceil(plain.length()).min(most as u64) as usize
        };
        self.issued_bytes += count as u64 * plain.length();
        let offsets = &mut self.draws.offsets;
        Some((0..count).map(|_| plain.next(offsets)))
    }

    /// Works as [`Self::next`], but takes the given direction where the pattern would choose between reads and writes.
    /// A worker calls it if its rates decide which of the two is due. A sync that is due still comes first.
    #[inline]
    pub fn next_toward(&mut self, direction: Direction) -> Option<Io> {
        self.next_of(Some(direction), true)
    }

    /// Works as [`Self::next_toward`], but returns no sync. A worker calls it if it has not yet issued the write before
    /// the sync.
    #[inline]
    pub fn next_without_sync(&mut self, direction: Direction) -> Option<Io> {
        self.next_of(Some(direction), false)
    }

    /// Returns the sync that is due, to the file whose turn is next. Apart from `next_of`, which runs for every request.
    #[cold]
    fn take_sync(&mut self) -> Option<Io> {
        let target = self.turns.take(&self.regions)? as u32;
        let kind = self.syncs.take_due()?;
        Some(Io {
            target,
            kind,
            offset_bytes: 0,
            length_bytes: 0,
        })
    }

    #[inline]
    fn next_of(&mut self, wanted: Option<Direction>, syncs: bool) -> Option<Io> {
        if self.issued_bytes >= self.pass_bytes {
            return None;
        }
        if syncs
            && self.syncs.is_due()
            && let Some(sync) = self.take_sync()
        {
            return Some(sync);
        }
        let kind = match (self.mix, wanted) {
            (Mix::Always(kind), _) => Some(kind),
            (Mix::ReadWrite(_), Some(Direction::Read)) => Some(Kind::Read),
            (Mix::ReadWrite(_), Some(_)) => Some(Kind::Write),
            (Mix::ReadWrite(reads), None) => Some(if self.draws.mix.chance(reads) {
                Kind::Read
            } else {
                Kind::Write
            }),
            (Mix::TrimWrite, _) => None,
        };
        let io = self.next_place(kind);
        if io.is_none() && self.issued_bytes == 0 {
            return self.begin_anew(kind);
        }
        io
    }

    /// Begins a pass again that would have no request: what the last pass left free of a map shared by reads and writes
    /// may lie past the end of the blocks of this direction.
    #[cold]
    fn begin_anew(&mut self, kind: Option<Kind>) -> Option<Io> {
        self.rewind();
        self.next_place(kind)
    }

    /// Returns the next request of this kind, or a trim or write where that is `None`; `None` at the end of the pass.
    #[inline]
    fn next_place(&mut self, kind: Option<Kind>) -> Option<Io> {
        while let Some(target) = self.turns.take(&self.regions) {
            let placed = match kind {
                Some(kind) => self
                    .place(target, kind.direction() as usize)
                    .map(|place| (kind, place)),
                None => self.trim_or_write(target),
            };
            match placed {
                Some((kind, place)) => return Some(self.issue(target, kind, place)),
                None if self.turns.favour_files() => {
                    self.regions[target].replay(&mut self.draws.offsets);
                    self.turns.close(target);
                }
                None => self.regions[target].done = true,
            }
        }
        None
    }

    /// Starts the next pass with fresh random numbers. Exhausted regions begin again; other sequential streams continue
    /// where they are.
    pub fn rewind(&mut self) {
        self.issued_bytes = 0;
        self.turns.end_pass();
        for region in &mut self.regions {
            region.rewind(&self.shapes, &mut self.draws.offsets);
        }
    }

    /// Starts the next pass at the beginning of every region with the first pass's random numbers, so that it repeats
    /// the same requests.
    pub fn replay(&mut self) {
        self.issued_bytes = 0;
        self.turns.replay();
        self.run_left = 0;
        self.draws = Draws::new(self.seed);
        if let Some(strides) = &mut self.strides {
            strides.replay(&mut self.regions);
        }
        for region in &mut self.regions {
            region.replay(&mut self.draws.offsets);
        }
    }

    #[inline]
    fn issue(&mut self, target: usize, kind: Kind, (offset_bytes, length_bytes): Place) -> Io {
        let target = target as u32;
        if let Some(strides) = &mut self.strides {
            strides.issued(length_bytes);
        }
        if !(matches!(self.mix, Mix::TrimWrite) && kind == Kind::Trim) {
            self.issued_bytes += u64::from(length_bytes);
        }
        if kind == Kind::Write {
            self.syncs.written();
        }
        Io {
            target,
            kind,
            offset_bytes,
            length_bytes,
        }
    }

    /// Returns a write of the blocks just trimmed in this region; if there are none, a trim.
    fn trim_or_write(&mut self, target: usize) -> Option<(Kind, Place)> {
        if let Some(place) = self.regions[target].trimmed.take() {
            return Some((Kind::Write, place));
        }
        let place = self.place(target, TRIM)?;
        self.regions[target].trimmed = Some(place);
        Some((Kind::Trim, place))
    }

    /// Returns the place of a direction's next request in a region; `None` if the region is exhausted.
    #[inline]
    fn place(&mut self, target: usize, direction: usize) -> Option<Place> {
        let region = &mut self.regions[target];
        let shape = self.shapes[direction].as_ref()?;
        if let Some(strides) = &mut self.strides {
            strides.turn(target, direction, region, &mut self.draws.offsets);
        }
        if !self.random {
            return region.sequential(direction, shape, &mut self.draws.sizes);
        }
        // Within a run, and for the sequential share that percentage_random leaves, continue where the last request
        // ended. As in fio, such requests neither check nor mark the random map.
        let jump = if self.run_left > 0 {
            self.run_left -= 1;
            false
        } else {
            self.run_left = self.run_length - 1;
            self.draws.jumps.chance(self.jump[direction])
        };
        let went_on = if jump {
            None
        } else {
            region.sequential(direction, shape, &mut self.draws.sizes)
        };
        let draws = &mut self.draws;
        let placed = went_on
            .or_else(|| region.random(direction, shape, &mut draws.offsets, &mut draws.sizes));
        match placed {
            None if self.turns.favour_files() => self.begin_file(target, direction),
            _ => placed,
        }
    }

    /// Begins a file again that is exhausted, and returns its first place. As in fio, a file that is read in order is
    /// closed at its end; one that is read at random goes on.
    #[cold]
    fn begin_file(&mut self, target: usize, direction: usize) -> Option<Place> {
        let (region, draws) = (&mut self.regions[target], &mut self.draws);
        let shape = self.shapes[direction].as_ref()?;
        region.replay(&mut draws.offsets);
        region.random(direction, shape, &mut draws.offsets, &mut draws.sizes)
    }
}
