//! fio's verify on every engine and a real file: what was written is found, and damage too.

mod common;
mod outcome;

use std::os::unix::fs::FileExt;

use common::variants::variants;
use common::{BLOCK, Scratch};
use iogauge_core::plan::{Checksum, Rw, VerifyTrims, WorkerPlan};
use iogauge_core::testing;
use outcome::{execute, run_plan};

const BLOCKS: usize = 32;

fn verifying(base: WorkerPlan, scratch: &Scratch) -> WorkerPlan {
    WorkerPlan {
        files: vec![scratch.plan()],
        verify: Some(testing::verify(Checksum::Crc32c, 1024)),
        ..base
    }
}

#[test]
fn every_engine_finds_what_it_wrote_and_what_was_damaged() {
    let scratch = Scratch::new(&vec![0; BLOCKS * BLOCK]);
    for base in variants(Rw::Randwrite, &scratch) {
        let mut plan = verifying(base, &scratch);
        plan.pattern.random_map = true;
        let written = execute(run_plan(vec![plan.clone()]));
        assert_eq!(written.result.error, None, "{:?}", plan.engine);
        let tallies = &written.row(0).tallies;
        assert_eq!(
            (tallies["write"].ios, tallies["read"].ios),
            (BLOCKS as u64, BLOCKS as u64)
        );
        let verified = written.result.workers[0]
            .verify
            .as_ref()
            .expect("it verifies");
        assert_eq!((verified.requests, verified.failed), (BLOCKS as u64, 0));

        // A job that only reads finds the same blocks; then one of them is damaged.
        let mut reading = plan.clone();
        reading.pattern.rw = Rw::Read;
        reading.verify.as_mut().expect("it is there").reads_back = false;
        let read = execute(run_plan(vec![reading.clone()]));
        assert_eq!(read.result.error, None, "{:?}", plan.engine);
        let at = (5 * BLOCK + 1024 + 99) as u64;
        let mut byte = [0];
        scratch.file.read_exact_at(&mut byte, at).unwrap();
        scratch.file.write_all_at(&[byte[0] ^ 1], at).unwrap();
        scratch.file.sync_all().unwrap();
        let damaged = execute(run_plan(vec![reading]));
        let error = damaged.result.error.clone().expect("a block is damaged");
        let place = format!("offset {}, length 1024", 5 * BLOCK + 1024);
        assert!(error.contains(&place), "{error}");
        let verified = damaged.result.workers[0]
            .verify
            .as_ref()
            .expect("it verifies");
        assert_eq!(verified.failed, 1);
        assert_eq!(
            damaged.row(0).tallies["read"].errors.values().sum::<u64>(),
            1
        );
    }
}

#[test]
fn other_threads_find_what_the_worker_would_find() {
    let scratch = Scratch::new(&vec![0; BLOCKS * BLOCK]);
    for base in variants(Rw::Randwrite, &scratch) {
        let mut plan = verifying(base, &scratch);
        plan.pattern.random_map = true;
        let verify = plan.verify.as_mut().expect("it is there");
        (verify.checksum, verify.threads, verify.continues) = (Checksum::Sha512, 3, true);
        let written = execute(run_plan(vec![plan.clone()]));
        assert_eq!(written.result.error, None, "{:?}", plan.engine);
        let verified = written.result.workers[0].verify.as_ref();
        let counts = verified.map(|verified| (verified.requests, verified.failed));
        assert_eq!(counts, Some((BLOCKS as u64, 0)), "{:?}", plan.engine);

        // All of several damaged blocks are found, by a job that goes on.
        for block in [3, 4, 20] {
            let at = (block * BLOCK + 2048 + 99) as u64;
            let mut byte = [0];
            scratch.file.read_exact_at(&mut byte, at).unwrap();
            scratch.file.write_all_at(&[byte[0] ^ 1], at).unwrap();
        }
        scratch.file.sync_all().unwrap();
        plan.pattern.rw = Rw::Read;
        plan.verify.as_mut().expect("it is there").reads_back = false;
        let damaged = execute(run_plan(vec![plan.clone()]));
        let verified = damaged.result.workers[0]
            .verify
            .as_ref()
            .expect("it verifies");
        assert_eq!((verified.requests, verified.failed), (BLOCKS as u64, 3));
        let mut places: Vec<_> = verified
            .mismatches
            .iter()
            .map(|mismatch| mismatch.offset_bytes as usize)
            .collect();
        places.sort_unstable();
        let expected = [3, 4, 20].map(|block| block * BLOCK + 2048);
        assert_eq!(places, expected, "{:?}", plan.engine);
        let errors = &damaged.row(0).tallies["read"].errors;
        assert_eq!(errors.values().sum::<u64>(), 3);

        // One that does not go on ends, with nothing in flight.
        plan.verify.as_mut().expect("it is there").continues = false;
        let ended = execute(run_plan(vec![plan.clone()]));
        assert!(ended.result.error.is_some(), "{:?}", plan.engine);
        assert!(ended.result.in_flight.is_empty(), "{:?}", plan.engine);
    }
}

#[test]
fn every_engine_reads_zeroes_where_it_trimmed() {
    let scratch = Scratch::new(&vec![0; BLOCKS * BLOCK]);
    for base in variants(Rw::Randwrite, &scratch) {
        let mut plan = verifying(base, &scratch);
        plan.pattern.random_map = true;
        plan.verify.as_mut().expect("it is there").trims = Some(VerifyTrims {
            percentage: 100,
            backlog: 1,
            batch: 1,
            reads_zeroes: true,
        });
        let written = execute(run_plan(vec![plan.clone()]));
        assert_eq!(written.result.error, None, "{:?}", plan.engine);
        let tallies = &written.row(0).tallies;
        let verified = written.result.workers[0]
            .verify
            .as_ref()
            .expect("it verifies");
        assert_eq!((verified.requests, verified.failed), (BLOCKS as u64, 0));
        // Each write becomes due for a trim at once, but one that was in flight waits for the next occasion.
        let trimmed = tallies["trim"].ios as usize;
        let zeroes = scratch
            .content()
            .chunks(BLOCK)
            .filter(|block| block.iter().all(|&byte| byte == 0))
            .count();
        assert!(trimmed > 0, "{:?}", plan.engine);
        assert_eq!(zeroes, trimmed, "{:?}", plan.engine);
    }
}

#[test]
fn a_dry_run_verifies_what_the_same_job_wrote_and_writes_nothing() {
    let scratch = Scratch::new(&vec![0; BLOCKS * BLOCK]);
    let base = common::plan(
        iogauge_core::plan::EngineKind::Psync,
        Rw::Randwrite,
        vec![scratch.plan()],
    );
    let plan = verifying(base, &scratch);
    assert_eq!(execute(run_plan(vec![plan.clone()])).result.error, None);
    let before = scratch.content();
    let mut dry = plan;
    dry.files[0].writable = false;
    let verify = dry.verify.as_mut().expect("it is there");
    (verify.dry, verify.numbers) = (true, false);
    let outcome = execute(run_plan(vec![dry]));
    assert_eq!(outcome.result.error, None);
    let verified = outcome.result.workers[0]
        .verify
        .as_ref()
        .expect("it verifies");
    assert!(verified.requests > 0 && verified.failed == 0);
    assert_eq!(scratch.content(), before);
}
