//! A minimal blocking client, which makes one request at a time. It measures the transport before a model is served,
//! and is the well-behaved program in tests.

use std::io::{self, Read, Write};

use crate::protocol::wire::{self, Fields};

/// One connection, which makes requests one by one.
#[derive(Debug)]
pub struct Client<S> {
    stream: S,
    size_bytes: u64,
    cookie: u64,
}

/// The outcome of a request: the protocol's error number if it failed.
pub type Answer = Result<(), u32>;

impl<S: Read + Write> Client<S> {
    /// Negotiates for the export of this name; the empty name is the default.
    ///
    /// # Errors
    /// If the connection fails or there is no such export (`NotFound`).
    pub fn new(mut stream: S, name: &str) -> io::Result<Self> {
        let mut greeting = [0; 18];
        stream.read_exact(&mut greeting)?;
        let mut hello = (wire::FIXED_NEWSTYLE | wire::NO_ZEROES)
            .to_be_bytes()
            .to_vec();
        let mut data = (name.len() as u32).to_be_bytes().to_vec();
        data.extend(name.as_bytes());
        data.extend([0, 0]);
        wire::option(&mut hello, wire::OPT_GO, &data);
        stream.write_all(&hello)?;
        let mut size_bytes = 0;
        loop {
            let mut header = [0; 20];
            stream.read_exact(&mut header)?;
            let mut fields = Fields(&header[12..]);
            let (kind, length) = (fields.u32(), fields.u32());
            let mut data = vec![0; length as usize];
            stream.read_exact(&mut data)?;
            match kind {
                wire::REP_ACK => break,
                wire::REP_INFO if data.len() == 12 && data[..2] == [0, 0] => {
                    size_bytes = Fields(&data[2..]).u64();
                }
                wire::REP_INFO => {}
                _ => return Err(io::ErrorKind::NotFound.into()),
            }
        }
        Ok(Self {
            stream,
            size_bytes,
            cookie: 0,
        })
    }

    /// Returns the export's size.
    pub fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Makes one request and waits for its answer. A write sends `data`; a read fills it.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn request(
        &mut self,
        command: u16,
        flags: u16,
        offset_bytes: u64,
        length_bytes: u32,
        data: &mut [u8],
    ) -> io::Result<Answer> {
        self.cookie += 1;
        let mut message = Vec::with_capacity(wire::REQUEST_BYTES + data.len());
        let (offset, length) = (offset_bytes, length_bytes);
        wire::request(&mut message, flags, command, self.cookie, offset, length);
        if command == wire::CMD_WRITE {
            message.extend_from_slice(data);
        }
        self.stream.write_all(&message)?;
        let mut reply = [0; 16];
        self.stream.read_exact(&mut reply)?;
        let mut fields = Fields(&reply);
        let (magic, error, cookie) = (fields.u32(), fields.u32(), fields.u64());
        if magic != wire::SIMPLE_REPLY || cookie != self.cookie {
            return Err(io::ErrorKind::InvalidData.into());
        }
        if error != 0 {
            return Ok(Err(error));
        }
        if command == wire::CMD_READ {
            self.stream.read_exact(data)?;
        }
        Ok(Ok(()))
    }

    /// Reads.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn read(&mut self, offset_bytes: u64, data: &mut [u8]) -> io::Result<Answer> {
        self.request(wire::CMD_READ, 0, offset_bytes, data.len() as u32, data)
    }

    /// Writes.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn write(&mut self, offset_bytes: u64, data: &mut [u8]) -> io::Result<Answer> {
        self.request(wire::CMD_WRITE, 0, offset_bytes, data.len() as u32, data)
    }

    /// Makes a request without data.
    ///
    /// # Errors
    /// If the connection fails.
    pub fn command(
        &mut self,
        command: u16,
        flags: u16,
        offset: u64,
        length: u32,
    ) -> io::Result<Answer> {
        self.request(command, flags, offset, length, &mut [])
    }
}
