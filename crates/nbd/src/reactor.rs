//! The server's loop: one thread, which owns the drive, the data and all connections.
//!
//! It sleeps until bytes come or the next reply is nearly due. Then it polls until the reply is due and sends it at the
//! first poll after that. With no request in flight it only sleeps.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use iogauge_core::{Kind, Nanos};
use iogauge_model::{Access, Drive, Returned};
use rustix::event::{PollFd, PollFlags, poll};
use rustix::io::Errno;

use crate::connection::Connection;
use crate::disk::Disk;
use crate::error::Error;
use crate::faults::{Fate, LateWrite};
use crate::line::InDrive;
use crate::listen::Listener;
use crate::pace::{Pace, sharpen_timer, timespec};
use crate::protocol::{Command, Export, Request};
use crate::summary::{Lateness, Summary};
use crate::timely::Timely;

/// The longest sleep, after which a stop is noticed.
const LOOK: Duration = Duration::from_millis(50);
/// How long the loop accepts no client after the kernel ran out of descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Limits on what clients may use. A connection holds two buffers of 128 KiB, whatever its client sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Most connections at a time. Further ones are closed at once.
    pub connections: u32,
    /// Most unanswered requests of a connection. With that many, the server stops reading from it.
    pub depth: u32,
    /// How long a client may negotiate.
    pub negotiation: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            connections: 64,
            depth: 256,
            negotiation: Duration::from_secs(10),
        }
    }
}

/// The loop, before it serves.
pub(crate) struct Reactor<D> {
    pub(crate) drive: Timely<D>,
    /// Commands that the drive takes at a time; `None` without a limit.
    pub(crate) queue: Option<u32>,
    pub(crate) disk: Disk,
    /// Where faults are noted as they happen: a JSON object a line.
    pub(crate) injections: Option<File>,
    /// Set by whoever cuts the power; cleared once it is cut.
    pub(crate) power_switch: Arc<AtomicBool>,
    pub(crate) export: Arc<Export>,
    pub(crate) limits: Limits,
    pub(crate) dilate: u32,
    /// How long before a reply is due the loop begins to spin.
    pub(crate) spin: Duration,
}

impl<D: Drive> Reactor<D> {
    /// Serves the clients of `listener` and those in `clients`, until `stop` is set.
    pub(crate) fn serve(
        &mut self,
        listener: Option<&Listener>,
        clients: Vec<OwnedFd>,
        stop: &AtomicBool,
    ) -> Result<Summary, Error> {
        sharpen_timer();
        let mut serving = Serving {
            pace: Pace::new(self.dilate),
            connections: Vec::new(),
            returned: Vec::new(),
            ready: Vec::new(),
            in_drive: InDrive::new(self.queue),
            turn_of: 0,
            lateness: Lateness::default(),
            accept_from: Instant::now(),
            start: Instant::now(),
            late: Vec::new(),
            ended: false,
            summary: Summary::default(),
            reactor: self,
        };
        for socket in clients {
            serving.add_client(socket);
        }
        while !stop.load(Ordering::Relaxed) && !serving.ended {
            serving.sleep(listener)?;
            serving.run_round(listener)?;
        }
        let mut summary = serving.summary;
        serving.lateness.conclude(&mut summary);
        Ok(summary)
    }
}

/// A write that comes late, even if its client is gone.
struct Late {
    until_ns: Nanos,
    write: LateWrite,
    connection: usize,
    slot: u32,
}

/// The loop in progress.
struct Serving<'a, D> {
    reactor: &'a mut Reactor<D>,
    pace: Pace,
    connections: Vec<Option<Connection>>,
    returned: Vec<Returned>,
    /// Sockets that were ready after the last sleep; the listener, if any, comes last.
    ready: Vec<(usize, PollFlags)>,
    in_drive: InDrive,
    /// The connection that may give the drive the next piece.
    turn_of: usize,
    lateness: Lateness,
    accept_from: Instant,
    start: Instant,
    /// Writes that come late.
    late: Vec<Late>,
    /// Whether a power cut ended the service.
    ended: bool,
    summary: Summary,
}

