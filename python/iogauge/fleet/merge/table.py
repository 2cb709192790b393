"""The figures of a fleet as one table: a row for each host, target, step, direction and figure."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Event
from typing import Any

import pyarrow as pa

from iogauge.errors import IogaugeError
from iogauge.index.pool import results_of
from iogauge.results.tables import METRICS, bounds_of, rows_of
from iogauge.schema import FleetHost
from iogauge.store import Review
from iogauge.store.fleet import FleetStore
from iogauge.store.names import MANIFEST

_TEXT = ("host", "target", "model", "firmware", "suite", "step", "series", "label", "direction", "figure")
_FIELDS: list[pa.Field[Any]] = [
    pa.field("host", pa.string(), nullable=False),
    pa.field("labels", pa.map_(pa.string(), pa.string()), nullable=False),
    pa.field("outcome", pa.string(), nullable=False),
    *(pa.field(name, pa.string()) for name in _TEXT if name != "host"),
    pa.field("position", pa.float64()),
    pa.field("repeat", pa.int64()),
    pa.field("value", pa.float64()),
    pa.field("low", pa.float64()),
    pa.field("high", pa.float64()),
]
FIGURES = pa.schema(_FIELDS)
"""``figure`` is one of the columns of the table of figures of a review, such as ``iops`` or ``p99_ns``, and says the
unit of ``value``; ``low`` and ``high`` bound its 95 % interval. A host of which no step was saved has one row, without
a step."""


_FEW = 2
"""Up to so many hosts are read in this process: starting others takes longer."""


def figures_of_fleet(store: FleetStore) -> pa.Table:
    """Return the figures of all complete steps of all hosts, with the columns of ``FIGURES``.

    Figures that were computed before are read from the host's review. Those of many hosts are computed in processes.
    Raises IogaugeError if a file is damaged.
    """
    hosts = [(store.host_directory(host.name), host) for host in store.manifest.hosts]
    batches = []
    for _, batch in results_of(_batch, hosts, ended_early=_ended_early, stop=Event(), few=_FEW, chunk=1):
        if isinstance(batch, IogaugeError):
            raise batch
        batches.append(batch)
    return pa.Table.from_batches(batches, schema=FIGURES)


def _batch(saved: tuple[Path, FleetHost]) -> pa.RecordBatch | IogaugeError:
    """Return the rows of one host, or what is wrong with its review."""
    try:
        return pa.RecordBatch.from_pylist(list(_rows(*saved)), schema=FIGURES)
    except IogaugeError as error:
        return error


def _ended_early(saved: tuple[Path, FleetHost]) -> IogaugeError:
    return IogaugeError(
        f"{saved[0]}: its figures could not be computed: the process that read it ended early",
        hint="see whether memory is short, and try again",
    )


def _rows(directory: Path, host: FleetHost) -> Iterator[dict[str, Any]]:
    """Yield the rows of one host."""
    head = {"host": host.name, "labels": list(host.labels.items()), "outcome": host.outcome.value}
    saved = _saved(directory) if (directory / MANIFEST).is_file() else []
    yield from ({**head, **row} for row in saved)
    if not saved:
        yield head


def _saved(directory: Path) -> list[dict[str, Any]]:
    review = Review.open(directory)
    facts = {target.path: target for target in review.manifest.targets}
    rows = []
    for step in rows_of(review):
        target = facts.get(step["target"])
        modelled = target.modelled.drive if target and target.modelled else None
        drive = {"model": modelled or (target.model if target else None)}
        drive["firmware"] = target.firmware if target else None
        for metric in METRICS:
            if step.get(metric) is not None:
                low, high = bounds_of(metric)
                figures = {"value": step[metric], "low": step.get(low), "high": step.get(high)}
                rows.append({**step, **drive, "figure": metric, **figures})
    review.keep_computed()
    known = set(FIGURES.names)
    return [{name: value for name, value in row.items() if name in known} for row in rows]
