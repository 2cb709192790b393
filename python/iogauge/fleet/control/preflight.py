"""Asks all hosts what they are and whether they can run their review, before anything runs; says what differs."""

from __future__ import annotations

import concurrent.futures
import itertools
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from iogauge import __version__
from iogauge.errors import IogaugeError
from iogauge.fleet.control.link import Link, LinkError
from iogauge.fleet.host.messages import HostFacts, HostRequest
from iogauge.report.fleet.view import Difference
from iogauge.text import numbers
from iogauge.text.option import option

LEAST_FREE_BYTES = 10_000_000
"""What a host needs at least to keep a review: a small one has some megabytes."""


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

    @property
    def ready(self) -> tuple[str, ...]:
        """The hosts that do not refuse."""
        refused = {host for host, _ in self.refused}
        return tuple(host for host in self.hosts if host not in refused)


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
            facts[name] = answer.result(timeout=max(0.0, deadline - time.monotonic()))
        except concurrent.futures.TimeoutError:
            refused.append((name, _silent(f"it did not answer for {timeout_s:g} s")))
        except LinkError as error:
            refused.append((name, _silent(str(error))))
        except IogaugeError as error:
            refused.append((name, error))
        except Exception as error:  # another version of iogauge may not even know the question
            refused.append((name, _silent(f"{type(error).__name__}: {error}")))
    return judged(tuple(links), facts, refused, shared=shared)


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
    others = [*_other_versions(facts), *_full(facts), *_same_drives(facts, shared=shared)]
    order = {name: place for place, name in enumerate(hosts)}
    return Preflight(
        hosts=tuple(hosts),
        facts=facts,
        refused=tuple(sorted([*refused, *own, *others], key=lambda pair: order[pair[0]])),
        differences=differences(facts),
        writes=tuple(
            (name, target.path)
            for name, fact in facts.items()
            if not fact.only_reads
            for target in fact.targets
            if target.modelled is None
        ),
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
                    hint=f"install the same version there: pip install 'iogauge[fleet]=={__version__}'",
                ),
            )


def _full(facts: Mapping[str, HostFacts]) -> Iterator[tuple[str, IogaugeError]]:
    for host, fact in facts.items():
        if fact.free_bytes < LEAST_FREE_BYTES:
            yield (
                host,
                IogaugeError(
                    f"{fact.free_bytes / 1e6:.0f} MB are free where it keeps its review, and "
                    f"{LEAST_FREE_BYTES / 1e6:.0f} are needed",
                    hint="free some space there, or name another directory of the host in the hosts file",
                ),
            )


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
