//! A hard disk, for comparison: one arm that seeks, platters that turn, and a queue. It serves the nearest request
//! first, unless one has waited too long.
//!
//! A request that continues where the last one ended is streamed, since the disk reads ahead and gathers writes in its
//! memory. Every other request seeks, waits for its sector, and passes under the head. Outer tracks are faster.
//!
//! A sync ends what is gathered: the write after it finds that its sector has just passed, and waits for a whole turn. So
//! does a durable write, unless it came before the head was there.
//!
//! It models no write-back cache (as if switched off), remapped sectors or spin-up.

use iogauge_core::{Kind, Nanos};
use serde::{Deserialize, Serialize};

use crate::drive::{Access, Active, Drive, Returned, rounded_up};
use crate::explain::{Book, Ledger, Part, Spent};
use crate::link::{Link, Way};

/// All parameters. Times are in ns, in `[0, 1e9]`.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct DiskSpec {
    /// Revolutions a minute, positive.
    pub rpm: f64,
    /// Seek to the next track.
    pub seek_shortest_ns: f64,
    /// Seek over all tracks. Between the two, the time grows with the square root of the distance.
    pub seek_longest_ns: f64,
    /// Rate at the first byte of the disk, bytes a second, positive.
    pub outer_Bps: f64,
    /// Rate at its last byte, bytes a second, positive.
    pub inner_Bps: f64,
    /// The controller's time for each command.
    pub command_ns: f64,
    /// Most bytes that it reads ahead or gathers.
    pub cache_bytes: u64,
    /// Whether it serves the nearest request instead of the oldest.
    pub reorders: bool,
    /// The longest time for which a request may be overtaken.
    pub longest_wait_ns: f64,
}

impl DiskSpec {
    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn check(&self) -> Result<(), String> {
        for (name, value) in [
            ("rpm", self.rpm),
            ("outer_Bps", self.outer_Bps),
            ("inner_Bps", self.inner_Bps),
        ] {
            if !(value > 0.0 && value.is_finite()) {
                return Err(format!("{name} is {value}, not positive"));
            }
        }
        for (name, value) in [
            ("seek_shortest_ns", self.seek_shortest_ns),
            ("seek_longest_ns", self.seek_longest_ns),
            ("command_ns", self.command_ns),
            ("longest_wait_ns", self.longest_wait_ns),
        ] {
            if !(0.0..=1e9).contains(&value) {
                return Err(format!("{name} is {value}, not in [0, 1e9]"));
            }
        }
        if self.seek_longest_ns < self.seek_shortest_ns {
            return Err("seek_longest_ns is less than seek_shortest_ns".into());
        }
        Ok(())
    }
}

/// The request under the head.
#[derive(Clone, Copy, Debug)]
struct CurrentRequest {
    ticket: u64,
    ends: f64,
}

/// The disk: its arm, its platters and its queue.
#[derive(Debug)]
pub struct Disk {
    spec: DiskSpec,
    capacity_bytes: f64,
    link: Link,
    /// Waiting requests and when each came, the oldest first.
    waiting: Vec<(Access, f64)>,
    current: Option<CurrentRequest>,
    /// The head's position: the byte after the last one that passed, and when it passed.
    head: u64,
    since: f64,
    /// Whether nothing is gathered, since a sync or a durable write was the last to change the platters.
    flushed: bool,
    active: Active,
    book: Option<Box<Book>>,
}

impl Disk {
    /// Creates a disk at rest, its arm at the outer edge.
    pub fn new(spec: DiskSpec, capacity_bytes: u64, link: Link) -> Self {
        Self {
            spec,
            capacity_bytes: capacity_bytes as f64,
            link,
            waiting: Vec::new(),
            current: None,
            head: 0,
            since: 0.0,
            flushed: false,
            active: Active::default(),
            book: None,
        }
    }

    fn turn_ns(&self) -> f64 {
        60e9 / self.spec.rpm
    }

