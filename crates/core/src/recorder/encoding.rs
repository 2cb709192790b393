//! Writes and reads histograms as they are stored: HdrHistogram's V2 encoding, in the recorder's layout.
//!
//! They are not compressed: Parquet compresses a column of them better and faster. Older reviews hold compressed ones,
//! which are read, too.
//!
//! Merging a fleet reads millions of them, so a decoder keeps its memory from one to the next. Damaged bytes are an
//! error or another histogram: reading them never panics, and takes no more memory than a full one. An encoding has no
//! checksum of its own; the file that it is in has one. `schema/hdr_histogram.py` describes the encoding, and reads any
//! layout.

use zlib_rs::{Inflate, InflateFlush, Status};

use super::histogram::{BUCKETS, HIGHEST_NS, Merged};

const STREAM_HEADER: usize = 8;
const COUNTS_HEADER: usize = 40;
const STREAM_COOKIE: u32 = 0x1C84_9304;
const COUNTS_COOKIE: u32 = 0x1C84_9303;
/// What encoders set in both cookies.
const WORD: u32 = 0x10;
/// The bits of both cookies that say nothing to a decoder.
const WORD_BITS: u32 = 0xF0;
const DIGITS: u32 = 3;
const MOST_BYTES: usize = 9;
/// The largest window of a zlib stream.
const WINDOW_BITS: u8 = 15;

/// Why bytes are no histogram of the recorder's, as the end of a sentence about them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unreadable(pub &'static str);

const TOO_MANY: Unreadable = Unreadable("it has too many counts");

impl Merged {
    /// Encodes as HdrHistogram's libraries do, in version 2, uncompressed.
    pub fn encode(&self) -> Vec<u8> {
        encode(&self.counts)
    }
}

/// Encodes buckets that are not empty, in order, with their counts.
fn encode(counts: &[(u32, u64)]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(COUNTS_HEADER + 3 * counts.len());
    for word in [COUNTS_COOKIE | WORD, 0, 0, DIGITS] {
        bytes.extend(word.to_be_bytes());
    }
    bytes.extend(1u64.to_be_bytes());
    bytes.extend(HIGHEST_NS.to_be_bytes());
    bytes.extend(1f64.to_be_bytes());
    let mut next = 0;
    for &(bucket, count) in counts {
        let empty = i64::from(bucket) - next;
        if empty > 0 {
            push_number(-empty, &mut bytes);
        }
        push_number(i64::try_from(count).unwrap_or(i64::MAX), &mut bytes);
        next = i64::from(bucket) + 1;
    }
    let length = (bytes.len() - COUNTS_HEADER) as u32;
    bytes[4..8].copy_from_slice(&length.to_be_bytes());
    bytes
}

/// Appends a number as ZigZag LEB128, the form that `number` takes.
fn push_number(number: i64, bytes: &mut Vec<u8>) {
    let mut zigzag = (number << 1 ^ number >> 63) as u64;
    for _ in 1..MOST_BYTES {
        if zigzag < 0x80 {
            break;
        }
        bytes.push(zigzag as u8 | 0x80);
        zigzag >>= 7;
    }
    bytes.push(zigzag as u8);
}

/// Decodes one histogram after the other.
pub struct Decoder {
    inflate: Inflate,
    /// Room for a histogram that was compressed.
    raw: Box<[u8]>,
    /// Room for the buckets of a histogram with their counts.
    buckets: Box<[(u32, u64)]>,
}

impl Default for Decoder {
    fn default() -> Self {
        Self {
            inflate: Inflate::new(true, WINDOW_BITS),
            // One byte more than any histogram has shows that a stream is too long.
            raw: vec![0; COUNTS_HEADER + MOST_BYTES * BUCKETS + 1].into_boxed_slice(),
            buckets: vec![(0, 0); BUCKETS + 1].into_boxed_slice(),
        }
    }
}

