//! A run on drive models, with the same handle as for a real run. Its thread waits only for Python to take its events.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread;
use std::time::Duration;

use iogauge_core::log_record::LogRecord;
use iogauge_core::plan::{ReplayPlan, RunPlan};
use iogauge_core::replay::Feed;
use iogauge_core::results::{Interval, RunResult};
use iogauge_engine::run::Hold;
use iogauge_engine::run::rows_file::RowsFile;
use iogauge_engine::run::spill::{FrameWriter, Spilled};
use iogauge_engine::{ClockFacts, start_together};
use iogauge_model::{Device, Drive, DriveSpec, Machine, Part, RowParts};
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;
use serde::de::DeserializeOwned;

use crate::descriptor::{self, Access};
use crate::{CoreError, parse_plan, to_json};

/// Records that are spilled at a time.
const BATCH: usize = 4096;
const INTERVALS: usize = 64;

enum Event {
    Interval(Box<Interval>),
    Held(usize),
    Explained(Box<RowParts>),
    Finished(Box<RunResult<ClockFacts>>),
    Failed(String),
}

fn invalid(what: &str, cause: impl std::fmt::Display) -> PyErr {
    CoreError::new_err((format!("{what}: {cause}"), None::<String>))
}

/// Parses JSON that Python wrote. Errors leave out lines and columns, since the user never saw the JSON.
fn parse_spec<T: DeserializeOwned>(what: &str, text: &str) -> PyResult<T> {
    serde_json::from_str(text).map_err(|cause| {
        let cause = cause.to_string();
        invalid(what, cause.split(" at line ").next().unwrap_or_default())
    })
}

fn parse_drive(text: &str) -> PyResult<DriveSpec> {
    let spec: DriveSpec = parse_spec("drive", text)?;
    spec.check().map_err(|cause| invalid("drive", cause))?;
    Ok(spec)
}

fn parse_machine(text: &str) -> PyResult<Machine> {
    let machine: Machine = parse_spec("machine", text)?;
    machine.check().map_err(|cause| invalid("machine", cause))?;
    Ok(machine)
}

/// Checks a drive and a machine, from JSON. Raises CoreError with the invalid parameter.
#[pyfunction]
pub(crate) fn check_model(drive: &str, machine: &str) -> PyResult<()> {
    parse_drive(drive)?;
    parse_machine(machine).map(|_| ())
}

/// Returns the parts of a request's latency as JSON: `name`, `meaning` and whether it is `host` time, in the order in
/// which a request comes to them.
#[pyfunction]
pub(crate) fn model_parts() -> PyResult<String> {
    #[derive(serde::Serialize)]
    struct Description {
        name: &'static str,
        meaning: &'static str,
        host: bool,
    }
    let parts = Part::ALL.map(|part| Description {
        name: part.name(),
        meaning: part.meaning(),
        host: part.is_of_host(),
    });
    to_json(&parts.as_slice())
}

/// A run on drive models.
#[pyclass(frozen, module = "iogauge._core")]
pub(crate) struct ModelHandle {
    events: Mutex<Receiver<Event>>,
    spilled: Arc<OnceLock<Spilled>>,
    stop: Arc<AtomicBool>,
    hold: Arc<Hold>,
}

