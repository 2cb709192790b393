//! Lines of columns, of which a format says what they mean.

use std::collections::HashMap;

use serde::Deserialize;

use crate::damage::Damage;
use crate::devices::Devices;
use crate::fields::{scaled, trimmed};
use crate::lines::Lines;
use crate::row::{Direction, Row};

/// The most columns that a line may have.
const MOST_COLUMNS: usize = 64;

/// A column by its number, from 1, or by its name in the header.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Column {
    /// From 1.
    Number(usize),
    /// As the header has it.
    Name(String),
}

/// A column of numbers.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct Quantity {
    column: Column,
    /// What a number is multiplied with: nanoseconds or bytes.
    unit: i64,
    /// The number that counts as 0.
    origin: i64,
}

/// What the columns of a text file mean.
#[derive(Debug, Clone, PartialEq, Deserialize)]
pub struct TableFormat {
    separator: char,
    /// Whether the first line names the columns.
    header: bool,
    time: Quantity,
    /// Joined by a dash they name the device.
    device: Vec<Column>,
    direction: Column,
    /// What each word of that column says; `None`: the line is left out.
    words: HashMap<String, Option<Direction>>,
    offset: Quantity,
    size: Quantity,
    latency: Option<Quantity>,
}

/// Reads lines of columns.
#[derive(Debug)]
pub(crate) struct Table {
    format: TableFormat,
    lines: Lines,
    reader: LineReader,
}

/// What reads a line: the places of the columns are known once the header was read.
#[derive(Debug)]
struct LineReader {
    places: Option<Places>,
    words: Vec<(Vec<u8>, Option<Direction>)>,
    skip_bad: bool,
    skipped: u64,
    name: Vec<u8>,
}

#[derive(Debug)]
struct Places {
    time: usize,
    device: Vec<usize>,
    direction: usize,
    offset: usize,
    size: usize,
    latency: Option<usize>,
    last: usize,
}

impl Table {
    pub(crate) fn new(format: TableFormat, skip_bad: bool) -> Self {
        let words = format
            .words
            .iter()
            .map(|(word, direction)| (word.as_bytes().to_vec(), *direction));
        let words = words.collect();
        Self {
            reader: LineReader {
                places: None,
                words,
                skip_bad,
                skipped: 0,
                name: Vec::new(),
            },
            format,
            lines: Lines::default(),
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
        let (reader, format) = (&mut self.reader, &self.format);
        let too_long = |number| Damage::line(number, "is longer than 64 KiB");
        self.lines.feed(bytes, too_long, |number, line| {
            reader.line(format, number, line, devices, rows)
        })
    }

    pub(crate) fn end(&mut self, devices: &mut Devices, rows: &mut Vec<Row>) -> Result<(), Damage> {
        let (reader, format) = (&mut self.reader, &self.format);
        self.lines
            .end(|number, line| reader.line(format, number, line, devices, rows))
    }
}

impl LineReader {
    fn line(
        &mut self,
        format: &TableFormat,
        number: u64,
        line: &[u8],
        devices: &mut Devices,
        rows: &mut Vec<Row>,
    ) -> Result<(), Damage> {
        if self.places.is_none() {
            let header = if format.header { line } else { b"" };
            self.places =
                Some(Places::of(format, header).map_err(|problem| Damage::line(number, problem))?);
            if format.header {
                return Ok(());
            }
        }
        if line.trim_ascii().is_empty() {
            return Ok(());
        }
        match self.row(format, line, devices) {
            Ok(Some(row)) => rows.push(row),
            Ok(None) => self.skipped += 1,
            Err(_) if self.skip_bad => self.skipped += 1,
            Err(problem) => return Err(Damage::line(number, problem)),
        }
        Ok(())
    }

