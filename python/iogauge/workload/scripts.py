"""Steps as files that fio runs, in order, by a shell script; and what fio's and DiskSpd's scripts have in common.

Either script keeps one result a step, named like it. It can be run again: a step whose result is there and whole is
skipped, and a result becomes whole at once, by being renamed. What is named comes from job files, so everything is
quoted. A step that the other program cannot run is left out with the reason, and the others are written. Nothing is
run or written here.

fio is told to report all that it counted so far every so often (--status-interval), which gives intervals of time with
the latencies of each. That is a document each time, of some kilobytes for every row: where they would be too many, the
intervals are longer.

Source: fio's manual (--output, --status-interval), util-linux (blkdiscard, fallocate), POSIX for its quoting.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from iogauge.errors import IogaugeError
from iogauge.schema import JobFile
from iogauge.workload import parse
from iogauge.workload.kinds import MODEL
from iogauge.workload.options import BY_NAME


class Step(NamedTuple):
    """One step to be written."""

    id: str
    """Names its files."""
    job_file: str
    interval_ns: int = 10**9
    """How long an interval of time should be."""
    purge: tuple[str, ...] = ()
    """Targets whose content is given back before it."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """What another program is to run."""

    files: dict[str, str]
    """Text by name."""
    unsaid: dict[str, IogaugeError]
    """The steps that it cannot run, by id, and why."""
    notes: dict[str, tuple[str, ...]]
    """What it does otherwise in a step than iogauge, by id."""


_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_FLAG = re.compile(r"^([a-z_]+)$", re.MULTILINE)
_DOCUMENT_BYTES = 14_000
"""Of one row in one of fio's reports, with two kinds of latency: as much as some hundred buckets take."""
_MOST_BYTES = 32 << 20
"""Of a step's result, as far as reports can be left out."""
_SHORTEST_MS = 100
"""To write a report takes fio some milliseconds of a CPU, which it should not lack elsewhere."""


def fio_files(steps: Iterable[Step]) -> Written:
    """Return the files with which fio runs the steps: a job file each, and ``run.sh``.

    Percentiles of lat are asked for besides, which are what iogauge judges, and flags are written out. Raises
    ``IogaugeError`` where fio can run no step at all, or an id cannot name a file.

    >>> sorted(fio_files([Step("one", "[a]\\nfilename=t.dat\\nrw=read\\n")]).files)
    ['one.fio', 'run.sh']
    """
    files: dict[str, str] = {}
    lines = []
    unsaid: dict[str, IogaugeError] = {}
    for step, jobs in read(steps):
        driven = [job for job in jobs.jobs if any(name.startswith(MODEL) for name in job.filenames)]
        if driven:
            unsaid[step.id] = IogaugeError(
                f"{step.id}: [{driven[0].name}] drives a model, which fio cannot",
                hint="plan for a file or a device, or serve the model: iogauge model serve",
            )
            continue
        files[f"{step.id}.fio"] = (
            f"[global]\nlat_percentiles=1\n\n{_FLAG.sub(_said, step.job_file).rstrip()}\n"
        )
        words = ["run", step.id, f"{_status_ms(step, jobs)}ms", *step.purge]
        lines.append(" ".join(map(shlex.quote, words)))
    some(files, unsaid)
    files["run.sh"] = _SHELL.replace("STEPS", "\n".join(lines))
    return Written(files=files, unsaid=unsaid, notes={})


def read(steps: Iterable[Step]) -> Iterator[tuple[Step, JobFile]]:
    """Yield the steps with their jobs. Raises ``IogaugeError``: there is none, or an id cannot name a file."""
    seen: set[str] = set()
    for step in steps:
        if not _ID.fullmatch(step.id) or step.id.lower() in seen:
            raise IogaugeError(
                f"the step {step.id!r} cannot name a file of its own",
                hint="use letters, digits, '_', '.' and '-', and no name twice",
            )
        seen.add(step.id.lower())
        yield step, parse(step.job_file, source=step.id)
    if not seen:
        raise IogaugeError("there is no step to run", hint="plan a suite whose steps are known")


def some(said: object, unsaid: dict[str, IogaugeError]) -> None:
    """Raise why the first step cannot be run, where none can."""
    if not said:
        raise next(iter(unsaid.values()))


def _said(flag: re.Match[str]) -> str:
    """Write a bare flag out: fio's JSON leaves out options without a value."""
    option = BY_NAME.get(flag[1])
    return f"{flag[1]}=1" if option and option.kind.bare is True else flag[0]


def _status_ms(step: Step, jobs: JobFile) -> int:
    """Return how often fio reports, in milliseconds: what the step asks for, or as seldom as its result stays small."""
    spans_ns = [0]
    for job in jobs.jobs:
        if job.stonewall:
            spans_ns.append(0)
        spans_ns[-1] = max(spans_ns[-1], job.runtime_ns + job.ramp_time_ns)
    rows = sum(1 if job.group_reporting else job.numjobs for job in jobs.jobs)
    most = max(_MOST_BYTES // (_DOCUMENT_BYTES * rows), 1)
    return max(step.interval_ns // 10**6, -(-sum(spans_ns) // (most * 10**6)), _SHORTEST_MS)


_SHELL = """\
#!/bin/sh
# Runs every step with fio, in order, and keeps STEP.json (json+, with a report for every interval) of each.
# Run it again to go on: a step whose result is there is not run again.
# A step that writes destroys what its target holds: fio does not ask.
set -eu
cd -- "$(dirname -- "$0")"
if ! command -v fio >/dev/null 2>&1; then
    echo "fio was not found: install it, or put it in PATH" >&2
    exit 127
fi

# Gives back all that a target holds: of a drive, a discard of all of it; of a file, its blocks.
purge() {
    if [ -b "$1" ]; then
        blkdiscard -f -- "$1"
    elif [ -s "$1" ]; then
        fallocate --punch-hole --offset 0 --length "$(wc -c <"$1")" -- "$1"
    fi
}

run() {  # STEP INTERVAL [TARGET TO PURGE BEFORE]...
    step=$1 interval=$2
    shift 2
    if [ -s "$step.json" ]; then
        echo "$step: done before" >&2
        return
    fi
    echo "$step" >&2
    for target; do
        purge "$target"
    done
    fio --output-format=json+ --status-interval="$interval" --output="$step.json.part" "$step.fio"
    mv -- "$step.json.part" "$step.json"
}

STEPS
"""
