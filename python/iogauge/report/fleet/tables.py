"""The tables of a fleet, as cells of text: the same for the terminal, Markdown and the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from iogauge.report.fleet.sentences import late, outcome_of
from iogauge.report.fleet.view import Difference, FleetView, Group, ReadyHost, Start
from iogauge.results.conclusions import TextTable
from iogauge.text import numbers

UNKNOWN = "-"
MOST_HOSTS = 6
"""A cell names at most this many hosts, and counts the others."""


def outliers(view: FleetView) -> TextTable:
    """Return the drives that are slow by themselves, by their host or by their model, the slowest first."""
    return TextTable(
        "drives that stand out",
        (
            *("drive", "host", "model", "firmware", "slot", "why"),
            *("latency / peers", "p99 / peers", "rate / peers", "slow for"),
        ),
        tuple(
            (
                drive.name,
                drive.host,
                drive.model or UNKNOWN,
                drive.firmware or UNKNOWN,
                drive.slot or UNKNOWN,
                drive.standing.value,
                UNKNOWN if drive.slowness is None else numbers.times(drive.slowness, drive.low, drive.high),
                UNKNOWN if drive.tail is None else f"{drive.tail:.2f}x",
                UNKNOWN if drive.rate is None else f"{drive.rate:.2f}x",
                numbers.percent(drive.slow_share),
            )
            for drive in view.outliers
        ),
    )


def hosts(view: FleetView) -> TextTable:
    """Return the hosts: how their reviews ended, what they are, and how well their clocks are known."""
    labels = list(dict.fromkeys(label for host in view.hosts for label in host.labels))
    return TextTable(
        "hosts",
        (
            "host",
            "outcome",
            "steps",
            *labels,
            "clock ahead by",
            "bound",
            "kernel",
            "CPU",
            "iogauge",
            "why",
        ),
        tuple(
            (
                host.name,
                outcome_of(host),
                str(host.steps),
                *(host.labels.get(label, UNKNOWN) for label in labels),
                UNKNOWN if host.offset_ns is None else _signed(host.offset_ns),
                UNKNOWN if host.bound_ns is None else f"±{numbers.duration(host.bound_ns, 2)}",
                host.kernel or UNKNOWN,
                host.cpu or UNKNOWN,
                host.version or UNKNOWN,
                host.why,
            )
            for host in view.hosts
        ),
    )


def ready_hosts(rows: Sequence[ReadyHost]) -> TextTable:
    """Return what hosts have before a fleet begins: space, and a clock."""
    return TextTable(
        "before it begins",
        ("host", "free", "takes at most", "clock ahead by", "bound"),
        tuple(
            (
                host.name,
                numbers.rough_size(host.free_bytes),
                UNKNOWN if host.needed_bytes is None else numbers.most_size(host.needed_bytes),
                UNKNOWN if host.offset_ns is None else _signed(host.offset_ns),
                UNKNOWN if host.bound_ns is None else f"±{numbers.duration(host.bound_ns, 2)}",
            )
            for host in rows
        ),
    )


def differences(rows: Sequence[Difference], *, hosts: int) -> TextTable:
    """Return what is not the same on all of ``hosts`` hosts: a row for each value, the commonest of a fact first."""
    return TextTable(
        "what differs between hosts",
        ("fact", "value", "hosts", "which"),
        tuple(
            (
                difference.fact,
                value,
                f"{len(names)} of {hosts}",
                names_of(names),
            )
            for difference in rows
            for value, names in difference.values
        ),
    )


def groups(rows: Iterable[Group], *, of_fleet: bool = False) -> TextTable:
    """Return merged figures: requests and percentiles of hosts together, and which hosts they miss.

    ``of_fleet``: all rows are of the fleet, so that none needs to say what it is of.
    """
    skip = 2 if of_fleet else 0
    return TextTable(
        "merged over hosts",
        (
            "by",
            "of",
            "step",
            "direction",
            "hosts",
            "requests",
            "IOPS",
            "mean",
            "p50",
            "p99",
            "p99.9",
            "missing",
        )[skip:],
        tuple(
            (
                group.by,
                group.name,
                group.step,
                group.direction,
                str(group.hosts),
                f"{group.requests:,}",
                UNKNOWN if group.iops is None else numbers.rate(group.iops, 4),
                _time(group.mean_ns),
                _time(group.p50_ns),
                _time(group.p99_ns),
                _time(group.p999_ns),
                names_of(group.missing),
            )[skip:]
            for group in rows
        ),
    )


def starts(rows: Sequence[Start]) -> TextTable:
    """Return how far from the plan hosts began each step."""
    by_step: dict[str, list[Start]] = {}
    for start in rows:
        by_step.setdefault(start.step, []).append(start)
    return TextTable(
        "starts",
        ("step", "hosts", "p99", "latest", "latest host", "clocks known to"),
        tuple(_start_row(step, started) for step, started in by_step.items()),
    )


def names_of(names: Sequence[str]) -> str:
    """Return the names of hosts, the first ones if there are many.

    >>> names_of(["a", "b"]), names_of([str(number) for number in range(9)])
    ('a, b', '0, 1, 2, 3, 4, 5 and 3 more')
    """
    if len(names) <= MOST_HOSTS:
        return ", ".join(names)
    return f"{', '.join(names[:MOST_HOSTS])} and {len(names) - MOST_HOSTS} more"


def _start_row(step: str, started: Sequence[Start]) -> tuple[str, ...]:
    p99_ns, bound_ns = late(started)
    latest = max(started, key=lambda start: start.late_ns)
    return (
        step,
        str(len(started)),
        numbers.duration(p99_ns, 2),
        _signed(latest.late_ns),
        latest.host,
        f"±{numbers.duration(bound_ns, 2)}",
    )


def _time(value_ns: float | None) -> str:
    return UNKNOWN if value_ns is None else numbers.duration(value_ns, 3)


def _signed(value_ns: float) -> str:
    """Return a time with its sign: of clocks and starts."""
    return f"{'-' if value_ns < 0 else '+'}{numbers.duration(abs(value_ns), 3)}"
