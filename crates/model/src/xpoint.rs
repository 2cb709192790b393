//! A 3D XPoint drive: one shared pipe, and a fixed latency behind it.
//!
//! A request waits for the pipe, is served there for a time that depends on direction and on the 4 KiB chunks that it
//! touches, and comes back a fixed latency later. The pipe pays for each change of direction, and now and then it
//! stalls; both hold up everything behind. That much explains the knee of the read sweep at a depth of four to six,
//! the flat 99th percentile, the bathtub of mixed reads and writes, and the tails at every depth.
//!
//! There is no translation layer and no garbage collection: a write costs the same whatever was written before. No two
//! requests are served in one chunk at a time, and a write of part of a chunk reads it first.
//!
//! What it does not do: refresh after power-off, power states, temperature.
//!
//! Source: models.md ("The smallest models that explain the figures", "Unwritten contract").

use iogauge_core::generate::{Rng, Stream};
use iogauge_core::{Kind, Nanos};
use serde::Deserialize;

use crate::drive::{Access, Active, Drive, Returned};
use crate::link::{Link, Way};
use crate::pending::Pending;
use crate::stalls::{StallSpec, Stalls};

/// Bytes that the media reads or writes at a time.
pub const CHUNK: u64 = 4096;

/// All parameters. Times are in ns, of one 4 KiB chunk where they depend on size.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XpointSpec {
    /// The pipe's time for a chunk read.
    pub read_chunk_ns: f64,
    /// The pipe's time for a chunk written.
    pub write_chunk_ns: f64,
    /// What the pipe pays where a read follows a write, or a write a read.
    pub turnaround_ns: f64,
    /// From the pipe to the host, for a read.
    pub read_latency_ns: f64,
    /// From the pipe to the host, for a write.
    pub write_latency_ns: f64,
    /// Exponential part of either, in the mean.
    pub jitter_ns: f64,
    /// What the pipe stalls for.
    pub stalls: Vec<StallSpec>,
    /// A flush, or a trim: nothing to be written back.
    pub command_ns: f64,
}

/// Chunks whose last request may still be in service: a table that forgets where two share an entry, which among the
/// at most few hundred in flight hardly happens, and then costs one wait that is not modelled.
#[derive(Debug)]
struct Locks(Box<[(u64, Nanos)]>);

impl Locks {
    const ENTRIES: usize = 1 << 14;

    fn new() -> Self {
        Self(vec![(u64::MAX, 0); Self::ENTRIES].into())
    }

    /// When a chunk is free.
    #[inline]
    fn free_at(&self, chunk: u64) -> Nanos {
        let (locked, until) = self.0[chunk as usize % Self::ENTRIES];
        if locked == chunk { until } else { 0 }
    }

    #[inline]
    fn lock(&mut self, chunk: u64, until: Nanos) {
        self.0[chunk as usize % Self::ENTRIES] = (chunk, until);
    }
}

/// The drive. Instants inside are fractions of a nanosecond, so that a rate is not rounded to whole ones.
#[derive(Debug)]
pub struct Xpoint {
    spec: XpointSpec,
    rng: Rng,
    stalls: Vec<Stalls>,
    /// When the pipe is free.
    pipe: f64,
    last: Kind,
    link: Link,
    active: Active,
    locks: Locks,
    pending: Pending,
}

impl Xpoint {
    /// A drive at rest.
    pub fn new(spec: XpointSpec, link: Link, seed: u64) -> Self {
        let kinds = spec.stalls.iter().enumerate();
        Self {
            stalls: kinds
                .map(|(index, &stall)| Stalls::new(stall, seed, index))
                .collect(),
            rng: Rng::new(seed, Stream::Mix),
            pipe: 0.0,
            last: Kind::Read,
            link,
            active: Active::default(),
            locks: Locks::new(),
            pending: Pending::default(),
            spec,
        }
    }

    /// The pipe's time for a request, without turnaround and stalls.
    #[inline]
    fn service(&self, access: &Access, chunks: std::ops::RangeInclusive<u64>) -> f64 {
        let count = (chunks.end() - chunks.start() + 1) as f64;
        if access.kind == Kind::Read {
            return count * self.spec.read_chunk_ns;
        }
        let end = access.offset_bytes + u64::from(access.length_bytes);
        let head = !access.offset_bytes.is_multiple_of(CHUNK);
        let tail = !end.is_multiple_of(CHUNK) && (chunks.start() != chunks.end() || !head);
        let read_first = f64::from(u8::from(head) + u8::from(tail));
        count * self.spec.write_chunk_ns + read_first * self.spec.read_chunk_ns
    }

    /// When a read or write is done.
    fn serve(&mut self, now: f64, access: &Access) -> f64 {
        let first = access.offset_bytes / CHUNK;
        let last = (access.offset_bytes + u64::from(access.length_bytes).max(1) - 1) / CHUNK;
        let write = access.kind == Kind::Write;
        let now = now + self.link.switch_ns();
        // The pipe takes a write up with its first chunk; it is not over before its last one is there.
        let (first_there, all_there) = if write {
            let data = self.link.transfer(Way::In, now, access.length_bytes);
            let first = access.length_bytes.min(CHUNK as u32);
            (
                data.begins + f64::from(first) * self.link.ns_per_byte(),
                data.ends,
            )
        } else {
            (now, now)
        };
        let mut begins = first_there.max(self.pipe);
        for chunk in first..=last {
            begins = begins.max(self.locks.free_at(chunk) as f64);
        }
        if access.kind != self.last {
            begins += self.spec.turnaround_ns;
            self.last = access.kind;
        }
        for stalls in &mut self.stalls {
            begins += stalls.before_service() as f64;
        }
        let service = self.service(access, first..=last);
        self.pipe = begins + service;
        if write {
            self.active.write_ns += service;
        } else {
            self.active.read_ns += service;
        }
        for chunk in first..=last {
            self.locks.lock(chunk, self.pipe as Nanos);
        }
        let latency = if write {
            self.spec.write_latency_ns
        } else {
            self.spec.read_latency_ns
        };
        let jitter = if self.spec.jitter_ns > 0.0 {
            self.rng.exponential() * self.spec.jitter_ns
        } else {
            0.0
        };
        let done = self.pipe.max(all_there) + latency + jitter;
        if write {
            done
        } else {
            self.link.transfer(Way::Out, done, access.length_bytes).ends
        }
    }
}

impl Drive for Xpoint {
    fn submit(&mut self, now: Nanos, access: Access) {
        let now = now as f64;
        let done = match access.kind {
            Kind::Read | Kind::Write => self.serve(now, &access),
            Kind::Trim | Kind::Sync | Kind::DataSync => now + self.spec.command_ns,
        };
        self.pending.push(access.ticket, libm::ceil(done) as Nanos);
    }

    fn next_event(&self) -> Option<Nanos> {
        self.pending.next()
    }

    fn advance(&mut self, now: Nanos, returned: &mut Vec<Returned>) {
        self.pending.take(now, returned);
    }

    fn active(&self) -> Active {
        self.active
    }
}

#[cfg(test)]
pub(crate) mod tests;
