//! What is read back, in which order, and that no request can make good data look bad.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::invariants::plans;
use super::sim::{Served, Trace, World, run};
use crate::plan::{Checksum, CompletedWrite, Rw, VerifyPlan, VerifyState, VerifyTrims, WorkerPlan};
use crate::request::{Check, Errno, Kind, Request, Want};
use crate::testing::{BLOCK, file, plan, verify};

fn verifying(rw: Rw, blocks: u64) -> WorkerPlan {
    let mut plan = plan(rw);
    plan.files = vec![file(blocks)];
    plan.verify = Some(verify(Checksum::Crc32c, BLOCK as u32));
    plan
}

fn with(plan: WorkerPlan, change: impl FnOnce(&mut VerifyPlan)) -> WorkerPlan {
    let mut changed = plan.verify.clone().unwrap();
    change(&mut changed);
    WorkerPlan {
        verify: Some(changed),
        ..plan
    }
}

fn is_recall(served: &Served) -> bool {
    served.request.kind == Kind::Read && served.request.check != Check::Nothing
}

fn recalled(trace: &Trace) -> Vec<u64> {
    trace
        .served
        .iter()
        .filter(|served| is_recall(served))
        .map(|served| served.request.offset_bytes / BLOCK)
        .collect()
}

fn written(trace: &Trace) -> Vec<u64> {
    trace
        .of_kind(Kind::Write)
        .map(|served| served.request.offset_bytes / BLOCK)
        .collect()
}

fn units(request: &Request) -> impl Iterator<Item = (u32, u64)> + use<> {
    let (target, first) = (request.target, request.offset_bytes / BLOCK);
    (first..first + u64::from(request.length_bytes) / BLOCK).map(move |unit| (target, unit))
}

#[test]
fn a_random_map_is_read_back_in_the_order_of_its_writes() {
    let mut plan = verifying(Rw::Randwrite, 64);
    plan.pattern.random_map = true;
    let trace = run(&plan, World::fast(1_000));
    assert_eq!(written(&trace).len(), 64);
    assert_eq!(recalled(&trace), written(&trace));
    assert_eq!(trace.settled, 1);
}

#[test]
fn without_a_map_each_block_is_read_back_once_in_the_order_of_offsets() {
    let trace = run(&verifying(Rw::Randwrite, 64), World::fast(1_000));
    let mut distinct = written(&trace);
    distinct.sort_unstable();
    distinct.dedup();
    assert!(distinct.len() < 64);
    assert_eq!(recalled(&trace), distinct);
}

#[test]
fn every_loop_is_read_back_before_the_next() {
    let plan = WorkerPlan {
        loops: 3,
        ..verifying(Rw::Write, 8)
    };
    let trace = run(&plan, World::fast(1_000));
    let kinds: Vec<Kind> = trace
        .served
        .iter()
        .map(|served| served.request.kind)
        .collect();
    let pass = [[Kind::Write; 8], [Kind::Read; 8]].concat();
    assert_eq!(kinds, [pass.clone(), pass.clone(), pass].concat());
    assert_eq!(trace.settled, 3);
}

#[test]
fn the_runtime_ends_the_writes_and_nothing_is_read_back() {
    let plan = WorkerPlan {
        runtime_ns: 10_000,
        iodepth: 1,
        iodepth_low: 1,
        ..verifying(Rw::Write, 64)
    };
    let trace = run(&plan, World::fast(1_000));
    assert_eq!(trace.count(Kind::Write), 10);
    assert_eq!(recalled(&trace).len(), 0);
}

#[test]
fn a_dry_run_reads_what_the_same_job_writes() {
    let mut wet = verifying(Rw::Randwrite, 64);
    wet.number_ios = 40;
    let dry = with(wet.clone(), |verify| verify.dry = true);
    let (wet, dry) = (run(&wet, World::fast(1_000)), run(&dry, World::fast(1_000)));
    assert_eq!(dry.count(Kind::Write), 0);
    assert_eq!(recalled(&dry), recalled(&wet));
}

#[test]
fn a_dry_run_ends_in_spite_of_a_ramp_and_without_a_limit_but_its_time() {
    for (ramp_ns, time_based) in [(1_000_000, false), (0, true)] {
        let wet = WorkerPlan {
            ramp_ns,
            time_based,
            runtime_ns: 50_000_000,
            ..verifying(Rw::Write, 8)
        };
        let dry = with(wet, |verify| verify.dry = true);
        let trace = run(&dry, World::fast(1_000));
        assert_eq!(recalled(&trace), [0, 1, 2, 3, 4, 5, 6, 7]);
    }
}

