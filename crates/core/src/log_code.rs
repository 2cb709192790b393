//! Delta-codes log records: predicts each field from the previous record and stores only the differences.
//!
//! A record is two bytes of flags, one flag for each field that differs from its prediction, followed by these fields,
//! each as a variable-length difference. Requests that share a submission cost little more than their offset: 6 bytes
//! on the null engine, 11 to 15 on a drive, instead of 72. The code is lossless for any records.
//!
//! Spills hold this code. A change to it must raise `CODE_VERSION` in `python/iogauge/execution/log/spill.py`.

use crate::log_record::LogRecord;

const STAGE: usize = 0;
const ROW: usize = 1;
const WORKER: usize = 2;
const TARGET: usize = 3;
const DIRECTION: usize = 4;
const RAMP: usize = 5;
const LENGTH: usize = 6;
const RESULT: usize = 7;
const OFFSET: usize = 8;
const START: usize = 9;
const ISSUED: usize = 10;
const DONE: usize = 11;
const READY: usize = 12;
const INTENDED: usize = 13;
const PRIORITY: usize = 14;
const FIELDS: usize = 15;

type Fields = [u64; FIELDS];

/// Bits of an offset below its sector.
const SECTOR: u32 = 9;

/// The bytes are not encoded records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Damaged;

/// Returns the fewest bytes that `records` records can take: flags alone.
pub const fn shortest(records: usize) -> usize {
    records * 2
}

/// Returns the most bytes that `records` records can take.
pub const fn longest(records: usize) -> usize {
    records * (2 + FIELDS * 10)
}

/// Appends `records` to `bytes`, as one piece that is decoded together.
pub fn encode(records: &[LogRecord], bytes: &mut Vec<u8>) {
    bytes.reserve(records.len() * 16);
    let mut before = [0; FIELDS];
    for record in records {
        let now = fields(record);
        let mut code = [0; longest(1)];
        let (mut flags, mut end) = (0u16, 2);
        for field in 0..FIELDS {
            let difference = now[field].wrapping_sub(predict(field, &before, &now));
            if difference != 0 {
                flags |= 1 << field;
                end = put(fold(field, difference), &mut code, end);
            }
        }
        code[..2].copy_from_slice(&flags.to_le_bytes());
        bytes.extend_from_slice(&code[..end]);
        before = now;
    }
}

/// Appends the `count` records that `bytes` hold to `records`.
///
/// # Errors
/// If `bytes` are not `count` records that [`encode`] wrote. `records` may then hold some of them.
pub fn decode(mut bytes: &[u8], count: usize, records: &mut Vec<LogRecord>) -> Result<(), Damaged> {
    let mut before = [0; FIELDS];
    for _ in 0..count {
        let (flags, rest) = bytes.split_first_chunk().ok_or(Damaged)?;
        let flags = u16::from_le_bytes(*flags);
        bytes = rest;
        let mut now = [0; FIELDS];
        for field in 0..FIELDS {
            let difference = match flags >> field & 1 {
                0 => 0,
                _ => unfold(field, take(&mut bytes)?),
            };
            now[field] = predict(field, &before, &now).wrapping_add(difference);
        }
        records.push(record(&now));
        before = now;
    }
    if bytes.is_empty() {
        Ok(())
    } else {
        Err(Damaged)
    }
}

/// Predicts a field from the record before and the fields before it.
#[inline(always)]
fn predict(field: usize, before: &Fields, now: &Fields) -> u64 {
    // The same distance from another instant as in the record before.
    let since = |field: usize, other: usize| {
        now[other].wrapping_add(before[field].wrapping_sub(before[other]))
    };
    match field {
        RESULT => now[LENGTH],
        OFFSET => before[OFFSET].wrapping_add(before[LENGTH]),
        ISSUED if before[ISSUED] == u64::MAX => u64::MAX,
        ISSUED | DONE | READY => since(field, START),
        INTENDED => since(INTENDED, READY),
        _ => before[field],
    }
}

/// Folds a difference (zigzag) into a number that is small if the difference is small, positive or negative. Offsets
/// count in sectors.
#[inline(always)]
fn fold(field: usize, difference: u64) -> u64 {
    let zigzag = |signed: i64| (signed << 1 ^ signed >> 63) as u64;
    if field != OFFSET {
        return zigzag(difference as i64);
    }
    let sectors = zigzag(difference as i64 >> SECTOR) & u64::MAX >> SECTOR;
    sectors | difference << (64 - SECTOR)
}

/// Returns the difference that [`fold`] folded.
#[inline(always)]
fn unfold(field: usize, code: u64) -> u64 {
    let signed = |zigzag: u64| zigzag >> 1 ^ (zigzag & 1).wrapping_neg();
    if field != OFFSET {
        return signed(code);
    }
    signed(code & u64::MAX >> SECTOR) << SECTOR | code >> (64 - SECTOR)
}

