//! Reads back what the worker wrote: fio's `verify`, as far as it decides requests. What a block must hold is the
//! engine's part.
//!
//! After every pass over the region a worker waits for its writes, has them made durable, and reads them back at its
//! iodepth. These reads have no rate and no think time, and do not count toward the limits. With a backlog it also reads
//! some of them back between the writes. Only the end of its runtime ends this early. Some writes are trimmed before they
//! are read back, in batches between the writes, which count as little.
//!
//! Source: fio 3.33's backend.c (do_verify, do_dry_run) and io_u.c (check_get_verify); fio 3.42's io_u.c
//! (check_get_trim).

use super::Worker;
use crate::generate::{Io, PatternError};
use crate::plan::{VerifyState, VerifyTrims, WorkerPlan};
use crate::request::{Check, Completion, Direction, Errno, Kind, Request, Want};
use crate::time::Nanos;
use crate::verify::{Completed, History, Recall};

/// What the worker does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    /// Issues the requests of the pattern.
    Issuing,
    /// Waits for the last of them.
    Settling,
    /// Reads back what they wrote.
    Reading,
}

/// What a worker knows of its writes.
#[derive(Debug)]
pub(super) struct Verifying {
    /// Absent if it does not read back.
    history: Option<History>,
    phase: Phase,
    /// Whether another pass follows.
    more: bool,
    /// Whether it issues no writes.
    dry: bool,
    /// Whether headers must have the number of the last write.
    numbers: bool,
    /// The number of the next write.
    number: u64,
    /// The last writes that returned, if the result says how far they came.
    completed: Option<Completed>,
    /// The number of the first write that failed.
    first_failed: Option<u64>,
    /// How far the writes of a dry run came; absent: all were made.
    state: Option<VerifyState>,
    backlog: usize,
    backlog_batch: usize,
    /// Reads of the backlog that are still to be issued.
    batch_left: usize,
    trims: Option<VerifyTrims>,
    /// Trims of the batch that are still to be issued.
    trims_left: u64,
    /// The direction of the last completion, syncs aside.
    last: Option<Direction>,
    /// How long it has done nothing but read back, until `reading_since` if that is set.
    reading: Nanos,
    reading_since: Option<Nanos>,
}

impl Verifying {
    /// Creates what `plan` needs; nothing if it does not write blocks that can be verified.
    pub(super) fn new(
        plan: &WorkerPlan,
        regions: &[(u64, u64)],
    ) -> Result<Option<Box<Self>>, PatternError> {
        let Some(verify) = plan.verify.as_ref().filter(|_| plan.pattern.rw.writes()) else {
            return Ok(None);
        };
        let history = match verify.reads_back {
            true => Some(History::new(&plan.pattern, regions, plan.iodepth)?),
            false => None,
        };
        let history = match (history, &verify.trims) {
            (Some(history), Some(trims)) => Some(history.with_trims(trims, plan.seed)?),
            (history, _) => history,
        };
        let batch = match verify.backlog_batch {
            0 => verify.backlog,
            batch => batch,
        };
        Ok(Some(Box::new(Self {
            history,
            phase: Phase::Issuing,
            more: false,
            dry: verify.dry,
            numbers: verify.numbers,
            number: 0,
            completed: (verify.saves_state && !verify.dry)
                .then(|| Completed::new(plan.files.len(), plan.iodepth)),
            first_failed: None,
            state: verify.state.clone(),
            backlog: verify.backlog as usize,
            backlog_batch: batch as usize,
            batch_left: 0,
            trims: verify.trims,
            trims_left: 0,
            last: None,
            reading: 0,
            reading_since: None,
        })))
    }

    /// Returns the number of a write of which a request has the last 32 bits.
    fn full_number(&self, number: u32) -> u64 {
        self.number - u64::from((self.number as u32).wrapping_sub(number))
    }

    /// Whether all writes were drawn that the job had made which a dry run verifies.
    fn has_drawn_all(&self) -> bool {
        let state = self.state.as_ref();
        state.is_some_and(|state| self.number >= state.writes)
    }

    /// Whether it issues no writes: they take no time, and only the limits of the job end them.
    pub(super) fn is_dry(&self) -> bool {
        self.dry
    }

    /// Whether the requests of the pattern have to wait until all of them were read back.
    pub(super) fn is_reading(&self) -> bool {
        self.phase != Phase::Issuing
    }

    /// Whether a pass must be read back before the next.
    pub(super) fn owes(&self) -> bool {
        let history = self.history.as_ref();
        history.is_some_and(|history| !history.is_empty())
    }

    /// Whether `io` must wait for a request in flight that it overlaps.
    pub(super) fn conflicts(&self, io: &Io) -> bool {
        let history = self.history.as_ref();
        matches!(io.kind, Kind::Write | Kind::Trim)
            && history.is_some_and(|history| history.conflicts(io))
    }

