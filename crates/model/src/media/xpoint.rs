//! A 3D XPoint drive: one shared pipe, and a fixed latency behind it.
//!
//! A request waits for the pipe, is served there for a time that depends on its direction and on the 4 KiB chunks that
//! it touches, and returns a fixed latency later. Data that is read leaves over the link chunk by chunk. The pipe takes
//! time for each change of direction, and now and then it stalls; both delay all requests behind. This explains the
//! knee of the read sweep at a depth of four to six, the flat 99th percentile, the bathtub curve of mixed reads and
//! writes, and the tails at every depth.
//!
//! There is no translation layer and no garbage collection: a write costs the same after any earlier writes. Requests
//! for the same chunk are served one at a time, and a write of part of a chunk reads it first.
//!
//! After a long time without power, the drive refreshes its media in the background for hours.
//!
//! The device around it models power states and temperature.
//!
//! Source: the figures of docs/accuracy.md, to which it is fitted; Wu et al., Towards an Unwritten Contract of Intel Optane
//! SSD (HotStorage 2019): chunks of 4 KiB, no two requests in one, no cost of translation.

use iogauge_core::generate::{Rng, Stream};
use iogauge_core::{Kind, Nanos};
use serde::{Deserialize, Serialize};

use crate::drive::{Access, Active, CHUNK, Drive, Returned};
use crate::explain::{Book, Ledger, Part, Pauses, Spent};
use crate::exponential::Exponential;
use crate::link::{Link, Way};
use crate::stalls::{StallSpec, Stalls};

/// All parameters. Times are in ns, in `[0, 1e9]`.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct XpointSpec {
    /// The pipe's time for the first chunk of a read.
    pub read_chunk_ns: f64,
    /// The pipe's time for each further chunk of a read.
    pub read_next_chunk_ns: f64,
    /// The pipe's time for the first chunk of a write.
    pub write_chunk_ns: f64,
    /// The pipe's time for each further chunk of a write.
    pub write_next_chunk_ns: f64,
    /// Added for each chunk of a request that begins within a chunk.
    pub misaligned_chunk_ns: f64,
    /// The pipe's time to change between reads and writes.
    pub turnaround_ns: f64,
    /// Time from the pipe to the host, for a read. Its chunks are busy meanwhile.
    pub read_latency_ns: f64,
    /// Time from the pipe to the host, for a write. Its chunks are busy meanwhile.
    pub write_latency_ns: f64,
    /// Mean of an exponential addition to either.
    pub jitter_ns: f64,
    /// Stalls of the pipe. A service is a read.
    pub read_stalls: Vec<StallSpec>,
    /// Stalls of the pipe. A service is a write.
    pub write_stalls: Vec<StallSpec>,
    /// Time of a flush or a trim: there is nothing to write back.
    pub command_ns: f64,
    /// The refresh in the background after a long time without power.
    pub refresh: Option<RefreshSpec>,
}

/// The refresh of all of the media, which takes hours after a long time without power.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct RefreshSpec {
    /// How long the drive has had power when a run begins, h, at least 0.
    pub powered_h: f64,
    /// How long the refresh takes, h, at least 0.
    pub lasts_h: f64,
    /// Distance between the beginnings of two pieces, ns, positive.
    pub every_ns: f64,
    /// Time for which a piece occupies the pipe.
    pub piece_ns: f64,
}

impl XpointSpec {
    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("read_chunk_ns", self.read_chunk_ns),
            ("read_next_chunk_ns", self.read_next_chunk_ns),
            ("write_chunk_ns", self.write_chunk_ns),
            ("write_next_chunk_ns", self.write_next_chunk_ns),
            ("misaligned_chunk_ns", self.misaligned_chunk_ns),
            ("turnaround_ns", self.turnaround_ns),
            ("read_latency_ns", self.read_latency_ns),
            ("write_latency_ns", self.write_latency_ns),
            ("jitter_ns", self.jitter_ns),
            ("command_ns", self.command_ns),
            (
                "refresh.piece_ns",
                self.refresh.map_or(0.0, |refresh| refresh.piece_ns),
            ),
        ] {
            if !(0.0..=1e9).contains(&value) {
                return Err(format!("{name} is {value}, not in [0, 1e9]"));
            }
        }
        if let Some(refresh) = self.refresh
            && !(refresh.every_ns > 0.0 && refresh.powered_h >= 0.0 && refresh.lasts_h >= 0.0)
        {
            return Err("refresh has a time that is not positive".into());
        }
        let stalls = self.read_stalls.iter().chain(&self.write_stalls);
        stalls.into_iter().try_for_each(StallSpec::check)
    }
}

/// Chunks that may still be busy. If two chunks share an entry, the table forgets one, and a wait for it is not
/// modelled. Few chunks are busy at a time, so this is rare.
#[derive(Debug)]
struct Locks(Box<[(u64, f64)]>);

impl Locks {
    const ENTRIES: usize = 1 << 10;

    fn new() -> Self {
        Self(vec![(u64::MAX, 0.0); Self::ENTRIES].into())
    }

