"""Everything that reads what others wrote, as one function from bytes to nothing, and what must be true of the answer.

A check returns where its reader gave a value that holds what it must, or an ``IogaugeError`` with a hint. Everything
else is raised. Knows no fuzzer.
"""

from __future__ import annotations

import atexit
import io
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path

from iogauge import catalog, workload
from iogauge.errors import IogaugeError
from iogauge.execution.modelled import check_model
from iogauge.machine.audit.windows import import_audit
from iogauge.reviews.imported_run import run_record
from iogauge.schema import SCHEMA_VERSION, Direction, Interval, JobFile, Manifest, RunRecord, SuitePlan
from iogauge.schema.audit import Audit
from iogauge.schema.hdr_histogram import decode
from iogauge.store import Review
from iogauge.store.imported import ImportedStep, fio_logs, read_foreign
from iogauge.store.review import load_manifest, manifest_bytes
from iogauge.suites import SuiteRequest
from iogauge.suites.own import toml_plan
from iogauge.traces.file import Trace
from iogauge.traces.formats import format_named
from iogauge.traces.importing import import_trace
from tests import builders

ROOT = Path(__file__).resolve().parents[2]
IMPORTS = ROOT / "tests" / "fast" / "imports"
SAVED = ROOT / "tests" / "fast" / "saved_reviews"
MODELS = ROOT / "python" / "iogauge" / "catalog"
CORPUS = Path(__file__).with_name("corpus")
ENVIRON = {"HOME": "/home", "A": "1", "TARGET": "/dev/nvme0n1"}


@dataclass(frozen=True)
class Reader:
    """One target: what is given to it at first, and what is done with an input."""

    check: Callable[[bytes], None]
    seeds: tuple[Path, ...]
    """Files of the tree; ``corpus/NAME`` is added to them."""
    words: tuple[str, ...] = ()
    """What an input is likely to need and is unlikely to be hit upon by chance."""
    longest_bytes: int = 4 << 10
    """Of an input; longer seeds are left out. What takes longer to read gets fewer tries in an hour."""
    text: bool = True


def inputs(name: str) -> list[Path]:
    """Return the files that a target's inputs are made from."""
    reader = READERS[name]
    files = [*reader.seeds, *sorted((CORPUS / name).glob("*"))]
    return [file for file in files if file.stat().st_size <= reader.longest_bytes]


def _job_file(data: bytes) -> None:
    text = data.decode("utf-8", errors="replace")
    jobs = workload.parse(text, source="job.fio", environ=ENVIRON)
    assert isinstance(jobs, JobFile)
    try:
        written = workload.to_fio(jobs)
    except IogaugeError as error:  # some jobs have no words in fio's language; the error says which
        helps(error)
        return
    assert workload.parse(written, source="written.fio", environ={}).jobs == jobs.jobs


def _foreign(name: str) -> Callable[[bytes], None]:
    def check(data: bytes) -> None:
        path = scratch() / name
        path.write_bytes(data)
        for step in read_foreign(path):
            _imported(step)

    return check


def _imported(step: ImportedStep) -> None:
    for row in (*step.rows, *step.parts):
        for figures in row.figures.values():
            assert figures.ios >= 0
            assert figures.bytes >= 0
            for latency in figures.latencies.values():
                ranks = [quantile.q for quantile in latency.quantiles]
                assert ranks == sorted(ranks)
                assert all(one.low_ns <= one.value_ns <= one.high_ns for one in latency.quantiles)
                if latency.histogram is not None:
                    counts = decode(latency.histogram)[2]
                    assert counts.sum() == latency.count or any(
                        "its bins hold" in said for said in step.warnings
                    )
    try:
        record = run_record(step)
    except IogaugeError as error:  # not every result tells enough to be judged
        helps(error)
        return
    assert RunRecord.model_validate_json(record.model_dump_json()) == record


LOGS = ("x_iops.1.log", "x_bw.1.log", "x_clat_hist.1.log", "x_lat.1.log", "x_clat.1.log", "x_slat.1.log")
WRITES_LOGS = {
    "x_iops.1.log": {"write_iops_log": "x", "log_avg_msec": "500"},
    "x_bw.1.log": {"write_bw_log": "x", "log_avg_msec": "1000"},
    "x_clat_hist.1.log": {"write_hist_log": "x", "log_hist_msec": "1000"},
}


