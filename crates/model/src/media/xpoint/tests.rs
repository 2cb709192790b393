//! Compares the drive with times computed by hand.

use iogauge_core::{Kind, Nanos};
use proptest::prelude::*;

use super::{RefreshSpec, Xpoint, XpointSpec};
use crate::drive::{Access, Drive};
use crate::link::{Link, LinkSpec};
use crate::media::placement::striped;
use crate::stalls::StallSpec;

/// Creates a drive without noise and with round numbers.
pub(crate) fn plain() -> XpointSpec {
    XpointSpec {
        read_chunk_ns: 1_600.0,
        read_next_chunk_ns: 1_600.0,
        write_chunk_ns: 2_000.0,
        write_next_chunk_ns: 2_000.0,
        misaligned_chunk_ns: 0.0,
        turnaround_ns: 500.0,
        channels: 7,
        read_media_ns: 4_000.0,
        write_media_ns: 5_000.0,
        latency_ns: 1_000.0,
        jitter_ns: 0.0,
        read_stalls: Vec::new(),
        write_stalls: Vec::new(),
        command_ns: 300.0,
        refresh: None,
    }
}

/// Returns a link of 1000 ns for 4 KiB.
pub(crate) fn link() -> Link {
    let lane = 8e9 * 128.0 / 130.0 / 8.0;
    Link::new(&LinkSpec::Pcie {
        generation: 3,
        lanes: 5,
        efficiency: 4.096e9 / lane / 5.0,
        switch_ns: 0.0,
    })
}

/// Returns how long each of several simultaneous requests takes, in the order of their submission.
fn at_once(spec: XpointSpec, requests: &[(Kind, u64, u32)]) -> Vec<Nanos> {
    let mut drive = Xpoint::new(spec, link(), 1);
    let mut submit = |&(kind, offset_bytes, length_bytes): &(Kind, u64, u32)| {
        let access = Access {
            ticket: 0,
            kind,
            offset_bytes,
            length_bytes,
            durable: false,
        };
        drive.submit(0, access).unwrap()
    };
    requests.iter().map(&mut submit).collect()
}

fn alone(request: (Kind, u64, u32)) -> Nanos {
    at_once(plain(), &[request])[0]
}

#[test]
fn a_large_read_leaves_chunk_by_chunk() {
    // The link carries a chunk while the pipe reads the next, so only the last chunk's transfer adds to the pipe's
    // time.
    let read = (Kind::Read, 0, 131_072);
    assert_eq!(alone(read), 32 * 1_600 + 5_000 + 1_000);
    // If the pipe is faster, the link decides, from the arrival of the first chunk on.
    let quick = XpointSpec {
        read_next_chunk_ns: 100.0,
        read_media_ns: 400.0,
        ..plain()
    };
    let expected = 1_600 + 400 + 32 * 1_000 + 1_000;
    assert_eq!(at_once(quick, &[read])[0], expected);
}

#[test]
fn a_read_that_waits_for_its_channel_delays_no_other() {
    let read = |chunk: u64| (Kind::Read, chunk * 4096, 4096);
    let waits = at_once(plain(), &[read(0), read(0), read(1)]);
    // The channel begins the second read where the first ends. The third returns before it.
    assert_eq!(waits, [7_600, 11_600, 2 * 1_600 + 7_600]);
}

#[test]
fn chunks_on_one_channel_wait_for_each_other() {
    let read = |chunk: u64| (Kind::Read, chunk * 4096, 4096);
    let same = |chunk: &u64| striped(*chunk, 7) == striped(0, 7);
    let there: Vec<_> = (0..100).filter(same).take(3).map(read).collect();
    assert_eq!(at_once(plain(), &there), [7_600, 11_600, 15_600]);
    // Eight neighbours are on seven channels: the last waits for none of them, because its channel is free by then.
    let neighbours: Vec<_> = (0..8).map(read).collect();
    let expected: Vec<_> = (0..8).map(|place| 7_600 + place * 1_600).collect();
    assert_eq!(at_once(plain(), &neighbours), expected);
}

#[test]
fn one_request_takes_pipe_channel_link_and_latency() {
    // The link takes 1000 ns for 4 KiB.
    assert_eq!(alone((Kind::Read, 0, 4096)), 1_600 + 5_000 + 1_000);
    // The first write turns the pipe around.
    assert_eq!(alone((Kind::Write, 0, 4096)), 1_000 + 500 + 2_000 + 6_000);
    assert_eq!(alone((Kind::Sync, 0, 0)), 300);
}

