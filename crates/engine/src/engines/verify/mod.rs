//! Makes blocks that can be verified, and checks what was read: fio's `verify`.
//!
//! A block has a header, the checksum of its data, and data. The data is random, of a seed that is in the header, or a
//! pattern. It knows no file and no order of requests: `core` decides which blocks are read back, and with which number.
//!
//! Source: fio 3.33's verify.c.

mod checksums;
mod header;
mod pool;

pub use pool::Checked;
pub(crate) use pool::Pool;

use std::sync::Arc;

use iogauge_core::plan::{Checksum, VerifyPlan, WorkerPlan};
use iogauge_core::results::{Bytes, Mismatch, VerifyResult};
use iogauge_core::{Check, Kind, Request};

use crate::engines::content::Content;
use header::{BYTES, Fault, Header, differs};

/// Makes and checks the blocks of one worker.
#[derive(Clone, Debug)]
pub(crate) struct Verifier {
    plan: VerifyPlan,
    paths: Vec<String>,
    seed: u64,
    /// The bytes of a header with its checksum; 0 without headers.
    header_bytes: usize,
    /// The pattern, repeated over the largest request and begun anew in each of its intervals; empty if data is random.
    pattern: Arc<[u8]>,
    /// Room for the pattern with the offsets of one request in it; empty if it has none.
    wanted: Box<[u8]>,
    /// Whether every read is checked: in a job that only reads.
    checks_all: bool,
    /// Whether bad blocks are described, and not only counted.
    describes: bool,
}

impl Verifier {
    /// Creates what `plan` needs; nothing if it verifies nothing.
    pub(crate) fn new(plan: &WorkerPlan, largest_bytes: usize) -> Option<Self> {
        let verify = plan.verify.as_ref()?;
        if verify.checksum == Checksum::Null {
            return None;
        }
        let header_bytes = match verify.checksum {
            Checksum::Pattern => 0,
            checksum => BYTES + checksums::bytes(checksum),
        };
        let interval = pattern_interval(verify, largest_bytes);
        let pattern: Arc<[u8]> = match verify.pattern.len() {
            0 => Arc::default(),
            length => (0..largest_bytes)
                .map(|at| verify.pattern[at % interval % length])
                .collect(),
        };
        Some(Self {
            paths: plan.files.iter().map(|file| file.path.clone()).collect(),
            seed: plan.seed,
            header_bytes,
            wanted: match verify.pattern_offsets.is_empty() {
                true => Box::default(),
                false => pattern.as_ref().into(),
            },
            pattern,
            checks_all: !plan.pattern.rw.writes(),
            describes: true,
            plan: verify.clone(),
        })
    }

    /// Fills the buffer of a write with blocks.
    #[inline]
    pub(crate) fn fill(&self, buffer: &mut [u8], request: &Request, content: &Content) {
        let Check::Write(number) = request.check else {
            return;
        };
        let seed = self.seed_of(number);
        self.fill_data(buffer, request.offset_bytes, seed, content);
        if self.header_bytes == 0 {
            return;
        }
        let header = Header {
            checksum: header::code(self.plan.checksum),
            length: self.plan.interval_bytes,
            seed,
            offset: request.offset_bytes,
            seconds: (request.ready / 1_000_000_000) as u32,
            nanoseconds: (request.ready % 1_000_000_000) as u32,
            thread: self.plan.thread,
            number: number as u16,
        };
        self.fill_headers(buffer, header);
    }

    fn fill_headers(&self, buffer: &mut [u8], first: Header) {
        let interval = self.plan.interval_bytes;
        let mut header = first;
        for block in buffer.chunks_exact_mut(interval as usize) {
            header.store(block);
            let (head, data) = block.split_at_mut(self.header_bytes);
            checksums::store(self.plan.checksum, data, &mut head[BYTES..]);
            self.move_header(block);
            header.offset += u64::from(interval);
        }
    }

    /// Fills a request with its random bytes, or with the pattern.
    fn fill_data(&self, buffer: &mut [u8], offset_bytes: u64, seed: u64, content: &Content) {
        if self.pattern.is_empty() {
            content.fill_from(seed, buffer);
            return;
        }
        let length = buffer.len();
        buffer.copy_from_slice(&self.pattern[..length]);
        self.insert_offsets(buffer, offset_bytes);
    }

