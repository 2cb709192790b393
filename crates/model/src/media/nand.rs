//! A flash drive: dies behind channels, a controller and a link, with a write buffer and a translation layer.
//!
//! **Reads** go through the controller to the dies of their pages, and back over the dies' channels and the link. Data
//! that is still in the buffer, or was never written, needs no die. **Writes** are done once they are in the buffer.
//! Dies with nothing else to program empty the buffer in units of a page on each plane of a die; writes wait while it
//! is full. Each unit adds a share of the moves and erases of garbage collection, which dies do first, so collection
//! limits the rate of sustained writes. **Dies** serve reads first, but a program that has begun continues (or is
//! suspended, if the drive can do that), so writes can slow down reads tenfold.
//!
//! Everything is a server with a queue. Where requests come in the order of service, their end is computed at once; all
//! else is an event. The drive's clock is the instant of the latest call.
//!
//! It does not model read-ahead, planes that read independently, wear levelling, read disturb, refresh, an SLC region
//! that shrinks as the drive fills, or merging of writes to one chunk in the buffer. Reads do not look up where a page
//! was put: the address determines their die, by striping or, on a drive that was written at random before, by a hash.

mod agenda;
mod background;
mod buffer;
mod channels;
mod counters;
mod dies;
pub mod ftl;
mod paths;
mod requests;
mod slc;
mod space;
pub mod spec;
mod victims;

use std::collections::VecDeque;

use iogauge_core::generate::{Rng, Stream};
use iogauge_core::{Kind, Nanos};

pub use counters::{NandCounters, Wear};
pub use spec::{NandSpec, SlcSpec, State};

use crate::drive::{Access, Active, CHUNK, Drive, Returned, rounded_up};
use crate::explain::{Part, Spent};
use crate::exponential::Exponential;
use crate::link::{Link, Way};
use crate::media::placement::{scattered, striped};
use crate::pending::Pending;
use crate::stalls::Stalls;
use agenda::{Agenda, Event};
use buffer::Buffer;
use channels::Channels;
use dies::Dies;
use paths::{PageRead, Paths};
use requests::Requests;
use slc::Slc;
use space::Space;

/// The drive. Inner instants are fractions of a nanosecond, so that a rate is not rounded.
#[derive(Debug)]
pub struct Nand {
    spec: NandSpec,
    /// Chunks that a die programs at once.
    unit_chunks: u32,
    /// Decides which pages are slow, which reads are retried, and how long programs take.
    rng: Rng,
    /// Lengths of jitter and retries.
    noise: Exponential,
    stalls: Vec<Stalls>,
    link: Link,
    /// When the controller is free.
    controller: f64,
    /// When the controller can take the next chunk into the buffer.
    intake: f64,
    channels: Channels,
    dies: Dies,
    buffer: Buffer,
    slc: Option<Slc>,
    space: Space,
    /// Work that dies must do first: units that collection moves, reads for them, and erases.
    moves_due: f64,
    move_reads_due: f64,
    erases_due: f64,
    /// Writes that wait for room in the buffer.
    waiting: VecDeque<u32>,
    /// Flushes, each with the number of units that must be programmed before it.
    flushes: VecDeque<(u32, u64)>,
    /// When the latest write entered the buffer.
    last_write: f64,
    /// Whether an [`Event::Idle`] is scheduled.
    watching: bool,
    /// Whether the last write is long enough ago to move data out of the SLC region.
    folding: bool,
    requests: Requests,
    agenda: Agenda,
    pending: Pending<u64>,
    active: Active,
    counters: NandCounters,
    /// Where the time of requests goes, if they are explained.
    paths: Option<Box<Paths>>,
}

impl Nand {
    /// Creates a drive at rest in the state [`NandSpec::initial`]. Requests must stay within its capacity.
    pub fn new(spec: NandSpec, capacity_bytes: u64, link: Link, seed: u64) -> Self {
        let space = Space::new(capacity_bytes, &spec);
        let kinds = spec.stalls.iter().enumerate();
        Self {
            unit_chunks: spec.unit_chunks(),
            rng: Rng::new(seed, Stream::Mix),
            noise: Exponential::new(Rng::new(seed, Stream::Arrivals)),
            stalls: kinds
                .map(|(index, &stall)| Stalls::new(stall, seed, index))
                .collect(),
            link,
            controller: 0.0,
            intake: 0.0,
            channels: Channels::new(spec.channels, spec.channel_Bps),
            dies: Dies::new(spec.dies, spec.suspend_ns, spec.reads_before_write),
            buffer: Buffer::new(spec.buffer_bytes, spec.unit_chunks()),
            slc: spec.slc.map(|slc| Slc::new(slc, space.pages())),
            space,
            moves_due: 0.0,
            move_reads_due: 0.0,
            erases_due: 0.0,
            waiting: VecDeque::new(),
            flushes: VecDeque::new(),
            last_write: 0.0,
            watching: false,
            folding: false,
            requests: Requests::default(),
            agenda: Agenda::default(),
            pending: Pending::default(),
            active: Active::default(),
            counters: NandCounters::default(),
            paths: None,
            spec,
        }
    }

