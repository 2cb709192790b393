//! Each format by its published layout, in any pieces.

mod common;

use common::{blktrace_record, read};
use iogauge_trace::{Damage, Direction, Kind, Row};
use proptest::prelude::*;

const MSR: &str = r#"{"table": {"separator": ",", "header": false,
    "time": {"column": 1, "unit": 100, "origin": 116444736000000000}, "device": [2, 3], "direction": 4,
    "words": {"Read": "read", "Write": "write"}, "offset": {"column": 5, "unit": 1, "origin": 0},
    "size": {"column": 6, "unit": 1, "origin": 0}, "latency": {"column": 7, "unit": 100, "origin": 0}}}"#;
const NAMED: &str = r#"{"table": {"separator": " ", "header": true,
    "time": {"column": "at", "unit": 1000000000, "origin": 0}, "device": [], "direction": "op",
    "words": {"r": "read", "w": "write", "x": null}, "offset": {"column": "block", "unit": 512, "origin": 0},
    "size": {"column": "blocks", "unit": 512, "origin": 0}, "latency": null}}"#;

const QUEUED: u32 = 1 << 20 | 1;
const COMPLETED: u32 = 1 << 23 | 8;
const READ: u32 = 1 << 16;
const WRITE: u32 = 1 << 17;

fn request(
    time_ns: i64,
    device: u32,
    direction: Direction,
    offset: i64,
    size: i64,
    latency_ns: i64,
) -> Row {
    Row {
        latency_ns,
        ..Row::request(time_ns, device, direction, offset, size)
    }
}

#[test]
fn a_table_without_a_header() {
    let file = b"128166372003061629,hm,1,Read,383496192,32768,413\r\n128166372003061630,hm,0,write,8,512,7";
    let (rows, devices) = read(MSR, file, &[]).unwrap();
    assert_eq!(devices, ["hm-1", "hm-0"]);
    assert_eq!(
        rows,
        [
            request(
                1_172_163_600_306_162_900,
                0,
                Direction::Read,
                383_496_192,
                32_768,
                41_300
            ),
            request(1_172_163_600_306_163_000, 1, Direction::Write, 8, 512, 700),
        ]
    );
}

#[test]
fn a_table_with_a_header_and_words_that_are_left_out() {
    let file = b"  op  block at blocks\nw 8 1.5 2\n\nx 0 0 0\nR 9 2 1 more\n";
    let (rows, devices) = read(NAMED, file, &[]).unwrap();
    assert_eq!(devices, [""]);
    assert_eq!(
        rows,
        [
            request(1_500_000_000, 0, Direction::Write, 4096, 1024, -1),
            request(2_000_000_000, 0, Direction::Read, 4608, 512, -1),
        ]
    );
}

#[test]
fn damage_says_where_and_what() {
    let fails = |format: &str, file: &[u8]| {
        let Damage { place, problem } = read(format, file, &[]).unwrap_err();
        format!("{place}: {problem}")
    };
    let good = "128166372003061629,a,0,Read,0,512,1\n";
    let bad = |line: &str| fails(MSR, format!("{good}{line}\n").as_bytes());
    assert_eq!(
        bad("128166372003061629,a,0,Read,0"),
        "line 2: has 5 columns, not 7"
    );
    assert_eq!(
        bad("128166372003061629,a,0,Seek,0,1,1"),
        "line 2: 'Seek' is no direction that the format knows"
    );
    assert_eq!(
        bad("128166372003061629,a,0,Read,-1,1,1"),
        "line 2: '-1' is no offset"
    );
    assert_eq!(bad("z,a,0,Read,0,1,1"), "line 2: 'z' is no time");
    assert_eq!(
        fails(NAMED, b"op block at"),
        "line 1: names no column 'blocks'"
    );
    assert_eq!(
        fails(NAMED, &[b'x'; 70_000]),
        "line 1: is longer than 64 KiB"
    );
    assert_eq!(
        fails("\"iolog\"", b"fio version 1 iolog\n"),
        "line 1: is not 'fio version 2 iolog' or 'fio version 3 iolog'"
    );
    assert_eq!(
        fails("\"iolog\"", b"fio version 3 iolog\n1 /f seek 0 0\n"),
        "line 2: has an action that fio does not know"
    );
    assert_eq!(
        fails("\"blktrace\"", &[1; 60]),
        "byte 0: 01010101 is not the magic number of blktrace"
    );
    let record = blktrace_record(1, 1, 512, QUEUED | READ, 1, &[]);
    assert_eq!(
        fails("\"blktrace\"", &[&record[..], &record[..47]].concat()),
        "byte 48: the file ends within a record"
    );
    let mut version = record;
    version[0] = 8;
    assert_eq!(
        fails("\"blktrace\"", &version),
        "byte 0: version 8 of blktrace's records is not known"
    );
    assert_eq!(
        fails("\"vscsi\"", &[7; 40]),
        "byte 0: is no record of version 1 or 2 of a vscsi trace"
    );
}

