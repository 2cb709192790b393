//! A drive as the host sees it: controllers with their media, the largest command, the queue of the link, power states
//! and heat.
//!
//! Most requests go straight to the media of one controller. A request takes the longer path if it is larger than a
//! command, spans several controllers, must be durable on a drive with a volatile buffer, or must wait outside. It is
//! then split into parts, which return one by one.

mod outside;

use std::collections::VecDeque;

use iogauge_core::generate::child_seed;
use iogauge_core::results::DriveResult;
use iogauge_core::{Kind, Nanos};

use crate::drive::{Access, Active, Drive, Returned};
use crate::explain::Spent;
use crate::link::Link;
use crate::media::Media;
use crate::media::nand::{NandCounters, Wear};
use crate::pending::Pending;
use crate::power::{Drawn, Power};
use crate::spec::DriveSpec;
use outside::Outside;

/// A request that was split into parts.
#[derive(Clone, Copy, Debug)]
struct SplitRequest {
    access: Access,
    /// Parts that have not returned.
    parts_left: u32,
    /// When the latest part returned.
    returned_at: Nanos,
    /// Whether the request needs a sync after it.
    durable: bool,
    /// Commands that it counts as: the most that it can need.
    commands: usize,
}

/// Most commands inside at a time behind any link. Hosts have fewer queue entries, so this only bounds memory.
const MOST_COMMANDS: usize = 1 << 16;

/// Marks tickets of parts. The rest of the ticket is the index of the split request.
const PART: u64 = 1 << 63;

/// The drive that a host sees.
#[derive(Debug)]
pub struct Device {
    spec: DriveSpec,
    media: Vec<Media>,
    power: Power,
    /// Whether the link limits the number of commands.
    tagged: bool,
    /// Most commands inside at a time.
    queue: usize,
    /// Commands inside that took the longer path or whose end is not known yet.
    inside: usize,
    /// When the drive becomes idle, as far as is known.
    idle_since: Nanos,
    /// Requests that wait outside, and the earliest instant at which each may enter.
    waiting: VecDeque<(Nanos, Access)>,
    splits: Vec<SplitRequest>,
    unused: Vec<u32>,
    /// Requests whose end became known after they were submitted.
    known: Pending<u64>,
    back: Vec<Returned>,
    /// Where the time of requests goes outside of the media, if they are explained.
    outside: Option<Box<Outside>>,
}

impl Device {
    /// Creates a drive at rest.
    ///
    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn new(spec: &DriveSpec, seed: u64) -> Result<Self, String> {
        spec.check()?;
        let media = (0..spec.controllers).map(|controller| {
            Media::new(
                &spec.media,
                spec.controller_bytes(),
                Link::new(&spec.link),
                child_seed(seed, u64::from(controller)),
            )
        });
        Ok(Self {
            media: media.collect(),
            power: Power::new(spec.power.clone(), spec.thermal),
            tagged: spec.link.queue().is_some(),
            queue: spec
                .link
                .queue()
                .map_or(MOST_COMMANDS, |queue| queue as usize),
            inside: 0,
            idle_since: 0,
            waiting: VecDeque::new(),
            splits: Vec::new(),
            unused: Vec::new(),
            known: Pending::default(),
            back: Vec::new(),
            outside: None,
            spec: spec.clone(),
        })
    }

    /// Returns the bytes that can be addressed.
    pub fn capacity_bytes(&self) -> u64 {
        self.spec.capacity_bytes
    }

    /// Returns what the drive did inside by `now`, under the name `path`.
    pub fn result(&self, path: &str, now: Nanos) -> DriveResult {
        let drawn = self.drawn(now);
        let flash = self.flash();
        DriveResult {
            path: path.to_owned(),
            energy_J: drawn.energy_J,
            low_power_ns: drawn.low_power_ns,
            throttled_ns: drawn.throttled_ns,
            temperature_C: drawn.temperature_C,
            hottest_C: drawn.hottest_C,
            write_amplification: flash.map(|(counters, _)| counters.write_amplification()),
            erases_mean: flash.map(|(_, wear)| wear.mean_erases),
            erases_max: flash.map(|(_, wear)| wear.most_erases),
            unwritten_reads: flash.map_or(0, |(counters, _)| counters.unwritten_reads),
        }
    }

    /// Returns the counters and the wear of its flash over all controllers; `None` for other media.
    fn flash(&self) -> Option<(NandCounters, Wear)> {
        let of_controllers = self.media.iter().filter_map(|media| match media {
            Media::Nand(nand) => Some((nand.counters(), nand.wear())),
            _ => None,
        });
        let (mut counters, mut wear) = (NandCounters::default(), None::<Wear>);
        for (theirs, worn) in of_controllers {
            counters += theirs;
            // All controllers have equally many blocks.
            let share = worn.mean_erases / self.media.len() as f64;
            wear = Some(Wear {
                mean_erases: wear.map_or(0.0, |wear| wear.mean_erases) + share,
                most_erases: wear
                    .map_or(0, |wear| wear.most_erases)
                    .max(worn.most_erases),
            });
        }
        wear.map(|wear| (counters, wear))
    }

