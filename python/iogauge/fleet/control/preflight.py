"""Asks all hosts what they are and whether they can run their review, before anything runs; says what differs."""

from __future__ import annotations

import concurrent.futures
import itertools
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from iogauge import __version__
from iogauge.errors import IogaugeError
from iogauge.fleet.control.link import Link, LinkError
from iogauge.fleet.host.messages import HostFacts, HostRequest, Space
from iogauge.fleet.installing import install
from iogauge.report.fleet.view import Difference
from iogauge.schema.fleet import ClockBatch, FleetManifest, FleetMode
from iogauge.text import numbers
from iogauge.text.option import option

_LOOK_S = 1.0
"""Between two checks whether a host that owes an answer still runs."""
LEAST_FREE_BYTES = 10_000_000
"""The space that a host needs if it does not say how much its review takes."""


@dataclass(frozen=True, kw_only=True)
class Preflight:
    """What the hosts said of themselves before anything runs."""

    hosts: tuple[str, ...]
    """All hosts of the fleet by name, those that refuse too."""
    facts: Mapping[str, HostFacts]
    """Of the hosts that answered."""
    refused: tuple[tuple[str, IogaugeError], ...]
    """The hosts that cannot run their review, and why; a host may be in it several times."""
    differences: tuple[Difference, ...]
    """In what the hosts differ that answered."""
    writes: tuple[tuple[str, str], ...]
    """The hosts that write, and the targets: drives or files, not drive models."""
    clocks: Mapping[str, ClockBatch] = field(default_factory=dict)
    """How the clocks of hosts that do not refuse compare with the controller's; each counts from its own start."""
    warnings: tuple[str, ...] = ()
    """What makes figures mean less than expected, or is unsafe, though the fleet can begin."""

    @property
    def ready(self) -> tuple[str, ...]:
        """The hosts that do not refuse."""
        refused = {host for host, _ in self.refused}
        return tuple(host for host in self.hosts if host not in refused)

    @property
    def still_running(self) -> tuple[str, ...]:
        """The hosts that refuse since their earlier review of this fleet still runs."""
        return tuple(
            host for host, fact in self.facts.items() if any(refusal.in_use for refusal in fact.refused)
        )


def look(
    links: Mapping[str, Link],
    requests: Mapping[str, HostRequest],
    *,
    shared: bool,
    timeout_s: float,
) -> Preflight:
    """Ask all hosts at once. A host that does not answer in time refuses; nothing is raised for it.

    ``shared``: whether a drive may be used by several hosts.
    """
    answers = {name: link.call("preflight", requests[name]) for name, link in links.items()}
    deadline = time.monotonic() + timeout_s
    facts: dict[str, HostFacts] = {}
    refused: list[tuple[str, IogaugeError]] = []
    for name, answer in answers.items():
        try:
            facts[name] = _answer(links[name], answer, deadline)
        except concurrent.futures.TimeoutError:
            refused.append((name, _silent(f"it did not answer for {timeout_s:g} s")))
        except LinkError as error:
            refused.append((name, _silent(str(error))))
        except IogaugeError as error:
            refused.append((name, error))
        except Exception as error:  # another version of iogauge may not even know the question
            refused.append((name, _silent(f"{type(error).__name__}: {error}")))
    return judged(tuple(links), facts, refused, shared=shared)


def _answer(link: Link, answer: concurrent.futures.Future[HostFacts], deadline: float) -> HostFacts:
    """Wait for a host's answer. Raise LinkError if its process ends: the question may then never arrive."""
    while True:
        try:
            return answer.result(timeout=max(0.0, min(_LOOK_S, deadline - time.monotonic())))
        except concurrent.futures.TimeoutError:
            if link.has_ended:
                raise LinkError("its process ended") from None
            if time.monotonic() >= deadline:
                raise


