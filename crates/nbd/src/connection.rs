//! One client's connection: its socket, its session, its requests in flight and its replies.
//!
//! Its memory is bounded. Data passes through two buffers of fixed size: the data of a write goes to the disk as it
//! arrives, and the data of a read comes from the disk as the client takes it. Only a disk with faults has writes
//! gathered, which are smaller then. If too many requests
//! are unanswered, or the client does not take its replies, the server stops reading from it, so the client can send no
//! more.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use iogauge_core::Nanos;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};

use crate::disk::Disk;
use crate::faults::{Fate, Reading};
use crate::line::Pending;
use crate::protocol::wire::{self, Refusal};
use crate::protocol::{Command, Export, MOST_OPTION, Request, Session, Step};

/// Bytes of either buffer; larger than any option.
const BUFFER: usize = 128 << 10;
const _: () = assert!(BUFFER > MOST_OPTION as usize + wire::OPTION_BYTES);

/// A reply, sent as the client takes it.
#[derive(Debug)]
struct Reply {
    cookie: u64,
    refusal: Option<Refusal>,
    begun: bool,
    /// Where a read's data is.
    reading: Reading,
    offset_bytes: u64,
    /// The parts of it that were sent and are still to be sent.
    sent_bytes: u32,
    left_bytes: u32,
}

/// One client's connection. After its client has disconnected, it remains until the drive has returned its submitted
/// requests, so that no client gets more into the drive by reconnecting. Requests that were not submitted are dropped
/// with the client.
#[derive(Debug)]
pub(crate) struct Connection {
    socket: Option<OwnedFd>,
    session: Session,
    born: Instant,
    input: Box<[u8]>,
    /// The part of the input buffer that was received and not yet used.
    unread: std::ops::Range<usize>,
    output: Vec<u8>,
    sent: usize,
    replies: VecDeque<Reply>,
    /// Unanswered requests, by slot.
    pending: Vec<Option<Pending>>,
    free: Vec<u32>,
    /// Slots of the requests that are not fully submitted to the drive, in the order of their arrival.
    waiting: VecDeque<u32>,
    /// What has arrived of a write, if the disk gathers writes.
    gathered: Vec<u8>,
    /// Why the data of the write that is arriving could not be stored.
    data_error: Option<Refusal>,
    /// Whether the input buffer may hold requests for which there was no slot.
    has_more_requests: bool,
    /// Whether no more requests come, so that the connection closes once all are answered.
    finishing: bool,
}

impl Connection {
    /// Greets the client of a non-blocking socket and allows it `depth` unanswered requests.
    pub(crate) fn new(socket: OwnedFd, export: Arc<Export>, depth: u32) -> Self {
        let mut output = Vec::new();
        let mut connection = Self {
            socket: Some(socket),
            session: Session::new(export, &mut output),
            born: Instant::now(),
            input: vec![0; BUFFER].into(),
            unread: 0..0,
            output,
            sent: 0,
            replies: VecDeque::new(),
            pending: (0..depth).map(|_| None).collect(),
            free: (0..depth).rev().collect(),
            waiting: VecDeque::new(),
            gathered: Vec::new(),
            data_error: None,
            has_more_requests: false,
            finishing: false,
        };
        connection.flush();
        connection
    }