#[test]
fn parts_of_chunks_cost_more() {
    // Half a chunk takes the media as long as an entire one; the link carries half.
    assert_eq!(alone((Kind::Read, 0, 2048)), 1_600 + 5_000 + 500);
    // A misaligned read touches two chunks.
    assert_eq!(alone((Kind::Read, 512, 4096)), 2 * 1_600 + 5_000 + 1_000);
    // A part of a chunk is read before it is written: here one chunk, and the two ends of a request.
    let write = |chunks: u64, parts: u64, link: u64| {
        // The channels work at the same time, so that the last chunk's time counts.
        link + 500 + chunks * 2_000 + parts * 1_600 + parts.min(1) * 4_000 + 6_000
    };
    assert_eq!(alone((Kind::Write, 512, 512)), write(1, 1, 125));
    assert_eq!(alone((Kind::Write, 0, 512)), write(1, 1, 125));
    assert_eq!(alone((Kind::Write, 512, 4096)), write(2, 2, 1_000));
    assert_eq!(alone((Kind::Write, 512, 3584)), write(1, 1, 875));
    // The pipe begins with the first chunk; the second arrives while it works.
    assert_eq!(alone((Kind::Write, 0, 8192)), write(2, 0, 1_000));
}

#[test]
fn the_pipe_serves_one_after_the_other_and_turns_around_once() {
    let read = |chunk: u64| (Kind::Read, chunk * 4096, 4096);
    let waited = at_once(plain(), &[read(0), read(1), read(2)]);
    assert_eq!(waited, [7_600, 9_200, 10_800]);
    let mixed = at_once(plain(), &[read(0), (Kind::Write, 4096, 4096), read(2)]);
    assert_eq!(mixed[2], 1_600 + 500 + 2_000 + 500 + 1_600 + 5_000 + 1_000);
}

#[test]
fn a_stall_holds_up_its_channel_alone() {
    let spec = XpointSpec {
        read_stalls: vec![StallSpec {
            every_services: 400.0,
            mean_ns: 100_000.0,
            spread: 0.0,
        }],
        ..plain()
    };
    let reads: Vec<_> = (0..1_000)
        .map(|chunk| (Kind::Read, chunk * 4096, 4096))
        .collect();
    let (calm, stalled) = (at_once(plain(), &reads), at_once(spec, &reads));
    let late = |chunk: usize| stalled[chunk] - calm[chunk];
    let first = (0..1_000).find(|&chunk| late(chunk) > 0).unwrap();
    assert_eq!(late(first), 100_000);
    // Of the reads that follow, those of its channel wait, and no other.
    let channel = |chunk: usize| striped(chunk as u64, 7);
    for chunk in first + 1..first + 28 {
        assert_eq!(late(chunk) > 0, channel(chunk) == channel(first), "{chunk}");
    }
}

#[test]
fn one_chunk_serves_one_request_at_a_time() {
    let read = (Kind::Read, 0, 4096);
    assert_eq!(at_once(plain(), &[read; 3]), [7_600, 11_600, 15_600]);
}

#[test]
fn a_drive_that_was_without_power_is_slower_for_hours() {
    let refresh = |powered_h| RefreshSpec {
        powered_h,
        lasts_h: 3.0,
        every_ns: 10_000.0,
        piece_ns: 4_000.0,
    };
    let reads: Vec<_> = (0..64)
        .map(|chunk| (Kind::Read, chunk * 4096, 4096))
        .collect();
    let end = |powered_h| {
        let spec = XpointSpec {
            refresh: Some(refresh(powered_h)),
            ..plain()
        };
        *at_once(spec, &reads).last().unwrap() as f64
    };
    let calm = *at_once(plain(), &reads).last().unwrap() as f64;
    assert_eq!(end(3.0), calm);
    // Four of ten microseconds of the pipe are taken.
    let (slowed, pipe) = (end(0.0) - 6_000.0, calm - 6_000.0);
    assert!((pipe / slowed - 0.6).abs() < 0.06, "{slowed} {pipe}");
}

proptest! {
    #[test]
    fn never_faster_than_media_or_link(
        requests in prop::collection::vec((any::<bool>(), 0u64..256, 1u32..64), 1..200),
    ) {
        let requests: Vec<_> = requests
            .into_iter()
            .map(|(read, chunk, chunks)| {
                let kind = if read { Kind::Read } else { Kind::Write };
                (kind, chunk * 4096, chunks * 4096)
            })
            .collect();
        let end = at_once(plain(), &requests).into_iter().max().unwrap() as f64;
        let chunks = |kind| {
            let of_kind = requests.iter().filter(|request| request.0 == kind);
            of_kind.map(|request| f64::from(request.2) / 4096.0).sum::<f64>()
        };
        let (reads, writes) = (chunks(Kind::Read), chunks(Kind::Write));
        prop_assert!(end >= reads * 1_600.0 + writes * 2_000.0);
        prop_assert!(end >= 1_000.0 * reads.max(writes));
    }
}
