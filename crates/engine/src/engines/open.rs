//! Opens the engine that a plan names.

use iogauge_core::plan::{EngineKind, WorkerPlan};

use crate::Engine;
use crate::clock::Clock;
use crate::engines::aio::Aio;
use crate::engines::commands::file::FileCommands;
use crate::engines::commands::nvme::NvmeCommands;
use crate::engines::mapped::Mapped;
use crate::engines::null::Null;
use crate::engines::posix_aio::PosixAio;
use crate::engines::sync::Sync;
use crate::engines::uring::Uring;
use crate::error::Error;
use crate::wait::{self, Waiter};

/// An action on an engine of any kind. A trait instead of a closure compiles the loop over the engine once for each
/// kind, without calls through a pointer.
pub trait UseEngine {
    /// What the action returns.
    type Out;

    /// Runs the action.
    fn run<E: Engine>(self, engine: E) -> Self::Out;
}

/// Opens the plan's engine and hands it to `user`.
///
/// Call it on the worker's own thread, after pinning: it touches the thread's memory and sharpens its timer, and an
/// io_uring belongs to the thread that creates it.
///
/// # Errors
/// The errors of [`crate::engines::probe::check`], and those that occur only when an engine is opened: memory, limits,
/// flags that the filesystem refuses.
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
        EngineKind::Mmap => user.run(Mapped::new(plan, clock, waiter)?),
        EngineKind::Posixaio => user.run(PosixAio::new(plan, clock, waiter)?),
        EngineKind::Libaio => user.run(Aio::new(plan, clock, waiter)?),
        EngineKind::IoUring => user.run(Uring::<FileCommands>::new(plan, clock, waiter)?),
        EngineKind::IoUringCmd => user.run(Uring::<NvmeCommands>::new(plan, clock, waiter)?),
    })
}