    /// Returns the bytes a second at an offset.
    #[allow(non_snake_case)]
    fn rate_Bps(&self, offset: u64) -> f64 {
        let along = offset as f64 / self.capacity_bytes;
        self.spec.outer_Bps + (self.spec.inner_Bps - self.spec.outer_Bps) * along
    }

    /// Returns a byte's place on its track, in turns from the disk's first byte.
    fn angle(&self, offset: u64) -> f64 {
        // Tracks become shorter linearly with the offset, so the angle is an integral of 1 / rate.
        let outer_track = self.spec.outer_Bps * self.turn_ns() / 1e9;
        let slower = self.rate_Bps(offset) / self.spec.outer_Bps - 1.0;
        let bend = if slower == 0.0 {
            1.0
        } else {
            libm::log1p(slower) / slower
        };
        offset as f64 / outer_track * bend
    }

    /// Whether a request that came at `came` continues the last one without waiting for a turn.
    fn streams(&self, access: &Access, came: f64) -> bool {
        let gathered = !(access.durable || self.flushed);
        access.offset_bytes == self.head
            && (access.kind == Kind::Read || gathered || came <= self.since)
    }

    /// Returns how long the arm takes to the track of a request.
    fn seek_ns(&self, access: &Access) -> f64 {
        let distance = access.offset_bytes.abs_diff(self.head) as f64 / self.capacity_bytes;
        let more = self.spec.seek_longest_ns - self.spec.seek_shortest_ns;
        if distance == 0.0 {
            0.0
        } else {
            self.spec.seek_shortest_ns + more * libm::sqrt(distance)
        }
    }

    /// Returns when the first byte of a request comes under the head, if the arm starts at `now`.
    fn reached(&self, now: f64, access: &Access, came: f64) -> f64 {
        if self.streams(access, came) {
            // The data was read ahead or is gathered while the platters turn.
            let ahead = self.spec.cache_bytes as f64 * 1e9 / self.rate_Bps(self.head);
            return self.since.max(now - ahead);
        }
        let arrival = now + self.seek_ns(access);
        let turns = self.angle(access.offset_bytes) - arrival / self.turn_ns();
        arrival + (turns - libm::floor(turns)) * self.turn_ns()
    }

    /// Returns which waiting request is next; `None` if none waits.
    fn next(&self, now: f64) -> Option<usize> {
        let &(_, oldest) = self.waiting.first()?;
        if !self.spec.reorders || now - oldest > self.spec.longest_wait_ns {
            return Some(0);
        }
        let at = |place: usize| match &self.waiting[place] {
            (
                Access {
                    kind: Kind::Trim | Kind::Sync | Kind::DataSync | Kind::RangeSync,
                    ..
                },
                _,
            ) => now,
            (access, came) => self.reached(now + self.spec.command_ns, access, *came),
        };
        (0..self.waiting.len()).min_by(|&a, &b| at(a).total_cmp(&at(b)))
    }

    /// Starts the next request.
    fn serve(&mut self, now: f64) {
        let Some(next) = self.next(now) else {
            return;
        };
        let (access, came) = self.waiting.remove(next);
        let command = now + self.spec.command_ns;
        // When the arm is there, and when the first byte is.
        let (mut arrives, mut begins) = (command, command);
        let ends = match access.kind {
            Kind::Trim => command,
            Kind::Sync | Kind::DataSync | Kind::RangeSync => {
                self.flushed = true;
                command
            }
            Kind::Read | Kind::Write => {
                if self.book.is_some() && !self.streams(&access, came) {
                    arrives += self.seek_ns(&access);
                }
                begins = self.reached(command, &access, came);
                let time =
                    f64::from(access.length_bytes) * 1e9 / self.rate_Bps(access.offset_bytes);
                self.head = access.offset_bytes + u64::from(access.length_bytes);
                self.since = (begins + time).max(begins);
                if access.kind == Kind::Read {
                    self.active.read_ns += time;
                } else {
                    self.active.write_ns += time;
                    self.flushed = access.durable;
                }
                let way = if access.kind == Kind::Read {
                    Way::Out
                } else {
                    Way::In
                };
                let moved = self.link.transfer(way, command, access.length_bytes);
                self.since.max(moved.ends)
            }
        };
        if let Some(book) = &mut self.book {
            let mut spent = Spent::since(came as Nanos);
            spent.until(Part::Queue, now);
            spent.until(Part::Controller, command);
            spent.until(Part::Seek, arrives);
            spent.until(Part::Rotation, begins);
            spent.until(Part::Transfer, self.since.min(ends));
            spent.until(Part::Link, ends);
            book.keep(access.ticket, rounded_up(ends), spent);
        }
        self.current = Some(CurrentRequest {
            ticket: access.ticket,
            ends,
        });
    }
}

