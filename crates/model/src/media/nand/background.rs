//! Takes writes into the buffer and from there onto dies, with the work that this causes.
//!
//! A die with nothing to program takes the next work in this order: erases, moves of garbage collection, the host's
//! data, data that leaves the SLC region. So the host's data waits behind the collection that it caused, and the buffer
//! fills if the dies cannot keep up. A write to the SLC region causes no collection until it leaves it.

use super::Nand;
use super::agenda::Event;
use super::dies::Task;
use crate::drive::CHUNK;
use crate::explain::Part;
use crate::link::Way;

impl Nand {
    /// Starts a write at the controller: its data crosses the link, and chunks that it covers only in part are read.
    pub(super) fn start_write(&mut self, slot: u32, at: f64) {
        let access = self.requests.get(slot).access;
        let (first, last) = access.chunks();
        let end = access.offset_bytes + u64::from(access.length_bytes);
        let head = !access.offset_bytes.is_multiple_of(CHUNK);
        let tail = !end.is_multiple_of(CHUNK) && (first != last || !head);
        let parts = [head.then_some(first), tail.then_some(last)];
        for chunk in parts.into_iter().flatten() {
            self.counters.modify_reads += 1;
            self.read_pages(slot, chunk, chunk, at);
        }
        self.requests.get_mut(slot).parts += 1;
        let data = self.link.transfer(Way::In, at, access.length_bytes);
        // The controller takes chunks one after the other, as they come over the link.
        let one = access.length_bytes.min(CHUNK as u32);
        let first_comes = data.begins + f64::from(one) * self.link.ns_per_byte();
        let chunks = (last + 1 - first) as f64;
        let took_all = self.intake.max(first_comes) + chunks * self.spec.take_chunk_ns;
        let took_last = data.ends + self.spec.take_chunk_ns;
        self.intake = took_all.max(took_last);
        if let Some(paths) = &mut self.paths {
            paths.add(slot);
            let on_link = if took_all > took_last {
                first_comes
            } else {
                data.ends
            };
            let parts = [(Part::Link, on_link), (Part::Intake, self.intake)];
            paths.goes_on(slot, at, &parts);
        }
        self.agenda.push(self.intake, Event::Arrived { slot });
    }

    /// Notes that a part of the data for a write has arrived.
    #[inline]
    pub(super) fn part_arrived(&mut self, slot: u32, at: f64) {
        let request = self.requests.get_mut(slot);
        request.parts -= 1;
        if request.parts > 0 {
            return;
        }
        if let Some(paths) = &mut self.paths {
            paths.join(slot);
        }
        self.waiting.push_back(slot);
        self.admit(at);
    }

    /// Admits waiting writes to the buffer while it has room, the oldest first.
    pub(super) fn admit(&mut self, at: f64) {
        while let Some(&slot) = self.waiting.front() {
            let request = self.requests.get_mut(slot);
            let (first, last) = request.access.chunks();
            let next = first + request.buffered_chunks;
            let count = self.buffer.room().min(last + 1 - next);
            if count == 0 {
                break;
            }
            request.buffered_chunks += count;
            self.last_write = at;
            self.folding = false;
            let complete = next + count == last + 1;
            self.space.write(next, count);
            if let Some(slc) = &mut self.slc {
                for (page, chunks) in self.space.pages_of(next, count) {
                    slc.written(page, chunks, u64::from(self.unit_chunks));
                }
            }
            self.buffer.put(next, count);
            self.counters.chunks_written += count;
            if !complete {
                break;
            }
            self.waiting.pop_front();
            if let Some(paths) = &mut self.paths {
                paths.wait(slot, Part::Buffer, at);
            }
            let latency =
                self.spec.write_latency_ns + self.noise.draw() * self.spec.write_jitter_ns;
            self.finish(slot, at + latency);
        }
        self.dispatch(at);
        self.watch(at);
    }

