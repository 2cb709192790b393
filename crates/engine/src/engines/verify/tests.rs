//! Blocks that are written and checked, without a file.

use iogauge_core::plan::{Checksum, Rw, WorkerPlan};
use iogauge_core::results::VerifyResult;
use iogauge_core::testing;
use iogauge_core::{Check, Kind, Request};

use super::Verifier;
use crate::engines::content::Content;

const ALL: [Checksum; 17] = [
    Checksum::Md5,
    Checksum::Crc64,
    Checksum::Crc32,
    Checksum::Crc32c,
    Checksum::Crc16,
    Checksum::Crc7,
    Checksum::Sha1,
    Checksum::Sha256,
    Checksum::Sha512,
    Checksum::Sha3_224,
    Checksum::Sha3_256,
    Checksum::Sha3_384,
    Checksum::Sha3_512,
    Checksum::Xxhash,
    Checksum::Meta,
    Checksum::PatternHdr,
    Checksum::Pattern,
];

const BYTES: usize = 2048;
const INTERVAL: u32 = 512;

/// One worker's blocks, its content, and what was found so far.
struct Bench {
    verifier: Verifier,
    content: Content,
    result: VerifyResult,
}

impl Bench {
    fn new(checksum: Checksum, change: impl FnOnce(&mut WorkerPlan)) -> Bench {
        let mut plan = testing::plan(Rw::Write);
        let mut verify = testing::verify(checksum, INTERVAL);
        if matches!(checksum, Checksum::Pattern | Checksum::PatternHdr) {
            verify.pattern = vec![0xDE, 0xAD, 0xBE];
        }
        plan.verify = Some(verify);
        change(&mut plan);
        Bench {
            verifier: Verifier::new(&plan, BYTES).expect("it verifies"),
            content: Content::new(&plan.buffers, plan.seed),
            result: VerifyResult::default(),
        }
    }

    fn write(&self, number: u32) -> Vec<u8> {
        let mut buffer = vec![0; BYTES];
        let request = request(Kind::Write, Check::Write(number));
        self.verifier.fill(&mut buffer, &request, &self.content);
        buffer
    }

    fn reads(&mut self, buffer: &[u8], check: Check) -> bool {
        let mut read = buffer.to_vec();
        let request = request(Kind::Read, check);
        let good = self
            .verifier
            .check(&mut read, &request, &self.content, &mut self.result);
        assert_eq!(read, buffer, "a check leaves the data as it was");
        good
    }
}

fn request(kind: Kind, check: Check) -> Request {
    Request {
        slot: 0,
        target: 0,
        kind,
        offset_bytes: 1 << 33,
        length_bytes: BYTES as u32,
        intended: 0,
        ready: 0,
        check,
        priority: 0,
    }
}

#[test]
fn what_is_written_is_found_and_any_damage_too() {
    for checksum in ALL {
        let mut bench = Bench::new(checksum, |_| {});
        let good = bench.write(7);
        assert!(bench.reads(&good, Check::Write(7)), "{checksum:?}");
        // sha512 is fio's, which sees only its first bytes; meta sees no data.
        let seen = |at: usize| match checksum {
            Checksum::Sha512 => at < 168,
            Checksum::Meta => at < 24,
            _ => true,
        };
        for at in (0..BYTES)
            .step_by(11)
            .filter(|at| seen(at % INTERVAL as usize))
        {
            let mut bad = good.clone();
            bad[at] ^= 0x10;
            assert!(!bench.reads(&bad, Check::Block), "{checksum:?} at {at}");
        }
    }
}

#[test]
fn a_block_of_an_older_write_is_found_by_its_number() {
    let mut bench = Bench::new(Checksum::Crc32c, |_| {});
    let old = bench.write(6);
    assert!(!bench.reads(&old, Check::Write(7)));
    let mismatch = &bench.result.mismatches[0];
    assert_eq!(
        (&*mismatch.field, &*mismatch.expected, &*mismatch.actual),
        ("number of the write", "7", "6")
    );
    assert!(bench.reads(&old, Check::Block));
}

#[test]
fn a_moved_header_is_found_where_it_was_moved() {
    let moved = |plan: &mut WorkerPlan| {
        plan.verify.as_mut().expect("it is there").offset_bytes = 100;
    };
    let mut bench = Bench::new(Checksum::Md5, moved);
    let good = bench.write(1);
    assert_eq!(good[100..102], [0xCA, 0xAC]);
    assert!(bench.reads(&good, Check::Write(1)));
}

