//! Faults and power cuts of a served drive, as its clients see them.
#![allow(missing_docs)]

mod common;

use std::fs::File;
use std::io::ErrorKind;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use common::{client, config, drive};
use iogauge_nbd::client::Client;
use iogauge_nbd::faults::{FaultKind, FaultSpec, Faults, Keep, PowerCut, When};
use iogauge_nbd::protocol::wire;
use iogauge_nbd::{Server, Summary};

const CACHE: u64 = 1 << 20;

fn faults(kind: FaultKind, requests: Vec<u64>) -> Faults {
    Faults {
        seed: 1,
        specs: vec![FaultSpec {
            kind,
            when: When::At(requests),
            offset_bytes: 0,
            size_bytes: None,
            most: None,
            unit_bytes: 512,
            delay_ns: 0,
            across_flush: false,
        }],
        write_cache_bytes: CACHE,
        power_cut: PowerCut {
            at_request: None,
            after_ns: None,
            keep: Keep::None,
            atomic_bytes: 4096,
            ends: false,
        },
    }
}

/// Serves while `test` runs. It gets the socket, and the switch that cuts the power. Returns the summary and what was
/// noted of faults: kinds and numbers of requests.
fn served(faults: Faults, test: impl FnOnce(&Path, &AtomicBool)) -> (Summary, Vec<(String, u64)>) {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("socket");
    let mut config = config(socket.clone());
    config.faults = Some(faults);
    let mut server = Server::bind(&config, &drive(), 1, None).unwrap();
    let log = place.path().join("faults");
    server.note_faults(File::create(&log).unwrap());
    let (stop, power) = (AtomicBool::new(false), server.power_switch());
    let summary = std::thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&stop).unwrap());
        let outcome =
            std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| test(&socket, &power)));
        stop.store(true, Ordering::Relaxed);
        let summary = serving.join().unwrap();
        outcome.unwrap();
        summary
    });
    let noted = std::fs::read_to_string(&log).unwrap();
    let lines = noted.lines().map(|line| {
        let fault: serde_json::Value = serde_json::from_str(line).unwrap();
        (
            fault["kind"].as_str().unwrap().to_owned(),
            fault["request"].as_u64().unwrap(),
        )
    });
    (summary, lines.collect())
}

fn read(socket: &Path) -> [u8; 4096] {
    let mut block = [9; 4096];
    client(socket).read(0, &mut block).unwrap().unwrap();
    block
}

#[test]
fn a_lost_flush_shows_after_a_power_cut() {
    let (summary, noted) = served(faults(FaultKind::LostFlush, vec![4]), |socket, power| {
        let mut one = client(socket);
        one.write(0, &mut [1; 4096]).unwrap().unwrap();
        one.command(wire::CMD_FLUSH, 0, 0, 0).unwrap().unwrap();
        one.write(0, &mut [2; 4096]).unwrap().unwrap();
        one.command(wire::CMD_FLUSH, 0, 0, 0).unwrap().unwrap();
        assert_eq!(read(socket), [2; 4096]);
        power.store(true, Ordering::Relaxed);
        // The connection is closed by the cut, however long that takes to be noticed.
        while one.read(0, &mut [0; 512]).is_ok() {}
        assert_eq!(read(socket), [1; 4096]);
    });
    assert_eq!((summary.power_cuts, summary.faults), (1, 1));
    assert_eq!(noted[0], ("lost-flush".into(), 4));
    assert_eq!(noted[1].0, "power-cut");
}

#[test]
fn a_power_cut_before_a_request_leaves_what_was_flushed_or_had_fua() {
    let mut plan = faults(FaultKind::LostFlush, Vec::new());
    plan.power_cut.at_request = Some(3);
    let (_, noted) = served(plan, |socket, _| {
        let mut one = client(socket);
        one.request(wire::CMD_WRITE, wire::FLAG_FUA, 0, 512, &mut [1; 512])
            .unwrap()
            .unwrap();
        one.write(512, &mut [2; 512]).unwrap().unwrap();
        let gone = one.command(wire::CMD_FLUSH, 0, 0, 0).unwrap_err();
        assert!(matches!(
            gone.kind(),
            ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset
        ));
        let left = read(socket);
        assert_eq!((left[0], left[511], left[512]), (1, 1, 0));
    });
    assert_eq!(noted, [("power-cut".to_owned(), 3)]);
}

#[test]
fn a_power_cut_can_end_the_service() {
    let mut plan = faults(FaultKind::LostFlush, Vec::new());
    (plan.power_cut.at_request, plan.power_cut.ends) = (Some(1), true);
    let (summary, _) = served(plan, |socket, _| {
        assert!(client(socket).read(0, &mut [0; 512]).is_err());
        // Nobody listens any more once the service has ended.
        while socket.exists() {
            std::thread::yield_now();
        }
    });
    assert_eq!((summary.power_cuts, summary.requests), (1, 1));
}

#[test]
fn a_late_write_comes_after_its_client_is_gone() {
    // On a busy machine the late write may come before the newer one; then with more delay.
    let overtakes = |delay: Duration| {
        let mut plan = faults(FaultKind::Late, vec![1]);
        plan.specs[0].delay_ns = delay.as_nanos() as u64;
        let mut overtaken = false;
        let (_, noted) = served(plan, |socket, _| {
            let stream = UnixStream::connect(socket).unwrap();
            stream
                .set_read_timeout(Some(Duration::from_millis(20)))
                .unwrap();
            // It may not even wait long enough for the negotiation.
            let Ok(mut impatient) = Client::new(stream, "drive") else {
                return;
            };
            assert!(impatient.write(0, &mut [1; 4096]).is_err());
            drop(impatient);
            client(socket).write(0, &mut [2; 4096]).unwrap().unwrap();
            overtaken = read(socket) == [2; 4096];
            while read(socket) != [1; 4096] && overtaken {
                std::thread::yield_now();
            }
        });
        overtaken && noted == [("late".to_owned(), 1)]
    };
    assert!((0..8).any(|power| overtakes(Duration::from_millis(200 << power))));
}

#[test]
fn a_request_is_smaller_than_what_would_not_be_gathered() {
    served(faults(FaultKind::TornWrite, vec![2]), |socket, _| {
        let mut one = client(socket);
        let mut large = vec![1; 1 << 20];
        one.write(0, &mut large).unwrap().unwrap();
        one.write(0, &mut vec![2; 1 << 20]).unwrap().unwrap();
        one.read(0, &mut large).unwrap().unwrap();
        assert!(large.contains(&1) && large.contains(&2));
        // More than was promised ends the session.
        assert!(one.write(0, &mut vec![1; (1 << 20) + 512]).is_err());
        assert_eq!(read(socket)[0], large[0]);
    });
}
