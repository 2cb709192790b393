//! Compares the judge with a list of all that may remain, made by trying every order and every subset of the writes.
#![allow(missing_docs)]

use std::collections::{BTreeMap, BTreeSet};

use iogauge_stamp::{
    Block, Class, Header, History, Judge, Record, SECTOR_BYTES, Spans, Stamp, Surviving, Verdict,
};
use proptest::prelude::*;

const RUN: u64 = 77;
const BLOCK: u32 = 1024;
const BLOCKS: u64 = 2;
const SECTORS: u64 = BLOCKS * BLOCK as u64 / SECTOR_BYTES as u64;
const HEADER: Header = Header {
    run: RUN,
    block_bytes: BLOCK,
    zeroes: true,
};

/// A write of blocks `[first, end)`. Times are places in the list of events.
#[derive(Clone, Debug)]
struct Write {
    first: u64,
    end: u64,
    fua: bool,
    begin: usize,
    done: Option<usize>,
    failed: bool,
}

#[derive(Clone, Debug)]
struct Flush {
    begin: usize,
    done: Option<usize>,
}

impl Write {
    fn covers(&self, sector: u64) -> bool {
        let block = sector * SECTOR_BYTES as u64 / u64::from(BLOCK);
        (self.first..self.end).contains(&block)
    }

    /// Whether the drive must keep it.
    fn is_durable(&self, flushes: &[Flush], surviving: Surviving) -> bool {
        let Some(done) = self.done.filter(|_| !self.failed) else {
            return false;
        };
        let flushed = |flush: &Flush| flush.done.is_some() && flush.begin > done;
        self.fua || surviving == Surviving::Completed || flushes.iter().any(flushed)
    }
}

#[derive(Clone, Debug, Default)]
struct Story {
    writes: Vec<Write>,
    flushes: Vec<Flush>,
    records: Vec<Record>,
}

/// What may happen next, drawn as numbers: which kind, and which of those in flight.
type Draw = (u8, u64, u64, bool, prop::sample::Index);

fn tell(draws: &[Draw]) -> Story {
    let mut story = Story::default();
    for &(kind, first, length, fua, which) in draws {
        let at = story.records.len();
        let open: Vec<usize> = (0..story.writes.len())
            .filter(|&index| story.writes[index].done.is_none())
            .collect();
        let flushing: Vec<usize> = (0..story.flushes.len())
            .filter(|&index| story.flushes[index].done.is_none())
            .collect();
        let record = match kind {
            0..=3 if story.writes.len() < 5 => {
                let end = BLOCKS.min(first + length);
                story.writes.push(Write {
                    first,
                    end,
                    fua,
                    begin: at,
                    done: None,
                    failed: false,
                });
                Record::Write {
                    sequence: story.writes.len() as u64,
                    file: 3,
                    offset_bytes: first * u64::from(BLOCK),
                    length_bytes: (end - first) as u32 * BLOCK,
                    fua,
                }
            }
            4..=6 if !open.is_empty() => {
                let index = open[which.index(open.len())];
                story.writes[index].done = Some(at);
                story.writes[index].failed = kind == 6;
                let sequence = index as u64 + 1;
                if kind == 6 {
                    Record::Failed { sequence }
                } else {
                    Record::Written { sequence }
                }
            }
            7 => {
                story.flushes.push(Flush {
                    begin: at,
                    done: None,
                });
                Record::Flush {
                    sequence: story.flushes.len() as u64,
                    file: 3,
                }
            }
            8 if !flushing.is_empty() => {
                let index = flushing[which.index(flushing.len())];
                story.flushes[index].done = Some(at);
                Record::Flushed {
                    sequence: index as u64 + 1,
                }
            }
            _ => continue,
        };
        story.records.push(record);
    }
    story
}

fn stories() -> impl Strategy<Value = Story> {
    let draw = (
        0..9u8,
        0..BLOCKS,
        1..=BLOCKS,
        prop::bool::weighted(0.2),
        any::<prop::sample::Index>(),
    );
    prop::collection::vec(draw, 1..24).prop_map(|draws| tell(&draws))
}

/// Returns every order of `left` in which no write comes before one that had ended when it began.
fn orders(story: &Story, left: &BTreeSet<usize>) -> Vec<Vec<usize>> {
    if left.is_empty() {
        return vec![Vec::new()];
    }
    let precedes = |a: usize, b: usize| {
        let done = story.writes[a].done;
        done.is_some_and(|done| done < story.writes[b].begin)
    };
    let mut orders_of_all = Vec::new();
    for &next in left {
        if left.iter().any(|&other| precedes(other, next)) {
            continue;
        }
        let mut rest = left.clone();
        rest.remove(&next);
        for mut order in orders(story, &rest) {
            order.insert(0, next);
            orders_of_all.push(order);
        }
    }
    orders_of_all
}

/// What sectors may hold: the write, from 1 on; 0 is what was there before.
type Content = Vec<u64>;