#[test]
fn a_dry_run_can_be_stopped_while_it_draws() {
    let mut plan = verifying(Rw::Write, 25_000);
    plan.verify.as_mut().unwrap().dry = true;
    let mut worker = crate::Worker::new(&plan).unwrap();
    worker.begin(0, 0, 0);
    for now in 0..2 {
        let Want::Wait {
            completions: 0,
            until: Some(until),
        } = worker.next(now)
        else {
            panic!("it does not return");
        };
        assert_eq!((until, worker.unread()), (now + 1, 10_000 * (now + 1)));
    }
    worker.stop(2);
    assert_eq!(worker.next(2), Want::Finished);
}

#[test]
fn what_the_runtime_leaves_is_known() {
    let plan = WorkerPlan {
        iodepth: 1,
        iodepth_low: 1,
        ..verifying(Rw::Write, 8)
    };
    let mut worker = crate::Worker::new(&plan).unwrap();
    worker.begin(0, 0, 1_000);
    let Want::Issue(slot) = worker.next(0) else {
        panic!("a write is due");
    };
    let request = *worker.request(slot);
    worker.complete(&crate::Completion {
        slot,
        start: 0,
        issued: None,
        done: 1_000,
        result: Ok(request.length_bytes),
    });
    assert_eq!(worker.next(1_000), Want::Finished);
    assert_eq!(worker.unread(), 1);
}

#[test]
fn a_backlog_is_read_back_between_the_writes() {
    // As fio 3.33: `--rw=write --size=32k --bs=4k --verify_backlog=2`, with and without a batch of one.
    let serial = WorkerPlan {
        iodepth: 1,
        iodepth_low: 1,
        ..verifying(Rw::Write, 8)
    };
    let kinds = |plan: &WorkerPlan| -> String {
        let trace = run(plan, World::fast(1_000));
        let letter = |served: &Served| if is_recall(served) { 'r' } else { 'w' };
        trace.served.iter().map(letter).collect()
    };
    let two = with(serial, |verify| verify.backlog = 2);
    assert_eq!(kinds(&two), "wwrrwwrrwwrrwwrr");
    let one = with(two, |verify| verify.backlog_batch = 1);
    assert_eq!(kinds(&one), "wwrwrwrwrwrwrwrr");
}

const ALL_BY_FOUR: VerifyTrims = VerifyTrims {
    percentage: 100,
    backlog: 4,
    batch: 4,
    reads_zeroes: true,
};

/// Returns the requests of eight sequential writes, one at a time: `w` a write, `t` a trim, `r` a read of what was
/// written, `z` a read of zeroes, each with its block.
fn sequence(trims: VerifyTrims, backlog: u64) -> String {
    let serial = WorkerPlan {
        iodepth: 1,
        iodepth_low: 1,
        ..verifying(Rw::Write, 8)
    };
    let plan = with(serial, |verify| {
        verify.trims = Some(trims);
        verify.backlog = backlog;
    });
    let trace = run(&plan, World::fast(1_000));
    let word = |served: &Served| {
        let letter = match (served.request.kind, served.request.check) {
            (Kind::Write, _) => 'w',
            (Kind::Trim, Check::Trimmed) => 't',
            (Kind::Read, Check::Trimmed) => 'z',
            _ => 'r',
        };
        format!("{letter}{}", served.request.offset_bytes / BLOCK)
    };
    trace.served.iter().map(word).collect::<Vec<_>>().join(" ")
}

/// As fio 3.42: `--rw=write --size=32k --bs=4k --verify=crc32c --trim_percentage=100 --trim_backlog=4`, and more.
#[test]
fn writes_are_trimmed_in_batches_and_read_back_as_zeroes() {
    assert_eq!(
        sequence(ALL_BY_FOUR, 0),
        "w0 w1 w2 w3 t0 t1 t2 t3 w4 w5 w6 w7 t4 t5 t6 t7 z0 z1 z2 z3 z4 z5 z6 z7"
    );
    let forgotten = VerifyTrims {
        reads_zeroes: false,
        ..ALL_BY_FOUR
    };
    assert_eq!(
        sequence(forgotten, 0),
        "w0 w1 w2 w3 t0 t1 t2 t3 w4 w5 w6 w7 t4 t5 t6 t7"
    );
    // What no batch reaches is read back as it was written.
    let fewer = VerifyTrims {
        batch: 2,
        ..ALL_BY_FOUR
    };
    assert_eq!(
        sequence(fewer, 0),
        "w0 w1 w2 w3 t0 t1 w4 w5 w6 w7 t2 t3 z0 z1 z2 z3 r4 r5 r6 r7"
    );
    // What was read back is not trimmed.
    let three = VerifyTrims {
        backlog: 3,
        batch: 3,
        ..ALL_BY_FOUR
    };
    assert_eq!(
        sequence(three, 4),
        "w0 w1 w2 t0 t1 t2 w3 z0 z1 z2 r3 w4 w5 w6 t4 t5 t6 w7 z4 z5 z6 r7"
    );
}