impl Decoder {
    /// Appends the buckets that are not empty, in order, with their counts.
    pub fn decode(&mut self, data: &[u8], counts: &mut Vec<(u32, u64)>) -> Result<(), Unreadable> {
        let compressed = data.len() >= STREAM_HEADER && be32(data, 0) & !WORD_BITS == STREAM_COOKIE;
        let encoded = if compressed {
            let size = self.inflate(data)?;
            &self.raw[..size]
        } else {
            data
        };
        let (header, mut rest) = encoded
            .split_at_checked(COUNTS_HEADER)
            .ok_or(Unreadable("it ends within its header"))?;
        if be32(header, 0) & !WORD_BITS != COUNTS_COOKIE || be32(header, 8) != 0 {
            return Err(Unreadable("its counts are not encoded as in version 2"));
        }
        if be32(header, 4) as usize != rest.len() {
            return Err(Unreadable("its counts do not have their length"));
        }
        let bounds = (be32(header, 12), be64(header, 16), be64(header, 24));
        if bounds != (DIGITS, 1, HIGHEST_NS) {
            return Err(Unreadable("its buckets are not the recorder's"));
        }
        // Whether a number is a count or empty buckets is as good as random, so that a branch would often be mispredicted:
        // each number is written as a count, and the next one takes its place unless it is one.
        let (mut bucket, mut kept) = (0u64, 0);
        while !rest.is_empty() {
            let number = number(&mut rest)?;
            bucket = bucket.saturating_add(number.min(-1).unsigned_abs());
            let place = self.buckets.get_mut(kept).ok_or(TOO_MANY)?;
            *place = ((bucket as u32).wrapping_sub(1), number as u64);
            kept += usize::from(number > 0);
        }
        if bucket > BUCKETS as u64 {
            return Err(TOO_MANY);
        }
        counts.extend_from_slice(&self.buckets[..kept]);
        Ok(())
    }

    /// Inflates the zlib stream, which is all that follows the first header, and returns the size of its content.
    fn inflate(&mut self, data: &[u8]) -> Result<usize, Unreadable> {
        let (header, stream) = data.split_at(STREAM_HEADER);
        if be32(header, 4) as usize != stream.len() {
            return Err(Unreadable("it does not have its length"));
        }
        self.inflate.reset(true);
        match self
            .inflate
            .decompress(stream, &mut self.raw, InflateFlush::Finish)
        {
            Ok(Status::StreamEnd) if self.inflate.total_in() == stream.len() as u64 => {
                Ok(self.inflate.total_out() as usize)
            }
            _ => Err(Unreadable("its compressed stream is damaged")),
        }
    }
}

/// Takes a ZigZag LEB128 number: up to nine bytes, of which the ninth has eight bits of the number.
#[inline]
fn number(rest: &mut &[u8]) -> Result<i64, Unreadable> {
    match *rest {
        // Nearly all numbers have one byte.
        [byte @ 0..0x80, after @ ..] => {
            *rest = after;
            Ok(from_zigzag(u64::from(*byte)))
        }
        _ => long_number(rest),
    }
}

fn long_number(rest: &mut &[u8]) -> Result<i64, Unreadable> {
    let mut zigzag = 0u64;
    for place in 0..MOST_BYTES {
        let (&byte, after) = rest
            .split_first()
            .ok_or(Unreadable("its last count is cut off"))?;
        *rest = after;
        let last = place == MOST_BYTES - 1;
        let bits = if last { byte } else { byte & 0x7F };
        zigzag |= u64::from(bits) << (7 * place);
        if last || byte < 0x80 {
            break;
        }
    }
    Ok(from_zigzag(zigzag))
}

fn from_zigzag(zigzag: u64) -> i64 {
    (zigzag >> 1) as i64 ^ -((zigzag & 1) as i64)
}

/// The number at `place` of a header, whose length the caller has checked.
fn be32(header: &[u8], place: usize) -> u32 {
    header[place..place + 4]
        .iter()
        .fold(0, |number, &byte| number << 8 | u32::from(byte))
}

