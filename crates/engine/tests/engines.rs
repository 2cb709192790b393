//! The contract of the trait `Engine`, kept by every engine, on a real file.

mod common;

use std::collections::HashSet;
use std::os::fd::AsRawFd;

use common::{Scenario, Scratch, do_all, plan, play, request};
use iogauge_core::plan::{EngineKind, FilePlan, Rw, WorkerPlan};
use iogauge_core::{Completion, Errno, Kind};
use iogauge_engine::{Engine, Error};

const BLOCK: usize = 4096;
const BLOCKS: usize = 8;

/// Every engine that does I/O, in every way that this machine can have it.
fn variants(rw: Rw, scratch: &Scratch) -> Vec<WorkerPlan> {
    use EngineKind::{IoUring, Libaio, Psync, Pvsync2};
    let mut plans = Vec::new();
    for kind in [Psync, Pvsync2, Libaio, IoUring] {
        for direct in [false, true] {
            let mut plan = plan(kind, rw, vec![scratch.plan()]);
            plan.engine.direct = direct;
            plans.push(plan.clone());
            if kind == IoUring {
                plan.engine.registerfiles = true;
                plans.push(plan.clone());
                plan.engine.fixedbufs = true;
                plans.push(plan.clone());
                plan.engine.sqthread_poll = true;
                plans.push(plan);
            }
        }
    }
    plans.retain(usable);
    assert!(plans.len() >= 2, "psync and pvsync2 are everywhere");
    plans
}

/// Filesystems without direct I/O and containers without io_uring or locked memory leave something out.
fn usable(plan: &WorkerPlan) -> bool {
    struct Nothing;
    impl Scenario for Nothing {
        fn play<E: Engine>(&mut self, _engine: &mut E) {}
    }
    match play(plan, &mut Nothing) {
        Ok(()) => true,
        Err(
            Error::NoDirect { .. }
            | Error::UringMissing
            | Error::UringDisabled { .. }
            | Error::LockedMemory { .. }
            | Error::AioExhausted { .. },
        ) => false,
        Err(error) => panic!("{error}"),
    }
}

fn numbered(blocks: usize) -> Vec<u8> {
    (0..blocks * BLOCK)
        .map(|i| (i / BLOCK * 31 + i % 251) as u8)
        .collect()
}

#[test]
fn writes_land_where_they_belong() {
    struct Write;
    impl Scenario for Write {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            // Every second block, in an order that is not that of the slots.
            let requests: Vec<_> = (0..BLOCKS as u32)
                .map(|slot| {
                    request(
                        slot,
                        Kind::Write,
                        u64::from(slot * 5 % 8) * 2 * BLOCK as u64,
                        BLOCK as u32,
                    )
                })
                .collect();
            for completion in do_all(engine, &requests) {
                assert_eq!(completion.result, Ok(BLOCK as u32));
            }
            let synced = do_all(
                engine,
                &[
                    request(0, Kind::Sync, 0, 0),
                    request(1, Kind::DataSync, 0, 0),
                ],
            );
            assert!(synced.iter().all(|completion| completion.result == Ok(0)));
        }
    }
    let scratch = Scratch::new(&[]);
    for plan in variants(Rw::Randwrite, &scratch) {
        std::fs::write(&scratch.path, vec![0u8; 2 * BLOCKS * BLOCK]).unwrap();
        play(&plan, &mut Write).unwrap();
        let content = scratch.content();
        assert_eq!(content.len(), 2 * BLOCKS * BLOCK);
        let mut seen = HashSet::new();
        for (index, block) in content.chunks(BLOCK).enumerate() {
            let zeroes = block.iter().filter(|&&byte| byte == 0).count();
            if index % 2 == 1 {
                assert_eq!(
                    zeroes, BLOCK,
                    "{:?}: block {index} was not to be written",
                    plan.engine
                );
            } else {
                assert!(
                    zeroes < 100,
                    "{:?}: block {index} is not random",
                    plan.engine
                );
                assert!(
                    seen.insert(block),
                    "{:?}: block {index} repeats another",
                    plan.engine
                );
            }
        }
    }
}

