//! Tests the server with well-behaved programs: data, the time of requests, and the end of service.

use std::fs::File;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::num::NonZeroU32;
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use iogauge_nbd::client::Client;
use iogauge_nbd::protocol::MOST_PAYLOAD;
use iogauge_nbd::protocol::wire::{self, Refusal};
use iogauge_nbd::{Config, Error, Listen, Server};

mod common;
use common::{LATENCY, client, config, drive, served, served_from, served_on, slow};

#[test]
fn data_is_kept_and_shared_by_all_connections() {
    let summary = served(
        |_| (),
        |socket| {
            let (mut one, mut other) = (client(socket), client(socket));
            let mut block: Vec<u8> = (0..8192u32).map(|byte| (byte % 251) as u8).collect();
            let written = block.clone();
            one.write(1 << 30, &mut block).unwrap().unwrap();
            one.command(wire::CMD_FLUSH, 0, 0, 0).unwrap().unwrap();
            other.read(1 << 30, &mut block).unwrap().unwrap();
            assert_eq!(block, written);
            other
                .command(wire::CMD_TRIM, 0, 1 << 30, 512)
                .unwrap()
                .unwrap();
            one.read(1 << 30, &mut block).unwrap().unwrap();
            assert_eq!(block[..512], [0; 512]);
            assert_eq!(block[512..], written[512..]);
        },
    );
    assert_eq!((summary.connections, summary.requests), (2, 5));
    assert_eq!((summary.read_bytes, summary.written_bytes), (16_384, 8192));
}

/// Bytes that a server sends before its first reply.
const GREETING: usize = 18 + 10;

/// Returns the bytes of a client that negotiates and sends `requests` requests at once.
fn words(command: u16, requests: usize, length_bytes: u32) -> Vec<u8> {
    let mut bytes = (wire::FIXED_NEWSTYLE | wire::NO_ZEROES)
        .to_be_bytes()
        .to_vec();
    wire::option(&mut bytes, wire::OPT_EXPORT_NAME, b"drive");
    for _ in 0..requests {
        wire::request(&mut bytes, 0, command, 7, 0, length_bytes);
    }
    bytes
}

/// Connects and sends `requests` requests at once.
fn asking(socket: &Path, command: u16, requests: usize, length_bytes: u32) -> UnixStream {
    let mut stream = UnixStream::connect(socket).unwrap();
    stream
        .write_all(&words(command, requests, length_bytes))
        .unwrap();
    stream
}

/// Sends `requests` requests at once, and waits for their replies, which have no data. Returns the time.
fn pipelined(socket: &Path, command: u16, requests: usize) -> Duration {
    let began = Instant::now();
    let stream = UnixStream::connect(socket).unwrap();
    let mut replies = vec![0; GREETING + requests * 16];
    // The server stops reading while its replies are not taken.
    thread::scope(|scope| {
        scope.spawn(|| (&stream).write_all(&words(command, requests, 0)).unwrap());
        (&stream).read_exact(&mut replies).unwrap();
    });
    began.elapsed()
}

#[test]
fn no_reply_comes_early_and_none_is_forgotten() {
    let slower = |config: &mut Config| config.dilate = NonZeroU32::new(5).unwrap();
    served(slower, |socket| {
        let mut one = client(socket);
        let began = Instant::now();
        one.read(0, &mut [0; 512]).unwrap().unwrap();
        assert!(began.elapsed() >= 5 * LATENCY);
        // More than the 64 that a connection may have unanswered, so there are eight rounds.
        assert!(pipelined(socket, wire::CMD_FLUSH, 500) >= 8 * 5 * LATENCY);
    });
}

#[test]
fn requests_that_can_be_answered_end_the_sleep() {
    // The requests are refused at once. If the server took 64 of them and then slept until bytes come, it would sleep
    // 400 times.
    let summary = served(
        |_| (),
        |socket| {
            pipelined(socket, 99, 25_600);
        },
    );
    assert!(summary.idle_sleeps < 300, "{}", summary.idle_sleeps);
}

