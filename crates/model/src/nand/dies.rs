//! Dies: servers of two classes, reads of the host and everything else.
//!
//! Reads are served in the order in which they come and ahead of programs and erases that wait, so when a read ends is
//! known when it comes; no event is needed for it. A program or an erase begins when no read waits. It is not
//! interrupted, or else suspended for reads, and goes on where it stopped. After so many reads that went ahead of it, it
//! goes first.
//!
//! A die has at most one operation of the second class, in service or waiting; the others wait in common for a die.
//!
//! Source: models.md ("NAND").

/// What a die does besides reads of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Programs chunks of the host, in the unit of this number.
    Host { unit: u64, chunks: u32, slc: bool },
    /// Reads what collection moves.
    MoveRead,
    /// Programs it.
    MoveProgram,
    /// Erases a block of each plane.
    Erase,
    /// Reads chunks that are to leave the one-bit cells.
    FoldRead { chunks: u32 },
    /// Programs them.
    FoldProgram { chunks: u32 },
}

impl Task {
    /// Whether it programs pages, and so needs data.
    #[inline]
    pub(super) fn programs(self) -> bool {
        matches!(
            self,
            Self::Host { .. } | Self::MoveProgram | Self::FoldProgram { .. }
        )
    }
}

/// An operation of the second class.
#[derive(Clone, Copy, Debug)]
pub(super) struct Operation {
    pub(super) task: Task,
    /// How long the die will be busy with it.
    pub(super) length: f64,
    /// When its data can be there.
    pub(super) data: f64,
    /// When it ends, as far as is known; `None` while it waits.
    pub(super) ends: Option<f64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    /// When it is done with all that is decided.
    free: f64,
    /// While an operation is suspended: when it is done with the reads in between.
    inside: f64,
    /// Reads that went ahead of the operation.
    ahead: u32,
    operation: Option<Operation>,
}

/// See the module's text.
#[derive(Clone, Debug)]
pub(super) struct Dies {
    dies: Box<[Die]>,
    /// A bit for each die without an operation.
    idle: Box<[u64]>,
    /// Where to look for one next.
    cursor: usize,
    suspend: Option<f64>,
    most_ahead: u32,
}

impl Dies {
    pub(super) fn new(count: u32, suspend: Option<f64>, most_ahead: u32) -> Self {
        let mut idle = vec![0u64; count.div_ceil(64) as usize];
        (0..count as usize).for_each(|die| idle[die / 64] |= 1 << (die % 64));
        Self {
            dies: vec![Die::default(); count as usize].into(),
            idle: idle.into(),
            cursor: 0,
            suspend,
            most_ahead,
        }
    }

    pub(super) fn count(&self) -> usize {
        self.dies.len()
    }

    /// A read of `length` comes at `now`; when it ends.
    #[inline]
    pub(super) fn read(&mut self, index: u32, now: f64, length: f64) -> f64 {
        let die = &mut self.dies[index as usize];
        if let Some(operation) = &mut die.operation {
            match (operation.ends, self.suspend) {
                (None, _) if die.ahead >= self.most_ahead => {
                    let begins = die.free.max(now).max(operation.data);
                    die.free = begins + operation.length;
                    operation.ends = Some(die.free);
                    // Reads that come now follow it; those ahead of the next one are counted anew.
                }
                (None, _) => die.ahead += 1,
                (Some(ends), Some(suspend))
                    // Nothing follows the operation yet, and it is in service.
                    if die.free == ends
                        && now < ends
                        && now >= ends - operation.length
                        && die.ahead < self.most_ahead =>
                {
                    let suspended = die.inside > now;
                    let begins = if suspended { die.inside } else { now + suspend };
                    if begins < ends {
                        die.ahead += 1;
                        die.inside = begins + length;
                        let late = if suspended { length } else { length + suspend };
                        // What is left of it is left when the reads are over.
                        operation.length += late;
                        die.free = ends + late;
                        operation.ends = Some(die.free);
                        return die.inside;
                    }
                }
                _ => {}
            }
        }
        die.free = die.free.max(now) + length;
        die.free
    }

    /// The next die without an operation, in turn.
    #[inline]
    pub(super) fn next_idle(&mut self) -> Option<u32> {
        let words = self.idle.len();
        let (word, bit) = (self.cursor / 64, self.cursor % 64);
        for step in 0..=words {
            let at = (word + step) % words;
            let mut found = self.idle[at];
            if step == 0 {
                found &= u64::MAX << bit;
            }
            if found != 0 {
                let die = at * 64 + found.trailing_zeros() as usize;
                self.cursor = (die + 1) % self.dies.len();
                return Some(die as u32);
            }
        }
        None
    }

    /// Gives a die an operation, which waits; when it may begin at the soonest.
    #[inline]
    pub(super) fn give(&mut self, index: u32, now: f64, task: Task, length: f64, data: f64) -> f64 {
        self.idle[index as usize / 64] &= !(1 << (index % 64));
        let die = &mut self.dies[index as usize];
        die.ahead = 0;
        die.operation = Some(Operation {
            task,
            length,
            data,
            ends: None,
        });
        die.free.max(data).max(now)
    }

    /// Looks at a die's operation at `now`: begins it, or takes it where it is over. Otherwise says when to look again.
    #[inline]
    pub(super) fn look(&mut self, index: u32, now: f64) -> Result<Option<Task>, f64> {
        let die = &mut self.dies[index as usize];
        let Some(operation) = &mut die.operation else {
            return Ok(None);
        };
        match operation.ends {
            Some(ends) if ends > now => Err(ends),
            Some(_) => {
                let task = operation.task;
                die.operation = None;
                self.idle[index as usize / 64] |= 1 << (index % 64);
                Ok(Some(task))
            }
            None if die.free.max(operation.data) > now => Err(die.free.max(operation.data)),
            None => {
                die.free = now + operation.length;
                operation.ends = Some(die.free);
                Err(die.free)
            }
        }
    }
}