def _fio_logs(data: bytes) -> None:
    """The first byte says which log the others are."""
    name = LOGS[data[0] % len(LOGS)] if data else LOGS[0]
    folder = scratch()
    for log in LOGS:
        (folder / log).unlink(missing_ok=True)
    (folder / name).write_bytes(data[1:])
    options = WRITES_LOGS.get(name, {"write_lat_log": "x"})
    intervals = fio_logs.intervals_of(
        folder / "fio.json",
        ["reads"],
        [options],
        [0],
        [dict.fromkeys((Direction.READ, Direction.WRITE), 4096)],
        elapsed_s=60,
    )
    for before, after in pairwise(intervals):
        assert (before.end_ns, before.index + 1) == (after.start_ns, after.index)
    # Of windows in which nothing completed, which share what they hold, the last stands for all.
    filled = (interval for interval in intervals if any(tally.ios for tally in interval.tallies.values()))
    for interval in (*intervals[-1:], *filled):
        assert Interval.model_validate_json(interval.model_dump_json()) == interval


def _model(data: bytes) -> None:
    path = scratch() / "mine.toml"
    path.write_bytes(data)
    model = catalog.load(str(path))
    again = scratch() / "again.toml"
    again.write_text(catalog.to_toml(model))
    assert catalog.read(again).parameters == model.parameters
    check_model(model, catalog.machine("ideal"))


def _plan(data: bytes) -> None:
    path = scratch() / "plan.toml"
    path.write_bytes(data)
    shutil.copy(ROOT / "examples" / "plan-deep.fio", path.parent)  # the example names it
    suite = toml_plan.load(path, taken=())
    target = builders.target("/dev/nvme0n1", kind="block", size_bytes=400 << 30)
    plan = suite.plan(SuiteRequest(targets=(target,), pace="quick"))
    assert SuitePlan.model_validate_json(plan.model_dump_json()) == plan
    for step in plan.steps:
        workload.parse(step.job_file, source=step.id)


def _manifest(data: bytes) -> None:
    path = scratch() / "manifest.json"
    path.write_bytes(data)
    manifest = load_manifest(path)
    assert isinstance(manifest, Manifest)
    path.write_bytes(manifest_bytes(manifest))
    assert load_manifest(path) == manifest.model_copy(update={"schema_version": SCHEMA_VERSION})


def _windows_audit(data: bytes) -> None:
    path = scratch() / "audit.json"
    path.write_bytes(data)
    audit = import_audit(path)
    assert Audit.model_validate_json(audit.model_dump_json()) == audit
    for fact in audit.facts:
        assert fact.meaning
        assert fact.meaning.isprintable()
        assert fact.value or fact.verdict not in ("pass", "differs", "recorded")


def _trace(data: bytes) -> None:
    path, output = scratch() / "recorded", scratch() / "trace"
    path.write_bytes(data)
    with output.open("wb") as sink:
        facts = import_trace([path], sink, skip_bad=bool(data) and data[-1] % 2 == 1)
    last_ns, count = 0, 0
    with Trace(output) as trace:
        assert trace.facts == facts
        for rows in trace.batches():
            times = rows["time_ns"]
            assert times[0] >= last_ns
            assert (times[1:] >= times[:-1]).all()
            last_ns, count = int(times[-1]), count + len(rows)
    assert count == facts.requests > 0


def _columns(data: bytes) -> None:
    path = scratch() / "own.toml"
    path.write_bytes(data)
    table = format_named(str(path))
    # What the file may say, the parser takes: a header is missing, not wrong.
    recorded = scratch() / "recorded"
    recorded.write_bytes(b"at;array;op;page;kb;took\n1;a;get;0;4;1\n")
    import_trace([recorded], io.BytesIO(), format=table)


@cache
def _saved_step() -> tuple[Path, str, dict[str, bytes], tuple[RunRecord, list[Interval]]]:
    folder = scratch() / "review"
    shutil.copytree(SAVED / "v2", folder)
    review = Review.open(folder)
    step_id = review.completed()[0]
    files = {path.name: path.read_bytes() for path in sorted(review.step_path(step_id).iterdir())}
    return folder, step_id, files, (review.record(step_id), list(review.intervals(step_id)))