    /// Returns when a chunk is free.
    #[inline]
    fn free_at(&self, chunk: u64) -> f64 {
        let (locked, until) = self.0[chunk as usize % Self::ENTRIES];
        if locked == chunk { until } else { 0.0 }
    }

    #[inline]
    fn lock(&mut self, chunk: u64, until: f64) {
        self.0[chunk as usize % Self::ENTRIES] = (chunk, until);
    }
}

/// The refresh in progress.
#[derive(Clone, Copy, Debug)]
struct Refresh {
    every: f64,
    piece: f64,
    /// When the next piece begins; infinite once it is over.
    next: f64,
    ends: f64,
}

impl Refresh {
    fn new(spec: Option<RefreshSpec>) -> Self {
        const HOUR: f64 = 3.6e12;
        let left = spec.map_or(0.0, |spec| (spec.lasts_h - spec.powered_h) * HOUR);
        Self {
            every: spec.map_or(0.0, |spec| spec.every_ns),
            piece: spec.map_or(0.0, |spec| spec.piece_ns),
            next: if left > 0.0 { 0.0 } else { f64::INFINITY },
            ends: left,
        }
    }

    /// Returns when a service that could begin at `begins` does begin.
    #[cold]
    fn delay(&mut self, begins: f64) -> f64 {
        // All pieces that began while the pipe was idle are over, except perhaps the last.
        let missed = libm::floor((begins - self.next) / self.every);
        self.next += missed * self.every;
        let ends = self.next + self.piece;
        self.next += self.every;
        if self.next > self.ends {
            self.next = f64::INFINITY;
        }
        begins.max(ends)
    }
}

/// The drive. Inner instants are fractions of a nanosecond, so that a rate is not rounded.
#[derive(Debug)]
pub struct Xpoint {
    spec: XpointSpec,
    jitter: Exponential,
    /// By direction: reads, writes.
    stalls: [Vec<Stalls>; 2],
    /// When the pipe is free.
    pipe: f64,
    last: Kind,
    link: Link,
    active: Active,
    locks: Locks,
    refresh: Refresh,
    /// Recent stalls and the ledgers of requests, if these are explained.
    pauses: Pauses,
    book: Option<Box<Book>>,
}

impl Xpoint {
    /// Creates a drive at rest.
    pub fn new(spec: XpointSpec, link: Link, seed: u64) -> Self {
        let stalls = |specs: &[StallSpec], first: usize| {
            let specs = specs.iter().enumerate();
            specs
                .map(|(index, &spec)| Stalls::new(spec, seed, first + index))
                .collect()
        };
        Self {
            stalls: [
                stalls(&spec.read_stalls, 0),
                stalls(&spec.write_stalls, spec.read_stalls.len()),
            ],
            jitter: Exponential::new(Rng::new(seed, Stream::Mix)),
            pipe: 0.0,
            last: Kind::Read,
            link,
            active: Active::default(),
            locks: Locks::new(),
            refresh: Refresh::new(spec.refresh),
            pauses: Pauses::default(),
            book: None,
            spec,
        }
    }

    /// Returns the pipe's time for a request, without turnaround and stalls.
    #[inline]
    fn service(&self, access: &Access, chunks: u64) -> f64 {
        let spec = &self.spec;
        let further = (chunks - 1) as f64;
        let head = !access.offset_bytes.is_multiple_of(CHUNK);
        let misaligned = if head {
            chunks as f64 * spec.misaligned_chunk_ns
        } else {
            0.0
        };
        if access.kind == Kind::Read {
            return spec.read_chunk_ns + further * spec.read_next_chunk_ns + misaligned;
        }
        let end = access.offset_bytes + u64::from(access.length_bytes);
        let tail = !end.is_multiple_of(CHUNK) && (chunks > 1 || !head);
        // A part of a chunk is read before it is written.
        let parts = f64::from(u8::from(head) + u8::from(tail)) * spec.read_chunk_ns;
        spec.write_chunk_ns + further * spec.write_next_chunk_ns + misaligned + parts
    }

    /// Returns when the pipe begins a request that could begin at `from`.
    #[inline]
    fn begin<L: Ledger>(&mut self, from: f64, kind: Kind, spent: &mut L) -> f64 {
        let mut begins = from.max(self.pipe);
        self.pauses.wait(begins, spent);
        if begins >= self.refresh.next {
            begins = self.refresh.delay(begins);
            spent.until(Part::Background, begins);
        }
        if kind != self.last {
            begins += self.spec.turnaround_ns;
            spent.until(Part::Turnaround, begins);
            self.last = kind;
        }
        let ready = begins;
        for stalls in &mut self.stalls[usize::from(kind == Kind::Write)] {
            begins += stalls.before_service() as f64;
        }
        if L::KEEPS && begins > ready {
            self.pauses.add(from, ready, begins);
            spent.until(Part::Stall, begins);
        }
        begins
    }

