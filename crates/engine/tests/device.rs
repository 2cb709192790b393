//! Engines on a real block device, whose contents are lost.
//!
//! As root: `IOGAUGE_TEST_DEVICE=/dev/zram1 cargo test -p iogauge-engine --test device -- --ignored`.

mod common;

use std::fs::OpenOptions;
use std::os::fd::AsRawFd;
use std::os::unix::fs::FileExt;

use common::{Scenario, do_all, plan, play, request};
use iogauge_core::Kind;
use iogauge_core::plan::{EngineKind, FilePlan, Rw};
use iogauge_engine::{Engine, probe};

const BLOCK: usize = 4096;

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

#[test]
#[ignore = "needs root, and a block device in IOGAUGE_TEST_DEVICE whose contents may be lost"]
fn writes_and_trims_of_a_block_device() {
    let path = std::env::var("IOGAUGE_TEST_DEVICE").expect("a block device in IOGAUGE_TEST_DEVICE");
    let device = OpenOptions::new()
        .read(true)
        .write(true)
        .open(&path)
        .unwrap();
    let file = FilePlan {
        path,
        fd: device.as_raw_fd(),
        writable: true,
        is_block_device: true,
        region_offset_bytes: 0,
        region_bytes: 8 * BLOCK as u64,
    };
    for kind in [
        EngineKind::Psync,
        EngineKind::Pvsync2,
        EngineKind::Libaio,
        EngineKind::IoUring,
    ] {
        for fast in [false, true] {
            let mut plan = plan(kind, Rw::Randtrimwrite, vec![file.clone()]);
            plan.engine.direct = true;
            plan.engine.fixedbufs = fast;
            plan.engine.registerfiles = fast;
            for note in probe::check(&plan).unwrap() {
                println!("{kind:?}: {note:?}");
            }
            device.write_all_at(&[1; 8 * BLOCK], 0).unwrap();
            device.sync_all().unwrap();
            play(&plan, &mut WriteAndTrim).unwrap();
            let mut content = vec![0; 8 * BLOCK];
            device.read_exact_at(&mut content, 0).unwrap();
            for (index, block) in content.chunks(BLOCK).enumerate() {
                let zeroes = block.iter().filter(|&&byte| byte == 0).count();
                if (2..5).contains(&index) {
                    assert_eq!(zeroes, BLOCK, "{kind:?}: block {index} was trimmed");
                } else {
                    assert!(zeroes < 100, "{kind:?}: block {index} was written");
                }
            }
        }
    }
}
