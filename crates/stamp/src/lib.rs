//! Finds out whether a drive kept its promises over a power cut: bytes in, classes of blocks out.
//!
//! A writer puts a [`Stamp`] into each sector of what it writes: which write, to which address. It appends a [`Record`]
//! to a log before each write, after it, and around each flush. After the crash, [`History`] reads the log and says
//! which writes the drive had to keep; [`Block`] reads the stamps of a block; [`Judge`] compares the two.
//!
//! Two rules decide. A write is durable once it has completed, if it had FUA, or if a flush that began after its
//! completion has completed. And a version of a block may be there unless it was replaced by a durable one: unless it
//! ended before a write began that is durable now. So a write that was in flight at the crash may be there or not, and
//! of several unflushed versions any may be there.
//!
//! It takes as given that the log survived: it is on another disk than the target. It opens no file and reads no clock.

#![forbid(unsafe_code)]

mod block;
mod generations;
mod history;
mod judge;
mod log;
mod spans;
mod stamp;

pub use block::{Block, Sector};
pub use generations::Generations;
pub use history::{History, Standing, Surviving};
pub use judge::{Class, Judge, Verdict};
pub use log::{Header, LogError, LogReader, RECORD_BYTES, Record};
pub use spans::{Span, Spans};
pub use stamp::{SECTOR_BYTES, STAMP_BYTES, Stamp, Unreadable};