/// Writes a number seven bits at a time, the lowest first. Returns where it ends.
#[inline(always)]
fn put(mut number: u64, code: &mut [u8; longest(1)], mut at: usize) -> usize {
    while number >= 0x80 {
        code[at] = number as u8 | 0x80;
        number >>= 7;
        at += 1;
    }
    code[at] = number as u8;
    at + 1
}

/// Reads what [`put`] wrote.
#[inline(always)]
fn take(bytes: &mut &[u8]) -> Result<u64, Damaged> {
    let mut number = 0;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first().ok_or(Damaged)?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err(Damaged)
}

#[inline(always)]
fn fields(record: &LogRecord) -> Fields {
    let mut fields = [0; FIELDS];
    fields[STAGE] = record.stage.into();
    fields[ROW] = record.row.into();
    fields[WORKER] = record.worker.into();
    fields[TARGET] = record.target.into();
    fields[DIRECTION] = record.direction.into();
    fields[RAMP] = record.ramp.into();
    fields[LENGTH] = record.length_bytes.into();
    fields[RESULT] = record.result as u64;
    fields[OFFSET] = record.offset_bytes;
    fields[START] = record.start_ns;
    fields[ISSUED] = record.issued_ns;
    fields[DONE] = record.done_ns;
    fields[READY] = record.ready_ns;
    fields[INTENDED] = record.intended_ns;
    fields[PRIORITY] = record.priority.into();
    fields
}

#[inline(always)]
fn record(fields: &Fields) -> LogRecord {
    LogRecord {
        stage: fields[STAGE] as u16,
        row: fields[ROW] as u32,
        worker: fields[WORKER] as u32,
        target: fields[TARGET] as u16,
        direction: fields[DIRECTION] as u8,
        ramp: fields[RAMP] as u8,
        length_bytes: fields[LENGTH] as u32,
        result: fields[RESULT] as i32,
        offset_bytes: fields[OFFSET],
        start_ns: fields[START],
        issued_ns: fields[ISSUED],
        done_ns: fields[DONE],
        ready_ns: fields[READY],
        intended_ns: fields[INTENDED],
        priority: fields[PRIORITY] as u16,
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::log_record::bytes_of;

    fn encoded(records: &[LogRecord]) -> Vec<u8> {
        let mut bytes = Vec::new();
        encode(records, &mut bytes);
        bytes
    }

    fn decoded(bytes: &[u8], count: usize) -> Result<Vec<LogRecord>, Damaged> {
        let mut records = Vec::new();
        decode(bytes, count, &mut records).map(|()| records)
    }

    /// Draws records of which every bit is random.
    fn any_records() -> impl Strategy<Value = Vec<LogRecord>> {
        let record = prop::array::uniform9(prop_oneof![any::<u64>(), 0..4u64, Just(u64::MAX)]);
        prop::collection::vec(record, 0..40)
            .prop_map(|words| bytemuck::cast_slice(&words.concat()).to_vec())
    }

    proptest! {
        #[test]
        fn any_records_are_decoded_as_encoded(records in any_records()) {
            let bytes = encoded(&records);
            let lengths = shortest(records.len())..=longest(records.len());
            prop_assert!(lengths.contains(&bytes.len()));
            let back = decoded(&bytes, records.len()).unwrap();
            prop_assert!(bytes_of(&back) == bytes_of(&records));
        }

        #[test]
        fn a_cut_or_extended_encoding_is_detected(records in any_records(), extra: u8, cut: prop::sample::Index) {
            let mut bytes = encoded(&records);
            if !bytes.is_empty() {
                prop_assert!(decoded(&bytes[..cut.index(bytes.len())], records.len()).is_err());
            }
            bytes.push(extra);
            prop_assert!(decoded(&bytes, records.len()).is_err());
        }

        #[test]
        fn decoding_any_bytes_does_not_panic(bytes: Vec<u8>, count in 0..100usize) {
            let _ = decoded(&bytes, count);
        }
    }

    #[test]
    fn requests_of_one_submission_cost_little_more_than_their_offset() {
        let record = |index: u64| LogRecord {
            intended_ns: 1_000_000_000,
            ready_ns: 1_000_000_000,
            start_ns: 1_000_000_040,
            issued_ns: 1_000_000_055,
            done_ns: 1_000_000_130,
            // Anywhere in 64 GiB.
            offset_bytes: (index * 0x9e37_79b9 % (1 << 24)) * 4096,
            length_bytes: 4096,
            result: 4096,
            ..LogRecord::default()
        };
        let records: Vec<_> = (0..1000).map(record).collect();
        let record_bytes = encoded(&records).len() as f64 / 1000.0;
        assert!(record_bytes < 7.0, "{record_bytes}");
    }
}
