//! Where requests spend their time, on any drive behind any machine under any load.

mod common;

use common::any::{self, cases};
use common::{RunOutcome, explained, outcome_of, plan};
use iogauge_core::log_record::bytes_of;
use iogauge_model::link::LinkSpec;
use iogauge_model::{DriveSpec, Part};
use proptest::prelude::*;

/// Returns the total of a part over all requests, ns.
fn total_ns(ran: &RunOutcome, part: Part) -> f64 {
    let directions = ran.parts.iter().flat_map(|row| row.directions.values());
    directions
        .filter_map(|of| Some(of.parts_ns.get(part.name())? * of.count as f64))
        .sum()
}

/// Whether no request may have to wait before it enters the drive.
fn admits_at_once(spec: &DriveSpec) -> bool {
    let tagged = matches!(spec.link, LinkSpec::Sata { .. });
    !tagged && spec.power.states.is_empty() && spec.thermal.is_none()
}

proptest! {
    #![proptest_config(cases(150))]

    /// Debug assertions compare the parts of each request with its latency; this compares what comes out of a run.
    #[test]
    fn parts_add_up_to_the_latency(
        spec in any::drive(),
        machine in any::machine(),
        loads in prop::collection::vec(any::load(), 1..4),
        seed: u64,
    ) {
        let ran = explained(&plan(std::slice::from_ref(&loads), seed), &machine, &spec);
        prop_assert_eq!(ran.parts.len(), ran.result.rows.len());
        for (row, parts) in ran.result.rows.iter().zip(&ran.parts) {
            prop_assert_eq!((row.row, &row.name), (parts.row, &parts.name));
            for (direction, tally) in &row.tallies {
                let Some(lat) = tally.exact.get("lat").filter(|lat| lat.count > 0) else {
                    prop_assert!(!parts.directions.contains_key(direction));
                    continue;
                };
                let of = &parts.directions[direction];
                prop_assert_eq!(of.count, lat.count);
                let mean = lat.sum_ns as f64 / lat.count as f64;
                prop_assert!((of.mean_ns / mean - 1.0).abs() < 1e-12);
                prop_assert!((of.parts_ns.values().sum::<f64>() / mean - 1.0).abs() < 1e-12);
                for band in &of.bands {
                    prop_assert!((band.parts_ns.values().sum::<f64>() / band.mean_ns - 1.0).abs() < 1e-12);
                }
                let means: Vec<f64> = of.bands.iter().map(|band| band.mean_ns).collect();
                prop_assert!(means.windows(2).all(|pair| pair[0] <= pair[1] * (1.0 + 1e-9)));
            }
        }
        if admits_at_once(&spec) {
            for part in [Part::Entry, Part::LowPower, Part::Throttle] {
                prop_assert_eq!(total_ns(&ran, part), 0.0);
            }
        }
    }

    /// An explained run is the same run, to the last request.
    #[test]
    fn to_explain_a_run_does_not_change_it(
        spec in any::drive(),
        machine in any::machine(),
        loads in prop::collection::vec(any::load(), 1..4),
        seed: u64,
    ) {
        let plan = plan(std::slice::from_ref(&loads), seed);
        let (plain, ran) = (outcome_of(&plan, &machine, &spec), explained(&plan, &machine, &spec));
        prop_assert!(plain.parts.is_empty());
        prop_assert_eq!(bytes_of(&plain.log), bytes_of(&ran.log));
        prop_assert_eq!(plain.result.elapsed_ns, ran.result.elapsed_ns);
        prop_assert_eq!(format!("{:?}", plain.drive), format!("{:?}", ran.drive));
    }
}
