//! Proves that stamps notice faults: workloads on a faulty drive, judged, and compared with an independent model.
//!
//! The model keeps the bytes of every version of every block, and says which of them the drive may hold. It knows
//! neither stamps nor the judge. A fault that left a trace, by the model, must be noticed; nothing else may be.
//!
//! `cargo test --release -p iogauge-nbd --test proof -- --ignored --nocapture` runs 1,000 seeds of each fault and prints
//! a table.
#![allow(missing_docs)]

use std::collections::{BTreeMap, VecDeque};

use iogauge_core::generate::{Rng, Stream};
use iogauge_nbd::faults::{
    Fate, FaultKind, FaultSpec, Faults, Faulty, Keep, LateWrite, PowerCut, Reading, When,
};
use iogauge_nbd::protocol::{Command, Request};
use iogauge_nbd::store::MemoryStore;
use iogauge_stamp::{
    Block, Class, Generations, Header, History, Judge, Record, Spans, Stamp, Surviving,
};

const BLOCK: usize = 4096;
const BLOCKS: u64 = 48;
const SIZE: u64 = BLOCKS * BLOCK as u64;
const STEPS: u64 = 250;
const DEPTH: usize = 4;
/// Steps after which a client gives up, and after which a late write comes.
const PATIENCE: u64 = 4;
const DELAY: u64 = 25;
const RUN: u64 = 0x5eed;

const KINDS: [(&str, FaultKind, bool); 12] = [
    ("lost-flush", FaultKind::LostFlush, false),
    ("torn-write", FaultKind::TornWrite, false),
    ("reordering", FaultKind::Reordering, false),
    ("reordering, across-flush", FaultKind::Reordering, true),
    ("misdirected-write", FaultKind::MisdirectedWrite, false),
    ("misdirected-read", FaultKind::MisdirectedRead, false),
    ("bit-rot", FaultKind::BitRot, false),
    ("stale-read", FaultKind::StaleRead, false),
    ("short-write", FaultKind::ShortWrite, false),
    ("dropped-write", FaultKind::DroppedWrite, false),
    ("duplicated", FaultKind::Duplicated, false),
    ("late", FaultKind::Late, false),
];

/// A version of some blocks, as the model knows it. Times are numbers of records.
struct Version {
    first: u64,
    bytes: Vec<u8>,
    fua: bool,
    begin: u64,
    end: Option<u64>,
    failed: bool,
}

impl Version {
    fn block(&self, block: u64) -> Option<&[u8]> {
        let at = block.checked_sub(self.first)? as usize * BLOCK;
        self.bytes.get(at..at + BLOCK)
    }
}

/// A flush, as the model knows it.
struct Flush {
    begin: u64,
    end: Option<u64>,
}

/// A program that writes stamps, and the model of what it may find again.
struct Program {
    drive: Faulty,
    rng: Rng,
    now: u64,
    generations: Generations,
    log: Vec<Record>,
    versions: Vec<Version>,
    flushes: Vec<Flush>,
    /// Requests in flight: numbers of versions and of flushes.
    writing: VecDeque<usize>,
    flushing: VecDeque<usize>,
    /// Writes that come late, by when, with the instant at which the program gives up.
    late: Vec<(u64, LateWrite)>,
    waiting: Vec<(u64, usize)>,
}

impl Program {
    fn new(seed: u64, faults: &Faults) -> Self {
        let store = Box::new(MemoryStore::new(SIZE));
        Self {
            drive: Faulty::new(store, SIZE, faults),
            rng: Rng::new(seed, Stream::Mix),
            now: 0,
            generations: Generations::new(0, SIZE, BLOCK as u32),
            log: Vec::new(),
            versions: Vec::new(),
            flushes: Vec::new(),
            writing: VecDeque::new(),
            flushing: VecDeque::new(),
            late: Vec::new(),
            waiting: Vec::new(),
        }
    }

    fn append(&mut self, record: Record) -> u64 {
        self.log.push(record);
        self.log.len() as u64
    }

