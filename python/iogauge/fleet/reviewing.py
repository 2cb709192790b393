"""Reviews the drives of many hosts at once: what hosts there are, what each has to do, and the session that does it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Unpack

from iogauge.errors import IogaugeError, UsageError
from iogauge.fleet.control.link import Link
from iogauge.fleet.control.patience import PATIENCE, Patience, patience_on_one_computer
from iogauge.fleet.control.session import OnPreflight, Session, run_session
from iogauge.fleet.dask.cluster import local_fleet, scheduled_fleet, ssh_fleet
from iogauge.fleet.dask.security import is_loopback, open_to_all
from iogauge.fleet.host.messages import HostRequest
from iogauge.fleet.hosts import HostEntry, load_hosts
from iogauge.fleet.planning import planned, requests
from iogauge.fleet.progress import FleetProgress, OnFleetProgress
from iogauge.fleet.saved import Fleet
from iogauge.library.options import ReviewOptions, StrPath, as_list, require_choice, require_whole
from iogauge.library.public import public
from iogauge.library.review import refuse_with_resume
from iogauge.schema.fleet import FleetEvent, FleetManifest, FleetMode, HostOutcome, Reach
from iogauge.store.fleet import FleetStore
from iogauge.store.outputs import Claims
from iogauge.text.option import option

MOST_LOCAL = 1000
_MOST_NAMES = 10


@public
def review(
    targets: Sequence[StrPath] | StrPath = (),
    *,
    hosts: StrPath | None = None,
    local: int | None = None,
    scheduler: str | None = None,
    keys: StrPath | None = None,
    output: StrPath | None = None,
    resume: StrPath | None = None,
    mode: str = "together",
    stagger: float | str = "0s",
    destroy: Sequence[str] | str = (),
    shared: bool = False,
    reads_go_on: bool = False,
    on_preflight: OnPreflight | None = None,
    on_progress: OnFleetProgress = lambda _: None,
    **options: Unpack[ReviewOptions],
) -> Fleet:
    """Review targets on many hosts at once; return the saved fleet.

    A host that is lost on the way, or refuses, is named in the fleet as missing; the others go on.

    Args:
        targets: on every host, unless the hosts file names others. ``{host}`` in one stands for the host's name.
        hosts: a TOML file of computers, each reached by ssh. Connections are encrypted. With ``scheduler``, it lists
            the workers that are hosts, with their targets, labels and slots.
        local: so many processes of this computer are the hosts.
        scheduler: the address of a Dask scheduler, each of whose workers is a host.
        keys: the directory of certificates that ``make_keys`` made. Needed beyond this computer with ``scheduler``.
        output: the directory to save in; by default a new one here.
        resume: continue the fleet in this directory, as it was planned: fetch what hosts saved, run what is missing.
        mode: ``"together"``, every step starts at the same instant on all hosts; ``"staggered"``, each host starts
            ``stagger`` after the one before it; ``"independent"``, each host as fast as it can.
        stagger: seconds, or text such as ``"30s"``.
        destroy: drives whose content may be lost: ``"HOST:SERIAL"``, or ``"HOST:PATH"``.
        shared: allow a drive to be used by several hosts.
        reads_go_on: let reviews that only read go on when the controller is lost; a later ``resume`` fetches them.
        on_preflight: is called with what the hosts said of themselves (``Preflight``) before anything runs; returns
            whether to begin, on the hosts that do not refuse. By default, no host may refuse.
        on_progress: is called with each piece of news (``FleetProgress``), as ``print`` can be.
        options: of each host's review; see ``iogauge.ReviewOptions``.

    Raises:
        UsageError: an option is invalid.
        IogaugeError: hosts cannot be reached or refuse, or nothing can be saved.
        Interrupted: Ctrl-C, after all hosts have ended; what they completed is saved.
    """
    where = _Where.named(hosts=hosts, local=local, scheduler=scheduler, keys=keys)
    requests_of = partial(
        requests, destroy=as_list(destroy), meter=options.get("meter"), reads_go_on=reads_go_on
    )
    session = partial(
        Session,
        shared=shared,
        on_preflight=on_preflight,
        on_progress=on_progress,
        warnings=where.warnings(),
    )
    if resume is not None:
        passed = {"targets": targets or None, "output": output, **options}
        refuse_with_resume([name for name, value in passed.items() if value is not None and name != "meter"])
        return _resumed(Path(resume), where, requests_of, session, on_progress)
    require_choice("mode", mode, [*FleetMode])
    path = Path(output or f"iogauge-fleet-{datetime.now(UTC):%Y%m%dT%H%M%SZ}")
    Claims().new_directory(path)
    plan = partial(
        planned,
        entries={entry.name: entry for entry in where.entries},
        targets=as_list(targets),
        mode=FleetMode(mode),
        stagger=stagger,
        reach=where.reach,
        options=options,
    )
    # What is invalid is found before hosts are started. A scheduler's hosts may have no names yet.
    expected = where.names()
    manifest = plan(expected)
    if expected:
        requests_of(manifest, expected)
    with ExitStack() as stack:
        links = stack.enter_context(where.links(expected))
        names = [link.name for link in links]
        manifest = plan(names)

        def created(manifest: FleetManifest) -> FleetStore:
            store = FleetStore.create(path, manifest)
            stack.enter_context(store.lock())
            return store

        return Fleet(
            run_session(
                session(
                    manifest=manifest,
                    requests=requests_of(manifest, names),
                    stored=created,
                    patience=where.patience(len(names)),
                ),
                links,
            )
        )


def _resumed(
    path: Path,
    where: _Where,
    requests_of: Callable[[FleetManifest, Iterable[str]], dict[str, HostRequest]],
    session: Callable[..., Session],
    on_progress: OnFleetProgress,
) -> Fleet:
    """Continue a saved fleet. Nobody else can from the first look at it to the end."""
    with FleetStore.open(path).lock():
        store = FleetStore.open(path)
        manifest = store.manifest
        missing = [host.name for host in manifest.hosts if host.outcome is not HostOutcome.DONE]
        if not missing:
            return Fleet(store)
        _refuse_elsewhere(where, manifest, path)
        requests_of(manifest, missing)
        with where.links(missing) as links:
            there = [link for link in links if link.name in missing]
            names = [link.name for link in there]
            if absent := [name for name in missing if name not in names]:
                _tell_absent(store, absent, on_progress, all_of_them=not there)
            return Fleet(
                run_session(
                    session(
                        manifest=manifest,
                        requests=requests_of(manifest, names),
                        stored=partial(_continued, store),
                        # Of all hosts: the leases of before, of which one may still last, were as long.
                        patience=where.patience(len(manifest.hosts)),
                    ),
                    there,
                )
            )


@dataclass(frozen=True, kw_only=True)
class _Where:
    """Where the hosts of a fleet are: here, unless there are ``entries`` or a ``scheduler``.

    With both, the entries are workers of the scheduler.
    """

    local: int
    entries: tuple[HostEntry, ...]
    scheduler: str | None
    keys: Path | None

    @classmethod
    def named(
        cls, *, hosts: StrPath | None, local: int | None, scheduler: str | None, keys: StrPath | None
    ) -> _Where:
        """Return where the hosts are. Raises UsageError if several places are named."""
        names = {"hosts": hosts, "local": local, "scheduler": scheduler}
        several = [option(name) for name, value in names.items() if value is not None]
        if len(several) > 1 and local is not None:
            raise UsageError(f"{', '.join(several)} exclude each other", hint="say once where the hosts are")
        if local is not None:
            require_whole("local", local, least=1, most=MOST_LOCAL)
        return cls(
            local=local or 0,
            entries=() if hosts is None else load_hosts(Path(hosts)),
            scheduler=scheduler,
            keys=None if keys is None else Path(keys),
        )

    @property
    def reach(self) -> Reach:
        """How the hosts are reached."""
        if self.scheduler is not None:
            return Reach.SCHEDULER
        return Reach.SSH if self.entries else Reach.LOCAL

    def names(self) -> list[str]:
        """Return the names of the hosts; none if only a scheduler knows them. Raises UsageError if no host is named."""
        if self.scheduler is not None and not self.entries:
            return []
        if not self.entries and not self.local:
            raise UsageError(
                "no hosts are named",
                hint=f"{option('local', 4)}, {option('hosts', 'FILE')} or {option('scheduler', 'ADDRESS')}",
            )
        digits = len(str(self.local))
        return [entry.name for entry in self.entries] or [
            f"local{number:0{digits}}" for number in range(1, self.local + 1)
        ]

    def patience(self, hosts: int) -> Patience:
        """Return how patient the controller is with so many hosts.

        A scheduler on loopback has workers on this computer only.
        """
        is_here = self.reach is Reach.LOCAL or (self.scheduler is not None and is_loopback(self.scheduler))
        return patience_on_one_computer(hosts) if is_here else PATIENCE

    def links(self, names: Sequence[str]) -> AbstractContextManager[tuple[Link, ...]]:
        """Return the links to these hosts; a scheduler's are all that it has, unless they are listed."""
        entries = [entry for entry in self.entries if entry.name in names]
        if self.scheduler is not None:
            return scheduled_fleet(self.scheduler, keys=self.keys, listed=entries)
        if self.entries:
            return ssh_fleet(entries, keys=self.keys)
        return local_fleet(names, keys=self.keys)

    def warnings(self) -> tuple[str, ...]:
        """Return warnings of what is unsafe about the connections to hosts."""
        text = "" if self.scheduler is None else open_to_all(self.scheduler)
        return (text,) if text else ()


