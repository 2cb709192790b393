//! Judges what stamped writes left on a target: bytes of the log and the target in, verdicts out.

use std::collections::BTreeMap;

use iogauge_stamp::{
    Block, Class, Header, History, Judge, LogReader, Record, Sector, Spans, Surviving,
};
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde::Serialize;

use crate::{CoreError, to_json};

/// A judge of a part of a target. It gets the log, then what was written of the target, then the log again.
#[pyclass(module = "iogauge._core")]
pub(crate) struct StampJudge {
    surviving: Surviving,
    file: u16,
    window: std::ops::Range<u64>,
    first: LogReader,
    second: LogReader,
    history: Option<History>,
    records: u64,
    spans: Spans,
    blocks: BTreeMap<u64, Block>,
}

/// What is to be said of a block.
#[derive(Serialize)]
struct BlockVerdict {
    offset_bytes: u64,
    kind: &'static str,
    /// The sector that decided.
    sector_bytes: u64,
    /// The write that it holds; `None`: none of this run's.
    sequence: Option<u64>,
    /// How often its block had been written with it.
    generation: Option<u32>,
    /// Where a misdirected write belongs.
    belongs_bytes: Option<u64>,
    /// How often the block was written.
    writes: u64,
}

/// What is to be said of all blocks.
#[derive(Serialize)]
struct Window {
    /// Blocks by class.
    counts: BTreeMap<&'static str, u64>,
    /// The blocks that violate or cannot be judged, the first ones.
    blocks: Vec<BlockVerdict>,
}

#[pymethods]
impl StampJudge {
    /// `after_crash`: whether only what was flushed had to survive. `file`: its number in the log. The bytes of the
    /// target from `start_bytes` to `end_bytes` are judged.
    #[new]
    fn new(after_crash: bool, file: u16, start_bytes: u64, end_bytes: u64) -> Self {
        Self {
            surviving: if after_crash {
                Surviving::Flushed
            } else {
                Surviving::Completed
            },
            file,
            window: start_bytes..end_bytes,
            first: LogReader::default(),
            second: LogReader::default(),
            history: None,
            records: 0,
            spans: Spans::default(),
            blocks: BTreeMap::new(),
        }
    }

    /// Reads a piece of the log.
    fn log(&mut self, py: Python<'_>, piece: &[u8]) -> PyResult<()> {
        py.detach(|| {
            let mut records = Vec::new();
            feed(&mut self.first, piece, &mut records)?;
            let Some(header) = self.first.header() else {
                return Ok(());
            };
            self.records += records.len() as u64;
            let (surviving, file) = (self.surviving, self.file);
            let window = self.window.clone();
            let history = self
                .history
                .get_or_insert_with(|| History::new(surviving, file, header.block_bytes, window));
            for (position, record) in records {
                history.record(position, record);
            }
            Ok(())
        })
    }

    /// Returns (run, bytes of a block, records, whether the end is cut off), once the log was read.
    fn header(&self) -> PyResult<(u64, u32, u64, bool)> {
        let header = self.known_header()?;
        let cut = self.first.is_cut();
        Ok((header.run, header.block_bytes, self.records, cut))
    }

    /// Returns the ranges that were written, in order and apart: offsets of their first bytes and of their ends.
    fn written(&self) -> Vec<(u64, u64)> {
        let ranges = self.history.iter().flat_map(History::written);
        ranges.map(|range| (range.start, range.end)).collect()
    }

    /// Takes whole blocks of the target.
    fn content(&mut self, py: Python<'_>, offset_bytes: u64, piece: &[u8]) -> PyResult<()> {
        let header = self.known_header()?;
        let size = header.block_bytes as usize;
        if !piece.len().is_multiple_of(size) {
            return Err(PyValueError::new_err("not whole blocks"));
        }
        py.detach(|| {
            let offsets = (offset_bytes..).step_by(size);
            for (offset, block) in offsets.zip(piece.chunks_exact(size)) {
                let block = Block::read(block, header.run, self.file.into(), offset);
                self.spans.want(&block);
                self.blocks.insert(offset, block);
            }
        });
        Ok(())
    }

    /// Reads a piece of the log again.
    fn log_again(&mut self, py: Python<'_>, piece: &[u8]) -> PyResult<()> {
        py.detach(|| {
            let mut records = Vec::new();
            feed(&mut self.second, piece, &mut records)?;
            for (position, record) in records {
                self.spans.record(position, record);
            }
            Ok(())
        })
    }

    /// Returns the verdicts as JSON, at most `most` of blocks that violate or cannot be judged. `atomic_bytes`: a power
    /// of two from 512 on.
    fn verdicts(&self, py: Python<'_>, atomic_bytes: u32, most: usize) -> PyResult<String> {
        let header = self.known_header()?;
        let Some(history) = &self.history else {
            return Err(no_header());
        };
        if atomic_bytes < 512 || !atomic_bytes.is_power_of_two() {
            return Err(PyValueError::new_err("not an atomic unit"));
        }
        let judge = Judge {
            header,
            history,
            spans: &self.spans,
            atomic_bytes,
        };
        let judged = py.detach(|| {
            let mut counts: BTreeMap<_, _> = Class::ALL.map(|class| (class.name(), 0)).into();
            let mut blocks = Vec::new();
            for (offset_bytes, verdict) in judge.judge(&self.blocks) {
                *counts.entry(verdict.class.name()).or_default() += 1;
                if blocks.len() < most && verdict.class <= Class::Unlogged {
                    let (sequence, generation, belongs_bytes) = match verdict.sector {
                        Sector::Version {
                            sequence,
                            generation,
                        } => (Some(sequence), Some(generation), None),
                        Sector::Elsewhere {
                            sequence,
                            address_bytes,
                            ..
                        } => (Some(sequence), None, Some(address_bytes)),
                        Sector::Blank | Sector::Foreign | Sector::Damaged => (None, None, None),
                    };
                    blocks.push(BlockVerdict {
                        offset_bytes,
                        kind: verdict.class.name(),
                        sector_bytes: verdict.address_bytes,
                        sequence,
                        generation,
                        belongs_bytes,
                        writes: verdict.writes,
                    });
                }
            }
            Window { counts, blocks }
        });
        to_json(&judged)
    }
}

impl StampJudge {
    fn known_header(&self) -> PyResult<Header> {
        self.first.header().ok_or_else(no_header)
    }
}

fn no_header() -> PyErr {
    CoreError::new_err(("not a stamp log", None::<String>))
}

fn feed(reader: &mut LogReader, bytes: &[u8], records: &mut Vec<(u64, Record)>) -> PyResult<()> {
    let fed = reader.feed(bytes, |position, record| records.push((position, record)));
    fed.map_err(|error| CoreError::new_err((error.to_string(), None::<String>)))
}
