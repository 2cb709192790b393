//! A 3D XPoint drive: one shared pipe, and channels to the media behind it.
//!
//! A request waits for the pipe, which passes its 4 KiB chunks on to their channels, one after the other. A channel is
//! busy with a chunk while the media reads or writes it, so two requests for chunks of one channel wait for each other.
//! The pipe limits the rate: this explains the knee of the read sweep at a depth of four to six. The channels are less
//! than half busy even then, so they cost no rate, but they spread the latencies: at depth 1 no request waits for a
//! channel, and 99 % are within a microsecond, while at depth 16 the 99th percentile is far above the median. Now and
//! then a channel stalls, and the requests for its chunks wait; those of the other channels do not. The pipe takes time
//! for each change of direction, which explains the bathtub curve of mixed reads and writes.
//!
//! There is no translation layer and no garbage collection: a write costs the same after any earlier writes. Requests
//! for the same chunk share a channel, and so are served one at a time. A write of part of a chunk reads it first.
//!
//! After a long time without power, the drive refreshes its media in the background for hours.
//!
//! The device around it models power states and temperature.
//!
//! Source: the figures of docs/accuracy.md, to which it is fitted; Intel's product brief (seven channels); Wu et al.,
//! Towards an Unwritten Contract of Intel Optane SSD (HotStorage 2019): chunks of 4 KiB, no two requests in one, no cost
//! of translation.

use iogauge_core::generate::{Rng, Stream};
use iogauge_core::{Kind, Nanos};
use serde::{Deserialize, Serialize};

