//! The drive that breaks its promises: decides what becomes of each request, and carries it out.

use std::collections::VecDeque;

use iogauge_core::Nanos;
use iogauge_core::generate::{Rng, Stream, child_seed};

use super::cache::{Cache, Entry};
use super::injector::{Injected, Injector};
use super::placing::{Placing, elsewhere, kept_parts};
use super::plan::{FaultKind, Faults, PowerCut};
use super::versions::{PAGE, Versions, pages_of};
use crate::protocol::wire::Refusal;
use crate::protocol::{Command, Request};
use crate::store::Store;

/// Which child of the seed chooses what a power cut leaves.
const CUT: u64 = 1 << 32;

/// From where a read returns data.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Reading {
    /// From where it should.
    #[default]
    Here,
    /// From this offset.
    At(u64),
    /// The version before the last.
    Before,
}

/// What becomes of a request.
#[derive(Debug, PartialEq)]
pub enum Fate {
    /// It is carried out.
    Done(Reading),
    /// It is carried out later; until then it has no effect.
    Later {
        /// When, real ns.
        until_ns: Nanos,
        /// What to give to [`Faulty::write_late`] then.
        write: LateWrite,
    },
    /// The power fails, and it has no effect.
    PowerCut,
}

/// A write that comes late.
#[derive(Debug, PartialEq)]
pub struct LateWrite {
    number: u64,
    request: Request,
    data: Vec<u8>,
}

/// A write that comes again after a newer one to the same place.
#[derive(Debug)]
struct Again {
    number: u64,
    request: Request,
    data: Vec<u8>,
}

/// A store behind a volatile cache, with faults.
pub struct Faulty {
    medium: Box<dyn Store>,
    size_bytes: u64,
    cache: Cache,
    injector: Injector,
    power_cut: PowerCut,
    cut_rng: Rng,
    /// The number of the last request.
    number: u64,
    /// `None` if no read is ever stale.
    versions: Option<Versions>,
    again: VecDeque<Again>,
    again_bytes: u64,
    late_bytes: u64,
    injected: Vec<Injected>,
}

impl Faulty {
    /// Puts a cache and faults before a store of `size_bytes`.
    pub fn new(medium: Box<dyn Store>, size_bytes: u64, faults: &Faults) -> Self {
        let specs = faults.specs.iter();
        let stale = specs
            .map(|spec| spec.kind)
            .any(|kind| kind == FaultKind::StaleRead);
        Self {
            medium,
            size_bytes,
            cache: Cache::new(faults.write_cache_bytes),
            injector: Injector::new(faults.seed, &faults.specs),
            power_cut: faults.power_cut.clone(),
            cut_rng: Rng::new(child_seed(faults.seed, CUT), Stream::Faults),
            number: 0,
            versions: stale.then(Versions::default),
            again: VecDeque::new(),
            again_bytes: 0,
            late_bytes: 0,
            injected: Vec::new(),
        }
    }

    /// Returns the faults that happened since the last call.
    pub fn take_injected(&mut self) -> Vec<Injected> {
        std::mem::take(&mut self.injected)
    }

    /// Returns how the power is cut.
    pub fn power_cut(&self) -> &PowerCut {
        &self.power_cut
    }

    /// Begins the next request, real ns after the beginning, and carries it out unless it is a read: the data of a read
    /// is asked for later. `data` is that of a write.
    ///
    /// # Errors
    /// If the store refuses. A part of the data may then be written.
    pub fn begin(
        &mut self,
        at_ns: Nanos,
        request: Request,
        data: Vec<u8>,
    ) -> Result<Fate, Refusal> {
        self.number += 1;
        if self.power_cut.at_request == Some(self.number) {
            return Ok(Fate::PowerCut);
        }
        match request.command {
            Command::Read => Ok(Fate::Done(self.begin_read(at_ns, &request)?)),
            Command::Flush => self.flush(at_ns, &request).map(done),
            Command::Write => self.begin_write(at_ns, request, data),
            Command::Trim => self.zero(&request, false).map(done),
            Command::Zero { provision } => self.zero(&request, provision).map(done),
        }
    }

    /// Fills `bytes` with the data at an offset of a request.
    ///
    /// # Errors
    /// If the store refuses.
    pub fn read(&self, offset_bytes: u64, bytes: &mut [u8]) -> Result<(), Refusal> {
        self.medium.read(offset_bytes, bytes)?;
        self.cache.overlay(offset_bytes, bytes);
        Ok(())
    }

