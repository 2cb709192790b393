//! Compares the drive with a vector and a list of versions, and checks what each fault does.

use std::collections::BTreeSet;

use proptest::prelude::*;

use super::{Fate, FaultKind, FaultSpec, Faults, Faulty, Injected, Keep, PowerCut, Reading, When};
use crate::protocol::{Command, Request};
use crate::store::MemoryStore;

const SIZE: u64 = 64 << 10;
const SECTOR: u64 = 512;

fn spec(kind: FaultKind) -> FaultSpec {
    FaultSpec {
        kind,
        when: When::Every(1),
        offset_bytes: 0,
        size_bytes: None,
        most: None,
        unit_bytes: 512,
        delay_ns: 1_000,
        across_flush: false,
    }
}

fn faults(specs: Vec<FaultSpec>, write_cache_bytes: u64) -> Faults {
    Faults {
        seed: 1,
        specs,
        write_cache_bytes,
        power_cut: PowerCut {
            at_request: None,
            after_ns: None,
            keep: Keep::None,
            atomic_bytes: 512,
            ends: false,
        },
    }
}

fn drive(faults: &Faults) -> Faulty {
    Faulty::new(Box::new(MemoryStore::new(1 << 30)), SIZE, faults)
}

fn request(command: Command, offset_bytes: u64, length_bytes: u64) -> Request {
    Request {
        cookie: 1,
        command,
        offset_bytes,
        length_bytes: length_bytes as u32,
        fua: false,
    }
}

fn put(drive: &mut Faulty, offset: u64, length: u64, byte: u8, fua: bool) -> Fate {
    let request = Request {
        fua,
        ..request(Command::Write, offset, length)
    };
    drive
        .begin(0, request, vec![byte; length as usize])
        .unwrap()
}

fn flush(drive: &mut Faulty) {
    let flushed = drive.begin(0, request(Command::Flush, 0, 0), Vec::new());
    assert_eq!(flushed, Ok(Fate::Done(Reading::Here)));
}

/// Returns the first byte of each sector, and checks that a sector holds one byte only.
fn sectors(drive: &Faulty) -> Vec<u8> {
    let mut bytes = vec![0; SIZE as usize];
    drive.read(0, &mut bytes).unwrap();
    let sectors = bytes.chunks_exact(SECTOR as usize);
    sectors
        .map(|sector| {
            assert!(sector.iter().all(|&byte| byte == sector[0]));
            sector[0]
        })
        .collect()
}

#[derive(Clone, Debug)]
enum Op {
    /// First sector, sectors, FUA.
    Write(u64, u64, bool),
    Trim(u64, u64),
    Flush,
}

fn ops() -> impl Strategy<Value = Vec<Op>> {
    let range = || (0..SIZE / SECTOR - 16, 1..17u64);
    let op = prop_oneof![
        6 => (range(), prop::bool::weighted(0.2)).prop_map(|((from, length), fua)| Op::Write(from, length, fua)),
        1 => range().prop_map(|(from, length)| Op::Trim(from, length)),
        1 => Just(Op::Flush),
    ];
    prop::collection::vec(op, 1..60)
}

/// What each sector may hold after a power cut: all versions since the last that is durable.
struct MayHold(Vec<Vec<u8>>);

impl MayHold {
    fn apply(&mut self, op: &Op, byte: u8) {
        match *op {
            Op::Write(from, length, fua) => self.put(from, length, byte, fua),
            Op::Trim(from, length) => self.put(from, length, 0, true),
            Op::Flush => self.0.iter_mut().for_each(|versions| {
                versions.drain(..versions.len() - 1);
            }),
        }
    }

    fn put(&mut self, from: u64, length: u64, byte: u8, durable: bool) {
        for versions in &mut self.0[from as usize..(from + length) as usize] {
            if durable {
                versions.clear();
            }
            versions.push(byte);
        }
    }

    fn last(&self) -> Vec<u8> {
        self.0
            .iter()
            .filter_map(|versions| versions.last().copied())
            .collect()
    }
}

