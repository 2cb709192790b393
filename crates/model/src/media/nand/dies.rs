//! Dies: servers with two classes of work, reads of the host and operations.
//!
//! Reads are served in the order in which they come, ahead of waiting operations, so the end of a read is known when it
//! comes. An operation begins when its data has arrived and no read waits; that instant is known too, unless another
//! read comes first. Reads wait for an operation that has begun or, if the drive can, suspend it. After a limited
//! number of reads ahead of it, an operation goes first.
//!
//! A die has at most one operation, in service or waiting. All others wait in one queue for any die.

/// An operation: the work of a die besides reads of the host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Task {
    /// Programs chunks of the host, in the unit with this number.
    Host { unit: u64, chunks: u32, slc: bool },
    /// Reads data that collection moves.
    MoveRead,
    /// Programs data that collection moves.
    MoveProgram,
    /// Erases a block of each plane.
    Erase,
    /// Reads chunks that leave the SLC region.
    FoldRead { chunks: u32 },
    /// Programs chunks that leave the SLC region.
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

/// An operation on a die.
#[derive(Clone, Copy, Debug)]
struct Operation {
    task: Task,
    /// When it begins and ends, unless a read precedes or suspends it.
    begins: f64,
    ends: f64,
}

#[derive(Clone, Copy, Debug, Default)]
struct Die {
    /// When the reads ahead of its operation end or, if the operation is suspended, the reads meanwhile.
    reads: f64,
    /// When the reads after its operation end; earlier than the operation's end if there are none.
    after: f64,
    /// Number of reads served ahead of the operation.
    ahead: u32,
    operation: Option<Operation>,
}

/// What keeps a die from reading at once.
#[derive(Clone, Copy, Debug)]
pub(super) struct Busy {
    /// When the reads before its operation end.
    pub(super) reads_until: f64,
    /// Its operation, and when that ends.
    pub(super) operation: Option<(Task, f64)>,
}

/// All dies of a drive.
#[derive(Clone, Debug)]
pub(super) struct Dies {
    dies: Box<[Die]>,
    /// A bit for each die without an operation.
    idle: Box<[u64]>,
    /// Where to look for an idle die next.
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

    /// Adds a read of `length` at `now`. Returns when it ends.
    #[inline]
    pub(super) fn read(&mut self, index: u32, now: f64, length: f64) -> f64 {
        let die = &mut self.dies[index as usize];
        let Some(operation) = &mut die.operation else {
            die.reads = die.reads.max(now) + length;
            return die.reads;
        };
        let follows = die.after > operation.ends;
        if !follows && die.ahead < self.most_ahead {
            if now < operation.begins {
                die.ahead += 1;
                die.reads = die.reads.max(now) + length;
                let late = (die.reads - operation.begins).max(0.0);
                operation.begins += late;
                operation.ends += late;
                return die.reads;
            }
            if let Some(suspend) = self.suspend {
                let suspended = die.reads > now;
                let (begins, late) = if suspended {
                    (die.reads, length)
                } else {
                    (now + suspend, length + suspend)
                };
                if begins < operation.ends {
                    die.ahead += 1;
                    die.reads = begins + length;
                    operation.ends += late;
                    return die.reads;
                }
            }
        }
        die.after = die.after.max(operation.ends).max(now) + length;
        die.after
    }

    /// Returns what a die does, so that it is known what the next read waits for.
    pub(super) fn busy(&self, index: u32) -> Busy {
        let die = &self.dies[index as usize];
        Busy {
            reads_until: die.reads,
            operation: die
                .operation
                .map(|Operation { task, ends, .. }| (task, ends)),
        }
    }

    /// Returns the next die without an operation, in turn.
    #[inline]
    pub(super) fn next_idle(&mut self) -> Option<u32> {
        let words = self.idle.len();
        let (word, bit) = (self.cursor / 64, self.cursor % 64);
        for step in 0..=words {
            let at = (word + step) % words;
            let mut idle_dies = self.idle[at];
            if step == 0 {
                idle_dies &= u64::MAX << bit;
            }
            if idle_dies != 0 {
                let die = at * 64 + idle_dies.trailing_zeros() as usize;
                self.cursor = (die + 1) % self.dies.len();
                return Some(die as u32);
            }
        }
        None
    }

    /// Gives a die an operation that can begin no earlier than `from`. Returns its end, if no read comes.
    #[inline]
    pub(super) fn give(&mut self, index: u32, task: Task, length: f64, from: f64) -> f64 {
        self.idle[index as usize / 64] &= !(1 << (index % 64));
        let die = &mut self.dies[index as usize];
        die.ahead = 0;
        let begins = die.reads.max(from);
        let ends = begins + length;
        die.operation = Some(Operation { task, begins, ends });
        ends
    }

    /// Takes a die's operation if it is over at `now`. Otherwise returns when to look again.
    ///
    /// # Panics
    /// If the die has none.
    #[inline]
    pub(super) fn take(&mut self, index: u32, now: f64) -> Result<Task, f64> {
        let die = &mut self.dies[index as usize];
        let Operation { task, ends, .. } = die.operation.expect("it was given one");
        if ends > now {
            return Err(ends);
        }
        die.operation = None;
        die.reads = die.reads.max(ends).max(die.after);
        self.idle[index as usize / 64] |= 1 << (index % 64);
        Ok(task)
    }
}
