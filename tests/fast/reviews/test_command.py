"""``iogauge review`` on a real file with a made-up engine: what it prints where, and how it exits."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import iogauge.execution.parallel  # noqa: F401 (its package is replaced below)
from iogauge.cli import main
from iogauge.schema import Code, Interval, JobFile, Manifest, Notice, RunRecord
from iogauge.store import Review
from tests import builders, report_records

LIMIT_BPS = 800_000_000


class Engine(ModuleType):
    """Stands in for ``iogauge.execution``: a drive that takes 800 MB/s; ``interrupt_at`` presses Ctrl-C in that run."""

    def __init__(self) -> None:
        super().__init__("iogauge.execution")
        self.runs: list[tuple[JobFile, int]] = []
        self.interrupt_at = -1
        self.raise_at = -1
        self.warnings: Callable[[JobFile], tuple[Notice, ...]] = lambda _: ()

    def measure_ceiling(self) -> Any:
        """Measure nothing."""
        return builders.ceiling()

    @staticmethod
    def layered(execute: Callable[..., RunRecord], _: Manifest) -> Callable[..., RunRecord]:
        """A target without layers."""
        return execute

    def refuse_files(self, *_: Any, **__: Any) -> None:
        """Refuse nothing: targets are not erased."""

    def require_tracing(self, *_: Any, **__: Any) -> None:
        """Require nothing: latency is not traced."""

    def purge(self, *_: Any, **__: Any) -> None:
        """Refuse: no step of the suite begins with a purge."""
        raise AssertionError

    def execute(
        self, job_file: JobFile, *, seed: int, on_interval: Callable[[Interval], None], **_: Any
    ) -> RunRecord:
        """Run."""
        place = len(self.runs)
        self.runs.append((job_file, seed))
        stopped_by = "interrupt" if place == self.interrupt_at else None
        record, intervals = builders.pressed_run(
            job_file,
            seed=seed,
            limit_Bps=LIMIT_BPS,
            stopped_by=stopped_by,
            plan=report_records.plan(job_file.jobs),
            warnings=self.warnings(job_file),
        )
        for interval in intervals:
            on_interval(interval)
        if place == self.raise_at:
            raise KeyboardInterrupt
        return record


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Engine:
    """The engine, in a directory of its own to work in."""
    engine = Engine()
    monkeypatch.setitem(sys.modules, "iogauge.execution", engine)
    monkeypatch.setattr(sys.modules["iogauge"], "execution", engine, raising=False)
    monkeypatch.chdir(tmp_path)
    return engine


def review(*arguments: str, target: str = "drive.bin") -> int:
    """Run the command on a small file."""
    options = ["--suite", "write-pressure", "--size", "1m", "--output", "saved", "--seed", "7"]
    return main(["review", target, *options, *arguments])


def test_prints_a_table_and_what_to_do_next(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert review("-v") == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert lines[0].startswith("Write pressure (quick): ")
    assert lines[0].endswith("drive.bin, 8 of 8 steps")
    assert lines[2].split() == ["MB/s", "achieved", "read", "IOPS", "mean", "p50", "p99", "p99.9", "p99.99"]
    first = lines[3].split()
    assert first[:2] == ["0", "-"]
    assert "~800.0 us" in lines[3] or "~800.3 us" in lines[3]
    assert lines[10].split()[0] == "700"
    assert "mean read latency under the most writes, against the fewest" in lines[11]
    after = lines[lines.index("") + 1 :]
    assert after[0].startswith("~ fewer than ten samples")
    assert after[1] == "in brackets: the 95 % interval"
    assert after[2].startswith("steps with fewer than 10 intervals of time: their requests are assumed")
    assert "one in twenty steps of 3 s misses a stall that comes at random about every 1 s" in after
    assert lines[-1] == "next: iogauge report saved"
    assert "seed 7" in err
    assert len(engine.runs) == 9


def test_prints_json_alone(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    assert review("--json") == 0
    shown = json.loads(capsys.readouterr().out)
    (plan,) = shown["plans"]
    assert [step["at"] for step in plan["steps"]] == [0, 100, 200, 300, 400, 500, 600, 700]
    assert plan["missing"] == []
    assert shown["seed"] == 7
    top = plan["steps"][-1]
    assert top["requested_Bps"] == 700_000_000
    assert top["achieved_Bps"] == pytest.approx(700e6, rel=1e-3)
    assert top["quantiles_ns"]["0.5"]["value"] == pytest.approx(780_000, rel=1e-3)
    assert top["quantiles_ns"]["0.9999"]["supported"] is False
    assert plan["growth"]["value"] == pytest.approx(780 / 80, rel=1e-2)
    assert len(engine.runs) == 9


def test_the_manifest_has_the_options(engine: Engine) -> None:
    assert review("--pace", "full", "--runtime", "2") == 0
    manifest = Review.open(Path("saved")).manifest
    assert (manifest.seed, manifest.pace) == (7, "full")
    assert manifest.command[0] == "iogauge"
    assert manifest.targets[0].path == str(Path("drive.bin").absolute())
    assert manifest.ceiling == builders.ceiling()
    assert manifest.machine.cpus >= 1
    assert "numpy" in manifest.versions
    assert {job.runtime_ns for job_file, _ in engine.runs for job in job_file.jobs} == {2 * 10**9}
    assert len(engine.runs) == 7


def test_each_kind_of_warning_is_printed_once(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    def warning(code: Code, message: str) -> Notice:
        return Notice(code=code, message=message, hint=f"remedy of {code}")

    def warnings(job_file: JobFile) -> tuple[Notice, ...]:
        shared = warning(Code.VIRTUAL_MACHINE, "this machine is virtual")
        if len(job_file.jobs) == 1:
            return (shared,)
        return (shared, warning(Code.STALLED, f"stalled {job_file.jobs[0].rate_Bps.write} times"))

    engine.warnings = warnings
    assert review("--json") == 0
    out, err = capsys.readouterr()
    assert err.count("warning: ") == 2
    assert "warning: this machine is virtual\n   hint: remedy of virtual_machine\n" in err
    assert "warning: at 100 MB/s, and 6 other steps: stalled 12500000 times\n" in err
    shown = json.loads(out)
    assert [warning["code"] for warning in shown["warnings"]] == ["virtual_machine"]
    (plan,) = shown["plans"]
    assert [len(step["warnings"]) for step in plan["steps"]] == [1, *[2] * 7]


def test_saves_in_a_new_directory_named_after_target_and_time(engine: Engine) -> None:
    assert main(["review", "drive.bin", "--suite", "write-pressure", "--size", "1m"]) == 0
    (directory,) = Path().glob("iogauge-drive.bin-*Z")
    assert len(Review.open(directory).completed()) == 8
    assert len(engine.runs) == 9


@pytest.mark.parametrize("how", ["interrupt_at", "raise_at"])
@pytest.mark.parametrize("place", [0, 3])
def test_goes_on_after_an_interruption(
    engine: Engine, capsys: pytest.CaptureFixture[str], how: str, place: int
) -> None:
    setattr(engine, how, place)
    assert review() == 130
    out, err = capsys.readouterr()
    assert out == ""
    assert "hint: iogauge review --resume saved" in err
    assert Review.open(Path("saved")).completed() == (
        () if place == 0 else ("write-pressure.pressure-0", "write-pressure.pressure-100")
    )
    before = dict(enumerate(engine.runs))
    assert main(["review", "--resume", "saved", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["plans"][0]["missing"] == []
    assert engine.runs[place + 1] == before[place]  # the same jobs with the same seed
    assert len(engine.runs) == 9 + 1


def test_resuming_a_complete_review_shows_it_again(
    engine: Engine, capsys: pytest.CaptureFixture[str]
) -> None:
    assert review() == 0
    shown = capsys.readouterr().out
    Path("drive.bin").unlink()  # no longer needed
    assert main(["review", "--resume", "saved"]) == 0
    assert capsys.readouterr().out == shown
    assert len(engine.runs) == 9


@pytest.mark.parametrize(
    ("condition", "exits", "says"),
    [
        ("read.p99.9 > 1s", 0, ""),
        ("read.mean > 500us", 3, "pressure-500: reader: read lat mean is 58"),
        ("write.bw < 150MB/s", 3, "pressure-100: pressure: write bw is 100"),
        ("job=pressure: write.p99 > 1us", 3, "pressure-100: pressure: write lat p99 is 500"),
        ("read.p99.999 > 1ms", 1, "pressure-0: reader: read lat p99.999 cannot be judged"),
    ],
)
def test_a_condition_chooses_the_exit_status(
    engine: Engine, capsys: pytest.CaptureFixture[str], condition: str, exits: int, says: str
) -> None:
    assert review("--fail-if", condition, "--json") == exits
    out, err = capsys.readouterr()
    assert says in err
    assert bool(json.loads(out)["violations"]) == bool(exits)
    assert len(engine.runs) == 9


@pytest.mark.parametrize(
    ("arguments", "exits", "says"),
    [
        (["review"], 2, "name a TARGET"),
        (["review", "drive.bin", "--suite", "nothing"], 2, "there is no suite 'nothing'"),
        (["review", "drive.bin", "--pace", "slow"], 2, "slow"),
        (["review", "drive.bin", "--size", "1.5g"], 2, "--size 1.5g"),
        (["review", "drive.bin", "--size", "0"], 2, "--size 0"),
        (["review", "drive.bin", "--runtime", "10sec"], 2, "--runtime 10sec"),
        (["review", "drive.bin", "--runtime", "0"], 2, "--runtime 0"),
        (["review", "drive.bin", "--fail-if", "p99 > 1"], 2, "lacks its unit"),
        (["review", "drive.bin", "--size", "1m", "--fail-if", "trim.p99 > 1us"], 1, "no job issues a trim"),
        (["review", "--resume", "nowhere"], 1, "not a saved review"),
        (["review", "drive.bin", "--resume", "saved"], 2, "TARGET cannot be given with it"),
        (["review", "--resume", "saved", "--pace", "full", "--seed", "1"], 2, "--pace, --seed cannot"),
        (["review", ".", "--size", "1m"], 1, "a directory"),
        (["review", "drive.bin", "--size", "100"], 1, "size=100"),
        (["review", "nowhere/drive.bin", "--size", "1m"], 1, "no directory"),
    ],
)
def test_invalid_commands_are_refused_before_anything_is_measured(
    engine: Engine, capsys: pytest.CaptureFixture[str], arguments: list[str], exits: int, says: str
) -> None:
    assert main(arguments) == exits
    out, err = capsys.readouterr()
    assert out == ""
    assert says in err
    assert "hint: " in err
    assert engine.runs == []
    assert not Path("saved").exists()
    assert not list(Path().glob("iogauge-*"))


def test_a_file_of_someone_else_is_refused(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    Path("letters.txt").write_bytes(b"dear" * 1_000_000)
    assert review(target="letters.txt") == 1
    assert "letters.txt" in capsys.readouterr().err
    assert Path("letters.txt").read_bytes() == b"dear" * 1_000_000
    assert engine.runs == []


def test_a_directory_in_use_is_refused(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    Path("saved").mkdir()
    Path("saved/notes").write_text("mine")
    assert review() == 1
    assert "the directory is not empty" in capsys.readouterr().err
    assert engine.runs == []


def test_a_second_process_is_kept_out(engine: Engine, capsys: pytest.CaptureFixture[str]) -> None:
    engine.interrupt_at = 4
    assert review() == 130
    with Review.open(Path("saved")).lock():
        assert main(["review", "--resume", "saved"]) == 1
    assert "another iogauge is writing" in capsys.readouterr().err
    assert len(engine.runs) == 5
