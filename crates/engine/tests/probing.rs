//! The errors and warnings of the probe before a run, each with its remedy.

mod common;

use common::{Scenario, Scratch, do_all, plan, play, request};
use iogauge_core::plan::{EngineKind, NamespacePlan, Rw, WorkerPlan};
use iogauge_core::{Errno, Kind};
use iogauge_engine::{Engine, Error, probe};

struct Nothing;

impl Scenario for Nothing {
    fn play<E: Engine>(&mut self, _engine: &mut E) {}
}

#[test]
fn a_plain_job_has_no_warnings() {
    let scratch = Scratch::new(&[0; 4096]);
    for kind in [EngineKind::Psync, EngineKind::Pvsync2, EngineKind::Null] {
        assert_eq!(
            probe::check(&plan(kind, Rw::Randread, vec![scratch.plan()])).unwrap(),
            []
        );
    }
}

#[test]
fn writing_needs_a_writable_file() {
    let scratch = Scratch::new(&[0; 4096]);
    let mut file = scratch.plan();
    file.writable = false;
    for rw in [Rw::Write, Rw::Randrw, Rw::Trim] {
        let plan = plan(EngineKind::Psync, rw, vec![file.clone()]);
        let errors = [
            probe::check(&plan).unwrap_err(),
            play(&plan, &mut Nothing).unwrap_err(),
        ];
        for error in errors {
            assert!(matches!(error, Error::ReadOnly { .. }));
            assert!(error.to_string().contains(&file.path) && error.hint().is_some());
        }
    }
    probe::check(&plan(EngineKind::Psync, Rw::Read, vec![file])).unwrap();
}

#[test]
fn misaligned_direct_io_is_named() {
    let scratch = Scratch::new(&[0; 8192]);
    let mut direct = plan(EngineKind::Psync, Rw::Randread, vec![scratch.plan()]);
    direct.engine.direct = true;
    if play(&direct, &mut Nothing).is_err() {
        return; // The filesystem has no direct I/O.
    }
    probe::check(&direct).unwrap();
    let named = |plan, words: &str| {
        let Err(error @ Error::Misaligned { .. }) = probe::check(&plan) else {
            panic!("{words} passed")
        };
        assert!(error.to_string().contains(words), "{error}");
        assert!(error.hint().unwrap().contains("direct=0"));
    };
    let mut odd = direct.clone();
    odd.pattern.sizes.read.minimum_bytes = 100;
    named(odd, "block size of 100 bytes");
    let mut odd = direct.clone();
    odd.pattern.sizes.read.align_bytes = 3;
    named(odd, "alignment of random offsets (ba) of 3 bytes");
    let mut odd = direct.clone();
    odd.files[0].region_offset_bytes = 77;
    named(odd, "offset of 77 bytes");
    let mut odd = direct.clone();
    odd.pattern.rw = Rw::Read;
    odd.pattern.sequence = -5;
    named(odd, "hole between sequential I/Os of 5 bytes");
    // The other direction's sizes do not matter.
    direct.pattern.sizes.write.minimum_bytes = 100;
    probe::check(&direct).unwrap();
}

/// A file stands for a namespace: the probe sends no command.
#[test]
fn commands_move_whole_blocks_within_the_drives_limit() {
    let scratch = Scratch::new(&[0; 8192]);
    let mut file = scratch.plan();
    let kind = EngineKind::IoUringCmd;
    let error = probe::check(&plan(kind, Rw::Randread, vec![file.clone()])).unwrap_err();
    assert!(matches!(error, Error::NoNamespace { .. }));
    assert!(error.hint().unwrap().contains("ioengine=io_uring"));
    file.namespace = Some(NamespacePlan {
        fd: file.fd,
        nsid: 1,
        block_bytes: 4096,
        largest_bytes: 16384,
    });
    let error_of = |rw, change: &dyn Fn(&mut WorkerPlan)| {
        let mut plan = plan(kind, rw, vec![file.clone()]);
        plan.engine.direct = true;
        change(&mut plan);
        probe::check(&plan).err()
    };
    let largest = |bytes| {
        move |plan: &mut WorkerPlan| {
            for sizes in [&mut plan.pattern.sizes.read, &mut plan.pattern.sizes.trim] {
                sizes.maximum_bytes = bytes;
            }
        }
    };
    let fine = error_of(Rw::Randread, &largest(16384));
    assert!(matches!(
        fine,
        None | Some(Error::TooOld { .. } | Error::UringMissing | Error::UringDisabled { .. })
    ));
    let error = error_of(Rw::Randread, &largest(20480)).unwrap();
    assert!(matches!(error, Error::TooLarge { .. }), "{error}");
    assert!(error.hint().unwrap().contains("at most 16384"), "{error}");
    for rw in [Rw::Randread, Rw::Randtrim] {
        let error = error_of(rw, &|plan| {
            for sizes in [&mut plan.pattern.sizes.read, &mut plan.pattern.sizes.trim] {
                sizes.minimum_bytes = 512;
            }
        })
        .unwrap();
        assert!(
            error
                .to_string()
                .contains("not a multiple of 4096, as an NVMe command needs"),
            "{error}"
        );
        assert!(!error.hint().unwrap().contains("direct=0"));
    }
    // A trim moves no data, so its size has no such limit.
    let trims = error_of(Rw::Randtrim, &largest(20480));
    assert!(!matches!(trims, Some(Error::TooLarge { .. })));
}

