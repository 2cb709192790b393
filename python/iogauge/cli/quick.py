r"""``iogauge quick``: one minute on a drive or a file, and one table.

Measure TARGET for a minute, reads first, and print one table of the eight rows that CrystalDiskMark and KDiskMark show:
1 MiB in order (SEQ1M) and 4 KiB at random (RND4K), with eight, 32 or one request in flight (Q), from one thread (T1).
TARGET is a block device, a file or model:NAME. A file that does not exist is created, 1 GiB of random data.

Without --destroy, iogauge only reads a drive that holds data or a file that it did not make, and the table says what
that leaves out. --verbose prints every figure, and warnings with their remedies.

The rows are saved as a review of the suite 'quick': 'iogauge review --resume DIRECTORY' continues it, and 'iogauge
compare' sets two of them side by side.

    iogauge quick /dev/nvme0n1

    iogauge quick model:p4800x \
        --fail-if 'quick[RND4K Q1T1 read].mean > 100us' \
        --check-results checks.xml
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from iogauge.cli.terminal import checks, process, streams
from iogauge.cli.terminal.shared_options import Destroy, NewDirectory, Runtime, Seed, Size, Verbose


def quick(
    target: Annotated[str, typer.Argument(metavar="TARGET", help="A block device, a file or model:NAME.")],
    read_only: Annotated[
        bool, typer.Option("--read-only", help="Leave out the rows that write, whatever TARGET is.")
    ] = False,
    size: Size = None,
    runtime: Runtime = None,
    seed: Seed = None,
    output: NewDirectory = None,
    destroy: Destroy = None,
    fail_if: checks.FailIf = None,
    check_files: checks.Checks = None,
    check_results: checks.CheckResults = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of a table.")] = False,
    verbose: Verbose = False,
) -> None:
    """Measure eight rows and print them."""
    # Import what takes long before process.begin: until then an interrupt costs nothing.
    import iogauge.execution
    import iogauge.suites  # noqa: F401
    from iogauge.cli.review import measure, show
    from iogauge.library import conditions
    from iogauge.library.quick import begin_quick
    from iogauge.store.outputs import Claims

    process.begin()
    names = checks.names(fail_if, check_files)
    checked = conditions.parsed([*names])
    results = checks.outputs(
        check_results, names, lambda: Claims(targets=[target], say=streams.say), read=check_files
    )
    saved = begin_quick(
        target,
        checked,
        read_only=read_only,
        size=size,
        runtime=runtime,
        seed=seed,
        output=output,
        destroy=destroy or (),
        command=("iogauge", *sys.argv[1:]),
        say=streams.say,
    )
    failed = measure(saved, destroy=destroy or ())
    show(saved, checked, failed, as_json=as_json, verbose=verbose, names=names, results=results)