    /// Returns the request of a line; `None` if the format leaves such lines out.
    fn row(
        &mut self,
        format: &TableFormat,
        line: &[u8],
        devices: &mut Devices,
    ) -> Result<Option<Row>, String> {
        let Some(places) = &self.places else {
            return Ok(None);
        };
        let mut cells: [&[u8]; MOST_COLUMNS] = [b""; MOST_COLUMNS];
        let mut columns = 0;
        for cell in Cells::of(line, format.separator) {
            if columns == MOST_COLUMNS {
                break;
            }
            cells[columns] = cell;
            columns += 1;
        }
        if columns <= places.last {
            return Err(format!("has {columns} columns, not {}", places.last + 1));
        }
        let word = cells[places.direction];
        let direction = match self
            .words
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(word))
        {
            Some((_, Some(direction))) => *direction,
            Some((_, None)) => return Ok(None),
            None => {
                return Err(format!(
                    "'{}' is no direction that the format knows",
                    shown(word)
                ));
            }
        };
        let quantity = |place: usize, quantity: &Quantity, what: &str| {
            scaled(cells[place], quantity.unit, quantity.origin)
                .ok_or_else(|| format!("'{}' is no {what}", shown(cells[place])))
        };
        let time_ns = quantity(places.time, &format.time, "time")?;
        let offset_bytes = quantity(places.offset, &format.offset, "offset")?;
        let size_bytes = quantity(places.size, &format.size, "size")?;
        self.name.clear();
        for (index, place) in places.device.iter().enumerate() {
            if index > 0 {
                self.name.push(b'-');
            }
            self.name.extend_from_slice(cells[*place]);
        }
        let mut row = Row::request(
            time_ns,
            devices.number(&self.name),
            direction,
            offset_bytes,
            size_bytes,
        );
        if let (Some(place), Some(latency)) = (places.latency, &format.latency)
            && !cells[place].is_empty()
        {
            row.latency_ns = quantity(place, latency, "latency")?;
        }
        Ok(Some(row))
    }
}

impl Places {
    fn of(format: &TableFormat, header: &[u8]) -> Result<Self, String> {
        let names: Vec<&[u8]> = Cells::of(header, format.separator).collect();
        let place = |column: &Column| match column {
            Column::Number(number) if (1..=MOST_COLUMNS).contains(number) => Ok(number - 1),
            Column::Number(number) => Err(format!(
                "there is no column {number}: they count from 1 to {MOST_COLUMNS}"
            )),
            Column::Name(name) => {
                let position = names
                    .iter()
                    .take(MOST_COLUMNS)
                    .position(|known| *known == name.as_bytes());
                position.ok_or_else(|| format!("names no column '{name}'"))
            }
        };
        let mut places = Self {
            time: place(&format.time.column)?,
            device: format.device.iter().map(place).collect::<Result<_, _>>()?,
            direction: place(&format.direction)?,
            offset: place(&format.offset.column)?,
            size: place(&format.size.column)?,
            latency: format
                .latency
                .as_ref()
                .map(|latency| place(&latency.column))
                .transpose()?,
            last: 0,
        };
        let all = [places.time, places.direction, places.offset, places.size];
        let all = all
            .into_iter()
            .chain(places.device.iter().copied())
            .chain(places.latency);
        places.last = all.max().unwrap_or(0);
        Ok(places)
    }
}

/// The cells of a line. A space as the separator stands for any number of spaces.
struct Cells<'a> {
    rest: Option<&'a [u8]>,
    separator: u8,
}

impl<'a> Cells<'a> {
    fn of(line: &'a [u8], separator: char) -> Self {
        Self {
            rest: Some(line),
            separator: u8::try_from(separator).unwrap_or(b','),
        }
    }
}

impl<'a> Iterator for Cells<'a> {
    type Item = &'a [u8];

    fn next(&mut self) -> Option<&'a [u8]> {
        let mut rest = self.rest?;
        if self.separator == b' ' {
            rest = rest.trim_ascii_start();
        }
        match rest.iter().position(|byte| *byte == self.separator) {
            Some(end) => {
                self.rest = Some(&rest[end + 1..]);
                Some(trimmed(&rest[..end]))
            }
            None => {
                self.rest = None;
                Some(trimmed(rest))
            }
        }
    }
}

/// Returns the start of a cell as text.
fn shown(cell: &[u8]) -> String {
    String::from_utf8_lossy(&cell[..cell.len().min(40)])
        .escape_debug()
        .to_string()
}