    /// Notes a request of the pattern that is being issued. Returns what it has to do with verification.
    pub(super) fn issue(&mut self, io: &Io) -> Check {
        let number = self.number as u32;
        if matches!(io.kind, Kind::Write | Kind::Trim)
            && let Some(history) = &mut self.history
        {
            history.issued(io, number);
        }
        if io.kind != Kind::Write {
            return Check::Nothing;
        }
        self.number += 1;
        Check::Write(number)
    }

    /// Returns the next read of the backlog, if one is due.
    fn backlog_read(&mut self) -> Option<Recall> {
        let history = self.history.as_mut().filter(|_| self.backlog > 0)?;
        if history.is_empty() {
            return None;
        }
        if self.batch_left == 0 {
            if !history.len().is_multiple_of(self.backlog) || self.last == Some(Direction::Read) {
                return None;
            }
            self.batch_left = self.backlog_batch;
        }
        let recall = history.take()?;
        self.batch_left -= 1;
        Some(recall)
    }

    /// Returns the next trim, if one is due. One whose write is still in flight stays due.
    fn backlog_trim(&mut self) -> Option<Io> {
        let trims = self.trims?;
        let history = self.history.as_mut()?;
        if !history.owes_trims() {
            self.trims_left = 0;
            return None;
        }
        if self.trims_left == 0 {
            let due = (history.len() as u64).is_multiple_of(trims.backlog);
            if !due || self.last == Some(Direction::Trim) {
                return None;
            }
            self.trims_left = trims.batch;
        }
        let io = history.take_trim()?;
        self.trims_left -= 1;
        Some(io)
    }

    fn check(&self, recall: &Recall) -> Check {
        if recall.trimmed {
            Check::Trimmed
        } else if self.numbers {
            Check::Write(recall.number)
        } else {
            Check::Block
        }
    }
}

impl Worker {
    /// Returns what the worker wants while it reads back, or if a read or a trim of a backlog is due. `None`: the
    /// pattern's next request.
    #[cold]
    pub(super) fn read_back(&mut self, now: Nanos) -> Option<Want> {
        let verifying = self.verifying.as_mut()?;
        if verifying.phase == Phase::Issuing {
            if now >= self.end {
                return None;
            }
            if let Some(recall) = verifying.backlog_read() {
                return Some(self.recall(recall, now));
            }
            let io = verifying.backlog_trim()?;
            return Some(self.reissue(&io, Check::Trimmed, now));
        }
        if now >= self.end {
            return Some(self.drain(now));
        }
        if verifying.phase == Phase::Settling {
            if let Some(io) = verifying.backlog_trim() {
                return Some(self.reissue(&io, Check::Trimmed, now));
            }
            if self.slots.in_flight() > 0 {
                return Some(self.wait_for_one(now));
            }
            verifying.phase = Phase::Reading;
            return Some(Want::Settle);
        }
        let history = verifying.history.as_mut();
        if let Some(recall) = history.and_then(History::take) {
            return Some(self.recall(recall, now));
        }
        if self.slots.in_flight() > 0 {
            return Some(self.wait_for_one(now));
        }
        self.end_reading(now)
    }

    pub(super) fn wait_for_one(&self, now: Nanos) -> Want {
        Want::Wait {
            completions: 1,
            until: self.deadline(now),
        }
    }

    fn recall(&mut self, recall: Recall, now: Nanos) -> Want {
        let check = self
            .verifying
            .as_ref()
            .map_or(Check::Block, |verifying| verifying.check(&recall));
        self.reissue(&recall.io, check, now)
    }

    /// Issues a request that is not the pattern's.
    fn reissue(&mut self, io: &Io, check: Check, now: Nanos) -> Want {
        let request = self.slots.take(io, now, now);
        self.prioritize(Request { check, ..request });
        Want::Issue(request.slot)
    }

    /// Begins to read back at the end of a pass, if there is something to read back.
    pub(super) fn begin_reading(&mut self, now: Nanos) -> bool {
        let Some(verifying) = self.verifying.as_mut().filter(|verifying| verifying.owes()) else {
            return false;
        };
        verifying.phase = Phase::Settling;
        verifying.reading_since = Some(now);
        true
    }

    /// Notes that another pass follows once this one has been read back. Returns whether it must be read back.
    pub(super) fn pass_is_owed(&mut self) -> bool {
        let Some(verifying) = self.verifying.as_mut().filter(|verifying| verifying.owes()) else {
            return false;
        };
        verifying.more = true;
        true
    }

    /// Whether there is something to read back.
    pub(super) fn owes_reading(&self) -> bool {
        let verifying = self.verifying.as_ref();
        verifying.is_some_and(|verifying| verifying.owes())
    }

    /// Whether it does nothing but read back.
    pub(super) fn is_reading(&self) -> bool {
        let verifying = self.verifying.as_ref();
        verifying.is_some_and(|verifying| verifying.is_reading())
    }