    /// Makes one step. Returns false if the power is gone.
    fn step(&mut self) -> bool {
        self.now += 1;
        self.come_late();
        let in_flight = self.writing.len() + self.flushing.len() + self.waiting.len();
        match self.rng.below(20) {
            0..=8 if in_flight < DEPTH => self.write(),
            9 if in_flight < DEPTH => self.flush(),
            _ => {
                self.complete();
                true
            }
        }
    }

    fn request(&self, command: Command, block: u64, blocks: u64, fua: bool) -> Request {
        Request {
            cookie: 0,
            command,
            offset_bytes: block * BLOCK as u64,
            length_bytes: (blocks * BLOCK as u64) as u32,
            fua,
        }
    }

    fn write(&mut self) -> bool {
        let blocks = 1 + self.rng.below(4);
        let first = self.rng.below(BLOCKS - blocks + 1);
        let fua = self.rng.below(8) == 0;
        let sequence = self.versions.len() as u64 + 1;
        let mut bytes: Vec<u8> = (0..blocks as usize * BLOCK / 8)
            .flat_map(|_| self.rng.bits().to_le_bytes())
            .collect();
        for (block, content) in (first..).zip(bytes.chunks_exact_mut(BLOCK)) {
            let address_bytes = block * BLOCK as u64;
            let stamp = Stamp {
                run: RUN,
                file: 0,
                address_bytes,
                sequence,
                generation: self.generations.next(address_bytes),
            };
            stamp.write_all(content);
        }
        let begin = self.append(Record::Write {
            sequence,
            file: 0,
            offset_bytes: first * BLOCK as u64,
            length_bytes: bytes.len() as u32,
            fua,
        });
        self.versions.push(Version {
            first,
            bytes: bytes.clone(),
            fua,
            begin,
            end: None,
            failed: false,
        });
        let version = self.versions.len() - 1;
        let request = self.request(Command::Write, first, blocks, fua);
        match self.drive.begin(self.now, request, bytes).unwrap() {
            Fate::Done(_) => self.writing.push_back(version),
            Fate::Later { until_ns, write } => {
                self.late.push((until_ns, write));
                self.waiting.push((self.now + PATIENCE, version));
            }
            Fate::PowerCut => return false,
        }
        true
    }

    fn flush(&mut self) -> bool {
        let sequence = self.flushes.len() as u64 + 1;
        let begin = self.append(Record::Flush { sequence, file: 0 });
        self.flushes.push(Flush { begin, end: None });
        let request = self.request(Command::Flush, 0, 0, false);
        let fate = self.drive.begin(self.now, request, Vec::new()).unwrap();
        self.flushing.push_back(self.flushes.len() - 1);
        fate != Fate::PowerCut
    }

    /// Gets the answer to one request in flight.
    fn complete(&mut self) {
        if self.rng.below(4) == 0
            && let Some(flush) = self.flushing.pop_front()
        {
            let sequence = flush as u64 + 1;
            self.flushes[flush].end = Some(self.append(Record::Flushed { sequence }));
        } else if !self.writing.is_empty() {
            let index = self.rng.below(self.writing.len() as u64) as usize;
            let version = self.writing.remove(index).unwrap();
            self.end(version, false);
        }
    }

    fn end(&mut self, version: usize, failed: bool) {
        let sequence = version as u64 + 1;
        let record = if failed {
            Record::Failed { sequence }
        } else {
            Record::Written { sequence }
        };
        let end = self.append(record);
        self.versions[version].end = Some(end);
        self.versions[version].failed = failed;
    }

    /// Gives up requests that take too long, and lets those that come late come.
    fn come_late(&mut self) {
        for (until, version) in std::mem::take(&mut self.waiting) {
            if until <= self.now {
                self.end(version, true);
            } else {
                self.waiting.push((until, version));
            }
        }
        for (until, write) in std::mem::take(&mut self.late) {
            if until <= self.now {
                self.drive.write_late(self.now, write).unwrap();
            } else {
                self.late.push((until, write));
            }
        }
    }

