//! Plans for every engine in every variant that this machine supports.

use iogauge_core::plan::{EngineKind, Rw, WorkerPlan};
use iogauge_engine::{Engine, Error};

use super::{Scenario, Scratch, plan, play};

/// Returns plans for every engine that does I/O, in every variant that this machine supports.
pub fn variants(rw: Rw, scratch: &Scratch) -> Vec<WorkerPlan> {
    use EngineKind::{IoUring, Libaio, Mmap, Posixaio, Psync, Pvsync2};
    let mut plans = Vec::new();
    for kind in [Psync, Pvsync2, Libaio, Mmap, Posixaio, IoUring] {
        for direct in [false, true] {
            let mut plan = plan(kind, rw, vec![scratch.plan()]);
            plan.engine.direct = direct;
            plans.push(plan.clone());
            if kind == IoUring {
                plan.engine.registerfiles = true;
                plans.push(plan.clone());
                plan.engine.fixedbufs = true;
                plans.push(plan.clone());
                plan.engine.sqthread_poll = true;
                plans.push(plan);
            }
        }
    }
    plans.retain(usable);
    assert!(plans.len() >= 2, "psync and pvsync2 are everywhere");
    plans
}

/// Whether this machine supports the plan: an empty file cannot be mapped, some filesystems lack direct I/O, and some containers io_uring or locked
/// memory.
pub fn usable(plan: &WorkerPlan) -> bool {
    struct Nothing;
    impl Scenario for Nothing {
        fn play<E: Engine>(&mut self, _engine: &mut E) {}
    }
    match play(plan, &mut Nothing) {
        Ok(()) => true,
        Err(
            Error::NoDirect { .. }
            | Error::Map { .. }
            | Error::UringMissing
            | Error::UringDisabled { .. }
            | Error::LockedMemory { .. }
            | Error::AioExhausted { .. },
        ) => false,
        Err(error) => panic!("{error}"),
    }
}
