//! Opens the engine that a plan asks for.

use iogauge_core::plan::{EngineKind, WorkerPlan};

use crate::Engine;
use crate::clock::Clock;
use crate::engines::aio::Aio;
use crate::engines::null::Null;
use crate::engines::sync::Sync;
use crate::engines::uring::Uring;
use crate::error::Error;
use crate::wait::{self, Waiter};

/// Something to do with an engine of any kind. A trait in place of a closure, so that the loop over the engine is
/// compiled once for each kind and calls nothing through a pointer.
pub trait UseEngine {
    /// What comes of it.
    type Out;

    /// Does it.
    fn run<E: Engine>(self, engine: E) -> Self::Out;
}

/// Opens the plan's engine and hands it to `user`.
///
/// To be called on the worker's own thread, after it was pinned: memory is touched there, the timer of that thread is
/// sharpened, and an io_uring belongs to the thread that made it.
///
/// # Errors
/// Whatever [`crate::engines::probe::check`] would have said, and what only trying can show: memory, limits, flags that the
/// filesystem refuses.
pub fn open<U: UseEngine>(
    plan: &WorkerPlan,
    clock: Clock,
    waiter: Waiter,
    user: U,
) -> Result<U::Out, Error> {
    wait::sharpen_timer();
    Ok(match plan.engine.kind {
        EngineKind::Null => user.run(Null::new(plan, clock, waiter)),
        EngineKind::Psync | EngineKind::Pvsync2 => user.run(Sync::new(plan, clock, waiter)?),
        EngineKind::Libaio => user.run(Aio::new(plan, clock, waiter)?),
        EngineKind::IoUring => user.run(Uring::new(plan, clock, waiter)?),
    })
}
