"""Reads fio's ``--output-format=json`` and ``json+``: one run, with a row for every reported job or group.

Every latency of fio is kept: counts and extremes as they are, percentiles as published, and the bins of json+ as a
histogram. fio's percentiles are of clat unless ``lat_percentiles`` was set. A job that submits and waits in one call
has no slat, and its clat is lat.

The job file is built from "job options". fio leaves out flags that were set without ``=1``, so the run may have had
more options. A section appears once, even if several of its clones were reported.

Source: fio stat.c (show_thread_status_json), and the output of fio 3.33.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, JobFile, Kind
from iogauge.store.imported import fio_logs, fio_status
from iogauge.store.imported.document import damaged, fraction, integer, members, number
from iogauge.store.imported.fio_status import KINDS, Json, bins_of
from iogauge.store.imported.histograms import encoded, fio_bounds
from iogauge.store.imported.steps import (
    ImportedFigures,
    ImportedLatency,
    ImportedRow,
    ImportedStep,
    PublishedQuantile,
)
from iogauge.workload import parse

_OBJECT = re.compile(r"^[ \t]*(\{)", re.MULTILINE)
_DATA = (Direction.READ, Direction.WRITE, Direction.TRIM)


def recognised(text: str) -> bool:
    """Return whether a text is fio's JSON, even after other output."""
    return '"fio version"' in text


def read(text: str, path: Path) -> ImportedStep:
    """Return the run in a text. Raises ``IogaugeError`` if the text is damaged.

    fio prints one document for every ``--status-interval``. The last one has the totals, and the differences between
    them are intervals. If there is only one, the intervals come from logs beside ``path``.
    """
    source = str(path)
    documents, messages = _documents(text, source)
    document = documents[-1]
    warnings = []
    if messages:
        shown = "; ".join(messages[:3]) + (f"; and {len(messages) - 3} more" if len(messages) > 3 else "")
        warnings.append(f"what fio printed beside its JSON was left out: {shown}")
    if isinstance(document.get("client_stats"), list):
        raise IogaugeError(
            f"{source}: is of fio's client and server", hint="run each machine's fio by itself"
        )
    entries, merged = _entries(document, source)
    if merged:
        warnings.append(
            "fio reported jobs of several groups as one: the row named first may hold others as well"
        )
    shared = _options(document.get("global options", {}), source)
    sections = _sections(entries, shared, source)
    rows = tuple(
        _row(entry, section=section, source=source, warnings=warnings)
        for entry, section in zip(entries, sections.of_entry, strict=True)
    )
    if not rows:
        raise damaged(source, "has no jobs")
    job_file = _job_file(sections, source, warnings)
    if any(option.startswith("rate") for options in sections.options for option in options):
        warnings.append(
            "fio's latencies begin when a request is issued: with a rate, what it waited for that is in none of them"
        )
    intervals = tuple(
        fio_status.intervals([_entries(report, source)[0] for report in documents], source=source)
    )
    if not intervals:
        blocks = _blocks(job_file, sections)
        intervals = fio_logs.intervals_of(
            path,
            sections.names,
            sections.options,
            sections.of_entry,
            blocks,
            elapsed_s=_elapsed_s(entries, source),
        )
    return ImportedStep(
        label=path.stem,
        tool="fio",
        version=str(document.get("fio version", "")),
        source=source,
        rows=rows,
        options=sections.options[0],
        jobs=job_file,
        intervals=intervals,
        started_at=_started(document),
        warnings=tuple(dict.fromkeys(warnings)),
    )


def _documents(text: str, source: str) -> tuple[list[Json], list[str]]:
    """Return the JSON documents that fio printed, and its other lines.

    fio also writes its messages into the file of ``--output``, so they can stand between two reports.
    """
    decoder = json.JSONDecoder(parse_constant=lambda name: _refuse_constant(name, source))
    documents: list[Json] = []
    messages: list[str] = []
    at = 0
    try:
        while (begins := _OBJECT.search(text, at)) is not None:
            messages += _lines(text[at : begins.start()])
            document, at = decoder.raw_decode(text, begins.start(1))
            documents.append(members(document, source=source, what="the document"))
    except (ValueError, RecursionError) as error:
        raise damaged(source, f"is not valid JSON ({str(error)[:80]})") from None
    if not documents:
        raise damaged(source, "holds no JSON")
    return documents, list(dict.fromkeys(messages + _lines(text[at:])))