    /// Returns the socket, while there is a client.
    pub(crate) fn socket(&self) -> Option<BorrowedFd<'_>> {
        self.socket.as_ref().map(AsFd::as_fd)
    }

    /// Whether the client has disconnected and the drive has none of its requests.
    pub(crate) fn is_gone(&self) -> bool {
        self.socket.is_none() && self.free.len() == self.pending.len()
    }

    /// Closes the client's socket and drops requests that were not submitted to the drive.
    pub(crate) fn close(&mut self) {
        for slot in std::mem::take(&mut self.waiting) {
            self.free_if_outside(slot);
        }
        self.socket = None;
        self.input = Box::default();
        self.unread = 0..0;
        self.output = Vec::new();
        self.sent = 0;
        self.replies = VecDeque::new();
        self.gathered = Vec::new();
    }

    /// Returns how long the client may still negotiate; `None` if it has finished.
    pub(crate) fn patience(&self, most: Duration) -> Option<Duration> {
        let waiting = self.socket.is_some() && !self.session.negotiated();
        waiting.then(|| most.saturating_sub(self.born.elapsed()))
    }

    /// Whether it may take one more request.
    fn has_room(&self) -> bool {
        self.free.len() > self.replies.len() && self.output.len() - self.sent < BUFFER
    }

    /// Whether to poll for bytes from the client.
    pub(crate) fn wants_input(&self) -> bool {
        self.socket.is_some() && !self.finishing && self.has_room() && self.unread.len() < BUFFER
    }

    /// Whether there are bytes to send to the client.
    pub(crate) fn wants_output(&self) -> bool {
        self.socket.is_some() && (self.sent < self.output.len() || !self.replies.is_empty())
    }

    /// Whether it can take requests now, without more bytes from the client.
    pub(crate) fn wants_turn(&self) -> bool {
        self.socket.is_some() && !self.finishing && self.has_more_requests && self.has_room()
    }

    /// Receives bytes that the client has sent, at most a buffer of them.
    pub(crate) fn receive(&mut self) {
        self.input.copy_within(self.unread.clone(), 0);
        self.unread = 0..self.unread.len();
        let Some(socket) = &self.socket else {
            return;
        };
        let room = &mut self.input[self.unread.end..];
        match rustix::net::recv(socket, room, RecvFlags::empty()) {
            // The client has stopped sending. Requests that arrived are still answered.
            Ok((0, _)) => self.finishing = true,
            Ok((bytes, _)) => self.unread.end += bytes,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.close(),
        }
    }

    /// Returns the next request for the drive from the input buffer, and what became of it: it was already applied to
    /// the disk, real ns after the beginning.
    pub(crate) fn next_request(
        &mut self,
        at_ns: Nanos,
        disk: &mut Disk,
    ) -> Option<(Request, Fate)> {
        self.has_more_requests = true;
        while self.socket.is_some() && !self.finishing && self.has_room() {
            let input = &self.input[self.unread.clone()];
            let (used, step) = self.session.step(input, &mut self.output);
            self.unread.start += used;
            match step {
                Step::More => {
                    self.has_more_requests = false;
                    return None;
                }
                Step::Again => {}
                Step::Data {
                    offset_bytes,
                    bytes,
                } => {
                    if self.data_error.is_none() {
                        self.data_error =
                            disk.arrive(&mut self.gathered, offset_bytes, bytes).err();
                    }
                }
                Step::Refuse { cookie, refusal } => self.refuse(cookie, refusal),
                Step::Ask(request) => match self.carry_out(at_ns, request, disk) {
                    Ok(fate) => return Some((request, fate)),
                    Err(refusal) => self.refuse(request.cookie, refusal),
                },
                Step::Finish => self.finishing = true,
                Step::Drop => self.close(),
            }
        }
        None
    }

    fn carry_out(
        &mut self,
        at_ns: Nanos,
        request: Request,
        disk: &mut Disk,
    ) -> Result<Fate, Refusal> {
        if request.command != Command::Write {
            return disk.begin(at_ns, request, Vec::new());
        }
        let gathered = std::mem::take(&mut self.gathered);
        match self.data_error.take() {
            Some(refusal) => Err(refusal),
            None => disk.begin(at_ns, request, gathered),
        }
    }

    /// Queues a request for the drive that was received at `now`.
    pub(crate) fn enqueue(&mut self, now: Nanos, request: Request, reading: Reading) {
        let slot = self.take_slot(Pending::new(now, request, reading));
        self.waiting.push_back(slot);
    }

    /// Holds back a request that was received at `now`. Returns its slot.
    pub(crate) fn hold(&mut self, now: Nanos, request: Request) -> u32 {
        let mut pending = Pending::new(now, request, Reading::Here);
        pending.hold();
        self.take_slot(pending)
    }

    /// Queues the request in a slot that was held back; drops it if its client is gone.
    pub(crate) fn release(&mut self, slot: u32) {
        if let Some(pending) = &mut self.pending[slot as usize] {
            pending.complete_piece();
        }
        if self.socket.is_some() {
            self.waiting.push_back(slot);
        } else {
            self.free_if_outside(slot);
        }
    }

    fn take_slot(&mut self, pending: Pending) -> u32 {
        // `next_request` returns a request only if there is a free slot.
        let slot = self.free.pop().expect("there is a free slot");
        self.pending[slot as usize] = Some(pending);
        slot
    }

    /// Returns the next piece for the drive and the slot of its request; `None` if no request waits.
    pub(crate) fn next_piece(&self) -> Option<(u32, Request)> {
        let &slot = self.waiting.front()?;
        let pending = self.pending[slot as usize].as_ref()?;
        Some((slot, pending.next_piece()))
    }

    /// Notes that the next piece is submitted to the drive.
    pub(crate) fn submit_piece(&mut self) {
        let Some(&slot) = self.waiting.front() else {
            return;
        };
        let pending = self.pending[slot as usize].as_mut();
        let pending = pending.expect("a waiting request is in flight");
        pending.submit();
        if pending.is_submitted() {
            self.waiting.pop_front();
        }
    }

    /// Notes that the drive finished a piece of the request in a slot. If it was the last piece, queues the reply and
    /// returns when the request was received. Returns `None` if there are more pieces or the client has disconnected.
    pub(crate) fn piece_done(&mut self, slot: u32) -> Option<Nanos> {
        let pending = self.pending[slot as usize].as_mut()?;
        pending.complete_piece();
        let Pending {
            received_at,
            request,
            reading,
            ..
        } = *pending;
        let answered = pending.is_submitted() && pending.is_outside();
        if self.socket.is_none() {
            self.free_if_outside(slot);
            return None;
        }
        if !answered {
            return None;
        }
        self.free_if_outside(slot);
        let read = request.command == Command::Read;
        self.replies.push_back(Reply {
            cookie: request.cookie,
            refusal: None,
            begun: false,
            reading,
            offset_bytes: request.offset_bytes,
            sent_bytes: 0,
            left_bytes: if read { request.length_bytes } else { 0 },
        });
        Some(received_at)
    }

    /// Frees a slot if the drive has no piece of the request in it.
    fn free_if_outside(&mut self, slot: u32) {
        let pending = &mut self.pending[slot as usize];
        if pending.take_if(|pending| pending.is_outside()).is_some() {
            self.free.push(slot);
        }
    }

    fn refuse(&mut self, cookie: u64, refusal: Refusal) {
        self.replies.push_back(Reply {
            cookie,
            refusal: Some(refusal),
            begun: false,
            reading: Reading::Here,
            offset_bytes: 0,
            sent_bytes: 0,
            left_bytes: 0,
        });
    }

    /// Sends as much as the client takes, at most a buffer, so that other clients get their turn. Closes the connection
    /// once all replies are sent and no requests come.
    pub(crate) fn send(&mut self, disk: &Disk) {
        // If a read fails after its reply has begun, only closing the connection can tell the client.
        if self.socket.is_some() && self.fill(disk).is_err() {
            self.close();
        }
        self.flush();
        let idle = self.free.len() == self.pending.len();
        if self.finishing && idle && !self.wants_output() {
            self.close();
        }
    }

    /// Encodes replies, up to a buffer of them.
    fn fill(&mut self, disk: &Disk) -> Result<(), Refusal> {
        while self.output.len() < BUFFER {
            let Some(reply) = self.replies.front_mut() else {
                break;
            };
            if !reply.begun {
                wire::simple_reply(&mut self.output, reply.cookie, reply.refusal);
                reply.begun = true;
            }
            let at = self.output.len();
            let bytes = reply.left_bytes.min(BUFFER.saturating_sub(at) as u32);
            self.output.resize(at + bytes as usize, 0);
            let (offset, sent) = (reply.offset_bytes, reply.sent_bytes);
            disk.read(reply.reading, offset, sent.into(), &mut self.output[at..])?;
            reply.sent_bytes += bytes;
            reply.left_bytes -= bytes;
            if reply.left_bytes == 0 {
                self.replies.pop_front();
            }
        }
        Ok(())
    }

    /// Writes as many bytes as the kernel takes.
    fn flush(&mut self) {
        let Some(socket) = &self.socket else {
            return;
        };
        let bytes = &self.output[self.sent..];
        if bytes.is_empty() {
            return;
        }
        match rustix::net::send(socket, bytes, SendFlags::NOSIGNAL) {
            Ok(taken) => self.sent += taken,
            Err(Errno::AGAIN | Errno::INTR) => {}
            Err(_) => self.close(),
        }
        if self.sent == self.output.len() {
            self.output.clear();
            self.sent = 0;
        }
    }
}
