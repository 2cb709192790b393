//! Compares the layer with independent bookkeeping, and write amplification with its closed form.

use iogauge_core::generate::{Rng, Stream};
use proptest::prelude::*;

use super::{Ftl, Geometry};

/// `alpha / (alpha + W(-alpha e^-alpha))` on the branch where `W > -1`, by Newton's method.
pub(crate) fn closed_form(over_provisioning: f64) -> f64 {
    let alpha = 1.0 + over_provisioning;
    let argument = -alpha * libm::exp(-alpha);
    let mut w = -0.5;
    for _ in 0..100 {
        let power = libm::exp(w);
        w -= (w * power - argument) / (power * (w + 1.0));
    }
    assert!((w * libm::exp(w) - argument).abs() < 1e-12 && w > -1.0);
    alpha / (alpha + w)
}

/// Returns the write amplification in the steady state under uniform random writes.
fn write_amplification(geometry: Geometry) -> f64 {
    let mut ftl = Ftl::new(geometry);
    let mut rng = Rng::new(1, Stream::Offsets);
    let pages = ftl.logical_pages();
    (0..pages).for_each(|page| {
        ftl.write(page);
    });
    let mut writes = |count: u32, ftl: &mut Ftl| -> u64 {
        let mut draw = || rng.below(u64::from(pages)) as u32;
        (0..count)
            .map(|_| u64::from(ftl.write(draw()).1.moved))
            .sum()
    };
    writes(4 * pages, &mut ftl);
    let count = 2 * pages;
    1.0 + writes(count, &mut ftl) as f64 / f64::from(count)
}

#[test]
fn write_amplification_is_that_of_the_closed_form() {
    for over_provisioning in [0.07, 0.15, 0.28, 0.4, 0.67] {
        let factor = write_amplification(Geometry {
            blocks: 2048,
            pages_per_block: 256,
            over_provisioning,
        });
        let expected = closed_form(over_provisioning);
        assert!(
            (factor / expected - 1.0).abs() < 0.03,
            "OP {over_provisioning}: {factor:.3}, closed form {expected:.3}"
        );
    }
}

#[test]
fn sequential_overwriting_moves_nothing() {
    let mut ftl = Ftl::new(Geometry {
        blocks: 64,
        pages_per_block: 32,
        over_provisioning: 0.2,
    });
    let pages = ftl.logical_pages();
    let moved: u32 = (0..10 * pages)
        .map(|at| ftl.write(at % pages).1.moved)
        .sum();
    assert_eq!(moved, 0);
    assert!(ftl.erases().iter().sum::<u32>() > 8 * pages / 32);
}

#[derive(Clone, Copy, Debug)]
enum Step {
    Write(u32),
    Trim(u32),
}

proptest! {
    /// No page is lost, and no two logical pages share a physical one.
    #[test]
    fn every_page_is_where_it_was_put(
        (blocks, pages_per_block) in (8u32..24, 2u32..12),
        over_provisioning in 0.05..1.0,
        steps in prop::collection::vec((0u32..1000, 0u32..8), 1..3000),
    ) {
        let mut ftl = Ftl::new(Geometry { blocks, pages_per_block, over_provisioning });
        let pages = ftl.logical_pages();
        let mut there = vec![false; pages as usize];
        let (mut written, mut programmed) = (0u64, 0u64);
        let mut erased = 0;
        for (page, choice) in steps {
            let page = page % pages;
            let step = if choice == 0 { Step::Trim(page) } else { Step::Write(page) };
            match step {
                Step::Write(page) => {
                    let (_, work) = ftl.write(page);
                    written += 1;
                    programmed += 1 + u64::from(work.moved);
                    erased += work.erased;
                    there[page as usize] = true;
                }
                Step::Trim(page) => {
                    ftl.trim(page);
                    there[page as usize] = false;
                }
            }
        }
        let mut seen = vec![false; (blocks * pages_per_block) as usize];
        for (page, &there) in (0..pages).zip(&there) {
            prop_assert_eq!(ftl.lookup(page).is_some(), there);
            if let Some(at) = ftl.lookup(page) {
                prop_assert!(!std::mem::replace(&mut seen[at as usize], true));
                prop_assert_eq!(ftl.holds[at as usize], page);
            }
        }
        let valid = there.iter().filter(|&&there| there).count() as u64;
        prop_assert_eq!(ftl.valid_pages(), valid);
        prop_assert_eq!(ftl.erases().iter().sum::<u32>(), erased);
        // Pages are erased before they are programmed.
        let room = u64::from(blocks + erased) * u64::from(pages_per_block);
        prop_assert!(written <= programmed && programmed <= room);
    }
}