#[pymethods]
impl ModelHandle {
    /// Starts the run. `drives`: the JSON and the seed of each drive; the `fd` of a plan's file is its index. `spill`:
    /// as for `RunHandle`; virtual time waits while it is written. `explain`: say where the time of the requests went.
    #[new]
    #[pyo3(signature = (plan, drives, machine, spill, explain = false))]
    fn new(
        py: Python<'_>,
        plan: &str,
        drives: Vec<(String, u64)>,
        machine: &str,
        spill: Option<i32>,
        explain: bool,
    ) -> PyResult<Self> {
        let plan = parse_plan(plan)?;
        let spill = descriptor::reopen(spill, Access::Append)?.filter(|_| plan.request_log);
        let machine = parse_machine(machine)?;
        let device = |(spec, seed): &(String, u64)| {
            Device::new(&parse_drive(spec)?, *seed).map_err(|cause| invalid("drive", cause))
        };
        // Release the GIL: computing a flash drive's steady state takes a while.
        let mut devices = py.detach(|| drives.iter().map(device).collect::<PyResult<Vec<_>>>())?;
        if explain {
            devices.iter_mut().for_each(Drive::explain);
        }
        let files = plan.stages.iter().flat_map(|stage| &stage.workers);
        let mut files = files.flat_map(|worker| &worker.files);
        if !files.all(|file| (0..devices.len() as i32).contains(&file.fd)) {
            return Err(PyValueError::new_err("a file names no drive"));
        }
        let (sender, events) = sync_channel(INTERVALS);
        let spilled = Arc::new(OnceLock::new());
        let stop = Arc::new(AtomicBool::new(false));
        let hold = Arc::new(Hold::default());
        let runner = ModelRunner {
            events: sender,
            spill: spill.map(FrameWriter::new).transpose()?,
            spilled: spilled.clone(),
            batch: Vec::with_capacity(BATCH),
            stop: stop.clone(),
            hold: hold.clone(),
            refusal: None,
        };
        thread::Builder::new()
            .name("iogauge-model".into())
            .spawn(move || {
                let last_event = runner.events.clone();
                // The poller waits for the end of the run, so a thread that panics must report one, too.
                let work = AssertUnwindSafe(|| runner.run(&plan, devices, &machine));
                if let Err(panic) = catch_unwind(work) {
                    let cause = panic.downcast_ref::<String>().map(String::as_str);
                    let cause = cause.or_else(|| panic.downcast_ref::<&str>().copied());
                    let cause = cause.unwrap_or("no cause given");
                    let text = format!("the drive model failed: {cause}");
                    let _ = last_event.send(Event::Failed(text));
                }
            })
            .map_err(|cause| CoreError::new_err((format!("no thread: {cause}"), None::<String>)))?;
        Ok(Self {
            events: Mutex::new(events),
            spilled,
            stop,
            hold,
        })
    }

    /// Returns the events so far: `("interval", JSON)`, `("held", index of the stage)`, `("explained", JSON)` for each
    /// row of a stage that is over, `("finished", JSON)`. Waits at most `timeout_s` for the first.
    fn poll(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<(&'static str, String)>> {
        let timeout = Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0));
        let events = py.detach(|| {
            let events = self.events.lock().map_err(|_| thread_is_gone())?;
            match events.recv_timeout(timeout) {
                Ok(first) => Ok(std::iter::once(first).chain(events.try_iter()).collect()),
                Err(RecvTimeoutError::Timeout) => Ok(Vec::new()),
                Err(RecvTimeoutError::Disconnected) => Err(thread_is_gone()),
            }
        })?;
        let as_json = |event: Event| match event {
            Event::Interval(interval) => Ok(("interval", to_json(&*interval)?)),
            Event::Held(stage) => Ok(("held", stage.to_string())),
            Event::Explained(row) => Ok(("explained", to_json(&*row)?)),
            Event::Finished(result) => Ok(("finished", to_json(&*result)?)),
            Event::Failed(cause) => Err(CoreError::new_err((cause, None::<String>))),
        };
        events.into_iter().map(as_json).collect()
    }

    /// Lets a run that is held go on. With a `refusal` the run ends there, and that is its error.
    #[pyo3(signature = (refusal = None))]
    fn proceed(&self, refusal: Option<String>) {
        self.hold.answer(refusal.map_or(Ok(()), Err));
    }

    /// Ends the run: issues no further request and waits for those in flight.
    fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Ends the run as `stop` does, since a drive model always answers.
    fn give_up(&self) {
        self.stop();
    }

    /// Returns the outcome of the log as JSON, once the run is over; None without a log.
    fn spilled(&self) -> PyResult<Option<String>> {
        self.spilled.get().map(to_json).transpose()
    }
}