    /// Reads all blocks, by one read each.
    fn read(&mut self) -> Vec<u8> {
        let mut bytes = vec![0; SIZE as usize];
        for (block, content) in (0..).zip(bytes.chunks_exact_mut(BLOCK)) {
            let request = self.request(Command::Read, block, 1, false);
            let offset = request.offset_bytes;
            match self.drive.begin(self.now, request, Vec::new()).unwrap() {
                Fate::Done(Reading::Here) => self.drive.read(offset, content).unwrap(),
                Fate::Done(Reading::At(other)) => self.drive.read(other, content).unwrap(),
                Fate::Done(Reading::Before) => self.drive.read_before(offset, content).unwrap(),
                other => panic!("{other:?}"),
            }
        }
        bytes
    }

    /// Whether a block may hold these bytes, by the model.
    fn may_hold(&self, block: u64, bytes: &[u8], surviving: Surviving) -> bool {
        let is_durable = |version: &&Version| {
            let Some(end) = version.end.filter(|_| !version.failed) else {
                return false;
            };
            let covers = |flush: &Flush| flush.end.is_some() && flush.begin > end;
            surviving == Surviving::Completed || version.fua || self.flushes.iter().any(covers)
        };
        let of_block = self
            .versions
            .iter()
            .filter(|version| version.block(block).is_some());
        let durable: Vec<u64> = of_block
            .clone()
            .filter(is_durable)
            .map(|version| version.begin)
            .collect();
        let survives = |end: Option<u64>| {
            !durable
                .iter()
                .any(|&begin| end.is_some_and(|end| end < begin))
        };
        let nothing = bytes.iter().all(|&byte| byte == 0) && survives(Some(0));
        nothing
            || of_block
                .filter(|version| version.block(block) == Some(bytes))
                .any(|version| survives(version.end))
    }

    /// Returns the class of each block that was written, by the stamps.
    fn judge(&self, bytes: &[u8], surviving: Surviving) -> BTreeMap<u64, Class> {
        let header = Header {
            run: RUN,
            block_bytes: BLOCK as u32,
            zeroes: true,
        };
        let mut history = History::new(surviving, 0, header.block_bytes, 0..SIZE);
        let records = || (1..).zip(self.log.iter().copied());
        records().for_each(|(position, record)| history.record(position, record));
        let (mut spans, mut blocks) = (Spans::default(), BTreeMap::new());
        let written = history
            .written()
            .into_iter()
            .flat_map(|range| range.step_by(BLOCK));
        for offset in written {
            let block = Block::read(&bytes[offset as usize..][..BLOCK], RUN, 0, offset);
            spans.want(&block);
            blocks.insert(offset, block);
        }
        records().for_each(|(position, record)| spans.record(position, record));
        let judge = Judge {
            header,
            history: &history,
            spans: &spans,
            atomic_bytes: BLOCK as u32,
        };
        let verdicts = judge.judge(&blocks).into_iter();
        verdicts
            .map(|(offset, verdict)| (offset / BLOCK as u64, verdict.class))
            .collect()
    }
}

#[derive(Default)]
struct Tally {
    injected: u64,
    /// Seeds in which a fault happened, in which one left a trace, and in which the stamps show one.
    seeds: u64,
    traced: u64,
    noticed: u64,
    /// Blocks.
    detected: u64,
    missed: u64,
    false_alarms: u64,
    classes: BTreeMap<&'static str, u64>,
}

