//! A signal ends every wait at once, so that a run notices Ctrl-C while nothing completes.
#![allow(unsafe_code)]

mod common;

use std::os::fd::AsRawFd;
use std::os::unix::thread::JoinHandleExt;
use std::time::Duration;

use common::{Scenario, plan, play, request};
use iogauge_core::plan::{EngineKind, FilePlan, Rw, WorkerPlan};
use iogauge_core::{Kind, Nanos};
use iogauge_engine::{Engine, Error};

const FOR_EVER: Nanos = 3_600_000_000_000;

extern "C" fn nothing(_signal: libc::c_int) {}

/// Installs a handler that does nothing and does not restart calls.
fn let_signals_interrupt() {
    // SAFETY: an all-zero sigaction has no flags. Its handler does nothing and is therefore async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = nothing as extern "C" fn(libc::c_int) as usize;
        libc::sigaction(libc::SIGUSR1, &action, std::ptr::null_mut());
    }
}

/// Waits in a thread of its own, and sends it signals until it is done.
fn wait_and_interrupt(plan: WorkerPlan, in_flight: bool) -> Result<(), Error> {
    struct Wait {
        in_flight: bool,
    }
    impl Scenario for Wait {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            if self.in_flight {
                engine.submit(&[request(0, Kind::Read, 0, 4096)]).unwrap();
            }
            let until = engine.now() + FOR_EVER;
            let mut done = Vec::new();
            engine.reap(1, Some(until), &mut done).unwrap();
            assert!(done.is_empty() && engine.now() < until);
        }
    }
    let waiting = std::thread::spawn(move || play(&plan, &mut Wait { in_flight }));
    while !waiting.is_finished() {
        // SAFETY: the thread was not joined yet, so its id is valid.
        unsafe { libc::pthread_kill(waiting.as_pthread_t() as libc::pthread_t, libc::SIGUSR1) };
        std::thread::sleep(Duration::from_millis(2));
    }
    waiting.join().unwrap()
}

#[test]
fn with_nothing_in_flight() {
    let_signals_interrupt();
    wait_and_interrupt(plan(EngineKind::Null, Rw::Randread, Vec::new()), false).unwrap();
}

#[test]
fn with_a_request_that_never_returns() {
    let_signals_interrupt();
    let (reader, _writer) = std::io::pipe().unwrap();
    let file = FilePlan {
        path: "pipe".into(),
        fd: reader.as_raw_fd(),
        writable: false,
        is_block_device: false,
        file_bytes: 4096,
        region_offset_bytes: 0,
        region_bytes: 4096,
        namespace: None,
    };
    for spin in [false, true] {
        let mut plan = plan(EngineKind::IoUring, Rw::Read, vec![file.clone()]);
        plan.spin = spin;
        match wait_and_interrupt(plan, true) {
            Ok(()) | Err(Error::UringMissing | Error::UringDisabled { .. }) => {}
            Err(error) => panic!("{error}"),
        }
    }
}