impl<D: Drive> Serving<'_, D> {
    /// Sleeps until a socket is ready or the next reply is nearly due.
    fn sleep(&mut self, listener: Option<&Listener>) -> Result<(), Error> {
        let nap = self.nap();
        let mut indices = Vec::with_capacity(self.connections.len() + 1);
        let mut fds = Vec::with_capacity(self.connections.len() + 1);
        for (index, connection) in self.connections.iter().enumerate() {
            let Some(connection) = connection else {
                continue;
            };
            let Some(socket) = connection.socket() else {
                continue;
            };
            let mut wanted = PollFlags::empty();
            wanted.set(PollFlags::IN, connection.wants_input());
            wanted.set(PollFlags::OUT, connection.wants_output());
            indices.push(index);
            fds.push(PollFd::from_borrowed_fd(socket, wanted));
        }
        if let Some(listener) = listener
            && Instant::now() >= self.accept_from
        {
            indices.push(usize::MAX);
            fds.push(PollFd::from_borrowed_fd(listener.as_fd(), PollFlags::IN));
        }
        self.ready.clear();
        match poll(&mut fds, Some(&timespec(nap))) {
            // A signal: its handler may have set `stop`.
            Err(Errno::INTR) => return Ok(()),
            Err(cause) => {
                return Err(Error::Call {
                    call: "poll",
                    cause: cause.into(),
                });
            }
            Ok(0) => self.summary.idle_sleeps += 1,
            Ok(_) => {}
        }
        let events = indices
            .iter()
            .zip(&fds)
            .map(|(&index, fd)| (index, fd.revents()));
        self.ready
            .extend(events.filter(|(_, flags)| !flags.is_empty()));
        Ok(())
    }

    /// Returns how long the loop may sleep.
    fn nap(&self) -> Duration {
        if self
            .connections
            .iter()
            .flatten()
            .any(Connection::wants_turn)
        {
            return Duration::ZERO;
        }
        let reply = self.reactor.drive.next_event();
        let reply = reply.map(|at| self.pace.until(at).saturating_sub(self.reactor.spin));
        let most = self.reactor.limits.negotiation;
        let patience = self.connections.iter().flatten();
        let patience = patience.filter_map(|connection| connection.patience(most));
        let instants = self.late.iter().map(|late| late.until_ns);
        let instants = instants.chain(self.cut_at_ns());
        let elapsed_ns = self.elapsed_ns();
        let planned = instants.map(|at| Duration::from_nanos(at.saturating_sub(elapsed_ns)));
        patience
            .chain(reply)
            .chain(planned)
            .fold(LOOK, Duration::min)
    }

    /// Returns the real ns since the beginning.
    fn elapsed_ns(&self) -> Nanos {
        self.start.elapsed().as_nanos() as Nanos
    }

    /// Returns when the power is to be cut, if it was not.
    fn cut_at_ns(&self) -> Option<Nanos> {
        let planned = self.reactor.disk.power_cut()?.after_ns;
        planned.filter(|_| self.summary.power_cuts == 0)
    }

    /// Runs one round: sends due replies, and submits requests that have arrived.
    fn run_round(&mut self, listener: Option<&Listener>) -> Result<(), Error> {
        let is_due = self.cut_at_ns().is_some_and(|at| at <= self.elapsed_ns());
        if self.reactor.power_switch.swap(false, Ordering::Relaxed) || is_due {
            self.cut_power();
        }
        self.write_late();
        self.reply_to_finished();
        for (index, flags) in std::mem::take(&mut self.ready) {
            match self.connections.get_mut(index) {
                Some(Some(connection)) => read_from(connection, flags),
                Some(None) => {}
                None => self.accept_clients(listener),
            }
        }
        for index in 0..self.connections.len() {
            self.serve_connection(index);
        }
        self.submit_waiting();
        self.note_injections()
    }

    /// Loses the power: drops what was volatile, all requests and all connections.
    fn cut_power(&mut self) {
        let at_ns = self.elapsed_ns();
        for late in std::mem::take(&mut self.late) {
            if let Some(connection) = &mut self.connections[late.connection] {
                connection.close();
                connection.release(late.slot);
            }
        }
        // What cannot be kept is lost.
        let _ = self.reactor.disk.cut_power(at_ns);
        self.connections
            .iter_mut()
            .flatten()
            .for_each(Connection::close);
        self.summary.power_cuts += 1;
        self.ended = self.reactor.disk.power_cut().is_some_and(|cut| cut.ends);
    }

    /// Carries out late writes whose time has come.
    fn write_late(&mut self) {
        let at_ns = self.elapsed_ns();
        let (due, waiting) = std::mem::take(&mut self.late)
            .into_iter()
            .partition(|late| late.until_ns <= at_ns);
        self.late = waiting;
        let due: Vec<Late> = due;
        for late in due {
            // Its client, if it is still there, waited too long to be told of a full store.
            let _ = self.reactor.disk.write_late(at_ns, late.write);
            if let Some(connection) = &mut self.connections[late.connection] {
                connection.release(late.slot);
            }
        }
    }

    /// Writes down the faults that happened.
    fn note_injections(&mut self) -> Result<(), Error> {
        let injected = self.reactor.disk.take_injected();
        self.summary.faults += injected
            .iter()
            .filter(|fault| fault.kind != "power-cut")
            .count() as u64;
        let Some(file) = &mut self.reactor.injections else {
            return Ok(());
        };
        for fault in injected {
            let line = serde_json::to_string(&fault).map_err(io::Error::from);
            let written = line.and_then(|line| writeln!(file, "{line}"));
            written.map_err(|cause| Error::Injections { cause })?;
        }
        Ok(())
    }

    /// Takes the pieces that the drive has finished by now and sends the replies. Returns the current virtual instant.
    fn reply_to_finished(&mut self) -> Nanos {
        let now = self.pace.now();
        let mut returned = std::mem::take(&mut self.returned);
        while self.reactor.drive.next_event().is_some_and(|at| at <= now) {
            self.reactor.drive.advance(now, &mut returned);
            for done in returned.drain(..) {
                self.answer(done);
            }
        }
        self.returned = returned;
        now
    }

    /// Ends a piece. After a request's last piece, sends its reply and records how late it is.
    fn answer(&mut self, done: Returned) {
        let owner = self.in_drive.complete(done.ticket);
        let Some(connection) = &mut self.connections[owner.connection] else {
            return;
        };
        let Some(received_at) = connection.piece_done(owner.slot) else {
            return;
        };
        connection.send(&self.reactor.disk);
        let late = self.pace.since(done.at).as_nanos() as Nanos;
        let expected = done.at.saturating_sub(received_at);
        let expected = expected.saturating_mul(self.reactor.dilate.into());
        self.lateness.record(late, expected);
    }

    /// Submits waiting requests to the drive, a piece of each connection in turn, as long as it has room.
    fn submit_waiting(&mut self) {
        loop {
            // Take finished pieces before submitting more.
            let now = self.reply_to_finished();
            let count = self.connections.len();
            let mut turns = (0..count).map(|step| (self.turn_of + step) % count);
            let next = turns.find_map(|index| {
                let (slot, piece) = self.connections[index].as_ref()?.next_piece()?;
                Some((index, slot, piece))
            });
            // The connection whose turn it is waits for room. If smaller pieces went first, a large one might wait for
            // ever.
            let next = next.filter(|(_, _, piece)| self.in_drive.has_room(piece));
            let Some((index, slot, piece)) = next else {
                return;
            };
            self.turn_of = (index + 1) % count;
            let ticket = self.in_drive.submit(index, slot, &piece);
            self.reactor.drive.submit(now, access(ticket, piece));
            self.summary.submitted(piece);
            if let Some(connection) = &mut self.connections[index] {
                connection.submit_piece();
            }
        }
    }

    /// Takes a connection's requests and sends its refusals. Removes the connection if it is over.
    fn serve_connection(&mut self, index: usize) {
        let Some(connection) = &mut self.connections[index] else {
            return;
        };
        let most = self.reactor.limits.negotiation;
        if connection.patience(most) == Some(Duration::ZERO) {
            connection.close();
        }
        while self.take_request(index) {}
        if let Some(connection) = &mut self.connections[index] {
            connection.send(&self.reactor.disk);
            if connection.is_gone() {
                self.connections[index] = None;
            }
        }
    }

    /// Takes a connection's next request, if it has one.
    fn take_request(&mut self, index: usize) -> bool {
        let (now, at_ns) = (self.pace.now(), self.elapsed_ns());
        let Some(connection) = &mut self.connections[index] else {
            return false;
        };
        let Some((request, fate)) = connection.next_request(at_ns, &mut self.reactor.disk) else {
            return false;
        };
        self.summary.requests += 1;
        match fate {
            Fate::Done(reading) => connection.enqueue(now, request, reading),
            Fate::Later { until_ns, write } => self.late.push(Late {
                until_ns,
                write,
                connection: index,
                slot: connection.hold(now, request),
            }),
            Fate::PowerCut => {
                self.cut_power();
                return false;
            }
        }
        self.submit_waiting();
        true
    }

    /// Accepts waiting clients, up to the limit of connections.
    fn accept_clients(&mut self, listener: Option<&Listener>) {
        let Some(listener) = listener else {
            return;
        };
        // At most `limits.connections` a round, so that other clients are served in between.
        for _ in 0..self.reactor.limits.connections {
            match listener.accept() {
                Ok(socket) => self.add_client(socket),
                Err(cause) if cause.kind() == io::ErrorKind::WouldBlock => break,
                // Pause: the client stays in the listener's queue, which would otherwise end every sleep at once.
                Err(_) => {
                    self.accept_from = Instant::now() + PAUSE;
                    break;
                }
            }
        }
    }

    fn add_client(&mut self, socket: OwnedFd) {
        let most = self.reactor.limits.connections as usize;
        let free = self.connections.iter().position(Option::is_none);
        if free.is_none() && self.connections.len() == most {
            self.summary.turned_away += 1;
            return;
        }
        let export = Arc::clone(&self.reactor.export);
        let connection = Connection::new(socket, export, self.reactor.limits.depth);
        self.summary.connections += 1;
        match free {
            Some(index) => self.connections[index] = Some(connection),
            None => self.connections.push(Some(connection)),
        }
    }
}

/// Reads from a client. Closes the connection if the client has disconnected.
fn read_from(connection: &mut Connection, flags: PollFlags) {
    if flags.contains(PollFlags::IN) {
        connection.receive();
    } else if flags.intersects(PollFlags::HUP | PollFlags::ERR | PollFlags::NVAL) {
        connection.close();
    }
}

/// Converts a request for the drive. Zeroes become a trim, unless they take up space.
fn access(ticket: u64, request: Request) -> Access {
    let kind = match request.command {
        Command::Read => Kind::Read,
        Command::Write | Command::Zero { provision: true } => Kind::Write,
        Command::Trim | Command::Zero { provision: false } => Kind::Trim,
        Command::Flush => Kind::Sync,
    };
    Access {
        ticket,
        kind,
        offset_bytes: request.offset_bytes,
        length_bytes: request.length_bytes,
        durable: request.fua && matches!(kind, Kind::Write | Kind::Trim),
    }
}