    /// Inserts the offset of the request into copies of the pattern, where it asks for that.
    fn insert_offsets(&self, buffer: &mut [u8], offset_bytes: u64) {
        if self.plan.pattern_offsets.is_empty() {
            return;
        }
        let interval = pattern_interval(&self.plan, buffer.len());
        let offsets = (offset_bytes..).step_by(interval);
        for (part, offset) in buffer.chunks_mut(interval).zip(offsets) {
            for copy in part.chunks_mut(self.plan.pattern.len()) {
                for &at in &self.plan.pattern_offsets {
                    let bytes = copy.iter_mut().skip(at as usize);
                    for (byte, value) in bytes.zip(offset.to_le_bytes()) {
                        *byte = value;
                    }
                }
            }
        }
    }

    /// Exchanges the header with the bytes at its offset, or back.
    fn move_header(&self, block: &mut [u8]) {
        let at = self.plan.offset_bytes as usize;
        if at > 0 {
            let (start, rest) = block.split_at_mut(at);
            start[..self.header_bytes].swap_with_slice(&mut rest[..self.header_bytes]);
        }
    }

    /// Returns the seed of a write, which no other write of the worker has soon.
    fn seed_of(&self, number: u32) -> u64 {
        (self.seed ^ 0x5EED_0F0F_DA7A_0001)
            .wrapping_add(u64::from(number).wrapping_mul(0x9E37_79B9_7F4A_7C15))
    }

    /// Whether it checks what `request` read.
    #[inline]
    pub(crate) fn checks(&self, request: &Request) -> bool {
        let known = request.check != Check::Nothing || self.checks_all;
        request.kind == Kind::Read && known
    }

    /// Checks what was read. Returns whether all of it was written so; adds what is wrong to `result`.
    #[inline]
    pub(crate) fn check(
        &mut self,
        buffer: &mut [u8],
        request: &Request,
        content: &Content,
        result: &mut VerifyResult,
    ) -> bool {
        if !self.checks(request) {
            return true;
        }
        result.requests += 1;
        if request.check == Check::Trimmed {
            return self.check_zeroes(buffer, request, content, result);
        }
        let mut good = true;
        let interval = self.plan.interval_bytes as usize;
        for at in (0..buffer.len()).step_by(interval) {
            let end = buffer.len().min(at + interval);
            if let Err(fault) = self.check_block(&mut buffer[at..end], at, request) {
                good = false;
                self.describe(fault, &buffer[at..end], at, request, content, result);
                if self.plan.fatal {
                    break;
                }
            }
        }
        result.failed += u64::from(!good);
        good
    }

    /// Checks that a block that was trimmed is zeroes.
    fn check_zeroes(
        &self,
        buffer: &[u8],
        request: &Request,
        content: &Content,
        result: &mut VerifyResult,
    ) -> bool {
        let Some(first) = buffer.iter().position(|&byte| byte != 0) else {
            return true;
        };
        let fault = Fault {
            field: "trimmed block",
            expected: "zeroes".into(),
            actual: format!("{:#04x} at byte {first}", buffer[first]),
        };
        self.describe(fault, buffer, 0, request, content, result);
        result.failed += 1;
        false
    }

    /// Checks the block that begins at `at` in its request. The block is left as it was.
    #[inline]
    fn check_block(&mut self, block: &mut [u8], at: usize, request: &Request) -> Result<(), Fault> {
        if self.header_bytes == 0 {
            return self.check_pattern(block, at, request);
        }
        if block.len() <= self.header_bytes + self.plan.offset_bytes as usize {
            return Err(Fault {
                field: "length of the read",
                expected: format!("a multiple of {}", self.plan.interval_bytes),
                actual: request.length_bytes.to_string(),
            });
        }
        self.move_header(block);
        let checked = self.check_whole(block, at, request);
        self.move_header(block);
        checked
    }

    fn check_whole(&mut self, block: &[u8], at: usize, request: &Request) -> Result<(), Fault> {
        let actual = Header::load(block)?;
        let decimal = |value: u64| value.to_string();
        let length = u64::from(self.plan.interval_bytes);
        differs(
            "length in the header",
            length,
            u64::from(actual.length),
            decimal,
        )?;
        let offset = request.offset_bytes + at as u64;
        differs("offset in the header", offset, actual.offset, decimal)?;
        if let Check::Write(number) = request.check {
            let number = u64::from(number as u16);
            differs(
                "number of the write",
                number,
                u64::from(actual.number),
                decimal,
            )?;
        }
        let code = header::code(self.plan.checksum);
        differs("kind of checksum", code, actual.checksum, header::name)?;
        let (head, data) = block.split_at(self.header_bytes);
        let stored = &head[BYTES..];
        let mut computed = [0; checksums::LONGEST];
        checksums::store(self.plan.checksum, data, &mut computed);
        let computed = &computed[..stored.len()];
        if computed != stored {
            return Err(Fault {
                field: Mismatch::CHECKSUM,
                expected: format!("{} {}", header::name(code), digits(stored)),
                actual: digits(computed),
            });
        }
        if matches!(self.plan.checksum, Checksum::Meta | Checksum::PatternHdr) {
            self.check_pattern(data, at + self.header_bytes, request)?;
        }
        Ok(())
    }