impl Drive for Disk {
    fn submit(&mut self, now: Nanos, access: Access) -> Option<Nanos> {
        self.waiting.push((access, now as f64));
        if self.current.is_none() {
            self.serve(now as f64);
        }
        None
    }

    fn next_event(&self) -> Option<Nanos> {
        self.current.map(|request| rounded_up(request.ends))
    }

    fn advance(&mut self, now: Nanos, returned: &mut Vec<Returned>) {
        while let Some(request) = self.current {
            let at = rounded_up(request.ends);
            if at > now {
                return;
            }
            returned.push(Returned {
                ticket: request.ticket,
                at,
            });
            self.current = None;
            self.serve(request.ends);
        }
    }

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
mod tests {
    use iogauge_core::generate::{Rng, Stream};

    use super::*;
    use crate::link::LinkSpec;

    const SPEC: DiskSpec = DiskSpec {
        rpm: 7200.0,
        seek_shortest_ns: 0.5e6,
        seek_longest_ns: 16e6,
        outer_Bps: 200e6,
        inner_Bps: 100e6,
        command_ns: 20e3,
        cache_bytes: 64 << 20,
        reorders: true,
        longest_wait_ns: 500e6,
    };
    const CAPACITY: u64 = 1_000_000_000_000;

    fn disk(reorders: bool) -> Disk {
        let link = LinkSpec::Sata {
            generation: 3,
            efficiency: 0.93,
            queue: 32,
        };
        let spec = DiskSpec { reorders, ..SPEC };
        Disk::new(spec, CAPACITY, Link::new(&link))
    }

    /// Requests a second with `depth` in flight, reads at offsets that `next` gives.
    fn rate(disk: &mut Disk, depth: u64, mut next: impl FnMut() -> u64) -> f64 {
        request_rate(disk, depth, || Access {
            ticket: 0,
            kind: Kind::Read,
            offset_bytes: next(),
            length_bytes: 4096,
            durable: false,
        })
    }

    /// Requests a second with `depth` in flight.
    fn request_rate(disk: &mut Disk, depth: u64, mut next: impl FnMut() -> Access) -> f64 {
        let requests = 2000;
        let (mut now, mut done, mut returned) = (0, 0, Vec::new());
        let mut submit = |disk: &mut Disk, now| {
            assert_eq!(disk.submit(now, next()), None);
        };
        (0..depth).for_each(|_| submit(disk, 0));
        while done < requests {
            now = disk.next_event().unwrap();
            disk.advance(now, &mut returned);
            for _ in returned.drain(..) {
                done += 1;
                submit(disk, now);
            }
        }
        done as f64 * 1e9 / now as f64
    }

    fn random() -> impl FnMut() -> u64 {
        let mut rng = Rng::new(1, Stream::Offsets);
        move || rng.below(CAPACITY / 4096) * 4096
    }

