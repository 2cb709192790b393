//! The spill of a request log as Python sees it: a descriptor to write to, and a reader of what was written.

use std::fs::{File, OpenOptions};
use std::path::PathBuf;
use std::sync::Mutex;

use iogauge_core::log_record::{self, LogRecord};
use iogauge_engine::spill::FrameReader;
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The file behind a descriptor, opened anew.
pub(crate) fn opened(descriptor: Option<i32>) -> PyResult<Option<File>> {
    let open = |number| {
        OpenOptions::new()
            .append(true)
            .open(format!("/proc/self/fd/{number}"))
    };
    Ok(descriptor.map(open).transpose()?)
}

/// Reads a spill, whether or not its run lived to close it.
#[pyclass(frozen, module = "iogauge._core")]
pub(crate) struct SpillReader {
    inner: Mutex<(FrameReader, Vec<LogRecord>)>,
}

#[pymethods]
impl SpillReader {
    /// The requests in the file `path` from the byte `position` on. Raises OSError.
    #[new]
    fn new(path: PathBuf, position: u64) -> PyResult<Self> {
        let frames = FrameReader::new(File::open(path)?, position)?;
        Ok(Self {
            inner: Mutex::new((frames, Vec::new())),
        })
    }

    /// About `most` requests, as the bytes of `LogRecord`s; none at the end. Raises OSError where there are other bytes.
    fn read<'py>(&self, py: Python<'py>, most: usize) -> PyResult<Bound<'py, PyBytes>> {
        py.detach(|| {
            let mut inner = self.inner.lock().map_err(|_| gone())?;
            let (frames, records) = &mut *inner;
            records.clear();
            frames.read(most, records)?;
            Ok::<_, PyErr>(())
        })?;
        let inner = self.inner.lock().map_err(|_| gone())?;
        Ok(PyBytes::new(py, log_record::bytes_of(&inner.1)))
    }

    /// How far into the file it has read, bytes.
    fn position(&self) -> PyResult<u64> {
        Ok(self.inner.lock().map_err(|_| gone())?.0.position())
    }
}

fn gone() -> PyErr {
    PyRuntimeError::new_err("a reader panicked")
}
