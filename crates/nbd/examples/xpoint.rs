//! A 3D XPoint drive with plausible parameters: served to other programs, or run in virtual time to compare with.
//!
//!     cargo run --release -p iogauge-nbd --example xpoint -- serve SOCKET [DILATION [GIBIBYTES [FILE]]]
//!     cargo run --release -p iogauge-nbd --example xpoint -- run randread THREADS DEPTH
//!
//! It serves until its standard input ends.

use std::io::Read;
use std::num::NonZeroU32;
use std::sync::atomic::{AtomicBool, Ordering};

use iogauge_core::plan::{RunPlan, Rw, WorkerPlan};
use iogauge_core::testing;
use iogauge_core::time::{MILLISECOND, SECOND};
use iogauge_model::{Machine, Told, Xpoint};
use iogauge_nbd::{Config, Data, Listen, Server};

fn drive() -> Xpoint {
    let spec = serde_json::json!({
        "capacity_bytes": 32u64 << 30,
        "read_chunk_ns": 1650.0,
        "write_chunk_ns": 1900.0,
        "turnaround_ns": 500.0,
        "read_latency_ns": 5800.0,
        "write_latency_ns": 6200.0,
        "jitter_ns": 150.0,
        "stalls": [{"every_services": 100.0, "mean_ns": 5000.0}],
        "link_Bps": 3.2e9,
        "command_ns": 300.0
    });
    Xpoint::new(serde_json::from_value(spec).expect("a specification"), 1)
}

fn main() {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let words: Vec<&str> = words.iter().map(String::as_str).collect();
    match words[..] {
        ["serve", socket] => serve(socket, "100", "32", None),
        ["serve", socket, dilate] => serve(socket, dilate, "32", None),
        ["serve", socket, dilate, gibibytes] => serve(socket, dilate, gibibytes, None),
        ["serve", socket, dilate, gibibytes, file] => serve(socket, dilate, gibibytes, Some(file)),
        ["run", rw, threads, depth] => run(rw, threads, depth),
        _ => panic!("serve SOCKET [DILATION [GIBIBYTES [FILE]]], or run randread|randwrite THREADS DEPTH"),
    }
}

fn serve(socket: &str, dilate: &str, gibibytes: &str, file: Option<&str>) {
    let mut config = Config::new(Listen::Unix(socket.into()), "xpoint");
    config.dilate = dilate.parse::<NonZeroU32>().expect("a dilation");
    config.size_bytes = Some(gibibytes.parse::<u64>().expect("a size") << 30);
    if let Some(path) = file {
        config.data = Data::File(path.into());
    }
    let server = match Server::bind(&config, drive) {
        Ok(server) => server,
        Err(refused) => {
            eprintln!("{refused}\nhint: {}", refused.hint().unwrap_or_default());
            std::process::exit(1);
        }
    };
    println!("{:?}", server.bias());
    let stop = AtomicBool::new(false);
    let served = std::thread::scope(|scope| {
        scope.spawn(|| {
            // However it ends, it has ended.
            let _ = std::io::stdin().read_to_end(&mut Vec::new());
            stop.store(true, Ordering::Relaxed);
        });
        server.serve(&stop)
    });
    println!("{served:?}");
}

/// What threads at a depth see for a second of virtual time, when the machine costs nothing.
fn run(rw: &str, threads: &str, depth: &str) {
    let rw = match rw {
        "randread" => Rw::Randread,
        "randwrite" => Rw::Randwrite,
        _ => panic!("randread or randwrite"),
    };
    let depth = depth.parse().expect("a depth");
    let worker = |index: u64| WorkerPlan {
        seed: 42 + index,
        iodepth: depth,
        iodepth_low: depth,
        files: vec![testing::file(1 << 17)],
        time_based: true,
        runtime_ns: SECOND,
        ..testing::plan(rw)
    };
    let threads: u64 = threads.parse().expect("a number of threads");
    let plan = RunPlan {
        schema_version: 1,
        seed: 1,
        interval_ns: 100 * MILLISECOND,
        give_up_ns: SECOND,
        stages: vec![testing::stage((0..threads).map(worker).collect())],
        request_log: true,
        request_log_capacity: 1,
    };
    let mut latencies: Vec<u64> = Vec::new();
    let mut sink = |told| {
        if let Told::Request(record) = told {
            latencies.push(record.done_ns - record.start_ns);
        }
    };
    let mut drive = drive();
    iogauge_model::run(&plan, &Machine::IDEAL, &mut drive, (), &mut sink, &mut || true)
        .expect("a plan that can be drawn");
    latencies.sort_unstable();
    let quantile = |share: f64| latencies[(latencies.len() as f64 * share) as usize];
    let mean = latencies.iter().sum::<u64>() / latencies.len() as u64;
    println!(
        "{threads} threads x depth {depth}: p50 {} ns, p99 {} ns, mean {mean} ns, {} IOPS",
        quantile(0.5),
        quantile(0.99),
        latencies.len()
    );
}
