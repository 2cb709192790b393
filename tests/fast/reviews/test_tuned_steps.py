"""The runner sets a step's rung while the step runs, and never otherwise; what fails or is stopped runs again."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from iogauge.catalog.ladders import Ladder, LadderRung
from iogauge.errors import IogaugeError
from iogauge.reviews.manifest import new_manifest
from iogauge.reviews.runner import Failed, Interrupted, run_review
from iogauge.schema import Rung, RunRecord
from iogauge.store import Review
from iogauge.suites import suite_of
from iogauge.suites.ladder import LadderSuite
from iogauge.suites.suite import LadderRequest
from tests import builders
from tests.runner_doubles import Runs, Watching, stopped

LADDER = Ladder(
    rung=(
        LadderRung(name="one", settings={"cpu.governor": "performance"}),
        LadderRung(name="two", settings={"block.nomerges": 2}),
    )
)


class Machine:
    """A machine whose settings a review changes; ``held`` has those of each run."""

    def __init__(self, *, refuses: str = "") -> None:
        self.now: dict[str, Any] = {}
        self.held: list[dict[str, Any]] = []
        self._refuses = refuses

    @contextlib.contextmanager
    def tune(self, rung: Rung, path: str, *, on_message: object) -> Iterator[None]:
        """Set a rung, as ``library.tunings.rungs.tuned_as`` does."""
        assert path
        assert callable(on_message)
        if rung.name == self._refuses:
            raise IogaugeError("the kernel refuses", hint="ask it again")
        assert not self.now, "the rung before was not undone"
        self.now = dict(rung.settings)
        try:
            yield
        finally:
            self.now = {}

    def watched(self, runs: Runs) -> Any:
        """Return ``runs`` with the settings noted that hold while each lasts."""

        def execute(*arguments: Any, **options: Any) -> RunRecord:
            self.held.append(dict(self.now))
            return runs(*arguments, **options)

        return execute


def review_of(path: Path, *, repeats: int = 2, seed: int = 5) -> Review:
    manifest = new_manifest(
        [LadderSuite()],
        [builders.target()],
        seed=seed,
        command=("iogauge", "ladder"),
        machine=builders.machine(),
        ceiling=None,
        repeats=repeats,
        ladder=lambda _: LadderRequest(ladder=LADDER),
    )
    return Review.create(path, manifest)


def run(review: Review, machine: Machine, runs: Runs) -> tuple[Failed, ...]:
    with review.lock():
        return run_review(
            review, suite_of, execute=machine.watched(runs), watcher=Watching(), tune=machine.tune
        )


def test_each_step_runs_with_the_settings_of_its_rung(tmp_path: Path) -> None:
    review, machine = review_of(tmp_path / "r"), Machine()
    assert run(review, machine, Runs()) == ()
    wanted = [step.rung.settings for step in review.manifest.steps if step.rung]
    assert machine.held == wanted
    one, two = {"cpu.governor": "performance"}, {"block.nomerges": 2}
    # Stock and stock again, reads and writes, in two blocks.
    assert machine.held.count({}) == 8
    assert machine.held.count(one) == machine.held.count(one | two) == 4
    assert machine.now == {}


def test_a_step_whose_rung_cannot_be_set_fails_and_others_run(tmp_path: Path) -> None:
    review = review_of(tmp_path / "r")
    failed = run(review, Machine(refuses="two"), Runs())
    assert {failure.why for failure in failed} == {"the kernel refuses"}
    assert {step.rung.name for step in review.manifest.steps if step.rung and not review.has(step.id)} == {
        "two"
    }
    machine = Machine()
    assert run(Review.open(review.path), machine, Runs()) == ()
    assert len(machine.held) == len(failed) == 4


@pytest.mark.parametrize("bad", [0, 3, 7, 15])
def test_an_interrupted_ladder_undoes_its_rung_and_goes_on_in_the_same_order(
    tmp_path: Path, bad: int
) -> None:
    undisturbed, review = review_of(tmp_path / "u"), review_of(tmp_path / "r")
    all_runs, first, second, machine = Runs(), Runs(bad=bad, ends=stopped("interrupt")), Runs(), Machine()
    run(undisturbed, Machine(), all_runs)
    with pytest.raises(Interrupted):
        run(review, machine, first)
    assert machine.now == {}
    run(Review.open(review.path), machine, second)
    assert first.seeds[:bad] + second.seeds == all_runs.seeds


def test_the_audit_of_a_ladder_shows_the_machine_without_its_rungs(tmp_path: Path) -> None:
    """Whichever rung runs first; and what a rung sets is no change of the machine."""
    stock = {"cpu.governor": "powersave", "block.nomerges": "0", "cpu.boost": "1"}
    firsts = set()
    for seed in range(6):
        review, machine = review_of(tmp_path / f"r{seed}", seed=seed), Machine()
        runs = Runs()

        def audited(
            *arguments: Any, machine: Machine = machine, runs: Runs = runs, **options: Any
        ) -> RunRecord:
            now = stock | {id_: str(value) for id_, value in machine.now.items()}
            if len(machine.held) == 16:
                now["cpu.boost"] = "0"
            return runs(*arguments, **options).model_copy(update={"audits": (builders.audit(now),)})

        with review.lock():
            execute = machine.watched(audited)  # type: ignore[arg-type]
            run_review(review, suite_of, execute=execute, watcher=Watching(), tune=machine.tune)
        firsts.add(bool(machine.held[0]))
        (audit,) = review.audits()
        assert {fact.id: fact.value for fact in audit.facts} == stock
        *others, last = review.manifest.steps
        assert not any(review.record(step.id).audit_changes for step in others)
        assert [change.id for change in review.record(last.id).audit_changes] == ["cpu.boost"]
    assert firsts == {True, False}, "some of these ladders begin on a rung"


def test_a_review_that_needs_tuning_cannot_run_without_it(tmp_path: Path) -> None:
    review = review_of(tmp_path / "r")
    with review.lock(), pytest.raises(RuntimeError, match="needs tune"):
        run_review(review, suite_of, execute=Runs(), watcher=Watching())
