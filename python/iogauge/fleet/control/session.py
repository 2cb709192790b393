"""One session of a fleet: from the preflight to the last file fetched. A review that was interrupted has several."""

from __future__ import annotations

import time
import uuid
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from iogauge.errors import IogaugeError
from iogauge.fleet.control.clocks import Clocks, compare
from iogauge.fleet.control.controller import Controller
from iogauge.fleet.control.host_run import HostRun
from iogauge.fleet.control.link import Link, LinkError
from iogauge.fleet.control.patience import PATIENCE, Patience
from iogauge.fleet.control.preflight import Preflight, look, look_again, with_clocks, with_warnings
from iogauge.fleet.host.messages import HostFacts, HostRequest, Lease
from iogauge.fleet.progress import FleetProgress, OnFleetProgress
from iogauge.library.errors import Interrupted
from iogauge.schema.fleet import ClockBatch, FleetEvent, FleetManifest, HostOutcome
from iogauge.store.fleet import FleetStore
from iogauge.text import numbers

OnPreflight = Callable[[Preflight], bool]
"""Is called with what the hosts said before anything runs; returns whether to begin on those that do not refuse."""

_CLOSE_S = 2.0
_BEGUN = ("begun", "resumed")
"""Kinds of the events that are recorded before a host gets a lease; their number is the lease's generation."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """What a session needs, beside the links to the hosts."""

    manifest: FleetManifest
    requests: Mapping[str, HostRequest]
    """Of the hosts that are to run, by name."""
    stored: Callable[[FleetManifest], FleetStore]
    """Saves a manifest, in a new fleet's directory or that of a saved one, and returns the fleet, locked."""
    shared: bool = False
    """Whether a drive may be used by several hosts."""
    on_preflight: OnPreflight | None = None
    """None: a host that refuses ends the session before it begins."""
    on_progress: OnFleetProgress = lambda _: None
    warnings: Sequence[str] = ()
    """What the user must know before it begins."""
    patience: Patience = PATIENCE


def run_session(session: Session, links: Sequence[Link]) -> FleetStore:
    """Run the reviews of these hosts, and fetch what they save.

    Raises:
        IogaugeError: a host refuses and nobody was asked, all refuse, or the fleet's directory cannot be written.
        Interrupted: at Ctrl-C, after all hosts have ended; or nothing was to begin.
    """
    reached = {link.name: link for link in links}
    patience = session.patience
    hosts: list[HostRun] = []
    try:
        checked = _looked(session, reached)
        checked, batches = _with_clocks(checked, reached, patience)
        checked = with_warnings(checked, session.manifest, session.warnings)
        _require_ready(checked, session.on_preflight)
        store = session.stored(_described(session.manifest, checked))
        for name, error in checked.refused:
            store.append(_event("refused", str(error), name))
        for text in checked.warnings:
            event = _event("warning", text, "")
            store.append(event)
            if session.on_preflight is None:
                session.on_progress(FleetProgress(hosts=len(checked.hosts), event=event))
        _keep_copies(store, checked)
        # What was measured before is of no use: a computer that starts again has another clock.
        clocks = Clocks(batches)
        store.append(*batches)
        leases = Counter(event.host for event in store.events() if event.kind in _BEGUN)
        for name in checked.ready:
            # Recorded first: so no two leases have the same generation, whatever is killed.
            store.append(_event("resumed" if leases[name] else "begun", "", name))
            request, facts = session.requests[name], checked.facts[name]
            lease = _lease(request, facts, leases[name] + 1, clocks, patience)
            hosts.append(
                HostRun(
                    name,
                    reached[name],
                    request,
                    lease,
                    resumes=leases[name] > 0,
                    goes_on=request.reads_go_on and facts.only_reads,
                )
            )
        controller = Controller(
            store, hosts, clocks=clocks, on_progress=session.on_progress, patience=patience
        )
        controller.run()
    finally:
        closed = {link.name: link.call("close") for link in links}
        lost = {host.name for host in hosts if host.outcome is HostOutcome.LOST}
        wait([answer for name, answer in closed.items() if name not in lost], timeout=_CLOSE_S)
    if controller.was_interrupted:
        done = sum(host.outcome is HostOutcome.DONE for host in store.manifest.hosts)
        raise Interrupted(f"{done} of {len(store.manifest.hosts)} hosts are done", path=store.path)
    return store


