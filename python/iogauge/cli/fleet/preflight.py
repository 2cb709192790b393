"""Say what the hosts of a fleet are and in what they differ, and ask whether to begin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from iogauge.cli.terminal import status, streams

if TYPE_CHECKING:
    from iogauge.fleet.control.preflight import Preflight


def before(checked: Preflight, *, ask: bool = True) -> bool:
    """Print what differs between hosts and which refuse; on a terminal ask whether to begin, if ``ask``.

    It asks if something differs, a host refuses or a target is written to. Returns true, or raises typer.Exit if the
    answer is no, or if a host refuses and there is nobody to ask.
    """
    for line in _lines(checked):
        streams.say(line)
    if not ask:
        return True
    if not (sys.stdin.isatty() and sys.stderr.isatty()):
        if checked.refused:
            streams.say(
                "not started, since not all hosts can begin\nhint: --yes begins without those that refuse"
            )
            raise typer.Exit(status.ERROR)
    elif checked.differences or checked.refused or checked.writes:
        streams.say("continue? [y/N] ", end="")
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            streams.say("not started\nhint: --yes skips the question")
            raise typer.Exit(status.ERROR)
    return True


def _lines(checked: Preflight) -> Iterator[str]:
    from iogauge.report.fleet.tables import names_of
    from iogauge.report.fleet.text import difference_lines
    from iogauge.text import numbers

    hosts = len(checked.hosts)
    yield f"{numbers.counted(hosts, 'host')}: {names_of(checked.hosts)}"
    if checked.differences:
        yield "they differ in:"
        yield from difference_lines(checked.differences, hosts=hosts, columns=streams.columns())
    for host, error in checked.refused:
        yield f"{host} refuses: {error}"
        if error.hint:
            yield f"hint: {error.hint}"
    targets: dict[str, list[str]] = {}
    for host, target in checked.writes:
        targets.setdefault(target, []).append(host)
    for target, on in targets.items():
        yield f"this writes to {target} of {names_of(on)}"
