//! The sizes that are issued while a random map of several sizes fills: compared with fio's rule, and with shares
//! measured with fio.

use std::collections::HashMap;

use proptest::prelude::*;

use super::*;
use crate::generate::rng::{Chance, Rng, Stream};
use crate::generate::sizes::Sizes;
use crate::plan::BlockSizeShare;

/// Applies fio's rule, as in its io_u.c, to a plain array. A draw that hits a used block takes the next free one,
/// wrapping around at the end. A request ends before the next used block. Reads and writes share the array, each in its
/// own blocks.
fn law(plan: &PatternPlan, bytes: u64, seed: u64) -> Vec<Io> {
    let mut offsets = Rng::new(seed, Stream::Offsets);
    let mut lengths = Rng::new(seed, Stream::Sizes);
    let mut mix = Rng::new(seed, Stream::Mix);
    let reads = Chance::from_percent(plan.rwmix_read_percent);
    let smallest = plan
        .sizes
        .read
        .minimum_bytes
        .min(plan.sizes.write.minimum_bytes);
    let mut used = vec![false; (bytes / u64::from(smallest)) as usize];
    let mut ios = Vec::new();
    let mut issued = 0;
    while issued < bytes {
        let (kind, sizes) = if mix.chance(reads) {
            (Kind::Read, &plan.sizes.read)
        } else {
            (Kind::Write, &plan.sizes.write)
        };
        let block_bytes = u64::from(sizes.minimum_bytes);
        let drawn = offsets.below(bytes / block_bytes) as usize;
        let mut onward = (drawn..used.len()).chain(0..drawn);
        let Some(block) = onward.find(|block| !used[*block]) else {
            break;
        };
        let offset_bytes = block as u64 * block_bytes;
        if offset_bytes + block_bytes > bytes {
            break;
        }
        let law = Sizes::new(sizes).expect("there is a size");
        let wanted = law
            .draw(bytes - offset_bytes, &mut lengths)
            .expect("the smallest fits");
        let mut blocks = 0;
        while u64::from(wanted) > blocks * block_bytes
            && used.get(block + blocks as usize) == Some(&false)
        {
            used[block + blocks as usize] = true;
            blocks += 1;
        }
        let length_bytes = u64::from(wanted).min(blocks * block_bytes) as u32;
        issued += u64::from(length_bytes);
        ios.push(Io {
            target: 0,
            kind,
            offset_bytes,
            length_bytes,
        });
    }
    ios
}

fn range(smallest: u32, largest: u32) -> SizesPlan {
    sizes(smallest, largest)
}

fn split(shares: &[(u32, f64)]) -> SizesPlan {
    let lengths = || shares.iter().map(|(length, _)| *length);
    SizesPlan {
        split: shares
            .iter()
            .map(|&(size_bytes, percent)| BlockSizeShare {
                size_bytes,
                percent,
            })
            .collect(),
        ..sizes(lengths().min().unwrap_or(0), lengths().max().unwrap_or(0))
    }
}

fn any_sizes() -> impl Strategy<Value = SizesPlan> {
    let unit = || prop::sample::select(vec![512u32, 1536, 4096]);
    prop_oneof![
        (unit(), 1u32..40, 0u32..512)
            .prop_map(|(unit, times, odd)| range(unit, unit * times + odd)),
        (unit(), 2u32..40).prop_map(|(unit, times)| split(&[(unit, 40.0), (unit * times, 60.0)])),
    ]
}

proptest! {
    #[test]
    fn a_map_of_several_sizes_follows_the_law(
        read in any_sizes(),
        write in any_sizes(),
        bytes in 200_000u64..2_000_000,
        rwmix_read_percent in 0.0..=100.0,
        seed: u64,
    ) {
        let write = SizesPlan { maximum_bytes: write.maximum_bytes.max(write.minimum_bytes + 1), ..write };
        let trim = read.clone();
        let plan = PatternPlan {
            sizes: PerDirection { read, write, trim },
            rwmix_read_percent,
            ..plan(Rw::Randrw)
        };
        let mut pattern = Pattern::new(&plan, &[(0, bytes)], seed).expect("the region has room");
        prop_assert_eq!(pass(&mut pattern), law(&plan, bytes, seed));
    }
}

const MIB: u64 = 1 << 20;
const TENTHS: usize = 10;
/// The least requests in a tenth: fewer do not determine shares to two percentage points.
const ENOUGH: u64 = 2000;

/// A job of `tests/fio_mixes.py`.
struct Case {
    name: &'static str,
    plan: PatternPlan,
    region_bytes: u64,
    /// Bytes that it issues.
    bytes: u64,
    seeds: u64,
}

fn case(name: &'static str, plan: PatternPlan, region_bytes: u64) -> Case {
    Case {
        name,
        plan,
        region_bytes,
        bytes: region_bytes,
        seeds: 1,
    }
}

