"""What tests of feeds share: a feed in a directory of its own, events of a screen, and a process that measures."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from iogauge.live.feed import Feed
from iogauge.live.places import Writer
from iogauge.live.reader import Reader
from iogauge.live.state import State

ROOT = Path(__file__).parents[3]

Event = dict[str, Any]

MEASURING = """
import sys, time
from iogauge.live.feed import Feed
from iogauge.schema import Direction, Job
from tests import builders, report_records

with Feed(title="run of /tmp/drive", targets=["/tmp/drive"], command=["test"]) as feed:
    feed.step("drive", expected_s=60)
    feed.started(report_records.plan([Job(name="reader"), Job(name="writer")]))
    print("began", flush=True)
    for index in range(100_000):
        for row in range(2):
            tally = builders.tally({50_000: 1_000 + index}, block_bytes=4096)
            feed.interval(builders.interval(index, {Direction.READ: tally}, row=row))
        time.sleep(0.05)
"""
"""A process that publishes two rows until it is interrupted."""


def measuring() -> subprocess.Popen[str]:
    """Start a process that publishes a measurement; return it when the feed is there."""
    process = subprocess.Popen([sys.executable, "-c", MEASURING], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert process.stdout is not None
    assert process.stdout.readline() == "began\n"
    return process


def reader(directory: Path) -> Reader:
    """Return a reader of this process's feed."""
    return Reader(directory, Writer.of_this_process())


def events(directory: Path, *, after: int = 0) -> list[Event]:
    """Return all events of this process's feed."""
    read, rest = [], reader(directory)
    while some := rest.read(after):
        read += some
        after = some[-1]["seq"]
    rest.close()
    return read


def feed(directory: Path, **options: Any) -> Feed:
    """Return a feed in a directory."""
    return Feed(**{"title": "run of drive", "targets": ["drive"], "directory": directory, **options})


def folded(items: Iterable[Mapping[str, Any]]) -> State:
    """Return the state that events add up to."""
    state = State()
    for event in items:
        state.add(event)
    return state


def figures(ios: int = 1000, bands: Iterable[tuple[int, int]] = ((6, 990), (12, 10)), **fields: Any) -> Event:
    """Return the figures of one direction."""
    return {
        "ios": ios,
        "bytes": ios * 4096,
        "errors": 0,
        "mean_ns": 40_000,
        "p50_ns": 35_000,
        "p99_ns": 1_100_000,
        "p999_ns": 1_500_000,
        "p9999_ns": 1_700_000,
        "max_ns": 2_000_000,
        "bands": [list(band) for band in bands],
        **fields,
    }


def interval(index: int, *, row: int = 0, ramp: bool = False, **directions: Event) -> Event:
    """Return an ``interval`` event of one second."""
    return {
        "event": "interval",
        "stage": 0,
        "row": row,
        "start_s": float(index),
        "end_s": index + 1.0,
        "ramp": ramp,
        "directions": directions or {"read": figures()},
    }


def measurement(
    *, names: tuple[str, ...] = ("x",), seconds: int = 3, steps: int = 1, virtual: bool = False
) -> list[Event]:
    """Return the events of a step with rows of these names, ``seconds`` after its beginning at second 100."""
    rows = [
        {"stage": 0, "row": row, "name": name, "asked_iops": {"read": 2000.0} if row else {}}
        for row, name in enumerate(names)
    ]
    items: list[Event] = [
        {
            "event": "begin",
            "pid": 1,
            "start_ticks": 2,
            "command": ["iogauge", "run"],
            "title": "run of /dev/drive",
            "review": None,
            "targets": ["/dev/drive"],
            "virtual": virtual,
            "version": "1",
        },
        {
            "event": "step",
            "label": "/dev/drive" if steps == 1 else "70 %",
            "number": 1,
            "steps": steps,
            "more": False,
            "search": False,
            "expected_s": 10.0,
            "ahead_s": (steps - 1) * 10.0,
        },
        {"event": "rows", "rows": rows},
        *(interval(index, row=row) for index in range(seconds) for row in range(len(names))),
    ]
    at = [100.0, 100.0, 100.0, *(101.0 + index for index in range(seconds) for _ in names)]
    return [
        {"seq": number, "at": when, **event}
        for number, (event, when) in enumerate(zip(items, at, strict=True), 1)
    ]
