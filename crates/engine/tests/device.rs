//! Engines on a real block device, whose contents are lost.
//!
//! As root: `IOGAUGE_TEST_DEVICE=/dev/zram1 cargo test -p iogauge-engine --test device -- --ignored block`. For a
//! namespace: `IOGAUGE_TEST_DEVICE=/dev/nvme1n1 IOGAUGE_TEST_NAMESPACE=/dev/ng1n1 ... --ignored namespace`.

#![allow(unsafe_code)]

mod common;

use std::fs::File;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use common::namespace::Device;
use common::{BLOCK, Scenario, do_all, plan, play, request};
use iogauge_core::Kind;
use iogauge_core::plan::{EngineKind, Rw, WorkerPlan};
use iogauge_engine::{Engine, probe};

/// Writes eight blocks and trims the third to the fifth.
struct WriteAndTrim;

impl Scenario for WriteAndTrim {
    fn play<E: Engine>(&mut self, engine: &mut E) {
        let write = |slot: u32| {
            request(
                slot,
                Kind::Write,
                u64::from(slot) * BLOCK as u64,
                BLOCK as u32,
            )
        };
        let requests: Vec<_> = (0..8).map(write).collect();
        let trim = request(1, Kind::Trim, 2 * BLOCK as u64, 3 * BLOCK as u32);
        for batch in [&requests[..], &[trim], &[request(2, Kind::Sync, 0, 0)]] {
            for (request, completion) in batch.iter().zip(do_all(engine, batch)) {
                assert_eq!(completion.result, Ok(request.length_bytes), "{request:?}");
            }
        }
    }
}

/// Plays the scenario with an engine, and looks for its traces.
fn check(device: &Device, mut plan: WorkerPlan, fast: bool) {
    plan.engine.direct = true;
    plan.engine.fixedbufs = fast;
    plan.engine.registerfiles = fast;
    let kind = plan.engine.kind;
    for note in probe::check(&plan).unwrap() {
        println!("{kind:?}: {note:?}");
    }
    device.file.write_all_at(&[1; 8 * BLOCK], 0).unwrap();
    device.file.sync_all().unwrap();
    drop_cache(&device.file);
    play(&plan, &mut WriteAndTrim).unwrap();
    let mut content = vec![0; 8 * BLOCK];
    device.file.read_exact_at(&mut content, 0).unwrap();
    drop_cache(&device.file);
    for (index, block) in content.chunks(BLOCK).enumerate() {
        let zeroes = block.iter().filter(|&&byte| byte == 0).count();
        if (2..5).contains(&index) {
            assert_eq!(zeroes, BLOCK, "{kind:?}: block {index} was trimmed");
        } else {
            assert!(zeroes < 100, "{kind:?}: block {index} was written");
        }
    }
}

/// Commands do not change what the page cache has of the block device.
fn drop_cache(file: &File) {
    // SAFETY: the call takes a descriptor that is open, and numbers.
    unsafe { libc::posix_fadvise(file.as_raw_fd(), 0, 0, libc::POSIX_FADV_DONTNEED) };
}

#[test]
#[ignore = "needs root, and a block device in IOGAUGE_TEST_DEVICE whose contents may be lost"]
fn writes_and_trims_of_a_block_device() {
    let device = Device::block();
    for kind in [
        EngineKind::Psync,
        EngineKind::Pvsync2,
        EngineKind::Libaio,
        EngineKind::IoUring,
    ] {
        for fast in [false, true] {
            let plan = plan(kind, Rw::Randtrimwrite, vec![device.plan.clone()]);
            check(&device, plan, fast);
        }
    }
}

#[test]
#[ignore = "needs root, and in IOGAUGE_TEST_NAMESPACE the character device of IOGAUGE_TEST_DEVICE"]
fn writes_and_trims_of_a_namespace() {
    let device = Device::namespace();
    for fast in [false, true] {
        for kernel_thread in [false, true] {
            let files = vec![device.plan.clone()];
            let mut plan = plan(EngineKind::IoUringCmd, Rw::Randtrimwrite, files);
            plan.engine.sqthread_poll = kernel_thread;
            check(&device, plan, fast);
        }
    }
}
