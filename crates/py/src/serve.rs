//! A served drive model, created from JSON, with its own thread.

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
use crate::{CoreError, to_json};

/// A served drive model.
#[pyclass(frozen, module = "iogauge._core")]
pub(crate) struct Server {
    bias: Bias,
    size_bytes: u64,
    address: Option<SocketAddr>,
    end: Mutex<Receiver<Result<Summary, Error>>>,
    stop: Arc<AtomicBool>,
    power_switch: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

#[pymethods]
impl Server {
    /// Prepares a server, which takes up to a second, and starts to serve. `store`: a descriptor of the file that keeps
    /// the data, open for writing unless the export is read-only; None: memory keeps the data. `faults`: a descriptor
    /// open for appending, where faults are written down as they happen.
    #[new]
    fn new(
        py: Python<'_>,
        drive: &str,
        seed: u64,
        config: &str,
        store: Option<i32>,
        faults: Option<i32>,
    ) -> PyResult<Self> {
        let drive: DriveSpec = parse("drive", drive)?;
        let config: Config = parse("config", config)?;
        let access = if config.read_only {
            Access::Read
        } else {
            Access::Write
        };
        let file = descriptor::reopen(store, access)?;
        let server = py.detach(|| iogauge_nbd::Server::bind(&config, &drive, seed, file));
        let mut server = server.map_err(|error| server_error(&error))?;
        if let Some(faults) = descriptor::reopen(faults, Access::Append)? {
            server.note_faults(faults);
        }
        let power_switch = server.power_switch();
        let (bias, address) = (server.bias(), server.address());
        let size_bytes = server.export().size_bytes;
        let stop = Arc::new(AtomicBool::new(false));
        let (sender, end) = sync_channel(1);
        let stopped = stop.clone();
        let thread = thread::Builder::new()
            .name("iogauge-nbd".into())
            // A dropped handle is not an error.
            .spawn(move || drop(sender.send(server.serve(&stopped))))
            .map_err(|cause| CoreError::new_err((format!("no thread: {cause}"), None::<String>)))?;
        Ok(Self {
            bias,
            size_bytes,
            address,
            end: Mutex::new(end),
            stop,
            power_switch,
            thread: Some(thread),
        })
    }

    /// Returns the measured bias, as JSON.
    fn bias(&self) -> PyResult<String> {
        to_json(&self.bias)
    }

    /// Returns the bytes of the export.
    fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Returns the TCP address, whose port the kernel may have chosen; None for a Unix socket.
    fn address(&self) -> Option<String> {
        self.address.map(|address| address.to_string())
    }

    /// Waits at most `timeout_s` for the end of the service. Returns its summary as JSON; None if it has not ended.
    fn wait(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Option<String>> {
        let timeout = Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0));
        let thread_is_gone = || PyRuntimeError::new_err("the server's thread is gone");
        let end = py.detach(|| {
            let end = self.end.lock().map_err(|_| thread_is_gone())?;
            match end.recv_timeout(timeout) {
                Ok(end) => Ok(Some(end)),
                Err(RecvTimeoutError::Timeout) => Ok(None),
                Err(RecvTimeoutError::Disconnected) => Err(thread_is_gone()),
            }
        })?;
        match end {
            Some(Ok(summary)) => to_json(&summary).map(Some),
            Some(Err(error)) => Err(server_error(&error)),
            None => Ok(None),
        }
    }

    /// Cuts the power: what was not flushed is lost, and all connections are closed.
    fn cut_power(&self) {
        self.power_switch.store(true, Ordering::Relaxed);
    }

    /// Ends the service: closes the connections and removes the socket.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }
}

impl Drop for Server {
    /// Ends the service and thereby removes the socket. The thread never takes the GIL and ends within 50 ms.
    fn drop(&mut self) {
        self.stop();
        if let Some(thread) = self.thread.take() {
            // A panic has already printed its message.
            let _ = thread.join();
        }
    }
}

fn server_error(error: &Error) -> PyErr {
    CoreError::new_err((error.to_string(), error.hint()))
}

fn parse<T: DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text)
        .map_err(|cause| CoreError::new_err((format!("{what}: {cause}"), None::<String>)))
}