fn apply(drive: &mut Faulty, op: &Op, byte: u8) {
    match *op {
        Op::Write(from, length, fua) => {
            put(drive, from * SECTOR, length * SECTOR, byte, fua);
        }
        Op::Trim(from, length) => {
            let trim = request(Command::Trim, from * SECTOR, length * SECTOR);
            drive.begin(0, trim, Vec::new()).unwrap();
        }
        Op::Flush => flush(drive),
    }
}

proptest! {
    #[test]
    fn without_faults_a_cut_loses_only_what_it_may(
        ops in ops(),
        cache in prop::sample::select(vec![0, 3_000, 20_000, 1 << 20]),
        keep in prop::sample::select(vec![Keep::None, Keep::All, Keep::Random]),
        seed in any::<u64>(),
        early in any::<bool>(),
    ) {
        let mut plan = faults(Vec::new(), cache);
        (plan.power_cut.keep, plan.seed) = (keep, seed);
        if early {
            plan.specs = vec![FaultSpec { when: When::Probability(0.3), ..spec(FaultKind::Reordering) }];
        }
        let mut drive = drive(&plan);
        let mut may_hold = MayHold(vec![vec![0]; (SIZE / SECTOR) as usize]);
        for (op, byte) in ops.iter().zip(1..) {
            apply(&mut drive, op, byte);
            may_hold.apply(op, byte);
            prop_assert_eq!(sectors(&drive), may_hold.last());
            prop_assert!(drive.cached_bytes() <= cache);
        }
        drive.cut_power(7).unwrap();
        let left = sectors(&drive);
        for (sector, (held, versions)) in left.iter().zip(&may_hold.0).enumerate() {
            prop_assert!(versions.contains(held), "sector {sector}: {held} of {versions:?}");
        }
        if keep == Keep::All || cache == 0 {
            prop_assert_eq!(left, may_hold.last());
        }
        prop_assert_eq!(drive.cached_bytes(), 0);
    }

    #[test]
    fn the_same_seed_has_the_same_faults_and_one_more_kind_shifts_none(
        ops in ops(), seed in any::<u64>(), extra in any::<bool>()
    ) {
        let torn = FaultSpec { when: When::Probability(0.3), ..spec(FaultKind::TornWrite) };
        let mut plan = faults(vec![torn], 4096);
        plan.seed = seed;
        let kinds = |plan: &Faults| {
            let mut drive = drive(plan);
            ops.iter().zip(1..).for_each(|(op, byte)| apply(&mut drive, op, byte));
            let injected = drive.take_injected();
            injected.into_iter().filter(|fault| fault.kind == "torn-write").collect::<Vec<Injected>>()
        };
        let first = kinds(&plan);
        if extra {
            plan.specs.push(FaultSpec { when: When::Probability(0.5), ..spec(FaultKind::LostFlush) });
        }
        prop_assert_eq!(kinds(&plan), first);
    }
}

/// Writes 1 and 2 to the first page and 3 to the second, under one kind of fault. Returns the drive.
fn written(spec: FaultSpec, cache: u64) -> Faulty {
    let mut drive = drive(&faults(vec![spec], cache));
    put(&mut drive, 0, 4096, 1, false);
    put(&mut drive, 0, 4096, 2, false);
    put(&mut drive, 4096, 4096, 3, false);
    drive
}

fn at(kind: FaultKind, request: u64) -> FaultSpec {
    FaultSpec {
        when: When::At(vec![request]),
        ..spec(kind)
    }
}

fn pages(drive: &Faulty) -> (BTreeSet<u8>, BTreeSet<u8>) {
    let sectors = sectors(drive);
    let set = |range: std::ops::Range<usize>| sectors[range].iter().copied().collect();
    (set(0..8), set(8..16))
}

#[test]
fn a_lost_flush_leaves_everything_volatile() {
    let mut drive = written(spec(FaultKind::LostFlush), 1 << 20);
    flush(&mut drive);
    assert_eq!(pages(&drive), ([2].into(), [3].into()));
    drive.cut_power(0).unwrap();
    assert_eq!(pages(&drive), ([0].into(), [0].into()));
    let kinds: Vec<_> = drive
        .take_injected()
        .iter()
        .map(|fault| (fault.kind, fault.request))
        .collect();
    assert_eq!(kinds, [("lost-flush", 4), ("power-cut", 4)]);
}

