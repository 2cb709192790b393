//! The spill's file: frames of encoded records, appended to the file's content.
//!
//! A frame is the length of its bytes, the number of its records (four little-endian bytes each), and the bytes. An
//! incomplete frame at the end of a file is ignored.
#![allow(unsafe_code)] // For strerror_r.

use std::ffi::CStr;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, SeekFrom, Write};

use iogauge_core::log_code;
use iogauge_core::log_record::LogRecord;

/// Bytes gathered for one write.
const GATHERED: usize = 256 << 10;

/// Most records in a frame: twice the largest iodepth, the most that a worker's piece holds.
const MOST_RECORDS: usize = 1 << 16;

/// The outcome of a log.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Spilled {
    /// Records in the file.
    pub kept: u64,
    /// Why it is incomplete, if it could not be written.
    pub failure: Option<String>,
}

/// Writes frames. After the first error, the file ends with the last write that succeeded.
#[derive(Debug)]
pub struct FrameWriter {
    file: File,
    frames: Vec<u8>,
    /// Records in `frames`.
    gathered: u64,
    /// Records in the file.
    kept: u64,
    /// Bytes in the file, with its earlier content, which is never touched.
    length: u64,
    failure: Option<io::Error>,
}

impl FrameWriter {
    /// Appends frames to `file`, which was opened for appending.
    ///
    /// # Errors
    /// If the length of the file cannot be read.
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

    /// Adds a frame, or several if one would be too long. After an error it does nothing.
    pub fn add(&mut self, records: &[LogRecord]) {
        for frame in records.chunks(MOST_RECORDS) {
            self.add_frame(frame);
        }
    }

    fn add_frame(&mut self, records: &[LogRecord]) {
        if self.failure.is_some() {
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

    /// Writes the gathered frames.
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
                // Cut off an incomplete frame. If that fails, a reader ignores it.
                let _ = self.file.set_len(self.length);
                self.failure = Some(error);
            }
        }
        self.frames.clear();
        self.gathered = 0;
    }

    /// Writes the gathered frames and returns the outcome.
    pub fn end(&mut self) -> Spilled {
        self.flush();
        Spilled {
            kept: self.kept,
            failure: self.failure(),
        }
    }

    /// Returns how many records are in the file.
    pub fn kept(&self) -> u64 {
        self.kept
    }

    /// Returns why no more is written: the text of the errno, without its number, as in Python.
    pub fn failure(&self) -> Option<String> {
        let error = self.failure.as_ref()?;
        Some(match error.raw_os_error() {
            Some(errno) => strerror(errno),
            None => error.to_string(),
        })
    }
}

/// Returns the C library's text for an errno.
fn strerror(errno: i32) -> String {
    let mut text = [0u8; 256];
    // SAFETY: `text` is writable for the length passed, and stays terminated, since its last byte remains zero.
    unsafe { libc::strerror_r(errno, text.as_mut_ptr().cast(), text.len() - 1) };
    let text = CStr::from_bytes_until_nul(&text).unwrap_or_default();
    text.to_string_lossy().into_owned()
}

/// Reads frames.
#[derive(Debug)]
pub struct FrameReader {
    file: BufReader<File>,
    frame: Vec<u8>,
    /// Where the next frame begins.
    position: u64,
}

impl FrameReader {
    /// Reads the frames of `file` from `position` on.
    ///
    /// # Errors
    /// If there is no such position.
    pub fn new(mut file: File, position: u64) -> io::Result<Self> {
        file.seek(SeekFrom::Start(position))?;
        Ok(Self {
            file: BufReader::with_capacity(GATHERED, file),
            frame: Vec::new(),
            position,
        })
    }

    /// Appends records to `records` until there are `most` or more, or until the end of the file.
    ///
    /// # Errors
    /// If the file cannot be read, or has other bytes where a frame should begin. The frames before those bytes are
    /// returned first: the error comes from the call that reads no frame.
    pub fn read(&mut self, most: usize, records: &mut Vec<LogRecord>) -> io::Result<()> {
        let before = records.len();
        while records.len() < most {
            let good = records.len();
            match self.next_frame(records) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    records.truncate(good);
                    // The next call reads the same frame, and fails again.
                    self.file.seek(SeekFrom::Start(self.position))?;
                    return if good > before { Ok(()) } else { Err(error) };
                }
            }
        }
        Ok(())
    }

    /// Appends the records of one frame. Returns false at the end of the file, or at an incomplete frame, whose writer
    /// was killed.
    fn next_frame(&mut self, records: &mut Vec<LogRecord>) -> io::Result<bool> {
        let mut head = [0; 8];
        if !filled(self.file.read_exact(&mut head))? {
            return Ok(false);
        }
        let [length, count] = [0, 4].map(|at| {
            u32::from_le_bytes([head[at], head[at + 1], head[at + 2], head[at + 3]]) as usize
        });
        // A filesystem shows zeros where a power loss lost data.
        let lengths = log_code::shortest(count)..=log_code::longest(count);
        if count == 0 || count > MOST_RECORDS || !lengths.contains(&length) {
            return Err(damaged(self.position));
        }
        self.frame.resize(length, 0);
        if !filled(self.file.read_exact(&mut self.frame))? {
            return Ok(false);
        }
        log_code::decode(&self.frame, count, records).map_err(|_| damaged(self.position))?;
        self.position += (head.len() + length) as u64;
        Ok(true)
    }

    /// Returns where the next frame begins.
    pub fn position(&self) -> u64 {
        self.position
    }
}

/// Returns false if the file ended before the read had all of its bytes.
fn filled(read: io::Result<()>) -> io::Result<bool> {
    match read {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

fn damaged(position: u64) -> io::Error {
    let text = format!("the bytes after byte {position} were not written by iogauge");
    io::Error::new(io::ErrorKind::InvalidData, text)
}
