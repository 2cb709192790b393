"""Print what differs between the hosts of a fleet, and the space and clock of each; ask whether to begin."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import typer

from iogauge.cli.terminal import status, streams

if TYPE_CHECKING:
    from iogauge.fleet.control.preflight import Preflight
    from iogauge.report.fleet.view import ReadyHost

_MOST_HOSTS = 40
"""The most hosts that are listed."""


def before(checked: Preflight, *, ask: bool = True) -> bool:
    """Print what differs between hosts, a line for each, and which refuse; on a terminal ask whether to begin.

    It asks if ``ask``, and something differs, a host refuses, a target is written to, or there is a warning. Returns
    true, or raises typer.Exit if the answer is no, or if a host refuses and there is nobody to ask.
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
    elif checked.differences or checked.refused or checked.writes or checked.warnings:
        streams.say("continue? [y/N] ", end="")
        if sys.stdin.readline().strip().lower() not in ("y", "yes"):
            streams.say("not started\nhint: --yes skips the question")
            raise typer.Exit(status.ERROR)
    return True


def _shown(checked: Preflight) -> list[ReadyHost]:
    """Return the hosts that answered; of many, those with the least space and the least certain clocks."""
    from iogauge.report.fleet.view import ReadyHost

    hosts = []
    for name in checked.hosts:
        if (facts := checked.facts.get(name)) is not None:
            space = facts.spaces[0] if facts.spaces else None
            clock = checked.clocks.get(name)
            hosts.append(
                ReadyHost(
                    name=name,
                    free_bytes=facts.free_bytes,
                    needed_bytes=space.needed_bytes if space else None,
                    offset_ns=clock.offset_ns if clock else None,
                    bound_ns=clock.bound_ns if clock else None,
                )
            )
    if len(hosts) <= _MOST_HOSTS:
        return hosts
    by_space = sorted(hosts, key=lambda host: host.free_bytes - (host.needed_bytes or 0))
    by_clock = sorted(hosts, key=lambda host: -(host.bound_ns or 0))
    chosen = {host.name for host in (*by_space[: _MOST_HOSTS // 2], *by_clock[: _MOST_HOSTS // 2])}
    return [host for host in hosts if host.name in chosen]


def _lines(checked: Preflight) -> Iterator[str]:
    from iogauge.report.fleet.tables import names_of, ready_hosts
    from iogauge.report.fleet.text import difference_lines, table_lines
    from iogauge.text import numbers

    hosts, columns = len(checked.hosts), streams.columns()
    yield f"{numbers.counted(hosts, 'host')}: {names_of(checked.hosts)}"
    if checked.differences:
        yield "they differ in:"
        yield from difference_lines(checked.differences, hosts=hosts, columns=columns)
    if checked.facts:
        shown = _shown(checked)
        yield from table_lines(ready_hosts(shown), columns=columns)
        if others := len(checked.facts) - len(shown):
            yield f"not listed: {numbers.counted(others, 'host')} with more space and more certain clocks"
    for host, error in checked.refused:
        yield f"{host} refuses: {error}"
        if error.hint:
            yield f"hint: {error.hint}"
    targets: dict[str, list[str]] = {}
    for host, target in checked.writes:
        targets.setdefault(target, []).append(host)
    for target, on in targets.items():
        yield f"this writes to {target} of {names_of(on)}"
    for text in checked.warnings:
        yield f"warning: {text}"