#[test]
fn a_share_of_the_writes_is_trimmed_whose_depth_and_limits_stay() {
    let half = VerifyTrims {
        percentage: 50,
        backlog: 1,
        batch: 1,
        reads_zeroes: true,
    };
    let mut plan = with(verifying(Rw::Randwrite, 4_000), |verify| {
        verify.trims = Some(half);
    });
    plan.pattern.random_map = true;
    plan.number_ios = 2_000;
    let trace = run(&plan, World::random(7, 100_000, 10_000));
    let trims: Vec<u64> = trace
        .of_kind(Kind::Trim)
        .map(|served| served.request.offset_bytes)
        .collect();
    let zeroes: Vec<u64> = trace
        .served
        .iter()
        .filter(|served| served.request.kind == Kind::Read)
        .filter(|served| served.request.check == Check::Trimmed)
        .map(|served| served.request.offset_bytes)
        .collect();
    assert_eq!(written(&trace).len(), 2_000);
    assert_eq!(recalled(&trace), written(&trace));
    assert!((900..1_100).contains(&trims.len()), "{}", trims.len());
    assert_eq!(zeroes, trims);
}

#[test]
fn a_block_whose_trim_failed_is_not_read_back() {
    let plan = with(
        WorkerPlan {
            continue_on_write_error: true,
            ..verifying(Rw::Write, 8)
        },
        |verify| verify.trims = Some(ALL_BY_FOUR),
    );
    let world = World {
        result: Box::new(|request| match request.offset_bytes / BLOCK {
            3 if request.kind == Kind::Trim => Err(Errno(5)),
            _ => Ok(request.length_bytes),
        }),
        ..World::fast(1_000)
    };
    assert_eq!(recalled(&run(&plan, world)), [0, 1, 2, 4, 5, 6, 7]);
}

/// Returns the worker of this plan and the requests that it has in flight after `returned` of its writes returned.
fn interrupted(plan: &WorkerPlan, returned: &[usize]) -> (crate::Worker, Vec<Request>) {
    let mut worker = crate::Worker::new(plan).unwrap();
    worker.begin(0, 0, 0);
    let mut issued = Vec::new();
    let issue_all = |worker: &mut crate::Worker, issued: &mut Vec<Request>| {
        while let Want::Issue(slot) = worker.next(0) {
            issued.push(*worker.request(slot));
        }
    };
    issue_all(&mut worker, &mut issued);
    for &nth in returned {
        worker.complete(&crate::Completion {
            slot: issued[nth].slot,
            start: 0,
            issued: None,
            done: 0,
            result: Ok(issued[nth].length_bytes),
        });
        issue_all(&mut worker, &mut issued);
    }
    (worker, issued)
}

#[test]
fn a_run_says_how_far_its_writes_came_and_a_dry_run_verifies_no_more() {
    let mut plan = with(verifying(Rw::Randwrite, 64), |verify| {
        verify.saves_state = true;
    });
    (plan.iodepth, plan.iodepth_low) = (4, 4);
    plan.pattern.random_map = true;
    let (worker, issued) = interrupted(&plan, &[1, 0, 2, 4, 5, 6, 8]);
    let state = worker.verify_state().expect("it is asked for");
    // Writes 3, 7, 9 and 10 are in flight. The last four writes would begin behind write 3.
    assert_eq!((issued.len(), state.writes, state.depth), (11, 7, 4));
    let offsets = |requests: &[usize]| -> Vec<u64> {
        requests
            .iter()
            .map(|&nth| issued[nth].offset_bytes)
            .collect()
    };
    let completed: Vec<u64> = state
        .completed
        .iter()
        .map(|write| write.offset_bytes)
        .collect();
    assert_eq!(completed, offsets(&[8, 6, 5, 4]));

    let dry = with(plan, |verify| {
        verify.dry = true;
        verify.state = Some(state);
    });
    let read: Vec<u64> = run(&dry, World::fast(1_000))
        .served
        .iter()
        .filter(|served| is_recall(served))
        .map(|served| served.request.offset_bytes)
        .collect();
    assert_eq!(read, offsets(&[0, 1, 2, 4, 5, 6]));
}

