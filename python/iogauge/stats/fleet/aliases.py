"""What a fleet cannot show: causes that always occur together, and comparisons with too few drives."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import combinations

from iogauge.stats.fleet.effects import ASSUMED_SPREAD, FEWEST_DRIVES, Effects, MixedModel
from iogauge.stats.fleet.fleet import NOUNS, Drives
from iogauge.stats.fleet.peers import FEWEST_PEERS, Peers
from iogauge.text import numbers


def cannot_tell(
    columns: Mapping[str, Sequence[str]], peers: Peers, model: MixedModel | None
) -> tuple[str, ...]:
    """Return in sentences what cannot be told apart. ``columns`` are NOUNS to one name for each drive.

    ``model`` is None where no drive is judged.
    """
    return (*_few(peers), *_hosts(columns["host"], model), *_slots(model), *_aliases(columns))


def without_tails(mean: Drives, tail: Drives) -> Iterator[str]:
    """Yield in sentences of which drives the p99 is not judged, though their mean is."""
    if not tail.judged.any():
        yield "No drive has enough requests to judge its p99."
        return
    for name in sorted(set(mean.of_judged("model")) - set(tail.of_judged("model"))):
        yield f"No drive of {_named('model', name)} has enough requests to judge its p99."


def _few(peers: Peers) -> Iterator[str]:
    for name, count in peers.alone:
        yield numbers.capitalised(
            f"{_named('model', name)} has {numbers.counted(count, 'drive')}. {FEWEST_PEERS} are needed to show "
            f"what is usual, so {'it is' if count == 1 else 'they are'} not judged."
        )
    for name, firmware in peers.merged:
        yield numbers.capitalised(
            f"{_named('firmware', firmware)} of {_named('model', name)} has fewer than {FEWEST_PEERS} drives. "
            "They are compared with the model's other drives, so a slow drive and a slow firmware cannot be told apart."
        )


def _hosts(hosts: Sequence[str], model: MixedModel | None) -> Iterator[str]:
    drives = [hosts.count(name) for name in sorted(set(hosts))]
    few = sum(count < FEWEST_DRIVES for count in drives)
    if len(drives) == 1:
        yield "All drives are in one host, so nothing shows whether the host is slow."
    elif max(drives, default=0) == 1:
        yield "Each host has one drive, so a slow drive and a slow host cannot be told apart."
    elif few:
        yield (
            f"{few} of {len(drives)} hosts have fewer than {FEWEST_DRIVES} drives. There, a slow drive and a slow host "
            "cannot be told apart."
        )
    if model and model.hosts.assumed:
        yield _assumed("hosts", model.hosts)


def _slots(model: MixedModel | None) -> Iterator[str]:
    if model and model.slots.assumed:
        yield _assumed("slots", model.slots)


def _assumed(noun: str, effects: Effects) -> str:
    return (
        f"{int(effects.tested.sum())} {noun} do not show how much healthy {noun} differ. They are assumed to differ by "
        f"{ASSUMED_SPREAD:.0%} (standard deviation)."
    )


def _aliases(columns: Mapping[str, Sequence[str]]) -> Iterator[str]:
    known = {noun: column for noun, column in columns.items() if len(set(column)) > 1}
    for one, other in combinations(NOUNS, 2):
        if one not in known or other not in known:
            continue
        pairs = set(zip(known[one], known[other], strict=True))
        if len(pairs) == len(set(known[one])) == len(set(known[other])) < len(known[one]):
            yield f"Each {one} has its own {other}, so a slow {one} and a slow {other} cannot be told apart."
    if "model" in known and "host" in known:
        hosts_of: dict[str, set[str]] = defaultdict(set)
        for name, host in zip(known["model"], known["host"], strict=True):
            hosts_of[name].add(host)
        for name, hosts in sorted(hosts_of.items()):
            if len(hosts) == 1:
                (host,) = hosts
                yield numbers.capitalised(
                    f"{_named('model', name)} is only in host {host}, so the two cannot be told apart."
                )


def _named(noun: str, name: str) -> str:
    """Return a thing by name.

    >>> _named("model", "P4800X"), _named("firmware", "")
    ('model P4800X', 'an unknown firmware')
    """
    return f"{noun} {name}" if name else f"an unknown {noun}"