    /// Returns the counts so far.
    pub fn counters(&self) -> NandCounters {
        self.counters
    }

    /// Returns how often its blocks were erased.
    pub fn wear(&self) -> Wear {
        Wear::of(self.space.ftl().erases())
    }

    /// Returns how many chunks the SLC region holds.
    pub fn slc_chunks(&self) -> u64 {
        self.slc.as_ref().map_or(0, Slc::held)
    }

    /// Processes the events until `now`.
    #[inline]
    fn catch_up(&mut self, now: f64) {
        while let Some((at, event)) = self.agenda.take(now) {
            match event {
                Event::Command { slot } => self.process_command(slot, at),
                Event::Read {
                    slot,
                    channel,
                    bytes,
                } => self.read(slot, channel, bytes, at),
                Event::Out { slot, bytes } => self.out(slot, bytes, at),
                Event::Arrived { slot } => self.part_arrived(slot, at),
                Event::Die { die } => self.check_die(die, at),
                Event::Idle => self.idle(at),
            }
        }
    }
}

impl Drive for Nand {
    #[inline]
    fn submit(&mut self, now: Nanos, access: Access) -> Option<Nanos> {
        let now = now as f64;
        self.catch_up(now);
        let slot = self.requests.add(access);
        let comes = now + self.link.switch_ns();
        let at = comes.max(self.controller) + self.spec.command_ns;
        self.controller = at;
        if let Some(paths) = &mut self.paths {
            paths.begin(slot, now, comes, self.spec.command_ns, at);
        }
        // The controller serves requests in order. If no event comes before, continue at once.
        if self.agenda.next().is_none_or(|next| next > at) {
            self.process_command(slot, at);
        } else {
            self.agenda.push(at, Event::Command { slot });
        }
        None
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        let done = self.pending.next();
        if self.requests.is_empty() {
            return done;
        }
        // The host sees an inner event only after the last step of a request, which takes at least this long. Until
        // then inner events can wait and be processed together.
        let counts = self.requests.by_kind();
        let last_step = if counts.others > 0 {
            0.0
        } else if counts.reads == 0 {
            self.spec.write_latency_ns
        } else if counts.writes == 0 {
            self.spec.read_latency_ns
        } else {
            self.spec.read_latency_ns.min(self.spec.write_latency_ns)
        };
        let inside = self.agenda.next().map(|at| rounded_up(at + last_step));
        match (done, inside) {
            (Some(done), Some(inside)) => Some(done.min(inside)),
            (done, inside) => done.or(inside),
        }
    }

    #[inline]
    fn advance(&mut self, now: Nanos, returned: &mut Vec<Returned>) {
        self.catch_up(now as f64);
        self.pending.return_by(now, returned);
    }

    fn volatile(&self) -> bool {
        !self.spec.buffer_protected
    }

    #[inline]
    fn active(&self) -> Active {
        self.active
    }

    fn explain(&mut self) {
        self.paths = Some(Box::default());
    }

    fn is_explained(&self) -> bool {
        self.paths.is_some()
    }

    fn take_spent(&mut self, ticket: u64, at: Nanos) -> Option<Spent> {
        self.paths.as_mut()?.take(ticket, at)
    }
}

impl Nand {
    /// Continues a request after the controller has processed its command.
    #[inline]
    fn process_command(&mut self, slot: u32, at: f64) {
        let access = self.requests.get(slot).access;
        match access.kind {
            Kind::Read => {
                let (first, last) = access.chunks();
                self.read_pages(slot, first, last, at);
            }
            Kind::Write => self.start_write(slot, at),
            Kind::Trim => self.trim(slot, at),
            Kind::Sync | Kind::DataSync | Kind::RangeSync => self.flush(slot, at),
        }
    }

    /// Makes the end of a request visible to the host.
    #[inline]
    fn finish(&mut self, slot: u32, at: f64) {
        if let Some(paths) = &mut self.paths {
            let Access { ticket, kind, .. } = self.requests.get(slot).access;
            let latency = match kind {
                Kind::Read => self.spec.read_latency_ns,
                Kind::Write => self.spec.write_latency_ns,
                Kind::Trim | Kind::Sync | Kind::DataSync | Kind::RangeSync => 0.0,
            };
            paths.end(slot, ticket, latency, at);
        }
        let ticket = self.requests.remove(slot);
        self.pending.push(ticket, rounded_up(at));
    }

