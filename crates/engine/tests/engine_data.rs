//! The bytes that requests move, on every engine and a real file.

mod common;

use std::collections::HashSet;

use common::variants::variants;
use common::{BLOCK, Scenario, Scratch, do_all, numbered, plan, play, request};
use iogauge_core::plan::{EngineKind, Rw};
use iogauge_core::{Errno, Kind, TO_THE_END};
use iogauge_engine::Engine;

const BLOCKS: usize = 8;

#[test]
fn writes_land_where_they_belong() {
    struct Write;
    impl Scenario for Write {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            // Every second block, in a different order from that of the slots.
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
                    request(2, Kind::RangeSync, 0, 0),
                    request(3, Kind::RangeSync, BLOCK as u64, TO_THE_END),
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
            // The file ends in the middle of the first of these reads, and before the second.
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
fn data_that_was_read_is_never_written_back() {
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
            // Direct I/O refuses the odd offset. Every kernel refuses an offset beyond the largest of a file.
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
        if plan.engine.kind == EngineKind::Mmap {
            continue; // A mapping has no alignment.
        }
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
fn null_moves_the_requested_bytes() {
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