    /// Compares data that begins at `at` in its request with the pattern, if there is one.
    fn check_pattern(&mut self, data: &[u8], at: usize, request: &Request) -> Result<(), Fault> {
        if self.pattern.is_empty() {
            return Ok(());
        }
        let range = at..at + data.len();
        if self.wanted.is_empty() {
            return compare(data, &self.pattern[range], at);
        }
        let length = request.length_bytes as usize;
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted[..length].copy_from_slice(&self.pattern[..length]);
        self.insert_offsets(&mut wanted[..length], request.offset_bytes);
        let compared = compare(data, &wanted[range], at);
        self.wanted = wanted;
        compared
    }

    /// Adds a mismatch to the result, while there is room for it.
    #[cold]
    fn describe(
        &self,
        fault: Fault,
        block: &[u8],
        at: usize,
        request: &Request,
        content: &Content,
        result: &mut VerifyResult,
    ) {
        if !self.describes || result.mismatches.len() >= VerifyResult::MOST_DESCRIBED {
            return;
        }
        // As in fio, a block that was trimmed is not saved: it holds nothing that was written.
        let dump = self.plan.dump && request.check != Check::Trimmed;
        result.mismatches.push(Mismatch {
            path: self.paths[request.target as usize].clone(),
            offset_bytes: request.offset_bytes + at as u64,
            length_bytes: block.len() as u32,
            request_offset_bytes: request.offset_bytes,
            request_length_bytes: request.length_bytes,
            field: fault.field.to_owned(),
            expected: fault.expected,
            actual: fault.actual,
            received: dump.then(|| Bytes(block.to_vec())),
            written: dump
                .then(|| self.rewritten(block, at, request, content))
                .flatten()
                .map(Bytes),
        });
    }

    /// Returns what the block should hold. Random data is made again from the seed in the header; `None` if the header
    /// is not one.
    fn rewritten(
        &self,
        block: &[u8],
        at: usize,
        request: &Request,
        content: &Content,
    ) -> Option<Vec<u8>> {
        let mut buffer = vec![0; request.length_bytes as usize];
        if self.header_bytes == 0 {
            self.fill_data(&mut buffer, request.offset_bytes, 0, content);
        } else {
            let mut moved = block.to_vec();
            self.move_header(&mut moved);
            let actual = Header::load(&moved).ok()?;
            self.fill_data(&mut buffer, request.offset_bytes, actual.seed, content);
            let offset = request.offset_bytes;
            self.fill_headers(&mut buffer, Header { offset, ..actual });
        }
        Some(buffer[at..at + block.len()].to_vec())
    }
}

/// Returns after how many bytes of a request the pattern begins anew; `largest_bytes` if it does not.
fn pattern_interval(plan: &VerifyPlan, largest_bytes: usize) -> usize {
    match plan.pattern_interval_bytes {
        0 => largest_bytes.max(1),
        interval => interval as usize,
    }
}

/// Compares data that begins at `at` in its request with the pattern there.
fn compare(data: &[u8], wanted: &[u8], at: usize) -> Result<(), Fault> {
    if data == wanted {
        return Ok(());
    }
    let mut pairs = data.iter().zip(wanted).enumerate();
    match pairs.find(|(_, (actual, wanted))| actual != wanted) {
        None => Ok(()),
        Some((first, (actual, wanted))) => Err(Fault {
            field: "pattern",
            expected: format!("{wanted:#04x} at byte {}", at + first),
            actual: format!("{actual:#04x}"),
        }),
    }
}

/// Returns a checksum as people write it: a number of up to eight bytes, which is little-endian on the disk, or the
/// digits of a digest.
fn digits(bytes: &[u8]) -> String {
    let hex = |byte: &u8| format!("{byte:02x}");
    if bytes.len() <= 8 {
        format!("0x{}", bytes.iter().rev().map(hex).collect::<String>())
    } else {
        bytes.iter().map(hex).collect()
    }
}

#[cfg(test)]
mod tests;