def _looked(session: Session, links: Mapping[str, Link]) -> Preflight:
    """Ask the hosts for their facts. Where an earlier session's review still runs, wait until its lease has ended."""
    patience, requests = session.patience, session.requests
    shared, timeout_s = session.shared, patience.preflight_s
    checked = look(links, requests, shared=shared, timeout_s=timeout_s)
    longest_s = patience.lease_s + patience.end_s
    until = time.monotonic() + longest_s
    if names := ", ".join(checked.still_running):
        text = f"waits at most {longest_s:.0f} s until the earlier review of {names} has ended"
        session.on_progress(FleetProgress(hosts=len(links), event=_event("message", text, "")))
    while checked.still_running and time.monotonic() < until:
        time.sleep(patience.renew_s)
        # One that falls silent now holds the others no longer than the wait that was announced.
        left_s = min(timeout_s, max(patience.silent_s, until - time.monotonic()))
        checked = look_again(checked, links, requests, shared=shared, timeout_s=left_s)
    return checked


def _keep_copies(store: FleetStore, checked: Preflight) -> None:
    """Move what was fetched of hosts that have lost it out of the way: they begin anew."""
    for name in checked.ready:
        if checked.facts[name].missing_steps is None and (kept := store.set_aside(name)) is not None:
            text = f"it lost what it had saved, and begins anew; what was fetched of that is in {kept}"
            store.append(_event("message", text, name))


def _require_ready(checked: Preflight, on_preflight: OnPreflight | None) -> None:
    """Raise IogaugeError if too many hosts refuse, and Interrupted if the user does not want to begin."""
    if checked.refused and (on_preflight is None or not checked.ready):
        host, error = checked.refused[0]
        others = len({name for name, _ in checked.refused}) - 1
        more = (
            f"; {numbers.counted(others, 'other host')} refuse{'' if others > 1 else 's'}" if others else ""
        )
        raise IogaugeError(f"{host}: {error}{more}", hint=error.hint)
    if on_preflight is not None and not on_preflight(checked):
        raise Interrupted("nothing was begun")


def _described(manifest: FleetManifest, checked: Preflight) -> FleetManifest:
    """Return the manifest with what the hosts said of themselves."""
    for name in checked.hosts:
        host = manifest.host(name)
        if facts := checked.facts.get(name):
            machine = facts.machine
            seen = {"hostname": machine.hostname, "kernel": machine.kernel, "cpu": machine.cpu}
            host = host.model_copy(update={**seen, "version": facts.version})
        why = "; ".join(str(error) for refusing, error in checked.refused if refusing == name)
        outcome = HostOutcome.REFUSED if why else HostOutcome.PLANNED
        manifest = manifest.with_host(host.model_copy(update={"outcome": outcome, "why": why}))
    return manifest


def _with_clocks(
    checked: Preflight, links: Mapping[str, Link], patience: Patience
) -> tuple[Preflight, tuple[ClockBatch, ...]]:
    """Compare the clocks of all hosts that are ready; those whose clock cannot be compared refuse, too."""
    with ThreadPoolExecutor(2, thread_name_prefix="iogauge-clock") as threads:
        results: dict[str, Future[ClockBatch]] = {
            name: threads.submit(partial(compare, links[name], "before", timeout_s=patience.silent_s))
            for name in checked.ready
        }
    batches, refused = [], []
    for name, result in results.items():
        try:
            batches.append(result.result())
        except (LinkError, IogaugeError) as error:
            hint = (
                getattr(error, "hint", None) or "check that the host runs and can be reached, or leave it out"
            )
            refused.append((name, IogaugeError(f"its clock cannot be compared: {error}", hint=hint)))
    return with_clocks(checked, {batch.host: batch for batch in batches}, refused), tuple(batches)


def _lease(
    request: HostRequest, facts: HostFacts, generation: int, clocks: Clocks, patience: Patience
) -> Lease:
    """Return a new lease of the drives of a host. It is void if it comes so late that it would have ended."""
    latest_ns = time.monotonic_ns() + int(patience.lease_s * 1e9)
    return Lease(
        id=uuid.uuid4().hex,
        fleet_id=request.fleet_id,
        host=request.host,
        drives=facts.drives,
        generation=generation,
        seconds=patience.lease_s,
        begin_by_ns=clocks.to_host(request.host, latest_ns).ns,
    )


def _event(kind: str, text: str, host: str) -> FleetEvent:
    return FleetEvent(
        at=datetime.now(UTC).isoformat(timespec="milliseconds"), host=host, kind=kind, text=text
    )