    #[test]
    fn random_reads_take_a_seek_and_half_a_turn() {
        // The mean square root of the distance between two random points of [0, 1] is 8/15.
        let mean_ns = 0.02e6 + 0.5e6 + 15.5e6 * 8.0 / 15.0 + 60e9 / 7200.0 / 2.0;
        let measured = rate(&mut disk(false), 1, random());
        assert!((measured * mean_ns / 1e9 - 1.0).abs() < 0.03, "{measured}");
        // A deeper queue helps only with reordering.
        let in_turn = rate(&mut disk(false), 32, random());
        assert!((in_turn / measured - 1.0).abs() < 0.03);
        assert!(rate(&mut disk(true), 32, random()) > 1.8 * measured);
    }

    #[test]
    fn places_one_turn_apart_lie_under_each_other_in_every_zone() {
        let disk = disk(true);
        for offset in [0, CAPACITY / 3, CAPACITY - (8 << 20)] {
            // The length of a track from the rate at its middle, since the rate changes along it.
            let turn_s = 60.0 / 7200.0;
            let track = disk.rate_Bps(offset) * turn_s;
            let track = (disk.rate_Bps(offset + track as u64 / 2) * turn_s) as u64;
            let turns = disk.angle(offset + track) - disk.angle(offset);
            assert!((turns - 1.0).abs() < 1e-3, "{turns}");
        }
    }

    #[test]
    fn none_waits_for_ever() {
        // One request at the far end, and near ones without end.
        let mut disk = disk(true);
        let mut rng = Rng::new(1, Stream::Offsets);
        let access = |ticket, offset_bytes| Access {
            ticket,
            kind: Kind::Read,
            offset_bytes,
            length_bytes: 4096,
            durable: false,
        };
        let (mut now, mut returned) = (0, Vec::new());
        let mut near = || access(0, rng.below(1000) * 4096);
        (0..8).for_each(|_| assert_eq!(disk.submit(0, near()), None));
        assert_eq!(disk.submit(0, access(1, CAPACITY - 4096)), None);
        while returned.iter().all(|done: &Returned| done.ticket == 0) {
            returned.clear();
            now = disk.next_event().unwrap();
            disk.advance(now, &mut returned);
            returned
                .iter()
                .for_each(|_| assert_eq!(disk.submit(now, near()), None));
        }
        let waited = now as f64;
        assert!((500e6..600e6).contains(&waited), "{waited}");
    }

    #[test]
    fn sequential_reads_run_at_the_rate_of_the_platters() {
        let mut offset = 0;
        let next = || {
            offset += 4096;
            offset - 4096
        };
        let measured = rate(&mut disk(true), 4, next) * 4096.0;
        assert!(measured <= 200e6 && measured > 0.5 * 200e6, "{measured}");
    }

    /// Writes of `length_bytes` in order; every second request is a sync if `synced`.
    fn written(length_bytes: u32, durable: bool, synced: bool) -> impl FnMut() -> Access {
        let (mut offset_bytes, mut sync) = (0, true);
        move || {
            let access = Access {
                ticket: 0,
                kind: Kind::Write,
                offset_bytes,
                length_bytes,
                durable,
            };
            sync = synced && !sync;
            if sync {
                return Access {
                    kind: Kind::DataSync,
                    offset_bytes: 0,
                    length_bytes: 0,
                    ..access
                };
            }
            offset_bytes += u64::from(length_bytes);
            access
        }
    }

    #[test]
    fn a_log_that_waits_for_each_write_takes_a_turn_for_each() {
        let commits = request_rate(&mut disk(true), 1, written(4096, false, true)) / 2.0;
        let durable = request_rate(&mut disk(true), 1, written(4096, true, false));
        for rate in [commits, durable] {
            assert!((rate / (7200.0 / 60.0) - 1.0).abs() < 0.02, "{rate}");
        }
    }

    #[test]
    fn writes_that_come_in_time_are_streamed() {
        const LENGTH: u32 = 64 << 10;
        for (durable, depth) in [(false, 1), (true, 4)] {
            let writes = written(LENGTH, durable, false);
            let rate = request_rate(&mut disk(true), depth, writes) * f64::from(LENGTH);
            assert!(rate > 0.9 * SPEC.outer_Bps, "{rate}");
        }
    }
}
