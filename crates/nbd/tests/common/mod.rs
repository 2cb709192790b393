//! Runs a server for a test, on its own socket: memory that answers after 10 ms, or flash.
#![allow(dead_code, missing_docs)]

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iogauge_model::DriveSpec;
use iogauge_nbd::client::Client;
use iogauge_nbd::{Config, Limits, Listen, Server, Summary};

/// The model's least time for a request: long enough that a busy machine adds less than the limit on the bias.
pub const LATENCY: Duration = Duration::from_millis(10);
/// Bytes of the export.
pub const SIZE: u64 = 1 << 40;

/// Creates a drive that answers every request after [`LATENCY`] at any load.
pub fn drive() -> DriveSpec {
    let spec = serde_json::json!({
        "capacity_bytes": SIZE,
        "controllers": 1,
        "stripe_bytes": 131_072,
        "max_transfer_bytes": 1 << 30,
        "link": {"kind": "pcie", "generation": 6, "lanes": 16, "efficiency": 1.0, "switch_ns": 0.0},
        "media": {"family": "ram", "latency_ns": LATENCY.as_nanos() as f64},
        "power": {"idle_W": 0.0, "read_W": 0.0, "write_W": 0.0, "states": []},
        "thermal": null,
    });
    serde_json::from_value(spec).expect("a specification")
}

/// Creates memory behind a link that carries 50 MB/s.
pub fn slow() -> DriveSpec {
    let mut spec = serde_json::to_value(drive()).expect("a specification");
    spec["link"] = serde_json::json!({
        "kind": "pcie", "generation": 1, "lanes": 1, "efficiency": 0.2, "switch_ns": 0.0,
    });
    serde_json::from_value(spec).expect("a specification")
}

/// Creates flash that is far faster than real ones. Its commands of 128 KiB have many pages, for the most state for
/// each request.
pub fn flash() -> DriveSpec {
    let mut spec = serde_json::to_value(drive()).expect("a specification");
    spec["max_transfer_bytes"] = 131_072.into();
    spec["media"] = serde_json::json!({
        "family": "nand", "initial": "sequential",
        "dies": 64, "planes": 2, "channels": 16, "page_bytes": 16_384, "pages_per_block": 64, "channel_Bps": 1e11,
        "command_ns": 10.0,
        "read_latency_ns": LATENCY.as_nanos() as f64, "read_jitter_ns": 0.0,
        "write_latency_ns": LATENCY.as_nanos() as f64, "write_jitter_ns": 0.0,
        "read_ns": 100.0, "slow_read_ns": 100.0, "slow_read_share": 0.0, "retry_share": 0.0, "retry_ns": 0.0,
        "stalls": [], "program_ns": 400.0, "program_spread": 0.0, "erase_ns": 1_000.0, "suspend_ns": null,
        "reads_before_write": 64, "buffer_bytes": 4 << 20, "buffer_protected": true, "drain_after_ns": 1e6,
        "over_provisioning": 0.2, "slc": null, "trim_mebibyte_ns": 1_000.0,
    });
    serde_json::from_value(spec).expect("a specification")
}

/// Creates a configuration: real time, data of a few MiB, and few clients.
pub fn config(socket: PathBuf) -> Config {
    Config {
        dilate: 1.try_into().expect("one is not zero"),
        memory_bytes: 4 << 20,
        limits: Limits {
            connections: 8,
            depth: 64,
            negotiation: Duration::from_millis(500),
        },
        ..Config::new(Listen::Unix(socket), "drive")
    }
}

/// Serves memory while `test` runs, and returns the summary.
pub fn served(change: impl Fn(&mut Config), test: impl FnOnce(&Path)) -> Summary {
    served_on(&drive(), change, test)
}

/// Serves the given drive in the same way.
pub fn served_on(
    drive: &DriveSpec,
    change: impl Fn(&mut Config),
    test: impl FnOnce(&Path),
) -> Summary {
    served_from(None, drive, change, test)
}

/// Serves data from a file in the same way.
pub fn served_from(
    file: Option<File>,
    drive: &DriveSpec,
    change: impl Fn(&mut Config),
    test: impl FnOnce(&Path),
) -> Summary {
    let place = tempfile::tempdir().unwrap();
    let socket = place.path().join("socket");
    let mut config = config(socket.clone());
    change(&mut config);
    let server = Server::bind(&config, drive, 1, file).unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&stop).unwrap());
        let stopped = Stopper(&stop);
        test(&socket);
        drop(stopped);
        serving.join().unwrap()
    })
}

/// Stops the server even if the test panics. Otherwise the test would wait for it for ever.
struct Stopper<'a>(&'a AtomicBool);

impl Drop for Stopper<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Connects a client. Waits as long as there are too many.
pub fn client(socket: &Path) -> Client<UnixStream> {
    let begun = Instant::now();
    loop {
        match Client::new(UnixStream::connect(socket).unwrap(), "drive") {
            Ok(client) => return client,
            Err(error) => assert!(begun.elapsed() < Duration::from_secs(600), "{error}"),
        }
        std::thread::yield_now();
    }
}
