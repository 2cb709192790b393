"""Steps as files that fio runs, in order, by a shell script; and what fio's and DiskSpd's scripts have in common.

Either script keeps one result a step, named like it. It can be run again: a step whose result is there and whole is
skipped, and a result becomes whole at once, by being renamed. Steps that share a drive's state are run one after the
other or not at all: where one has no result, all of them begin again. A step that fails ends those that share its
state, and no others. What was on a target before the first step is not lost without consent. What is named comes from
job files, so everything is quoted. A step that the other program cannot run is left out with the reason, and the
others are written. Nothing is run or written here.

fio is told to report all that it counted so far every so often (--status-interval), which gives intervals of time with
the latencies of each. That is a document each time, of some kilobytes for every row: where they would be too many, the
intervals are longer.

Source: fio's manual (--output, --status-interval), util-linux (blkdiscard, fallocate), POSIX for its quoting.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from iogauge.errors import IogaugeError
from iogauge.schema import EngineKind, JobFile
from iogauge.workload import parse
from iogauge.workload.options.kinds import MODEL
from iogauge.workload.options.table import BY_NAME
from iogauge.workload.paths import paths


class Step(NamedTuple):
    """One step of a script."""

    id: str
    """Names its files."""
    job_file: str
    interval_ns: int = 10**9
    """How long an interval of time should be."""
    purge: tuple[str, ...] = ()
    """Targets whose content is given back before it."""
    state_group: str = ""
    """Shared by steps of which each needs the drive's state that those before it left; empty: it shares with none."""
    follows: bool = False
    """Whether it follows from what steps of its group measured: it goes on from them, whenever it is run."""


@dataclass(frozen=True, kw_only=True)
class Written:
    """Files for another program to run."""

    files: dict[str, str]
    """Text by name."""
    unsaid: dict[str, IogaugeError]
    """The steps that it cannot run, by id, and why."""
    notes: dict[str, tuple[str, ...]]
    """How the program's run of a step differs from iogauge's, by id."""


_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_FLAG = re.compile(r"^([a-z_]+)$", re.MULTILINE)
_PART = re.compile(r"^(TARGETS|STEPS)\n", re.MULTILINE)
_DOCUMENT_BYTES = 14_000
"""Of one row in one of fio's reports, with two kinds of latency: as much as some hundred buckets take."""
_MOST_BYTES = 32 << 20
"""Of a step's result, as far as reports can be left out."""
_SHORTEST_MS = 100
"""To write a report takes fio some milliseconds of a CPU, which it should not lack elsewhere."""


def fio_files(steps: Iterable[Step]) -> Written:
    """Return the files with which fio runs the steps: a job file each, and ``run.sh``.

    A job file is the step's own, with flags written out. The script asks for percentiles of lat besides, which are what
    iogauge judges. Raises ``IogaugeError`` where fio can run no step at all, or an id cannot name a file.

    >>> sorted(fio_files([Step("one", "[a]\\nfilename=t.dat\\nrw=read\\n")]).files)
    ['one.fio', 'run.sh']
    """
    files: dict[str, str] = {}
    unsaid: dict[str, IogaugeError] = {}
    planned: list[tuple[Step, JobFile]] = []
    for step, jobs in read(steps):
        driven = [job for job in jobs.jobs if any(name.startswith(MODEL) for name in job.filenames)]
        if driven:
            unsaid[step.id] = IogaugeError(
                f"{step.id}: [{driven[0].name}] drives a model, which fio cannot",
                hint="plan for a file or a device, or serve the model: iogauge model serve",
            )
            continue
        files[f"{step.id}.fio"] = f"{_FLAG.sub(_said, step.job_file).rstrip()}\n"
        planned.append((step, jobs))
    some(files, unsaid)
    parts = {"TARGETS": _targets(planned), "STEPS": _runs(planned)}
    files["run.sh"] = _PART.sub(lambda part: "".join(f"{line}\n" for line in parts[part[1]]), _SHELL)
    return Written(files=files, unsaid=unsaid, notes={})


def _targets(planned: Sequence[tuple[Step, JobFile]]) -> Iterator[str]:
    """Yield a line for each target, with whether what it holds is lost."""
    lost: dict[str, bool] = {}
    for step, jobs in planned:
        for job in jobs.jobs:
            if job.ioengine is not EngineKind.NULL:
                for clone in range(job.numjobs):
                    for path in paths(job, clone):
                        lost[path] = lost.get(path, False) or job.rw.writes
        lost |= dict.fromkeys(step.purge, True)
    yield from (shlex.join(["target", path, *(["lost"] if loses else [])]) for path, loses in lost.items())


def _runs(planned: Sequence[tuple[Step, JobFile]]) -> Iterator[str]:
    """Yield a line for each step, and one before the first of several that share a state."""
    groups = grouped(step for step, _ in planned)
    for step, jobs in planned:
        first, *others = groups[step.id]
        if step == first and others:
            # No step's name begins with '-'.
            begin = [member.id for member in (first, *others) if not member.follows]
            go_on = [member.id for member in (first, *others) if member.follows]
            yield shlex.join(["group", *begin, "--", *go_on])
        yield shlex.join(["run", step.id, first.id, f"{_status_ms(step, jobs)}ms", *step.purge])


