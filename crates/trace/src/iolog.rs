//! fio's iologs, version 2 and 3, as fio's `iolog.c` reads and writes them.
//!
//! Version 3: `MICROSECONDS FILE ACTION [OFFSET LENGTH]`. Version 2 has no times but the action `wait`: its first number
//! is a time in milliseconds after the start, until which fio waits. (fio's manual has another unit and another origin;
//! this is what its code does.) `add`, `open` and `close` are no requests.

use crate::damage::Damage;
use crate::devices::Devices;
use crate::fields::integer;
use crate::lines::Lines;
use crate::row::{Direction, Kind, Row};

/// Reads an iolog.
#[derive(Debug)]
pub(crate) struct Iolog {
    lines: Lines,
    reader: LineReader,
}

#[derive(Debug)]
struct LineReader {
    /// Known once the first line was read.
    version: Option<u8>,
    /// Version 2: until when the requests so far waited.
    waited_ns: i64,
    skip_bad: bool,
    skipped: u64,
}

impl Iolog {
    pub(crate) fn new(skip_bad: bool) -> Self {
        Self {
            lines: Lines::default(),
            reader: LineReader {
                version: None,
                waited_ns: 0,
                skip_bad,
                skipped: 0,
            },
        }
    }

    pub(crate) fn skipped(&self) -> u64 {
        self.reader.skipped
    }

    pub(crate) fn feed(
        &mut self,
        bytes: &[u8],
        devices: &mut Devices,
        rows: &mut Vec<Row>,
    ) -> Result<(), Damage> {
        let reader = &mut self.reader;
        let too_long = |number| Damage::line(number, "is longer than 64 KiB");
        self.lines.feed(bytes, too_long, |number, line| {
            reader.line(number, line, devices, rows)
        })
    }

    pub(crate) fn end(&mut self, devices: &mut Devices, rows: &mut Vec<Row>) -> Result<(), Damage> {
        let reader = &mut self.reader;
        self.lines
            .end(|number, line| reader.line(number, line, devices, rows))
    }
}

impl LineReader {
    fn line(
        &mut self,
        number: u64,
        line: &[u8],
        devices: &mut Devices,
        rows: &mut Vec<Row>,
    ) -> Result<(), Damage> {
        let Some(version) = self.version else {
            self.version = match line.trim_ascii() {
                b"fio version 2 iolog" => Some(2),
                b"fio version 3 iolog" => Some(3),
                _ => {
                    return Err(Damage::line(
                        number,
                        "is not 'fio version 2 iolog' or 'fio version 3 iolog'",
                    ));
                }
            };
            return Ok(());
        };
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        match self.row(version, line, devices) {
            Ok(Some(row)) => rows.push(row),
            Ok(None) => {}
            Err(_) if self.skip_bad => self.skipped += 1,
            Err(problem) => return Err(Damage::line(number, problem)),
        }
        Ok(())
    }

    /// Returns the request of a line; `None` for an action that is none.
    fn row(
        &mut self,
        version: u8,
        line: &[u8],
        devices: &mut Devices,
    ) -> Result<Option<Row>, &'static str> {
        let mut cells = line
            .split(u8::is_ascii_whitespace)
            .filter(|cell| !cell.is_empty());
        let mut next = || cells.next();
        let time_ns = if version == 3 {
            let time_us = next()
                .and_then(integer)
                .and_then(|time| i64::try_from(time).ok());
            time_us
                .and_then(|time| time.checked_mul(1000))
                .ok_or("has no time in microseconds")?
        } else {
            self.waited_ns
        };
        let (Some(file), Some(action)) = (next(), next()) else {
            return Err("has no file or no action");
        };
        let mut quantity = || {
            next()
                .and_then(integer)
                .and_then(|value| i64::try_from(value).ok())
        };
        let direction = match action {
            b"add" | b"open" | b"close" => return Ok(None),
            b"wait" if version == 2 => {
                let until_ms = quantity().ok_or("has no time to wait until")?;
                let until_ns = until_ms.checked_mul(1_000_000).ok_or("waits too long")?;
                self.waited_ns = self.waited_ns.max(until_ns);
                return Ok(None);
            }
            b"read" => Direction::Read,
            b"write" => Direction::Write,
            b"trim" => Direction::Trim,
            b"sync" | b"datasync" => Direction::Sync,
            _ => return Err("has an action that fio does not know"),
        };
        let (Some(offset), Some(size)) = (quantity(), quantity()) else {
            return Err("has no offset or no length");
        };
        let mut row = Row::request(time_ns, devices.number(file), direction, offset, size);
        if action == b"datasync" {
            row.kind = Kind::DataSync as u8;
        }
        Ok(Some(row))
    }
}