    /// Whether the pattern has no request before syncs and the reading back.
    pub(super) fn is_between_passes(&self) -> bool {
        let verifying = self.verifying.as_ref();
        self.closing.follows_pass()
            || verifying.is_some_and(|verifying| {
                verifying.more || verifying.is_reading() || verifying.has_drawn_all()
            })
    }

    fn end_reading(&mut self, now: Nanos) -> Option<Want> {
        let verifying = self.verifying.as_mut()?;
        debug_assert!(!verifying.owes(), "all was read back");
        verifying.phase = Phase::Issuing;
        if let Some(since) = verifying.reading_since.take() {
            verifying.reading += now - since;
        }
        if !std::mem::take(&mut verifying.more) {
            return Some(self.drain(now));
        }
        // The schedule stood still.
        for schedule in self.schedules.iter_mut().flatten() {
            schedule.drop_before(now.saturating_sub(self.start));
        }
        self.begin_pass();
        None
    }

    /// Returns how long it has done nothing but read back until `now`.
    pub fn reading_ns(&self, now: Nanos) -> Nanos {
        self.verifying.as_ref().map_or(0, |verifying| {
            let since = verifying.reading_since.unwrap_or(now);
            verifying.reading + now.saturating_sub(since)
        })
    }

    /// Returns how many of its writes it has still to read back.
    pub fn unread(&self) -> u64 {
        let verifying = self.verifying.as_ref();
        let history = verifying.and_then(|verifying| verifying.history.as_ref());
        history.map_or(0, |history| history.len() as u64)
    }

    /// Returns how far its writes came, if its result says that. A state names what returned of its last writes alone, as
    /// many as the depth. So it ends where all before these did.
    pub fn verify_state(&self) -> Option<VerifyState> {
        let verifying = self.verifying.as_ref()?;
        let depth = self.slots.count() as u32;
        let in_flight = self.slots.busy().filter_map(|request| match request {
            Request {
                kind: Kind::Write,
                check: Check::Write(number),
                ..
            } => Some(verifying.full_number(*number)),
            _ => None,
        });
        let open = in_flight.chain(verifying.first_failed).min();
        Some(VerifyState {
            writes: open.map_or(verifying.number, |first| {
                verifying.number.min(first + u64::from(depth))
            }),
            depth,
            completed: verifying.completed.as_ref()?.latest(),
        })
    }

    /// Returns [`Self::reading_ns`]; `None` while it reads back.
    #[inline]
    pub fn reading_back(&self) -> Option<Nanos> {
        self.verifying.as_ref().map_or(Some(0), |verifying| {
            (!verifying.is_reading()).then_some(verifying.reading)
        })
    }

    /// Whether the requests of the pattern are not issued.
    pub(super) fn is_dry(&self) -> bool {
        self.verifying
            .as_ref()
            .is_some_and(|verifying| verifying.is_dry())
    }

    /// In a dry run, notes a request as if it had been made, and returns true.
    pub(super) fn rehearses(&mut self, io: &Io) -> bool {
        let Some(verifying) = self.verifying.as_mut().filter(|verifying| verifying.dry) else {
            return false;
        };
        let returned = verifying
            .state
            .as_ref()
            .is_none_or(|state| state.has(verifying.number, io.target, io.offset_bytes));
        verifying.issue(io);
        if io.kind == Kind::Write
            && let Some(history) = &mut verifying.history
        {
            history.returned(io, returned);
        }
        self.count(io);
        true
    }

    /// Notes a completion for the history.
    #[inline]
    pub(super) fn verified(&mut self, completion: &Completion) {
        let Some(verifying) = self.verifying.as_mut() else {
            return;
        };
        let request = *self.slots.request(completion.slot);
        if request.kind.direction() != Direction::Sync {
            verifying.last = Some(request.kind.direction());
        }
        let io = io_of(&request);
        let complete = completion.result == Ok(request.length_bytes);
        if let (Some(completed), Check::Write(number), Kind::Write) =
            (&mut verifying.completed, request.check, request.kind)
        {
            if complete {
                completed.push(&io);
            } else {
                let number = verifying.full_number(number);
                verifying.first_failed = Some(verifying.first_failed.unwrap_or(number).min(number));
            }
        }
        let Some(history) = &mut verifying.history else {
            return;
        };
        match request.kind {
            Kind::Write => {
                history.returned(&io, complete);
            }
            Kind::Read if request.check != Check::Nothing => history.was_read(&io),
            Kind::Trim if request.check == Check::Trimmed => {
                history.was_trimmed(&io, completion.result.is_ok());
            }
            _ => {}
        }
    }

    /// Notes that a block does not hold what was written. Ends the worker, unless it goes on after that.
    pub fn mismatched(&mut self, at: Nanos) {
        if !self.continue_on_mismatch {
            self.failed.get_or_insert(Errno::MISMATCH);
            self.stop(at);
        }
    }
}

fn io_of(request: &Request) -> Io {
    Io {
        target: request.target,
        kind: request.kind,
        offset_bytes: request.offset_bytes,
        length_bytes: request.length_bytes,
    }
}
