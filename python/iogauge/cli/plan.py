"""``iogauge plan``: what a review would do, how long it takes and how much it writes, without doing it.

Show what a review would do, how long it takes and how much it writes. Nothing is measured.

Without TARGET, list the suites. With TARGET, list the steps in the order in which they run, each with its time and
what it writes, most likely and at most. Several suites or targets have a row each; --verbose lists every step. The
options are those of 'iogauge review'.

The likely amounts follow from the rates of the drive. A model's rates are measured on the model. A real drive's are
usual for its class, and right within a factor of a few.

The most that a step can write is its rate times its time, or the target's size. If nothing limits the writes, it is
what the drive's link can carry, or a link of four lanes if the drive's is unknown. Some steps follow from a search or
from the results of others: the plan gives their smallest and largest number. With --until-supported, a step may run
again, and its time is a range.

--as fio or --as diskspd writes the steps into the directory --output as files for that program, with a script that
runs them all. 'iogauge import' of that directory makes a review of the results, and writes the next steps where they
depend on results; repeat both until no step is left. A target may be on another machine (a drive that is not here, and
for DiskSpd C:\\test.dat or #1): then give --size. Steps that the other program cannot run are named and left out, and
the exit status is 1. These files are all that it writes.

    iogauge plan /dev/nvme0n1 --suite mixed

    iogauge plan /dev/nvme0n1 --as fio --output jobs
"""

from __future__ import annotations

import json
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import process, status, streams
from iogauge.cli.terminal.review_options import ReviewOptions, with_review_options
from iogauge.cli.terminal.shared_options import Verbose

if TYPE_CHECKING:
    from iogauge.library.plan import Plan


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
    verbose: Verbose = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
) -> None:
    """Print the plan, or write it."""
    process.begin()
    if (program is None) != (output is None):
        raise status.UsageError("--as and --output belong together", hint="--as fio --output jobs")
    if not options.targets and not options.suites and not options.use:
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
        streams.show(made.to_text(every_step=verbose))
        if len(made.manifest.plans) > 1 and not verbose:
            streams.say("-v lists every step")


def _write(made: Plan, program: Program, output: Path) -> None:
    """Write the steps as another program's files. Say what comes next, and which steps that program cannot run."""
    from iogauge.report.plan_text import lost
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
    for line in lost(made.manifest, made.cost, asked_by=f"{script} asks for {CONSENT[program.value]}"):
        streams.say(line)
    streams.say(
        f"next: run {output / script} where the target is, then, with its results in {output}: "
        f"iogauge import {numbers.argument(output)} --output REVIEW"
    )
    if written.impossible:
        raise typer.Exit(status.ERROR)


def _suites(*, as_json: bool) -> None:
    """List the suites with their cost at each pace, on a block device."""
    from iogauge.library.suites import list_suites

    suites = list_suites()
    streams.show(json.dumps(suites.to_dict(), indent=2) + "\n" if as_json else str(suites))
