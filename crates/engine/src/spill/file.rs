//! The spill's file: frames of encoded records behind whatever begins the file.
//!
//! A frame is the length of its bytes and the number of its records, four little-endian bytes each, and the bytes
//! themselves. A file that ends within a frame ends before it.

use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use iogauge_core::log_code;
use iogauge_core::log_record::LogRecord;

/// So much is gathered for one write.
const GATHERED: usize = 256 << 10;

/// No frame is longer: more would be no length that was written here.
const LONGEST: usize = 256 << 20;

/// What came of a log.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Spilled {
    /// Records in the file.
    pub kept: u64,
    /// Why it is not complete, where it could not be written.
    pub failure: Option<String>,
}

/// Writes frames. The first error ends the file at the last write that succeeded.
#[derive(Debug)]
pub struct FrameWriter {
    file: File,
    frames: Vec<u8>,
    /// Records in `frames`.
    gathered: u64,
    /// Records in the file.
    kept: u64,
    /// Bytes in the file; what it had at first is not touched.
    length: u64,
    failure: Option<io::Error>,
}

impl FrameWriter {
    /// Frames behind all that `file` has, which was opened for appending.
    ///
    /// # Errors
    /// Where the file does not say how long it is.
    pub fn new(file: File) -> io::Result<Self> {
        let length = file.metadata()?.len();
        Ok(Self {
            file,
            frames: Vec::with_capacity(2 * GATHERED),
            gathered: 0,
            kept: 0,
            length,
            failure: None,
        })
    }

    /// Adds a frame. After an error it does nothing.
    pub fn add(&mut self, records: &[LogRecord]) {
        if self.failure.is_some() || records.is_empty() {
            return;
        }
        let start = self.frames.len();
        self.frames.extend_from_slice(&[0; 4]);
        self.frames
            .extend_from_slice(&(records.len() as u32).to_le_bytes());
        log_code::encode(records, &mut self.frames);
        let length = (self.frames.len() - start - 8) as u32;
        self.frames[start..start + 4].copy_from_slice(&length.to_le_bytes());
        self.gathered += records.len() as u64;
        if self.frames.len() >= GATHERED {
            self.flush();
        }
    }

    /// Writes what was gathered.
    pub fn flush(&mut self) {
        if self.frames.is_empty() || self.failure.is_some() {
            return;
        }
        match self.file.write_all(&self.frames) {
            Ok(()) => {
                self.length += self.frames.len() as u64;
                self.kept += self.gathered;
            }
            Err(error) => {
                // Half a frame is none, and where it cannot be cut off a reader ends before it.
                let _ = self.file.set_len(self.length);
                self.failure = Some(error);
            }
        }
        self.frames.clear();
        self.gathered = 0;
    }

    /// Writes what was gathered, and says what came of it all.
    pub fn end(&mut self) -> Spilled {
        self.flush();
        // As Python says it: without the number.
        let words = |error: &io::Error| error.to_string().split(" (os").next().map(str::to_owned);
        Spilled {
            kept: self.kept,
            failure: self.failure.as_ref().and_then(words),
        }
    }

    /// How many records are in the file.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Whether nothing more is written.
    pub fn failed(&self) -> bool {
        self.failure.is_some()
    }
}

/// Reads frames.
#[derive(Debug)]
pub struct FrameReader {
    file: BufReader<File>,
    frame: Vec<u8>,
    /// Where the next frame begins.
    position: u64,
    ended: bool,
}

impl FrameReader {
    /// The frames of `file` from `position` on.
    ///
    /// # Errors
    /// Where there is no such position.
    pub fn new(mut file: File, position: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(position))?;
        Ok(Self {
            file: BufReader::with_capacity(GATHERED, file),
            frame: Vec::new(),
            position,
            ended: false,
        })
    }

    /// Appends records to `records` until these are `most` or more, or there are no more.
    ///
    /// # Errors
    /// Where the file cannot be read, or has something else where a frame should be.
    pub fn read(&mut self, most: usize, records: &mut Vec<LogRecord>) -> io::Result<()> {
        while !self.ended && records.len() < most {
            let mut head = [0; 8];
            let [length, count] = match self.file.read_exact(&mut head) {
                Ok(()) => [0, 4].map(|at| {
                    u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]])
                        as usize
                }),
                Err(error) => return self.end(error),
            };
            if length > LONGEST || count > length {
                return Err(damaged(self.position));
            }
            self.frame.resize(length, 0);
            if let Err(error) = self.file.read_exact(&mut self.frame) {
                return self.end(error);
            }
            log_code::decode(&self.frame, count, records).map_err(|_| damaged(self.position))?;
            self.position += (head.len() + length) as u64;
        }
        Ok(())
    }

    /// Where the next frame begins.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// A frame that is not all there was being written when its writer was killed.
    fn end(&mut self, error: io::Error) -> io::Result<()> {
        self.ended = error.kind() == io::ErrorKind::UnexpectedEof;
        if self.ended { Ok(()) } else { Err(error) }
    }
}

fn damaged(position: u64) -> io::Error {
    let text = format!("what follows byte {position} was not written by iogauge");
    io::Error::new(io::ErrorKind::InvalidData, text)
}