#[test]
fn the_state_of_a_short_run_has_each_write_that_returned() {
    let mut plan = with(verifying(Rw::Write, 2), |verify| verify.saves_state = true);
    (plan.iodepth, plan.iodepth_low) = (4, 4);
    let (worker, issued) = interrupted(&plan, &[1]);
    assert_eq!(issued.len(), 2);
    let state = VerifyState {
        writes: 2,
        depth: 4,
        completed: vec![CompletedWrite {
            target: 0,
            offset_bytes: issued[1].offset_bytes,
        }],
    };
    assert_eq!(worker.verify_state(), Some(state.clone()));
    let dry = with(plan, |verify| {
        verify.dry = true;
        verify.state = Some(state);
    });
    assert_eq!(recalled(&run(&dry, World::fast(1_000))), [1]);
}

#[test]
fn a_failed_write_is_not_read_back() {
    let plan = WorkerPlan {
        continue_on_write_error: true,
        ..verifying(Rw::Write, 8)
    };
    let world = World {
        result: Box::new(|request| match request.offset_bytes / BLOCK {
            3 if request.kind == Kind::Write => Err(Errno(5)),
            _ => Ok(request.length_bytes),
        }),
        ..World::fast(1_000)
    };
    assert_eq!(recalled(&run(&plan, world)), [0, 1, 2, 4, 5, 6, 7]);
}

#[test]
fn trimmed_blocks_are_forgotten() {
    let mut plan = verifying(Rw::Randtrimwrite, 16);
    plan.pattern.random_map = true;
    let trace = run(&plan, World::fast(1_000));
    assert_eq!(recalled(&trace), written(&trace));
}

#[test]
fn it_ends_at_a_mismatch_unless_it_goes_on() {
    for continues in [false, true] {
        let plan = with(verifying(Rw::Write, 8), |verify| {
            verify.continues = continues
        });
        let mut worker = crate::Worker::new(&plan).unwrap();
        worker.begin(0, 0, 0);
        worker.mismatched(5);
        assert_eq!(worker.failed(), (!continues).then_some(Errno::MISMATCH));
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// Of any plan, on a target that serves requests in any order: a block that is read back holds one known write.
    #[test]
    fn nothing_that_is_read_back_is_in_doubt(
        base in plans(),
        seed: u64,
        (backlog, backlog_batch) in (0u64..6, 0u64..4),
        dry: bool,
        (percentage, trim_backlog, batch) in (1u32..=100, 1u64..6, 1u64..4),
        reads_zeroes: bool,
    ) {
        let mut change = verify(Checksum::Crc32c, BLOCK as u32);
        (change.backlog, change.backlog_batch, change.dry) = (backlog, backlog_batch, dry);
        if !dry && percentage > 50 {
            change.trims = Some(VerifyTrims { percentage, backlog: trim_backlog, batch, reads_zeroes });
        }
        let mut plan = WorkerPlan { verify: Some(change), ..base };
        if dry {
            plan.schedule = crate::testing::same(crate::testing::iops(0));
            plan.thinktime_ns = 0;
        }
        let trace = run(&plan, World::random(seed, 100_000, 10_000));
        let mut last: BTreeMap<(u32, u64), u32> = BTreeMap::new();
        let mut zeroes: BTreeSet<(u32, u64)> = BTreeSet::new();
        for (at, served) in trace.served.iter().enumerate() {
            let request = &served.request;
            let changes = matches!(request.kind, Kind::Write | Kind::Trim);
            if !changes && !is_recall(served) {
                continue;
            }
            for earlier in trace.served[..at].iter().filter(|earlier| earlier.done > served.start) {
                let either_changes = changes || matches!(earlier.request.kind, Kind::Write);
                let both_count = is_recall(earlier)
                    || matches!(earlier.request.kind, Kind::Write)
                    || earlier.request.check == Check::Trimmed;
                if either_changes && both_count {
                    prop_assert!(
                        !units(request).any(|unit| units(&earlier.request).any(|other| other == unit)),
                        "{request:?} while {:?} is in flight", earlier.request
                    );
                }
            }
            match (request.kind, request.check) {
                (Kind::Write, Check::Write(number)) => {
                    last.extend(units(request).map(|unit| (unit, number)));
                    units(request).for_each(|unit| { zeroes.remove(&unit); });
                }
                (Kind::Trim, _) => units(request).for_each(|unit| {
                    last.remove(&unit);
                    zeroes.insert(unit);
                }),
                (Kind::Read, Check::Trimmed) => {
                    prop_assert!(units(request).all(|unit| zeroes.contains(&unit)));
                }
                (Kind::Read, Check::Write(number)) if !dry => {
                    for unit in units(request) {
                        prop_assert_eq!(last.get(&unit), Some(&number));
                    }
                }
                _ => {}
            }
        }
    }
}
