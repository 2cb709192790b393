//! Draws a request's length: a fixed size, a range or a weighted split, never more than the region has left.
//!
//! As in fio, lengths are multiples of the smallest size: an entry of a split that is not a multiple is rounded down.
//! Only the largest size of a range is not rounded. Near the region's end, only lengths that fit are drawn, with their
//! shares in proportion.
//!
//! Source: fio's bs, bsrange and bssplit, as measured with fio 3.33.

use super::rng::Rng;
use crate::plan::SizesPlan;

/// Weight of one percent of a split: fine enough for any percentage that a job file can say.
const WEIGHT_PER_PERCENT: f64 = (1u64 << 40) as f64;

/// The distribution of one direction's lengths.
#[derive(Clone, Debug)]
pub(super) enum Sizes {
    /// Always this many bytes.
    Fixed(u32),
    /// A multiple of the smallest, up to the largest.
    Range { smallest: u32, largest: u32 },
    /// Weighted, in ascending order, without entries of weight zero.
    Split(Box<[Entry]>),
}

/// One entry of a split.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    length: u32,
    /// Weight of this entry and of all before it.
    cumulative: u64,
}

impl Sizes {
    /// Creates the plan's distribution; returns `None` if the plan has no size to draw.
    pub(super) fn new(plan: &SizesPlan) -> Option<Self> {
        let (smallest, largest) = (plan.minimum_bytes, plan.maximum_bytes);
        if smallest == 0 || largest < smallest {
            return None;
        }
        if plan.split.is_empty() {
            return Some(if smallest == largest {
                Sizes::Fixed(smallest)
            } else {
                Sizes::Range { smallest, largest }
            });
        }
        let mut shares: Vec<(u32, u64)> = plan
            .split
            .iter()
            .map(|share| {
                let length = share.size_bytes / smallest * smallest;
                (length, (share.percent * WEIGHT_PER_PERCENT) as u64)
            })
            .filter(|&(length, weight)| length > 0 && weight > 0)
            .collect();
        shares.sort_by_key(|&(length, _)| length);
        let &(shortest, _) = shares.first()?;
        if shares.iter().all(|&(length, _)| length == shortest) {
            return Some(Sizes::Fixed(shortest));
        }
        let mut cumulative = 0u64;
        let entries = shares
            .into_iter()
            .map(|(length, weight)| {
                cumulative = cumulative.saturating_add(weight);
                Entry { length, cumulative }
            })
            .collect();
        Some(Sizes::Split(entries))
    }

    /// Returns the smallest length that it can draw.
    #[inline]
    pub(super) fn smallest(&self) -> u32 {
        match self {
            Sizes::Fixed(length) => *length,
            Sizes::Range { smallest, .. } => *smallest,
            Sizes::Split(entries) => entries[0].length,
        }
    }

    /// Returns the length, if there is only one.
    pub(super) fn fixed(&self) -> Option<u32> {
        match self {
            Sizes::Fixed(length) => Some(*length),
            Sizes::Range { .. } | Sizes::Split(_) => None,
        }
    }

    /// Draws a length of at most `room` bytes; returns `None` if not even the smallest fits.
    #[inline]
    pub(super) fn draw(&self, room: u64, rng: &mut Rng) -> Option<u32> {
        match self {
            Sizes::Fixed(length) => (u64::from(*length) <= room).then_some(*length),
            Sizes::Range { smallest, largest } => draw_range(*smallest, *largest, room, rng),
            Sizes::Split(entries) => draw_split(entries, room, rng),
        }
    }
}

/// Draws by fio's rule: the smallest, plus a uniform part of the largest, rounded down to a multiple of the smallest
/// and capped. If the largest is a multiple of the smallest, each multiple is equally likely.
fn draw_range(smallest: u32, largest: u32, room: u64, rng: &mut Rng) -> Option<u32> {
    let unit = u64::from(smallest);
    let largest = u64::from(largest);
    // Lengths of at most `room` are those whose uniform part is below this.
    let span = if room >= largest {
        largest
    } else {
        room / unit * unit
    };
    if span == 0 {
        return None;
    }
    let length = (unit + rng.below(span)) / unit * unit;
    Some(length.min(largest) as u32)
}