def look_again(
    checked: Preflight,
    links: Mapping[str, Link],
    requests: Mapping[str, HostRequest],
    *,
    shared: bool,
    timeout_s: float,
) -> Preflight:
    """Ask the hosts again whose earlier review still ran; the others' answers stay."""
    busy = set(checked.still_running)
    again = look(
        {name: links[name] for name in busy},
        {name: requests[name] for name in busy},
        shared=shared,
        timeout_s=timeout_s,
    )
    facts = {**{name: fact for name, fact in checked.facts.items() if name not in busy}, **again.facts}
    before = [(name, error) for name, error in checked.refused if name not in busy]
    silent = [(name, error) for name, error in (*before, *again.refused) if name not in facts]
    return judged(checked.hosts, facts, silent, shared=shared)


def judged(
    hosts: Sequence[str],
    facts: Mapping[str, HostFacts],
    refused: Sequence[tuple[str, IogaugeError]] = (),
    *,
    shared: bool,
) -> Preflight:
    """Return what the answers of hosts say; ``refused``: those without one, and why."""
    own = [
        (name, IogaugeError(refusal.text, hint=refusal.hint or None))
        for name, fact in facts.items()
        for refusal in fact.refused
    ]
    unfit = [*refused, *own, *_other_versions(facts), *_same_drives(facts, shared=shared)]
    refusing = {name for name, _ in unfit}
    full = _full({name: fact for name, fact in facts.items() if name not in refusing})
    order = {name: place for place, name in enumerate(hosts)}
    return Preflight(
        hosts=tuple(hosts),
        facts=facts,
        refused=tuple(sorted([*unfit, *full], key=lambda pair: order[pair[0]])),
        differences=differences(facts),
        writes=tuple(
            (name, target.path)
            for name, fact in facts.items()
            if not fact.only_reads
            for target in fact.targets
            if target.modelled is None
        ),
    )


def with_clocks(
    checked: Preflight, clocks: Mapping[str, ClockBatch], refused: Sequence[tuple[str, IogaugeError]]
) -> Preflight:
    """Return a preflight with the hosts' clocks, and those that refuse since theirs cannot be compared."""
    order = {name: place for place, name in enumerate(checked.hosts)}
    both = sorted([*checked.refused, *refused], key=lambda pair: order[pair[0]])
    return replace(checked, clocks=clocks, refused=tuple(both))


def with_warnings(checked: Preflight, manifest: FleetManifest, warnings: Sequence[str]) -> Preflight:
    """Return a preflight with these warnings, and those that follow from how long the hosts' steps are."""
    return replace(checked, warnings=(*warnings, *_never_together(checked, manifest)))


def _never_together(checked: Preflight, manifest: FleetManifest) -> Iterator[str]:
    """Yield a warning if staggered hosts end every step before the last host begins it. Models run in virtual time."""
    longest_s = max(
        (
            checked.facts[name].longest_step_s
            for name in checked.ready
            if any(target.modelled is None for target in checked.facts[name].targets)
        ),
        default=0.0,
    )
    intervals = len(checked.ready) - 1
    last_s = intervals * manifest.stagger_ns / 1e9
    if manifest.mode is FleetMode.STAGGERED and 0 < longest_s <= last_s:
        yield (
            f"the last host begins a step {numbers.clock_time(last_s)} after the first, and no step takes longer than "
            f"{numbers.clock_time(longest_s)}: the hosts never all run at the same time, and have no common figures. "
            f"Choose {option('stagger')} below {numbers.duration(longest_s / intervals * 1e9, 2)}, or longer steps "
            f"({option('runtime')})"
        )


def differences(facts: Mapping[str, HostFacts]) -> tuple[Difference, ...]:
    """Return the facts that are not the same on all hosts; settings by the audit."""
    values: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for host, fact in facts.items():
        for name, value in dict(_compared(fact)).items():
            values[name][value].append(host)
    return tuple(
        Difference(
            fact=name,
            values=tuple(
                (value, tuple(hosts)) for value, hosts in sorted(by.items(), key=lambda item: -len(item[1]))
            ),
        )
        for name, by in values.items()
        if len(by) > 1
    )