    /// Fills `bytes` with the version before the last, where there is one.
    ///
    /// # Errors
    /// If the store refuses.
    pub fn read_before(&self, offset_bytes: u64, bytes: &mut [u8]) -> Result<(), Refusal> {
        self.read(offset_bytes, bytes)?;
        if let Some(versions) = &self.versions {
            versions.overlay(offset_bytes, bytes);
        }
        Ok(())
    }

    /// Carries out a late write.
    ///
    /// # Errors
    /// If the store refuses.
    pub fn write_late(&mut self, at_ns: Nanos, late: LateWrite) -> Result<(), Refusal> {
        self.late_bytes -= late.data.len() as u64;
        let mut injected = Injected::new(FaultKind::Late, late.number, at_ns, &late.request);
        injected.after_request = Some(self.number);
        self.injected.push(injected);
        self.write(
            at_ns,
            late.number,
            &late.request,
            late.data,
            Placing::default(),
        )
    }

    /// Loses the power: what the cache held is gone, but for what the plan keeps. Late writes must be dropped.
    ///
    /// # Errors
    /// If the store refuses what is kept.
    pub fn cut_power(&mut self, at_ns: Nanos) -> Result<(), Refusal> {
        let (keep, atomic_bytes) = (self.power_cut.keep, self.power_cut.atomic_bytes);
        let medium = &mut *self.medium;
        let loss = self
            .cache
            .cut(keep, atomic_bytes, &mut self.cut_rng, medium)?;
        self.again.clear();
        (self.again_bytes, self.late_bytes) = (0, 0);
        self.versions = self.versions.take().map(|_| Versions::default());
        self.injected.push(Injected {
            kind: "power-cut",
            request: self.number,
            at_ns,
            offset_bytes: 0,
            length_bytes: loss.bytes,
            to_bytes: None,
            after_request: None,
            missing: Vec::new(),
        });
        Ok(())
    }

    /// Returns how many bytes the cache holds.
    #[cfg(test)]
    pub(super) fn cached_bytes(&self) -> u64 {
        self.cache.held_bytes()
    }

    fn begin_read(&mut self, at_ns: Nanos, request: &Request) -> Result<Reading, Refusal> {
        let Some(source) = self.injector.next(self.number, request) else {
            return Ok(Reading::Here);
        };
        let mut injected = Injected::new(source.spec.kind, self.number, at_ns, request);
        let reading = if source.spec.kind == FaultKind::MisdirectedRead {
            injected.to_bytes = elsewhere(source, request, self.size_bytes);
            injected.to_bytes.map(Reading::At)
        } else {
            let mut now = vec![0; request.length_bytes as usize];
            self.medium.read(request.offset_bytes, &mut now)?;
            self.cache.overlay(request.offset_bytes, &mut now);
            let versions = self.versions.as_ref();
            let differs =
                versions.is_some_and(|versions| versions.differs(request.offset_bytes, &now));
            differs.then_some(Reading::Before)
        };
        if reading.is_some() {
            source.count();
            self.injected.push(injected);
        }
        Ok(reading.unwrap_or_default())
    }

    fn flush(&mut self, at_ns: Nanos, request: &Request) -> Result<(), Refusal> {
        if let Some(source) = self.injector.next(self.number, request) {
            source.count();
            let injected = Injected::new(source.spec.kind, self.number, at_ns, request);
            self.injected.push(injected);
            return Ok(());
        }
        for stayed in self.cache.flush(&mut *self.medium)? {
            self.injected.push(Injected {
                kind: FaultKind::Reordering.name(),
                request: stayed.request,
                at_ns,
                offset_bytes: stayed.offset_bytes,
                length_bytes: stayed.data.len() as u64,
                to_bytes: None,
                after_request: Some(self.number),
                missing: Vec::new(),
            });
        }
        Ok(())
    }

    /// Trims and zeroes are durable at once.
    fn zero(&mut self, request: &Request, provision: bool) -> Result<(), Refusal> {
        let (offset, length) = (request.offset_bytes, request.length_bytes);
        self.cache
            .settle_range(offset, length.into(), &mut *self.medium)?;
        self.medium.zero(offset, length, provision)
    }