def _step(data: bytes) -> None:
    """Damage one file: which, from where on (two bytes), how much is cut out (one), and what stands there instead."""
    folder, step_id, files, saved = _saved_step()
    if len(data) < 4:
        return
    name = sorted(files)[data[0] % len(files)]
    at = int.from_bytes(data[1:3]) % (len(files[name]) + 1)
    path = folder / "steps" / step_id / name
    path.write_bytes(files[name][:at] + data[4:] + files[name][at + data[3] :])
    try:
        review = Review.open(folder)
        assert (review.record(step_id), list(review.intervals(step_id))) == saved
    finally:
        path.write_bytes(files[name])


@cache
def scratch() -> Path:
    """Return a directory of this process's own, in memory where there is one, removed at its end."""
    memory = Path("/dev/shm")
    folder = tempfile.mkdtemp(prefix="iogauge-fuzz-", dir=memory if memory.is_dir() else None)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return Path(folder)


def helps(error: IogaugeError) -> None:
    """Assert that an error is one that a person can use."""
    assert error.hint, f"no hint in: {error}"
    assert len(str(error)) < 2_000


def give(name: str, data: bytes) -> None:
    """Give an input to a target's reader. Raises whatever is not an answer."""
    try:
        READERS[name].check(data)
    except IogaugeError as error:
        helps(error)


OPTIONS = tuple(f"{name}=" for name in sorted(workload.BY_NAME))

READERS: dict[str, Reader] = {
    "job-file": Reader(
        _job_file,
        tuple(sorted((ROOT / "examples").glob("*.fio"))),
        (*OPTIONS, "[global]", "[x]", "${A}", "${", "$ncpus"),
    ),
    "fio-json": Reader(
        _foreign("fio.json"),
        tuple(sorted(IMPORTS.glob("*.json"))),
        (
            '"fio version"',
            '"jobs"',
            '"client_stats"',
            '"bins"',
            '"percentile"',
            '"job options"',
            "1e308",
            "null",
            "-1",
        ),
    ),
    "fio-logs": Reader(_fio_logs, (), (", ", "1000, 400, 0, 0, 0\n", "0x", "-1")),
    "diskspd-xml": Reader(_foreign("diskspd.xml"), tuple(sorted(IMPORTS.glob("*.xml")))),
    "diskspd-text": Reader(
        _foreign("diskspd.txt"), tuple(sorted(IMPORTS.glob("*.txt"))), longest_bytes=6 << 10
    ),
    "windows-audit": Reader(
        _windows_audit,
        tuple(sorted((ROOT / "tests/fast/machine/audit/windows").glob("*.json"))),
        ('"values": ', '"missing": ', '"problem": ', '"0x00000001"', "null", "-1", "\\ud800", "\\u0000"),
        longest_bytes=12 << 10,
    ),
    "model": Reader(
        _model,
        (*sorted((MODELS / "drives").glob("*.toml")), *sorted((MODELS / "machines").glob("*.toml"))),
        ('kind = "assumed"', "value = ", "source = ", "base = ", "range = [", "[parameters]", "inf", "nan"),
    ),
    "plan": Reader(
        _plan,
        (ROOT / "examples" / "plan.toml",),
        (
            "[[step]]",
            "[options]",
            "at = ",
            "jobs.",
            "job_file = ",
            "[step.options]",
            "axis = {",
            "purge = true",
        ),
    ),
    "manifest": Reader(
        _manifest, tuple(sorted(SAVED.glob("*/manifest.json"))), ("null", "1e308", "[]", "{}")
    ),
    "trace": Reader(
        _trace, (), (",", "\n", "fio version 2 iolog\n", "wait", "99999999999", "1.5", "Read"), text=False
    ),
    "trace-columns": Reader(
        _columns,
        tuple(sorted((ROOT / "python/iogauge/traces/formats").glob("*.toml"))),
        ("column = ", 'unit = "', 'epoch = "', "header = true", "separator = ", "[latency]", 'ignore = ["'),
    ),
    "step": Reader(_step, (), longest_bytes=64, text=False),
}
