//! Checks that a longer time, a lower rate or more frequent disturbances never make a drive or a machine faster, and
//! that a deeper queue never makes it slower.
//!
//! The name of a parameter in JSON shows whether it is a time, a rate or a frequency. Loads keep their queues full, so
//! the rate of requests is the measure of speed.

mod common;

use common::{Load, outcome_of, plan, rich};
use iogauge_core::Nanos;
use iogauge_core::plan::{EngineKind, Rw};
use iogauge_core::time::MILLISECOND;
use iogauge_model::{DriveSpec, Machine, MediaSpec};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// How much a rate may rise by chance, because other requests meet stalls, slow pages and the platters' angle.
const CHANCE: f64 = 0.02;

/// The direction in which a parameter is worse.
#[derive(Clone, Copy, PartialEq)]
enum Worse {
    More,
    Less,
}

/// Returns the worse direction for a parameter's name; `None` if it depends.
fn worse(key: &str) -> Option<Worse> {
    // Idle work that starts later disturbs less, and a drive that is never idle does none.
    if key.ends_with("after_ns") {
        return None;
    }
    if key.starts_with("every_") || key.ends_with("_Bps") {
        return Some(Worse::Less);
    }
    match key {
        "generation" | "lanes" | "efficiency" | "queue" | "rpm" => Some(Worse::Less),
        "slow_read_share" | "retry_share" => Some(Worse::More),
        _ => key.ends_with("_ns").then_some(Worse::More),
    }
}

/// Collects the JSON pointers of parameters with a worse direction.
fn places(value: &Value, pointer: &str, leaves: &mut Vec<(String, Worse)>) {
    match value {
        Value::Object(table) => {
            for (key, inner) in table {
                let pointer = format!("{pointer}/{key}");
                match worse(key).filter(|_| inner.is_number()) {
                    Some(worse) => leaves.push((pointer, worse)),
                    None => places(inner, &pointer, leaves),
                }
            }
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                places(inner, &format!("{pointer}/{index}"), leaves);
            }
        }
        _ => {}
    }
}

/// Returns variants of `spec` in which one parameter becomes much worse.
fn worsened<T: Serialize + DeserializeOwned>(spec: &T, pointer: &str, worse: Worse) -> T {
    let mut tree = serde_json::to_value(spec).unwrap();
    let value = tree.pointer_mut(pointer).unwrap();
    let factor = if worse == Worse::More { 2.5 } else { 0.4 };
    *value = match value.as_u64() {
        Some(integer) => Value::from(((integer as f64 * factor) as u64).max(1)),
        None => Value::from(value.as_f64().unwrap() * factor),
    };
    serde_json::from_value(tree).unwrap()
}

/// Returns a runtime for some thousand requests.
fn runtime_ns(drive: &DriveSpec) -> Nanos {
    match drive.media {
        MediaSpec::Xpoint(_) => 8 * MILLISECOND,
        MediaSpec::Ram(_) => 4 * MILLISECOND,
        MediaSpec::Nand(_) => 60 * MILLISECOND,
        MediaSpec::Disk(_) => 20_000 * MILLISECOND,
    }
}

/// Reads, writes and both, by two workers.
fn loads(drive: &DriveSpec, depth: u32) -> [(&'static str, Vec<Load>); 3] {
    [
        ("reads", Rw::Randread),
        ("writes", Rw::Randwrite),
        ("both", Rw::Randrw),
    ]
    .map(|(name, rw)| {
        let load = Load {
            runtime_ns: runtime_ns(drive),
            ..Load::new(rw, depth)
        };
        (name, vec![load; 2])
    })
}

fn iops(loads: &[Load], machine: &Machine, drive: &DriveSpec) -> f64 {
    outcome_of(&plan(&[loads.to_vec()], 1), machine, drive).iops()
}

/// Checks that the rate does not rise by more than chance. Returns whether it fell by more.
fn falls(what: &str, before: f64, after: f64) -> bool {
    assert!(
        after <= before * (1.0 + CHANCE),
        "{what}: {before:.0} and then {after:.0}"
    );
    after < before * (1.0 - 2.0 * CHANCE)
}

/// Returns drives that do not become hot, since less work can end throttling and make a drive faster.
fn drives() -> Vec<DriveSpec> {
    let cool = |drive| DriveSpec {
        thermal: None,
        ..drive
    };
    rich::drives().into_iter().map(cool).collect()
}

#[test]
fn no_drive_is_faster_with_a_worse_parameter() {
    let (machine, mut fell) = (Machine::ideal(), 0);
    for drive in drives() {
        let mut leaves = Vec::new();
        places(&serde_json::to_value(&drive).unwrap(), "", &mut leaves);
        for (name, loads) in loads(&drive, 8) {
            let before = iops(&loads, &machine, &drive);
            for (pointer, worse) in &leaves {
                let after = iops(&loads, &machine, &worsened(&drive, pointer, *worse));
                fell += usize::from(falls(&format!("{pointer} of {name}"), before, after));
            }
        }
    }
    // Most parameters are no bottleneck under most loads.
    assert!(fell > 20, "{fell}");
}

#[test]
fn no_machine_is_faster_with_a_worse_parameter() {
    let (drive, machine, mut fell) = (&drives()[0], rich::machine(), 0);
    let mut leaves = Vec::new();
    places(&serde_json::to_value(&machine).unwrap(), "", &mut leaves);
    for (engine, depth, polls) in [
        (EngineKind::Pvsync2, 1, false),
        (EngineKind::Pvsync2, 1, true),
        (EngineKind::Libaio, 2, false),
        (EngineKind::Libaio, 2, true),
    ] {
        let load = [Load {
            engine,
            polls,
            runtime_ns: 30 * MILLISECOND,
            ..Load::new(Rw::Randread, depth)
        }];
        let before = iops(&load, &machine, drive);
        for (pointer, worse) in &leaves {
            let after = iops(&load, &worsened(&machine, pointer, *worse), drive);
            let what = format!("{pointer} by {engine:?}, polling {polls}");
            fell += usize::from(falls(&what, before, after));
        }
    }
    assert!(fell > 6, "{fell}");
}

#[test]
fn no_deeper_queue_is_slower() {
    for drive in &drives() {
        for machine in [Machine::ideal(), rich::machine()] {
            let at = |depth| loads(drive, depth).map(|(_, loads)| iops(&loads, &machine, drive));
            let rates = [16, 4, 2, 1].map(at);
            for (index, name) in ["reads", "writes", "both"].into_iter().enumerate() {
                for pair in rates.windows(2) {
                    falls(&format!("depth of {name}"), pair[0][index], pair[1][index]);
                }
            }
            // Two reads at a time gain something, if the media can do more than one thing at a time.
            assert!(matches!(drive.media, MediaSpec::Disk(_)) || rates[2][0] > 1.2 * rates[3][0]);
        }
    }
}