def _refuse_elsewhere(where: _Where, manifest: FleetManifest, path: Path) -> None:
    """Raise UsageError if the hosts are named in another way than before: they would be other computers."""
    if where.reach is manifest.reach:
        return
    match manifest.reach:
        case Reach.LOCAL:
            raise UsageError(
                f"{path}: its hosts are processes of this computer", hint="name no other hosts to resume it"
            )
        case Reach.SSH:
            hint = f"add {option('hosts', 'FILE')}"
        case Reach.SCHEDULER:
            hint = f"add {option('scheduler', 'ADDRESS')}"
    raise UsageError(f"{path}: its hosts are other computers, which must be named again", hint=hint)


def _tell_absent(
    store: FleetStore, absent: Sequence[str], on_progress: OnFleetProgress, *, all_of_them: bool
) -> None:
    """Record and report which missing hosts are not there. Raises IogaugeError if none is."""
    names = ", ".join(absent[:_MOST_NAMES]) + (", ..." if len(absent) > _MOST_NAMES else "")
    hint = "start them with the names that they had, or list them in the hosts file"
    if all_of_them:
        raise IogaugeError(f"{store.path}: none of the missing hosts is there: {names}", hint=hint)
    at = datetime.now(UTC).isoformat(timespec="milliseconds")
    event = FleetEvent(at=at, kind="message", text=f"missing hosts that are not there: {names}; {hint}")
    store.append(event)
    on_progress(FleetProgress(hosts=len(store.manifest.hosts), event=event))


def _continued(store: FleetStore, manifest: FleetManifest) -> FleetStore:
    """Return a fleet that goes on, with its manifest replaced."""
    store.save_manifest(manifest)
    return store