#[test]
fn bad_lines_can_be_counted_instead() {
    let mut parser = iogauge_trace::Parser::new(serde_json::from_str(MSR).unwrap(), true);
    let mut rows = Vec::new();
    parser
        .feed(
            b"nonsense\n128166372003061629,a,0,Read,0,512,1\n128166372003061629,a,0,Read,0,\n",
            &mut rows,
        )
        .unwrap();
    assert_eq!((rows.len(), parser.skipped()), (1, 2));
}

#[test]
fn iologs_of_both_versions() {
    let third = b"fio version 3 iolog\n0 /f add\n1 /f open\n5 /f read 4096 8192\n7 /g sync 0 0\n9 /f close\n";
    let (rows, devices) = read("\"iolog\"", third, &[]).unwrap();
    assert_eq!(devices, ["/f", "/g"]);
    let expected = [
        request(5_000, 0, Direction::Read, 4096, 8192, -1),
        request(7_000, 1, Direction::Sync, 0, 0, -1),
    ];
    assert_eq!(rows, expected);
    let second = b"fio version 2 iolog\n/f add\n/f write 0 512\n/f wait 20 0\n/f trim 512 512\n/f wait 10 0\n/f read 0 1\n";
    let (rows, _) = read("\"iolog\"", second, &[]).unwrap();
    let times: Vec<i64> = rows.iter().map(|row| row.time_ns).collect();
    assert_eq!(times, [0, 20_000_000, 20_000_000]);
}

#[test]
fn blktrace_of_either_byte_order() {
    let flush = 1 << 18;
    let records = [
        blktrace_record(10, 8, 4096, QUEUED | READ, 8 << 20 | 1, &[]),
        blktrace_record(11, 8, 4096, 1 << 22 | 7 | READ, 8 << 20 | 1, b"added"), // issued
        blktrace_record(12, 0, 0, 1 << 26 | 1, 0, b"a message"),
        blktrace_record(13, u64::MAX, 0, QUEUED | WRITE | flush, 8 << 20 | 1, &[]),
        blktrace_record(14, 16, 512, QUEUED | WRITE | flush, 8 << 20 | 1, &[]),
        blktrace_record(15, 32, 512, QUEUED | WRITE | 1 << 29, 8 << 20 | 1, &[]),
        blktrace_record(16, 0, 36, QUEUED | READ | 1 << 25, 8 << 20 | 1, &[]), // passed through
        blktrace_record(20, 8, 4096, COMPLETED | READ, 8 << 20 | 1, &[]),
    ];
    let (rows, devices) = read("\"blktrace\"", &records.concat(), &[]).unwrap();
    assert_eq!(devices, ["8:1"]);
    let begin = Kind::Begin as u8;
    let expected = [
        (10, 4096, 4096, Direction::Read, begin),
        (13, 0, 0, Direction::Sync, begin),
        (14, 8192, 512, Direction::Write, begin),
        (15, 16_384, 512, Direction::Trim, begin),
        (20, 4096, 4096, Direction::Read, Kind::End as u8),
    ];
    let expected = expected.map(|(time, offset, size, direction, kind)| Row {
        kind,
        ..request(time, 0, direction, offset, size, -1)
    });
    assert_eq!(rows, expected);
    let widths = [4, 4, 8, 8, 4, 4, 4, 4, 4, 2, 2];
    let swapped = records.map(|record| {
        let (head, added) = record.split_at(48);
        let mut rest = head;
        let mut turned = Vec::new();
        for width in widths {
            turned.extend(rest[..width].iter().rev());
            rest = &rest[width..];
        }
        [&turned[..], added].concat()
    });
    assert_eq!(
        read("\"blktrace\"", &swapped.concat(), &[]).unwrap().0,
        expected
    );
}

