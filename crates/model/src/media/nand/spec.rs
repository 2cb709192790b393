//! The parameters of a flash drive, each with its range and unit.
//!
//! A drive's file has these parameters, and calibration fits them.

use serde::{Deserialize, Serialize};

use crate::drive::CHUNK;
use crate::stalls::StallSpec;

/// What was written before the run begins.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum State {
    /// Nothing.
    #[default]
    Fresh,
    /// Everything once, in order.
    Sequential,
    /// Everything once, in order, and then uniformly at random until collection is in its steady state.
    Random,
}

/// The SLC region: pages written with one bit to a cell, until there is time to move their data elsewhere.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct SlcSpec {
    /// Its capacity, in `[1, 1e13]`.
    pub bytes: u64,
    /// Time of a program, ns, in `[1, 1e8]`.
    pub program_ns: f64,
    /// Time of a read, ns, in `[1, 1e8]`.
    pub read_ns: f64,
    /// After this long without a write, its data is moved out, ns, in `[0, 1e12]`.
    pub fold_after_ns: f64,
    /// When it is full: `true` moves data out for each write into it, `false` lets writes bypass it.
    pub fold_when_full: bool,
}

/// All parameters. Times are in ns.
#[derive(Clone, Debug, PartialEq, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
#[allow(non_snake_case)]
pub struct NandSpec {
    /// Dies, each of which does one thing at a time, in `[1, 4096]`.
    pub dies: u32,
    /// Planes of a die, which read, program and erase together, in `[1, 16]`.
    pub planes: u32,
    /// Buses between controller and dies, in `[1, dies]`.
    pub channels: u32,
    /// Page of one plane, bytes: a multiple of 4096 in `[4096, 65536]`.
    pub page_bytes: u32,
    /// Pages of a block, in `[1, 65536]`.
    pub pages_per_block: u32,
    /// Rate of a channel, bytes a second, in `[1e6, 1e11]`.
    pub channel_Bps: f64,
    /// The controller's time for each request, ns, in `[0, 1e8]`. It serves one request at a time, so the reciprocal is
    /// the drive's highest rate.
    pub command_ns: f64,
    /// Latency added to every read, ns, in `[0, 1e9]`. It occupies no part of the drive.
    pub read_latency_ns: f64,
    /// Mean of an exponential addition to that, ns, in `[0, 1e9]`.
    pub read_jitter_ns: f64,
    /// Time from a write's entry into the buffer until the host sees it done, ns, in `[0, 1e9]`. It occupies no part of
    /// the drive.
    pub write_latency_ns: f64,
    /// Mean of an exponential addition to that, ns, in `[0, 1e9]`.
    pub write_jitter_ns: f64,
    /// A die's time to read a page, ns, in `[1, 1e8]`.
    pub read_ns: f64,
    /// The same for slow pages (those of a cell's later bits), ns, in `[1, 1e8]`.
    pub slow_read_ns: f64,
    /// Share of slow pages, in `[0, 1]`.
    pub slow_read_share: f64,
    /// Share of reads that are retried, in `[0, 1]`.
    pub retry_share: f64,
    /// Mean of a retry's extra time, exponential, ns, in `[0, 1e9]`.
    pub retry_ns: f64,
    /// Work that a die does ahead of a read, because of the reads before: moving data that they disturbed. A service is
    /// one page read for the host.
    pub stalls: Vec<StallSpec>,
    /// A die's time to program a page of each of its planes, ns, in `[1, 1e9]`.
    pub program_ns: f64,
    /// Largest deviation of a program's time, as a fraction of it, uniform, in `[0, 1]`.
    pub program_spread: f64,
    /// A die's time to erase a block of each of its planes, ns, in `[1, 1e10]`.
    pub erase_ns: f64,
    /// Time to suspend a program or an erase for a read, ns, in `[0, 1e8]`. If absent, a read waits for its end
    /// instead.
    pub suspend_ns: Option<f64>,
    /// Reads that a die serves ahead of a waiting (or suspended) program or erase, in `[1, 1e9]`.
    pub reads_before_write: u32,
    /// The controller's time to take a chunk of a write into the buffer, ns, in `[0, 1e8]`. It takes one chunk at a time,
    /// so a large write needs longer than the link.
    #[serde(default)]
    pub take_chunk_ns: f64,
    /// Bytes of the write buffer: at least one page of each plane of a die, at most 1e12.
    pub buffer_bytes: u64,
    /// Whether the buffer survives a power failure, so that a flush need not wait.
    pub buffer_protected: bool,
    /// After this long without a write, an incomplete unit is programmed, ns, in `[0, 1e12]`.
    pub drain_after_ns: f64,
    /// Spare pages as a fraction of those that the host sees, in `[0.01, 10]`.
    pub over_provisioning: f64,
    /// The SLC region, if the drive has one.
    pub slc: Option<SlcSpec>,
    /// Time of a trim for each MiB, besides the command's, ns, in `[0, 1e8]`.
    pub trim_mebibyte_ns: f64,
    /// What was written before the run begins.
    #[serde(default)]
    pub initial: State,
}

