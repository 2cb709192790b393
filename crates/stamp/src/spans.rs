//! When the writes began and ended whose stamps are on a target: one more pass over the log, which keeps only these.

use std::collections::HashMap;

use crate::block::{Block, Sector};
use crate::log::Record;

/// What the log says of one write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    /// The file.
    pub file: u16,
    /// Where it writes.
    pub offset_bytes: u64,
    /// How much.
    pub length_bytes: u32,
    /// The position of its record.
    pub begin: u64,
    /// The position at which it completed or failed; `None`: it was in flight.
    pub end: Option<u64>,
    /// Whether it failed, or its time was over.
    pub failed: bool,
}

impl Span {
    /// Whether it writes to this byte of the file.
    pub fn covers(&self, address_bytes: u64) -> bool {
        let beyond = address_bytes.checked_sub(self.offset_bytes);
        beyond.is_some_and(|beyond| beyond < u64::from(self.length_bytes))
    }

    /// Whether it ended before the record at a position.
    pub fn ended_before(&self, position: u64) -> bool {
        self.end.is_some_and(|end| end < position)
    }
}

/// What the log says of the writes whose stamps are on a target.
#[derive(Debug, Default)]
pub struct Spans {
    wanted: HashMap<u64, Option<Span>>,
}

impl Spans {
    /// Notes the writes of a block.
    pub fn want(&mut self, block: &Block) {
        for sector in block.kinds() {
            if let Sector::Version { sequence, .. } | Sector::Elsewhere { sequence, .. } = *sector {
                self.wanted.entry(sequence).or_default();
            }
        }
    }

    /// Takes the next record, from its position in the log.
    pub fn record(&mut self, position: u64, record: Record) {
        match record {
            Record::Write {
                sequence,
                file,
                offset_bytes,
                length_bytes,
                ..
            } => {
                if let Some(span) = self.wanted.get_mut(&sequence) {
                    *span = Some(Span {
                        file,
                        offset_bytes,
                        length_bytes,
                        begin: position,
                        end: None,
                        failed: false,
                    });
                }
            }
            Record::Written { sequence } => self.end(sequence, position, false),
            Record::Failed { sequence } => self.end(sequence, position, true),
            Record::Flush { .. } | Record::Flushed { .. } => {}
        }
    }

    fn end(&mut self, sequence: u64, position: u64, failed: bool) {
        if let Some(Some(span)) = self.wanted.get_mut(&sequence) {
            span.end = Some(position);
            span.failed = failed;
        }
    }

    /// Returns what the log says of a write; `None` if it has no such write.
    pub fn get(&self, sequence: u64) -> Option<Span> {
        self.wanted.get(&sequence).copied().flatten()
    }
}