/// Returns all that may remain of the sectors of one atomic unit.
fn may_remain(story: &Story, surviving: Surviving, sectors: &[u64]) -> BTreeSet<Content> {
    let all: BTreeSet<usize> = (0..story.writes.len()).collect();
    let kept: Vec<bool> = story
        .writes
        .iter()
        .map(|write| write.is_durable(&story.flushes, surviving))
        .collect();
    let mut contents = BTreeSet::new();
    for order in orders(story, &all) {
        for subset in 0..1u32 << order.len() {
            if (0..order.len()).any(|index| kept[index] && subset & 1 << index == 0) {
                continue;
            }
            let mut content = vec![0; sectors.len()];
            for &index in order.iter().filter(|&&index| subset & 1 << index != 0) {
                for (place, &sector) in sectors.iter().enumerate() {
                    if story.writes[index].covers(sector) {
                        content[place] = index as u64 + 1;
                    }
                }
            }
            contents.insert(content);
        }
    }
    contents
}

/// Returns every content of the sectors in which each holds a write to it, or what was there before.
fn thinkable(story: &Story, sectors: &[u64]) -> Vec<Content> {
    let mut contents = vec![Vec::new()];
    for &sector in sectors {
        let mut versions = vec![0];
        versions.extend(
            (0..story.writes.len())
                .filter(|&index| story.writes[index].covers(sector))
                .map(|index| index as u64 + 1),
        );
        contents = contents
            .into_iter()
            .flat_map(|content: Content| {
                versions.iter().map(move |&version| {
                    let mut longer = content.clone();
                    longer.push(version);
                    longer
                })
            })
            .collect();
    }
    contents
}

fn bytes_of(content: &[u64]) -> Vec<u8> {
    let mut bytes = vec![0; content.len() * SECTOR_BYTES];
    for (index, &sequence) in content
        .iter()
        .enumerate()
        .filter(|(_, sequence)| **sequence > 0)
    {
        let at = index * SECTOR_BYTES;
        let stamp = Stamp {
            run: RUN,
            file: 3,
            address_bytes: at as u64,
            sequence,
            generation: 1,
        };
        stamp.write(&mut bytes[at..at + SECTOR_BYTES]);
    }
    bytes
}

/// Judges the content of the file file, of which `atomic_bytes` are an atomic unit.
fn judged(
    records: &[Record],
    surviving: Surviving,
    bytes: &[u8],
    atomic_bytes: u32,
) -> Vec<(u64, Verdict)> {
    let size = bytes.len() as u64;
    let mut history = History::new(surviving, 3, BLOCK, 0..size);
    let mut spans = Spans::default();
    let mut blocks = BTreeMap::new();
    for (index, &record) in records.iter().enumerate() {
        history.record(index as u64 + 1, record);
    }
    for offset in history
        .written()
        .into_iter()
        .flat_map(|range| range.step_by(BLOCK as usize))
    {
        let block = &bytes[offset as usize..][..BLOCK as usize];
        let block = Block::read(block, RUN, 3, offset);
        spans.want(&block);
        blocks.insert(offset, block);
    }
    for (index, &record) in records.iter().enumerate() {
        spans.record(index as u64 + 1, record);
    }
    let judge = Judge {
        header: HEADER,
        history: &history,
        spans: &spans,
        atomic_bytes,
    };
    judge.judge(&blocks)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(if cfg!(debug_assertions) { 300 } else { 20_000 }))]

    #[test]
    fn a_violation_is_what_no_order_and_no_subset_of_writes_leaves(
        story in stories(),
        atomic in prop::sample::select(vec![512u32, 1024, 2048]),
        completed in any::<bool>(),
    ) {
        let surviving = if completed { Surviving::Completed } else { Surviving::Flushed };
        let in_unit = u64::from(atomic) / SECTOR_BYTES as u64;
        for unit in 0..SECTORS / in_unit {
            let sectors: Vec<u64> = (unit * in_unit..(unit + 1) * in_unit).collect();
            let allowed = may_remain(&story, surviving, &sectors);
            let others: Content = vec![0; SECTORS as usize];
            for content in thinkable(&story, &sectors) {
                // The other units hold what is allowed there, so that they cannot be what violates.
                let mut file = others.clone();
                for other in (0..SECTORS / in_unit).filter(|&other| other != unit) {
                    let sectors: Vec<u64> = (other * in_unit..(other + 1) * in_unit).collect();
                    let first = may_remain(&story, surviving, &sectors).pop_first().unwrap();
                    for (sector, version) in sectors.iter().zip(first) {
                        file[*sector as usize] = version;
                    }
                }
                for (sector, version) in sectors.iter().zip(&content) {
                    file[*sector as usize] = *version;
                }
                let verdicts = judged(&story.records, surviving, &bytes_of(&file), atomic);
                let violates = verdicts.iter().any(|(_, verdict)| verdict.class.violates());
                prop_assert_eq!(
                    violates, !allowed.contains(&content),
                    "{:?} in {:?}: {:?}", content, allowed, verdicts
                );
            }
        }
    }
}

