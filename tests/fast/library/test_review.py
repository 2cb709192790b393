"""``iogauge.plan``, ``review`` and ``list_reviews`` on drive models: what they take, return and raise."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from iogauge.library.options import ReviewOptions
from iogauge.store import Review

MODEL = "model:p4800x"
SMALL: ReviewOptions = {"suites": ["mixed"], "runtime": "20ms", "seed": 7}


def test_a_plan_is_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    plan = iogauge.plan(MODEL, **SMALL)
    assert main(["plan", MODEL, "--suite=mixed", "--runtime=20ms", "--seed=7", "--json"]) == 0
    assert plan.to_dict() == json.loads(capsys.readouterr().out)
    assert plan.fewest_steps <= plan.most_steps
    assert len(plan.steps) >= plan.fewest_steps


def test_a_review_is_the_commands(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    news: list[iogauge.Progress] = []
    ours = iogauge.review(MODEL, output=tmp_path / "ours", on_progress=news.append, **SMALL)
    assert capfd.readouterr() == ("", "")
    shell = ["review", MODEL, "--suite=mixed", "--runtime=20ms", "--seed=7", f"--output={tmp_path}/theirs"]
    assert main(shell) == 0
    theirs = Review.open(tmp_path / "theirs")
    assert ours.manifest.command == (
        "iogauge",
        "review",
        MODEL,
        "--suite=mixed",
        "--runtime=20ms",
        "--seed=7",
    )
    steps = ours.manifest.steps
    assert steps == theirs.manifest.steps
    assert [ours.step(step.id).record.result for step in steps] == [
        theirs.record(step.id).result for step in steps
    ]
    assert str(news[0]) == f"{tmp_path}/ours: seed 7"
    begun = [item for item in news if item.event == "begin"]
    assert [item.number for item in begun] == [*range(1, len(steps) + 1)]
    assert begun[-1].steps == len(steps)


def test_a_note_is_saved_when_a_review_begins(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def stop(_: iogauge.Progress) -> None:
        assert (tmp_path / "r" / "notes.md").read_text() == "new #firmware-2"
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        iogauge.review(MODEL, output=tmp_path / "r", note="new #firmware-2", on_progress=stop, **SMALL)
    (listed,) = iogauge.list_reviews(tmp_path)
    assert listed.notes.tags == ("firmware-2",)
    assert main(["review", "--resume", str(tmp_path / "r"), "--note", "x"]) == 2
    assert "--note cannot be given with it" in capsys.readouterr().err
    with pytest.raises(iogauge.UsageError, match="at most 65,536"):
        iogauge.review(MODEL, output=tmp_path / "s", note="x" * 70_000, **SMALL)
    assert not (tmp_path / "s").exists()


def test_a_review_is_resumed(tmp_path: Path) -> None:
    def stop(news: iogauge.Progress) -> None:
        if news.event == "begin" and news.number == 3:
            raise KeyboardInterrupt

    with pytest.raises(iogauge.Interrupted, match=r"2 of .* steps are saved") as caught:
        iogauge.review(MODEL, output=tmp_path / "r", on_progress=stop, **SMALL)
    assert caught.value.path == tmp_path / "r"
    assert len(Review.open(tmp_path / "r").completed()) == 2
    saved = iogauge.review(resume=tmp_path / "r")
    assert saved.complete


def test_resuming_takes_no_options(tmp_path: Path) -> None:
    with pytest.raises(iogauge.UsageError, match="pace cannot be given with it"):
        iogauge.review(resume=tmp_path, pace="full")
    with pytest.raises(iogauge.UsageError, match="targets, output, seed cannot be given with it"):
        iogauge.review(MODEL, output="x", resume=tmp_path, seed=0)


def test_what_on_plan_raises_cancels_a_review(tmp_path: Path) -> None:
    def never(_: object) -> None:
        raise RuntimeError

    with pytest.raises(RuntimeError):
        iogauge.review(MODEL, output=tmp_path / "r", on_plan=never, **SMALL)
    assert not (tmp_path / "r").exists()


def test_a_condition_that_holds_is_an_error_after_all_is_saved(tmp_path: Path) -> None:
    with pytest.raises(iogauge.ConditionError) as caught:
        iogauge.review(MODEL, output=tmp_path / "r", fail_if=["p99 > 1us"], **SMALL)
    assert caught.value.path is not None
    assert str(caught.value).startswith(f"{caught.value.steps[0]}: ")
    assert len(caught.value.steps) == len(caught.value.violations) > 1
    saved = Review.open(caught.value.path)
    assert len(saved.completed()) == len(saved.manifest.steps)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pace": "slow"}, "pace 'slow': there is none of this name"),
        ({"state": "old"}, "state 'old': there is none of this name"),
        ({"purge_by": "fire"}, "purge_by 'fire': there is none of this name"),
        ({"repeats": 0}, "repeats 0: must be a whole number from 1 to 1000"),
        ({"seed": -1}, "seed -1: must be a whole number from 0"),
        ({"size": "x"}, "size x: "),
        ({"runtime": "1 s"}, "runtime 1 s: is not a time"),
        ({"runtime": 0}, "runtime 0: must be longer than 0"),
        ({"until_supported": 99.9}, "until_supported 99.9: a quantile is a fraction"),
        ({"suites": ["nothing"]}, "there is no suite 'nothing'"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_done(
    options: ReviewOptions, message: str, tmp_path: Path
) -> None:
    target = tmp_path / "drive.bin"
    for function in (iogauge.plan, iogauge.review):
        with pytest.raises(iogauge.UsageError) as caught:
            function(target, **options)  # type: ignore[operator]
        assert str(caught.value).startswith(message)
        assert caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_target_is_refused_as_by_the_command(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(b"x" * 2**20)
    with pytest.raises(iogauge.IogaugeError) as caught:
        iogauge.review(precious, output=tmp_path / "r", **SMALL)
    assert "destroy" in str(caught.value.hint)
    with pytest.raises(iogauge.UsageError, match="is named twice"):
        iogauge.review([MODEL, MODEL])


def test_a_suite_that_only_reads_needs_no_destroy(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_bytes(bytes(range(256)) * 2**14)
    was = precious.read_bytes(), precious.stat().st_mtime_ns
    result = iogauge.review(
        precious, output=tmp_path / "r", suites=["wake-latency"], size="4m", runtime="20ms", seed=1
    )
    assert len(result.suite("wake-latency")) > 1
    assert (precious.read_bytes(), precious.stat().st_mtime_ns) == was


def test_a_plan_is_written_for_another_program(tmp_path: Path) -> None:
    plan = iogauge.plan("/dev/nothing0n1", program="fio", size="1g", suites=["mixed"])
    written, _ = plan.write(tmp_path / "jobs")
    assert {*written.files} <= {path.name for path in (tmp_path / "jobs").iterdir()}
    with pytest.raises(iogauge.UsageError, match="for no other program"):
        iogauge.plan(MODEL).write(tmp_path / "more")


def test_reviews_are_listed(tmp_path: Path) -> None:
    iogauge.review(MODEL, output=tmp_path / "a", **SMALL)
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "manifest.json").write_text("{")
    good, bad = iogauge.list_reviews(tmp_path)
    assert good.review.manifest.seed == 7
    assert (good.complete, good.problem) == (good.planned, None)
    assert bad.path == tmp_path / "b"
    assert "not JSON" in str(bad.problem)
    with pytest.raises(iogauge.IogaugeError, match="not JSON"):
        _ = bad.review
