"""The conclusions on a fleet as sentences: which drives, hosts and models are slow, who is missing, how even it was."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

from iogauge.report.fleet.view import KINDS, FleetView, Host, Slow, Start
from iogauge.text import numbers
from iogauge.text.numbers import capitalised

MOST_NAMES = 3
"""The most slow drives or missing hosts that a sentence names; it counts the others."""


_BECAME = {
    "begun": "begins",
    "resumed": "is resumed",
    "done": "is done",
    "lost": "is lost",
    "refused": "refuses",
    "failed": "failed",
    "interrupted": "was interrupted",
    "lease-ended": "lost its lease",
}
"""What became of a host, by the kind of its event."""


def answer(view: FleetView) -> str:
    """Return the answer in a sentence or a few: what is slow, and which hosts are missing.

    If no drive is judged, the p99 of all hosts together comes first.
    """
    return " ".join([*_together(view), *_slow(view), *_missing(view)])


def findings(view: FleetView) -> list[str]:
    """Return what was concluded, a sentence each: what is slow, the widest first, and what was not told apart."""
    slow = [slow for kind in KINDS for slow in view.slow_of(kind)]
    return [
        *(f"{capitalised(it.kind)} {it.name}: {it.why}." for it in slow),
        *view.undecided,
        *_detectable(view),
    ]


def circumstances(view: FleetView) -> list[str]:
    """Return how the fleet ran, a sentence each: ``how_it_ran``, and what differs between hosts."""
    sentences = how_it_ran(view)
    if view.differences:
        facts = ", ".join(difference.fact for difference in view.differences)
        sentences.append(f"Hosts differ in {facts}, which may explain differences in the figures.")
    return sentences


def how_it_ran(view: FleetView) -> list[str]:
    """Return a sentence each on its starts, on how evenly the hosts shared, and on what is left out."""
    return [*_starts(view), *_shares(view), *_excluded(view)]


def outcome_of(host: Host) -> str:
    """Return how a host's review ended, in words; a host is planned until it has ended."""
    return "not ended" if host.outcome == "planned" else host.outcome


def missing_host(host: Host) -> str:
    """Return a host and why it is missing: ``r9 (lost: no answer for 10 s)``."""
    # Of the other outcomes, the reason says how far the host came.
    completed = f", {numbers.counted(host.steps, 'step')} complete" if host.outcome == "lost" else ""
    return f"{host.name} ({outcome_of(host)}{': ' + host.why if host.why else ''}{completed})"


def event_line(host: str, kind: str, text: str) -> str:
    """Return what happened in one line: which host, what became of it, and why.

    >>> event_line("r9", "lost", "no answer for 5 s"), event_line("r9", "done", ""), event_line("", "message", "a text")
    ('r9 is lost: no answer for 5 s', 'r9 is done', 'a text')
    """
    text = " ".join(text.split())
    if host and kind in _BECAME:
        became = f"{host} {_BECAME[kind]}"
        return f"{became}: {text}" if text else became
    said = f"{kind}: {text}" if kind == "warning" else text or kind
    return f"{host}: {said}" if host else said


def late(starts: Sequence[Start]) -> tuple[float, float]:
    """Return how late at most 99 % of starts were in either direction, and the largest bound; in ns.

    >>> late([Start(host="a", step="1", late_ns=-20.0, bound_ns=5.0)])
    (20.0, 5.0)
    """
    lateness = sorted(abs(start.late_ns) for start in starts)
    return lateness[math.ceil(0.99 * len(lateness)) - 1], max(start.bound_ns for start in starts)


def _together(view: FleetView) -> Iterator[str]:
    known = [group for group in view.groups_by("fleet") if group.p99_ns is not None]
    if view.judged or not known:
        return
    least, most = (choose(known, key=lambda group: group.p99_ns or 0.0) for choose in (min, max))
    hosts = "The hosts together had a p99 of" if len(view.hosts) > 1 else "p99 was"
    of_least = f"{numbers.duration(least.p99_ns or 0.0, 3)} ({least.step}, {least.direction})"
    of_most = f"{numbers.duration(most.p99_ns or 0.0, 3)} ({most.step}, {most.direction})"
    yield f"{hosts} {of_most}." if least is most else f"{hosts} {of_least} to {of_most}."