#[test]
fn writes_are_dropped_torn_and_cut_short() {
    assert_eq!(
        pages(&written(at(FaultKind::DroppedWrite, 2), 0)).0,
        [1].into()
    );
    for kind in [FaultKind::TornWrite, FaultKind::ShortWrite] {
        let mut drive = written(at(kind, 2), 0);
        assert_eq!(pages(&drive), ([1, 2].into(), [3].into()));
        let (injected, sectors) = (drive.take_injected(), sectors(&drive));
        assert_eq!(injected.len(), 1);
        for &(offset, length) in &injected[0].missing {
            let range = offset / SECTOR..(offset + length) / SECTOR;
            assert!(
                range
                    .into_iter()
                    .all(|sector| sectors[sector as usize] == 1)
            );
        }
        let missing: u64 = injected[0].missing.iter().map(|(_, length)| length).sum();
        let old = sectors[..8].iter().filter(|&&byte| byte == 1).count() as u64;
        assert_eq!(missing, old * SECTOR);
    }
    // A single unit cannot be torn.
    let untearable = FaultSpec {
        unit_bytes: 4096,
        ..spec(FaultKind::TornWrite)
    };
    let mut drive = written(untearable, 0);
    assert_eq!(pages(&drive), ([2].into(), [3].into()));
    assert!(drive.take_injected().is_empty());
}

#[test]
fn a_misdirected_write_lands_within_its_region() {
    let region = FaultSpec {
        size_bytes: Some(8192),
        ..at(FaultKind::MisdirectedWrite, 2)
    };
    let mut drive = written(region, 1 << 20);
    // It went to the second page, which was then overwritten.
    assert_eq!(pages(&drive), ([1].into(), [3].into()));
    assert_eq!(drive.take_injected()[0].to_bytes, Some(4096));
    // A region of one place has no other.
    let narrow = FaultSpec {
        size_bytes: Some(4096),
        ..at(FaultKind::MisdirectedWrite, 2)
    };
    let mut drive = written(narrow, 1 << 20);
    assert_eq!(pages(&drive).0, [2].into());
    assert!(drive.take_injected().is_empty());
}

#[test]
fn reads_are_misdirected_and_stale() {
    let ask = |drive: &mut Faulty| match drive.begin(0, request(Command::Read, 0, 4096), Vec::new())
    {
        Ok(Fate::Done(reading)) => reading,
        other => panic!("{other:?}"),
    };
    let mut drive = written(spec(FaultKind::StaleRead), 1 << 20);
    assert_eq!(ask(&mut drive), Reading::Before);
    let mut bytes = [9; 4096];
    drive.read_before(0, &mut bytes).unwrap();
    assert_eq!(bytes, [1; 4096]);
    let mut drive = written(spec(FaultKind::MisdirectedRead), 1 << 20);
    let Reading::At(place) = ask(&mut drive) else {
        panic!("it reads where it should");
    };
    assert!(place >= 4096 && place + 4096 <= SIZE);
    assert_eq!(drive.take_injected()[0].to_bytes, Some(place));
}

#[test]
fn a_rotten_bit_shows_on_the_medium() {
    let mut drive = written(at(FaultKind::BitRot, 3), 1 << 20);
    assert_eq!(pages(&drive).1, [3].into());
    flush(&mut drive);
    let injected = drive.take_injected();
    let at = injected[0].to_bytes.unwrap();
    let mut bytes = vec![0; 4096];
    drive.read(4096, &mut bytes).unwrap();
    let wrong: Vec<u64> = (0..4096)
        .filter(|&index| bytes[index as usize] != 3)
        .collect();
    assert_eq!(wrong, [at - 4096]);
    assert_eq!((bytes[wrong[0] as usize] ^ 3).count_ones(), 1);
}

#[test]
fn a_write_comes_again_after_a_newer_one() {
    let mut drive = written(at(FaultKind::Duplicated, 1), 1 << 20);
    assert_eq!(pages(&drive), ([1].into(), [3].into()));
    let injected = drive.take_injected();
    assert_eq!(
        (injected[0].request, injected[0].after_request),
        (1, Some(2))
    );
}