fn vscsi_record(
    version: u8,
    command: u8,
    block: u64,
    size: u32,
    time_us: u64,
    took_us: u64,
) -> Vec<u8> {
    let mut record = Vec::new();
    let named = [u16::from(command), u16::from(version) << 8]
        .map(u16::to_le_bytes)
        .concat();
    if version == 2 {
        record.extend(&named);
    }
    record.extend(9u32.to_le_bytes()); // serial number
    record.extend(size.to_le_bytes());
    record.extend(1u32.to_le_bytes()); // pieces of memory
    if version == 1 {
        record.extend(&named);
    }
    record.extend(block.to_le_bytes());
    record.extend(time_us.to_le_bytes());
    if version == 2 {
        record.extend(took_us.to_le_bytes());
    }
    record
}

#[test]
fn vscsi_of_both_versions() {
    for version in [1, 2] {
        let records = [
            vscsi_record(version, 0x28, 8, 4096, 100, 5),
            vscsi_record(version, 0x42, 0, 24, 101, 5),
            vscsi_record(version, 0x8a, 16, 512, 102, 6),
        ];
        let (rows, _) = read("\"vscsi\"", &records.concat(), &[]).unwrap();
        let latency = |us: i64| if version == 2 { us * 1000 } else { -1 };
        let expected = [
            request(100_000, 0, Direction::Read, 4096, 4096, latency(5)),
            request(102_000, 0, Direction::Write, 8192, 512, latency(6)),
        ];
        assert_eq!(rows, expected, "version {version}");
    }
}

proptest! {
    #[test]
    fn pieces_do_not_matter(
        requests in prop::collection::vec((0u64..1 << 40, 0u64..1 << 30, 1u32..1 << 20, any::<bool>()), 1..40),
        pieces in prop::collection::vec(1usize..100, 1..8),
    ) {
        let mut files = vec![
            (MSR, Vec::new()),
            ("\"iolog\"", b"fio version 3 iolog\n".to_vec()),
            ("\"blktrace\"", Vec::new()),
            ("\"vscsi\"", Vec::new()),
        ];
        for (time, block, size, write) in &requests {
            let word = if *write { "Write" } else { "Read" };
            let ticks = 116_444_736_000_000_000 + time;
            files[0].1.extend(format!("{ticks},h,{},{word},{block},{size},{time}\n", size % 3).into_bytes());
            files[1].1.extend(format!("{time} /f {} {block} {size}\n", word.to_lowercase()).into_bytes());
            let action = if *write { WRITE } else { READ };
            let added = vec![7; (size % 70) as usize];
            files[2].1.extend(blktrace_record(*time, *block, *size, QUEUED | action, size % 3, &added));
            files[3].1.extend(vscsi_record(2, if *write { 0x2a } else { 0x28 }, *block, *size, *time, 1));
        }
        for (format, file) in files {
            let uncut = read(format, &file, &[]).unwrap();
            prop_assert_eq!(uncut.0.len(), requests.len());
            prop_assert_eq!(&read(format, &file, &pieces).unwrap(), &uncut);
        }
    }

    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..400), pieces in prop::collection::vec(1usize..60, 1..4)) {
        for format in [MSR, NAMED, "\"iolog\"", "\"blktrace\"", "\"vscsi\""] {
            let uncut = read(format, &bytes, &[]);
            let cut = read(format, &bytes, &pieces);
            prop_assert_eq!(uncut.is_ok(), cut.is_ok(), "{}", format);
        }
    }
}