    /// Schedules a check for the time when the last write is long enough ago.
    #[inline]
    fn watch(&mut self, at: f64) {
        if self.watching {
            return;
        }
        let drain = self.buffer.is_open().then_some(self.spec.drain_after_ns);
        let stays = |held: u64| !self.folding && held + self.buffer.held() > 0;
        let to_fold = self.slc.as_ref().filter(|slc| stays(slc.held()));
        let fold = to_fold.map(|slc| slc.spec.fold_after_ns);
        let after = match (drain, fold) {
            (Some(drain), Some(fold)) => drain.min(fold),
            (Some(after), None) | (None, Some(after)) => after,
            (None, None) => return,
        };
        self.watching = true;
        self.agenda
            .push((self.last_write + after).max(at), Event::Idle);
    }

    /// Starts idle work if the last write is long enough ago.
    #[cold]
    pub(super) fn idle(&mut self, at: f64) {
        self.watching = false;
        if self.last_write + self.spec.drain_after_ns <= at {
            self.buffer.close();
        }
        if let Some(slc) = &self.slc {
            self.folding = self.last_write + slc.spec.fold_after_ns <= at;
        }
        self.dispatch(at);
        self.watch(at);
    }

    /// Gives the next work to dies that have nothing to program.
    pub(super) fn dispatch(&mut self, at: f64) {
        while self.buffer.is_ready()
            || self.folding
            || self.moves_due >= 1.0
            || self.erases_due >= 1.0
        {
            let Some(die) = self.dies.next_idle() else {
                return;
            };
            let Some(task) = self.next_task() else {
                return;
            };
            self.give(die, task, at);
        }
    }

    /// Returns the next work for any die.
    fn next_task(&mut self) -> Option<Task> {
        if self.erases_due >= 1.0 {
            self.erases_due -= 1.0;
            return Some(Task::Erase);
        }
        if self.moves_due >= 1.0 {
            return Some(Task::MoveRead);
        }
        if !self.buffer.is_ready() {
            return if self.folding { self.fold() } else { None };
        }
        let mut in_slc = false;
        if let Some(slc) = &mut self.slc {
            in_slc = slc.take(u64::from(self.unit_chunks));
            if !in_slc && slc.spec.fold_when_full && slc.held() > 0 {
                return self.fold();
            }
        }
        let (unit, chunks) = self.buffer.give()?;
        if !in_slc {
            self.pay(chunks);
        }
        Some(Task::Host {
            unit,
            chunks,
            slc: in_slc,
        })
    }

    /// Moves data out of the SLC region.
    fn fold(&mut self) -> Option<Task> {
        let slc = self.slc.as_mut()?;
        let chunks = slc.to_leave(u64::from(self.unit_chunks)) as u32;
        slc.leave(u64::from(chunks));
        self.pay(chunks);
        (chunks > 0).then_some(Task::FoldRead { chunks })
    }

    /// Adds the share of collection work that is due for `chunks` written.
    #[inline]
    fn pay(&mut self, chunks: u32) {
        let payment = self.space.pay(f64::from(chunks));
        let per_unit = 1.0 / f64::from(self.unit_chunks);
        self.moves_due += payment.moved * per_unit;
        self.move_reads_due += payment.read * per_unit;
        self.erases_due += payment.erased * per_unit / f64::from(self.spec.pages_per_block);
    }

    /// Gives a die a task.
    fn give(&mut self, die: u32, task: Task, at: f64) {
        let length = self.length_of(task);
        let data = if task.programs() {
            let channel = self.channels.of_die(die);
            self.channels.transfer(channel, at, self.spec.unit_bytes())
        } else {
            at
        };
        self.active.write_ns += length / self.dies.count() as f64;
        let ends = self.dies.give(die, task, length, data);
        self.agenda.push(ends, Event::Die { die });
    }

