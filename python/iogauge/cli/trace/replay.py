"""``iogauge replay``: replay a trace on a target.

Replay the requests of a TRACE (of 'iogauge trace', fio's iolog, or a binary file of blktrace) on TARGET, and print the
results as 'iogauge run' does. Several targets take the devices of the trace in turns; one takes all of them. Writing
needs --destroy, except to a file that iogauge made.

--pacing says when a request is issued: 'timed' at the trace's instants, whatever the target does, so that latencies
count from there; 'closed' as fast as --iodepth allows; 'dependent' once those requests have completed that had
completed before it in the trace; 'think' as long after them as in the trace.

--addresses says what happens to requests beyond the target's end: 'keep' refuses them, 'fold' begins anew at the
target's start, 'fit' scales all addresses.

    iogauge replay hm.trace /dev/nvme1n1 --destroy SERIAL --addresses fold

    iogauge replay t.trace model:p4800x --pacing think --time-scale 200
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from iogauge.cli.terminal import checks
from iogauge.cli.terminal.shared_options import Destroy, Seed, Verbose


def replay(
    trace: Annotated[Path, typer.Argument(metavar="TRACE", help="What is replayed.", show_default=False)],
    targets: Annotated[
        list[str],
        typer.Argument(metavar="TARGET...", help="Block devices, files or drive models.", show_default=False),
    ],
    pacing: Annotated[
        str, typer.Option(metavar="timed|closed|dependent|think", help="When requests are issued.")
    ] = "timed",
    addresses: Annotated[
        str, typer.Option(metavar="keep|fold|fit", help="What becomes of addresses beyond the target's end.")
    ] = "keep",
    time_scale: Annotated[
        int, typer.Option(metavar="PERCENT", help="How fast the trace's time passes.", min=1)
    ] = 100,
    scale: Annotated[int, typer.Option(metavar="NUMBER", help="Divide offsets by this.", min=1)] = 1,
    align: Annotated[
        str | None,
        typer.Option(metavar="BYTES", help="Round offsets down to a multiple of this power of two."),
    ] = None,
    skip: Annotated[
        str | None,
        typer.Option(metavar="read,write,trim,sync", help="Leave out requests of these directions."),
    ] = None,
    iodepth: Annotated[
        int | None,
        typer.Option(metavar="NUMBER", help="Most requests in flight.  [default: that of the trace, or 256]"),
    ] = None,
    ioengine: Annotated[
        str, typer.Option(metavar="NAME", help="How requests reach the target.")
    ] = "io_uring",
    direct: Annotated[
        bool, typer.Option("--direct/--buffered", help="Bypass the page cache, or use it.")
    ] = True,
    runtime: Annotated[
        str | None, typer.Option(metavar="TIME", help="End after this time, such as 60s.")
    ] = None,
    size: Annotated[
        str | None, typer.Option(metavar="SIZE", help="Use only so much of a target; creates a file.")
    ] = None,
    destroy: Destroy = None,
    seed: Seed = None,
    output_format: Annotated[
        str, typer.Option(metavar="normal|terse|json|json+", help="Output formats, separated by commas.")
    ] = "normal",
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", help="Print into FILE.")
    ] = None,
    request_log: Annotated[
        Path | None, typer.Option(metavar="FILE.parquet", help="Log every request with all its times.")
    ] = None,
    fail_if: checks.FailIf = None,
    check_files: checks.Checks = None,
    check_results: checks.CheckResults = None,
    verbose: Verbose = False,
) -> None:
    """Replay the trace and print what was measured."""
    from iogauge.cli import run
    from iogauge.cli.run import formats, progress_options
    from iogauge.cli.terminal import streams
    from iogauge.library.running import measurement
    from iogauge.library.running.replay import replay_jobs
    from iogauge.report.run.fail_if import parse

    jobs = replay_jobs(
        trace,
        targets,
        pacing=pacing,
        addresses=addresses,
        time_scale=time_scale,
        scale=scale,
        align=align,
        skip=skip,
        iodepth=iodepth,
        ioengine=ioengine,
        direct=direct,
        runtime=runtime,
        size=size,
        say=streams.say,
    )
    names = checks.names(fail_if, check_files)
    conditions = [parse(text) for text in names]
    for condition in conditions:
        condition.require(jobs)
    request = measurement.RunRequest(
        jobs=jobs,
        files=(str(trace),),
        destroy=tuple(destroy or ()),
        seed=seed,
        request_log=request_log,
        ceiling=False,
    )
    chosen = formats.chosen(
        output_format,
        terse_version=3,
        diskspd=None,
        columns=0 if verbose or output is not None else streams.columns(),
    )
    run.measure(
        run.RunOptions(
            request=request,
            conditions=conditions,
            names=names,
            check_files=check_files or (),
            check_results=check_results or (),
            formats=chosen,
            output=output,
            status_ns=None,
            progress=progress_options.chosen(progress_options.Eta.AUTO, every=None),
        )
    )
