"""The figures of 100,000 reviews in a collection: how long collecting, its index, its pages and SQL take.

Some hundred reviews are made as ``many_reviews`` makes them, and collected. Their rows are then taken by chance, under
other names, drives, hosts and dates, for as many reviews as are wanted. So parts are what collecting writes; that
collecting itself reads that many reviews is what ``web-index`` measures of its index.
"""

from __future__ import annotations

import json
import os
import random
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from bench import peers
from bench.cases.web import probe, served
from bench.cases.web.index import GOAL_BYTES, GOALS_MS, NAMES, SERVED, built
from bench.cases.web.many_reviews import DRIVES, FIRST, HOSTS, MINUTES, SEED, make
from bench.pairs import Estimate
from bench.results import Finding, Row
from bench.settings import Settings, note
from iogauge.index.collection import layout
from iogauge.index.collection.collect import PART, Counts, collect
from iogauge.index.collection.stored import Collection, Part

REVIEWS = 100_000
ORIGINALS = 200
MONTHS = 24


def answers(settings: Settings) -> Finding:
    """Measure the making of the index, then answers in new processes, then collecting what is known already."""
    number = round(REVIEWS * settings.scale)
    with tempfile.TemporaryDirectory() as folder, _own_cache(Path(folder, "cache")):
        directory = Path(folder, "collection")
        for _ in make(Path(folder, "reviews"), ORIGINALS, originals=Path(folder, "originals")):
            pass
        collection = Collection.make(directory)
        began = time.monotonic()
        first = collect([str(Path(folder, "reviews"))], collection)
        collected_s = time.monotonic() - began
        assert first == Counts(added=ORIGINALS), first
        written_s = _multiply(collection, number)
        stored_bytes = sum(path.stat().st_size for path in directory.rglob("*.parquet"))
        _, built_s = built(directory)
        pages = [served.measured(directory) for _ in range(settings.pairs)]
        costs = [_probed(directory) for _ in range(settings.pairs)]
        began = time.monotonic()
        again = collect([str(Path(folder, "reviews"))], collection)
        again_s = time.monotonic() - began
        assert again == Counts(known=ORIGINALS), again
    about = f"{number:,} reviews: "
    samples = {f"served_{name}": [one[name] for one in pages] for name in (*SERVED, "bytes")}
    samples |= {name: [one[name] for one in costs] for name in NAMES}
    peak = max(samples["served_bytes"])
    rows = [
        Row(f"collecting {ORIGINALS} reviews for the first time", "s", collected_s),
        Row(f"{about}their parts written", "s", written_s),
        Row(f"{about}{ORIGINALS} known reviews collected again", "s", again_s),
        Row(f"{about}index made of all parts", "s", built_s),
        Row(f"{about}size of the collection", "MB", stored_bytes / 1e6),
        *(_row(f"{about}{SERVED[name]}", name, samples[f"served_{name}"]) for name in SERVED),
        *(_row(f"{about}{NAMES[name]}", name, samples[name]) for name in NAMES),
        Row(
            f"{about}largest resident memory of the server",
            "MB",
            peak / 1e6,
            goal=f"< {GOAL_BYTES / 1e6:g}",
            met=peak < GOAL_BYTES,
        ),
    ]
    return Finding(rows, {**samples, "built_s": [built_s], "again_s": [again_s]})


@contextmanager
def _own_cache(directory: Path) -> Iterator[None]:
    """Let this process and those that it starts keep indexes in a directory of their own."""
    before = os.environ.get("XDG_CACHE_HOME")
    os.environ["XDG_CACHE_HOME"] = str(directory)
    try:
        yield
    finally:
        if before is None:
            del os.environ["XDG_CACHE_HOME"]
        else:
            os.environ["XDG_CACHE_HOME"] = before


def _multiply(collection: Collection, number: int) -> float:
    """Add reviews made of those of the collection until it has ``number``; return the seconds that writing took."""
    originals = [
        (row, part.figures.filter(pc.equal(part.figures["version"], pa.scalar(row["version"]))))
        for _, part in collection.read_parts(collection.parts())
        if isinstance(part, Part)
        for row in part.reviews.to_pylist()
    ]
    chance = random.Random(SEED)
    took_s = 0.0
    for first in range(ORIGINALS, number, PART):
        month = first // PART % MONTHS
        chosen = [chance.choice(originals) for _ in range(first, min(first + PART, number))]
        rows, tables = [], []
        for place, (row, table) in enumerate(chosen, first):
            rows.append(_drawn(row, chance, place, month))
            tables.append(_named(table, version=rows[-1]["version"], review=rows[-1]["review"]))
        part = Part(pa.Table.from_pylist(rows, schema=layout.REVIEWS), pa.concat_tables(tables))
        began = time.monotonic()
        collection.add(layout.month_of(rows[0]["created"]), part)
        took_s += time.monotonic() - began
    return took_s


def _drawn(row: dict[str, Any], chance: random.Random, place: int, month: int) -> dict[str, Any]:
    begun = FIRST + timedelta(minutes=MINUTES // MONTHS * month + chance.randrange(20 * 24 * 60))
    return {
        **row,
        "review": f"{row['review']}-{place}",
        "version": f"{row['version']}-{place}",
        "created": begun.replace(tzinfo=None),
        "drives": [chance.choice(DRIVES)],
        "host": chance.choice(HOSTS),
    }


def _named(figures: pa.Table, **texts: str) -> pa.Table:
    """Return figures with other texts in some columns."""
    for name, text in texts.items():
        at = figures.schema.get_field_index(name)
        figures = figures.set_column(at, name, pa.array([text] * len(figures)))
    return figures


def _probed(directory: Path) -> dict[str, float]:
    command = [sys.executable, str(probe.__file__), str(directory), str(time.monotonic())]
    ran = subprocess.run(command, cwd=peers.ROOT, capture_output=True, text=True, check=False)
    if ran.returncode:
        raise peers.PeerError(f"{' '.join(command)}: {ran.stderr[-2000:]}")
    costs: dict[str, float] = json.loads(ran.stdout)
    note(f"collection: {', '.join(f'{name} {costs[name]:.0f}' for name in NAMES)} ms")
    return costs


def _row(text: str, name: str, values_ms: list[float]) -> Row:
    median, goal_ms = Estimate.of(values_ms).median, GOALS_MS.get(name)
    met = median < goal_ms if goal_ms else None
    return Row(text, "ms", median, goal=f"< {goal_ms}" if goal_ms else "", met=met)