#[test]
fn reads_return_counts_and_leave_the_file_alone() {
    struct Read;
    impl Scenario for Read {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            let requests: Vec<_> = (0..BLOCKS as u32)
                .map(|slot| {
                    request(
                        slot,
                        Kind::Read,
                        u64::from(slot) * BLOCK as u64,
                        BLOCK as u32,
                    )
                })
                .collect();
            for round in 0..3 {
                let done = do_all(engine, &requests);
                assert!(
                    done.iter()
                        .all(|completion| completion.result == Ok(BLOCK as u32)),
                    "{round}"
                );
                let slots: Vec<u32> = done.iter().map(|completion| completion.slot).collect();
                assert_eq!(slots, (0..BLOCKS as u32).collect::<Vec<_>>());
            }
            // The file ends in the middle of the next one, and before the last one.
            let beyond = do_all(
                engine,
                &[
                    request(3, Kind::Read, (BLOCKS * BLOCK) as u64, BLOCK as u32),
                    request(5, Kind::Read, (100 * BLOCK) as u64, BLOCK as u32),
                ],
            );
            assert_eq!(beyond[0].result, Ok(512));
            assert_eq!(beyond[1].result, Ok(0));
        }
    }
    let mut bytes = numbered(BLOCKS);
    bytes.extend_from_slice(&[7; 512]);
    let scratch = Scratch::new(&bytes);
    for plan in variants(Rw::Randread, &scratch) {
        play(&plan, &mut Read).unwrap();
        assert_eq!(scratch.content(), bytes);
    }
}

#[test]
fn what_was_read_is_never_written_back() {
    struct Mixed;
    impl Scenario for Mixed {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            for slot in 0..BLOCKS as u32 {
                do_all(engine, &[request(slot, Kind::Read, 0, BLOCK as u32)]);
                do_all(
                    engine,
                    &[request(
                        slot,
                        Kind::Write,
                        u64::from(slot + 1) * BLOCK as u64,
                        BLOCK as u32,
                    )],
                );
            }
        }
    }
    let scratch = Scratch::new(&vec![0; (BLOCKS + 1) * BLOCK]);
    for plan in variants(Rw::Randrw, &scratch) {
        play(&plan, &mut Mixed).unwrap();
        for block in scratch.content().chunks(BLOCK).skip(1) {
            assert!(
                block.iter().filter(|&&byte| byte == 0).count() < 100,
                "{:?}",
                plan.engine
            );
        }
    }
}

#[test]
fn trims_punch_holes() {
    struct Trim;
    impl Scenario for Trim {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            let done = do_all(
                engine,
                &[
                    request(0, Kind::Trim, BLOCK as u64, BLOCK as u32),
                    request(1, Kind::Write, 3 * BLOCK as u64, BLOCK as u32),
                    request(2, Kind::Trim, 5 * BLOCK as u64, 2 * BLOCK as u32),
                ],
            );
            let moved: Vec<_> = done.iter().map(|completion| completion.result).collect();
            assert_eq!(
                moved,
                [Ok(BLOCK as u32), Ok(BLOCK as u32), Ok(2 * BLOCK as u32)]
            );
        }
    }
    let scratch = Scratch::new(&[]);
    for plan in variants(Rw::Randtrimwrite, &scratch) {
        let before = numbered(BLOCKS);
        std::fs::write(&scratch.path, &before).unwrap();
        play(&plan, &mut Trim).unwrap();
        for (index, (old, new)) in before
            .chunks(BLOCK)
            .zip(scratch.content().chunks(BLOCK))
            .enumerate()
        {
            match index {
                1 | 5 | 6 => assert!(
                    new.iter().all(|&byte| byte == 0),
                    "{:?}: block {index}",
                    plan.engine
                ),
                3 => assert_ne!(old, new),
                _ => assert_eq!(old, new, "{:?}: block {index}", plan.engine),
            }
        }
    }
}