impl NandSpec {
    /// Returns the bytes that a die programs at once.
    pub fn unit_bytes(&self) -> u32 {
        self.page_bytes * self.planes
    }

    /// Returns the same in chunks.
    pub(super) fn unit_chunks(&self) -> u32 {
        self.unit_bytes() / CHUNK as u32
    }

    /// # Errors
    /// The parameter that is out of its range, and its value.
    pub fn check(&self) -> Result<(), String> {
        let most_channels = f64::from(self.dies.max(1));
        let unit = (u64::from(self.page_bytes) * u64::from(self.planes)) as f64;
        let mut ranges = vec![
            ("dies", f64::from(self.dies), 1.0, 4096.0),
            ("planes", f64::from(self.planes), 1.0, 16.0),
            ("channels", f64::from(self.channels), 1.0, most_channels),
            ("page_bytes", f64::from(self.page_bytes), 4096.0, 65536.0),
            (
                "pages_per_block",
                f64::from(self.pages_per_block),
                1.0,
                65536.0,
            ),
            ("channel_Bps", self.channel_Bps, 1e6, 1e11),
            ("command_ns", self.command_ns, 0.0, 1e8),
            ("read_latency_ns", self.read_latency_ns, 0.0, 1e9),
            ("read_jitter_ns", self.read_jitter_ns, 0.0, 1e9),
            ("write_latency_ns", self.write_latency_ns, 0.0, 1e9),
            ("write_jitter_ns", self.write_jitter_ns, 0.0, 1e9),
            ("read_ns", self.read_ns, 1.0, 1e8),
            ("slow_read_ns", self.slow_read_ns, 1.0, 1e8),
            ("slow_read_share", self.slow_read_share, 0.0, 1.0),
            ("retry_share", self.retry_share, 0.0, 1.0),
            ("retry_ns", self.retry_ns, 0.0, 1e9),
            ("program_ns", self.program_ns, 1.0, 1e9),
            ("program_spread", self.program_spread, 0.0, 1.0),
            ("erase_ns", self.erase_ns, 1.0, 1e10),
            ("suspend_ns", self.suspend_ns.unwrap_or(0.0), 0.0, 1e8),
            (
                "reads_before_write",
                f64::from(self.reads_before_write),
                1.0,
                1e9,
            ),
            ("take_chunk_ns", self.take_chunk_ns, 0.0, 1e8),
            ("buffer_bytes", self.buffer_bytes as f64, unit, 1e12),
            ("drain_after_ns", self.drain_after_ns, 0.0, 1e12),
            ("over_provisioning", self.over_provisioning, 0.01, 10.0),
            ("trim_mebibyte_ns", self.trim_mebibyte_ns, 0.0, 1e8),
        ];
        if let Some(slc) = &self.slc {
            ranges.extend([
                ("slc.bytes", slc.bytes as f64, 1.0, 1e13),
                ("slc.program_ns", slc.program_ns, 1.0, 1e8),
                ("slc.read_ns", slc.read_ns, 1.0, 1e8),
                ("slc.fold_after_ns", slc.fold_after_ns, 0.0, 1e12),
            ]);
        }
        for (name, value, least, most) in ranges {
            if !(least..=most).contains(&value) {
                return Err(format!("{name} is {value}, not in [{least}, {most}]"));
            }
        }
        if !u64::from(self.page_bytes).is_multiple_of(CHUNK) {
            let bytes = self.page_bytes;
            return Err(format!("page_bytes is {bytes}, not a multiple of {CHUNK}"));
        }
        self.stalls.iter().try_for_each(StallSpec::check)
    }
}
