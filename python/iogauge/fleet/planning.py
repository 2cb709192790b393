"""Plans a fleet: which hosts review which targets, with which seeds and options."""

from __future__ import annotations

import secrets
import uuid
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from iogauge.errors import UsageError
from iogauge.fleet.host.messages import HostRequest
from iogauge.fleet.hosts import HostEntry
from iogauge.library import quantities
from iogauge.library.options import MOST_SEED, ReviewOptions, as_list, require_whole
from iogauge.reviews.ordering import seed_of
from iogauge.schema.fleet import FleetHost, FleetManifest, FleetMode, Reach
from iogauge.target import is_model
from iogauge.text.option import either, option

_MOST_NAMES = 10


def planned(
    names: Sequence[str],
    entries: Mapping[str, HostEntry],
    targets: Sequence[str],
    *,
    mode: FleetMode,
    stagger: float | str,
    reach: Reach,
    options: ReviewOptions,
) -> FleetManifest:
    """Return the manifest of a new fleet.

    Args:
        names: of the hosts; ``entries``: what the hosts file says of them.
        targets: of the hosts for which that names none.
        mode: when hosts start their steps; ``stagger``: seconds or text, only if they are staggered.
        reach: how the hosts are reached; in processes of this computer, relative paths mean the same.
        options: of every host's review.

    Raises UsageError for what is invalid.
    """
    stagger_ns = 0
    if mode is FleetMode.STAGGERED:
        stagger_ns = quantities.time_ns(stagger, name="stagger")
    elif str(stagger) not in ("0", "0.0", "0s"):
        raise UsageError(
            f"{option('stagger', stagger)}: only for hosts that are staggered",
            hint=f"add {option('mode', 'staggered')}, or leave it out",
        )
    seed = options.get("seed")
    if seed is None:
        seed = secrets.randbits(32)
    require_whole("seed", seed, least=0, most=MOST_SEED)
    hosts = []
    for name in names:
        entry = entries.get(name)
        own = entry.targets if entry and entry.targets else targets
        # A suite of the user's can name targets of its own.
        if not own and not any(map(_is_file, as_list(options.get("suites") or ()))):
            raise UsageError(
                f"{name}: it has no target",
                hint="name a target for all hosts, or targets of each in the hosts file",
            )
        paths = tuple(_target(target, name, is_local=reach is Reach.LOCAL) for target in own)
        hosts.append(
            FleetHost(
                name=name,
                targets=paths,
                labels=dict(entry.labels) if entry else {},
                slots=_slots(entry, paths) if entry else {},
                address=entry.address if entry and reach is Reach.SSH else "",
                seed=host_seed(seed, name),
            )
        )
    return FleetManifest(
        id=uuid.uuid4().hex,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        reach=reach,
        mode=mode,
        stagger_ns=stagger_ns,
        seed=seed,
        options=_stored(options),
        hosts=tuple(hosts),
    )


def host_seed(seed: int, host: str) -> int:
    """Return the seed of a host's review, from that of its fleet.

    Hosts with the same seed would issue the same requests, and a cache that they share could serve what another has
    just read.
    """
    return seed_of(seed, f"host {host}")


def requests(
    manifest: FleetManifest,
    names: Iterable[str],
    destroy: Sequence[str],
    *,
    meter: str | None = None,
    reads_go_on: bool = False,
) -> dict[str, HostRequest]:
    """Return what each of these hosts has to do.

    ``destroy``: ``HOST:SERIAL`` or ``HOST:PATH``; ``meter``: the user's command, which no file may name;
    ``reads_go_on``: whether a review that only reads goes on when the controller is lost. Raises UsageError for a host
    in ``destroy`` that there is not.
    """
    allowed: dict[str, list[str]] = {host.name: [] for host in manifest.hosts}
    for text in destroy:
        host, _, drive = text.partition(":")
        if not drive:
            raise UsageError(
                f"{option('destroy', text)}: names no host and its drive, so nothing was begun",
                hint=option("destroy", f"{next(iter(allowed))}:SERIAL"),
            )
        if host not in allowed:
            raise UsageError(
                f"{option('destroy', text)}: the fleet has no host {host}, so nothing was begun",
                hint=f"its hosts are {_first(list(allowed))}",
            )
        allowed[host].append(drive)
    options = {**manifest.options, **({} if meter is None else {"meter": meter})}
    return {
        name: HostRequest(
            fleet_id=manifest.id,
            host=name,
            targets=manifest.host(name).targets,
            destroy=tuple(allowed[name]),
            options=options,
            seed=manifest.host(name).seed,
            # Hosts that start each step together have their steps in one order.
            order_seed=None if manifest.mode is FleetMode.INDEPENDENT else manifest.seed,
            reads_go_on=reads_go_on,
            waits=manifest.mode is not FleetMode.INDEPENDENT,
            for_command=bool(either(command="yes", library="")),
        )
        for name in names
    }


def _first(names: Sequence[str]) -> str:
    """Return the first names, and how many more there are."""
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")


def _slots(entry: HostEntry, targets: Sequence[str]) -> dict[str, str]:
    """Return where a host's drives sit, by target. Raises UsageError if a slot names no target of the host."""
    slots = {target.replace("{host}", entry.name): slot for target, slot in entry.slots.items()}
    if unknown := set(slots) - set(targets):
        raise UsageError(
            f"{entry.name}: a slot is named for {sorted(unknown)[0]}, which is no target of this host",
            hint=f"its targets are {_first(targets) or 'those of the suite'}",
        )
    return slots


def _target(target: str, host: str, *, is_local: bool) -> str:
    """Return a target as a host is to name it."""
    target = target.replace("{host}", host)
    if is_model(target):
        return target
    if is_local:
        return str(Path(target).absolute())
    if not target.startswith("/"):
        raise UsageError(f"{target}: on another computer, this could be anything", hint="name its whole path")
    return target


def _stored(options: ReviewOptions) -> dict[str, object]:
    """Return the options as they are stored. A meter is a command, so it is named again when a fleet is resumed."""
    stored: dict[str, object] = {}
    for name, value in options.items():
        if name in ("seed", "meter") or value is None:
            continue
        if name in ("suites", "use"):
            stored[name] = [_file(text) for text in as_list(value)]  # type: ignore[arg-type]
        else:
            stored[name] = value
    return stored


def _file(name: str) -> str:
    """Return a suite or a profile by its name; a file by its absolute path."""
    return str(Path(name).absolute()) if _is_file(name) else name


def _is_file(name: str) -> bool:
    """Return whether a suite or a profile is named by a file."""
    return name.endswith((".py", ".toml"))
