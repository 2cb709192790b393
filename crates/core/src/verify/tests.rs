//! The history, its marks and its queue against plain models.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use proptest::prelude::*;

use super::History;
use super::marks::Marks;
use super::queue::Queue;
use crate::generate::Io;
use crate::plan::{PatternPlan, Rw, VerifyTrims};
use crate::request::Kind;
use crate::testing::{BLOCK, plan, same};

fn pattern(rw: Rw, largest: u32, random_map: bool) -> PatternPlan {
    let mut pattern = plan(rw).pattern;
    let mut sizes = pattern.sizes.write.clone();
    sizes.maximum_bytes = largest * sizes.minimum_bytes;
    pattern.sizes = same(sizes);
    pattern.random_map = random_map;
    pattern
}

fn io(kind: Kind, block: u64, blocks: u64) -> Io {
    Io {
        target: 0,
        kind,
        offset_bytes: (1 << 20) + block * BLOCK,
        length_bytes: (blocks * BLOCK) as u32,
    }
}

fn history(pattern: &PatternPlan, blocks: u64) -> History {
    History::new(pattern, &[(1 << 20, blocks * BLOCK)], 8).expect("there is memory")
}

#[test]
fn a_write_in_flight_is_not_taken_and_must_not_be_overwritten() {
    let mut history = history(&pattern(Rw::Write, 4, false), 16);
    history.issued(&io(Kind::Write, 4, 4), 7);
    assert_eq!(history.take(), None);
    for (block, overlaps) in [(0, false), (1, true), (7, true), (8, false)] {
        assert_eq!(history.conflicts(&io(Kind::Write, block, 4)), overlaps);
    }
    history.returned(&io(Kind::Write, 4, 4), true);
    assert!(!history.conflicts(&io(Kind::Write, 4, 4)));
    let recall = history.take().expect("it has returned");
    assert_eq!((recall.io, recall.number), (io(Kind::Read, 4, 4), 7));
    assert!(history.conflicts(&io(Kind::Trim, 7, 1)));
    history.was_read(&recall.io);
    assert!(!history.conflicts(&io(Kind::Trim, 7, 1)));
}

#[test]
fn nothing_may_overlap_a_trim_in_flight() {
    for reads_zeroes in [false, true] {
        let trims = VerifyTrims {
            percentage: 100,
            backlog: 1,
            batch: 1,
            reads_zeroes,
        };
        let mut history = history(&pattern(Rw::Write, 4, false), 16)
            .with_trims(&trims, 1)
            .expect("there is memory");
        history.issued(&io(Kind::Write, 4, 4), 7);
        assert_eq!(history.take_trim(), None, "the write is in flight");
        history.returned(&io(Kind::Write, 4, 4), true);
        let trim = history.take_trim().expect("it has returned");
        assert_eq!(trim, io(Kind::Trim, 4, 4));
        assert!(history.conflicts(&io(Kind::Write, 7, 1)));
        assert_eq!(history.take(), None);
        history.was_trimmed(&trim, true);
        assert!(!history.conflicts(&io(Kind::Write, 7, 1)));
        assert!(!history.owes_trims());
        let recall = history
            .take()
            .map(|recall| (recall.io.offset_bytes, recall.trimmed));
        assert_eq!(recall, reads_zeroes.then_some((trim.offset_bytes, true)));
    }
}

#[test]
fn what_is_overwritten_or_read_back_is_not_trimmed() {
    let trims = VerifyTrims {
        percentage: 100,
        backlog: 1,
        batch: 1,
        reads_zeroes: true,
    };
    let mut history = history(&pattern(Rw::Write, 4, false), 16)
        .with_trims(&trims, 1)
        .expect("there is memory");
    for (number, block) in [0, 4, 8, 2].into_iter().enumerate() {
        let write = io(Kind::Write, block, 4);
        history.issued(&write, number as u32);
        history.returned(&write, true);
    }
    let recall = history.take().expect("there is one");
    assert_eq!((recall.io, recall.trimmed), (io(Kind::Read, 2, 4), false));
    assert_eq!(history.take_trim(), Some(io(Kind::Trim, 8, 4)));
    assert!(!history.owes_trims());
}

#[test]
fn a_history_too_large_for_memory_is_refused() {
    assert!(History::new(&pattern(Rw::Write, 1, false), &[(0, u64::MAX)], 1).is_err());
}

#[test]
fn memory_is_foreseen() {
    let blocks = 1_u64 << 20;
    for (map, trims, bytes) in [(false, false, 8), (true, false, 12), (true, true, 20)] {
        let needed = History::needed_bytes(
            &pattern(Rw::Randwrite, 1, map),
            [blocks * BLOCK].into_iter(),
            trims,
        );
        assert_eq!(needed, blocks * bytes + blocks / 8);
    }
}

proptest! {
    #[test]
    fn marks_agree_with_a_set(
        count in 1usize..20_000,
        steps in prop::collection::vec((any::<prop::sample::Index>(), any::<bool>()), 1..300),
    ) {
        let (mut marks, mut model) = (Marks::new(count).expect("there is memory"), BTreeSet::new());
        for (index, adds) in steps {
            let number = index.index(count);
            if adds {
                marks.set(number);
                model.insert(number);
            } else {
                marks.unset(number);
                model.remove(&number);
            }
            prop_assert_eq!(marks.first(), model.first().copied());
        }
    }

    #[test]
    fn a_queue_agrees_with_a_deque(steps in prop::collection::vec((0usize..12, any::<bool>()), 1..100)) {
        let (mut queue, mut model) = (Queue::new(12).expect("there is memory"), VecDeque::new());
        for (number, adds) in steps {
            if !adds {
                queue.remove(number);
                model.retain(|&queued| queued != number);
            } else if !model.contains(&number) {
                queue.push(number);
                model.push_back(number);
            }
            prop_assert_eq!(queue.first(), model.front().copied());
        }
        while let Some(number) = model.pop_front() {
            prop_assert_eq!(queue.first(), Some(number));
            queue.remove(number);
        }
        prop_assert_eq!(queue.first(), None);
    }

    #[test]
    fn a_history_agrees_with_a_map(
        steps in prop::collection::vec((0u64..60, 1u64..5, 0u32..6), 1..200),
    ) {
        let mut history = history(&pattern(Rw::Randwrite, 4, false), 64);
        let mut model: BTreeMap<u64, (u64, u32)> = BTreeMap::new();
        for (number, (block, blocks, what)) in (0u32..).zip(steps) {
            let request = io(if what == 5 { Kind::Trim } else { Kind::Write }, block, blocks);
            if what < 4 || what == 5 {
                model.retain(|&at, &mut (length, _)| at + length <= block || block + blocks <= at);
                history.issued(&request, number);
                if what < 3 {
                    model.insert(block, (blocks, number));
                }
                if what < 4 {
                    history.returned(&request, what < 3);
                }
            } else {
                let expected = model.pop_first().map(|(at, (length, number))| (io(Kind::Read, at, length), number));
                let taken = history.take();
                prop_assert_eq!(taken.map(|recall| (recall.io, recall.number)), expected);
                if let Some(recall) = taken {
                    history.was_read(&recall.io);
                }
            }
            prop_assert_eq!(history.len(), model.len());
        }
    }
}
