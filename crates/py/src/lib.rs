//! The Rust core as the private Python module `iogauge._core`: converts values, releases the GIL, maps errors.

mod descriptor;
mod histograms;
mod modelled;
mod serve;
mod spill;
mod stamps;
mod trace;

use std::time::Duration;

use descriptor::Access;
use iogauge_core::plan::RunPlan;
use iogauge_engine::Error;
use iogauge_engine::run::{Event, Run};
use pyo3::create_exception;
use pyo3::exceptions::{PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    _core,
    CoreError,
    PyRuntimeError,
    "What went wrong, and a hint or None: `args` of length two."
);

fn core_error(error: &Error) -> PyErr {
    CoreError::new_err((error.to_string(), error.hint()))
}

fn parse_plan(plan: &str) -> PyResult<RunPlan> {
    serde_json::from_str(plan).map_err(|cause| PyValueError::new_err(format!("plan: {cause}")))
}

fn to_json(value: &impl serde::Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(|cause| PyValueError::new_err(cause.to_string()))
}

/// A run in progress: created from a plan as JSON, polled until it is over.
#[pyclass(frozen, module = "iogauge._core")]
struct RunHandle {
    run: Run,
}

#[pymethods]
impl RunHandle {
    /// Starts the run. `spill` is a descriptor open for appending. If the plan logs requests, they are appended to it.
    #[new]
    fn new(plan: &str, spill: Option<i32>) -> PyResult<Self> {
        let spill = descriptor::reopen(spill, Access::Append)?;
        Ok(Self {
            run: Run::start(parse_plan(plan)?, spill).map_err(|error| core_error(&error))?,
        })
    }

    /// Returns the events so far: `("interval", JSON)`, `("held", index of the stage)`, `("finished", JSON)`. Waits at
    /// most `timeout_s` for the first.
    fn poll(&self, py: Python<'_>, timeout_s: f64) -> PyResult<Vec<(&'static str, String)>> {
        let events = py.detach(|| {
            self.run
                .poll(Duration::from_secs_f64(timeout_s.clamp(0.0, 3600.0)))
        });
        let as_json = |event: &Event| match event {
            Event::Interval(interval) => Ok(("interval", to_json(interval)?)),
            Event::Held(stage) => Ok(("held", stage.to_string())),
            Event::Finished(result) => Ok(("finished", to_json(result)?)),
            Event::Failed(error) => Err(core_error(error)),
        };
        events.iter().map(as_json).collect()
    }

    /// Lets a run that is held go on. With a `refusal` the run ends there, and that is its error.
    #[pyo3(signature = (refusal = None))]
    fn proceed(&self, refusal: Option<String>) {
        self.run.proceed(refusal.map_or(Ok(()), Err));
    }

    /// Ends the run: issues no further request and waits for those in flight.
    fn stop(&self) {
        self.run.stop();
    }

    /// Ends the run without waiting for requests in flight.
    fn give_up(&self) {
        self.run.give_up();
    }

    /// Returns the outcome of the log as JSON, once the run is over; None without a log.
    fn spilled(&self) -> PyResult<Option<String>> {
        self.run.spilled().as_ref().map(to_json).transpose()
    }
}

/// Checks before a run that its engines can do what the plan says. Returns a warning (code, message, hint) for each
/// thing that they will do differently.
#[pyfunction]
fn probe(plan: &str) -> PyResult<Vec<(&'static str, String, String)>> {
    let plan = parse_plan(plan)?;
    iogauge_engine::memory::check(&plan).map_err(|error| core_error(&error))?;
    let mut notes = Vec::new();
    for worker in plan.stages.iter().flat_map(|stage| &stage.workers) {
        let of_worker = iogauge_engine::probe::check(worker).map_err(|error| core_error(&error))?;
        notes.extend(
            of_worker
                .into_iter()
                .map(|note| (note.code, note.message, note.hint)),
        );
    }
    Ok(notes)
}

/// Returns for each worker, in the order of the plan, whether kernel threads execute some of its requests.
#[pyfunction]
fn handed_over(plan: &str) -> PyResult<Vec<bool>> {
    let plan = parse_plan(plan)?;
    let workers = plan.stages.iter().flat_map(|stage| &stage.workers);
    workers
        .map(|worker| {
            iogauge_engine::probe::handed_over(worker).map_err(|error| core_error(&error))
        })
        .collect()
}

/// Returns the CPUs that this process may run on.
#[pyfunction]
fn allowed_cpus() -> PyResult<Vec<u32>> {
    iogauge_engine::affinity::allowed_cpus().map_err(|error| core_error(&error))
}

/// Returns facts of the clock, as JSON. The first call calibrates it.
#[pyfunction]
fn clock_facts(py: Python<'_>) -> PyResult<String> {
    to_json(&py.detach(|| iogauge_engine::Clock::get().facts()))
}

/// Returns how late a sleeping thread wakes: the 99th percentile, nanoseconds. The first call measures it.
#[pyfunction]
fn sleep_slack_ns(py: Python<'_>) -> u64 {
    py.detach(iogauge_engine::sleep_slack)
}

#[pymodule]
fn _core(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add("CoreError", module.py().get_type::<CoreError>())?;
    module.add_class::<RunHandle>()?;
    module.add_class::<histograms::HistogramSums>()?;
    module.add_class::<modelled::ModelHandle>()?;
    module.add_class::<serve::Server>()?;
    module.add_class::<spill::SpillReader>()?;
    module.add_class::<stamps::StampJudge>()?;
    module.add_class::<trace::TraceParser>()?;
    module.add_class::<trace::TracePairing>()?;
    module.add_class::<trace::TraceReuse>()?;
    module.add_function(wrap_pyfunction!(modelled::check_model, module)?)?;
    module.add_function(wrap_pyfunction!(modelled::model_parts, module)?)?;
    module.add_function(wrap_pyfunction!(probe, module)?)?;
    module.add_function(wrap_pyfunction!(handed_over, module)?)?;
    module.add_function(wrap_pyfunction!(allowed_cpus, module)?)?;
    module.add_function(wrap_pyfunction!(clock_facts, module)?)?;
    module.add_function(wrap_pyfunction!(sleep_slack_ns, module)?)
}
