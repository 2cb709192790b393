//! Tests of entire patterns. Each generator's own tests are in its file.

mod coverage;
mod fio_facts;
mod laws;
mod mixes;
pub(in crate::generate) mod statistics;
mod strides;

use super::{Io, Pattern};
use crate::plan::{Distribution, FileOrder, PatternPlan, PerDirection, Rw, SizesPlan};
use crate::request::Kind;

pub(super) const KIB: u64 = 1024;

pub(super) fn same<T: Clone>(value: &T) -> PerDirection<T> {
    PerDirection {
        read: value.clone(),
        write: value.clone(),
        trim: value.clone(),
    }
}

/// Lengths from `minimum_bytes` to `maximum_bytes`, aligned to the minimum.
pub(super) fn sizes(minimum_bytes: u32, maximum_bytes: u32) -> SizesPlan {
    SizesPlan {
        minimum_bytes,
        maximum_bytes,
        split: vec![],
        align_bytes: minimum_bytes,
    }
}

/// fio's defaults: 4 KiB, uniform, with a random map.
pub(super) fn plan(rw: Rw) -> PatternPlan {
    PatternPlan {
        rw,
        sequence: 0,
        sizes: same(&sizes(4096, 4096)),
        distribution: same(&Distribution::Random),
        percentage_random: same(&100.0),
        rwmix_read_percent: 50.0,
        random_map: true,
        fsync_every: 0,
        fdatasync_every: 0,
        sync_file_range: None,
        sync_at_end: false,
        file_order: FileOrder::Roundrobin,
        file_distribution: Distribution::Random,
        file_run: 1,
        open_files: 0,
        strides: None,
    }
}

pub(super) fn pattern(plan: &PatternPlan, regions: &[(u64, u64)]) -> Pattern {
    Pattern::new(plan, regions, 1).expect("the plan is valid")
}

/// The requests until the end of the pass.
pub(super) fn pass(pattern: &mut Pattern) -> Vec<Io> {
    std::iter::from_fn(|| pattern.next()).collect()
}

/// A request as `r8+4`: kind, offset and length in KiB; of another file than the first as `1:r8+4`; syncs as `f`, `d`, `s`.
pub(super) fn show(io: &Io) -> String {
    let file = if io.target == 0 {
        String::new()
    } else {
        format!("{}:", io.target)
    };
    let letter = match io.kind {
        Kind::Read => "r",
        Kind::Write => "w",
        Kind::Trim => "t",
        Kind::Sync => return format!("{file}f"),
        Kind::DataSync => return format!("{file}d"),
        Kind::RangeSync => return format!("{file}s"),
    };
    format!(
        "{file}{letter}{}+{}",
        io.offset_bytes / KIB,
        u64::from(io.length_bytes) / KIB
    )
}
