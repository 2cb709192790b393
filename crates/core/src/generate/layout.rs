//! Turns a plan into the shapes and regions that a pattern draws from. This happens once, before the first request.
//! Nothing is drawn here.
//!
//! The random map follows fio's rules. There is no map if positions are not uniform, or if any direction, issued or
//! not, is not aligned to its smallest size. If sizes vary, all directions share one map, and each counts in blocks of
//! its own smallest size: block 3 of the reads and block 3 of the writes are the same bit, although their offsets
//! differ.
//!
//! Two rules differ from fio's, so that a pass covers the region. If all sizes are fixed, each size has its own order;
//! fio uses one map for all and ends such a pass early. The map has a bit for each block of the smallest size that is
//! issued; fio counts the sizes of all three directions, and ends a pass early at bits that no request reaches.
//!
//! Source: fio 3.33's init.c (fixup_options) and filesetup.c (init_random_map).
//!

use super::error::PatternError;
use super::region::{Cover, Region, Shape};
use super::rng::{Rng, Stream, child_seed};
use super::sizes::Sizes;
use super::spread::Spread;
use crate::plan::{Distribution, PatternPlan, PerDirection, Rw, SizesPlan};
use crate::request::Direction;

/// The shapes by direction: read, write, trim. `None` for a direction whose places are not drawn.
pub(super) type Shapes = [Option<Shape>; 3];

/// Returns the shapes of the plan's directions and its regions, `(offset, bytes)` of each file, before the first
/// request.
pub(super) fn lay_out(
    plan: &PatternPlan,
    regions: &[(u64, u64)],
    seed: u64,
    offsets: &mut Rng,
) -> Result<(Shapes, Box<[Region]>), PatternError> {
    if regions.is_empty() {
        return Err(PatternError::NoRegion);
    }
    let mut shapes = [None, None, None];
    for &direction in directions(plan.rw) {
        shapes[direction as usize] = Some(shape(plan, direction)?);
    }
    let covers = plan_covers(plan, &mut shapes);
    let mut built = Vec::with_capacity(regions.len());
    for (target, &(start, bytes)) in regions.iter().enumerate() {
        if start
            .checked_add(bytes)
            .is_none_or(|end| end > i64::MAX as u64)
        {
            return Err(PatternError::RegionTooFar { target });
        }
        let spreads = spreads(plan, &shapes, target, bytes, seed)?;
        let covers = covers
            .iter()
            .map(|cover| {
                let blocks = bytes / cover.block_bytes;
                Cover::new(blocks, cover.fixed, offsets)
                    .ok_or(PatternError::NoMemory { target, blocks })
            })
            .collect::<Result<_, _>>()?;
        built.push(Region::new(start, bytes, spreads, covers));
    }
    Ok((shapes, built.into_boxed_slice()))
}

/// Returns the values in the order of the directions' indices.
pub(super) fn in_order<T>(values: &PerDirection<T>) -> [&T; 3] {
    [&values.read, &values.write, &values.trim]
}

/// Returns the directions whose places are drawn. A trimwrite's write repeats its trim's place and draws nothing.
const fn directions(rw: Rw) -> &'static [Direction] {
    match rw {
        Rw::Read | Rw::Randread => &[Direction::Read],
        Rw::Write | Rw::Randwrite => &[Direction::Write],
        Rw::Trim | Rw::Randtrim | Rw::Trimwrite | Rw::Randtrimwrite => &[Direction::Trim],
        Rw::Readwrite | Rw::Randrw => &[Direction::Read, Direction::Write],
    }
}

fn shape(plan: &PatternPlan, direction: Direction) -> Result<Shape, PatternError> {
    let sizes = in_order(&plan.sizes)[direction as usize];
    match Sizes::new(sizes) {
        Some(law) if sizes.align_bytes > 0 => Ok(Shape {
            sizes: law,
            align: u64::from(sizes.align_bytes),
            gap: if plan.rw.random() { 0 } else { plan.sequence },
            cover: None,
        }),
        _ => Err(PatternError::NoSize { direction }),
    }
}

/// A cover that every region needs under a random map.
#[derive(PartialEq)]
struct CoverPlan {
    block_bytes: u64,
    fixed: bool,
}

/// Decides which covers the regions have, and which directions use which cover.
fn plan_covers(plan: &PatternPlan, shapes: &mut Shapes) -> Vec<CoverPlan> {
    let sizes = in_order(&plan.sizes);
    let aligned = |sizes: &SizesPlan| sizes.align_bytes == sizes.minimum_bytes;
    if !plan.random_map || !plan.rw.random() || !sizes.iter().all(|sizes| aligned(sizes)) {
        return Vec::new();
    }
    let mut mapped: Vec<&mut Shape> = shapes
        .iter_mut()
        .zip(in_order(&plan.distribution))
        .filter_map(|(shape, distribution)| {
            let uniform = *distribution == Distribution::Random;
            shape.as_mut().filter(|_| uniform)
        })
        .collect();
    let fixed = mapped
        .iter()
        .all(|shape| shape.sizes.fixed().map(u64::from) == Some(shape.align));
    let smallest = mapped.iter().map(|shape| shape.align).min().unwrap_or(0);
    let mut covers = Vec::new();
    for shape in &mut mapped {
        let cover = CoverPlan {
            block_bytes: if fixed { shape.align } else { smallest },
            fixed,
        };
        let known = covers.iter().position(|other| *other == cover);
        shape.cover = Some(known.unwrap_or(covers.len()));
        if known.is_none() {
            covers.push(cover);
        }
    }
    covers
}

/// Returns where random offsets of each direction are drawn in a region. Checks that requests fit.
fn spreads(
    plan: &PatternPlan,
    shapes: &Shapes,
    target: usize,
    region_bytes: u64,
    seed: u64,
) -> Result<[Option<Spread>; 3], PatternError> {
    let mut spreads = [None, None, None];
    for (&direction, distribution) in Direction::ALL.iter().zip(in_order(&plan.distribution)) {
        let Some(shape) = &shapes[direction as usize] else {
            continue;
        };
        let request_bytes = shape.sizes.smallest();
        let count = shape.positions(region_bytes);
        if region_bytes < u64::from(request_bytes) || (plan.rw.random() && count == 0) {
            return Err(PatternError::RegionTooSmall {
                target,
                region_bytes,
                direction,
                request_bytes,
            });
        }
        if !plan.rw.random() {
            continue;
        }
        // All directions share one scatter: blocks that are hot for reads are hot for writes.
        let mut scatter = Rng::new(child_seed(seed, target as u64), Stream::Scatter);
        let spread = Spread::new(distribution, count, &mut scatter)
            .ok_or(PatternError::NoZone { direction })?;
        spreads[direction as usize] = Some(spread);
    }
    Ok(spreads)
}
