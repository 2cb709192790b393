"""``iogauge plan``: what a review would do, how long it takes and how much it writes, without doing it.

It takes the options of 'iogauge review'. Without TARGET it lists the suites. With one, it lists every step in the
order in which they run, with its time and the most that it can write: rate times time, or the target's size, or, where
nothing limits the writes, what the drive's link carries, or the fastest there is. Of steps that follow from a search or
from what others show it says how many there are at least and at most. With --until-supported, a step that may be run
again takes from its own time to that of the longest.

--as fio or --as diskspd writes the steps to --output as files which that program runs, with a script that runs them
all. 'iogauge import' of that directory makes the review of what the script left there, and writes what follows from a
search, or from steps that were measured, into it, until nothing does. A target of the other machine keeps its name (a
drive that is not here, and for DiskSpd C:\\test.dat or #1), and needs --size. What the other program cannot run is
named and left out; the exit status is 1 then. No target is written to, and no file made, but those.
"""

from __future__ import annotations

import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iogauge.cli import plan_blocks
from iogauge.cli.review import (
    Pace,
    State,
    anchored,
    quantile_asked,
    size_asked,
    suites_asked,
    time_asked,
    usual_targets,
)
from iogauge.cli.terminal import confirm, process, status, streams

if TYPE_CHECKING:
    from iogauge import schema
    from iogauge.reviews.estimate import Following, ReviewCost, StepCost
    from iogauge.schema import Manifest, SuitePlan, TargetFacts
    from iogauge.suites import Suite


class Program(StrEnum):
    """``--as``."""

    FIO = "fio"
    DISKSPD = "diskspd"

    @property
    def called(self) -> str:
        """What it calls itself."""
        return "DiskSpd" if self is Program.DISKSPD else "fio"


_OF_WINDOWS = re.compile(r"[A-Za-z]:|#\d|\\\\")
"""How the names of files and drives there begin: ``C:``, ``#1``, ``\\\\.\\PhysicalDrive1``."""


