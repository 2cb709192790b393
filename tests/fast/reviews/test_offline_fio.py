"""A review that fio ran: its figures are those of a native review with the same requests."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.reviews.offline import import_results
from iogauge.schema import Direction
from iogauge.stats.figures import step_figures
from iogauge.store import Review
from iogauge.suites import suite_of
from tests.offline_programs import MODEL, judged_figures, run_as_fio
from tests.suite_runs import cut_down


def run_until_complete(directory: Path, saved: Path, *, intervals: bool) -> int:
    """Run and import until no steps follow; return how many turns that took."""
    for turn in range(1, 12):
        run_as_fio(directory, "/tmp/offline.bin", intervals=intervals)
        if not import_results(directory, saved, suite_of).missing:
            return turn
    raise AssertionError("steps keep following")


@pytest.mark.parametrize(
    "suite", ["write-pressure", pytest.param("reader-under-writers", marks=pytest.mark.slow)]
)
def test_an_imported_review_equals_a_native_one_of_the_same_requests(
    suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_down(monkeypatch)
    same = [f"--suite={suite}", "--size=64m", "--runtime=150ms", "--seed=7"]
    jobs, saved, native = (tmp_path / name for name in ("jobs", "saved", "native"))
    assert main(["plan", "/tmp/offline.bin", *same, "--as=fio", f"--output={jobs}"]) == 0
    assert "further steps follow from its result" in capsys.readouterr().err
    assert run_until_complete(jobs, saved, intervals=True) >= 2
    assert main(["review", MODEL, *same, f"--output={native}"]) == 0
    theirs, ours = judged_figures(Review.open(saved)), judged_figures(Review.open(native))
    assert list(theirs) == list(ours)
    assert len(ours) > 5
    for place, expected in ours.items():
        actual = theirs[place]
        assert actual.ios == expected.ios
        assert actual.iops == pytest.approx(expected.iops, rel=0.01)
        assert actual.pressure_Bps == pytest.approx(expected.pressure_Bps, rel=0.01)
        assert [moment.ios for moment in actual.moments] == [moment.ios for moment in expected.moments]
        pairs = [
            (actual.mean, expected.mean),
            *((actual.quantile(q), expected.quantile(q)) for q in (0.5, 0.99)),
        ]
        for mine, known in pairs:
            assert mine is not None
            assert known is not None
            assert mine.value == pytest.approx(known.value, rel=0.01)
            assert mine.long_enough == known.long_enough
            for bound, of_native in ((mine.low, known.low), (mine.high, known.high)):
                assert bound == (None if of_native is None else pytest.approx(of_native, rel=0.02))
            assert mine.supported == known.supported
            assert mine.dependence == known.dependence
    assert main(["compare", str(native), str(saved)]) == 0
    assert main(["compare", "published", str(saved)]) in (0, 2)


@pytest.mark.parametrize(
    ("suite", "turns"),
    [
        pytest.param("tenants", 3, marks=pytest.mark.slow),
        ("pts-iops", 1),
        ("commit-latency", 1),
        ("mixed", 1),
    ],
)
def test_searches_rounds_stages_syncs_and_mixes_are_imported(
    suite: str,
    turns: int,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    cut_down(monkeypatch)
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    same = ["--size=16m", "--runtime=60ms", "--seed=1", *(["--repeats=2"] if suite == "mixed" else [])]
    arguments = ["plan", "/tmp/offline.bin", f"--suite={suite}", *same]
    assert main([*arguments, "--as=fio", f"--output={jobs}"]) == 0
    assert run_until_complete(jobs, saved, intervals=False) >= turns
    capsys.readouterr()
    assert main(["show", str(saved), "-v"]) == 0
    out = capsys.readouterr().out
    assert "missing" not in out
    assert "not by iogauge: the machine, the drive behind the path and its state are not known." in out
    if suite == "pts-iops":
        assert "steady in round" in out
        assert "IOPS, mean of rounds 1 to 5" in out
    if suite == "commit-latency":
        review = Review.open(saved)
        (plan,) = review.manifest.plans
        synced = [step for step in plan.steps if step.direction is Direction.SYNC]
        assert synced
        for step in synced:
            sync = step_figures(
                review.record(step.id),
                (),
                measured_job=plan.measured_job,
                load_jobs=None,
                direction=Direction.SYNC,
            )
            assert sync.ios > 0
            assert sync.mean is not None


def test_no_other_step_runs_between_the_rounds_of_a_state_group(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    cut_down(monkeypatch)
    jobs, saved = tmp_path / "jobs", tmp_path / "saved"
    arguments = [
        "plan",
        "/tmp/offline.bin",
        "--suite=mixed",
        "--suite=write-pressure",
        "--size=16m",
        "--runtime=60ms",
    ]
    assert main([*arguments, "--state=preconditioned", "--as=fio", f"--output={jobs}"]) == 0
    assert "4 steps more follow: 'iogauge import' writes them after earlier rounds" in capsys.readouterr().err
    ran = []
    for _ in range(8):
        ran.append(run_as_fio(jobs, "/tmp/offline.bin", intervals=False))
        imported = import_results(jobs, saved, suite_of)
        if not imported.missing:
            break
    assert imported.held == 0
    assert all(step_id.startswith("precondition.") for step_id in ran[0])
    first = next(turn for turn, ids in enumerate(ran) if not ids[0].startswith("precondition."))
    assert ran[first - 1][-1] == "precondition.settle"
    assert set(ran[first]) >= {"write-pressure.search", "mixed.reads-100"}
    assert all(imported.review.has(step.id) for step in imported.review.manifest.steps)
