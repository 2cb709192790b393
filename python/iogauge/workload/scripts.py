"""Writes job files for fio and the shell script that runs them, and defines what fio's and DiskSpd's scripts share.

Either script saves one result per step, under the name of the step. It can be run again, and then skips the steps that
have a complete result. A result gets its name by a rename once it is complete. The steps of a state group need the
drive's state that the steps before them left, so if one of them has no result, the script runs the whole group again.
A failed step ends its state group, but no other. A script destroys existing content of a target only with the user's
consent. All names come from job files, so every word is quoted. Steps that the other program cannot run are left out,
with the reason. This module returns texts: it runs nothing and writes no file.

The script makes fio report its cumulative counts at an interval (--status-interval), which gives the latencies of every
interval. Each report has some kilobytes per row; if there would be too many, the interval is longer.

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
from iogauge.text.option import call
from iogauge.workload import parse
from iogauge.workload.options.kinds import MODEL
from iogauge.workload.options.table import BY_NAME
from iogauge.workload.paths import paths


class Step(NamedTuple):
    """One step of a script."""

    id: str
    """The name of its files."""
    job_file: str
    interval_ns: int = 10**9
    """The preferred length of an interval."""
    purge: tuple[str, ...] = ()
    """Targets that are purged before the step."""
    state_group: str = ""
    """Its state group: each step needs the drive's state that the steps before it left. Empty: it has none."""
    follows: bool = False
    """Whether it was planned from results of its state group. Such a step continues the group at any later time."""


@dataclass(frozen=True, kw_only=True)
class ScriptFiles:
    """The files with which another program runs steps."""

    files: dict[str, str]
    """The text of each file, by its name."""
    impossible: dict[str, IogaugeError]
    """Why the program cannot run a step, by its id."""
    notes: dict[str, tuple[str, ...]]
    """How the program's run of a step differs from iogauge's, by its id."""


_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_FLAG = re.compile(r"^([a-z_]+)$", re.MULTILINE)
_PART = re.compile(r"^(TARGETS|STEPS)\n", re.MULTILINE)
_REPORT_BYTES = 14_000
"""The size of one row in a report of fio, with two latencies of a few hundred buckets each."""
_MOST_BYTES = 32 << 20
"""The size that a result should not exceed; fewer reports make it smaller."""
_SHORTEST_MS = 100
"""The shortest interval: a report takes some milliseconds of fio's CPU time, which the load may need."""


def fio_files(steps: Iterable[Step]) -> ScriptFiles:
    """Return the files with which fio runs the steps: a job file for each step, and ``run.sh``.

    A job file is that of the step, with the values of flags written out. The script also requests percentiles of lat,
    which iogauge judges. Raises ``IogaugeError`` if fio can run no step, or if an id cannot name a file.

    >>> sorted(fio_files([Step("one", "[a]\\nfilename=t.dat\\nrw=read\\n")]).files)
    ['one.fio', 'run.sh']
    """
    files: dict[str, str] = {}
    impossible: dict[str, IogaugeError] = {}
    planned: list[tuple[Step, JobFile]] = []
    for step, jobs in parsed_steps(steps):
        modelled = [job for job in jobs.jobs if any(name.startswith(MODEL) for name in job.filenames)]
        if modelled:
            impossible[step.id] = IogaugeError(
                f"{step.id}: [{modelled[0].name}] drives a model, which fio cannot",
                hint=f"plan for a file or a device, or serve the model: {call('serve_model', 'NAME', socket='PATH')}",
            )
            continue
        if block := _block_devices_of_commands(jobs):
            impossible[step.id] = IogaugeError(
                f"{step.id}: {block[0]} is not the character device of a namespace, which fio's io_uring_cmd needs",
                hint="name the character device (/dev/ng0n1)",
            )
            continue
        files[f"{step.id}.fio"] = f"{_FLAG.sub(_with_value, step.job_file).rstrip()}\n"
        planned.append((step, jobs))
    require_any(files, impossible)
    parts = {"TARGETS": _targets(planned), "STEPS": _runs(planned)}
    files["run.sh"] = _PART.sub(lambda part: "".join(f"{line}\n" for line in parts[part[1]]), _SHELL)
    return ScriptFiles(files=files, impossible=impossible, notes={})


def _block_devices_of_commands(jobs: JobFile) -> list[str]:
    """Return the targets of NVMe commands that iogauge, but not fio, reaches by their block devices."""
    commanding = [job for job in jobs.jobs if job.ioengine is EngineKind.IO_URING_CMD]
    return [name for job in commanding for name in job.filenames if not name.startswith("/dev/ng")]


def _targets(planned: Sequence[tuple[Step, JobFile]]) -> Iterator[str]:
    """Yield a line for each target; it says whether the steps destroy the target's content."""
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
    """Yield a line for each step, and before each state group of several steps a line for the group."""
    groups = state_groups(step for step, _ in planned)
    for step, jobs in planned:
        first, *others = groups[step.id]
        if step == first and others:
            # No id begins with '-', so '--' separates the two lists.
            planned_first = [member.id for member in (first, *others) if not member.follows]
            following = [member.id for member in (first, *others) if member.follows]
            yield shlex.join(["group", *planned_first, "--", *following])
        yield shlex.join(["run", step.id, first.id, f"{_status_ms(step, jobs)}ms", *step.purge])


def state_groups(steps: Iterable[Step]) -> dict[str, tuple[Step, ...]]:
    """Return the steps of each step's state group in order, by the id of the step.

    >>> one, two, alone = Step("one", "", state_group="g"), Step("two", "", state_group="g"), Step("three", "")
    >>> [[step.id for step in group] for group in state_groups([one, two, alone]).values()]
    [['one', 'two'], ['one', 'two'], ['three']]
    """
    ordered = list(steps)
    groups: dict[tuple[str, str], list[Step]] = {}
    for step in ordered:
        groups.setdefault(_group_key(step), []).append(step)
    return {step.id: tuple(groups[_group_key(step)]) for step in ordered}