    /// Returns its energy and temperature by `now`.
    fn drawn(&self, now: Nanos) -> Drawn {
        let idle_since = if self.inside > 0 {
            now
        } else {
            self.idle_since
        };
        self.power.drawn(now, idle_since as f64, self.active())
    }

    /// Notes that the drive is busy until `at` at least.
    #[inline]
    fn busy_until(&mut self, at: Nanos) {
        self.idle_since = self.idle_since.max(at);
    }

    /// Whether the request fits into one command to one controller.
    #[inline]
    fn is_plain(&self, access: &Access) -> bool {
        self.media.len() == 1
            && !self.tagged
            && access.length_bytes <= self.spec.max_transfer_bytes
            && !(access.durable && self.media[0].volatile())
    }

    /// Lets a request in that need not wait.
    #[inline]
    fn enter(&mut self, now: Nanos, access: &Access) -> Option<Nanos> {
        if self.is_plain(access) {
            let done = self.media[0].submit(now, *access);
            match done {
                Some(at) => self.busy_until(at),
                None => self.inside += 1,
            }
            return done;
        }
        let durable = access.durable && self.media[0].volatile();
        let commands = self.commands_of(access);
        self.inside += commands;
        self.submit_in_parts(now, *access, durable, commands);
        None
    }

    /// Returns the most commands that a request takes.
    fn commands_of(&self, access: &Access) -> usize {
        let length = u64::from(access.length_bytes);
        let most = u64::from(self.spec.max_transfer_bytes);
        match (access.kind, self.media.len()) {
            (Kind::Sync | Kind::DataSync | Kind::RangeSync, controllers) => controllers,
            (Kind::Trim, 1) => 1,
            (Kind::Trim, _) => length as usize / self.spec.stripe_bytes as usize + 2,
            // By far the most frequent case, without a division.
            (_, 1) if length <= most => 1,
            (_, 1) => length.div_ceil(most) as usize,
            (_, _) => {
                (length / most.min(self.spec.stripe_bytes) + length / self.spec.stripe_bytes)
                    as usize
                    + 2
            }
        }
    }

    /// Whether a request may enter now. A request of more commands than may be inside enters alone.
    #[inline]
    fn has_room(&self, access: &Access) -> bool {
        self.inside == 0 || self.inside + self.commands_of(access) <= self.queue
    }

    /// Submits a request in parts.
    fn submit_in_parts(&mut self, now: Nanos, access: Access, durable: bool, commands: usize) {
        let place = self.unused.pop().unwrap_or(self.splits.len() as u32);
        let split = SplitRequest {
            access,
            parts_left: 0,
            returned_at: now,
            durable,
            commands,
        };
        if place as usize == self.splits.len() {
            self.splits.push(split);
        } else {
            self.splits[place as usize] = split;
        }
        // The request must not end before its last part is submitted.
        self.splits[place as usize].parts_left = 1;
        match access.kind {
            Kind::Sync | Kind::DataSync | Kind::RangeSync => self.sync(now, place),
            Kind::Read | Kind::Write | Kind::Trim => {
                let (mut offset, end) = (
                    access.offset_bytes,
                    access.offset_bytes + u64::from(access.length_bytes),
                );
                while offset < end {
                    offset += self.submit_next_part(now, place, offset, end - offset);
                }
            }
        }
        self.complete_part(now, place, now);
    }

    /// Submits what one command to one controller can do from `offset` on. Returns its bytes.
    fn submit_next_part(&mut self, now: Nanos, place: u32, offset: u64, left: u64) -> u64 {
        let access = self.splits[place as usize].access;
        let stripe = self.spec.stripe_bytes;
        let controllers = self.media.len() as u64;
        let mut length = left;
        if access.kind != Kind::Trim {
            length = length.min(u64::from(self.spec.max_transfer_bytes));
        }
        let (mut controller, mut inner) = (0, offset);
        if controllers > 1 {
            length = length.min(stripe - offset % stripe);
            let row = offset / (stripe * controllers);
            controller = (offset / stripe % controllers) as usize;
            inner = row * stripe + offset % stripe;
        }
        let part = Access {
            ticket: PART | u64::from(place),
            offset_bytes: inner,
            length_bytes: length as u32,
            ..access
        };
        self.submit_part(now, place, controller, part);
        length
    }

    fn sync(&mut self, now: Nanos, place: u32) {
        for controller in 0..self.media.len() {
            let part = Access {
                ticket: PART | u64::from(place),
                kind: Kind::Sync,
                offset_bytes: 0,
                length_bytes: 0,
                durable: false,
            };
            self.submit_part(now, place, controller, part);
        }
    }

    fn submit_part(&mut self, now: Nanos, place: u32, controller: usize, part: Access) {
        self.splits[place as usize].parts_left += 1;
        if let Some(at) = self.media[controller].submit(now, part) {
            self.known.push(part.ticket, at);
        }
    }