    fn begin_write(
        &mut self,
        at_ns: Nanos,
        request: Request,
        data: Vec<u8>,
    ) -> Result<Fate, Refusal> {
        let number = self.number;
        let placing = self.befall(at_ns, &request).unwrap_or_default();
        if let Some(until_ns) = placing.until_ns {
            self.late_bytes += data.len() as u64;
            let write = LateWrite {
                number,
                request,
                data,
            };
            return Ok(Fate::Later { until_ns, write });
        }
        self.write(at_ns, number, &request, data, placing).map(done)
    }

    /// Decides what happens to a write, and notes it; `None`: nothing.
    fn befall(&mut self, at_ns: Nanos, request: &Request) -> Option<Placing> {
        let kept = [self.again_bytes, self.late_bytes];
        let source = self.injector.next(self.number, request)?;
        let placing = Placing::new(source, at_ns, request, self.size_bytes, kept)?;
        source.count();
        // Some faults are noted once the write comes after what it should have come before.
        if !(placing.stays || placing.comes_again || placing.until_ns.is_some()) {
            let rotten = placing.rotten_bit.map(|bit| request.offset_bytes + bit / 8);
            self.injected.push(Injected {
                to_bytes: placing.at.or(rotten),
                missing: placing.missing.clone(),
                ..Injected::new(source.spec.kind, self.number, at_ns, request)
            });
        }
        Some(placing)
    }

    /// Writes as `placing` says, and again what comes again after it.
    fn write(
        &mut self,
        at_ns: Nanos,
        number: u64,
        request: &Request,
        data: Vec<u8>,
        placing: Placing,
    ) -> Result<(), Refusal> {
        let due = self.take_again(request);
        let again = placing.comes_again.then(|| Again {
            number,
            request: *request,
            data: data.clone(),
        });
        self.place(number, request, data, &placing)?;
        if let Some(again) = again {
            self.again_bytes += again.data.len() as u64;
            self.again.push_back(again);
        }
        for again in due {
            let mut injected =
                Injected::new(FaultKind::Duplicated, again.number, at_ns, &again.request);
            injected.after_request = Some(number);
            self.injected.push(injected);
            self.place(
                again.number,
                &again.request,
                again.data,
                &Placing::default(),
            )?;
        }
        Ok(())
    }

    /// Returns the writes that come again after this one.
    fn take_again(&mut self, request: &Request) -> Vec<Again> {
        let end = |request: &Request| request.offset_bytes + u64::from(request.length_bytes);
        let (due, kept): (Vec<_>, Vec<_>) = self.again.drain(..).partition(|again| {
            again.request.offset_bytes < end(request) && request.offset_bytes < end(&again.request)
        });
        self.again = kept.into();
        self.again_bytes -= due.iter().map(|again| again.data.len() as u64).sum::<u64>();
        due
    }

    /// Puts the parts of a write that are not missing into the cache, or through it.
    fn place(
        &mut self,
        number: u64,
        request: &Request,
        data: Vec<u8>,
        placing: &Placing,
    ) -> Result<(), Refusal> {
        let offset = placing.at.unwrap_or(request.offset_bytes);
        self.keep_versions(offset, data.len() as u64)?;
        let through = request.fua || placing.overtakes;
        for (start, end) in kept_parts(request.offset_bytes, data.len() as u64, &placing.missing) {
            let entry = Entry {
                request: number,
                offset_bytes: offset + start as u64,
                data: data[start..end].into(),
                stays: placing.stays,
                rotten_bit: placing.rotten_bit,
            };
            if through {
                self.cache.write_through(&entry, &mut *self.medium)?;
            } else {
                self.cache.insert(entry, &mut *self.medium)?;
            }
        }
        Ok(())
    }

    fn keep_versions(&mut self, offset_bytes: u64, length_bytes: u64) -> Result<(), Refusal> {
        let Some(mut versions) = self.versions.take() else {
            return Ok(());
        };
        for page in pages_of(offset_bytes, length_bytes) {
            let at = page * PAGE;
            let mut content = vec![0; PAGE.min(self.size_bytes - at) as usize];
            self.read(at, &mut content)?;
            versions.keep(page, content.into());
        }
        self.versions = Some(versions);
        Ok(())
    }
}

fn done((): ()) -> Fate {
    Fate::Done(Reading::Here)
}