def _slow(view: FleetView) -> Iterator[str]:
    if not view.judged:
        yield f"No drive was judged: {_reason(view)}"
        return
    for kind in KINDS[:-1]:
        if slow := view.slow_of(kind):
            yield f"{numbers.counted(len(slow), kind)} {_are(slow)} slow: {_named(slow)}."
    of = f"of {len(view.judged):,} drives"
    if slow := view.slow_of("drive"):
        yield f"{len(slow):,} {of} {_are(slow)} slow: {_named(slow)}."
    else:
        yield f"{'No other drive' if view.slow else 'None'} {of} is slow beside its peers."


def _detectable(view: FleetView) -> Iterator[str]:
    if view.detectable is not None:
        yield (
            f"A drive with {view.detectable:.2f}x the latency of its peers would be found in 95 of 100 cases; "
            f"at most {numbers.percent(view.false_rate, 1)} of findings are expected to be false."
        )


def _reason(view: FleetView) -> str:
    if not view.drives:
        return "no host has measured anything."
    return view.undecided[0] if view.undecided else "each has too few peers."


def _are(slow: Sequence[Slow]) -> str:
    return "is" if len(slow) == 1 else "are"


def _named(slow: Sequence[Slow]) -> str:
    names = [f"{it.name} ({_ratio(it)}{_more(it)})" for it in slow[:MOST_NAMES]]
    more = [f"{len(slow) - MOST_NAMES} more"] if len(slow) > MOST_NAMES else []
    return numbers.listed([*names, *more])


def _more(slow: Slow) -> str:
    how = "; p99" if slow.in_tail else "; at times" if slow.at_times else ""
    return how if slow.kind == "drive" else f"{how}; {numbers.counted(slow.drives, 'drive')}"


def _ratio(slow: Slow) -> str:
    ratio, _, interval = numbers.times(slow.slowness, slow.low, slow.high).partition(" (")
    return f"{ratio}, {interval.removesuffix(')')}"


def _missing(view: FleetView) -> Iterator[str]:
    if not view.missing:
        return
    names = [missing_host(host) for host in view.missing[:MOST_NAMES]]
    more = len(view.missing) - MOST_NAMES
    is_missing = "is missing" if len(view.missing) == 1 else "are missing"
    listed = numbers.listed([*names, *([f"{more} more"] if more > 0 else [])])
    yield f"{numbers.counted(len(view.missing), 'host')} {is_missing}: {listed}."


def _starts(view: FleetView) -> Iterator[str]:
    if view.starts:
        p99_ns, bound_ns = late(view.starts)
        yield (
            f"Hosts began steps within {numbers.duration(p99_ns, 2)} of the plan (p99), "
            f"as far as their clocks are known (±{numbers.duration(bound_ns, 2)})."
        )


def _shares(view: FleetView) -> Iterator[str]:
    """Yield how unevenly hosts that pressed together shared, at the step and direction where they did most."""
    shared = [
        (group.lowest.iops / group.highest.iops, place, group, group.lowest, group.highest)
        for place, group in enumerate(view.groups_by("fleet"))
        if view.mode == "together" and group.hosts > 1 and group.lowest and group.highest and group.iops
    ]
    if shared:
        ratio, _, group, lowest, highest = min(shared)
        least = f"{numbers.rate(lowest.iops, 4)} ({lowest.host})"
        most = f"{numbers.rate(highest.iops, 4)} ({highest.host})"
        yield (
            f"Hosts shared least evenly at {group.step} ({group.direction}): from {least} to {most} IOPS, "
            f"{f'a ratio of {1 / ratio:.2f}' if ratio else 'a host had none'}; "
            f"{numbers.rate(group.iops or 0.0, 4)} IOPS in all."
        )


def _excluded(view: FleetView) -> Iterator[str]:
    # Every direction of a step has the same intervals.
    steps = {group.step: group for group in view.groups_by("fleet")}
    excluded_s = sum(group.excluded_s for group in steps.values())
    if excluded_s > 0:
        yield f"Not all hosts ran for {numbers.clock_time(excluded_s)}, which the fleet's figures leave out."
    if never := [step for step, group in steps.items() if group.iops is None]:
        names = [
            *never[:MOST_NAMES],
            *([f"{len(never) - MOST_NAMES} more"] if len(never) > MOST_NAMES else []),
        ]
        yield f"Without figures, since its hosts never ran all at the same time: {numbers.listed(names)}."
