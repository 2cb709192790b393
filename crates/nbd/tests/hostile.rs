//! Clients that violate the protocol, flood the server, stop half-way or disconnect. The server's memory stays bounded,
//! and it serves the others.
#![allow(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use iogauge_core::generate::{Rng, Stream};
use iogauge_nbd::client::Client;
use iogauge_nbd::protocol::MOST_PAYLOAD;
use iogauge_nbd::protocol::wire::{self, Refusal};
use iogauge_nbd::{Config, Limits};

mod common;
use common::{SIZE, client, drive, flash, served_on};

/// The system's allocator, counting the bytes in use.
struct Counting;

static LIVE: AtomicI64 = AtomicI64::new(0);
static MOST: AtomicI64 = AtomicI64::new(0);

fn count(bytes: i64) {
    let live = LIVE.fetch_add(bytes, Ordering::Relaxed) + bytes;
    MOST.fetch_max(live, Ordering::Relaxed);
}

// SAFETY: every call is passed on unchanged to the system's allocator, whose contract is the same.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(layout.size() as i64);
        // SAFETY: the caller keeps the contract, which is the same.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        count(-(layout.size() as i64));
        // SAFETY: as above.
        unsafe { System.dealloc(pointer, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes for eight connections with two buffers each (twice as much while a vector grows), their requests and replies,
/// and the data. Their requests in a drive need no more than that.
const MOST_HELD: i64 = 8 * (512 << 10) + (4 << 20);

fn hello() -> Vec<u8> {
    let mut bytes = (wire::FIXED_NEWSTYLE | wire::NO_ZEROES)
        .to_be_bytes()
        .to_vec();
    wire::option(&mut bytes, wire::OPT_GO, &[0; 6]);
    bytes
}

fn request(flags: u16, command: u16, offset: u64, length: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    wire::request(&mut bytes, flags, command, 7, offset, length);
    bytes
}

/// Sends as much as the server takes within a fifth of a second. The server may close the connection.
fn press(stream: &mut UnixStream, bytes: &[u8]) {
    let patience = Some(Duration::from_millis(200));
    stream.set_write_timeout(patience).unwrap();
    if let Err(error) = stream.write_all(bytes) {
        let expected = [
            ErrorKind::WouldBlock,
            ErrorKind::BrokenPipe,
            ErrorKind::ConnectionReset,
        ];
        assert!(expected.contains(&error.kind()), "{error}");
    }
}

fn works(socket: &Path) {
    let mut client = client(socket);
    let mut block = [5; 4096];
    assert_eq!(client.write(8192, &mut block).unwrap(), Ok(()));
    block.fill(0);
    assert_eq!(client.read(8192, &mut block).unwrap(), Ok(()));
    assert_eq!(block, [5; 4096]);
    client
        .command(wire::CMD_TRIM, 0, 8192, 4096)
        .unwrap()
        .unwrap();
}

/// This is one test, since memory is counted for the entire process.
#[test]
fn memory_is_bounded_and_others_are_served_despite_hostile_clients() {
    for drive in [drive(), flash()] {
        let limits = |config: &mut Config| {
            config.limits = Limits {
                negotiation: Duration::from_millis(500),
                ..Limits::default()
            };
        };
        let summary = served_on(&drive, limits, |socket| {
            // The drive's own memory is allocated by now.
            works(socket);
            let before = LIVE.load(Ordering::Relaxed);
            MOST.store(before, Ordering::Relaxed);
            let own = floods(socket);
            let most = MOST.load(Ordering::Relaxed) - before - own;
            assert!(most < MOST_HELD, "{most} bytes");
            disconnects(socket);
            garbage(socket);
            crowd(socket);
            works(socket);
        });
        assert!(summary.turned_away > 0);
        assert!(summary.requests > 100);
    }
}

/// Floods the server. Returns the most bytes that the client itself needed.
fn floods(socket: &Path) -> i64 {
    // Reads of far more data than there is memory, whose replies the client does not take.
    let reads = request(0, wire::CMD_READ, 0, MOST_PAYLOAD).repeat(20_000);
    let flushes = request(0, wire::CMD_FLUSH, 0, 0).repeat(20_000);
    let refused = request(0, 99, 0, 0).repeat(20_000);
    let mut lists = hello()[..4].to_vec();
    for _ in 0..20_000 {
        wire::option(&mut lists, wire::OPT_LIST, &[]);
    }
    let mut streams: Vec<UnixStream> = Vec::new();
    for flood in [&reads, &flushes, &refused] {
        let mut stream = UnixStream::connect(socket).unwrap();
        stream.write_all(&hello()).unwrap();
        press(&mut stream, flood);
        streams.push(stream);
    }
    let mut stream = UnixStream::connect(socket).unwrap();
    press(&mut stream, &lists);
    streams.push(stream);
    // All clients are still connected, and another one is served.
    works(socket);
    // Writes more data than there is room for.
    let mut filler = client(socket);
    let mut block = vec![1; 1 << 20];
    let full = (0..8).map(|index| filler.write(index << 30, &mut block).unwrap());
    assert_eq!(full.last(), Some(Err(Refusal::NoSpace as u32)));
    for index in 0..8 {
        let zero = filler.command(wire::CMD_WRITE_ZEROES, 0, index << 30, 1 << 20);
        assert_eq!(zero.unwrap(), Ok(()));
    }
    // A read of 4 GiB is too long, and so are zeroes that take up space. A trim may have that length.
    let all = u32::MAX - 511;
    let read = filler.command(wire::CMD_READ, 0, 0, all).unwrap();
    assert_eq!(read, Err(Refusal::Invalid as u32));
    let held = wire::FLAG_NO_HOLE;
    let zero = filler
        .command(wire::CMD_WRITE_ZEROES, held, 0, all)
        .unwrap();
    assert_eq!(zero, Err(Refusal::Overflow as u32));
    let trim = filler.command(wire::CMD_TRIM, 0, SIZE - u64::from(all), all);
    assert_eq!(trim.unwrap(), Ok(()));
    let mut over = UnixStream::connect(socket).unwrap();
    over.write_all(&hello()).unwrap();
    press(&mut over, &request(0, wire::CMD_WRITE, 0, u32::MAX));
    let mut reply = Vec::new();
    // The server closes the connection, whether or not it has read everything.
    let _ = over.read_to_end(&mut reply);
    let own = [&reads, &flushes, &refused, &lists, &block, &reply];
    own.map(|bytes| bytes.capacity() as i64).iter().sum()
}

/// Disconnects, or only stops sending, after each byte of a conversation.
fn disconnects(socket: &Path) {
    let mut bytes = hello();
    bytes.extend(request(0, wire::CMD_WRITE, 0, 512));
    bytes.extend([1; 512]);
    bytes.extend(request(wire::FLAG_FUA, wire::CMD_WRITE_ZEROES, 0, 512));
    bytes.extend(request(0, wire::CMD_READ, 0, 512));
    bytes.extend(request(0, wire::CMD_DISC, 0, 0));
    for length in 0..=bytes.len() {
        let mut stream = UnixStream::connect(socket).unwrap();
        press(&mut stream, &bytes[..length]);
        if length % 7 == 0 {
            stream.shutdown(std::net::Shutdown::Write).unwrap();
            let mut reply = Vec::new();
            // A complete request is answered, unless the server had too many clients.
            let _ = stream.read_to_end(&mut reply);
        }
    }
    works(socket);
}

fn garbage(socket: &Path) {
    let polite = [hello(), request(0, wire::CMD_READ, 0, 512)].concat();
    let mut rng = Rng::new(3, Stream::Offsets);
    for round in 0..200 {
        let noise: Vec<u8> = (0..rng.below(3000)).map(|_| rng.below(256) as u8).collect();
        let mut stream = UnixStream::connect(socket).unwrap();
        press(&mut stream, &polite[..round % polite.len()]);
        press(&mut stream, &noise);
    }
    works(socket);
}

/// Connects more clients than the limit. None sends anything, and each is closed when its time to negotiate is over.
fn crowd(socket: &Path) {
    let silent: Vec<UnixStream> = (0..100)
        .map(|_| UnixStream::connect(socket).unwrap())
        .collect();
    works(socket);
    for mut stream in silent {
        let mut reply = Vec::new();
        let _ = stream.read_to_end(&mut reply);
        assert!(reply.len() <= 18);
    }
    let stream = UnixStream::connect(socket).unwrap();
    let other = Client::new(stream, "other").unwrap_err();
    assert_eq!(other.kind(), ErrorKind::NotFound);
}