#[test]
fn a_refused_request_completes_with_its_errno() {
    struct Refused {
        direct: bool,
    }
    impl Scenario for Refused {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            // Direct I/O refuses the odd offset; every kernel refuses the one that does not fit a file.
            let bad = if self.direct {
                7
            } else {
                i64::MAX as u64 - 100
            };
            let done = do_all(
                engine,
                &[
                    request(0, Kind::Read, 0, BLOCK as u32),
                    request(1, Kind::Read, bad, BLOCK as u32),
                    request(2, Kind::Read, BLOCK as u64, BLOCK as u32),
                ],
            );
            assert_eq!(done[0].result, Ok(BLOCK as u32));
            assert_eq!(done[2].result, Ok(BLOCK as u32));
            match done[1].result {
                Err(Errno(errno)) => {
                    assert!([libc::EINVAL, libc::EOVERFLOW].contains(&errno), "{errno}")
                }
                // Buffered reads beyond the end are empty.
                Ok(moved) => assert!(!self.direct && moved == 0),
            }
        }
    }
    let scratch = Scratch::new(&numbered(BLOCKS));
    for plan in variants(Rw::Randread, &scratch) {
        play(
            &plan,
            &mut Refused {
                direct: plan.engine.direct,
            },
        )
        .unwrap();
    }
}

#[test]
fn an_instant_is_waited_for_and_the_past_is_not() {
    struct Until;
    impl Scenario for Until {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            let mut done = Vec::new();
            for wait in [0, 1_000, 300_000, 3_000_000] {
                let until = engine.now() + wait;
                engine.reap(0, Some(until), &mut done).unwrap();
                assert!(engine.now() >= until);
                engine.reap(4, Some(until), &mut done).unwrap();
                engine.reap(0, None, &mut done).unwrap();
                engine.reap(1, None, &mut done).unwrap();
            }
            assert!(done.is_empty(), "nothing was requested");
        }
    }
    let scratch = Scratch::new(&numbered(1));
    for spin in [false, true] {
        for mut plan in variants(Rw::Randread, &scratch) {
            plan.spin = spin;
            play(&plan, &mut Until).unwrap();
        }
        let mut plan = plan(EngineKind::Null, Rw::Randread, vec![scratch.plan()]);
        plan.spin = spin;
        play(&plan, &mut Until).unwrap();
    }
}

#[test]
fn more_completions_than_there_are_requests_are_not_waited_for() {
    struct TooMany;
    impl Scenario for TooMany {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            let mut done = Vec::new();
            assert_eq!(
                engine
                    .submit(&[request(2, Kind::Read, 0, BLOCK as u32)])
                    .unwrap(),
                1
            );
            engine.reap(7, None, &mut done).unwrap();
            assert_eq!(done.len(), 1);
        }
    }
    let scratch = Scratch::new(&numbered(1));
    for plan in variants(Rw::Randread, &scratch) {
        play(&plan, &mut TooMany).unwrap();
    }
    play(
        &plan(EngineKind::Null, Rw::Randread, vec![scratch.plan()]),
        &mut TooMany,
    )
    .unwrap();
}

#[test]
fn batches_stay_within_the_plan() {
    struct Batches;
    impl Scenario for Batches {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            let requests: Vec<_> = (0..BLOCKS as u32)
                .map(|slot| request(slot, Kind::Read, 0, BLOCK as u32))
                .collect();
            let mut done: Vec<Completion> = Vec::new();
            let mut submitted = 0;
            while submitted < requests.len() {
                let taken = engine.submit(&requests[submitted..]).unwrap();
                assert!((1..=3).contains(&taken));
                submitted += taken;
                if E::BLOCKS {
                    engine.reap(0, None, &mut done).unwrap();
                }
            }
            while done.len() < requests.len() {
                let before = done.len();
                engine.reap(8, None, &mut done).unwrap();
                assert!((1..=2).contains(&(done.len() - before)));
            }
        }
    }
    let scratch = Scratch::new(&numbered(1));
    let mut plans = variants(Rw::Randread, &scratch);
    plans.push(plan(EngineKind::Null, Rw::Randread, vec![scratch.plan()]));
    for mut plan in plans {
        plan.engine.submit_batch = 3.try_into().unwrap();
        plan.engine.reap_batch = 2;
        play(&plan, &mut Batches).unwrap();
    }
}

#[test]
fn a_call_is_stamped_once() {
    struct Stamps;
    impl Scenario for Stamps {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            let requests: Vec<_> = (0..BLOCKS as u32)
                .map(|slot| request(slot, Kind::Read, 0, BLOCK as u32))
                .collect();
            let done = do_all(engine, &requests);
            if E::BLOCKS {
                assert!(done.iter().all(|completion| completion.issued.is_none()));
            } else {
                assert!(
                    done.windows(2)
                        .all(|pair| (pair[0].start, pair[0].issued)
                            == (pair[1].start, pair[1].issued))
                );
            }
        }
    }
    let scratch = Scratch::new(&numbered(1));
    let mut plans = variants(Rw::Randread, &scratch);
    plans.push(plan(EngineKind::Null, Rw::Randread, vec![scratch.plan()]));
    for mut plan in plans {
        plan.engine.submit_batch = (BLOCKS as u32).try_into().unwrap();
        play(&plan, &mut Stamps).unwrap();
    }
}