def _lines(text: str) -> list[str]:
    return [line.strip()[:80] for line in text.splitlines() if line.strip()]


def _entries(document: Json, source: str) -> tuple[list[Json], bool]:
    """Return the entries of the reported rows, and whether rows were merged into others."""
    jobs = document.get("jobs")
    if not isinstance(jobs, list) or not jobs:
        raise damaged(source, "has no jobs")
    entries = [members(value, source=source, what=f"jobs[{index}]") for index, value in enumerate(jobs)]
    # fio prints an empty entry where it has merged jobs of another group into an earlier one.
    reported = [entry for entry in entries if "jobname" in entry]
    return reported, len(reported) < len(entries)


def _refuse_constant(name: str, source: str) -> float:
    raise damaged(source, f"holds {name}, which is no number of JSON")


class _Sections:
    """The sections of the job file, reconstructed from the entries of the report."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.options: list[dict[str, str]] = []
        self.of_entry: list[int] = []


def _sections(entries: list[Json], shared: dict[str, str], source: str) -> _Sections:
    sections = _Sections()
    left = 0
    for entry in entries:
        name = str(entry["jobname"])
        options = shared | _options(entry.get("job options", {}), source)
        clones = options.get("numjobs", "1")
        same = bool(sections.names) and (name, options) == (sections.names[-1], sections.options[-1])
        if not (same and left):
            sections.names.append(name)
            sections.options.append(options)
            left = int(clones) if clones.isdigit() and len(clones) < 6 else 1
        left -= 1
        sections.of_entry.append(len(sections.names) - 1)
    return sections


def _options(options: Any, source: str) -> dict[str, str]:
    options = members(options, source=source, what="the job options")
    return {str(name): str(value) for name, value in options.items()}


def _elapsed_s(entries: list[Json], source: str) -> float | None:
    """Return how long fio ran before it wrote these entries; None: unknown."""
    known = [entry["elapsed"] for entry in entries if "elapsed" in entry]
    return max((number(value, source=source, what="elapsed") for value in known), default=None)


def _job_file(sections: _Sections, source: str, warnings: list[str]) -> JobFile | None:
    text = "".join(
        f"[{name}]\n"
        + "".join(f"{option}={value}\n" for option, value in options.items() if option != "name")
        + "\n"
        for name, options in zip(sections.names, sections.options, strict=True)
    )
    try:
        return parse(text, source=source, environ={})
    except IogaugeError as error:
        warnings.append(f"its jobs are not known to iogauge: {error}")
        return None


def _blocks(jobs: JobFile | None, sections: _Sections) -> list[dict[Direction, int]]:
    """Return the block sizes of every section, by direction, if they do not vary."""
    if jobs is None:
        return [{} for _ in sections.names]
    blocks = []
    for job in jobs.jobs:
        sizes = {direction: getattr(job.bs, direction.value) for direction in _DATA}
        blocks.append(
            {
                d: s.minimum_bytes
                for d, s in sizes.items()
                if s.minimum_bytes == s.maximum_bytes and not s.split
            }
        )
    return blocks


def _started(document: Json) -> str | None:
    stamp = document.get("timestamp_ms")
    if not isinstance(stamp, int) or not 0 <= stamp < 2**48:
        return None
    return datetime.fromtimestamp(stamp / 1000, UTC).isoformat(timespec="milliseconds")


def _row(entry: Json, *, section: int, source: str, warnings: list[str]) -> ImportedRow:
    name = str(entry["jobname"])
    figures = {}
    runtime_ms = 0.0
    for direction in _DATA:
        values = members(entry.get(direction.value, {}), source=source, what=f"{name}: {direction}")
        where = f"{name}: {direction}"
        ios = integer(values.get("total_ios", 0), source=source, what=f"{where}: total_ios")
        if not ios:
            continue
        runtime_ms = max(
            runtime_ms, number(values.get("runtime", 0), source=source, what=f"{where}: runtime")
        )
        figures[direction] = ImportedFigures(
            ios=ios,
            bytes=integer(values.get("io_bytes", 0), source=source, what=f"{where}: io_bytes"),
            iops=number(values.get("iops", 0), source=source, what=f"{where}: iops"),
            rate_Bps=number(values.get("bw_bytes", 0), source=source, what=f"{where}: bw_bytes"),
            short=integer(values.get("short_ios", 0), source=source, what=f"{where}: short_ios"),
            latencies=dict(_latencies(values, where=where, source=source, warnings=warnings)),
        )
    values = members(entry.get("sync", {}), source=source, what=f"{name}: sync")
    syncs = dict(_latencies(values, where=f"{name}: sync", source=source, warnings=warnings))
    if Kind.LAT in syncs:
        # fio counts syncs as no I/Os, but for their latencies.
        count, seconds = syncs[Kind.LAT].count, runtime_ms / 1000
        figures[Direction.SYNC] = ImportedFigures(
            ios=count, bytes=0, iops=count / seconds if seconds else 0.0, rate_Bps=0.0, latencies=syncs
        )
    for key, text in (("total_err", "I/Os failed"), ("error", "is the error that it ended with")):
        if amount := integer(entry.get(key, 0), source=source, what=f"{name}: {key}"):
            warnings.append(f"{name}: {amount} {text}")
    return ImportedRow(
        name=name,
        duration_s=runtime_ms / 1000,
        figures=figures,
        section=section,
        user_percent=number(entry.get("usr_cpu", 0), source=source, what=f"{name}: usr_cpu"),
        system_percent=number(entry.get("sys_cpu", 0), source=source, what=f"{name}: sys_cpu"),
        context_switches=integer(entry.get("ctx", 0), source=source, what=f"{name}: ctx"),
    )


def _latencies(
    values: Json, *, where: str, source: str, warnings: list[str]
) -> Iterator[tuple[Kind, ImportedLatency]]:
    latencies = {
        kind: _latency(values.get(key, {}), f"{where}: {key}", source, warnings) for kind, key in KINDS
    }
    lat, clat = latencies[Kind.LAT], latencies[Kind.CLAT]
    has_percentiles = clat.histogram is not None or bool(clat.quantiles)
    if has_percentiles and lat.histogram is None and not lat.quantiles:
        if latencies[Kind.SLAT].count:
            warnings.append(
                f"{where}: fio's percentiles are of clat, which begins after the submission; with lat_percentiles=1 "
                "it gives those of lat"
            )
        elif lat.count and lat.count != clat.count:
            warnings.append(
                f"{where}: clat's percentiles are not taken for lat: it has {lat.count} samples, clat {clat.count}"
            )
        else:
            # A job without slat waits in the submission: lat and clat differ only by two clock readings.
            latencies[Kind.LAT] = ImportedLatency(
                count=lat.count, mean_ns=lat.mean_ns, stddev_ns=lat.stddev_ns, min_ns=lat.min_ns, max_ns=lat.max_ns,
                quantiles=clat.quantiles, histogram=clat.histogram,
            )  # fmt: skip
    yield from ((kind, latency) for kind, latency in latencies.items() if latency.count)


def _latency(value: Any, where: str, source: str, warnings: list[str]) -> ImportedLatency:
    values = members(value, source=source, what=where)
    count = integer(values.get("N", 0), source=source, what=f"{where}: N")
    if not count:
        return ImportedLatency(count=0)
    counts = bins_of(values.get("bins", {}), where=where, source=source)
    if counts and sum(counts.values()) != count:
        warnings.append(f"{where}: its bins hold {sum(counts.values())} samples of {count}")
    return ImportedLatency(
        count=count,
        mean_ns=number(values.get("mean", 0), source=source, what=f"{where}: mean"),
        stddev_ns=number(values.get("stddev", 0), source=source, what=f"{where}: stddev"),
        min_ns=number(values.get("min", 0), source=source, what=f"{where}: min"),
        max_ns=number(values.get("max", 0), source=source, what=f"{where}: max"),
        quantiles=tuple(_quantiles(values.get("percentile", {}), where, source, warnings)),
        histogram=encoded(counts) if counts else None,
    )


def _quantiles(value: Any, where: str, source: str, warnings: list[str]) -> Iterator[PublishedQuantile]:
    quantiles = []
    for key, at in members(value, source=source, what=f"{where}: percentile").items():
        value_ns = integer(at, source=source, what=f"{where}: the percentile {key}")
        q = fraction(key, source=source, what=f"{where}: a percentile")
        if q == 1:
            # fio writes six decimals: 99.9999999 is "100.000000" as well.
            warnings.append(f"{where}: the percentile 100.000000 may be one below it, and was left out")
            continue
        if q == 0:
            continue
        low, high = fio_bounds(value_ns)
        quantiles.append(PublishedQuantile(q=q, value_ns=value_ns, low_ns=low, high_ns=high))
    yield from sorted(quantiles, key=lambda quantile: quantile.q)
