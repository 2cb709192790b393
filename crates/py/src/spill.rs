//! A reader of the spill of a request log.

use std::fs::File;
use std::io::ErrorKind;
use std::path::PathBuf;
use std::sync::Mutex;

use iogauge_core::log_record::{self, LogRecord};
use iogauge_engine::run::spill::FrameReader;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Reads a spill, even of a run that was killed.
#[pyclass(frozen, module = "iogauge._core")]
pub(crate) struct SpillReader {
    frames: Mutex<FrameReader>,
}

#[pymethods]
impl SpillReader {
    /// Reads the requests in the file `path` from the byte `position` on. Raises OSError.
    #[new]
    fn new(path: PathBuf, position: u64) -> PyResult<Self> {
        let frames = FrameReader::new(File::open(path)?, position)?;
        Ok(Self {
            frames: Mutex::new(frames),
        })
    }

    /// Returns about `most` requests, as the bytes of `LogRecord`s; none at the end. Raises OSError if the file cannot
    /// be read, and ValueError if other bytes follow the requests returned so far.
    fn read<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyBytes>> {
        let records = py.detach(|| {
            let mut records: Vec<LogRecord> = Vec::new();
            let mut frames = self.frames.lock().map_err(|_| reader_panicked())?;
            match frames.read(most, &mut records) {
                Ok(()) => Ok(records),
                Err(damage) if damage.kind() == ErrorKind::InvalidData => {
                    Err(PyValueError::new_err(damage.to_string()))
                }
                Err(error) => Err(error.into()),
            }
        })?;
        Ok(PyBytes::new(py, log_record::bytes_of(&records)))
    }

    /// Returns its position in the file, bytes.
    fn position(&self) -> PyResult<u64> {
        Ok(self
            .frames
            .lock()
            .map_err(|_| reader_panicked())?
            .position())
    }
}

fn reader_panicked() -> PyErr {
    PyRuntimeError::new_err("a reader panicked")
}
