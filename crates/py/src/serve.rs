//! A served drive model as Python sees it: made from JSON, with a thread behind it, waited for until it ends.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::sync::{Arc, Mutex};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use iogauge_model::DriveSpec;
use iogauge_nbd::{Bias, Config, Error, Summary};
use pyo3::exceptions::PyRuntimeError;
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::descriptor::{self, Access};
use crate::{CoreError, json};

/// See the module's text.
#[pyclass(frozen, module = "iogauge._core")]
pub(crate) struct Server {
    bias: Bias,
    size_bytes: u64,
    address: Option<SocketAddr>,
    ended: Mutex<Receiver<Result<Summary, Error>>>,
    stop: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[pymethods]
impl Server {
    /// Binds and measures, which takes up to a second, and serves from then on. `store`: a descriptor of the file that
    /// keeps the data, open for writing unless the export is read-only; None: memory does.
    #[new]
    fn new(
        py: Python<'_>,
        drive: &str,
        seed: u64,
        config: &str,
        store: Option<i32>,
    ) -> PyResult<Self> {
        let drive: DriveSpec = read("drive", drive)?;
        let config: Config = read("config", config)?;
        let access = if config.read_only {
            Access::Read
        } else {
            Access::Write
        };
        let file = descriptor::opened(store, access)?;
        let server = py.detach(|| iogauge_nbd::Server::bind(&config, &drive, seed, file));
        let server = server.map_err(|error| mapped(&error))?;
        let (bias, address) = (server.bias(), server.address());
        let size_bytes = server.export().size_bytes;
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, ended) = sync_channel(1);
        let stopped = stop.clone();
        let thread = thread::Builder::new()
            .name("iogauge-nbd".into())
            // A handle that is gone is no reason to fail.
            .spawn(move || drop(tell.send(server.serve(&stopped))))
            .map_err(|cause| CoreError::new_err((format!("no thread: {cause}"), None::<String>)))?;
        Ok(Self {
            bias,
            size_bytes,
            address,
            ended: Mutex::new(ended),
            stop,
            thread: Some(thread),
        })
    }

    /// What programs will see beside the model, as JSON.
    fn bias(&self) -> PyResult<String> {
        json(&self.bias)
    }

    /// Bytes of the export.
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// The TCP address, whose port may have been chosen by the kernel; None on a socket's path.
    fn address(&self) -> Option<String> {
        self.address.map(|address| address.to_string())
    }

    /// Waits for `timeout_s` at most. Returns what was served, as JSON, once it has ended; None until then.
    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<String>> {
        let timeout = Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0));
        let gone = || PyRuntimeError::new_err("the server's thread is gone");
        let ended = py.detach(|| {
            let ended = self.ended.lock().map_err(|_| gone())?;
            match ended.recv_timeout(timeout) {
                Ok(ended) => Ok(Some(ended)),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(gone()),
            }
        })?;
        match ended {
            Some(Ok(summary)) => json(&summary).map(Some),
            Some(Err(error)) => Err(mapped(&error)),
            None => Ok(None),
        }
    }

    /// Asks for the end: connections are closed, and the socket is removed.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Server {
    /// However it is let go of, the socket is removed. The thread, which never asks for the GIL, ends within 50 ms.
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // Where it panicked, that has been said.
            let _ = thread.join();
        }
    }
}

fn mapped(error: &Error) -> PyErr {
    CoreError::new_err((error.to_string(), error.hint()))
}

fn read<T: DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text)
        .map_err(|cause| CoreError::new_err((format!("{what}: {cause}"), None::<String>)))
}
