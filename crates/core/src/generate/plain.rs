//! The commonest pattern, faster: uniform random requests of one size in one file. Only the block is left to decide.
//!
//! It makes the same requests from the same random numbers as the general pattern, in a fraction of the steps. At tens
//! of millions of requests a second those steps cost throughput.

use super::io::Io;
use super::region::Region;
use super::region::Shape;
use super::rng::Rng;
use crate::plan::PatternPlan;
use crate::request::Kind;

/// The constants of a plain pattern.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plain {
    kind: Kind,
    start: u64,
    blocks: u64,
    align: u64,
    length: u32,
}

impl Plain {
    /// Returns `None` if the pattern is not plain.
    pub(super) fn new(
        plan: &PatternPlan,
        kind: Kind,
        shape: &Shape,
        regions: &[Region],
    ) -> Option<Self> {
        let [region] = regions else { return None };
        let direction = kind.direction() as usize;
        let all_random = [
            plan.percentage_random.read,
            plan.percentage_random.write,
            plan.percentage_random.trim,
        ][direction]
            >= 100.0;
        let alone = plan.rw.random() && plan.sequence <= 1 && all_random;
        let synced = plan.syncs_after_writes();
        if !alone || synced || shape.cover.is_some() || plan.strides.is_some() {
            return None;
        }
        let (start, blocks) = region.uniform(direction)?;
        Some(Self {
            kind,
            start,
            blocks,
            align: shape.align,
            length: shape.sizes.fixed()?,
        })
    }

    /// Returns the bytes of each request.
    #[inline(always)]
    pub(super) fn length(&self) -> u64 {
        u64::from(self.length)
    }

    /// Returns the next request.
    #[inline(always)]
    pub(super) fn next(&self, offsets: &mut Rng) -> Io {
        Io {
            target: 0,
            kind: self.kind,
            offset_bytes: self.start + offsets.below(self.blocks) * self.align,
            length_bytes: self.length,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::{KIB, plan};
    use super::super::{Pattern, tests};
    use crate::plan::{PatternPlan, Rw};
    use proptest::prelude::*;

    fn is_plain(plan: &PatternPlan, regions: &[(u64, u64)]) -> bool {
        tests::pattern(plan, regions).plain.is_some()
    }

    #[test]
    fn is_chosen_for_uniform_requests_of_one_size_in_one_file() {
        let regions = [(0, 1024 * KIB)];
        let simple = PatternPlan {
            random_map: false,
            ..plan(Rw::Randread)
        };
        assert!(is_plain(&simple, &regions));
        assert!(!is_plain(&simple, &[regions[0], regions[0]]));
        assert!(!is_plain(
            &PatternPlan {
                random_map: true,
                ..simple.clone()
            },
            &regions
        ));
        assert!(!is_plain(
            &PatternPlan {
                sequence: 2,
                ..simple.clone()
            },
            &regions
        ));
        assert!(!is_plain(
            &PatternPlan {
                rw: Rw::Randrw,
                ..simple.clone()
            },
            &regions
        ));
        assert!(!is_plain(
            &PatternPlan {
                rw: Rw::Read,
                ..simple.clone()
            },
            &regions
        ));
        assert!(!is_plain(
            &PatternPlan {
                fsync_every: 1,
                ..simple.clone()
            },
            &regions
        ));
        assert!(!is_plain(
            &PatternPlan {
                percentage_random: tests::same(&99.0),
                ..simple.clone()
            },
            &regions
        ));
        assert!(!is_plain(
            &PatternPlan {
                sizes: tests::same(&tests::sizes(4096, 8192)),
                ..simple
            },
            &regions
        ));
    }

    proptest! {
        #[test]
        fn makes_the_requests_of_the_general_way(
            rw in prop::sample::select(vec![Rw::Randread, Rw::Randwrite, Rw::Randtrim]),
            start in 0..100u64,
            blocks in 1..1000u64,
            spare in 0..4096u64,
            seed: u64,
        ) {
            let plan = PatternPlan { random_map: false, ..plan(rw) };
            let region = [(start * 4096, blocks * 4096 + spare)];
            let mut short = Pattern::new(&plan, &region, seed).unwrap();
            let mut general = short.clone();
            prop_assert!(short.plain.is_some());
            general.plain = None;
            for _ in 0..3 {
                prop_assert_eq!(tests::pass(&mut short), tests::pass(&mut general));
                short.rewind();
                general.rewind();
            }
            short.replay();
            general.replay();
            prop_assert_eq!(tests::pass(&mut short), tests::pass(&mut general));
        }
    }
}