use crate::drive::{Access, Active, CHUNK, Drive, Returned, rounded_up};
use crate::explain::{Book, Ledger, Part, Pauses, Spent};
use crate::exponential::Exponential;
use crate::link::{Link, Way};
use crate::media::placement::striped;
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
    /// Channels to the media, in `[1, 64]`. Neighbouring chunks are on neighbouring channels.
    pub channels: u32,
    /// A channel's time to read a chunk.
    pub read_media_ns: f64,
    /// A channel's time to write a chunk.
    pub write_media_ns: f64,
    /// Time from the media to the host. It occupies no part of the drive.
    pub latency_ns: f64,
    /// Mean of an exponential addition to that.
    pub jitter_ns: f64,
    /// Stalls of a channel. A service is a chunk that is read.
    pub read_stalls: Vec<StallSpec>,
    /// Stalls of a channel. A service is a chunk that is written.
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
            ("read_media_ns", self.read_media_ns),
            ("write_media_ns", self.write_media_ns),
            ("latency_ns", self.latency_ns),
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
        if !(1..=64).contains(&self.channels) {
            return Err(format!("channels is {}, not in [1, 64]", self.channels));
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

/// What a request needs of the pipe and of the channels. Times are in ns.
#[derive(Clone, Copy, Debug)]
struct Service {
    first_chunk: u64,
    last_chunk: u64,
    /// The pipe's time for the first chunk, and for each further one.
    first: f64,
    next: f64,
    /// A channel's time for a chunk.
    media: f64,
    /// Whether the first and the last chunk are written in part.
    head: bool,
    tail: bool,
}

impl Service {
    /// Returns the pipe's time for a chunk.
    #[inline]
    fn pipe(&self, chunk: u64) -> f64 {
        if chunk == self.first_chunk {
            self.first
        } else {
            self.next
        }
    }

    /// Whether a chunk is written in part.
    #[inline]
    fn modifies(&self, chunk: u64) -> bool {
        (self.head && chunk == self.first_chunk) || (self.tail && chunk == self.last_chunk)
    }
}

/// When a chunk comes from station to station, ns.
#[derive(Clone, Copy, Debug, Default)]
struct Course {
    channel: usize,
    /// It leaves the pipe.
    leaves: f64,
    /// Its channel is free.
    starts: f64,
    /// Its channel stalls no longer.
    serves: f64,
    /// Its channel is done.
    done: f64,
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
    /// When each channel is free.
    channels: Box<[f64]>,
    link: Link,
    active: Active,
    refresh: Refresh,
    /// Recent changes of direction, stalls of each channel, and the ledgers of requests, if these are explained.
    turnarounds: Pauses,
    pauses: Box<[Pauses]>,
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
            channels: vec![0.0; spec.channels as usize].into(),
            link,
            active: Active::default(),
            refresh: Refresh::new(spec.refresh),
            turnarounds: Pauses::of(Part::Turnaround),
            pauses: (0..spec.channels)
                .map(|_| Pauses::of(Part::Stall))
                .collect(),
            book: None,
            spec,
        }
    }

    /// Returns what a request needs of the pipe and of the channels.
    #[inline]
    fn service(&self, access: &Access) -> Service {
        let spec = &self.spec;
        let (first_chunk, last_chunk) = access.chunks();
        let (first, next, media) = match access.kind {
            Kind::Read => (
                spec.read_chunk_ns,
                spec.read_next_chunk_ns,
                spec.read_media_ns,
            ),
            _ => (
                spec.write_chunk_ns,
                spec.write_next_chunk_ns,
                spec.write_media_ns,
            ),
        };
        let head = !access.offset_bytes.is_multiple_of(CHUNK);
        let misaligned = if head { spec.misaligned_chunk_ns } else { 0.0 };
        let end = access.offset_bytes + u64::from(access.length_bytes);
        let tail = !end.is_multiple_of(CHUNK) && (first_chunk < last_chunk || !head);
        Service {
            first_chunk,
            last_chunk,
            first: first + misaligned,
            next: next + misaligned,
            media,
            head: head && access.kind == Kind::Write,
            tail: tail && access.kind == Kind::Write,
        }
    }

    /// Returns when the pipe begins a request that came at `now` and could begin at `from`.
    #[inline]
    fn begin<L: Ledger>(&mut self, now: f64, from: f64, kind: Kind, spent: &mut L) -> f64 {
        let mut begins = from.max(self.pipe);
        if L::KEEPS {
            self.turnarounds.wait(Part::Queue, begins, spent);
        }
        if begins >= self.refresh.next {
            begins = self.refresh.delay(begins);
            spent.until(Part::Background, begins);
        }
        if kind != self.last {
            let ready = begins + self.spec.turnaround_ns;
            if L::KEEPS {
                self.turnarounds.add(now, begins, ready);
                spent.until(Part::Turnaround, ready);
            }
            begins = ready;
            self.last = kind;
        }
        begins
    }

    /// Takes the chunks of a request through the pipe, from `begins` on, and through their channels. Returns the course
    /// of the chunk that is done last.
    #[inline(always)] // Returning the course through memory would take as long as a service.
    fn pass<L: Ledger>(&mut self, begins: f64, kind: Kind, service: &Service) -> Course {
        let mut leaves = begins;
        let mut last = Course::default();
        // Most requests have one chunk, for which a range would cost more than its service.
        let mut chunk = service.first_chunk;
        loop {
            leaves += service.pipe(chunk);
            let mut media = service.media;
            if service.modifies(chunk) {
                // It is read before it is written.
                leaves += self.spec.read_chunk_ns;
                media += self.spec.read_media_ns;
            }
            let mut stalled = 0;
            for stalls in &mut self.stalls[usize::from(kind == Kind::Write)] {
                stalled += stalls.before_service();
            }
            let channel = striped(chunk, self.channels.len() as u64) as usize;
            let starts = leaves.max(self.channels[channel]);
            let serves = starts + stalled as f64;
            let done = serves + media;
            self.channels[channel] = done;
            if L::KEEPS && stalled > 0 {
                self.pauses[channel].add(leaves, starts, serves);
            }
            if done > last.done {
                last = Course {
                    channel,
                    leaves,
                    starts,
                    serves,
                    done,
                };
            }
            if chunk == service.last_chunk {
                break;
            }
            chunk += 1;
        }
        self.pipe = leaves;
        last
    }

    /// Notes the course of a chunk.
    #[inline]
    fn note<L: Ledger>(&self, course: &Course, spent: &mut L) {
        if !L::KEEPS {
            return;
        }
        spent.until(Part::Pipe, course.leaves);
        self.pauses[course.channel].wait(Part::ChannelWait, course.starts, spent);
        spent.until(Part::Stall, course.serves);
        spent.until(Part::Channel, course.done);
    }

    /// Returns when a read is done.
    #[inline]
    fn read<L: Ledger>(&mut self, now: f64, access: &Access, spent: &mut L) -> f64 {
        let service = self.service(access);
        let begins = self.begin(now, now, Kind::Read, spent);
        let course = self.pass::<L>(begins, Kind::Read, &service);
        self.active.read_ns += self.pipe - begins;
        // Data leaves in the pipe's order. A read that waits for its channel delays no other.
        let one = begins + service.first + service.media;
        let all = self.pipe + service.media;
        let piece = access.length_bytes.min(CHUNK as u32);
        let length = access.length_bytes;
        let arrival = self.link.stream(Way::Out, one, all, piece, length).ends;
        // If the link is the slower one, the request is on it as soon as its first chunk is there.
        if arrival > all + f64::from(piece) * self.link.ns_per_byte() + 1.0 {
            spent.until(Part::Pipe, one - service.media);
            spent.until(Part::Channel, one);
            spent.until(Part::Link, arrival);
        }
        self.note(&course, spent);
        let waited = course.done - all;
        spent.until(Part::Link, arrival + waited);
        self.answer(arrival + waited, spent)
    }

    /// Returns when a write is done.
    #[inline]
    fn write<L: Ledger>(&mut self, now: f64, access: &Access, spent: &mut L) -> f64 {
        let service = self.service(access);
        // The pipe starts a write with its first chunk. The write does not end before its last chunk has arrived.
        let data = self.link.transfer(Way::In, now, access.length_bytes);
        let one = access.length_bytes.min(CHUNK as u32);
        let arrival = data.begins + f64::from(one) * self.link.ns_per_byte();
        let mut served = *spent;
        served.until(Part::Link, arrival);
        let begins = self.begin(now, arrival, Kind::Write, &mut served);
        let course = self.pass::<L>(begins, Kind::Write, &service);
        self.active.write_ns += self.pipe - begins;
        if course.done >= data.ends {
            self.note(&course, &mut served);
            *spent = served;
        } else {
            spent.until(Part::Link, data.ends);
        }
        self.answer(course.done.max(data.ends), spent)
    }

    /// Returns when the host sees a request whose last data is there at `from`.
    #[inline]
    fn answer(&mut self, from: f64, spent: &mut impl Ledger) -> f64 {
        let answered = from + self.spec.latency_ns;
        let done = answered + self.jitter.draw() * self.spec.jitter_ns;
        spent.until(Part::Controller, answered);
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
        let at = rounded_up(self.serve(arrives, access, &mut spent));
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
        Some(rounded_up(self.serve(now, &access, &mut ())))
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