/// Slows time down three times: 32 MiB take two seconds, in which the server notices that a client has disconnected.
fn dilated(config: &mut Config) {
    config.dilate = NonZeroU32::new(3).unwrap();
}

#[test]
fn requests_of_a_closed_connection_are_dropped() {
    let summary = served_on(&slow(), dilated, |socket| {
        let mut gone = asking(socket, wire::CMD_READ, 60, MOST_PAYLOAD);
        // The client was greeted, so it is served. It disconnects without its 1.9 GiB.
        gone.read_exact(&mut [0; GREETING]).unwrap();
        drop(gone);
        client(socket).read(0, &mut [0; 512]).unwrap().unwrap();
    });
    assert!(summary.requests >= 1);
    assert!(
        summary.read_bytes < 2 * u64::from(MOST_PAYLOAD),
        "{} bytes were still read",
        summary.read_bytes
    );
}

#[test]
fn a_client_with_many_requests_leaves_others_their_turn() {
    let summary = served_on(
        &slow(),
        |_| (),
        |socket| {
            let mut greedy = asking(socket, wire::CMD_READ, 16, MOST_PAYLOAD);
            greedy.read_exact(&mut [0; GREETING]).unwrap();
            let mut other = client(socket);
            for _ in 0..3 {
                other.read(0, &mut [0; 512]).unwrap().unwrap();
            }
        },
    );
    assert!(summary.read_bytes < 8 * u64::from(MOST_PAYLOAD));
}

#[test]
fn tcp_is_served_in_the_same_way() {
    let place = tempfile::tempdir().unwrap();
    let mut config = config(place.path().join("unused"));
    config.listen = Listen::Tcp {
        address: "127.0.0.1:0".parse().unwrap(),
        allow_remote: false,
    };
    let server = Server::bind(&config, &drive(), 1, None).unwrap();
    let address = server.address().unwrap();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let serving = scope.spawn(|| server.serve(&stop).unwrap());
        let read = TcpStream::connect(address)
            .and_then(|stream| Client::new(stream, ""))
            .and_then(|mut client| client.read(0, &mut [0; 512]));
        stop.store(true, Ordering::Relaxed);
        assert_eq!(read.unwrap(), Ok(()));
        assert_eq!(serving.join().unwrap().requests, 1);
    });
}

#[test]
fn a_file_outlives_its_server_and_may_be_served_read_only() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("data");
    File::create_new(&path).unwrap().set_len(1 << 20).unwrap();
    let sized = |config: &mut Config| config.size_bytes = Some(1 << 20);
    let file = File::options().read(true).write(true).open(&path).unwrap();
    served_from(Some(file), &drive(), sized, |socket| {
        client(socket).write(4096, &mut [3; 512]).unwrap().unwrap();
    });
    let read_only = |config: &mut Config| {
        sized(config);
        config.read_only = true;
    };
    let file = File::open(&path).unwrap();
    served_from(Some(file), &drive(), read_only, |socket| {
        let mut client = client(socket);
        let mut block = [0; 512];
        client.read(4096, &mut block).unwrap().unwrap();
        assert_eq!(block, [3; 512]);
        let refused = client.write(4096, &mut block).unwrap();
        assert_eq!(refused, Err(Refusal::NotPermitted as u32));
    });
}

#[test]
fn a_model_that_would_mislead_is_not_served() {
    let place = tempfile::tempdir().unwrap();
    let mut config = config(place.path().join("socket"));
    let quick = serde_json::json!({"family": "ram", "latency_ns": 100.0});
    let mut spec = drive();
    spec.media = serde_json::from_value(quick).unwrap();
    let refused = Server::bind(&config, &spec, 1, None).err().unwrap();
    let Error::TooBiased { enough, .. } = refused else {
        panic!("{refused}");
    };
    assert!(
        refused
            .hint()
            .unwrap()
            .contains(&format!("a dilation of {enough},"))
    );
    // The socket's file was removed.
    assert!(!place.path().join("socket").exists());
    config.size_bytes = Some(513);
    let refused = Server::bind(&config, &drive(), 1, None).err().unwrap();
    assert!(matches!(refused, Error::Size { .. }), "{refused}");
}