    /// Returns how long a task keeps a die busy.
    #[inline]
    fn length_of(&mut self, task: Task) -> f64 {
        let spec = &self.spec;
        let slc = self.slc.as_ref().map(|slc| slc.spec);
        let program = match task {
            Task::Host { slc: true, .. } => slc.map_or(spec.program_ns, |slc| slc.program_ns),
            Task::Host { .. } | Task::MoveProgram | Task::FoldProgram { .. } => spec.program_ns,
            Task::MoveRead => {
                // The reads for each move that is due.
                let reads = self.move_reads_due / self.moves_due;
                self.move_reads_due -= reads;
                self.moves_due -= 1.0;
                let slower = spec.slow_read_ns - spec.read_ns;
                return reads * (spec.read_ns + spec.slow_read_share * slower);
            }
            Task::FoldRead { .. } => return slc.map_or(spec.read_ns, |slc| slc.read_ns),
            Task::Erase => return spec.erase_ns,
        };
        program * (1.0 + spec.program_spread * (2.0 * self.rng.unit() - 1.0))
    }

    /// Checks whether a die has finished its task.
    #[inline]
    pub(super) fn check_die(&mut self, die: u32, at: f64) {
        match self.dies.take(die, at) {
            Ok(task) => self.end_task(die, task, at),
            Err(later) => self.agenda.push(later, Event::Die { die }),
        }
    }

    /// Ends a die's task.
    fn end_task(&mut self, die: u32, task: Task, at: f64) {
        let unit_bytes = self.spec.unit_bytes();
        if task.programs() {
            self.counters.chunks_of_programs += u64::from(self.unit_chunks);
        }
        match task {
            Task::Host { unit, chunks, slc } => {
                self.counters.chunks_programmed += u64::from(chunks);
                if slc {
                    self.counters.slc_programs += 1;
                } else {
                    self.counters.host_programs += 1;
                }
                self.buffer.release(unit, chunks);
                self.wake_flushes(at);
                if !self.waiting.is_empty() {
                    self.admit(at);
                    return;
                }
            }
            Task::MoveRead | Task::FoldRead { .. } => {
                // The data goes through the controller, which corrects errors, and back.
                let channel = self.channels.of_die(die);
                self.channels.transfer(channel, at, unit_bytes);
                let program = match task {
                    Task::FoldRead { chunks } => Task::FoldProgram { chunks },
                    _ => Task::MoveProgram,
                };
                self.give(die, program, at);
            }
            Task::MoveProgram => self.counters.move_programs += 1,
            Task::FoldProgram { chunks } => {
                self.counters.fold_programs += 1;
                if let Some(slc) = &mut self.slc {
                    slc.left(u64::from(chunks));
                }
            }
            Task::Erase => self.counters.erases += 1,
        }
        self.dispatch(at);
    }

    /// Starts a flush. If the buffer survives a power failure, the flush waits for nothing.
    pub(super) fn flush(&mut self, slot: u32, at: f64) {
        if self.spec.buffer_protected {
            self.finish(slot, at);
            return;
        }
        self.buffer.close();
        self.flushes.push_back((slot, self.buffer.filled()));
        self.wake_flushes(at);
        self.dispatch(at);
    }

    #[inline]
    fn wake_flushes(&mut self, at: f64) {
        while let Some(&(slot, units)) = self.flushes.front() {
            if self.buffer.programmed() < units {
                return;
            }
            self.flushes.pop_front();
            if let Some(paths) = &mut self.paths {
                paths.wait(slot, Part::Flush, at);
            }
            self.finish(slot, at);
        }
    }

    /// Trims: entire chunks are forgotten.
    pub(super) fn trim(&mut self, slot: u32, at: f64) {
        let access = self.requests.get(slot).access;
        let end = access.offset_bytes + u64::from(access.length_bytes);
        let (first, end) = (access.offset_bytes.div_ceil(CHUNK), end / CHUNK);
        if end > first {
            self.buffer.forget(first, end - first);
            let slc = &mut self.slc;
            self.space.trim(first, end - first, |page| {
                if let Some(slc) = slc {
                    slc.forget(page);
                }
            });
        }
        let mebibytes = f64::from(access.length_bytes) / f64::from(1 << 20);
        let ends = at + mebibytes * self.spec.trim_mebibyte_ns;
        if let Some(paths) = &mut self.paths {
            paths.wait(slot, Part::Controller, ends);
        }
        self.finish(slot, ends);
    }
}