fn write(sequence: u64, block: u64, fua: bool) -> Record {
    Record::Write {
        sequence,
        file: 3,
        offset_bytes: block * u64::from(BLOCK),
        length_bytes: BLOCK,
        fua,
    }
}

/// Returns the class of block 0 if its sectors hold these writes.
fn class(records: &[Record], content: [u64; 2]) -> Class {
    let content = [content[0], content[1], 0, 0];
    let verdicts = judged(records, Surviving::Flushed, &bytes_of(&content), 1024);
    verdicts[0].1.class
}

#[test]
fn what_is_durable_must_be_there_and_what_is_not_may() {
    let (written, flushed) = (
        |sequence| Record::Written { sequence },
        Record::Flushed { sequence: 1 },
    );
    let flush = Record::Flush {
        sequence: 1,
        file: 3,
    };
    let unflushed = [
        write(1, 0, false),
        written(1),
        flush,
        flushed,
        write(2, 0, false),
        written(2),
    ];
    assert_eq!(class(&unflushed, [2, 2]), Class::Newest);
    assert_eq!(class(&unflushed, [1, 1]), Class::Older);
    assert_eq!(class(&unflushed, [0, 0]), Class::Lost);
    assert_eq!(class(&unflushed, [1, 2]), Class::Torn);
    assert_eq!(class(&unflushed, [3, 3]), Class::Unlogged);
    // A flush that was under way does not cover what completed after it began.
    let early = [write(1, 0, false), flush, written(1), flushed];
    assert_eq!(class(&early, [0, 0]), Class::Older);
    // FUA needs no flush.
    let fua = [
        write(1, 0, true),
        written(1),
        write(2, 0, true),
        written(2),
        write(3, 0, true),
    ];
    assert_eq!(class(&fua, [3, 3]), Class::Newest);
    assert_eq!(class(&fua, [2, 2]), Class::Older);
    assert_eq!(class(&fua, [1, 1]), Class::Lost);
    assert_eq!(class(&fua, [0, 0]), Class::Stale);
}

#[test]
fn a_failed_write_may_be_there_until_a_later_one_is_durable() {
    let failed = Record::Failed { sequence: 1 };
    let begun = [write(1, 0, true), failed];
    assert_eq!(class(&begun, [1, 1]), Class::Newest);
    assert_eq!(class(&begun, [0, 0]), Class::Older);
    let again = [
        begun[0],
        failed,
        write(2, 0, true),
        Record::Written { sequence: 2 },
    ];
    assert_eq!(class(&again, [2, 2]), Class::Newest);
    assert_eq!(class(&again, [1, 1]), Class::Late);
}

#[test]
fn other_content_is_told_apart() {
    let records = [
        write(1, 0, false),
        Record::Written { sequence: 1 },
        write(2, 1, false),
    ];
    let class_of = |change: fn(&mut Vec<u8>)| {
        let mut bytes = bytes_of(&[1, 1, 2, 2]);
        change(&mut bytes);
        let verdicts = judged(&records, Surviving::Flushed, &bytes, 1024);
        verdicts
            .iter()
            .map(|(_, verdict)| verdict.class)
            .collect::<Vec<_>>()
    };
    assert_eq!(class_of(|_| {}), [Class::Newest; 2]);
    assert_eq!(
        class_of(|bytes| bytes[600] ^= 1),
        [Class::Corrupt, Class::Newest]
    );
    assert_eq!(class_of(|bytes| bytes[600..].fill(3)), [Class::Corrupt; 2]);
    assert_eq!(
        class_of(|bytes| bytes.copy_within(1024.., 0)),
        [Class::Misdirected, Class::Newest]
    );
    // A stamp of this place by a write that went elsewhere is nobody's.
    let forged = |bytes: &mut Vec<u8>| *bytes = bytes_of(&[2, 2, 2, 2]);
    assert_eq!(class_of(forged), [Class::Corrupt, Class::Newest]);
}

#[test]
fn files_and_parts_of_a_file_are_apart() {
    let records = [
        write(1, 0, true),
        Record::Written { sequence: 1 },
        write(2, 1, false),
    ];
    let mut history = History::new(Surviving::Flushed, 4, BLOCK, 0..4096);
    let mut part = History::new(Surviving::Flushed, 3, BLOCK, 1024..2048);
    for (index, &record) in records.iter().enumerate() {
        history.record(index as u64 + 1, record);
        part.record(index as u64 + 1, record);
    }
    assert!(history.written().is_empty());
    let ranges = part.written();
    assert_eq!((ranges.len(), ranges[0].clone()), (1, 1024..2048));
    assert_eq!(part.standing(1024).unwrap().newest, 2);
    assert!(part.standing(0).is_none());
}
