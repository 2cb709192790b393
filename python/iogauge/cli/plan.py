"""``iogauge plan``: what a review would do, how long it takes and how much it writes, without doing it.

It takes the options of 'iogauge review'. Without TARGET it lists the suites. With one, it lists every step in the
order in which they run, with its time and the most that it can write: rate times time, or the target's size, or, where
nothing limits the writes, what the fastest link of a drive could carry. Steps that follow from a search are not known
before it.

--as fio or --as diskspd writes the steps to --output as files which that program runs, with a script that runs them
all; 'iogauge import' reads their results. No target is written to, and no file made, but those.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iogauge.cli import process, status, streams
from iogauge.cli.review import Pace, State, anchored, size_asked, suites_asked, time_asked, usual_targets

if TYPE_CHECKING:
    from iogauge import schema
    from iogauge.schema import Manifest, TargetFacts
    from iogauge.suites import Suite
    from iogauge.suites.estimate import ReviewCost, StepCost


class Program(StrEnum):
    """``--as``."""

    FIO = "fio"
    DISKSPD = "diskspd"


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
        seed=seed,
        size_bytes=size_asked(size),
        runtime_ns=time_asked(runtime),
    )
    if program is not None and output is not None:
        _write(made, program, output)
        return
    from iogauge.suites.estimate import cost_of

    cost = cost_of(made)
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
    seed: int,
    size_bytes: int | None,
    runtime_ns: int | None,
) -> Manifest:
    from iogauge.machine.facts import machine_facts
    from iogauge.suites.begin import new_manifest
    from iogauge.target.layers import layers_over

    size_of_file = size_bytes or max(each.FILE_BYTES[pace] for each in suites)
    facts = [_facts(path, size_bytes=size_of_file) for path in anchored(targets)]
    return new_manifest(
        suites,
        facts,
        pace=pace,
        state=state,
        repeats=repeats,
        seed=seed,
        size_bytes=size_bytes,
        runtime_ns=runtime_ns,
        # Nothing is tried: that would make devices.
        layers=lambda target: () if target.modelled else layers_over(target.path),
        command=(),
        machine=machine_facts(),
        ceiling=None,
    )


def _facts(path: str, *, size_bytes: int) -> TargetFacts:
    """Return what a target is, opened for reading; a file that is missing is what a review would make."""
    from iogauge.schema import TargetFacts
    from iogauge.target import is_model, open_target

    if not is_model(path) and not Path(path).exists():
        return TargetFacts(path=path, kind="file", size_bytes=size_bytes)
    with open_target(path, write=False) as opened:
        return opened.facts


def _lines(made: Manifest, cost: ReviewCost) -> Iterator[str]:
    from iogauge.report.grid import aligned
    from iogauge.stats import words

    several = len(made.plans) > 1
    rows = [[_where(step, several=several), _time(step), _writes(step)] for step in cost.steps]
    yield from aligned([["step", "time", "writes at most"], *rows])
    virtual = all(target.modelled for target in made.targets)
    spent = f"{_time(cost)}{' of virtual time' if virtual else ''}"
    yield ""
    yield f"{words.counted(len(cost.steps), 'step')}, {spent}; {_most(cost)}"
    if cost.searches:
        yield (
            f"and the steps of {words.counted(cost.searches, 'suite')} that follow from a search: "
            "how many, and how hard they write, is known after it"
        )
    for target in made.targets:
        if target.modelled:
            continue
        if given_back := cost.given_back(target.path):
            yield f"{target.path}: {given_back}"
        if given_back or cost.writes_to(target.path):
            lost = (
                "its content is lost (review asks for --destroy)"
                if target.kind == "block"
                else "a file, made where it is missing, refused where it is not iogauge's own"
            )
            yield f"writes to {target.path}: {lost}"
    if made.repeats > 1:
        yield f"{words.counted(made.repeats, 'block')}, each in an order of its own:"
        yield from _blocks(made)
    if made.repeats > 1 or len(made.targets) > 1:
        yield _comparable(made)


def _comparable(made: Manifest) -> str:
    """Say how many blocks a comparison takes of what is planned, beside those that are asked for."""
    from iogauge.report.compare import METRICS
    from iogauge.stats import words
    from iogauge.stats.comparison import FEWEST_BLOCKS, blocks_needed
    from iogauge.suites.estimate import most_places

    figures = most_places(made) * len(METRICS)
    return (
        f"to compare: {words.counted(made.repeats, 'block')} asked for (--repeats); {FEWEST_BLOCKS} are the fewest "
        f"that can find a difference; where runs vary by 3 %, one of 5 % takes {blocks_needed(0.05, 0.03)} by itself, "
        f"and {blocks_needed(0.05, 0.03, comparisons=figures)} among the {words.counted(figures, 'figure')} of the "
        f"largest suite, {len(METRICS)} of each step; one of 50 %, {blocks_needed(0.5, 0.03, comparisons=figures)}"
    )


def _blocks(made: Manifest) -> Iterator[str]:
    from iogauge.suites.place import order

    blocks: dict[int, list[str]] = {}
    for repeat, each in order(made):
        blocks.setdefault(repeat, []).append(each.key)
    yield from (f"  {repeat + 1}: {', '.join(keys)}" for repeat, keys in blocks.items())


def _where(step: StepCost, *, several: bool) -> str:
    on = f" on {', '.join(step.plan.targets)}" if several else ""
    return f"{step.plan.title}{on}: {step.place}"


def _time(cost: StepCost | ReviewCost) -> str:
    from iogauge.stats import words

    return f"{'at least ' if cost.at_least else ''}{words.clock_time(cost.expected_s)}"


def _writes(step: StepCost) -> str:
    from iogauge.stats import words

    if not step.writes:
        return "-"
    if step.bounded:
        return words.size(step.written_bytes)
    return f"unknown, up to {words.size(step.written_bytes)}" if step.written_bytes else "unknown"


def _most(cost: ReviewCost) -> str:
    """Return what all known steps write at most, as far as that is known."""
    from iogauge.stats import words

    known = f"writes at most {words.size(cost.written_bytes)}"
    if cost.bounded:
        return known
    if any(step.writes and not step.written_bytes for step in cost.steps):
        return f"{known}, and an unknown amount where a job ends with what it writes to"
    return f"{known}, as far as a link of four lanes carries; a drive takes less"


def _as_json(made: Manifest, cost: ReviewCost) -> dict[str, Any]:
    return {
        "pace": made.pace,
        "state": made.state,
        "repeats": made.repeats,
        "seed": made.seed,
        "targets": [target.model_dump(mode="json") for target in made.targets],
        "expected_s": cost.expected_s,
        "expected_at_least": cost.at_least,
        "written_bytes": cost.written_bytes,
        "written_bounded": cost.bounded,
        "searches": cost.searches,
        "steps": [
            {
                "id": step.step.id,
                "suite": step.plan.suite,
                "targets": list(step.plan.targets),
                "place": step.place,
                "repeat": step.step.repeat,
                "expected_s": step.expected_s,
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
    """Write the steps as another program's files, each anew; those of one that is there are not replaced."""
    from iogauge.errors import IogaugeError
    from iogauge.store.durable import explained
    from iogauge.workload.scripts import diskspd_script, fio_files

    if waiting := [each.suite for each in made.plans if each.search and not each.steps]:
        raise IogaugeError(
            f"{waiting[0]}: its steps follow from a search, which only 'iogauge review' runs",
            hint="plan it as it was published (--pace full), or another suite",
        )
    make = fio_files if program is Program.FIO else diskspd_script
    files = make([(step.id, step.job_file) for step in made.steps])
    with explained("create", output):
        output.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = output / name
        with explained("write", path):
            path.write_text(text, encoding="utf-8", newline="")
            path.chmod(0o755 if path.suffix == ".sh" else 0o644)
        streams.show(f"{path}\n")


def _suites(*, as_json: bool) -> None:
    """List the suites with their size at each pace, on a block device."""
    from iogauge.report.grid import labelled
    from iogauge.suites import DEFAULT, SUITES

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
    from iogauge.stats import words

    time = words.clock_time(pace["expected_s"])
    if pace["steps"]:
        return f"{words.counted(pace['steps'], 'step')}, {time}"
    return f"a search of {time}, and the steps that follow from it"


def _described(suite: Suite) -> dict[str, Any]:
    from iogauge.suites import Asked
    from iogauge.suites.conduct import expected_s

    paces: dict[str, Any] = {}
    for pace in Pace:
        asked = Asked(targets=_usual_drives(suite), pace=pace.value)
        made = suite.plan(asked)
        steps = made.steps or ((made.search,) if made.search else ())
        paces[pace.value] = {
            "steps": len(made.steps),
            "expected_s": sum(expected_s(step) for step in steps),
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