fn be64(header: &[u8], place: usize) -> u64 {
    u64::from(be32(header, place)) << 32 | u64::from(be32(header, place + 4))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::recorder::Histogram;
    use hdrhistogram::serialization::{Serializer, V2DeflateSerializer, V2Serializer};
    use proptest::prelude::*;

    fn encoded(values: &[(u64, u32)]) -> (Vec<u8>, Vec<(u32, u64)>) {
        let mut histogram = Histogram::new();
        for &(value, times) in values {
            histogram.record(value, times);
        }
        let mut merged = Merged::default();
        merged.add(&histogram);
        let counts = histogram
            .nonzero()
            .map(|(bucket, count)| (bucket as u32, count))
            .collect();
        (merged.encode(), counts)
    }

    /// What the `hdrhistogram` crate makes of values.
    fn peer(values: &[(u64, u32)], serializer: &mut impl Serializer) -> Vec<u8> {
        let mut histogram =
            hdrhistogram::Histogram::<u64>::new_with_bounds(1, HIGHEST_NS, 3).unwrap();
        for &(value, times) in values {
            histogram
                .record_n(value.min(HIGHEST_NS), times.into())
                .unwrap();
        }
        let mut bytes = Vec::new();
        serializer.serialize(&histogram, &mut bytes).unwrap();
        bytes
    }

    proptest! {
        // The crate writes a zero for no values.
        #[test]
        fn encodings_are_the_peers(values in prop::collection::vec((any::<u64>(), 1..1_000_000u32), 1..200)) {
            prop_assert_eq!(encoded(&values).0, peer(&values, &mut V2Serializer::new()));
        }

        #[test]
        fn what_was_encoded_is_decoded(values in prop::collection::vec((any::<u64>(), 1..1_000_000u32), 0..200)) {
            let (bytes, expected) = encoded(&values);
            let compressed = peer(&values, &mut V2DeflateSerializer::new());
            let mut decoder = Decoder::default();
            for bytes in [&bytes, &compressed, &bytes] {
                let mut counts = Vec::new();
                prop_assert_eq!(decoder.decode(bytes, &mut counts), Ok(()));
                prop_assert_eq!(&counts, &expected);
            }
        }

        #[test]
        fn counts_of_any_size_survive(counts in prop::collection::btree_map(0..BUCKETS as u32, 1..=i64::MAX as u64, 0..99)) {
            let counts: Vec<_> = counts.into_iter().collect();
            prop_assert_eq!(decoded(&encode(&counts)), Ok(counts));
        }

        #[test]
        fn what_is_cut_off_is_an_error(
            values in prop::collection::vec((1..HIGHEST_NS, 1..9u32), 1..50),
            end in any::<prop::sample::Index>(),
        ) {
            for bytes in [encoded(&values).0, peer(&values, &mut V2DeflateSerializer::new())] {
                prop_assert!(decoded(&bytes[..end.index(bytes.len())]).is_err());
            }
        }

        #[test]
        fn damage_is_an_error_or_a_histogram(
            values in prop::collection::vec((1..HIGHEST_NS, 1..9u32), 1..50),
            place in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let (mut bytes, _) = encoded(&values);
            let place = place.index(bytes.len());
            bytes[place] = byte;
            if let Ok(counts) = decoded(&bytes) {
                prop_assert!(in_order(&counts));
            }
        }

        #[test]
        fn damage_of_a_stream_is_an_error(
            values in prop::collection::vec((1..HIGHEST_NS, 1..9u32), 1..50),
            place in any::<prop::sample::Index>(),
            byte in any::<u8>(),
        ) {
            let mut bytes = peer(&values, &mut V2DeflateSerializer::new());
            let place = place.index(bytes.len());
            let same = bytes[place] == byte;
            bytes[place] = byte;
            // Only some bits of the cookie mean nothing; the checksum of the stream covers the counts.
            if let Ok(counts) = decoded(&bytes) {
                prop_assert!(same || matches!(place, 3 | 8 | 9));
                prop_assert_eq!(counts, encoded(&values).1);
            }
        }

        #[test]
        fn any_numbers_are_an_error_or_in_order(raw in prop::collection::vec(any::<u8>(), 0..300)) {
            if let Ok(counts) = decoded(&with_counts(&raw, HIGHEST_NS)) {
                prop_assert!(in_order(&counts));
            }
        }
    }

    fn in_order(counts: &[(u32, u64)]) -> bool {
        counts.windows(2).all(|pair| pair[0].0 < pair[1].0)
            && counts
                .iter()
                .all(|&(bucket, count)| (bucket as usize) < BUCKETS && count > 0)
    }

    /// A histogram with these bytes of counts.
    fn with_counts(raw: &[u8], highest: u64) -> Vec<u8> {
        let mut bytes = encode(&[]);
        bytes[4..8].copy_from_slice(&(raw.len() as u32).to_be_bytes());
        bytes[24..32].copy_from_slice(&highest.to_be_bytes());
        bytes.extend(raw);
        bytes
    }

    fn compressed(content: &[u8]) -> Vec<u8> {
        let mut zlib = vec![0; 2 * content.len() + 100];
        let mut deflate = zlib_rs::Deflate::new(1, true, WINDOW_BITS);
        deflate
            .compress(content, &mut zlib, zlib_rs::DeflateFlush::Finish)
            .unwrap();
        zlib.truncate(deflate.total_out() as usize);
        let mut bytes = (STREAM_COOKIE | WORD).to_be_bytes().to_vec();
        bytes.extend((zlib.len() as u32).to_be_bytes());
        bytes.extend(zlib);
        bytes
    }

    fn decoded(bytes: &[u8]) -> Result<Vec<(u32, u64)>, Unreadable> {
        let mut counts = Vec::new();
        Decoder::default()
            .decode(bytes, &mut counts)
            .map(|()| counts)
    }

    #[test]
    fn the_longest_numbers() {
        let most = [0xFE, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF];
        let least = [0xFF; 9];
        assert_eq!(
            decoded(&with_counts(&most, HIGHEST_NS)),
            Ok(vec![(0, i64::MAX as u64)])
        );
        assert_eq!(
            decoded(&with_counts(&least, HIGHEST_NS)),
            Err(Unreadable("it has too many counts"))
        );
        assert_eq!(
            decoded(&with_counts(&most[..8], HIGHEST_NS)),
            Err(Unreadable("its last count is cut off"))
        );
    }

    #[test]
    fn other_layouts_and_lengths_are_refused() {
        assert_eq!(
            decoded(&with_counts(&[2], HIGHEST_NS - 1)),
            Err(Unreadable("its buckets are not the recorder's"))
        );
        let mut long = with_counts(&[2], HIGHEST_NS);
        long.push(0);
        assert_eq!(
            decoded(&long),
            Err(Unreadable("its counts do not have their length"))
        );
        assert_eq!(
            decoded(&with_counts(&vec![0; BUCKETS + 1], HIGHEST_NS)),
            Err(Unreadable("it has too many counts"))
        );
        assert_eq!(
            decoded(&with_counts(&vec![0; BUCKETS], HIGHEST_NS)),
            Ok(vec![])
        );
    }

    #[test]
    fn longer_streams_are_refused() {
        let mut long = compressed(&with_counts(&[2], HIGHEST_NS));
        long.push(0);
        assert_eq!(
            decoded(&long),
            Err(Unreadable("it does not have its length"))
        );
        long[7] += 1;
        assert_eq!(
            decoded(&long),
            Err(Unreadable("its compressed stream is damaged"))
        );
        assert_eq!(
            decoded(&compressed(&with_counts(
                &vec![0; 10 * BUCKETS],
                HIGHEST_NS
            ))),
            Err(Unreadable("its compressed stream is damaged"))
        );
    }
}
