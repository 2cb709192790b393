"""Doubles for fio and DiskSpd, which run an exported review's steps: the results that each would leave.

fio's results come from the same steps on a drive model, in fio's format: cumulative reports, the final one last. So a
native review of that model has the very same requests. DiskSpd's results are XML whose figures follow from the command
line, so that the imported figures are known.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any
from xml.sax.saxutils import escape

from iogauge.execution import execute
from iogauge.report.run import jsonplus
from iogauge.report.run.interval_stats import IntervalStats
from iogauge.reviews.offline import PLAN
from iogauge.reviews.ordering import in_order
from iogauge.schema import Interval, RunRecord
from iogauge.stats.figures import StepFigures, step_figures
from iogauge.store import Review
from iogauge.store.review import load_manifest
from iogauge.workload import parse
from iogauge.workload.diskspd.arguments import Command, read
from iogauge.workload.options.patterns import file_text

MODEL = "model:p4800x"
"""The drive model on which fio's steps run."""
WAYS = ("read", "write", "trim", "sync")
LATENCIES = ("lat_ns", "clat_ns")


def run_as_fio(directory: Path, path: str, *, intervals: bool = True) -> list[str]:
    """Run the steps without a result on ``MODEL`` instead of ``path``; return their ids.

    Without ``intervals`` a result is the final report alone, as fio writes it by default.
    """
    ran = []
    planned = [step for _, steps in in_order(load_manifest(directory / PLAN)) for step in steps]
    for step in planned:
        result, job = directory / f"{step.id}.json", directory / f"{step.id}.fio"
        if result.exists() or not job.exists():
            continue
        # The script sets this option on fio's command line.
        text = "[global]\nlat_percentiles=1\n" + job.read_text().replace(file_text(path), MODEL)
        jobs = parse(text, source=step.id)
        seen: list[Interval] = []
        record = execute(jobs, seed=step.seed, interval_ns=step.interval_ns, on_interval=seen.append)
        before = [interval for interval in seen if intervals and not interval.ramp]
        reports = [*_reports(record, before), _report(record)]
        result.write_text("\n".join(json.dumps(report, indent=1) for report in reports))
        ran.append(step.id)
    return ran


def _report(record: RunRecord) -> dict[str, Any]:
    return jsonplus.document(record, IntervalStats.over((), interval_ns=record.plan.interval_ns), plus=True)


def _reports(record: RunRecord, intervals: Sequence[Interval]) -> Iterator[dict[str, Any]]:
    """Yield the reports before the final one: after each interval, the totals so far."""
    sofar: dict[tuple[int, int], dict[str, Any]] = {}
    begun: dict[int, int] = {}
    for index in sorted({(interval.stage, interval.index) for interval in intervals}):
        for interval in intervals:
            if (interval.stage, interval.index) == index:
                begun.setdefault(interval.stage, interval.start_ns)
                _add(sofar, record, interval, begun[interval.stage])
        rows = [(row.stage, row.row) for row in record.result.rows]
        yield {
            "fio version": "fio-test",
            "jobs": [
                {"jobname": row.name} | json.loads(json.dumps(sofar.get(place, {})))
                for row, place in zip(record.result.rows, rows, strict=True)
            ],
        }


def _add(
    sofar: dict[tuple[int, int], dict[str, Any]], record: RunRecord, interval: Interval, begun_ns: int
) -> None:
    row = next(
        other for other in record.result.rows if (other.stage, other.row) == (interval.stage, interval.row)
    )
    only = row.model_copy(
        update={"tallies": interval.tallies, "start_ns": interval.start_ns, "end_ns": interval.end_ns}
    )
    alone = record.model_copy(update={"result": record.result.model_copy(update={"rows": (only,)})})
    (entry,) = _report(alone)["jobs"]
    held = sofar.setdefault((interval.stage, interval.row), {way: {} for way in WAYS})
    for way in WAYS:
        total = held[way]
        total["runtime"] = (interval.end_ns - begun_ns) / 10**6
        for key in ("total_ios", "io_bytes"):
            total[key] = total.get(key, 0) + entry[way].get(key, 0)
        for key in LATENCIES:
            bins = total.setdefault(key, {"bins": {}})["bins"]
            for value, count in entry[way].get(key, {}).get("bins", {}).items():
                bins[value] = bins.get(value, 0) + count


def reports(path: Path) -> list[dict[str, dict[str, Any]]]:
    """Return fio's reports of a run in their order, each job by job."""
    documents = [json.loads("{\n" + text) for text in f"\n{path.read_text()}".split("\n{\n")[1:]]
    return [{job["jobname"]: job for job in document["jobs"]} for document in documents]


def last_report(path: Path) -> dict[str, dict[str, Any]]:
    """Return fio's last report of a run, job by job."""
    return reports(path)[-1]


def judged_figures(review: Review) -> dict[tuple[str, str, float], StepFigures]:
    """Return the figures of a review's judged steps, by suite, step and position."""
    return {
        (plan.suite, step.id, step.at): step_figures(
            review.record(step.id),
            review.intervals(step.id),
            measured_job=plan.measured_job,
            load_jobs=plan.load_jobs,
            kind=plan.kind,
            direction=step.direction,
        )
        for plan in review.manifest.plans
        for step in plan.steps
        if step.judged
    }


# --- DiskSpd -----------------------------------------------------------------------------------------------