    /// Notes that a part returned, as of `now`.
    fn complete_part(&mut self, now: Nanos, place: u32, at: Nanos) {
        let split = &mut self.splits[place as usize];
        split.parts_left -= 1;
        split.returned_at = split.returned_at.max(at);
        if split.parts_left > 0 {
            return;
        }
        if let Some(outside) = &mut self.outside {
            let (part, at) = (PART | u64::from(place), split.returned_at);
            outside.add(split.access.ticket, taken(&mut self.media, part, at));
        }
        if split.durable {
            split.durable = false;
            split.parts_left = 1;
            self.sync(now, place);
            self.complete_part(now, place, now);
            return;
        }
        let done = Returned {
            ticket: split.access.ticket,
            at: split.returned_at,
        };
        // The last command is counted until the request is returned.
        self.inside -= split.commands - 1;
        self.unused.push(place);
        self.known.push(done.ticket, done.at);
    }

    /// Lets in the waiting requests that may enter by `now`.
    fn release(&mut self, now: Nanos) {
        while let Some(&(from, access)) = self.waiting.front() {
            if from > now || !self.has_room(&access) {
                return;
            }
            self.waiting.pop_front();
            if let Some(outside) = &mut self.outside {
                outside.enter(access.ticket, now);
            }
            if let Some(at) = self.enter(now, &access) {
                self.inside += 1;
                self.known.push(access.ticket, at);
            }
        }
    }
}

impl Drive for Device {
    #[inline]
    fn submit(&mut self, now: Nanos, access: Access) -> Option<Nanos> {
        let idle_since = if self.inside > 0 || self.idle_since > now {
            now
        } else {
            self.idle_since
        };
        let (media, bytes) = (&self.media, access.length_bytes);
        let from = self
            .power
            .enter(now, idle_since, bytes, || active_of(media));
        if from <= now && self.waiting.is_empty() && self.has_room(&access) {
            return self.enter(now, &access);
        }
        if let Some(outside) = &mut self.outside {
            outside.wait(access.ticket, now, from, self.power.is_throttled());
        }
        self.waiting.push_back((from, access));
        self.busy_until(from);
        None
    }

    #[inline]
    fn next_event(&self) -> Option<Nanos> {
        let known = self.known.next().unwrap_or(Nanos::MAX);
        let inside = |media: &Media| media.next_event().unwrap_or(Nanos::MAX);
        let mut next = known.min(inside(&self.media[0]));
        for media in &self.media[1..] {
            next = next.min(inside(media));
        }
        if let Some((from, access)) = self.waiting.front()
            && self.has_room(access)
        {
            next = next.min(*from);
        }
        Some(next).filter(|&next| next < Nanos::MAX)
    }

    fn advance(&mut self, now: Nanos, returned: &mut Vec<Returned>) {
        // Only split and waiting requests lead to further events.
        if self.waiting.is_empty() && self.splits.len() == self.unused.len() {
            let before = returned.len();
            for media in &mut self.media {
                media.advance(now, returned);
            }
            self.known.return_by(now, returned);
            for done in &returned[before..] {
                self.inside -= 1;
                self.idle_since = self.idle_since.max(done.at);
            }
            return;
        }
        let mut back = std::mem::take(&mut self.back);
        loop {
            let leads_to_more = !self.waiting.is_empty() || self.splits.len() > self.unused.len();
            for media in &mut self.media {
                media.advance(now, &mut back);
            }
            self.known.return_by(now, &mut back);
            if back.is_empty() {
                break;
            }
            for done in back.drain(..) {
                if done.ticket & PART != 0 {
                    self.complete_part(now, done.ticket as u32, done.at);
                } else {
                    self.inside -= 1;
                    self.busy_until(done.at);
                    returned.push(done);
                }
            }
            if !leads_to_more {
                break;
            }
            self.release(now);
        }
        self.back = back;
        self.release(now);
    }

    fn volatile(&self) -> bool {
        self.media[0].volatile()
    }

    fn active(&self) -> Active {
        active_of(&self.media)
    }

    fn explain(&mut self) {
        self.outside = Some(Box::default());
        self.media.iter_mut().for_each(Media::explain);
    }

    fn is_explained(&self) -> bool {
        self.outside.is_some()
    }

    fn take_spent(&mut self, ticket: u64, at: Nanos) -> Option<Spent> {
        let outside = self.outside.as_mut()?;
        outside.join(ticket, taken(&mut self.media, ticket, at))
    }
}

/// Takes what a command spent its time on from the media that served it. The others forget commands of its ticket.
fn taken(media: &mut [Media], ticket: u64, at: Nanos) -> Option<Spent> {
    let mut taken = None;
    for media in media {
        taken = media.take_spent(ticket, at).or(taken);
    }
    taken
}

/// Returns how long the media of all controllers have worked.
fn active_of(media: &[Media]) -> Active {
    if let [media] = media {
        return media.active();
    }
    let share = 1.0 / media.len() as f64;
    let mut all = Active::default();
    for media in media {
        let one = media.active();
        all.read_ns += one.read_ns * share;
        all.write_ns += one.write_ns * share;
    }
    all
}

#[cfg(test)]
pub(crate) mod tests;