/// Runs one seed of one kind of fault, with a power cut or without.
fn run(seed: u64, kind: Option<(FaultKind, bool)>, cut: bool, tally: &mut Tally) {
    let mut rng = Rng::new(seed, Stream::Scatter);
    // Flushes are few, and a write that stays behind one leaves a trace only if a cut comes before the next.
    let rare = matches!(
        kind,
        Some((FaultKind::LostFlush, _) | (FaultKind::Reordering, true))
    );
    let often = rng.below(2) == 0;
    let probability = match (rare, often) {
        (true, true) => 1.0,
        (true, false) => 0.5,
        (false, true) => 0.2,
        (false, false) => 0.03,
    };
    let spec = kind.map(|(kind, across_flush)| FaultSpec {
        kind,
        when: When::Probability(probability),
        offset_bytes: 0,
        size_bytes: None,
        most: (rng.below(2) == 0).then_some(2),
        unit_bytes: 512,
        delay_ns: DELAY,
        across_flush,
    });
    let faults = Faults {
        seed,
        specs: spec.into_iter().collect(),
        write_cache_bytes: [0, 20_000, 1 << 20, 1 << 20][rng.below(4) as usize],
        power_cut: PowerCut {
            at_request: cut.then(|| 20 + rng.below(60)),
            after_ns: None,
            keep: [Keep::None, Keep::Random, Keep::Random, Keep::All][rng.below(4) as usize],
            atomic_bytes: BLOCK as u32,
            ends: false,
        },
    };
    let mut program = Program::new(seed, &faults);
    let survived = (0..STEPS).all(|_| program.step());
    assert_eq!(survived, !cut);
    if cut {
        program.drive.cut_power(program.now).unwrap();
    } else {
        program.now += DELAY;
        program.come_late();
    }
    let surviving = if cut {
        Surviving::Flushed
    } else {
        Surviving::Completed
    };
    let bytes = program.read();
    let injected = program.drive.take_injected();
    let happened = injected
        .iter()
        .filter(|fault| fault.kind != "power-cut")
        .count() as u64;
    let classes = program.judge(&bytes, surviving);
    let (mut traced, mut noticed) = (false, false);
    for (&block, &class) in &classes {
        let content = &bytes[block as usize * BLOCK..][..BLOCK];
        let violates = !program.may_hold(block, content, surviving);
        match (violates, class.violates()) {
            (true, true) => tally.detected += 1,
            (true, false) => tally.missed += 1,
            (false, true) => tally.false_alarms += 1,
            (false, false) => {}
        }
        traced |= violates;
        noticed |= class.violates();
        if class.violates() {
            *tally.classes.entry(class.name()).or_default() += 1;
        }
    }
    assert!(
        happened > 0 || !traced,
        "seed {seed}: a trace without a fault"
    );
    tally.injected += happened;
    tally.seeds += u64::from(happened > 0);
    tally.traced += u64::from(traced);
    tally.noticed += u64::from(traced && noticed);
}

/// Runs all kinds and returns a line for each.
fn prove(seeds: u64) -> Vec<String> {
    let mut lines = Vec::new();
    let nothing = ("no fault", None);
    let kinds = KINDS.map(|(name, kind, across)| (name, Some((kind, across))));
    for (name, kind) in std::iter::once(nothing).chain(kinds) {
        for cut in [true, false] {
            let mut tally = Tally::default();
            (0..seeds).for_each(|seed| run(seed, kind, cut, &mut tally));
            assert_eq!(
                (tally.missed, tally.false_alarms),
                (0, 0),
                "{name}, cut {cut}"
            );
            assert_eq!(tally.traced, tally.noticed, "{name}, cut {cut}");
            // Which faults can leave a trace at all.
            let needs_cut = matches!(
                kind,
                Some((FaultKind::LostFlush, _) | (FaultKind::Reordering, true))
            );
            let needs_power = matches!(kind, Some((FaultKind::StaleRead, _)));
            let harmless = matches!(kind, None | Some((FaultKind::Reordering, false)));
            let silent = harmless || (needs_cut && !cut) || (needs_power && cut);
            assert_eq!(
                tally.traced == 0,
                silent,
                "{name}, cut {cut}: {} traces",
                tally.traced
            );
            let Tally {
                injected,
                seeds,
                traced,
                noticed,
                detected,
                missed,
                false_alarms,
                classes,
            } = tally;
            let after = if cut { "power cut" } else { "run" };
            lines.push(format!(
                "{name:<25} {after:<10} {injected:>7} {seeds:>6} {traced:>7} {noticed:>8} {detected:>9} {missed:>7} \
                 {false_alarms:>6}  {classes:?}"
            ));
        }
    }
    lines
}

#[test]
fn every_trace_is_noticed_and_nothing_else() {
    prove(24);
}

#[test]
#[ignore = "a thousand seeds of each fault: a minute"]
fn a_thousand_seeds_of_each_fault() {
    println!(
        "{:<25} {:<10} {:>7} {:>6} {:>7} {:>8} {:>9} {:>7} {:>6}  classes",
        "fault", "after", "faults", "seeds", "traced", "noticed", "blocks", "missed", "false"
    );
    for line in prove(1000) {
        println!("{line}");
    }
}
