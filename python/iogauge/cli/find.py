r"""``iogauge find``: the most load that keeps a limit of latency.

Find the most IOPS, or MB/s, with which TARGET keeps a limit such as 'read.p99 < 1ms', and print the answer first.
TARGET is a block device, a file or model:NAME. A limit is on the mean or a quantile of the latency of reads, of writes,
or of all requests; of several, each must be kept.

By default the rate varies: requests arrive at random times whether or not earlier ones have completed, like those of
many independent clients, and latency counts from the intended start. With --over depth or --over jobs, each completion
starts the next request, and the depth of a job, or the number of jobs, varies.

Every load is judged by the 95 % interval of its figures. A load that this does not decide runs again, four times as
long, and once more, 16 times as long, if neighbouring seconds correlate strongly. The search halves the gap between a
load that keeps the limit and one that misses it, until the gap is as narrow as --precision or no load within it can be
decided. Then the loads at both ends run again, for longer, so that neither a disturbance nor a burst decides.

Writes destroy data, so a block device needs --destroy; the default load only reads, and a file that is there stays as
it is. The search is saved as a review: 'iogauge review --resume DIRECTORY' continues it, 'iogauge report DIRECTORY'
draws its path.

    iogauge find /dev/nvme0n1 --limit 'p99 < 1ms'

    iogauge find model:p4800x --rw randrw --rwmixread 70 \
        --limit 'read.p99.9 < 500us'

    iogauge find /dev/nvme0n1 --over depth --goal bandwidth --bs 128k \
        --limit 'p99 < 5ms'
"""

from __future__ import annotations

import sys
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from iogauge.cli.terminal import confirm, process, streams
from iogauge.cli.terminal.review_options import Pace
from iogauge.cli.terminal.shared_options import Destroy, NewDirectory, Runtime, Seed, Size

if TYPE_CHECKING:
    from iogauge.schema import Manifest


class Quantity(StrEnum):
    """What the answer states."""

    IOPS = "iops"
    BANDWIDTH = "bandwidth"


class Varied(StrEnum):
    """What varies from load to load."""

    RATE = "rate"
    DEPTH = "depth"
    JOBS = "jobs"


class Pattern(StrEnum):
    """What the load does, in fio's words."""

    RANDREAD = "randread"
    RANDWRITE = "randwrite"
    RANDRW = "randrw"
    READ = "read"
    WRITE = "write"
    RW = "rw"


def find(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A block device, a file or model:NAME.")],
    limit: Annotated[
        list[str],
        typer.Option(
            "--limit", metavar="LIMIT", help="Keep this limit, such as 'read.p99 < 1ms'; repeatable."
        ),
    ],
    goal: Annotated[
        Quantity, typer.Option("--goal", help="What the answer states: requests or bytes a second.")
    ] = Quantity.IOPS,
    over: Annotated[
        Varied,
        typer.Option(
            "--over", help="What varies: the rate of requests, the depth of a job, or the number of jobs."
        ),
    ] = Varied.RATE,
    rw: Annotated[Pattern, typer.Option("--rw", help="The pattern, as in fio.")] = Pattern.RANDREAD,
    bs: Annotated[str, typer.Option("--bs", metavar="BYTES", help="Size of a request.")] = "4k",
    rwmixread: Annotated[
        int | None,
        typer.Option("--rwmixread", metavar="PERCENT", help="Share of reads of a mix.  [default: 50]"),
    ] = None,
    jobs: Annotated[
        int | None,
        typer.Option("--jobs", metavar="NUMBER", help="How many jobs.  [default: 4 at a rate, otherwise 1]"),
    ] = None,
    depth: Annotated[
        int | None,
        typer.Option(
            "--depth",
            metavar="NUMBER",
            help="Requests in flight of each job.  [default: at most 64 at a rate, otherwise 1]",
        ),
    ] = None,
    precision: Annotated[
        float,
        typer.Option("--precision", metavar="SHARE", help="How narrow the gap around the answer becomes."),
    ] = 0.02,
    pace: Annotated[
        Pace, typer.Option("--pace", help="quick: seconds a load; standard and full: longer.")
    ] = Pace.QUICK,
    size: Size = None,
    runtime: Runtime = None,
    seed: Seed = None,
    output: NewDirectory = None,
    destroy: Destroy = None,
    yes: Annotated[
        bool, typer.Option("--yes", help="Do not ask before writing to a block device, or 100 GB to a file.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> None:
    """Search, and print what was found."""
    # Import what takes long before process.begin: until then an interrupt costs nothing.
    import iogauge.execution
    import iogauge.suites  # noqa: F401
    from iogauge.cli.review import measure, show
    from iogauge.library.find.search import begin_find, goal_of

    process.begin()

    def planned(manifest: Manifest) -> None:
        if not yes:
            confirm.before(manifest)

    wanted = goal_of(
        limit,
        quantity=goal.value,
        over=over.value,
        rw=rw.value,
        bs=bs,
        rwmixread=rwmixread,
        jobs=jobs,
        depth=depth,
        precision=precision,
    )
    saved = begin_find(
        target,
        wanted,
        pace=pace.value,
        size=size,
        runtime=runtime,
        seed=seed,
        output=output,
        destroy=destroy or (),
        command=("iogauge", *sys.argv[1:]),
        on_plan=planned,
        say=streams.say,
    )
    failed = measure(saved, destroy=destroy or ())
    show(saved, (), failed, as_json=as_json)
