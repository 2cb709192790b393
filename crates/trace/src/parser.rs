//! A parser of any format: pieces of one file in, rows out.

use serde::Deserialize;

use crate::blktrace::Blktrace;
use crate::damage::Damage;
use crate::devices::Devices;
use crate::iolog::Iolog;
use crate::row::Row;
use crate::table::{Table, TableFormat};
use crate::vscsi::Vscsi;

/// Which format a file has.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Format {
    /// What blktrace writes for one CPU, or blkparse -d for all.
    Blktrace,
    /// fio's iolog, version 2 or 3.
    Iolog,
    /// What VMware's vscsiStats writes, as CloudPhysics published it.
    Vscsi,
    /// Lines of columns, such as CSV.
    Table(Box<TableFormat>),
}

/// Reads one file.
#[derive(Debug)]
pub struct Parser {
    reader: Reader,
    devices: Devices,
}

#[derive(Debug)]
enum Reader {
    Blktrace(Blktrace),
    Iolog(Iolog),
    Vscsi(Vscsi),
    Table(Box<Table>),
}

impl Parser {
    /// Returns a parser. With `skip_bad`, lines that cannot be read are counted and left out.
    pub fn new(format: Format, skip_bad: bool) -> Self {
        let reader = match format {
            Format::Blktrace => Reader::Blktrace(Blktrace::default()),
            Format::Iolog => Reader::Iolog(Iolog::new(skip_bad)),
            Format::Vscsi => Reader::Vscsi(Vscsi::default()),
            Format::Table(table) => Reader::Table(Box::new(Table::new(*table, skip_bad))),
        };
        Self {
            reader,
            devices: Devices::default(),
        }
    }

    /// Reads the next piece of the file, and appends its rows.
    pub fn feed(&mut self, bytes: &[u8], rows: &mut Vec<Row>) -> Result<(), Damage> {
        let devices = &mut self.devices;
        match &mut self.reader {
            Reader::Blktrace(reader) => reader.feed(bytes, devices, rows),
            Reader::Iolog(reader) => reader.feed(bytes, devices, rows),
            Reader::Vscsi(reader) => reader.feed(bytes, devices, rows),
            Reader::Table(reader) => reader.feed(bytes, devices, rows),
        }
    }

    /// Reads what is left at the end of the file.
    pub fn end(&mut self, rows: &mut Vec<Row>) -> Result<(), Damage> {
        let devices = &mut self.devices;
        match &mut self.reader {
            Reader::Blktrace(reader) => reader.end(),
            Reader::Iolog(reader) => reader.end(devices, rows),
            Reader::Vscsi(reader) => reader.end(),
            Reader::Table(reader) => reader.end(devices, rows),
        }
    }

    /// Returns the names of the devices that appeared, by number. An empty name: the format has none.
    pub fn devices(&self) -> &[String] {
        self.devices.names()
    }

    /// Returns how many lines or records were left out: bad lines, and commands that move no data.
    pub fn skipped(&self) -> u64 {
        match &self.reader {
            Reader::Blktrace(reader) => reader.skipped(),
            Reader::Iolog(reader) => reader.skipped(),
            Reader::Vscsi(reader) => reader.skipped(),
            Reader::Table(reader) => reader.skipped(),
        }
    }
}
