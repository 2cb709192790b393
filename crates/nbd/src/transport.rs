//! Measures the bias before a model is served: how much longer than the model a program will wait.
//!
//! A program that waits for a reply sleeps, and so does the server with no request in flight. Both wake late, by a time
//! that does not depend on the model. This crate's client measures that time over the same kind of socket. The bias is
//! its ratio to the model's mean read latency.

use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iogauge_core::generate::{Rng, Stream};
use iogauge_core::time::MILLISECOND;
use iogauge_core::{Kind, Nanos};
use iogauge_model::{Access, Active, Drive, Returned};

use crate::bias::Bias;
use crate::client::Client;
use crate::disk::Disk;
use crate::error::Error;
use crate::listen::Listen;
use crate::protocol::Export;
use crate::reactor::{Limits, Reactor};
use crate::store::MemoryStore;
use crate::timely::Timely;

/// Bytes of a read.
const BLOCK: u32 = 4096;
/// Reads of the drive that give its mean.
const READS: u32 = 1000;
/// Reads over the transport that give its median, after a sixth of them to warm up.
const ROUND_TRIPS: usize = 300;
/// Longest delay of a reply in the measurement: CPUs hardly sleep more deeply in a longer one, and the measurement must
/// be short.
const LONGEST_HOLD: Nanos = MILLISECOND;

/// Measures the bias of the separate drive `scratch` over a socket like `listen`.
pub(crate) fn measure(
    scratch: impl Drive,
    size_bytes: u64,
    dilate: u32,
    listen: &Listen,
    spin: Duration,
) -> Result<Bias, Error> {
    let drive_ns = mean_read_ns(scratch, size_bytes).max(1);
    let expected = drive_ns.saturating_mul(dilate.into());
    let hold = expected.min(LONGEST_HOLD);
    let overhead_ns = overhead(listen, hold, spin).map_err(|cause| Error::Call {
        call: "measuring the transport",
        cause,
    })?;
    Ok(Bias {
        overhead_ns,
        drive_ns,
        fraction: overhead_ns as f64 / expected as f64,
    })
}

/// Returns the drive's mean latency of a random read, one at a time, in its own time.
fn mean_read_ns(drive: impl Drive, size_bytes: u64) -> Nanos {
    let mut drive = Timely::new(drive);
    let mut rng = Rng::new(1, Stream::Offsets);
    let mut returned: Vec<Returned> = Vec::new();
    let blocks = (size_bytes / u64::from(BLOCK)).max(1);
    let mut now = 0;
    for ticket in 0..u64::from(READS) {
        let access = Access {
            ticket,
            kind: Kind::Read,
            offset_bytes: rng.below(blocks) * u64::from(BLOCK),
            length_bytes: u64::from(BLOCK).min(size_bytes) as u32,
            durable: false,
        };
        drive.submit(now, access);
        while let (true, Some(event)) = (returned.is_empty(), drive.next_event()) {
            now = event;
            drive.advance(now, &mut returned);
        }
        returned.clear();
    }
    now / u64::from(READS)
}

/// A drive that takes the same time for every request.
struct Fixed(Nanos);

impl Drive for Fixed {
    fn submit(&mut self, now: Nanos, _: Access) -> Option<Nanos> {
        Some(now + self.0)
    }

    fn next_event(&self) -> Option<Nanos> {
        None
    }

    fn advance(&mut self, _: Nanos, _: &mut Vec<Returned>) {}

    fn active(&self) -> Active {
        Active::default()
    }
}

/// Returns the server's and the client's end of a connection of the kind of `listen`.
fn connected_pair(listen: &Listen) -> io::Result<(OwnedFd, Box<dyn Duplex + Send>)> {
    match listen {
        Listen::Unix(_) => {
            let (server, client) = UnixStream::pair()?;
            server.set_nonblocking(true)?;
            Ok((server.into(), Box::new(client)))
        }
        Listen::Tcp { .. } => {
            let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
            let client = TcpStream::connect(listener.local_addr()?)?;
            let (server, _) = listener.accept()?;
            server.set_nonblocking(true)?;
            server.set_nodelay(true)?;
            client.set_nodelay(true)?;
            Ok((server.into(), Box::new(client)))
        }
    }
}

trait Duplex: io::Read + io::Write {}
impl<T: io::Read + io::Write> Duplex for T {}

/// Returns the median by which a client waits longer than `hold` for a reply that is due after it.
fn overhead(listen: &Listen, hold: Nanos, spin: Duration) -> io::Result<Nanos> {
    let (server, client) = connected_pair(listen)?;
    let stop = AtomicBool::new(false);
    let mut reactor = Reactor {
        drive: Timely::new(Fixed(hold)),
        queue: None,
        disk: Disk::Sound(Box::new(MemoryStore::new(0))),
        injections: None,
        power_switch: Arc::default(),
        export: Arc::new(Export {
            name: String::new(),
            size_bytes: BLOCK.into(),
            read_only: true,
            most_payload: BLOCK,
        }),
        limits: Limits::default(),
        dilate: 1,
        spin,
    };
    std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let median = median_round_trip(client);
            stop.store(true, Ordering::Relaxed);
            median
        });
        let served = reactor.serve(None, vec![server], &stop);
        // If the server failed, its end is closed, so the reader's calls fail.
        let median = reader.join().map_err(|_| io::ErrorKind::Other)?;
        served.map_err(io::Error::other)?;
        Ok(median?.saturating_sub(hold))
    })
}

fn median_round_trip(stream: impl Duplex) -> io::Result<Nanos> {
    let mut client = Client::new(stream, "")?;
    let mut block = [0; BLOCK as usize];
    let mut took = Vec::with_capacity(ROUND_TRIPS);
    for read in 0..ROUND_TRIPS + ROUND_TRIPS / 6 {
        let start = Instant::now();
        let answer = client.read(0, &mut block)?;
        let elapsed = start.elapsed().as_nanos() as Nanos;
        answer.map_err(|error| io::Error::from_raw_os_error(error as i32))?;
        if read >= ROUND_TRIPS / 6 {
            took.push(elapsed);
        }
    }
    took.sort_unstable();
    Ok(took[took.len() / 2])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_drive_is_asked_for_its_own_mean() {
        assert_eq!(mean_read_ns(Fixed(7_600), 1 << 30), 7_600);
    }

    #[test]
    fn a_client_waits_no_less_than_the_model_says() {
        for listen in [
            Listen::Unix("unused".into()),
            Listen::Tcp {
                address: "127.0.0.1:0".parse().unwrap(),
                allow_remote: false,
            },
        ] {
            let (server, client) = connected_pair(&listen).unwrap();
            drop((server, client));
            assert!(overhead(&listen, 50_000, Duration::from_micros(20)).unwrap() > 0);
        }
    }
}