def grouped(steps: Iterable[Step]) -> dict[str, tuple[Step, ...]]:
    """Return, by each step's id, the steps that share its state, itself included, in order.

    >>> one, two, alone = Step("one", "", state_group="g"), Step("two", "", state_group="g"), Step("three", "")
    >>> [[step.id for step in group] for group in grouped([one, two, alone]).values()]
    [['one', 'two'], ['one', 'two'], ['three']]
    """
    known = list(steps)
    groups: dict[tuple[str, str], list[Step]] = {}
    for step in known:
        groups.setdefault(_group(step), []).append(step)
    return {step.id: tuple(groups[_group(step)]) for step in known}


def _group(step: Step) -> tuple[str, str]:
    return (step.state_group, "") if step.state_group else ("", step.id)


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
    """Raise the error of the first step if no step can be run."""
    if not said:
        raise next(iter(unsaid.values()))


def _said(flag: re.Match[str]) -> str:
    """Write a bare flag out: fio's JSON leaves out options without a value."""
    option = BY_NAME.get(flag[1])
    return f"{flag[1]}=1" if option and option.kind.bare is True else flag[0]


def _status_ms(step: Step, jobs: JobFile) -> int:
    """Return the interval of fio's reports in milliseconds: the step's, or a longer one that keeps its result small."""
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
# Run it again to go on: a step whose result is there is not run again. One that fails is named at the end.
# Steps that write, or purge before, destroy what their targets hold. What was there before the first call is only
# destroyed after a call with --destroy, which is kept in destroy.allowed, as is what was not there.
set -u
cd -- "$(dirname -- "$0")" || exit 1
if ! command -v fio >/dev/null 2>&1; then
    echo "fio was not found: install it, or put it in PATH" >&2
    exit 127
fi
destroy=
for word; do
    if [ "$word" != --destroy ]; then
        echo "$word: is no option: there is --destroy" >&2
        exit 2
    fi
    destroy=yes
done
trap 'exit 130' INT
trap 'exit 143' TERM

allowed= refused=
target() {  # TARGET [lost]
    if [ -f destroy.allowed ] && grep -qxF -e "$1" destroy.allowed; then
        return
    elif [ ! -e "$1" ]; then
        # A device that is not there may come, with all that it holds.
        case $1 in /dev/*) return ;; esac
    elif [ $# -eq 1 ]; then
        return
    elif [ -z "$destroy" ]; then
        echo "$1: is there, and these steps destroy what it holds: add --destroy where that may be lost" >&2
        refused=yes
        return
    fi
    allowed="$allowed$1
"
}
TARGETS
if [ -n "$refused" ]; then
    exit 2
fi
if [ -n "$allowed" ]; then
    printf %s "$allowed" >>destroy.allowed || exit 1
fi

whole() {
    [ -f "$1.json" ] && [ -s "$1.json" ]
}

# Steps of which each needs the state that those before it left. Where one is missing they all begin again, unless it
# is the next of those behind --, which follow from what was measured.
group() {
    gap= again= follow=
    for step; do
        if [ "$step" = -- ]; then
            follow=yes
        elif whole "$step"; then
            again=$again$gap
        else
            gap=yes
            [ -n "$follow" ] || again=yes
        fi
    done
    [ -n "$again" ] || return 0
    for step; do
        if [ "$step" != -- ] && whole "$step"; then
            echo "$step: is run again, since steps that share its drive's state have no result" >&2
            rm -f -- "$step.json"
        fi
    done
}

# Gives back all that a target holds: of a drive, a discard of all of it; of a file, its blocks.
purge() {
    if [ -b "$1" ]; then
        blkdiscard -f -- "$1"
    elif [ -s "$1" ]; then
        fallocate --punch-hole --offset 0 --length "$(wc -c <"$1")" -- "$1"
    fi
}

attempt() {  # STEP INTERVAL [TARGET TO PURGE BEFORE]...
    step=$1 interval=$2
    shift 2
    if [ -d "$step.json" ]; then
        echo "$step.json: is a directory" >&2
        return 1
    fi
    for target; do
        purge "$target" || return
    done
    # Percentiles of lat are asked for besides those of the job file.
    fio --output-format=json+ --status-interval="$interval" --output="$step.json.part" \
        --name=global --lat_percentiles=1 "$step.fio" &&
        mv -- "$step.json.part" "$step.json" && whole "$step"
}

failed= ended=' '
run() {  # STEP FIRST-OF-ITS-GROUP INTERVAL [TARGET TO PURGE BEFORE]...
    step=$1 first=$2
    shift 2
    if whole "$step"; then
        echo "$step: done before" >&2
        return
    fi
    case $ended in *" $first "*)
        echo "$step: is left out, since a step whose state it needs failed" >&2
        return ;;
    esac
    echo "$step" >&2
    if ! attempt "$step" "$@"; then
        echo "$step: failed" >&2
        failed="$failed $step" ended="$ended$first "
    fi
}

STEPS

if [ -n "$failed" ]; then
    echo "failed:$failed" >&2
    exit 1
fi
"""