def _compared(fact: HostFacts) -> Iterator[tuple[str, str]]:
    """Yield what is compared of a host: a name and a value."""
    yield "iogauge", fact.version
    yield "kernel", fact.machine.kernel
    yield "CPU", fact.machine.cpu
    yield "CPUs", str(fact.machine.cpus)
    for place, target in enumerate(fact.targets, 1):
        which = f"target {place} " if len(fact.targets) > 1 else ""
        yield f"{which}model", target.model or (target.modelled.drive if target.modelled else target.kind)
        yield f"{which}firmware", target.firmware or "-"
        yield f"{which}size", numbers.size(target.size_bytes)
    for place, audit in enumerate(fact.audits):
        which = f"target {place} " if place and len(fact.audits) > 2 else ""
        for setting in audit.facts:
            if not setting.volatile:
                yield f"{which}{setting.title}", setting.value or setting.meaning


def _other_versions(facts: Mapping[str, HostFacts]) -> Iterator[tuple[str, IogaugeError]]:
    for host, fact in facts.items():
        if fact.version != __version__:
            yield (
                host,
                IogaugeError(
                    f"it has iogauge {fact.version}, and the controller {__version__}",
                    hint=f"install the controller's wheel there: {install()}",
                ),
            )


def _full(facts: Mapping[str, HostFacts]) -> Iterator[tuple[str, IogaugeError]]:
    """Yield the hosts whose reviews do not fit together with those of other hosts on the same filesystem.

    Of ``facts``, all are of hosts that refuse for nothing else: one that refuses takes no space from the others.
    """
    taken: dict[str, int] = defaultdict(int)
    for host, fact in facts.items():
        unknown = Space(filesystem=host, path="", free_bytes=fact.free_bytes, needed_bytes=LEAST_FREE_BYTES)
        spaces = fact.spaces or (unknown,)
        too_small = [
            space for space in spaces if taken[space.filesystem] + space.needed_bytes > space.free_bytes
        ]
        for space in too_small:
            before = taken[space.filesystem]
            others = f", and other hosts there {numbers.rough_size(before)}" if before else ""
            yield (
                host,
                IogaugeError(
                    f"{numbers.rough_size(space.free_bytes)} are free {f'at {space.path}' if space.path else 'there'}, "
                    f"where it may take {numbers.rough_size(space.needed_bytes)}{others}",
                    hint="free some space there, name another directory of the host in the hosts file, or ask for less:"
                    f" {option('size')}, {option('runtime')}",
                ),
            )
        if not too_small:
            for space in spaces:
                taken[space.filesystem] += space.needed_bytes


def _same_drives(facts: Mapping[str, HostFacts], *, shared: bool) -> Iterator[tuple[str, IogaugeError]]:
    """Yield the hosts that would use a drive which another host before them uses."""
    users: dict[str, list[str]] = defaultdict(list)
    for host, drive in itertools.chain.from_iterable(
        ((host, drive) for drive in dict.fromkeys(fact.drives)) for host, fact in facts.items()
    ):
        users[drive].append(host)
    for drive, hosts in users.items():
        can_be_shared = drive.startswith(("serial ", "network "))
        if can_be_shared and shared:
            continue
        own = "give each host a target of its own: {host} in its path stands for the host's name"
        meant = f"if that is meant: {option('shared', True)}"
        hint = meant if drive.startswith("serial ") else f"{own}; {meant}" if can_be_shared else own
        for host in hosts[1:]:
            what = drive if can_be_shared else "file or device of one computer"
            yield (
                host,
                IogaugeError(
                    f"{hosts[0]} uses the same drive ({what})",
                    hint=hint,
                ),
            )


def _silent(why: str) -> IogaugeError:
    return IogaugeError(why, hint="check that the host runs and can be reached, or leave it out")
