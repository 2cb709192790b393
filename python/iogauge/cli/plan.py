"""``iogauge plan``: what a review would do, how long it takes and how much it writes, without doing it.

Show what a review would do, how long it takes and how much it writes. Nothing is measured.

Without TARGET, list the suites. With TARGET, list every step in the order in which the steps run, each with its time
and the most that it can write. The options are those of 'iogauge review'.

The most that a step can write is its rate times its time, or the target's size. If nothing limits the writes, it is
what the drive's link can carry, or a link of four lanes if the drive's is unknown. Some steps follow from a search or
from the results of others: the plan gives their smallest and largest number. With --until-supported, a step may run
again, and its time is a range.

--as fio or --as diskspd writes the steps into the directory --output as files for that program, with a script that
runs them all. 'iogauge import' of that directory makes a review of the results, and writes the next steps where they
depend on results; repeat both until no step is left. A target may be on another machine (a drive that is not here, and
for DiskSpd C:\\test.dat or #1): then give --size. Steps that the other program cannot run are named and left out, and
the exit status is 1. Nothing but these files is written.

    iogauge plan /dev/nvme0n1 --suite mixed

    iogauge plan /dev/nvme0n1 --as fio --output jobs
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iogauge.cli import plan_blocks
from iogauge.cli.review_options import ReviewOptions, with_review_options
from iogauge.cli.terminal import confirm, process, status, streams

if TYPE_CHECKING:
    from iogauge.library.plan import Plan
    from iogauge.reviews.estimate import Following, ReviewCost, StepCost
    from iogauge.schema import Manifest, SuitePlan


class Program(StrEnum):
    """``--as``."""

    FIO = "fio"
    DISKSPD = "diskspd"

    @property
    def called(self) -> str:
        """The program's own spelling of its name."""
        return "DiskSpd" if self is Program.DISKSPD else "fio"


