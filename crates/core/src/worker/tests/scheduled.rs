//! Rates: when requests are intended, how many there are, and what happens if the target cannot keep up.

use proptest::prelude::*;

use super::sim::{START, Trace, World, run};
use crate::generate::Schedule;
use crate::plan::{PerDirection, Rw, SchedulePlan, WorkerPlan};
use crate::recorder::LATE;
use crate::request::Kind;
use crate::testing::{file, iops, plan, same};
use crate::time::{MILLISECOND, Nanos, SECOND};

/// Creates a plan with slots for all requests that become due while the thread is late.
fn rated(rate_iops: u64) -> WorkerPlan {
    WorkerPlan {
        schedule: same(iops(rate_iops)),
        time_based: true,
        iodepth: 1024,
        iodepth_low: 1024,
        ..plan(Rw::Randread)
    }
}

/// Returns when the k-th request of a constant rate is due.
fn due(k: u64, rate_iops: u64) -> Nanos {
    START + (u128::from(k) * u128::from(SECOND) / u128::from(rate_iops)) as Nanos
}

/// Returns how many requests a constant rate has before `runtime` is over.
fn scheduled(runtime: Nanos, rate_iops: u64) -> u64 {
    (u128::from(runtime) * u128::from(rate_iops)).div_ceil(u128::from(SECOND)) as u64
}

/// Compares without printing thousands of instants.
fn alike(seen: &[Nanos], expected: &[Nanos]) -> Result<(), TestCaseError> {
    let differ = seen
        .iter()
        .zip(expected)
        .position(|(one, other)| one != other);
    prop_assert_eq!((differ, seen.len()), (None, expected.len()));
    Ok(())
}

fn intended(trace: &Trace) -> Vec<Nanos> {
    trace
        .served
        .iter()
        .map(|served| served.request.intended)
        .collect()
}

