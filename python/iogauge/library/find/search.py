"""Find the most load that keeps limits: a review by the suite ``find``, with a goal of one's own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, get_args

from iogauge import schema
from iogauge.errors import UsageError
from iogauge.library import options as review_options
from iogauge.library import quantities
from iogauge.library.errors import StepsError
from iogauge.library.find.limits import limits_of
from iogauge.library.options import StrPath
from iogauge.library.progress import OnProgress, Reporter
from iogauge.library.public import public
from iogauge.library.reading.saved import Review
from iogauge.library.review import Say, begin, measure
from iogauge.schema import Goal, Manifest
from iogauge.store import Review as Stored
from iogauge.suites.rates.find import PRECISION
from iogauge.suites.rates.load import DEPTH, JOBS
from iogauge.text.option import option

SUITE = "find"
Quantity = Literal["iops", "bandwidth"]
Pattern = Literal["randread", "randwrite", "randrw", "read", "write", "rw"]
_LEAST_PRECISION, _MOST_PRECISION = 0.001, 0.5
_MOST_JOBS, _MOST_DEPTH = 64, 1024


@public
def find(
    target: StrPath,
    *,
    limit: Sequence[str] | str,
    goal: Quantity = "iops",
    over: schema.Over = "rate",
    rw: Pattern = "randread",
    bs: str = "4k",
    rwmixread: int | None = None,
    jobs: int | None = None,
    depth: int | None = None,
    precision: float = PRECISION,
    pace: schema.Pace = "quick",
    size: int | str | None = None,
    runtime: float | str | None = None,
    seed: int | None = None,
    output: StrPath | None = None,
    destroy: Sequence[StrPath] | StrPath = (),
    on_plan: Callable[[Manifest], None] = lambda _: None,
    on_progress: OnProgress = lambda _: None,
) -> Review:
    """Find the most IOPS or bandwidth that keeps limits of latency, and return the saved review.

    The conclusions of its suite have what was found (``SearchResult``), with every load that was tried.

    Args:
        target: a block device, a file or a drive model (``"model:p4800x"``).
        limit: one or several limits, such as ``"read.p99 < 1ms"`` or ``"mean < 200us"``.
        goal: ``"iops"`` or ``"bandwidth"``: what the answer states.
        over: what varies: ``"rate"``, requests at random times at a rate; ``"depth"``, the requests in flight of each
            job; or ``"jobs"``, the number of jobs.
        rw: the pattern, as fio names it.
        bs: the size of a request, such as ``"4k"``.
        rwmixread: percent of reads of a mixed pattern; 50 by default.
        jobs: how many jobs; by default four at a rate, otherwise one. Not with ``over="jobs"``.
        depth: requests in flight of each job: at most 64 at a rate, otherwise one by default. Not with
            ``over="depth"``.
        precision: how close the loads around the limit have to be, as a share: 0.001 to 0.5.
        pace: ``"quick"``, ``"standard"`` or ``"full"``: how long each load is tried.
        size: how much of the target to use: bytes, or text such as ``"4g"``.
        runtime: the measured time of each load: seconds, or text such as ``"10s"``. Loads that show nothing run again,
            four times as long, or 16 times if neighbouring seconds correlate strongly.
        seed: the seed of all random choices, at least 0. Default: a random one.
        output: the directory to save in; by default a new one here.
        destroy: serial numbers of drives, or paths, whose content may be lost.
        on_plan: is called with the plan before anything is measured; an exception cancels the search.
        on_progress: is called with each piece of news (``Progress``), as ``print`` can be.

    Raises:
        UsageError: an option is invalid.
        IogaugeError: the target is refused, or a step cannot be saved.
        StepsError: a step failed; the others are complete.
        Interrupted: Ctrl-C; complete steps are saved, and ``iogauge.review(resume=...)`` continues.

    Examples:
        >>> import iogauge, tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     saved = iogauge.find(
        ...         "model:p4800x", limit="p99 < 100us", runtime="200ms", seed=1, output=f"{folder}/saved"
        ...     )
        ...     search = saved.suite("find").conclusions.search
        ...     500_000 < search.holds < search.breaks < 600_000
        True
    """
    reporter = Reporter(on_progress)
    destroy = review_options.as_list(destroy)
    wanted = goal_of(
        review_options.as_list(limit),
        quantity=goal,
        over=over,
        rw=rw,
        bs=bs,
        rwmixread=rwmixread,
        jobs=jobs,
        depth=depth,
        precision=precision,
    )
    saved = begin_find(
        str(target),
        wanted,
        pace=pace,
        size=size,
        runtime=runtime,
        seed=seed,
        output=None if output is None else Path(output),
        destroy=destroy,
        command=_command(str(target), wanted),
        on_plan=on_plan,
        say=reporter.message,
    )
    if failed := measure(saved, lambda _: reporter, destroy=destroy):
        raise StepsError(saved.path, failed)
    return Review(saved, trusted=frozenset())


def goal_of(
    limits: Sequence[str],
    *,
    quantity: Quantity,
    over: schema.Over,
    rw: Pattern,
    bs: str,
    rwmixread: int | None,
    jobs: int | None,
    depth: int | None,
    precision: float,
) -> Goal:
    """Return the goal that the options of a search state. Raises UsageError: an option is invalid."""
    review_options.require_choice("goal", quantity, get_args(Quantity))
    review_options.require_choice("over", over, get_args(schema.Over))
    review_options.require_choice("rw", rw, get_args(Pattern))
    mixed = rw in ("randrw", "rw")
    if rwmixread is not None:
        review_options.require_whole("rwmixread", rwmixread, least=1, most=99)
        if not mixed:
            raise UsageError(
                f"{option('rwmixread', rwmixread)}: {rw} is no mix", hint=f"add {option('rw', 'randrw')}"
            )
    for name, value, most in (("jobs", jobs, _MOST_JOBS), ("depth", depth, _MOST_DEPTH)):
        if value is None:
            continue
        review_options.require_whole(name, value, least=1, most=most)
        if over == name:
            raise UsageError(
                f"{option(name, value)}: the search varies it",
                hint=f"leave it out, or change {option('over')}",
            )
    if not _LEAST_PRECISION <= precision <= _MOST_PRECISION:
        raise UsageError(
            f"{option('precision', precision)}: must be from {_LEAST_PRECISION:g} to {_MOST_PRECISION:g}",
            hint="0.02 is 2 %",
        )
    block = quantities.size_bytes(bs, name="bs")
    usual_jobs, usual_depth = (JOBS, DEPTH) if over == "rate" else (1, 1)
    load: dict[str, str | int] = {"rw": rw, "bs": block}
    if mixed:
        load["rwmixread"] = 50 if rwmixread is None else rwmixread
    if over != "jobs":
        load["numjobs"] = jobs or usual_jobs
    if over != "depth":
        load["iodepth"] = depth or usual_depth
    return Goal(
        quantity=quantity,
        over=over,
        limits=limits_of(limits, reads=mixed or "read" in rw, writes=mixed or "write" in rw),
        load=load,
        precision=precision,
    )


def begin_find(
    target: str,
    goal: Goal,
    *,
    pace: schema.Pace,
    size: int | str | None,
    runtime: float | str | None,
    seed: int | None,
    output: Path | None,
    destroy: Sequence[str],
    command: Sequence[str],
    on_plan: Callable[[Manifest], None],
    say: Say,
) -> Stored:
    """Open the target, for reading alone if the load only reads, and create the review's directory.

    A file that is only read stays as it is: without ``size``, all of it is used.
    """
    if size is None and goal.load["rw"] in ("read", "randread"):
        size = _whole_file(target, block=int(goal.load["bs"]))
    return begin(
        target,
        (),
        output=output,
        destroy=destroy,
        command=command,
        on_plan=on_plan,
        say=say,
        goal=goal,
        suites=[SUITE],
        pace=pace,
        size=size,
        runtime=runtime,
        seed=seed,
    )


def _whole_file(target: str, *, block: int) -> int | None:
    """Return the size of a file in whole blocks; None: there is no such file, or it is smaller than a block."""
    path = Path(target)
    return path.stat().st_size // block * block or None if path.is_file() else None


def _command(target: str, goal: Goal) -> tuple[str, ...]:
    """Return the command line that searches for the same goal; it is stored with the review."""
    names = {"numjobs": "jobs", "iodepth": "depth"}
    return (
        *("iogauge", SUITE, target),
        *(f"--limit={limit.text}" for limit in goal.limits),
        *(f"--goal={goal.quantity}", f"--over={goal.over}", f"--precision={goal.precision:g}"),
        *(f"--{names.get(name, name)}={value}" for name, value in goal.load.items()),
    )