#[test]
fn a_late_write_comes_after_a_newer_one() {
    let mut drive = drive(&faults(vec![at(FaultKind::Late, 1)], 0));
    let Fate::Later { until_ns, write } = put(&mut drive, 0, 4096, 1, false) else {
        panic!("it is in time");
    };
    assert_eq!(until_ns, 1_000);
    put(&mut drive, 0, 4096, 2, false);
    assert_eq!(pages(&drive).0, [2].into());
    drive.write_late(until_ns, write).unwrap();
    assert_eq!(pages(&drive).0, [1].into());
    let injected = drive.take_injected();
    assert_eq!((injected[0].kind, injected[0].request), ("late", 1));
}

#[test]
fn a_reordered_write_overtakes_older_ones_or_stays_behind_a_flush() {
    let mut drive = written(at(FaultKind::Reordering, 3), 1 << 20);
    drive.cut_power(0).unwrap();
    assert_eq!(pages(&drive), ([0].into(), [3].into()));
    let across = FaultSpec {
        across_flush: true,
        ..at(FaultKind::Reordering, 3)
    };
    let mut drive = written(across.clone(), 1 << 20);
    flush(&mut drive);
    let injected = drive.take_injected();
    assert_eq!(
        (injected[0].request, injected[0].after_request),
        (3, Some(4))
    );
    drive.cut_power(0).unwrap();
    assert_eq!(pages(&drive), ([2].into(), [0].into()));
    // The next flush takes it along.
    let mut drive = written(across, 1 << 20);
    flush(&mut drive);
    flush(&mut drive);
    drive.cut_power(0).unwrap();
    assert_eq!(pages(&drive), ([2].into(), [3].into()));
}

#[test]
fn faults_keep_to_their_number_period_region_and_limit() {
    let requests = |spec: FaultSpec| {
        let mut drive = drive(&faults(vec![spec], 0));
        for index in 0..10 {
            put(&mut drive, index * 4096, 4096, 1, false);
        }
        let injected = drive.take_injected();
        injected
            .iter()
            .map(|fault| fault.request)
            .collect::<Vec<_>>()
    };
    let dropped = || spec(FaultKind::DroppedWrite);
    let when = |when| FaultSpec { when, ..dropped() };
    assert_eq!(requests(when(When::Every(4))), [4, 8]);
    assert_eq!(requests(when(When::At(vec![7, 2, 99]))), [2, 7]);
    assert_eq!(requests(when(When::Probability(1.0))).len(), 10);
    assert!(requests(when(When::Probability(0.0))).is_empty());
    let most = Some(2);
    assert_eq!(requests(FaultSpec { most, ..dropped() }), [1, 2]);
    let (offset_bytes, size_bytes) = (8192, Some(10_000));
    let region = FaultSpec {
        offset_bytes,
        size_bytes,
        ..dropped()
    };
    assert_eq!(requests(region), [3, 4]);
}

#[test]
fn a_power_cut_comes_before_its_request() {
    let mut plan = faults(Vec::new(), 1 << 20);
    plan.power_cut.at_request = Some(2);
    let mut drive = drive(&plan);
    put(&mut drive, 0, 4096, 1, false);
    assert_eq!(put(&mut drive, 0, 4096, 2, false), Fate::PowerCut);
    assert_eq!(pages(&drive).0, [1].into());
}

#[test]
fn what_a_chain_of_writes_covers_keeps_its_order() {
    // Each write touches the one before. The trim touches the last alone, but must not let an older one come later.
    let mut drive = drive(&faults(Vec::new(), 1 << 20));
    for index in 0..5 {
        put(&mut drive, index * 1024, 2048, index as u8 + 1, false);
    }
    let trim = request(Command::Trim, 5120, 512);
    drive.begin(0, trim, Vec::new()).unwrap();
    flush(&mut drive);
    assert_eq!(sectors(&drive)[..12], [1, 1, 2, 2, 3, 3, 4, 4, 5, 5, 0, 5]);
}