@with_review_options
def plan(
    options: ReviewOptions,
    program: Annotated[
        Program | None, typer.Option("--as", help="Write the steps as this program's files.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIRECTORY", help="Where --as writes the files.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print the plan, or write it."""
    process.begin()
    if (program is None) != (output is None):
        raise status.UsageError("--as and --output belong together", hint="--as fio --output jobs")
    if not options.targets and not options.suites:
        if program is not None:
            raise status.UsageError("name the TARGET of the steps", hint="iogauge plan TARGET --as fio ...")
        _suites(as_json=as_json)
        return
    from iogauge.library import plan as library

    shared = options.for_library()
    shared["seed"] = options.seed or 0
    made = library.plan(
        options.targets or (),
        program=None if program is None else program.value,
        on_message=streams.say,
        **shared,
    )
    if program is not None and output is not None:
        _write(made, program, output)
    elif as_json:
        streams.show(json.dumps(made.to_dict(), indent=2, allow_nan=False) + "\n")
    else:
        streams.show("".join(f"{line}\n" for line in _lines(made.manifest, made.cost)))


def _lines(made: Manifest, cost: ReviewCost) -> Iterator[str]:
    from iogauge.text import numbers
    from iogauge.text.grid import aligned

    several = len(made.plans) > 1
    rows = [[_where(step, several=several), _time(step), _writes(step)] for step in cost.steps]
    rows += [_follows(following, several=several) for following in cost.following]
    yield from aligned([["step", "time", "writes at most"], *rows])
    virtual = all(target.modelled for target in made.targets)
    spent = f"{_time(cost)}{' of virtual time' if virtual else ''}"
    yield ""
    yield f"{_steps(cost.fewest, len(cost.most))}, {spent}; {_most(cost, made)}"
    for plan in cost.unknown:
        yield f"{plan.title} adds steps that follow from its results; their time and writes are unknown"
    yield from confirm.lost(made, cost)
    if made.repeats > 1:
        yield f"{numbers.counted(made.repeats, 'block')}, each with its steps in another order:"
        yield from plan_blocks.ordered(made)
    if made.repeats > 1 or len(made.targets) > 1:
        yield from plan_blocks.comparable(made)


def _where(step: StepCost, *, several: bool) -> str:
    return f"{_title(step.plan, several=several)}: {step.place}"


def _title(plan: SuitePlan, *, several: bool) -> str:
    return f"{plan.title} on {', '.join(plan.targets)}" if several else plan.title


def _follows(following: Following, *, several: bool) -> list[str]:
    """Return the row of the steps that follow from the results of one repeat."""
    again = f" (repeat {following.repeat + 1})" if following.repeat else ""
    steps = _steps(len(following.least), len(following.most), "further step")
    time = _span(following.expected_s, following.longest_s)
    return [f"{_title(following.plan, several=several)}: {steps}{again}", time, _most_of(following.most)]


def _steps(least: int, most: int, noun: str = "step") -> str:
    """Return the number of steps.

    >>> _steps(5, 5), _steps(2, 17, "further step")
    ('5 steps', '2 to 17 further steps')
    """
    from iogauge.text import numbers

    return numbers.counted(most, noun) if least == most else f"{least:,} to {numbers.counted(most, noun)}"


def _time(cost: StepCost | ReviewCost) -> str:
    least = "at least " if cost.at_least else ""
    return f"{least}{_span(cost.expected_s, cost.longest_s)}"


def _span(shortest_s: float, longest_s: float) -> str:
    """Return a duration, or a range of durations.

    >>> _span(60, 60), _span(3.5, 74)
    ('1 min 00 s', '4 s to 1 min 14 s')
    """
    from iogauge.text import numbers

    shortest, longest = numbers.clock_time(shortest_s), numbers.clock_time(longest_s)
    return shortest if shortest == longest else f"{shortest} to {longest}"


def _writes(step: StepCost) -> str:
    return _most_of([step])


def _most_of(steps: Sequence[StepCost]) -> str:
    """Return the most that steps write; a dash if they write nothing."""
    from iogauge.text import numbers

    if not any(step.writes for step in steps):
        return "-"
    written = sum(step.written_bytes for step in steps)
    if all(step.bounded for step in steps):
        return numbers.size(written)
    return f"unknown, up to {numbers.size(written)}" if written else "unknown"


def _most(cost: ReviewCost, made: Manifest) -> str:
    """Return the most that all steps write, as far as it is known."""
    from iogauge.reviews.estimate import LINK_Bps
    from iogauge.text import numbers

    known = f"writes at most {numbers.size(cost.written_bytes)}"
    if cost.bounded:
        return known
    if any(step.writes and not step.written_bytes for step in cost.most):
        return f"{known}, and an unknown amount by jobs that write until their target is full"
    links = {target.link_Bps for target in made.targets}
    carried = (
        f"a link of four lanes carries ({numbers.bandwidth(LINK_Bps)})"
        if None in links
        else f"links carry ({' and '.join(numbers.bandwidth(link) for link in sorted(filter(None, links)))})"
    )
    return f"{known}: the most that {carried}; a drive takes less"


def _write(made: Plan, program: Program, output: Path) -> None:
    """Write the steps as another program's files. Say what comes next, and which steps that program cannot run."""
    from iogauge.reviews.offline import CONSENT, PLAN, SCRIPTS, reasons
    from iogauge.text import numbers

    written, held = made.write(output)
    for name in (*written.files, PLAN):
        streams.show(f"{output / name}\n")
    for note, count in Counter(note for notes in written.notes.values() for note in notes).items():
        streams.say(f"note: {program.called} {note} ({numbers.counted(count, 'step')})")
    for reason, hint, ids in reasons(written.impossible):
        streams.say(f"warning: {numbers.counted(len(ids), 'step')} left out, from {ids[0]} on: {reason}")
        if hint:
            streams.say(f"   hint: {hint}")
    if searched := [plan.suite for plan in made.manifest.plans if plan.search and not plan.steps]:
        streams.say(
            f"{', '.join(searched)}: these steps are the search; further steps follow from its result"
        )
    if held:
        streams.say(
            f"{numbers.counted(held, 'step')} more follow: 'iogauge import' writes them after earlier rounds"
        )
    script = SCRIPTS[program.value]
    for line in confirm.lost(
        made.manifest, made.cost, asked_by=f"{script} asks for {CONSENT[program.value]}"
    ):
        streams.say(line)
    streams.say(
        f"next: run {output / script} where the target is, then, with its results in {output}: "
        f"iogauge import {numbers.argument(output)} --output REVIEW"
    )
    if written.impossible:
        raise typer.Exit(status.ERROR)


def _suites(*, as_json: bool) -> None:
    """List the suites with their size at each pace, on a block device."""
    from iogauge.library.plan import suite_costs
    from iogauge.text.grid import labelled

    suites = dict(suite_costs())
    if as_json:
        shown = [{"name": name, **suite} for name, suite in suites.items()]
        streams.show(json.dumps(shown, indent=2) + "\n")
        return
    for name, suite in suites.items():
        paces = "; ".join(f"{pace} {_size_of(cost)}" for pace, cost in suite["paces"].items())
        lines = [
            f"{name}{' (default)' if suite['default'] else ''}: {suite['title']}",
            *labelled("source", suite["source"]),
            *labelled("takes", paces),
        ]
        streams.show("".join(f"{line}\n" for line in lines))


def _size_of(pace: dict[str, Any]) -> str:
    search = "a search, and then " if pace["search"] else ""
    return (
        f"{search}{_steps(pace['steps'], pace['most_steps'])}, {_span(pace['expected_s'], pace['longest_s'])}"
    )
