"""``iogauge quick``: eight rows as CrystalDiskMark has them, in a screen; what holds data is only read, and says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import iogauge
from iogauge import workload
from iogauge.cli import main
from iogauge.cli.brief.quick import quick_lines
from iogauge.schema import Code, Notice
from iogauge.stats.figure import Figure, Unit
from iogauge.stats.figures import StepFigures
from iogauge.store import Review
from iogauge.suites import SUITES, SuiteRequest
from tests import builders

QUICK = ["quick", "model:p4800x", "--runtime=50ms", "--seed=1"]
PUBLISHED = [
    ("SEQ1M Q8T1 read", "read", 1 << 20, 8),
    ("SEQ1M Q1T1 read", "read", 1 << 20, 1),
    ("RND4K Q32T1 read", "randread", 4096, 32),
    ("RND4K Q1T1 read", "randread", 4096, 1),
    ("SEQ1M Q8T1 write", "write", 1 << 20, 8),
    ("SEQ1M Q1T1 write", "write", 1 << 20, 1),
    ("RND4K Q32T1 write", "randwrite", 4096, 32),
    ("RND4K Q1T1 write", "randwrite", 4096, 1),
]
"""CrystalDiskMark's default profile: name, pattern, bytes of a request, requests in flight. One thread each."""


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A minute on a drive model, cut short."""
    path = tmp_path_factory.mktemp("quick") / "saved"
    assert main([*QUICK, f"--output={path}"]) == 0
    return path


def test_the_rows_are_those_of_the_default_profile() -> None:
    target = builders.target("/dev/nvme0n1", kind="block")
    rows = []
    for step in SUITES["quick"].plan(SuiteRequest(targets=(target,), pace="quick")).steps:
        (job,) = workload.parse(step.job_file, source=step.id).jobs
        assert (job.numjobs, job.direct, job.runtime_ns) == (1, True, 5 * 10**9)
        size = job.bs.write if job.rw.value.endswith("write") else job.bs.read
        rows.append((step.label, job.rw.value, size.minimum_bytes, job.iodepth))
    assert rows == PUBLISHED


def test_one_table_in_a_screen_with_the_answer_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*QUICK, f"--output={tmp_path / 'r'}"]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("in order, eight at a time: 2,")
    assert len(lines) <= 24
    assert max(len(line) for line in lines if "iogauge " not in line) <= 80
    table = [line for line in lines if line.startswith(("SEQ", "RND"))]
    assert [next(name for name, *_ in PUBLISHED if line.startswith(name)) for line in table] == [
        name for name, *_ in PUBLISHED
    ]
    assert "- A drive model in virtual time, not a drive" in out
    assert "warning:" not in err, "marks are in what is copied"


@pytest.mark.parametrize("columns", [80, 60])
def test_wide_intervals_and_many_warnings_fit_on_a_screen(
    columns: int, saved: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def wide(value: float, unit: Unit) -> Figure:
        return Figure(value, 0.64 * value, 1.56 * value, unit=unit)

    monkeypatch.setattr(StepFigures, "iops_figure", property(lambda step: wide(step.iops, "IOPS")))
    monkeypatch.setattr(StepFigures, "rate_figure", property(lambda step: wide(step.rate_Bps, "B/s")))
    (result,) = iogauge.open_review(saved)
    notices = tuple(Notice(code=code, message="many words " * 9, hint="mend it " * 9) for code in Code)
    lines = quick_lines(result, notices, command="review", columns=columns, most=28)
    assert max(map(len, lines)) <= columns
    assert len(lines) <= 28
    head = next(line for line in lines if "MB/s  " in line).split()
    assert ("95" in head) == (columns == 80), "the interval is the first column to go"
    assert {"MB/s", "IOPS", "p99"} <= {*head}
    rows = [line for line in lines if line.startswith(("SEQ", "RND"))]
    assert len(rows) == 8
    assert all(" to " in row for row in rows) == (columns == 80)
    assert sum(line.startswith(("warning: ", "context: ")) for line in lines) == 4


def test_the_table_has_the_figures_of_the_steps(saved: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(["review", "--resume", str(saved)]) == 0
    table = {line[:17].rstrip(): line[17:].split() for line in capsys.readouterr().out.splitlines()}
    for step in Review.open(saved).manifest.steps:
        record = Review.open(saved).record(step.id)
        (row,) = record.result.rows
        ((_, tally),) = ((way, tally) for way, tally in row.tallies.items() if tally.ios)
        seconds = (row.end_ns - row.start_ns) / 1e9
        rate = tally.ios / seconds if "RND4K" in step.label else tally.bytes / seconds / 1e6
        assert float(table[step.label][0].replace(",", "")) == pytest.approx(rate, rel=5e-3)


def test_read_only_leaves_writes_out_and_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--read-only", f"--output={tmp_path / 'r'}"]) == 0
    out = capsys.readouterr().out
    assert "- The four rows that write are left out: --read-only says so" in out
    assert sum(line.startswith(("SEQ", "RND")) for line in out.splitlines()) == 4
    assert "written" not in out.splitlines()[0]


def test_a_file_of_others_is_only_read(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    foreign = tmp_path / "foreign.bin"
    foreign.write_bytes(bytes(range(256)) * 32768)
    before = foreign.read_bytes()
    arguments = ["quick", str(foreign), "--size=4m", "--runtime=20ms", f"--output={tmp_path / 'r'}", "--json"]
    assert main(arguments) == 0
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert [step["label"] for step in plan["steps"]] == [name for name, *_ in PUBLISHED[:4]]
    (note,) = [note for note in plan["notes"] if "left out" in note]
    assert f"add --destroy {foreign}" in note
    assert foreign.read_bytes() == before


def test_what_cannot_even_be_read_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["quick", str(tmp_path), f"--output={tmp_path / 'r'}"]) == 1
    assert "it is a directory" in capsys.readouterr().err
    assert not (tmp_path / "r").exists()


def test_a_size_below_one_request_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main([*QUICK, "--size=1", f"--output={tmp_path / 'r'}"]) == 2
    error, hint = capsys.readouterr().err.splitlines()
    assert error == "error: --size 1: a row reads 1 MiB at a time"
    assert hint == "hint: use at least --size 1m"
    assert not (tmp_path / "r").exists()


def test_the_library_returns_the_rows(tmp_path: Path) -> None:
    news: list[iogauge.Progress] = []
    review = iogauge.quick(
        "model:p4800x", read_only=True, runtime="20ms", seed=1, output=tmp_path / "r", on_progress=news.append
    )
    assert [position.name for position in review.suite("quick")] == [name for name, *_ in PUBLISHED[:4]]
    assert [entry.step for entry in news if entry.event == "begin"] == [name for name, *_ in PUBLISHED[:4]]
