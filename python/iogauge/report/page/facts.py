"""The circumstances of a review as terms and values: target, machine, clock, generator and provenance.

An unknown fact is listed as unknown, since an absent one could be taken for a good one.
"""

from __future__ import annotations

import shlex

from iogauge.catalog.state import MEANING
from iogauge.report.run.surroundings import state_text
from iogauge.results.suite_result import SuiteResult
from iogauge.schema import SCHEMA_VERSION
from iogauge.text.cells import latency
from iogauge.text.numbers import block, figure, size

Facts = list[tuple[str, str]]

_KINDS = {"block": "block device", "file": "file", "null": "nothing: the null engine"}


def environment(drive: SuiteResult) -> list[tuple[str, Facts]]:
    """Return the facts of target, machine and generator, each under its heading."""
    return [
        ("Target", _target(drive)),
        ("Simulated on" if drive.target.modelled else "Machine", _machine(drive)),
        ("Clock and generator", _generator(drive)),
    ]


def _target(drive: SuiteResult) -> Facts:
    target = drive.target
    if target.modelled:
        model = target.modelled
        return [
            ("Path", target.path),
            ("Kind", "drive model, in virtual time"),
            ("Drive", f"{target.model}: {model.drive}, version {model.drive_version}"),
            ("Behind", f"{model.machine_title}: {model.machine}, version {model.machine_version}"),
            ("Size", size(target.size_bytes)),
            *([("State at start", f"{model.begun_as}: {MEANING[model.begun_as]}")] if model.begun_as else []),
            ("Parameters", f"SHA-256 {model.sha256}"),
        ]
    return [
        ("Path", target.path),
        *([("Resolves to", target.real_path)] if target.real_path not in ("", target.path) else []),
        ("Kind", _KINDS[target.kind]),
        ("Size", size(target.size_bytes)),
        ("Model", _known(target.model)),
        ("Serial", _known(target.serial)),
        ("Firmware", _known(target.firmware)),
        ("Device", _known(target.device)),
        *([("Filesystem", _known(target.filesystem))] if target.kind == "file" else []),
        (
            "Logical / physical block",
            f"{_block(target.logical_block_bytes)} / {_block(target.physical_block_bytes)}",
        ),
        ("Rotating", {True: "yes", False: "no", None: "unknown"}[target.rotational]),
        ("Scheduler", _known(target.scheduler)),
        ("Write cache", _known(target.write_cache)),
        ("State before", state_text(drive.manifest.state_before.get(target.path), target)),
    ]


def _machine(drive: SuiteResult) -> Facts:
    machine = drive.manifest.machine
    if program := drive.manifest.measured_by:
        return [("Machine", f"unknown: {program} ran the steps, and its results do not describe the machine")]
    return [
        ("Host", machine.hostname),
        ("Processor", machine.cpu),
        ("CPUs", f"{machine.cpus}, {machine.cpus_allowed} of them allowed"),
        ("Memory", size(machine.memory_bytes)),
        ("Kernel", machine.kernel),
        ("Virtual", machine.virtualised or "not detected"),
        ("Clocksource", _known(machine.clocksource)),
        ("Governor", _known(machine.governor)),
    ]


def _generator(drive: SuiteResult) -> Facts:
    facts: Facts = []
    for run in drive.runs:
        clock = run.record.result.clock
        if clock.source == "virtual":
            return [("Timestamps", "virtual time: no clock was read, and the generator took no time")]
        facts.append(
            ("Timestamps", "TSC" if clock.source == "tsc" else f"clock_gettime ({clock.reason or 'no TSC'})")
        )
        if clock.read_cost_ns:
            facts.append(("Cost of a clock reading", latency(clock.read_cost_ns)))
        if clock.source == "tsc":
            facts.append(("Off the kernel's clock by", f"{clock.check_ppm:+.2f} ppm"))
        break
    ceiling = drive.manifest.ceiling
    if ceiling is None:
        return [*facts, ("Ceiling", "not measured")]
    return [
        *facts,
        ("Ceiling, one worker", f"{figure(round(ceiling.iops))} IOPS on the null engine"),
        (
            "Generator's share of a latency",
            f"{latency(ceiling.lat_mean_ns)} (null engine, iodepth 1), not subtracted",
        ),
        ("Timer wake-up late by", f"{latency(ceiling.sleep_slack_ns)} (p99)"),
    ]


def provenance(drive: SuiteResult) -> Facts:
    """Return how and when a drive's review was made."""
    manifest = drive.manifest
    return [
        ("Command", shlex.join(manifest.command)),
        ("Pace", manifest.pace),
        ("Repeats", str(manifest.repeats)),
        ("Drive's state", manifest.state),
        ("Seed", str(manifest.seed)),
        ("Started", manifest.created_at),
        ("Review", f"{manifest.id}, schema {manifest.schema_version} (read as {SCHEMA_VERSION})"),
        ("Versions", ", ".join(f"{name} {version}" for name, version in sorted(manifest.versions.items()))),
        *([("Commit", manifest.machine.git)] if manifest.machine.git else []),
    ]


def _known(value: str | None) -> str:
    return value or "unknown"


def _block(value_bytes: int | None) -> str:
    return "unknown" if value_bytes is None else block(value_bytes)