    /// Reads the pages of chunks `first` to `last` from their dies. Chunks in the buffer and unwritten ones need none.
    #[inline]
    fn read_pages(&mut self, slot: u32, first: u64, last: u64, at: f64) {
        let access = self.requests.get(slot).access;
        let begin = access.offset_bytes;
        let end = begin + u64::from(access.length_bytes);
        let unit_chunks = u64::from(self.unit_chunks);
        let mut chunk = first;
        while chunk <= last {
            let unit = chunk / unit_chunks;
            let next = ((unit + 1) * unit_chunks).min(last + 1);
            let bytes = if access.kind == Kind::Read {
                end.min(next * CHUNK) - begin.max(chunk * CHUNK)
            } else {
                (next - chunk) * CHUNK
            } as u32;
            self.requests.get_mut(slot).parts += 1;
            if self.needs_die(chunk, next) {
                let dies = self.dies.count() as u64;
                let die = match self.spec.initial {
                    State::Random => scattered(unit, dies),
                    State::Fresh | State::Sequential => striped(unit, dies),
                };
                let page = self.page_read(chunk);
                let busy = self.paths.is_some().then(|| self.dies.busy(die));
                let ends = self.dies.read(die, at, page.length);
                if let (Some(paths), Some(busy)) = (&mut self.paths, busy) {
                    paths.add_page(slot, busy, page, ends);
                }
                self.active.read_ns += page.length / self.dies.count() as f64;
                let channel = self.channels.of_die(die);
                let event = Event::Read {
                    slot,
                    channel,
                    bytes,
                };
                self.agenda.push(ends, event);
            } else {
                if let Some(paths) = &mut self.paths {
                    paths.add(slot);
                }
                self.agenda.push(at, self.after_channel(slot, bytes));
            }
            chunk = next;
        }
    }

    /// Whether any of chunks `[chunk, next)` lies only on a die.
    #[inline]
    fn needs_die(&mut self, chunk: u64, next: u64) -> bool {
        let mut needs = false;
        for chunk in chunk..next {
            if self.buffer.has(chunk) {
                self.counters.buffer_hits += 1;
            } else if self.space.is_written(chunk) {
                needs = true;
            } else {
                self.counters.unwritten_reads += 1;
            }
        }
        needs
    }

    /// Returns how long a read of a chunk keeps its die busy.
    #[inline]
    fn page_read(&mut self, chunk: u64) -> PageRead {
        let spec = &self.spec;
        let slow = spec.slow_read_share > 0.0 && self.rng.unit() < spec.slow_read_share;
        let mut length = if slow {
            spec.slow_read_ns
        } else {
            spec.read_ns
        };
        if let Some(slc) = &self.slc
            && slc.has(self.space.page_of(chunk))
        {
            length = slc.spec.read_ns;
        }
        let mut page = PageRead::default();
        if spec.retry_share > 0.0 && self.rng.unit() < spec.retry_share {
            self.counters.read_retries += 1;
            page.retry = self.noise.draw() * spec.retry_ns;
            length += page.retry;
        }
        for stalls in &mut self.stalls {
            let stall = stalls.before_service() as f64;
            page.stall += stall;
            length += stall;
        }
        self.counters.page_reads += 1;
        PageRead { length, ..page }
    }

    /// Sends bytes from a die's register over the channel.
    #[inline]
    fn read(&mut self, slot: u32, channel: u32, bytes: u32, at: f64) {
        let arrival = self.channels.transfer(channel, at, bytes);
        if let Some(paths) = &mut self.paths {
            let begins = arrival - self.channels.time(bytes);
            let parts = [(Part::ChannelWait, begins), (Part::Channel, arrival)];
            paths.goes_on(slot, at, &parts);
        }
        self.agenda.push(arrival, self.after_channel(slot, bytes));
    }

    /// Continues a request after the controller has a part of it.
    #[inline]
    fn after_channel(&self, slot: u32, bytes: u32) -> Event {
        match self.requests.get(slot).access.kind {
            Kind::Read => Event::Out { slot, bytes },
            _ => Event::Arrived { slot },
        }
    }

    /// Continues a read after the controller has a part of it. The last part ends it.
    #[inline]
    fn out(&mut self, slot: u32, bytes: u32, at: f64) {
        let ends = self.link.transfer(Way::Out, at, bytes).ends;
        if let Some(paths) = &mut self.paths {
            paths.goes_on(slot, at, &[(Part::Link, ends)]);
        }
        let request = self.requests.get_mut(slot);
        request.parts -= 1;
        if request.parts > 0 {
            return;
        }
        if let Some(paths) = &mut self.paths {
            paths.join(slot);
        }
        // The link carries the parts in order, so the last one ends last.
        let spec = &self.spec;
        let latency = spec.read_latency_ns + self.noise.draw() * spec.read_jitter_ns;
        self.finish(slot, ends + latency);
    }
}

#[cfg(test)]
pub(crate) mod tests;
