"""``iogauge quick``: eight rows as CrystalDiskMark has them, in a screen; what holds data is only read, and says so."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import iogauge
from iogauge import workload
from iogauge.cli import main
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
    assert max(len(line) for line in lines if not line.startswith("next: ")) <= 80
    table = [line for line in lines if line.startswith(("SEQ", "RND"))]
    assert [next(name for name, *_ in PUBLISHED if line.startswith(name)) for line in table] == [
        name for name, *_ in PUBLISHED
    ]
    assert "- A drive model in virtual time, not a drive" in out
    assert "warning:" not in err, "marks are in what is copied"


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
        assert table[step.label][0] == f"{rate:,.0f}"


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


def test_the_library_returns_the_rows(tmp_path: Path) -> None:
    news: list[iogauge.Progress] = []
    review = iogauge.quick(
        "model:p4800x", read_only=True, runtime="20ms", seed=1, output=tmp_path / "r", on_progress=news.append
    )
    assert [position.name for position in review.suite("quick")] == [name for name, *_ in PUBLISHED[:4]]
    assert [entry.step for entry in news if entry.event == "begin"] == [name for name, *_ in PUBLISHED[:4]]