fn draw_split(entries: &[Entry], room: u64, rng: &mut Rng) -> Option<u32> {
    let fitting = match entries.last() {
        Some(longest) if u64::from(longest.length) <= room => entries.len(),
        _ => entries.partition_point(|entry| u64::from(entry.length) <= room),
    };
    let fitting = &entries[..fitting];
    let point = rng.below(fitting.last()?.cumulative);
    fitting
        .iter()
        .find(|entry| point < entry.cumulative)
        .map(|entry| entry.length)
}

#[cfg(test)]
mod tests {
    use super::super::rng::Stream;
    use super::super::tests::statistics::assert_chi_square;
    use super::*;
    use crate::plan::BlockSizeShare;

    fn range(minimum_bytes: u32, maximum_bytes: u32) -> Sizes {
        let plan = SizesPlan {
            minimum_bytes,
            maximum_bytes,
            split: vec![],
            align_bytes: minimum_bytes,
        };
        Sizes::new(&plan).expect("sizes are valid")
    }

    fn split(shares: &[(u32, f64)]) -> Option<Sizes> {
        let minimum_bytes = shares.iter().map(|share| share.0).min()?;
        let maximum_bytes = shares.iter().map(|share| share.0).max()?;
        let split = shares
            .iter()
            .map(|&(size_bytes, percent)| BlockSizeShare {
                size_bytes,
                percent,
            })
            .collect();
        Sizes::new(&SizesPlan {
            minimum_bytes,
            maximum_bytes,
            split,
            align_bytes: minimum_bytes,
        })
    }

    fn assert_shares(sizes: &Sizes, room: u64, expected: &[(u32, f64)]) {
        let mut rng = Rng::new(1, Stream::Sizes);
        let mut counts = vec![0; expected.len()];
        for _ in 0..100_000 {
            let length = sizes.draw(room, &mut rng).expect("there is room");
            let index = expected.iter().position(|(size, _)| *size == length);
            counts[index.unwrap_or_else(|| panic!("{length} drawn"))] += 1;
        }
        let expected: Vec<f64> = expected.iter().map(|(_, share)| share * 1e5).collect();
        assert_chi_square(&counts, &expected);
    }

    #[test]
    fn a_range_draws_each_multiple_alike() {
        assert_shares(
            &range(4, 16),
            99,
            &[(4, 0.25), (8, 0.25), (12, 0.25), (16, 0.25)],
        );
    }

    #[test]
    fn a_range_with_an_odd_end_caps_larger_draws() {
        // Measured with fio 3.33, bsrange=4k-10k: 4k and 8k twice as often as 10k.
        assert_shares(&range(4, 10), 99, &[(4, 0.4), (8, 0.4), (10, 0.2)]);
    }

    #[test]
    fn near_the_end_only_sizes_that_fit_are_drawn() {
        assert_shares(
            &range(4, 16),
            13,
            &[(4, 1.0 / 3.0), (8, 1.0 / 3.0), (12, 1.0 / 3.0)],
        );
        assert_shares(&range(4, 10), 9, &[(4, 0.5), (8, 0.5)]);
        let split = split(&[(4, 10.0), (8, 30.0), (16, 60.0)]).expect("shares are positive");
        assert_shares(&split, 16, &[(4, 0.1), (8, 0.3), (16, 0.6)]);
        assert_shares(&split, 15, &[(4, 0.25), (8, 0.75)]);
        assert_shares(&split, 7, &[(4, 1.0)]);
        let mut rng = Rng::new(1, Stream::Sizes);
        assert_eq!(split.draw(3, &mut rng), None);
        assert_eq!(range(4, 16).draw(3, &mut rng), None);
        assert_eq!(Sizes::Fixed(4).draw(3, &mut rng), None);
    }

    #[test]
    fn a_split_rounds_down_to_its_smallest_and_drops_entries_without_a_share() {
        // As fio 3.33 does with bssplit=4k/10:6k/90: every block has 4k.
        let rounded = split(&[(4096, 10.0), (6144, 90.0)]).expect("shares are positive");
        assert!(matches!(rounded, Sizes::Fixed(4096)));
        let single = split(&[(4096, 0.0), (65536, 100.0)]).expect("a share is positive");
        assert!(matches!(single, Sizes::Fixed(65536)));
        assert!(split(&[(4096, 0.0)]).is_none());
    }
}
