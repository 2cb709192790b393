//! Decides which request meets which fault, by number, period or chance.

use iogauge_core::Nanos;
use iogauge_core::generate::{Rng, Stream, child_seed};
use serde::Serialize;

use super::plan::{FaultKind, FaultSpec, When};
use crate::protocol::Request;

/// A fault that happened, or a power cut.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Injected {
    /// What: the name of a [`FaultKind`], or `power-cut`.
    pub kind: &'static str,
    /// The number of the request, of all requests of the drive, from 1 on.
    pub request: u64,
    /// When, real ns from the beginning of the service.
    pub at_ns: Nanos,
    /// Where the request is.
    pub offset_bytes: u64,
    /// How long it is.
    pub length_bytes: u64,
    /// Where a misdirected request went, or which byte has a wrong bit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub to_bytes: Option<u64>,
    /// The number of the request after which a duplicated or reordered write came.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub after_request: Option<u64>,
    /// The parts that are missing: offset and length.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub missing: Vec<(u64, u64)>,
}

impl FaultKind {
    /// Returns its name.
    pub fn name(self) -> &'static str {
        match self {
            FaultKind::LostFlush => "lost-flush",
            FaultKind::TornWrite => "torn-write",
            FaultKind::Reordering => "reordering",
            FaultKind::MisdirectedWrite => "misdirected-write",
            FaultKind::MisdirectedRead => "misdirected-read",
            FaultKind::BitRot => "bit-rot",
            FaultKind::StaleRead => "stale-read",
            FaultKind::ShortWrite => "short-write",
            FaultKind::DroppedWrite => "dropped-write",
            FaultKind::Duplicated => "duplicated",
            FaultKind::Late => "late",
        }
    }
}

impl Injected {
    /// Creates an entry without details.
    pub(super) fn new(kind: FaultKind, number: u64, at_ns: Nanos, request: &Request) -> Self {
        Self {
            kind: kind.name(),
            request: number,
            at_ns,
            offset_bytes: request.offset_bytes,
            length_bytes: request.length_bytes.into(),
            to_bytes: None,
            after_request: None,
            missing: Vec::new(),
        }
    }
}

/// One kind of fault, with its chance and what has happened of it.
#[derive(Debug)]
pub(super) struct Source {
    pub(super) spec: FaultSpec,
    pub(super) rng: Rng,
    /// Requests that it could have happened to.
    met: u64,
    happened: u64,
}

impl Source {
    /// Whether it is to happen to the request with this number.
    fn wants(&mut self, number: u64, request: &Request) -> bool {
        if !self.spec.kind.befalls(request.command) || !self.reaches(request) {
            return false;
        }
        self.met += 1;
        let due = match &self.spec.when {
            When::Every(period) => self.met.is_multiple_of((*period).max(1)),
            When::At(numbers) => numbers.contains(&number),
            When::Probability(probability) => self.rng.unit() < *probability,
        };
        due && self.spec.most.is_none_or(|most| self.happened < most)
    }

    fn reaches(&self, request: &Request) -> bool {
        if self.spec.kind == FaultKind::LostFlush {
            return true;
        }
        let Some(beyond) = request.offset_bytes.checked_sub(self.spec.offset_bytes) else {
            return false;
        };
        let end = beyond + u64::from(request.length_bytes);
        self.spec.size_bytes.is_none_or(|size| end <= size)
    }

    /// Returns the first byte after the region, in a drive of this size.
    pub(super) fn region_end(&self, size_bytes: u64) -> u64 {
        let end = self
            .spec
            .size_bytes
            .map(|size| self.spec.offset_bytes.saturating_add(size));
        end.unwrap_or(size_bytes).min(size_bytes)
    }

    /// Counts a fault that happened.
    pub(super) fn count(&mut self) {
        self.happened += 1;
    }
}

/// All kinds of faults that were asked for.
#[derive(Debug)]
pub(super) struct Injector {
    sources: Vec<Source>,
}

impl Injector {
    /// Gives each kind its own chance, so that one more kind leaves the others as they are.
    pub(super) fn new(seed: u64, specs: &[FaultSpec]) -> Self {
        let sources = specs.iter().zip(0..).map(|(spec, index)| Source {
            spec: spec.clone(),
            rng: Rng::new(child_seed(seed, index), Stream::Faults),
            met: 0,
            happened: 0,
        });
        Self {
            sources: sources.collect(),
        }
    }

    /// Returns the fault that is to happen to the request with this number.
    pub(super) fn next(&mut self, number: u64, request: &Request) -> Option<&mut Source> {
        let mut chosen = None;
        // Every kind looks at every request, so that none shifts the others.
        for (index, source) in self.sources.iter_mut().enumerate() {
            if source.wants(number, request) && chosen.is_none() {
                chosen = Some(index);
            }
        }
        chosen.map(|index| &mut self.sources[index])
    }
}