#[test]
fn nothing_is_touched_for_the_first_time_in_a_run() {
    struct Faults;
    impl Scenario for Faults {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            let write = |slot| request(slot, Kind::Write, 0, 1 << 20);
            do_all(engine, &[write(0)]);
            let before = page_faults();
            for slot in 1..8 {
                do_all(engine, &[write(slot)]);
            }
            let faults = page_faults() - before;
            assert!(faults < 64, "{faults} page faults over 7 MiB");
        }
    }
    let scratch = Scratch::new(&[]);
    for mut plan in variants(Rw::Randwrite, &scratch) {
        plan.pattern.sizes.write.maximum_bytes = 1 << 20;
        play(&plan, &mut Faults).unwrap();
    }
}

/// Minor faults of this thread: fields after the name in /proc/thread-self/stat.
fn page_faults() -> u64 {
    let stat = std::fs::read_to_string("/proc/thread-self/stat").unwrap();
    let after_name = stat.rsplit(')').next().unwrap();
    after_name
        .split_whitespace()
        .nth(7)
        .unwrap()
        .parse()
        .unwrap()
}

#[test]
fn a_request_that_never_returns_does_not_hold_the_thread() {
    struct Hung;
    impl Scenario for Hung {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            let mut done = Vec::new();
            assert_eq!(
                engine
                    .submit(&[request(0, Kind::Read, 0, BLOCK as u32)])
                    .unwrap(),
                1
            );
            let until = engine.now() + 5_000_000;
            engine.reap(1, Some(until), &mut done).unwrap();
            assert!(done.is_empty() && engine.now() >= until);
            engine.reap(0, None, &mut done).unwrap();
            assert!(done.is_empty());
        }
    }
    // An empty pipe whose writing end stays open: a read of it waits for ever.
    let (reader, _writer) = std::io::pipe().unwrap();
    let file = FilePlan {
        path: "pipe".into(),
        fd: reader.as_raw_fd(),
        writable: false,
        is_block_device: false,
        region_offset_bytes: 0,
        region_bytes: BLOCK as u64,
    };
    for spin in [false, true] {
        let mut plan = plan(EngineKind::IoUring, Rw::Read, vec![file.clone()]);
        plan.spin = spin;
        if usable(&plan) {
            play(&plan, &mut Hung).unwrap();
            plan.engine.sqthread_poll = true;
            play(&plan, &mut Hung).unwrap();
        }
    }
}

#[test]
fn many_engines_one_after_the_other_in_one_thread() {
    struct One;
    impl Scenario for One {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            do_all(engine, &[request(0, Kind::Read, 0, BLOCK as u32)]);
        }
    }
    const ENGINES: usize = 100;
    let open_files = || std::fs::read_dir("/proc/self/fd").unwrap().count();
    let scratch = Scratch::new(&numbered(1));
    for plan in variants(Rw::Randread, &scratch) {
        let before = open_files();
        for _ in 0..ENGINES {
            play(&plan, &mut One).unwrap();
        }
        // The other tests in this process hold a few, too.
        assert!(open_files() < before + ENGINES, "{:?} leaks", plan.engine);
    }
}

#[test]
fn null_moves_what_it_is_asked_to() {
    struct All;
    impl Scenario for All {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            let done = do_all(
                engine,
                &[
                    request(0, Kind::Read, 0, 512),
                    request(1, Kind::Write, 0, 1024),
                    request(2, Kind::Trim, 0, 2048),
                    request(3, Kind::Sync, 0, 0),
                ],
            );
            let moved: Vec<_> = done.iter().map(|completion| completion.result).collect();
            assert_eq!(moved, [Ok(512), Ok(1024), Ok(2048), Ok(0)]);
        }
    }
    play(
        &plan(EngineKind::Null, Rw::Randtrimwrite, Vec::new()),
        &mut All,
    )
    .unwrap();
}