/// A regular file takes no commands: each request fails with its errno, and the engine goes on.
#[test]
fn a_file_that_takes_no_commands_refuses_each_request() {
    struct Refused;
    impl Scenario for Refused {
        fn play<E: Engine>(&mut self, engine: &mut E) {
            let requests = [
                request(0, Kind::Read, 0, 4096),
                request(1, Kind::Sync, 0, 0),
            ];
            for completion in do_all(engine, &requests) {
                assert_eq!(completion.result, Err(Errno(libc::EOPNOTSUPP)));
            }
        }
    }
    let scratch = Scratch::new(&[0; 8192]);
    let mut file = scratch.plan();
    file.namespace = Some(NamespacePlan {
        fd: file.fd,
        nsid: 1,
        block_bytes: 512,
        largest_bytes: 4096,
    });
    let plan = plan(EngineKind::IoUringCmd, Rw::Randread, vec![file]);
    if probe::check(&plan).is_ok() {
        play(&plan, &mut Refused).unwrap();
    }
}

#[test]
fn a_depth_that_libaio_cannot_have_names_the_sysctl() {
    let scratch = Scratch::new(&[0; 4096]);
    let mut plan = plan(EngineKind::Libaio, Rw::Randread, vec![scratch.plan()]);
    plan.iodepth = u32::MAX / 2;
    let error = probe::check(&plan).unwrap_err();
    assert!(error.hint().unwrap().contains("fs.aio-max-nr"), "{error}");
}

#[test]
fn a_probe_warns_of_polling_that_does_not_happen() {
    let scratch = Scratch::new(&[0; 4096]);
    let mut plan = plan(EngineKind::Pvsync2, Rw::Randread, vec![scratch.plan()]);
    plan.engine.hipri = true;
    let release = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap();
    let modern = release.split('.').next().unwrap().parse::<u32>().unwrap() >= 6;
    let notes = probe::check(&plan).unwrap();
    assert_eq!(
        notes
            .iter()
            .any(|note| note.code == "no_polling" && note.hint.contains("io_uring")),
        modern
    );
    plan.engine.kind = EngineKind::IoUring;
    if let Err(error) = probe::check(&plan) {
        let expected = matches!(
            error,
            Error::PollingNeedsDirect | Error::UringMissing | Error::UringDisabled { .. }
        );
        assert!(expected && error.hint().is_some(), "{error}");
    } else {
        panic!("buffered polling passed");
    }
}

#[test]
fn a_probe_warns_of_trims_that_delay_others() {
    let scratch = Scratch::new(&[0; 4096]);
    let mut plan = plan(EngineKind::Libaio, Rw::Randtrim, vec![scratch.plan()]);
    assert_eq!(probe::check(&plan).unwrap()[0].code, "engine_fallback");
    plan.iodepth = 1;
    assert_eq!(probe::check(&plan).unwrap(), []);
}

/// For direct I/O a trial read decides, whose outcome depends on the filesystem. All else always goes to kernel
/// threads.
#[test]
fn the_probe_knows_which_requests_io_uring_hands_to_kernel_threads() {
    let scratch = Scratch::new(&[0; 4096]);
    let handed_over = |kind, rw, change: &dyn Fn(&mut WorkerPlan)| {
        let mut plan = plan(kind, rw, vec![scratch.plan()]);
        plan.engine.direct = true;
        change(&mut plan);
        probe::handed_over(&plan)
    };
    let uring = EngineKind::IoUring;
    assert!(handed_over(uring, Rw::Randread, &|plan| plan.engine.direct = false).unwrap());
    assert!(handed_over(uring, Rw::Randwrite, &|plan| plan.pattern.fsync_every = 8).unwrap());
    assert!(
        handed_over(uring, Rw::Randwrite, &|plan| plan.pattern.fdatasync_every =
            8)
        .unwrap()
    );
    assert!(handed_over(uring, Rw::Randtrim, &|_| ()).unwrap());
    for kind in [
        EngineKind::Libaio,
        EngineKind::Psync,
        EngineKind::Pvsync2,
        EngineKind::Null,
    ] {
        assert!(!handed_over(kind, Rw::Randread, &|plan| plan.engine.direct = false).unwrap());
    }
    let reads = handed_over(uring, Rw::Randread, &|_| ());
    assert!(matches!(reads, Ok(_) | Err(Error::NoDirect { .. })));
    if let Ok(reads) = reads {
        // Reads alone need no sync, so fsync_every makes no difference.
        let synced = handed_over(uring, Rw::Randread, &|plan| plan.pattern.fsync_every = 8);
        assert_eq!(synced.unwrap(), reads);
    }
}