#[test]
fn a_pattern_has_the_offset_of_its_request() {
    let with_offset = |plan: &mut WorkerPlan| {
        let verify = plan.verify.as_mut().expect("it is there");
        verify.pattern = [&[0; 8][..], &[0xAB; 8][..]].concat();
        verify.pattern_offsets = vec![0];
    };
    let mut bench = Bench::new(Checksum::Pattern, with_offset);
    let good = bench.write(1);
    for copy in good.chunks(16) {
        assert_eq!(copy[..8], (1u64 << 33).to_le_bytes());
        assert_eq!(copy[8..], [0xAB; 8]);
    }
    assert!(bench.reads(&good, Check::Write(1)));
}

#[test]
fn a_pattern_begins_anew_with_the_offset_of_each_interval() {
    let with_interval = |plan: &mut WorkerPlan| {
        let verify = plan.verify.as_mut().expect("it is there");
        verify.pattern = [&[0; 8][..], &[0xAB; 8][..]].concat();
        verify.pattern_offsets = vec![0];
        verify.pattern_interval_bytes = 100;
    };
    let mut bench = Bench::new(Checksum::Pattern, with_interval);
    let good = bench.write(1);
    for (part, offset) in good.chunks(100).zip(((1u64 << 33)..).step_by(100)) {
        for copy in part.chunks(16) {
            let wanted = [offset.to_le_bytes(), [0xAB; 8]].concat();
            assert_eq!(copy, &wanted[..copy.len()]);
        }
    }
    assert!(bench.reads(&good, Check::Write(1)));
    let mut bad = good;
    bad[101] ^= 1;
    assert!(!bench.reads(&bad, Check::Write(1)));
}

#[test]
fn a_failure_says_where_and_what_and_hands_out_both_blocks() {
    let dumped = |plan: &mut WorkerPlan| {
        plan.verify.as_mut().expect("it is there").dump = true;
    };
    let mut bench = Bench::new(Checksum::Crc32c, dumped);
    let good = bench.write(3);
    let mut bad = good.clone();
    bad[512 + 300] ^= 1;
    bad[1536 + 300] ^= 1;
    assert!(!bench.reads(&bad, Check::Write(3)));
    assert_eq!((bench.result.requests, bench.result.failed), (1, 1));
    let [first, second] = &bench.result.mismatches[..] else {
        panic!("two blocks are bad");
    };
    assert_eq!(first.offset_bytes, (1 << 33) + 512);
    assert_eq!(second.offset_bytes, (1 << 33) + 1536);
    assert_eq!(
        (first.length_bytes, first.request_length_bytes),
        (512, 2048)
    );
    assert_eq!(
        first.received.as_ref().map(|bytes| &bytes.0[..]),
        Some(&bad[512..1024])
    );
    assert_eq!(
        first.written.as_ref().map(|bytes| &bytes.0[..]),
        Some(&good[512..1024])
    );
    let text = bench.result.error("job").expect("there is a mismatch");
    assert!(text.contains("offset 8589935104, length 512"), "{text}");
}

#[test]
fn a_trimmed_block_must_be_zeroes() {
    let dumped = |plan: &mut WorkerPlan| {
        plan.verify.as_mut().expect("it is there").dump = true;
    };
    let mut bench = Bench::new(Checksum::Crc32c, dumped);
    let mut block = vec![0; BYTES];
    assert!(bench.reads(&block, Check::Trimmed));
    block[BYTES - 1] = 7;
    assert!(!bench.reads(&block, Check::Trimmed));
    assert_eq!((bench.result.requests, bench.result.failed), (2, 1));
    let mismatch = &bench.result.mismatches[0];
    assert_eq!(
        (&*mismatch.field, &*mismatch.expected, &*mismatch.actual),
        ("trimmed block", "zeroes", "0x07 at byte 2047")
    );
    assert!(mismatch.received.is_none() && mismatch.written.is_none());
}

#[test]
fn fatal_stops_at_the_first_bad_block_of_a_request() {
    let fatal = |plan: &mut WorkerPlan| {
        plan.verify.as_mut().expect("it is there").fatal = true;
    };
    let mut bench = Bench::new(Checksum::Crc32c, fatal);
    assert!(!bench.reads(&[0; BYTES], Check::Write(3)));
    assert_eq!(bench.result.mismatches.len(), 1);
}

#[test]
fn null_makes_and_checks_nothing() {
    let mut plan = testing::plan(Rw::Write);
    plan.verify = Some(testing::verify(Checksum::Null, INTERVAL));
    assert!(Verifier::new(&plan, BYTES).is_none());
}

#[test]
fn checksums_are_named_as_numbers() {
    assert_eq!(super::digits(&[0x78, 0x56, 0x34, 0x12]), "0x12345678");
    assert_eq!(
        super::digits(&[1, 2, 3, 4, 5, 6, 7, 8, 9]),
        "010203040506070809"
    );
}
