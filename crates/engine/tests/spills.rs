//! The request log while its disk is slow, full or stuck: whether the load waits or the log drops requests, and the
//! outcome.

mod common;
mod outcome;

use std::fs::{File, OpenOptions};
use std::io::{PipeReader, Read, Write};
use std::os::fd::OwnedFd;
use std::thread;

use common::Scratch;
use iogauge_core::log_record::LogRecord;
use iogauge_core::plan::{EngineKind, LogOverflow, RunPlan, WorkerPlan};
use iogauge_core::results::Interval;
use iogauge_core::time::{MILLISECOND, SECOND};
use iogauge_engine::run::spill::FrameReader;
use outcome::{Outcome, PRIME, file, ios, run_plan, spilled, worker};

/// More than a pipe, two pieces and the spilling thread hold together.
const REQUESTS: u64 = 12 * PRIME;

/// Creates a plan for the null engine at full speed, with the least room for its log.
fn logged(overflow: LogOverflow) -> RunPlan {
    let plan = WorkerPlan {
        number_ios: REQUESTS,
        ..worker(EngineKind::Null, &file())
    };
    RunPlan {
        request_log_capacity: 1,
        log_overflow: overflow,
        ..run_plan(vec![plan])
    }
}

fn completed(intervals: &[Interval]) -> u64 {
    let tallies = intervals.iter().flat_map(|part| part.tallies.values());
    tallies.map(|tally| tally.ios).sum()
}

fn pipe() -> (PipeReader, File) {
    let (reader, writer) = std::io::pipe().unwrap();
    (reader, File::from(OwnedFd::from(writer)))
}

/// Runs a plan whose spill accepts no bytes until `is_time` returns true for the intervals so far. Returns the spilled
/// records.
fn taken_late(
    plan: RunPlan,
    mut is_time: impl FnMut(&[Interval]) -> bool,
) -> (Outcome, Vec<LogRecord>) {
    let (reader, spill) = pipe();
    let mut waiting = Some(reader);
    let mut taking = None;
    let outcome = spilled(plan, spill, |_, intervals| {
        if let Some(mut reader) = waiting.take_if(|_| is_time(intervals)) {
            taking = Some(thread::spawn(move || {
                let mut bytes = Vec::new();
                reader.read_to_end(&mut bytes).unwrap();
                bytes
            }));
        }
    })
    .unwrap();
    let scratch = Scratch::new(&taking.expect("the time came").join().unwrap());
    let mut log = Vec::new();
    FrameReader::new(File::open(&scratch.path).unwrap(), 0)
        .and_then(|mut frames| frames.read(usize::MAX, &mut log))
        .unwrap();
    (outcome, log)
}

#[test]
fn the_load_waits_for_a_slow_disk_and_the_wait_is_the_generators() {
    // The spill accepts no bytes until the load has stopped: until nothing completes for an entire interval.
    let stands_still = |intervals: &[Interval]| {
        completed(intervals) > 0
            && intervals
                .last()
                .is_some_and(|last| last.tallies.values().all(|tally| tally.ios == 0))
    };
    let (outcome, log) = taken_late(logged(LogOverflow::Wait), stands_still);
    assert_eq!(
        (log.len() as u64, ios(outcome.row(0))),
        (REQUESTS, REQUESTS)
    );
    let waited = outcome.result.workers[0].log_wait_ns;
    assert!(waited >= 50 * MILLISECOND, "{waited} ns for an interval");
    assert_eq!(outcome.result.workers[0].log_dropped, 0);
    // Requests issued after the wait were ready before its end, and the drive was as fast as usual.
    let late = log
        .iter()
        .map(|record| record.start_ns - record.ready_ns)
        .max();
    assert!(late >= Some(50 * MILLISECOND), "{late:?}");
    assert!(
        log.iter()
            .all(|record| record.intended_ns <= record.ready_ns)
    );
    assert_eq!(outcome.spilled.unwrap().failure, None);
}

#[test]
fn a_load_that_must_not_wait_drops_and_counts() {
    let (outcome, log) = taken_late(logged(LogOverflow::Drop), |intervals| {
        completed(intervals) == REQUESTS
    });
    let result = &outcome.result.workers[0];
    assert_eq!(ios(outcome.row(0)), REQUESTS);
    assert_eq!(log.len() as u64 + result.log_dropped, REQUESTS);
    assert!(result.log_dropped > 0 && !log.is_empty());
    assert_eq!(result.log_wait_ns, 0);
}

#[test]
fn a_full_disk_ends_the_log_and_not_the_run() {
    let full = OpenOptions::new().append(true).open("/dev/full").unwrap();
    let outcome = spilled(logged(LogOverflow::Wait), full, |_, _| {}).unwrap();
    assert!(outcome.result.workers[0].log_dropped > 0);
    assert_eq!(
        (ios(outcome.row(0)), outcome.result.error),
        (REQUESTS, None)
    );
    let log_outcome = outcome.spilled.unwrap();
    assert_eq!(log_outcome.kept, 0);
    assert_eq!(
        log_outcome.failure.as_deref(),
        Some("No space left on device")
    );
}

#[test]
fn requests_written_before_the_disk_failed_are_counted() {
    let (mut reader, spill) = pipe();
    let taking = thread::spawn(move || reader.read_exact(&mut vec![0; 300 << 10]));
    let outcome = spilled(logged(LogOverflow::Wait), spill, |_, _| {}).unwrap();
    taking.join().unwrap().unwrap();
    assert_eq!(ios(outcome.row(0)), REQUESTS);
    let log_outcome = outcome.spilled.unwrap();
    assert!((1..REQUESTS).contains(&log_outcome.kept), "{log_outcome:?}");
    assert_eq!(log_outcome.failure.as_deref(), Some("Broken pipe"));
}

