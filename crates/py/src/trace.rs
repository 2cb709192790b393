//! Parsers of traces, and what counts their requests.

use std::sync::Mutex;

use iogauge_trace::{Format, Pairing, Parser, Reuse, Row, bytes_of, rows_of};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Reads one file of a trace, piece by piece.
#[pyclass(frozen, module = "iogauge._core")]
pub(crate) struct TraceParser {
    parser: Mutex<Parser>,
}

#[pymethods]
impl TraceParser {
    /// Reads a file of this format, as JSON. `skip_bad`: count bad lines instead of failing.
    #[new]
    fn new(format: &str, skip_bad: bool) -> PyResult<Self> {
        let format: Format = serde_json::from_str(format)
            .map_err(|cause| PyValueError::new_err(format!("format: {cause}")))?;
        Ok(Self {
            parser: Mutex::new(Parser::new(format, skip_bad)),
        })
    }

    /// Returns the rows in the next piece of the file, or, of an empty piece, those at the file's end.
    fn feed<'py>(&self, py: Python<'py>, piece: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let rows = py.detach(|| {
            let mut rows = Vec::new();
            let mut parser = self.parser.lock().map_err(|_| panicked())?;
            let read = if piece.is_empty() {
                parser.end(&mut rows)
            } else {
                parser.feed(piece, &mut rows)
            };
            read.map_err(|damage| PyValueError::new_err((damage.place, damage.problem)))?;
            Ok::<_, PyErr>(rows)
        })?;
        Ok(PyBytes::new(py, bytes_of(&rows)))
    }

    /// Returns the names of the devices so far, by their number.
    fn devices(&self) -> PyResult<Vec<String>> {
        Ok(self
            .parser
            .lock()
            .map_err(|_| panicked())?
            .devices()
            .to_vec())
    }

    /// Returns how many lines or records were left out.
    fn skipped(&self) -> PyResult<u64> {
        Ok(self.parser.lock().map_err(|_| panicked())?.skipped())
    }
}

/// Makes requests of events.
#[pyclass(frozen, module = "iogauge._core")]
pub(crate) struct TracePairing {
    pairing: Mutex<Pairing>,
}

#[pymethods]
impl TracePairing {
    #[new]
    fn new() -> Self {
        Self {
            pairing: Mutex::new(Pairing::default()),
        }
    }

    /// Takes events in the order of their times; returns the requests that are complete, or, without events, the rest.
    fn feed<'py>(&self, py: Python<'py>, events: &[u8]) -> PyResult<Bound<'py, PyBytes>> {
        let events = parsed(events)?;
        let rows = py.detach(|| {
            let mut rows = Vec::new();
            let mut pairing = self.pairing.lock().map_err(|_| panicked())?;
            if events.is_empty() {
                pairing.end(&mut rows);
            } else {
                pairing.feed(&events, &mut rows);
            }
            Ok::<_, PyErr>(rows)
        })?;
        Ok(PyBytes::new(py, bytes_of(&rows)))
    }

    /// Returns how many completions were of requests that the trace does not have.
    fn unmatched(&self) -> PyResult<u64> {
        Ok(self.pairing.lock().map_err(|_| panicked())?.unmatched())
    }
}

/// Counts how requests come back to the same blocks.
#[pyclass(frozen, module = "iogauge._core")]
pub(crate) struct TraceReuse {
    reuse: Mutex<Reuse>,
}

#[pymethods]
impl TraceReuse {
    #[new]
    fn new(block_bytes: i64, most_blocks: usize) -> Self {
        Self {
            reuse: Mutex::new(Reuse::new(block_bytes, most_blocks)),
        }
    }

    /// Counts requests. Returns how many different blocks were used so far.
    fn feed(&self, py: Python<'_>, rows: &[u8]) -> PyResult<f64> {
        let rows = parsed(rows)?;
        py.detach(|| {
            let mut reuse = self.reuse.lock().map_err(|_| panicked())?;
            reuse.feed(&rows);
            Ok(reuse.blocks())
        })
    }

    /// Returns how many uses of blocks there were.
    fn uses(&self) -> PyResult<f64> {
        Ok(self.reuse.lock().map_err(|_| panicked())?.uses())
    }

    /// Returns whether every block was counted.
    fn exact(&self) -> PyResult<bool> {
        Ok(self.reuse.lock().map_err(|_| panicked())?.exact())
    }

    /// Returns pairs: the blocks that a cache holds, and the uses that it serves but the next smaller one does not.
    fn hits(&self) -> PyResult<Vec<(f64, f64)>> {
        Ok(self.reuse.lock().map_err(|_| panicked())?.hits())
    }
}

fn parsed(bytes: &[u8]) -> PyResult<Vec<Row>> {
    rows_of(bytes).ok_or_else(|| PyValueError::new_err("the bytes are no whole rows"))
}

fn panicked() -> PyErr {
    PyRuntimeError::new_err("a reader panicked")
}
