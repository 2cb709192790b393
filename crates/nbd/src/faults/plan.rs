//! Which faults are asked for. Everything is resolved: no field has a default.

use iogauge_core::Nanos;
use serde::{Deserialize, Serialize};

use crate::protocol::Command;

/// What goes wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum FaultKind {
    /// A flush is acknowledged and does nothing.
    LostFlush,
    /// Some units of a write are missing.
    TornWrite,
    /// A write reaches the medium before older ones; with `across_flush`, after a flush that covers it.
    Reordering,
    /// A write lands at another place.
    MisdirectedWrite,
    /// A read returns what is at another place.
    MisdirectedRead,
    /// One bit of a write is wrong, from when it reaches the medium.
    BitRot,
    /// A read returns the version before the last.
    StaleRead,
    /// The end of a write is missing.
    ShortWrite,
    /// A write is acknowledged and not written.
    DroppedWrite,
    /// A write is written again, right after a newer one to the same place.
    Duplicated,
    /// A write is written and answered after a delay, even if its client is gone.
    Late,
}

impl FaultKind {
    /// Whether it can happen to such a request.
    pub(crate) fn befalls(self, command: Command) -> bool {
        match self {
            FaultKind::LostFlush => command == Command::Flush,
            FaultKind::MisdirectedRead | FaultKind::StaleRead => command == Command::Read,
            _ => command == Command::Write,
        }
    }
}

/// To which of the requests that a fault can happen to it does happen.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum When {
    /// To every Nth, from the Nth on; at least 1.
    Every(u64),
    /// To the requests with these numbers, of all requests of the drive, from 1 on.
    At(Vec<u64>),
    /// To each with this probability, in `[0, 1]`.
    Probability(f64),
}

/// One kind of fault.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FaultSpec {
    /// What goes wrong.
    pub kind: FaultKind,
    /// When.
    pub when: When,
    /// Requests that begin before this offset are spared.
    pub offset_bytes: u64,
    /// Requests that end beyond this length from the offset are spared; `None`: up to the end.
    pub size_bytes: Option<u64>,
    /// Most faults of this kind; `None` without a limit.
    pub most: Option<u64>,
    /// What a torn or short write loses is whole units of this many bytes: a power of two from 512 on.
    pub unit_bytes: u32,
    /// How long a late write is late, real ns.
    pub delay_ns: Nanos,
    /// Whether a reordered write stays behind a flush that covers it.
    pub across_flush: bool,
}

/// What a power cut leaves of the writes that were not flushed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Keep {
    /// Nothing.
    None,
    /// Everything.
    All,
    /// Of each write, by chance, everything, nothing, or some of its atomic units.
    Random,
}

/// How the power is cut.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PowerCut {
    /// Right before the request with this number takes effect.
    pub at_request: Option<u64>,
    /// After this time, real ns.
    pub after_ns: Option<Nanos>,
    /// What it leaves.
    pub keep: Keep,
    /// Bytes of an atomic unit, of which nothing or everything is left: a power of two from 512 on.
    pub atomic_bytes: u32,
    /// Whether the service ends; otherwise clients may connect again.
    pub ends: bool,
}

/// All that goes wrong.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Faults {
    /// The seed of all chance.
    pub seed: u64,
    /// The kinds. A request meets the first that happens to it.
    pub specs: Vec<FaultSpec>,
    /// Bytes of the volatile write cache; 0: writes are durable at once.
    pub write_cache_bytes: u64,
    /// How the power is cut.
    pub power_cut: PowerCut,
}
