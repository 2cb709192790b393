//! Checks that every engine keeps the contract of the trait `Engine` on a real file: waiting, batches, stamps, memory.

mod common;

use std::os::fd::AsRawFd;

use common::variants::{usable, variants};
use common::{BLOCK, Scenario, Scratch, do_all, numbered, plan, play, request};
use iogauge_core::plan::{EngineKind, FilePlan, Rw};
use iogauge_core::{Completion, Kind};
use iogauge_engine::Engine;

const BLOCKS: usize = 8;

#[test]
fn a_reap_waits_until_an_instant_but_not_for_the_past() {
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
    // Each request of posixaio takes a call of its own.
    plans.retain(|plan| plan.engine.kind != EngineKind::Posixaio);
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
    // An empty pipe whose writing end stays open: reading it waits for ever.
    let (reader, _writer) = std::io::pipe().unwrap();
    let file = FilePlan {
        path: "pipe".into(),
        fd: reader.as_raw_fd(),
        writable: false,
        is_block_device: false,
        file_bytes: BLOCK as u64,
        region_offset_bytes: 0,
        region_bytes: BLOCK as u64,
        namespace: None,
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
        // The other tests in this process have a few files open, too.
        assert!(open_files() < before + ENGINES, "{:?} leaks", plan.engine);
    }
}
