//! Checks that each parameter of a drive and a machine changes something that a run shows, so that a fit can determine
//! it.
//!
//! The parameters are those of the specifications as JSON, so a new one that changes nothing fails here. The tests of
//! flash check its parameters, with loads of their own and against chance.

mod common;

use std::collections::BTreeSet;

use common::{Load, outcome_of, plan, rich};
use iogauge_core::plan::{EngineKind, Rw};
use iogauge_core::results::Bytes;
use iogauge_core::time::MILLISECOND;
use iogauge_model::{DriveSpec, Machine, MediaSpec};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

/// Keys that select the kind of a table and thereby its other keys.
const TAGS: [&str; 3] = ["family", "kind", "on"];

/// Factors to try on a number until something changes: some numbers have an upper bound, some a lower one, and some
/// matter only beyond a limit.
const FACTORS: [f64; 4] = [1.25, 0.8, 4.0, 0.25];

/// All that a run shows of a drive and a machine, equal to the last bit for the same drive and machine.
#[derive(PartialEq)]
struct Observation {
    /// I/Os, bytes and histograms of every row and direction.
    rows: Vec<(u64, u64, Vec<Bytes>)>,
    /// CPU time of every worker.
    user_ns: Vec<u64>,
    /// Energy, time asleep and throttled, temperature, wear.
    drive: String,
}

/// Runs a reader and a writer that flushes, at a depth and at depth one; then two lengths of pauses, and sequential
/// reads after them.
fn observe(drive: &DriveSpec, machine: &Machine) -> Observation {
    // A disk is slow.
    let runtime_ns = match drive.media {
        MediaSpec::Disk(_) => 800 * MILLISECOND,
        _ => 40 * MILLISECOND,
    };
    let region_bytes = drive.capacity_bytes;
    let load = |rw, depth| Load {
        runtime_ns,
        region_bytes,
        ..Load::new(rw, depth)
    };
    let reader = Load {
        bytes: 12_288,
        align_bytes: 512,
        submit_batch: 2,
        ..load(Rw::Randread, 6)
    };
    let writer = Load {
        bytes: 49_152,
        fsync_every: 10,
        ..load(Rw::Randrw, 6)
    };
    let single = |rw, polls| Load {
        engine: EngineKind::Pvsync2,
        polls,
        ..load(rw, 1)
    };
    let paused = |length| Load {
        bytes: 131_072,
        pause: (8, length),
        ..load(Rw::Read, 8)
    };
    let stages = [
        vec![
            reader,
            writer,
            single(Rw::Randread, true),
            single(Rw::Randwrite, false),
        ],
        vec![paused(3 * MILLISECOND)],
        vec![paused(8 * MILLISECOND)],
    ];
    let ran = outcome_of(&plan(&stages, 1), machine, drive);
    let tallies = ran.result.rows.iter().flat_map(|row| row.tallies.values());
    Observation {
        rows: tallies
            .map(|tally| {
                (
                    tally.ios,
                    tally.bytes,
                    tally.histograms.values().cloned().collect(),
                )
            })
            .collect(),
        user_ns: ran
            .result
            .workers
            .iter()
            .map(|worker| worker.user_ns)
            .collect(),
        drive: format!("{:?}", ran.drive),
    }
}

/// Collects the JSON pointers of all numbers and switches below `value`, with their names.
fn leaves(value: &Value, pointer: &str, name: &str, numbers: &mut Vec<(String, String)>) {
    match value {
        Value::Object(table) => {
            let tag = TAGS.iter().find_map(|tag| table.get(*tag)?.as_str());
            let name = tag.map_or(name.to_owned(), |tag| format!("{name} {tag}"));
            for (key, inner) in table
                .iter()
                .filter(|(key, _)| !TAGS.contains(&key.as_str()))
            {
                leaves(
                    inner,
                    &format!("{pointer}/{key}"),
                    &format!("{name} {key}"),
                    numbers,
                );
            }
        }
        Value::Array(list) => {
            assert!(!list.is_empty(), "{name} has no values to try");
            for (index, inner) in list.iter().enumerate() {
                leaves(
                    inner,
                    &format!("{pointer}/{index}"),
                    &format!("{name} {index}"),
                    numbers,
                );
            }
        }
        Value::Number(_) | Value::Bool(_) => numbers.push((pointer.into(), name.into())),
        Value::Null | Value::String(_) => panic!("{name} is {value}: no value to try"),
    }
}

/// Returns other values for a leaf, valid or not.
fn others(value: &Value) -> Vec<Value> {
    if let Some(switch) = value.as_bool() {
        return vec![(!switch).into()];
    }
    let scaled = FACTORS.iter().map(|factor| match value.as_u64() {
        Some(integer) => Value::from((integer as f64 * factor).round() as u64),
        None => Value::from(value.as_f64().unwrap() * factor),
    });
    scaled.filter(|other| other != value).collect()
}

/// Sorts the parameters of `spec` by name into those that change the return value of `observe` and those that do not.
/// Skips those in `moved`.
fn try_each<T: Serialize + DeserializeOwned>(
    spec: &T,
    check: impl Fn(&T) -> Result<(), String>,
    observe: impl Fn(&T) -> Observation,
    moved: &mut BTreeSet<String>,
    unmoved: &mut BTreeSet<String>,
) {
    let tree = serde_json::to_value(spec).unwrap();
    let mut numbers = Vec::new();
    leaves(&tree, "", "", &mut numbers);
    let before = observe(spec);
    let again = serde_json::from_value(tree.clone()).unwrap();
    assert!(
        observe(&again) == before,
        "an equal specification gives another outcome"
    );
    for (pointer, name) in numbers {
        if moved.contains(&name) {
            continue;
        }
        let mut changed = others(tree.pointer(&pointer).unwrap())
            .into_iter()
            .filter_map(|other| {
                let mut tree = tree.clone();
                *tree.pointer_mut(&pointer)? = other;
                let spec: T = serde_json::from_value(tree).ok()?;
                check(&spec).is_ok().then_some(spec)
            });
        let moves = changed.any(|spec| observe(&spec) != before);
        if moves { &mut *moved } else { &mut *unmoved }.insert(name);
    }
}

#[test]
fn each_parameter_of_a_drive_changes_something() {
    let machine = rich::machine();
    let (mut moved, mut unmoved) = (BTreeSet::new(), BTreeSet::new());
    for drive in rich::drives() {
        if matches!(drive.media, MediaSpec::Nand(_)) {
            continue;
        }
        assert_eq!(drive.check(), Ok(()));
        let observe = |drive: &DriveSpec| observe(drive, &machine);
        try_each(&drive, DriveSpec::check, observe, &mut moved, &mut unmoved);
    }
    // Some parameters matter only in other drives: memory, for example, draws no more power when it works.
    let nowhere: Vec<_> = unmoved.difference(&moved).collect();
    assert!(nowhere.is_empty(), "these change nothing: {nowhere:?}");
    assert!(moved.len() > 50, "{moved:?}");
}

#[test]
fn each_parameter_of_a_machine_changes_something() {
    let drive = &rich::drives()[0];
    let (mut moved, mut unmoved) = (BTreeSet::new(), BTreeSet::new());
    let observe = |machine: &Machine| observe(drive, machine);
    try_each(
        &rich::machine(),
        Machine::check,
        observe,
        &mut moved,
        &mut unmoved,
    );
    assert!(unmoved.is_empty(), "these change nothing: {unmoved:?}");
    assert!(moved.len() > 10, "{moved:?}");
}
