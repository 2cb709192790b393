//! The data as connections see it: a store, or a store behind a volatile cache and faults.
//!
//! Without faults the data of a write goes to the store as it arrives. With faults a write is gathered first, since a
//! fault befalls all of it. So a write then has at most [`MOST_GATHERED`] bytes, which bounds a connection's memory.

use iogauge_core::Nanos;

use crate::faults::{Fate, Faulty, Injected, LateWrite, PowerCut, Reading};
use crate::protocol::wire::Refusal;
use crate::protocol::{Command, MOST_PAYLOAD, Request};
use crate::store::Store;

/// Most bytes of a request if writes are gathered.
pub(crate) const MOST_GATHERED: u32 = 1 << 20;

/// The data of an export.
pub(crate) enum Disk {
    /// It keeps its promises.
    Sound(Box<dyn Store>),
    /// It may break them.
    Faulty(Box<Faulty>),
}

impl Disk {
    /// Returns the most bytes of a read or a write.
    pub(crate) fn most_payload(&self) -> u32 {
        match self {
            Disk::Sound(_) => MOST_PAYLOAD,
            Disk::Faulty(_) => MOST_GATHERED,
        }
    }

    /// Takes a part of a write's data, and keeps it in `gathered` if it cannot be stored yet.
    pub(crate) fn arrive(
        &mut self,
        gathered: &mut Vec<u8>,
        offset_bytes: u64,
        bytes: &[u8],
    ) -> Result<(), Refusal> {
        match self {
            Disk::Sound(store) => store.write(offset_bytes, bytes),
            Disk::Faulty(_) => {
                gathered.extend_from_slice(bytes);
                Ok(())
            }
        }
    }

    /// Carries out a request as it arrives, real ns after the beginning, with the gathered data. Until it is answered,
    /// a client may see the old or the new data.
    pub(crate) fn begin(
        &mut self,
        at_ns: Nanos,
        request: Request,
        gathered: Vec<u8>,
    ) -> Result<Fate, Refusal> {
        let store = match self {
            Disk::Sound(store) => store,
            Disk::Faulty(faulty) => return faulty.begin(at_ns, request, gathered),
        };
        let (offset, length) = (request.offset_bytes, request.length_bytes);
        match request.command {
            Command::Read | Command::Flush | Command::Write => {}
            Command::Trim => store.zero(offset, length, false)?,
            Command::Zero { provision } => store.zero(offset, length, provision)?,
        }
        Ok(Fate::Done(Reading::Here))
    }

    /// Fills `bytes` with the data at `done_bytes` from the beginning of a read at `offset_bytes`.
    pub(crate) fn read(
        &self,
        reading: Reading,
        offset_bytes: u64,
        done_bytes: u64,
        bytes: &mut [u8],
    ) -> Result<(), Refusal> {
        let at = offset_bytes + done_bytes;
        match (self, reading) {
            (Disk::Sound(store), _) => store.read(at, bytes),
            (Disk::Faulty(faulty), Reading::Here) => faulty.read(at, bytes),
            (Disk::Faulty(faulty), Reading::At(other)) => faulty.read(other + done_bytes, bytes),
            (Disk::Faulty(faulty), Reading::Before) => faulty.read_before(at, bytes),
        }
    }

    /// Carries out a late write.
    pub(crate) fn write_late(&mut self, at_ns: Nanos, write: LateWrite) -> Result<(), Refusal> {
        match self {
            Disk::Sound(_) => Ok(()),
            Disk::Faulty(faulty) => faulty.write_late(at_ns, write),
        }
    }

    /// Returns how the power is cut; `None` if nothing is volatile.
    pub(crate) fn power_cut(&self) -> Option<&PowerCut> {
        match self {
            Disk::Sound(_) => None,
            Disk::Faulty(faulty) => Some(faulty.power_cut()),
        }
    }

    /// Loses the power.
    pub(crate) fn cut_power(&mut self, at_ns: Nanos) -> Result<(), Refusal> {
        match self {
            Disk::Sound(_) => Ok(()),
            Disk::Faulty(faulty) => faulty.cut_power(at_ns),
        }
    }

    /// Returns the faults that happened since the last call.
    pub(crate) fn take_injected(&mut self) -> Vec<Injected> {
        match self {
            Disk::Sound(_) => Vec::new(),
            Disk::Faulty(faulty) => faulty.take_injected(),
        }
    }
}