fn of_sizes(rw: Rw, read: SizesPlan, write: SizesPlan) -> PatternPlan {
    PatternPlan {
        sizes: PerDirection {
            trim: read.clone(),
            read,
            write,
        },
        ..plan(rw)
    }
}

fn one(rw: Rw, sizes: SizesPlan) -> PatternPlan {
    of_sizes(rw, sizes.clone(), sizes)
}

fn cases() -> [Case; 8] {
    let halves = || split(&[(4096, 50.0), (65536, 50.0)]);
    let file_server = [10.0, 5.0, 5.0, 60.0, 2.0, 4.0, 4.0, 10.0]
        .into_iter()
        .enumerate()
        .map(|(power, percent)| (512 << power, percent))
        .collect::<Vec<_>>();
    let mixed = PatternPlan {
        rwmix_read_percent: 80.0,
        ..one(Rw::Randrw, split(&file_server))
    };
    let aligned = SizesPlan {
        align_bytes: 512,
        ..range(4096, 16384)
    };
    let splits = of_sizes(
        Rw::Randrw,
        split(&[(4096, 80.0), (65536, 20.0)]),
        split(&[(4096, 20.0), (131_072, 80.0)]),
    );
    let other_smallest = of_sizes(Rw::Randrw, range(4096, 16384), range(8192, 32768));
    [
        case("split", one(Rw::Randread, halves()), 4096 * MIB),
        case("range", one(Rw::Randread, range(4096, 16384)), 2048 * MIB),
        case("file-server", mixed, 1024 * MIB),
        case(
            "uneven",
            one(Rw::Randwrite, range(3072, 13312)),
            2_000_000_001,
        ),
        case("aligned-to-less", one(Rw::Randread, aligned), 2048 * MIB),
        case("read-and-write-splits", splits, 8192 * MIB),
        Case {
            seeds: 32,
            ..case("other-smallest", other_smallest, 64 * MIB)
        },
        Case {
            bytes: 5120 * MIB,
            ..case("passes", one(Rw::Randread, halves()), 2048 * MIB)
        },
    ]
}

/// By direction and size: percent of the requests of each tenth of coverage, if known.
type Shares = HashMap<(String, u32), [Option<f64>; TENTHS]>;

fn shares(case: &Case) -> Shares {
    let mut counts: HashMap<(String, u32), [u64; TENTHS]> = HashMap::new();
    for seed in 1..=case.seeds {
        let mut pattern =
            Pattern::new(&case.plan, &[(0, case.region_bytes)], seed).expect("the plan is valid");
        let mut covered = 0;
        while covered < case.bytes {
            let Some(io) = pattern.next() else {
                if case.bytes == case.region_bytes {
                    break;
                }
                pattern.replay();
                continue;
            };
            let tenth = (covered * TENTHS as u64 / case.bytes) as usize;
            let direction = io.kind.direction().name().to_owned();
            counts.entry((direction, io.length_bytes)).or_default()[tenth] += 1;
            covered += u64::from(io.length_bytes);
        }
    }
    let totals: [u64; TENTHS] =
        std::array::from_fn(|tenth| counts.values().map(|count| count[tenth]).sum());
    let percent =
        |count: u64, total: u64| (total >= ENOUGH).then(|| 100.0 * count as f64 / total as f64);
    counts
        .into_iter()
        .map(|(key, count)| {
            (
                key,
                std::array::from_fn(|tenth| percent(count[tenth], totals[tenth])),
            )
        })
        .collect()
}

/// Returns fio 3.33's shares, as measured by `python -m tests.fio_mixes`. Sizes with less than half a percent are left
/// out.
fn fio_shares(name: &str) -> Shares {
    include_str!("fio_mixes.csv")
        .lines()
        .map(|line| line.split(',').collect::<Vec<_>>())
        .filter(|fields| fields[0] == name)
        .map(|fields| {
            let key = (fields[1].to_owned(), fields[2].parse().expect("a size"));
            (
                key,
                std::array::from_fn(|tenth| fields[3 + tenth].parse().ok()),
            )
        })
        .collect()
}

#[test]
fn every_size_has_fios_share_at_every_tenth_of_coverage() {
    for case in cases() {
        let (mine, theirs) = (shares(&case), fio_shares(case.name));
        let known = theirs.values().next().expect("fio has figures");
        assert!(known.iter().flatten().count() >= 7, "{}", case.name);
        for key in mine.keys().chain(theirs.keys()) {
            let of = |shares: &Shares, tenth: usize| {
                shares
                    .get(key)
                    .map_or(Some(0.0), |percents| percents[tenth])
            };
            for tenth in (0..TENTHS).filter(|tenth| known[*tenth].is_some()) {
                if let (Some(mine), Some(theirs)) = (of(&mine, tenth), of(&theirs, tenth)) {
                    assert!(
                        (mine - theirs).abs() <= 2.0,
                        "{}: {key:?} in tenth {tenth}: {mine:.2} %, fio {theirs:.2} %",
                        case.name
                    );
                }
            }
        }
    }
}