fn thread_is_gone() -> PyErr {
    PyRuntimeError::new_err("the run's thread is gone")
}

/// The thread of a run.
struct ModelRunner {
    events: SyncSender<Event>,
    spill: Option<FrameWriter>,
    spilled: Arc<OnceLock<Spilled>>,
    batch: Vec<LogRecord>,
    stop: Arc<AtomicBool>,
    hold: Arc<Hold>,
    /// Why the run ends before a stage.
    refusal: Option<String>,
}

impl ModelRunner {
    fn run(mut self, plan: &RunPlan, mut devices: Vec<Device>, machine: &Machine) {
        let stop = self.stop.clone();
        let is_stopped = || stop.load(Ordering::Relaxed);
        let mut start_at_ns = plan.start_at_ns;
        let mut started_ns = None;
        // Called first when the first stage is next.
        let mut should_continue = || {
            if let Some(instant) = start_at_ns.take() {
                started_ns = start_together(instant, is_stopped);
            }
            !is_stopped()
        };
        // A modelled run reads no clock.
        let clock = ClockFacts {
            source: "virtual",
            reason: String::new(),
            tsc_hz: 0.0,
            read_cost_ns: 0.0,
            check_ppm: 0.0,
        };
        let mut sink = |event| self.pass_on(event);
        let open_feed = |replay: &ReplayPlan| match RowsFile::open(replay) {
            Ok(rows) => Ok(Box::new(rows) as Box<dyn Feed>),
            Err(cause) => Err(format!("the rows of the trace: {cause}")),
        };
        let ended = iogauge_model::replay(
            plan,
            machine,
            &mut devices,
            clock,
            &mut sink,
            &mut should_continue,
            &open_feed,
        );
        self.flush();
        if let Some(spill) = &mut self.spill {
            let _ = self.spilled.set(spill.end());
        }
        let last = match ended {
            Ok(mut result) => {
                result.started_ns = started_ns;
                if self.refusal.is_some() {
                    (result.stopped_by, result.error) = (None, self.refusal);
                }
                let names = drive_names(plan, devices.len());
                let now = result.elapsed_ns;
                let drives = devices.iter().zip(&names);
                result.drives = drives
                    .map(|(device, name)| device.result(name, now))
                    .collect();
                Event::Finished(Box::new(result))
            }
            Err(cause) => Event::Failed(cause),
        };
        // A dropped handle is not an error.
        let _ = self.events.send(last);
    }

    fn pass_on(&mut self, event: iogauge_model::Event) {
        match event {
            iogauge_model::Event::Interval(interval) => {
                if self.events.send(Event::Interval(interval)).is_err() {
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
            iogauge_model::Event::Held(stage) => {
                if self.events.send(Event::Held(stage)).is_err() {
                    self.stop.store(true, Ordering::Relaxed);
                }
                self.refusal = self.hold.wait(|| self.stop.load(Ordering::Relaxed)).err();
                if self.refusal.is_some() {
                    self.stop.store(true, Ordering::Relaxed);
                }
            }
            iogauge_model::Event::Explained(row) => {
                // A dropped handle is not an error.
                let _ = self.events.send(Event::Explained(row));
            }
            iogauge_model::Event::Request(record) => {
                self.batch.push(record);
                if self.batch.len() >= BATCH {
                    self.flush();
                }
            }
        }
    }

    /// Writes the logged requests to the spill.
    fn flush(&mut self) {
        if let Some(spill) = &mut self.spill {
            spill.add(&self.batch);
        }
        self.batch.clear();
    }
}

/// Returns the plan's name of each drive.
fn drive_names(plan: &RunPlan, drives: usize) -> Vec<String> {
    let mut names = vec![String::new(); drives];
    for worker in plan.stages.iter().flat_map(|stage| &stage.workers) {
        for file in &worker.files {
            names[file.fd as usize].clone_from(&file.path);
        }
    }
    names
}
