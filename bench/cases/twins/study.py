"""Reviews one drawn drive, fits its twin to some suites, and predicts the others.

The twin never sees the drive's model, and the predictions have other seeds than the review. Two others predict the same
steps: the shipped model that the twin began with, and memory of constant latency, the drive's own at depth 1 (that of
reads for reads, of writes for writes).
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import iogauge
from bench.cases.twins.drives import SORTS, Drawn, drawn
from iogauge import catalog
from iogauge.calibrate.numbers import folder
from iogauge.calibrate.twins.fit import Twin, fit_twin
from iogauge.calibrate.twins.steps import Key, Length, ReviewStep, steps_of
from iogauge.calibrate.write import with_fit
from iogauge.execution.interrupts import Interrupts
from iogauge.schema import Direction
from iogauge.store import Review

FITTED = ("queue-depth", "mixed", "write-pressure")
LEFT_OUT = ("spec", "reader-under-writers")
"""Together with ``FITTED`` these are the default review."""
PREDICTED = Length(ios=120_000, least=30_000, most=400_000)
BRIEF = Length(ios=1_000, least=300, most=3_000)
SEED = 77
RUNTIME = "1s"
"""The longest step. At quick pace some take 3 or 4 s, for tails beyond those that a fit compares."""
DEPTH_ONE = {Direction.READ: "spec.randread-4k-qd1", Direction.WRITE: "spec.randwrite-4k-qd1"}


def studied(sort: str, index: int) -> dict[str, Any]:
    """Return the errors of one drive's twin, as the file of a study holds them."""
    drive = drawn(SORTS[sort], index)
    with tempfile.TemporaryDirectory() as place:
        hidden = Path(place) / "hidden.toml"
        hidden.write_text(catalog.to_toml(drive.model))
        review = Path(place) / "review"
        iogauge.review(f"model:{hidden}", pace="quick", runtime=RUNTIME, seed=3, output=review)
        return {"drive": drive.name, **assessed(Review.open(review), drive.begin_with, truth=drive)}


def assessed(
    review: Review,
    begin_with: catalog.ModelFile,
    *,
    fitted: Sequence[str] = FITTED,
    left_out: Sequence[str] = LEFT_OUT,
    truth: Drawn | None = None,
    threads: int = 1,
) -> dict[str, Any]:
    """Return how near a twin fitted to some suites of a review comes to others, beside two that were not fitted."""
    machine = catalog.machine(begin_with.machine or "ideal")
    trials = 0

    def count(done: int, _rms: float) -> None:
        nonlocal trials
        trials = done

    with Interrupts() as interrupts:
        began, used = time.perf_counter(), time.process_time()
        twin = fit_twin(
            review,
            begin_with,
            machine,
            interrupts=interrupts,
            suites=fitted,
            threads=threads,
            on_trial=count,
        )
        took_s, cpu_s = time.perf_counter() - began, time.process_time() - used
        shipped = begin_with.parameters | {"capacity_bytes": twin.model.parameters["capacity_bytes"]}
        steps = list(steps_of(review, suites=left_out))
        figures = _predicted(
            steps, {"twin": _parameters(twin), "shipped": shipped}, machine.parameters, interrupts
        )
    return {
        "rms": round(twin.fitted.rms, 3),
        "trials": trials,
        "took_s": round(took_s, 1),
        "cpu_s": round(cpu_s, 1),
        "numbers": {
            number.free.place: [
                _short(number.free.start),
                _short(number.value),
                None if truth is None else _at(truth.model.parameters, number.free.place),
                number.identified,
                *(_short(end) for end in number.interval),
            ]
            for number in twin.fitted.numbers
        },
        "fit": [
            [figure.step, figure.job, figure.direction.value, figure.what, figure.measured, figure.modelled]
            for figure in twin.figures
        ],
        "figures": figures,
    }


def write(result: Mapping[str, Any], place: Path) -> None:
    """Write a result; a study that is interrupted keeps those that are complete."""
    beside = place.with_suffix(".tmp")
    beside.write_text(json.dumps(result))
    beside.replace(place)


def _predicted(
    steps: Sequence[ReviewStep],
    drives: Mapping[str, Mapping[str, Any]],
    machine: Mapping[str, Any],
    interrupts: Interrupts,
) -> list[list[Any]]:
    """Return a row for each figure: step, job, direction, what, measured, and what each drive and memory predict."""
    capacity_bytes = max(drive["capacity_bytes"] for drive in drives.values())
    ram = catalog.drive("ram").parameters | {"capacity_bytes": capacity_bytes}
    constant = _constant(steps, ram, machine, interrupts)
    rows: list[list[Any]] = []
    for step in steps:
        short = step.at(PREDICTED)
        predicted: list[dict[Key, float]] = [
            short.modelled(drive, machine, interrupts, seed=SEED) for drive in drives.values()
        ]
        # Memory may complete a hundred times as many I/Os, and all take equally long.
        brief = replace(short, jobs=step.at(BRIEF).jobs)
        memory = {
            direction: brief.modelled(parameters, machine, interrupts, seed=SEED)
            for direction, parameters in constant.items()
        }
        for key, measured in short.measured.items():
            others = [one.get(key) for one in (*predicted, memory.get(key[1], {}))]
            rows.append([step.id, key[0], key[1].value, key[2], measured, *others])
    return rows


def _constant(
    steps: Sequence[ReviewStep], ram: Mapping[str, Any], machine: Mapping[str, Any], interrupts: Interrupts
) -> dict[Direction, Mapping[str, Any]]:
    """Return memory that takes as long as the drive at depth 1, by direction; what the machine adds is not its own."""
    constant: dict[Direction, Mapping[str, Any]] = {}
    for direction, name in DEPTH_ONE.items():
        for step in steps:
            if step.id.startswith(name):
                (key,) = (key for key in step.measured if key[2] == "mean")
                at_once = step.at(BRIEF).modelled(ram, machine, interrupts)[key]
                media = ram["media"] | {"latency_ns": max(step.measured[key] - at_once, 0.0)}
                constant[direction] = {**ram, "media": media}
    return constant


def _parameters(twin: Twin) -> dict[str, Any]:
    return with_fit(twin.model, twin.fitted, source="", command="", seed=0, residuals=()).parameters


def _at(parameters: Mapping[str, Any], place: str) -> float:
    table, key = folder(parameters, place)
    return _short(table[key])


def _short(value: float) -> float:
    return float(f"{value:.5g}")
