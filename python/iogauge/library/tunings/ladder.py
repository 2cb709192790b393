"""Measure what each tuning of the machine is worth: a review by the suite ``ladder``, with enough blocks."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge import schema
from iogauge.catalog.ladders import AGAIN, PUBLISHED
from iogauge.errors import IogaugeError
from iogauge.library import options as review_options
from iogauge.library.errors import StepsError
from iogauge.library.options import StrPath
from iogauge.library.progress import OnProgress, Reporter
from iogauge.library.public import public
from iogauge.library.reading.saved import Review
from iogauge.library.review import begin, measure
from iogauge.schema import Manifest
from iogauge.stats.differences.comparison import FEWEST_BLOCKS
from iogauge.text.option import call

if TYPE_CHECKING:
    from iogauge.library.tunings.rungs import LadderOptions

SUITE = "ladder"


@public
def ladder(
    target: StrPath,
    *,
    rungs: StrPath | None = None,
    one_at_a_time: bool = False,
    read_only: bool = False,
    blocks: int = FEWEST_BLOCKS,
    pace: schema.Pace = "quick",
    size: int | str | None = None,
    runtime: float | str | None = None,
    seed: int | None = None,
    output: StrPath | None = None,
    destroy: Sequence[StrPath] | StrPath = (),
    on_plan: Callable[[Manifest], None] = lambda _: None,
    on_progress: OnProgress = lambda _: None,
) -> Review:
    """Measure what each tuning of this machine is worth on a target, and return the saved review.

    Every block measures stock, stock again, and each rung, in random order. A rung's settings hold only during its
    steps. Needs root on a real machine; in front of a drive model the rungs are machine models.

    Args:
        target: a block device, a file or a drive model (``"model:p4800x"``).
        rungs: a TOML file with rungs of your own; by default the published ones.
        one_at_a_time: give each rung its own settings alone, compared with stock, instead of those below it too.
        read_only: measure reads alone; nothing is written.
        blocks: how often each rung is measured, 1 to 1000; with fewer than six nothing can be established.
        pace: ``"quick"``, ``"standard"`` or ``"full"``: how long each step is.
        size: how much of the target to use: bytes, or text such as ``"4g"``.
        runtime: the measured time of each step: seconds, or text such as ``"1m30s"``.
        seed: the seed of all random choices, at least 0. Default: a random one.
        output: the directory to save in; by default a new one here.
        destroy: serial numbers of drives, or paths, whose content may be lost.
        on_plan: is called with the plan before anything is measured; an exception cancels the ladder.
        on_progress: is called with each piece of news (``Progress``), as ``print`` can be.

    Raises:
        UsageError: an option is invalid.
        IogaugeError: the target is refused, or this machine can set none of the rungs.
        StepsError: some steps failed; the others are complete.
        Interrupted: Ctrl-C; complete steps are saved, and ``iogauge.review(resume=...)`` continues.
    """
    from iogauge.library.tunings.rungs import LadderOptions

    reporter = Reporter(on_progress)
    choice = LadderOptions(one_at_a_time=one_at_a_time, reads_only=read_only)
    if rungs is not None:
        choice = replace(choice, rungs=str(rungs))

    def planned(manifest: Manifest) -> None:
        require_rungs(manifest)
        on_plan(manifest)

    destroy = review_options.as_list(destroy)
    saved = begin(
        target,
        (),
        output=None if output is None else Path(output),
        destroy=destroy,
        command=_command(str(target), choice, blocks=blocks),
        on_plan=planned,
        say=reporter.message,
        ladder=choice,
        suites=[SUITE],
        pace=pace,
        repeats=blocks,
        size=size,
        runtime=runtime,
        seed=seed,
    )
    if failed := measure(saved, lambda _: reporter, destroy=destroy):
        raise StepsError(saved.path, failed)
    return Review(saved, trusted=frozenset())


def require_rungs(manifest: Manifest) -> None:
    """Raise IogaugeError if a planned ladder has no rung but stock; the reasons are those of its notes."""
    from iogauge.suites.ladder import NOT_MEASURED

    steps = [step for plan in manifest.plans for step in plan.steps]
    if any(step.rung and step.rung.against and step.rung.name != AGAIN for step in steps):
        return
    notes = "".join(f"\n  {note}" for plan in manifest.plans for note in plan.notes if NOT_MEASURED in note)
    raise IogaugeError(
        f"there is no rung to measure:{notes}",
        hint=f"name rungs that this machine can set: {call('ladder', 'TARGET', rungs='FILE')}",
    )


def _command(target: str, choice: LadderOptions, *, blocks: int) -> tuple[str, ...]:
    """Return the command line that measures the same ladder; it is stored with the review."""
    words = ["iogauge", "ladder", target, f"--blocks={blocks}"]
    if choice.rungs != PUBLISHED:
        words.append(f"--rungs={choice.rungs}")
    words += ["--one-at-a-time"] * choice.one_at_a_time + ["--read-only"] * choice.reads_only
    return tuple(words)