def plan(
    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[TARGET...]", help="Block devices, files or model:NAME.")
    ] = None,
    suite: Annotated[
        list[str] | None, typer.Option("--suite", metavar="NAME", help="As for 'iogauge review'; repeatable.")
    ] = None,
    own: Annotated[
        list[str] | None, typer.Option("--plan", metavar="FILE", help="As for 'iogauge review'; repeatable.")
    ] = None,
    pace: Annotated[
        Pace, typer.Option("--pace", help="Seconds a step, longer, or as published.")
    ] = Pace.QUICK,
    state: Annotated[
        State, typer.Option("--state", help="What comes before everything, as for 'iogauge review'.")
    ] = State.AS_IS,
    repeats: Annotated[int, typer.Option("--repeats", metavar="NUMBER", min=1, max=1000)] = 1,
    until_supported: Annotated[
        float | None,
        typer.Option("--until-supported", metavar="QUANTILE", help="As for 'iogauge review'."),
    ] = None,
    size: Annotated[
        str | None, typer.Option("--size", metavar="BYTES", help="How much of the target to use.")
    ] = None,
    runtime: Annotated[
        str | None, typer.Option("--runtime", metavar="TIME", help="Measured time of each step, in seconds.")
    ] = None,
    seed: Annotated[
        int,
        typer.Option("--seed", metavar="NUMBER", help="The review's: the order of blocks follows.", min=0),
    ] = 0,
    program: Annotated[
        Program | None, typer.Option("--as", help="Write the steps as this program's files.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", metavar="DIRECTORY", help="Where --as writes them.")
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print the plan, or write it."""
    process.begin()
    if (program is None) != (output is None):
        raise status.UsageError("--as and --output belong together", hint="--as fio --output jobs")
    named = (*(suite or ()), *(own or ()))
    if not targets and not named:
        if program is not None:
            raise status.UsageError("name the TARGET of the steps", hint="iogauge plan TARGET --as fio ...")
        _suites(as_json=as_json)
        return
    suites = suites_asked(named)
    made = _manifest(
        targets or usual_targets(suites),
        suites,
        pace=pace.value,
        state=state.value,
        repeats=repeats,
        until_supported=quantile_asked(until_supported),
        seed=seed,
        size_bytes=size_asked(size),
        runtime_ns=time_asked(runtime),
        program=program,
    )
    if program is not None and output is not None:
        _write(made, program, output)
        return
    from iogauge.reviews.estimate import cost_of
    from iogauge.suites import suite_of

    cost = cost_of(made, suite_of)
    if as_json:
        streams.show(json.dumps(_as_json(made, cost), indent=2, allow_nan=False) + "\n")
    else:
        streams.show("".join(f"{line}\n" for line in _lines(made, cost)))


def _manifest(
    targets: Sequence[str],
    suites: Sequence[Suite],
    *,
    pace: schema.Pace,
    state: schema.State,
    repeats: int,
    until_supported: float | None,
    seed: int,
    size_bytes: int | None,
    runtime_ns: int | None,
    program: Program | None,
) -> Manifest:
    from iogauge.machine.facts import machine_facts
    from iogauge.reviews.manifest import new_manifest
    from iogauge.target.layers import layers_over

    size_of_file = size_bytes or max(each.FILE_BYTES[pace] for each in suites)
    facts = [
        _elsewhere(path, size_bytes=size_bytes)
        if _is_elsewhere(path, program)
        else _facts(*anchored([path]), size_bytes=size_of_file, state=state)
        for path in targets
    ]
    anchored([each.path for each in facts])  # none twice
    return new_manifest(
        suites,
        facts,
        pace=pace,
        state=state,
        repeats=repeats,
        until_supported=until_supported,
        seed=seed,
        size_bytes=size_bytes,
        runtime_ns=runtime_ns,
        # Nothing is tried: that would make devices. Another program has none of them.
        layers=lambda target: () if target.modelled or program else layers_over(target.path),
        command=("iogauge", *sys.argv[1:]) if program else (),
        machine=machine_facts(),
        ceiling=None,
    )


def _facts(path: str, *, size_bytes: int, state: schema.State) -> TargetFacts:
    """Return what a target is, opened for reading; a file that is missing is what a review would make in its place."""
    from iogauge.schema import TargetFacts
    from iogauge.target import is_model, open_target
    from iogauge.target.answering import await_answers
    from iogauge.target.facts import facts_of

    await_answers((path,), say=streams.say)
    if not is_model(path) and not Path(path).exists():
        try:
            folder = os.open(Path(path).parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError:
            return TargetFacts(path=path, kind="file", size_bytes=size_bytes)
        try:
            return facts_of(folder, path, size_bytes=size_bytes)
        finally:
            os.close(folder)
    with open_target(path, write=False, state=state) as opened:
        return opened.facts


def _is_elsewhere(path: str, program: Program | None) -> bool:
    """Whether a path is one of the machine that the steps are carried to, and means nothing here."""
    if program is None:
        return False
    drive = path.startswith("/dev/") and not Path(path).exists()
    return drive or (program is Program.DISKSPD and _OF_WINDOWS.match(path) is not None)


def _elsewhere(path: str, *, size_bytes: int | None) -> TargetFacts:
    """Return what is known of a target of another machine: what its name says, and the size that was given."""
    from iogauge.schema import TargetFacts
    from iogauge.workload.diskspd.commands import is_drive

    if size_bytes is None:
        raise status.UsageError(
            f"{path}: is not on this machine, so its size is not known here",
            hint="say how much to use: --size 100g",
        )
    # A job file takes '#' for the beginning of a comment: what DiskSpd takes it for says the same.
    path = re.sub(r"^#(?=\d+$)", r"\\\\.\\PhysicalDrive", path)
    return TargetFacts(path=path, kind="block" if is_drive(path) else "file", size_bytes=size_bytes)


def _lines(made: Manifest, cost: ReviewCost) -> Iterator[str]:
    from iogauge.text import numbers
    from iogauge.text.grid import aligned

    several = len(made.plans) > 1
    rows = [[_where(step, several=several), _time(step), _writes(step)] for step in cost.steps]
    rows += [_follows(each, several=several) for each in cost.following]
    yield from aligned([["step", "time", "writes at most"], *rows])
    virtual = all(target.modelled for target in made.targets)
    spent = f"{_time(cost)}{' of virtual time' if virtual else ''}"
    yield ""
    yield f"{_steps(cost.fewest, len(cost.most))}, {spent}; {_most(cost, made)}"
    for plan in cost.unknown:
        yield f"and what follows in {plan.title}: how much, and how hard it writes, only its suite knows"
    yield from confirm.lost(made, cost)
    if made.repeats > 1:
        yield f"{numbers.counted(made.repeats, 'block')}, each in an order of its own:"
        yield from plan_blocks.ordered(made)
    if made.repeats > 1 or len(made.targets) > 1:
        yield from plan_blocks.comparable(made)


def _where(step: StepCost, *, several: bool) -> str:
    return f"{_title(step.plan, several=several)}: {step.place}"


def _title(plan: SuitePlan, *, several: bool) -> str:
    return f"{plan.title} on {', '.join(plan.targets)}" if several else plan.title


def _follows(each: Following, *, several: bool) -> list[str]:
    """Return the row of what follows from the steps of one repeat."""
    again = f" (repeat {each.repeat + 1})" if each.repeat else ""
    steps = _steps(len(each.least), len(each.most), "further step")
    time = _span(each.expected_s, each.longest_s)
    return [f"{_title(each.plan, several=several)}: {steps}{again}", time, _most_of(each.most)]


def _steps(least: int, most: int, noun: str = "step") -> str:
    """Return how many steps there are.

    >>> _steps(5, 5), _steps(2, 17, "further step")
    ('5 steps', '2 to 17 further steps')
    """
    from iogauge.text import numbers

    return numbers.counted(most, noun) if least == most else f"{least:,} to {numbers.counted(most, noun)}"


def _time(cost: StepCost | ReviewCost) -> str:
    least = "at least " if cost.at_least else ""
    return f"{least}{_span(cost.expected_s, cost.longest_s)}"


def _span(shortest_s: float, longest_s: float) -> str:
    """Return how long something takes.

    >>> _span(60, 60), _span(3.5, 74)
    ('1 min 00 s', '4 s to 1 min 14 s')
    """
    from iogauge.text import numbers

    shortest, longest = numbers.clock_time(shortest_s), numbers.clock_time(longest_s)
    return shortest if shortest == longest else f"{shortest} to {longest}"


def _writes(step: StepCost) -> str:
    return _most_of([step])


def _most_of(steps: Sequence[StepCost]) -> str:
    """Return how much steps write at most; a dash where they write nothing."""
    from iogauge.text import numbers

    if not any(step.writes for step in steps):
        return "-"
    written = sum(step.written_bytes for step in steps)
    if all(step.bounded for step in steps):
        return numbers.size(written)
    return f"unknown, up to {numbers.size(written)}" if written else "unknown"


def _most(cost: ReviewCost, made: Manifest) -> str:
    """Return what all steps write at most, as far as that is known."""
    from iogauge.reviews.estimate import LINK_Bps
    from iogauge.text import numbers

    known = f"writes at most {numbers.size(cost.written_bytes)}"
    if cost.bounded:
        return known
    if any(step.writes and not step.written_bytes for step in cost.most):
        return f"{known}, and an unknown amount where a job ends with what it writes to"
    links = {target.link_Bps for target in made.targets}
    carried = (
        f"a link of four lanes carries ({numbers.bandwidth(LINK_Bps)})"
        if None in links
        else f"links carry ({' and '.join(numbers.bandwidth(link) for link in sorted(filter(None, links)))})"
    )
    return f"{known}, as far as {carried}; a drive takes less"


def _as_json(made: Manifest, cost: ReviewCost) -> dict[str, Any]:
    return {
        "pace": made.pace,
        "state": made.state,
        "repeats": made.repeats,
        "seed": made.seed,
        "targets": [target.model_dump(mode="json") for target in made.targets],
        "until_supported": made.until_supported,
        "expected_s": cost.expected_s,
        "longest_s": cost.longest_s,
        "expected_at_least": cost.at_least,
        "written_bytes": cost.written_bytes,
        "written_bounded": cost.bounded,
        "fewest_steps": cost.fewest,
        "most_steps": len(cost.most),
        "unknown": [plan.suite for plan in cost.unknown],
        "following": [
            {
                "suite": each.plan.suite,
                "targets": list(each.plan.targets),
                "repeat": each.repeat,
                "fewest_steps": len(each.least),
                "most_steps": len(each.most),
                "expected_s": each.expected_s,
                "longest_s": each.longest_s,
                "written_bytes": sum(step.written_bytes for step in each.most),
                "written_bounded": all(step.bounded for step in each.most),
            }
            for each in cost.following
        ],
        "steps": [
            {
                "id": step.step.id,
                "suite": step.plan.suite,
                "targets": list(step.plan.targets),
                "place": step.place,
                "repeat": step.step.repeat,
                "expected_s": step.expected_s,
                "longest_s": step.longest_s,
                "expected_at_least": step.at_least,
                "written_bytes": step.written_bytes,
                "written_bounded": step.bounded,
                "purge": step.step.purge,
                "job_file": step.step.job_file,
            }
            for step in cost.steps
        ],
    }


def _write(made: Manifest, program: Program, output: Path) -> None:
    """Write the steps as another program's files, and say what follows and what that program cannot run."""
    from iogauge.reviews.estimate import cost_of
    from iogauge.reviews.offline import CONSENT, PLAN, SCRIPTS, reasons, take
    from iogauge.suites import suite_of
    from iogauge.text import numbers

    written, held = take(output, made, program.value, suite_of)
    for name in (*written.files, PLAN):
        streams.show(f"{output / name}\n")
    for note, count in Counter(note for notes in written.notes.values() for note in notes).items():
        streams.say(f"note: {program.called} {note} ({numbers.counted(count, 'step')})")
    for reason, hint, ids in reasons(written.unsaid):
        streams.say(f"warning: {numbers.counted(len(ids), 'step')} left out, from {ids[0]} on: {reason}")
        if hint:
            streams.say(f"   hint: {hint}")
    if searched := [plan.suite for plan in made.plans if plan.search and not plan.steps]:
        streams.say(f"{', '.join(searched)}: this is the search; its steps follow from what it finds")
    if held:
        streams.say(
            f"{numbers.counted(held, 'step')} more are written once what goes on in rounds before them is whole"
        )
    script = SCRIPTS[program.value]
    for line in confirm.lost(
        made, cost_of(made, suite_of), asked_by=f"{script} asks for {CONSENT[program.value]}"
    ):
        streams.say(line)
    streams.say(
        f"next: run {output / script} where the target is, then, with its results in {output}: "
        f"iogauge import {numbers.argument(output)} --output REVIEW"
    )
    if written.unsaid:
        raise typer.Exit(status.ERROR)


def _suites(*, as_json: bool) -> None:
    """List the suites with their size at each pace, on a block device."""
    from iogauge.suites import DEFAULT, SUITES
    from iogauge.text.grid import labelled

    described = {name: _described(each) for name, each in SUITES.items()}
    if as_json:
        shown = [{"name": name, "default": name in DEFAULT, **each} for name, each in described.items()]
        streams.show(json.dumps(shown, indent=2) + "\n")
        return
    for name, each in described.items():
        paces = "; ".join(f"{pace} {_size_of(found)}" for pace, found in each["paces"].items())
        lines = [
            f"{name}{' (default)' if name in DEFAULT else ''}: {each['title']}",
            *labelled("source", each["source"]),
            *labelled("takes", paces),
        ]
        streams.show("".join(f"{line}\n" for line in lines))


def _size_of(pace: dict[str, Any]) -> str:
    search = "a search, and then " if pace["search"] else ""
    return (
        f"{search}{_steps(pace['steps'], pace['most_steps'])}, {_span(pace['expected_s'], pace['longest_s'])}"
    )


def _described(suite: Suite) -> dict[str, Any]:
    from iogauge.reviews.runner import expected_s
    from iogauge.suites import Asked
    from iogauge.suites.suite import Ahead

    paces: dict[str, Any] = {}
    for pace in Pace:
        asked = Asked(targets=_usual_drives(suite), pace=pace.value)
        made = suite.plan(asked)
        ahead = suite.ahead(made, asked) or Ahead()
        before = sum(map(expected_s, (*made.steps, *((made.search,) if made.search else ()))))
        paces[pace.value] = {
            "steps": len(made.steps) + len(ahead.least),
            "most_steps": len(made.steps) + len(ahead.most),
            "expected_s": before + sum(map(expected_s, ahead.least)),
            "longest_s": before + sum(map(expected_s, ahead.most)),
            "search": made.search is not None,
        }
    return {"title": suite.TITLE, "source": suite.SOURCE, "paces": paces}


def _usual_drives(suite: Suite) -> tuple[TargetFacts, ...]:
    """Return block devices that stand for any, as many as a suite takes together."""
    from iogauge.schema import TargetFacts

    return tuple(
        TargetFacts(path=f"/dev/drive{number}", kind="block", size_bytes=10**12)
        for number in range(suite.FEWEST_TARGETS)
    )