#[test]
fn a_disk_that_never_answers_does_not_hold_the_run() {
    let (_reader, spill) = pipe();
    let plan = RunPlan {
        give_up_ns: SECOND / 5,
        ..logged(LogOverflow::Wait)
    };
    let outcome = spilled(plan, spill, |_, _| {}).unwrap();
    assert_eq!(
        (ios(outcome.row(0)), outcome.result.error),
        (REQUESTS, None)
    );
    let log_outcome = outcome.spilled.unwrap();
    assert_eq!(
        log_outcome.failure.as_deref(),
        Some("nothing could be written for 200ms")
    );
}

/// Creates a load without end, whose log is given up after a second without a write.
fn endless() -> RunPlan {
    RunPlan {
        request_log_capacity: 1,
        give_up_ns: SECOND,
        ..run_plan(vec![worker(EngineKind::Null, &file())])
    }
}

#[test]
fn a_log_that_was_given_up_stays_given_up_when_its_disk_answers() {
    let (reader, spill) = pipe();
    let mut waiting = Some(reader);
    let mut taking = None;
    let mut taken_at = 0;
    let outcome = spilled(endless(), spill, |run, intervals| {
        let stood_still = intervals
            .iter()
            .filter(|part| completed(std::slice::from_ref(part)) == 0);
        let goes_on = intervals
            .last()
            .is_some_and(|last| completed(std::slice::from_ref(last)) > 0);
        // The load no longer waits, because the log was given up.
        if stood_still.count() > 10
            && goes_on
            && let Some(mut reader) = waiting.take()
        {
            taken_at = intervals.len();
            taking = Some(thread::spawn(move || reader.read_to_end(&mut Vec::new())));
        }
        if waiting.is_none() && intervals.len() > taken_at + 2 {
            run.stop();
        }
    })
    .unwrap();
    taking
        .expect("the log was given up")
        .join()
        .unwrap()
        .unwrap();
    let requests = ios(outcome.row(0));
    let log_outcome = outcome.spilled.unwrap();
    assert!(log_outcome.kept < requests && outcome.result.workers[0].log_dropped > 0);
    assert_eq!(
        log_outcome.failure.as_deref(),
        Some("nothing could be written for 1s")
    );
}

#[test]
fn a_worker_whose_time_is_over_does_not_wait_for_the_log() {
    let (_reader, spill) = pipe();
    let mut plan = endless();
    plan.stages[0].workers[0].runtime_ns = SECOND / 10;
    let give_up_ns = plan.give_up_ns;
    let outcome = spilled(plan, spill, |_, _| {}).unwrap();
    assert!(
        outcome.row(0).end_ns < give_up_ns,
        "{}",
        outcome.row(0).end_ns
    );
    assert!(outcome.result.workers[0].log_wait_ns > 0);
}

#[test]
fn two_interrupts_end_the_wait_for_a_disk() {
    let (_reader, spill) = pipe();
    let outcome = spilled(logged(LogOverflow::Wait), spill, |run, intervals| {
        if completed(intervals) > 0 {
            run.give_up();
        }
    })
    .unwrap();
    let log_outcome = outcome.spilled.unwrap();
    assert!(
        log_outcome
            .failure
            .unwrap()
            .starts_with("the run was ended before")
    );
}

#[test]
fn a_damaged_end_is_reported_after_all_good_frames() {
    let plan = WorkerPlan {
        number_ios: PRIME,
        ..worker(EngineKind::Null, &file())
    };
    let scratch = Scratch::new(b"before");
    let spill = OpenOptions::new().append(true).open(&scratch.path).unwrap();
    spilled(run_plan(vec![plan]), spill, |_, _| {}).unwrap();
    let reading = |bytes: &[u8]| {
        let scratch = Scratch::new(bytes);
        FrameReader::new(File::open(&scratch.path).unwrap(), 6).unwrap()
    };
    let content = scratch.content();
    assert_eq!(&content[..6], b"before");
    // A frame that a kill cut off is left out.
    let (mut cut, mut log) = (reading(&content[..content.len() - 1]), Vec::new());
    cut.read(usize::MAX, &mut log).unwrap();
    assert!((1..PRIME).contains(&(log.len() as u64)), "{}", log.len());
    // Other bytes, zeros, and frames with impossible headers: too short or too long for their records, and too many
    // records.
    let other: [&[u8]; 5] = [
        b"something else, and more of it",
        &[0; 4096],
        &frame(3, 2),
        &frame(143, 1),
        &frame(1 << 18, 1 << 17),
    ];
    for other in other {
        let mut bytes = content.clone();
        bytes.write_all(other).unwrap();
        let (mut frames, mut log) = (reading(&bytes), Vec::new());
        frames.read(usize::MAX, &mut log).unwrap();
        assert_eq!(log.len() as u64, PRIME);
        assert_eq!(frames.position(), content.len() as u64);
        for _ in 0..2 {
            let error = frames.read(usize::MAX, &mut log).unwrap_err();
            assert_eq!(error.kind(), std::io::ErrorKind::InvalidData);
            assert!(error.to_string().contains(&content.len().to_string()));
            assert_eq!(log.len() as u64, PRIME);
        }
    }
}

/// Returns a frame of zeros that claims this length and count.
fn frame(length: u32, count: u32) -> Vec<u8> {
    let head = [length.to_le_bytes(), count.to_le_bytes()].concat();
    [head, vec![0; length as usize]].concat()
}