def _group_key(step: Step) -> tuple[str, str]:
    return (step.state_group, "") if step.state_group else ("", step.id)


def parsed_steps(steps: Iterable[Step]) -> Iterator[tuple[Step, JobFile]]:
    """Yield the steps with their jobs. Raises ``IogaugeError`` if there is no step, or an id cannot name a file."""
    seen: set[str] = set()
    for step in steps:
        if not _ID.fullmatch(step.id) or step.id.lower() in seen:
            raise IogaugeError(
                f"the step {step.id!r} cannot name a file",
                hint="use letters, digits, '_', '.' and '-', and give every step another name",
            )
        seen.add(step.id.lower())
        yield step, parse(step.job_file, source=step.id)
    if not seen:
        raise IogaugeError("there is no step to run", hint="plan a suite whose steps are known")


def require_any(possible: object, impossible: dict[str, IogaugeError]) -> None:
    """Raise the error of the first impossible step if no step is possible."""
    if not possible:
        raise next(iter(impossible.values()))


def _with_value(flag: re.Match[str]) -> str:
    """Write a bare flag with its value, because fio's JSON omits options without a value."""
    option = BY_NAME.get(flag[1])
    return f"{flag[1]}=1" if option and option.kind.bare is True else flag[0]


def _status_ms(step: Step, jobs: JobFile) -> int:
    """Return the interval of fio's reports in ms: that of the step, or a longer one to keep the result small."""
    spans_ns = [0]
    for job in jobs.jobs:
        if job.stonewall:
            spans_ns.append(0)
        spans_ns[-1] = max(spans_ns[-1], job.runtime_ns + job.ramp_time_ns)
    rows = sum(1 if job.group_reporting else job.numjobs for job in jobs.jobs)
    most = max(_MOST_BYTES // (_REPORT_BYTES * rows), 1)
    return max(step.interval_ns // 10**6, -(-sum(spans_ns) // (most * 10**6)), _SHORTEST_MS)


_SHELL = """\
#!/bin/sh
# Runs every step with fio, in order, and saves its result as STEP.json (json+, with a report for every interval).
# Run it again to continue: steps that have a result are skipped. Failed steps are listed at the end.
# Steps that write to a target, or purge it, destroy its content. Targets that exist before the first call need the
# option --destroy. destroy.allowed lists the targets that may be destroyed: those, and the files that did not exist.
set -u
cd -- "$(dirname -- "$0")" || exit 1
if ! command -v fio >/dev/null 2>&1; then
    echo "fio was not found: install it, or put it in PATH" >&2
    exit 127
fi
destroy=
for word; do
    if [ "$word" != --destroy ]; then
        echo "$word: unknown option; the only option is --destroy" >&2
        exit 2
    fi
    destroy=yes
done
trap 'exit 130' INT
trap 'exit 143' TERM

# target TARGET [lost]: allows the steps to use a target, or refuses if they would destroy its content without consent.
allowed= refused=
target() {
    if [ -f destroy.allowed ] && grep -qxF -e "$1" destroy.allowed; then
        return
    elif [ ! -e "$1" ]; then
        # A missing device may appear later, with its content.
        case $1 in /dev/*) return ;; esac
    elif [ $# -eq 1 ]; then
        return
    elif [ -z "$destroy" ]; then
        echo "$1: exists, and these steps destroy its content; add --destroy to allow that" >&2
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

has_result() {
    [ -f "$1.json" ] && [ -s "$1.json" ]
}

# group STEP... -- FOLLOWING...: the steps of a state group, each of which needs the state that those before it left.
# If one has no result, all run again. But FOLLOWING steps were planned from results of the group: if only the last of
# them have no result, these continue the group.
group() {
    gap= again= following=
    for step; do
        if [ "$step" = -- ]; then
            following=yes
        elif has_result "$step"; then
            again=$again$gap
        else
            gap=yes
            [ -n "$following" ] || again=yes
        fi
    done
    [ -n "$again" ] || return 0
    for step; do
        if [ "$step" != -- ] && has_result "$step"; then
            echo "$step: runs again, because a step of its state group has no result" >&2
            rm -f -- "$step.json"
        fi
    done
}

# Removes the content of a target: discards all of a drive, or the blocks of a file.
purge() {
    if [ -b "$1" ]; then
        blkdiscard -f -- "$1"
    elif [ -s "$1" ]; then
        fallocate --punch-hole --offset 0 --length "$(wc -c <"$1")" -- "$1"
    fi
}

attempt() {  # STEP INTERVAL [TARGET TO PURGE]...
    step=$1 interval=$2
    shift 2
    if [ -d "$step.json" ]; then
        echo "$step.json: is a directory" >&2
        return 1
    fi
    for target; do
        purge "$target" || return
    done
    # The result has percentiles of lat in addition to those of the job file.
    fio --output-format=json+ --status-interval="$interval" --output="$step.json.part" \
        --name=global --lat_percentiles=1 "$step.fio" &&
        mv -- "$step.json.part" "$step.json" && has_result "$step"
}

failed= ended=' '
run() {  # STEP FIRST-STEP-OF-ITS-GROUP INTERVAL [TARGET TO PURGE]...
    step=$1 first=$2
    shift 2
    if has_result "$step"; then
        echo "$step: done before" >&2
        return
    fi
    case $ended in *" $first "*)
        echo "$step: skipped, because an earlier step of its state group failed" >&2
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