QUANTILES = (*range(1, 100), 99.9, 99.99, 99.999, 99.9999, 99.99999, 99.999999, 99.9999999)
Rate = Callable[[Command], float]


def _tenth(_: Command) -> float:
    return 0.1


def runs_of(script: str) -> list[tuple[str, Command]]:
    """Return the results that a script of PowerShell leaves, and their command lines."""
    runs = []
    for line in re.findall(r"^    @\{ Step = .*$", script, re.MULTILINE):
        fields = dict(re.findall(r"(\w+) = ('(?:[^']|'')*'|\d+|@\(.*?\))(?:;| \})", line))
        words = [word.replace("''", "'") for word in re.findall(r"'((?:[^']|'')*)'", fields["Arguments"])]
        if "$Target" in fields["Arguments"]:
            words.append("C:\\drive.dat")
        runs.append((fields["Result"].strip("'"), read(words, windows=True)))
    return runs


def run_as_diskspd(directory: Path, *, iops: Rate, latency_ms: Rate = _tenth) -> list[str]:
    """Write DiskSpd's result of each command that has none; return the names of the results.

    A process has the ``iops`` of its command in every interval, and its p-th percentile is p times ``latency_ms``.
    """
    ran = []
    for name, command in runs_of((directory / "run.ps1").read_text()):
        if not (directory / name).exists():
            xml = diskspd_xml(command, iops=iops(command), latency_ms=latency_ms(command))
            (directory / name).write_text(xml)
            ran.append(name)
    return ran


def limited_iops(command: Command) -> float:
    """Return the rate of a drive that achieves a command's limit, or 20,000 a thread if there is none."""
    limit = command.rate_iops or command.rate_Bpms * 1000 / command.block_bytes
    return (limit or 20_000) * command.threads


def diskspd_xml(command: Command, *, iops: float, latency_ms: float) -> str:
    """Return DiskSpd's XML of a run with a number of I/Os a second, divided by the command's ratio."""
    ways = {"Read": 100 - command.write_percent, "Write": command.write_percent}
    rates = {way: round(iops * share / 100) for way, share in ways.items()}
    bits = [
        "<Results><System><Tool><Version>2.2.0</Version></Tool><RunTime>2026/01/02 03:04:05 UTC</RunTime></System>",
        _profile(command),
        f"<TimeSpan><TestTimeSeconds>{command.duration_s}.00</TestTimeSeconds><Latency>",
        *(
            f"<Average{way}Milliseconds>{50 * latency_ms:.3f}</Average{way}Milliseconds>"
            for way in _seen(rates)
        ),
    ]
    for percentile in (0, *QUANTILES, 100):
        of = "".join(
            f"<{way}Milliseconds>{percentile * latency_ms:.3f}</{way}Milliseconds>" for way in _seen(rates)
        )
        bits.append(f"<Bucket><Percentile>{percentile}</Percentile>{of}</Bucket>")
    bits.append("</Latency><Iops>")
    step_ms = command.interval_ms
    for end_ms in range(step_ms, command.duration_s * 1000 + 1, step_ms):
        bits.append(f'<Bucket SampleMillisecond="{end_ms}" Read="{rates["Read"]}" Write="{rates["Write"]}"/>')
    bits.append("</Iops><Thread><Id>0</Id><Target>")
    bits.append(f"<Path>{escape(command.targets[0])}</Path>")
    for way, rate in rates.items():
        ios = rate * command.duration_s
        bits.append(f"<{way}Count>{ios}</{way}Count><{way}Bytes>{ios * command.block_bytes}</{way}Bytes>")
    return "".join([*bits, "</Target></Thread></TimeSpan></Results>"])


def _seen(rates: dict[str, int]) -> Iterable[str]:
    return (*(way for way, rate in rates.items() if rate), "Total")


def _profile(command: Command) -> str:
    span = {
        "MeasureLatency": "true", "CalculateIopsStdDev": "true", "DisableAffinity": "false",
        "Duration": command.duration_s, "Warmup": command.warmup_s, "Cooldown": command.cooldown_s,
        "ThreadCount": 0, "RequestCount": 0, "IoBucketDuration": command.interval_ms, "RandSeed": command.seed or 0,
    }  # fmt: skip
    target: dict[str, object] = {
        "BlockSize": command.block_bytes, "BaseFileOffset": command.base_bytes,
        "DisableOSCache": str(command.unbuffered).lower(), "WriteThrough": str(command.write_through).lower(),
        "ThreadStride": command.thread_stride_bytes, "MaxFileSize": command.end_bytes,
        "RequestCount": command.outstanding, "WriteRatio": command.write_percent,
        "ThreadsPerFile": command.threads, "IOPriority": 3,
    }  # fmt: skip
    align = command.align_bytes or command.block_bytes
    target["Random" if command.random_percent else "StrideSize"] = align
    limit = command.rate_iops or command.rate_Bpms
    unit = ' unit="IOPS"' if command.rate_iops else ""
    one = "".join(f"<{name}>{value}</{name}>" for name, value in target.items())
    targets = "".join(
        f"<Target><Path>{escape(path)}</Path>{one}<Throughput{unit}>{limit}</Throughput></Target>"
        for path in command.targets
    )
    head = "".join(f"<{name}>{value}</{name}>" for name, value in span.items())
    return (
        f"<Profile><TimeSpans><TimeSpan>{head}<Targets>{targets}</Targets></TimeSpan></TimeSpans></Profile>"
    )
