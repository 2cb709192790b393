//! Makes requests of their two events: one says that a request arrived, another that a range of the device completed.
//!
//! On its way a request may be merged with its neighbours or split into pieces, so a completed range may be several
//! requests or a part of one. A request is complete when all of its bytes are. Of two requests for the same bytes the one
//! that arrived first completes first. A completion of a request that the trace does not have is counted.

use std::collections::{BTreeMap, HashMap, VecDeque};

use crate::row::{Direction, Kind, Row};

/// The requests that may wait for one that does not complete; then that one is returned without a latency.
const MOST_WAITING: usize = 1 << 20;

/// Requests by where they begin and by their number in the trace.
type Place = (i64, u64);

/// The requests of one device and direction that have not completed.
#[derive(Debug, Default)]
struct Open {
    /// The bytes of each that are still to complete.
    bytes: BTreeMap<Place, i64>,
    /// The longest so far: how far before a range a request may begin that reaches into it.
    longest: i64,
}

#[derive(Debug)]
struct Waiting {
    row: Row,
    complete: bool,
}

/// Pairs events that come in the order of their times, and returns requests in the order of their arrival.
#[derive(Debug)]
pub struct Pairing {
    open: HashMap<(u32, u8), Open>,
    waiting: VecDeque<Waiting>,
    /// The number of the first that waits.
    first: u64,
    most_waiting: usize,
    unmatched: u64,
}

impl Default for Pairing {
    fn default() -> Self {
        Self {
            open: HashMap::new(),
            waiting: VecDeque::new(),
            first: 0,
            most_waiting: MOST_WAITING,
            unmatched: 0,
        }
    }
}

impl Pairing {
    /// Takes events, and appends the requests that are complete.
    pub fn feed(&mut self, events: &[Row], rows: &mut Vec<Row>) {
        for event in events {
            if event.kind == Kind::Begin as u8 {
                self.begin(event);
            } else {
                self.end_range(event);
            }
            while let Some(next) = self.waiting.front()
                && (next.complete || self.waiting.len() > self.most_waiting)
            {
                rows.extend(self.take_first());
            }
        }
    }

    /// Appends the requests that never completed.
    pub fn end(&mut self, rows: &mut Vec<Row>) {
        while !self.waiting.is_empty() {
            rows.extend(self.take_first());
        }
    }

    /// Returns how many completions were of requests that the trace does not have.
    pub fn unmatched(&self) -> u64 {
        self.unmatched
    }

    fn begin(&mut self, event: &Row) {
        let number = self.first + self.waiting.len() as u64;
        let row = Row {
            kind: Kind::Request as u8,
            ..*event
        };
        self.waiting.push_back(Waiting {
            row,
            complete: false,
        });
        let open = self.open.entry((row.device, row.direction)).or_default();
        open.bytes
            .insert((row.offset_bytes, number), row.size_bytes);
        open.longest = open.longest.max(row.size_bytes);
    }

    fn end_range(&mut self, event: &Row) {
        let (begin, end) = (
            event.offset_bytes,
            event.offset_bytes.saturating_add(event.size_bytes),
        );
        let Some(open) = self.open.get_mut(&(event.device, event.direction)) else {
            self.unmatched += 1;
            return;
        };
        let is_sync = event.direction == Direction::Sync as u8;
        let from = (begin.saturating_sub(open.longest), 0);
        let to = (
            if is_sync {
                begin.saturating_add(1)
            } else {
                end
            },
            0,
        );
        let mut reached: Vec<Place> = open
            .bytes
            .range(from..to)
            .filter(|((offset, number), _)| {
                is_sync
                    || offset
                        .saturating_add(self.waiting[(number - self.first) as usize].row.size_bytes)
                        > begin
            })
            .map(|(place, _)| *place)
            .collect();
        reached.sort_unstable_by_key(|(_, number)| *number);
        let mut left = event.size_bytes;
        let mut matched = false;
        for (offset, number) in reached {
            if matched && left == 0 {
                break;
            }
            let waiting = &mut self.waiting[(number - self.first) as usize];
            let last = offset.saturating_add(waiting.row.size_bytes);
            let overlap = (last.min(end) - offset.max(begin)).min(left).max(0);
            let Some(bytes) = open.bytes.get_mut(&(offset, number)) else {
                continue;
            };
            matched = true;
            left -= overlap;
            *bytes -= overlap;
            if *bytes <= 0 {
                open.bytes.remove(&(offset, number));
                waiting.complete = true;
                waiting.row.latency_ns = event.time_ns - waiting.row.time_ns;
            }
        }
        self.unmatched += u64::from(!matched);
    }

    fn take_first(&mut self) -> Option<Row> {
        let next = self.waiting.pop_front()?;
        if !next.complete
            && let Some(open) = self.open.get_mut(&(next.row.device, next.row.direction))
        {
            open.bytes.remove(&(next.row.offset_bytes, self.first));
        }
        self.first += 1;
        Some(next.row)
    }
}