#[test]
fn a_prime_number_of_requests_is_due_to_the_nanosecond() {
    let plan = WorkerPlan {
        number_ios: 10_007,
        time_based: false,
        io_bytes: u64::MAX,
        ..rated(300_007)
    };
    let trace = run(&plan, World::random(3, 20_000, 100_000));
    assert!(
        intended(&trace)
            .into_iter()
            .eq((0..10_007).map(|k| due(k, 300_007)))
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// However late the thread wakes and whatever the batches, each request keeps its own due time, and none is
    /// missing.
    #[test]
    fn a_constant_rate_is_kept_to_the_nanosecond(
        rate in 1_000u64..400_000, runtime in 1u64..20 * MILLISECOND, seed: u64, latest in 0u64..LATE, batch in 1usize..40,
    ) {
        let plan = WorkerPlan { runtime_ns: runtime, ..rated(rate) };
        let world = World { batch, ..World::random(seed, 1_000, latest) };
        let trace = run(&plan, world);
        let expected: Vec<Nanos> = (0..scheduled(runtime, rate)).map(|k| due(k, rate)).collect();
        alike(&intended(&trace), &expected)?;
        prop_assert_eq!(trace.worker.overdue(u64::MAX), 0);
    }

    #[test]
    fn poisson_arrivals_do_not_depend_on_the_target(rate in 1_000u64..300_000, seed: u64) {
        let plan = WorkerPlan { runtime_ns: 20 * MILLISECOND, poisson: true, ..rated(rate) };
        let calm = run(&plan, World::fast(1_000));
        let rough = run(&plan, World::random(seed, 1_000, LATE));
        alike(&intended(&rough), &intended(&calm))?;
    }

    /// At a rate in bytes, a request is due once the bytes before it would have passed.
    #[test]
    fn a_rate_in_bytes_follows_the_lengths(rate in 1_000_000u64..400_000_000, largest in 1u32..8, seed: u64) {
        let schedule = SchedulePlan { rate_iops: 0, rate_Bps: rate, rate_min_Bps: 0, first_ns: 0 };
        let mut plan = WorkerPlan { runtime_ns: 20 * MILLISECOND, schedule: same(schedule), ..rated(0) };
        let mut sizes = plan.pattern.sizes.read.clone();
        sizes.maximum_bytes = largest * 4096;
        plan.pattern.sizes = same(sizes);
        let trace = run(&plan, World::random(seed, 1_000, LATE));
        let mut bytes = 0u64;
        for served in &trace.served {
            prop_assert_eq!(served.request.intended, START + (u128::from(bytes) * 1_000_000_000 / u128::from(rate)) as Nanos);
            bytes += u64::from(served.request.length_bytes);
        }
        prop_assert!(u128::from(bytes) * 1_000_000_000 / u128::from(rate) >= 20_000_000);
    }

    /// A slow target serves one request at a time. The requests that waited for it are not issued and counted as
    /// overdue.
    #[test]
    fn requests_that_an_overloaded_target_leaves_undone_are_overdue(
        rate in 20_000u64..100_000, iodepth in 1u32..33, service in 60_000u64..500_000, poisson: bool,
    ) {
        let runtime_ns = 30 * MILLISECOND;
        let plan = WorkerPlan { runtime_ns, iodepth, iodepth_low: iodepth, poisson, ..rated(rate) };
        let world = World { servers: 1, ..World::fast(service) };
        let trace = run(&plan, world);
        prop_assert!(trace.served.iter().all(|served| served.start < START + runtime_ns));
        let mut schedule = Schedule::new(iops(rate), poisson, crate::generate::child_seed(plan.seed, 0));
        let mut due_count = 0;
        while schedule.peek() < runtime_ns {
            schedule.advance(0);
            due_count += 1;
        }
        let overdue = due_count - trace.served.len() as u64;
        prop_assert_eq!(trace.worker.overdue(u64::MAX), overdue);
        prop_assert_eq!(trace.worker.overdue(3), overdue.min(3));
        // The time in the queue is charged to the load, not to the generator.
        prop_assert!(trace.served.iter().all(|served| served.lateness() == 0));
        if !poisson && service > 100_000 {
            prop_assert!(overdue > 0 && trace.served.iter().any(|served| served.queued() > 0));
        }
    }

    #[test]
    fn reads_and_writes_with_rates_of_their_own_both_reach_them(
        reads in 1_000u64..100_000, writes in 1_000u64..100_000, seed: u64, sequential: bool,
    ) {
        let runtime_ns = 20 * MILLISECOND;
        let mut plan = rated(0);
        plan.pattern.rw = if sequential { Rw::Readwrite } else { Rw::Randrw };
        plan.schedule = PerDirection { read: iops(reads), write: iops(writes), trim: iops(77) };
        plan.runtime_ns = runtime_ns;
        let trace = run(&plan, World::random(seed, 1_000, LATE));
        for (kind, rate) in [(Kind::Read, reads), (Kind::Write, writes)] {
            let intended: Vec<_> = trace.of_kind(kind).map(|served| served.request.intended).collect();
            let expected: Vec<Nanos> = (0..scheduled(runtime_ns, rate)).map(|k| due(k, rate)).collect();
            alike(&intended, &expected)?;
        }
        prop_assert_eq!(trace.worker.overdue(u64::MAX), 0);
    }

    /// If only reads have a rate, writes fill the time between them and do not hold them up.
    #[test]
    fn one_rated_direction_is_mixed_with_an_unlimited_one(rate in 1_000u64..50_000, seed: u64) {
        let runtime_ns = 20 * MILLISECOND;
        let mut plan = WorkerPlan { runtime_ns, iodepth: 4, iodepth_low: 4, ..rated(0) };
        plan.pattern.rw = Rw::Randrw;
        plan.schedule.read = iops(rate);
        let trace = run(&plan, World { interrupted: true, seed, ..World::fast(2_000) });
        let reads: Vec<_> = trace.of_kind(Kind::Read).collect();
        for (k, served) in reads.iter().enumerate() {
            prop_assert_eq!(served.request.intended, due(k as u64, rate));
            prop_assert!(served.start >= served.request.intended);
        }
        let due_count = scheduled(runtime_ns, rate);
        prop_assert!(reads.len() as u64 + 2 >= due_count, "{} of {} reads", reads.len(), due_count);
        prop_assert!(trace.count(Kind::Write) > 2 * due_count);
        prop_assert!(trace.of_kind(Kind::Write).all(|served| served.request.intended == served.start));
    }

    /// Catching up on requests that a slow start missed would load the target while it is measured.
    #[test]
    fn requests_that_the_ramp_owes_are_dropped(rate in 10_000u64..100_000, poisson: bool) {
        let ramp_ns = 10 * MILLISECOND;
        let plan = WorkerPlan { ramp_ns, runtime_ns: ramp_ns, poisson, iodepth: 1, iodepth_low: 1, ..rated(rate) };
        let mut slow = 0;
        let world = World {
            service: Box::new(move |request, _| {
                slow += 1;
                if request.intended < START + ramp_ns && slow < 20 { MILLISECOND } else { 1_000 }
            }),
            ..World::fast(0)
        };
        let trace = run(&plan, world);
        let measured: Vec<_> = trace.served.iter().filter(|served| served.start >= START + ramp_ns).collect();
        prop_assert!(measured.iter().all(|served| served.request.intended >= START + ramp_ns));
        if !poisson {
            prop_assert_eq!(measured.len() as u64, scheduled(ramp_ns, rate));
        }
    }
}

/// A trimwrite trims a block of every file before it writes the first of them.
#[test]
fn a_write_that_waits_for_the_trims_before_it_is_queued_and_not_late() {
    let mut plan = WorkerPlan {
        runtime_ns: 4 * MILLISECOND,
        ..rated(1_000)
    };
    plan.pattern.rw = Rw::Trimwrite;
    plan.files = vec![file(256), file(256)];
    let trace = run(&plan, World::fast(1_000));
    let kinds_and_waits: Vec<_> = trace
        .served
        .iter()
        .map(|served| (served.request.kind, served.queued(), served.lateness()))
        .collect();
    let turn = [
        (Kind::Trim, 0, 0),
        (Kind::Trim, 0, 0),
        (Kind::Write, MILLISECOND, 0),
        (Kind::Write, 0, 0),
    ];
    assert_eq!(kinds_and_waits, [turn, turn].concat());
}

#[test]
fn an_endless_schedule_does_not_overflow() {
    let slowest = SchedulePlan {
        rate_iops: 0,
        rate_Bps: 1,
        rate_min_Bps: 0,
        first_ns: 0,
    };
    let mut plan = WorkerPlan {
        schedule: same(slowest),
        runtime_ns: u64::MAX,
        ..rated(0)
    };
    let mut sizes = plan.pattern.sizes.read.clone();
    (sizes.minimum_bytes, sizes.maximum_bytes) = (u32::MAX - 4095, u32::MAX - 4095);
    plan.pattern.sizes = same(sizes);
    plan.files[0].region_bytes = 1 << 40;
    let trace = run(
        &plan,
        World {
            stop: Some(u64::MAX - 1),
            ..World::fast(1_000)
        },
    );
    // Each is due 4.3e9 seconds after the one before.
    assert!(
        (4..=5).contains(&trace.served.len()),
        "{}",
        trace.served.len()
    );
}