    /// Locks all chunks of a request, each for `time` once it is free, from `from` on. Returns when the last is done.
    #[inline]
    fn occupy(&mut self, from: f64, chunks: std::ops::RangeInclusive<u64>, time: f64) -> f64 {
        if chunks.start() == chunks.end() {
            // By far the most frequent case.
            let done = from.max(self.locks.free_at(*chunks.start())) + time;
            self.locks.lock(*chunks.start(), done);
            return done;
        }
        let free = chunks.clone().map(|chunk| self.locks.free_at(chunk));
        let done = free.fold(from, f64::max) + time;
        for chunk in chunks {
            self.locks.lock(chunk, done);
        }
        done
    }

    /// Returns when a read is done.
    #[inline]
    fn read(&mut self, now: f64, access: &Access, spent: &mut impl Ledger) -> f64 {
        let (first, last) = access.chunks();
        let service = self.service(access, last - first + 1);
        let begins = self.begin(now, Kind::Read, spent);
        self.pipe = begins + service;
        self.active.read_ns += service;
        // Data leaves in the pipe's order. A read that waits longer delays no other.
        let one = begins + self.spec.read_chunk_ns + self.spec.read_latency_ns;
        let all = self.pipe + self.spec.read_latency_ns;
        let piece = access.length_bytes.min(CHUNK as u32);
        let length = access.length_bytes;
        let arrival = self.link.stream(Way::Out, one, all, piece, length).ends;
        let jitter = self.jitter.draw() * self.spec.jitter_ns;
        let free = self.occupy(self.pipe, first..=last, self.spec.read_latency_ns + jitter);
        let done = arrival + (free - all);
        // If the link is the slower one, the request is on it as soon as its first chunk is there.
        let slow_link = arrival > all + f64::from(piece) * self.link.ns_per_byte() + 1.0;
        let ready = if slow_link { one } else { all };
        spent.until(Part::Pipe, ready - self.spec.read_latency_ns);
        spent.until(Part::Medium, ready);
        spent.until(Part::Link, arrival);
        spent.until(Part::ChunkLock, done - jitter);
        spent.until(Part::Jitter, done);
        done
    }

    /// Returns when a write is done.
    #[inline]
    fn write(&mut self, now: f64, access: &Access, spent: &mut impl Ledger) -> f64 {
        let (first, last) = access.chunks();
        let service = self.service(access, last - first + 1);
        // The pipe starts a write with its first chunk. The write does not end before its last chunk has arrived.
        let data = self.link.transfer(Way::In, now, access.length_bytes);
        let one = access.length_bytes.min(CHUNK as u32);
        let arrival = data.begins + f64::from(one) * self.link.ns_per_byte();
        let mut served = *spent;
        served.until(Part::Link, arrival);
        self.pipe = self.begin(arrival, Kind::Write, &mut served) + service;
        self.active.write_ns += service;
        let jitter = self.jitter.draw() * self.spec.jitter_ns;
        let latency = self.spec.write_latency_ns + jitter;
        let done = self.occupy(self.pipe.max(data.ends), first..=last, latency);
        if self.pipe >= data.ends {
            served.until(Part::Pipe, self.pipe);
            *spent = served;
        } else {
            spent.until(Part::Link, data.ends);
        }
        spent.until(Part::ChunkLock, done - latency);
        spent.until(Part::Medium, done - jitter);
        spent.until(Part::Jitter, done);
        done
    }

    /// Returns when a request is done that arrives at `now`.
    #[inline]
    fn serve(&mut self, now: f64, access: &Access, spent: &mut impl Ledger) -> f64 {
        let done = match access.kind {
            Kind::Read => self.read(now, access, spent),
            Kind::Write => self.write(now, access, spent),
            Kind::Trim | Kind::Sync | Kind::DataSync | Kind::RangeSync => {
                now + self.spec.command_ns
            }
        };
        spent.until(Part::Controller, done);
        done
    }

    /// Does what [`Drive::submit`] does, and keeps what the request spends its time on.
    #[cold]
    fn submit_explained(&mut self, now: Nanos, access: &Access) -> Nanos {
        let mut spent = Spent::since(now);
        let arrives = now as f64 + self.link.switch_ns();
        spent.until(Part::Link, arrives);
        let at = libm::ceil(self.serve(arrives, access, &mut spent)) as Nanos;
        if let Some(book) = &mut self.book {
            book.keep(access.ticket, at, spent);
        }
        at
    }
}

impl Drive for Xpoint {
    #[inline]
    fn submit(&mut self, now: Nanos, access: Access) -> Option<Nanos> {
        if self.book.is_some() {
            return Some(self.submit_explained(now, &access));
        }
        let now = now as f64 + self.link.switch_ns();
        Some(libm::ceil(self.serve(now, &access, &mut ())) as Nanos)
    }

    fn next_event(&self) -> Option<Nanos> {
        None
    }

    fn advance(&mut self, _: Nanos, _: &mut Vec<Returned>) {}

    fn active(&self) -> Active {
        self.active
    }

    fn explain(&mut self) {
        self.book = Some(Box::default());
    }

    fn is_explained(&self) -> bool {
        self.book.is_some()
    }

    fn take_spent(&mut self, ticket: u64, at: Nanos) -> Option<Spent> {
        self.book.as_mut()?.take(ticket, at)
    }
}

#[cfg(test)]
pub(crate) mod tests;
