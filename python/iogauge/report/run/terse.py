"""fio's terse output: a line of fields separated by semicolons for every row, in fio's versions 2 to 5.

Every field is taken from the JSON, so that the two outputs never differ. Latencies are in microseconds; percentiles are
truncated to whole microseconds, and are those of lat with lat_percentiles, or else of clat. As in fio, version 3 has no
trims, and unified_rw_reporting puts the fields of mixed where those of read are, or after all others.

Deliberate differences from fio: the second field says iogauge, and the name of a percentile has all its digits.

Source: the output of fio 3.33, and its HOWTO (terse output).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from iogauge.report.run import jsonplus
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.report.run.rows import rows
from iogauge.schema import Job, RunRecord

VERSIONS = (2, 3, 4, 5)
_PERCENTILES = 20
"""Fields for percentiles, used or not."""
_MEMBERS = ("read", "write", "trim", "mixed")

Json = dict[str, Any]


def render(record: RunRecord, stats: IntervalStats, *, version: int = 3) -> str:
    """Return a run as fio's terse lines of ``version``, each with its line feed."""
    document = jsonplus.document(record, stats, plus=False)
    lines = []
    for row, job_json in zip(rows(record), document["jobs"], strict=True):
        disks = document["disk_util"] if version >= 3 else ()
        ending = [row.job.description] if row.job.description else []
        fields = [*_fields(row.job, job_json, disks, document["fio version"], version=version)]
        # Version 2 has the description on a line of its own.
        glue = "\n;" if version == 2 and ending else ";"
        lines.append(glue.join([";".join(fields), *ending]) + "\n")
    return "".join(lines)


def _fields(job: Job, job_json: Json, disks: Any, program: str, *, version: int) -> Iterator[str]:
    yield from (str(version), program) if version > 2 else ("2",)
    yield from (job_json["jobname"], str(job_json["groupid"]), str(job_json["error"]))
    for name in _MEMBERS:
        if name in job_json and (name != "trim" or version != 3):
            yield from _stream(job, job_json[name], version=version)
    yield from (f"{job_json['usr_cpu']:.6f}%", f"{job_json['sys_cpu']:.6f}%")
    yield from (str(job_json[name]) for name in ("ctx", "majf", "minf"))
    yield from (f"{share:.1f}%" for share in job_json["iodepth_level"].values())
    below_us = dict(job_json["latency_us"])
    # Terse has no class below a microsecond: its first one includes them.
    below_us["2"] += sum(job_json["latency_ns"].values())
    yield from (f"{share:.2f}%" for share in (*below_us.values(), *job_json["latency_ms"].values()))
    for disk in disks:
        yield disk["name"]
        yield from (
            str(disk[f"{way}_{what}"]) for what in ("ios", "merges", "ticks") for way in ("read", "write")
        )
        yield from (str(disk["in_queue"]), f"{disk['util']:.2f}%")
    if "total_err" in job_json:
        yield from (str(job_json["total_err"]), str(job_json["first_error"]))


def _stream(job: Job, stream: Json, *, version: int) -> Iterator[str]:
    """Yield the fields of one direction, or of all of them mixed."""
    yield from (str(int(stream[name])) for name in ("io_kbytes", "bw", "iops", "runtime"))
    yield from _microseconds(stream["slat_ns"])
    yield from _microseconds(stream["clat_ns"])
    yield from _percentiles(job, stream)
    yield from _microseconds(stream["lat_ns"])
    yield from (str(stream["bw_min"]), str(stream["bw_max"]), f"{stream['bw_agg']:.6f}%")
    yield from (f"{stream['bw_mean']:.6f}", f"{stream['bw_dev']:.6f}")
    if version == 5:
        yield from (str(stream[name]) for name in ("bw_samples", "iops_min", "iops_max"))
        yield from (f"{stream['iops_mean']:.6f}", f"{stream['iops_stddev']:.6f}", str(stream["iops_samples"]))


def _microseconds(latency: Json) -> Iterator[str]:
    yield from (str(latency[name] // 1000) for name in ("min", "max"))
    yield from (f"{latency[name] / 1000:.6f}" for name in ("mean", "stddev"))


def _percentiles(job: Job, stream: Json) -> Iterator[str]:
    of_lat = job.lat_percentiles and not job.disable_lat
    of_clat = job.clat_percentiles and not job.disable_clat
    percentiles = job.percentile_list if of_lat or of_clat else ()
    values = stream["lat_ns" if of_lat else "clat_ns"].get("percentile", {})
    for percentile in percentiles:
        key = jsonplus.percentile_key(percentile)
        yield f"{key}%={values.get(key, 0) // 1000}"
    yield from ["0%=0"] * (_PERCENTILES - len(percentiles))
