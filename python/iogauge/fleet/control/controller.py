"""The loop that takes a fleet through its review.

One thread decides everything, here. It waits for answers of hosts, which arrive in its inbox; what takes long, such as
copying files, runs in other threads, which put their result there too. So there is an order of events, and nothing to
lock. The controller never waits for one host: a call that is not answered in time makes its host lost.
"""

from __future__ import annotations

import queue
import time
import uuid
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.fleet.clock import Phase as ClockPhase
from iogauge.fleet.control.barrier import Barrier, Lead
from iogauge.fleet.control.clocks import Clocks, compare
from iogauge.fleet.control.fetch import fetch
from iogauge.fleet.control.host_run import HostRun, Phase, state_of
from iogauge.fleet.control.link import LinkError
from iogauge.fleet.control.patience import PATIENCE, Patience
from iogauge.fleet.control.renewals import Renewals
from iogauge.fleet.host.messages import HostEvent
from iogauge.fleet.progress import OnFleetProgress
from iogauge.schema.fleet import ClockBatch, FleetEvent, FleetManifest, FleetMode, HostOutcome, Start
from iogauge.store.fleet import FleetStore

LEAD_NS = 1_000_000_000
"""How long before the first start its hosts hear of it."""
_SAVE_S = 1.0
"""Between two replacements of the manifest: there may be a thousand hosts in it."""
_RETRY_S = 1.0
_SAME_SIGNAL_S = 1.0


class Controller:
    """Takes hosts through their reviews, until each has ended and is fetched, or is lost."""

    def __init__(
        self,
        store: FleetStore,
        hosts: Sequence[HostRun],
        *,
        clocks: Clocks,
        on_progress: OnFleetProgress = lambda _: None,
        patience: Patience = PATIENCE,
    ) -> None:
        """``clocks``: with a measurement of each host."""
        manifest = store.manifest
        self._store = store
        self._hosts = list(hosts)
        self._clocks = clocks
        self._on_progress = on_progress
        self._patience = patience
        self._waits = manifest.mode is not FleetMode.INDEPENDENT
        self._barrier = Barrier(
            [host.name for host in hosts],
            stagger_ns=manifest.stagger_ns if manifest.mode is FleetMode.STAGGERED else 0,
        )
        self._lead = Lead(LEAD_NS)
        self._label = ""
        self._inbox: queue.SimpleQueue[tuple[HostRun, str, Future[Any]]] = queue.SimpleQueue()
        self._renewals = Renewals(
            patience.renew_s, lambda host, answer: self._inbox.put((host, "renew", answer))
        )
        self._fetchers = ThreadPoolExecutor(16, thread_name_prefix="iogauge-fetch")
        # Few at once: exchanges beside each other disturb each other.
        self._comparers = ThreadPoolExecutor(2, thread_name_prefix="iogauge-clock")
        self._turned_at = 0.0
        """When it last checked which hosts owe an answer."""
        self._clock_at = 0.0
        self._retry_until = 0.0
        self._waits_for: list[str] = []
        """The lost hosts that may still use their drives, until a message says that the next step waits for them."""
        self._release_by: float | None = None
        """When hosts that all wait are released though a clock is not compared yet; None: they do not all wait."""
        self._stop_by: float | None = None
        self._manifest: FleetManifest | None = None
        """As it is to be saved; None: it is saved."""
        self._save_at = 0.0

    @property
    def was_interrupted(self) -> bool:
        """Whether Ctrl-C ended the reviews."""
        return self._stop_by is not None

    def run(self) -> None:
        """Run the reviews. At Ctrl-C all hosts are stopped, and it returns when they have ended; a second one, more
        than a second later, ends it: ``timeout`` sends its signal twice.

        Raises IogaugeError if the fleet's directory cannot be written; the hosts are stopped then.
        """
        now = time.monotonic()
        self._clock_at = now + self._patience.clock_s
        self._retry_until = now + self._patience.lease_s + self._patience.end_s + _RETRY_S
        self._renewals.begin()
        try:
            for host in self._hosts:
                method = "resume" if host.resumes else "begin"
                host.renewed_at = time.monotonic()
                self._call(host, method, host.request, host.lease, patience_s=self._patience.preflight_s)
            while any(host.is_open for host in self._hosts):
                try:
                    self._turn()
                except KeyboardInterrupt:
                    now = time.monotonic()
                    if self._stop_by is None:
                        self._stop()
                    elif now > self._stop_by - self._patience.stop_s + _SAME_SIGNAL_S:
                        break
            self._give_up()
            self._save()
        except BaseException:
            for host in self._hosts:
                if host.is_open:
                    host.link.call("stop")
            raise
        finally:
            self._renewals.close()
            self._fetchers.shutdown(wait=False, cancel_futures=True)
            self._comparers.shutdown(wait=False, cancel_futures=True)

    def _turn(self) -> None:
        """Wait for an answer, handle all that are there, and do what is due.

        Hosts get more time to answer by as much as a turn takes far longer than its wait: then the controller was held
        up, by a slow disk or a busy computer, and answers may be on their way. Its own work is less.
        """
        begun = time.monotonic()
        wait_s = self._patience.poll_s / 4
        try:
            answer = self._inbox.get(timeout=wait_s)
            while True:
                self._handle(*answer)
                answer = self._inbox.get_nowait()
        except queue.Empty:
            pass
        now = time.monotonic()
        if (late_s := now - (self._turned_at or begun) - wait_s) > self._patience.poll_s:
            for host in self._hosts:
                host.wait_longer(late_s)
        self._turned_at = now
        if self._stop_by is not None and now > self._stop_by:
            self._give_up()
        for host in self._hosts:
            if host.is_open:
                self._do_due(host, now)
        if now >= self._clock_at:
            self._compare_all(now)
        self._release(now)
        if now >= self._save_at:
            self._save()

    def _do_due(self, host: HostRun, now: float) -> None:
        if host.link.has_ended:
            self._lose(host, "its process ended")
            return
        if host.is_overdue(now):
            broken = {"any", "heartbeat"} & host.deadlines.keys()
            self._lose(
                host, host.broken if broken else f"it did not answer for {self._patience.silent_s:g} s"
            )
            return
        if host.phase is not Phase.RUNNING and now >= host.beat_at and "exchange" not in host.deadlines:
            # Otherwise nothing shows soon that it hangs.
            host.beat_at = now + self._patience.renew_s
            self._call(host, "exchange")
        if host.phase is Phase.BEGINNING:
            if host.retry_at is not None and now >= host.retry_at:
                self._retry(host)
            return
        if host.phase is Phase.RUNNING:
            if host.start is not None and "start" not in host.deadlines:
                host.sent = host.start
                self._call(host, "start", *host.start)
            if now >= host.poll_at and "events" not in host.deadlines:
                host.poll_at = now + self._patience.poll_s
                self._call(host, "events", host.seen)
        if host.fetch_at is not None and now >= host.fetch_at and not host.fetches:
            host.fetch_at = None
            host.fetches = True
            directory = self._store.host_directory(host.name)
            work = partial(fetch, host.link, directory, timeout_s=self._patience.silent_s)
            self._in_background(host, "fetch", self._fetchers, work)

    def _call(self, host: HostRun, method: str, *arguments: Any, patience_s: float | None = None) -> None:
        """Call a method of a host; its answer comes to the inbox."""
        host.deadlines[method] = time.monotonic() + (patience_s or self._patience.silent_s)
        answer = host.link.call(method, *arguments)
        answer.add_done_callback(lambda answer: self._inbox.put((host, method, answer)))

    def _in_background(
        self, host: HostRun, what: str, threads: ThreadPoolExecutor, work: Callable[[], Any]
    ) -> None:
        threads.submit(work).add_done_callback(lambda result: self._inbox.put((host, what, result)))

    def _handle(self, host: HostRun, what: str, answer: Future[Any]) -> None:
        """Handle an answer of a host, or what a thread did with it."""
        host.deadlines.pop(what, None)
        compared = None
        if what == "compare":
            compared, host.comparing = host.comparing, None
        if what == "fetch":
            host.fetches = False
        if not host.is_open or answer.cancelled():
            return
        error = answer.exception()
        if error is not None and not isinstance(error, Exception):
            raise error
        # A host that answers its heartbeat may still not answer anything else.
        again = "heartbeat" if what == "exchange" else "any"
        if not isinstance(error, LinkError):
            host.deadlines.pop(again, None)
        if isinstance(error, LinkError):
            self._missed(host, what, again, error)
        elif error is not None:
            self._failed(host, what, error)
        elif what in ("begin", "resume"):
            host.phase = Phase.RUNNING
            self._renewals.add(host)
        elif what == "events":
            for event in answer.result():
                if event.number > host.seen and host.phase is Phase.RUNNING:
                    host.seen = event.number
                    self._happened(host, event)
        elif what == "start":
            host.start = None if host.start == host.sent else host.start
        elif what == "compare":
            self._compared(host, answer.result())
        if host.phase is Phase.ENDED and compared == "during":
            # The review ended meanwhile, so its clock must be compared once more.
            self._compare(host, "after")
        if host.phase is Phase.ENDED and not host.is_disturbed:
            self._close(host)

    def _missed(self, host: HostRun, what: str, again: str, error: LinkError) -> None:
        """Note that a call failed on its way. Most are made again; a host that answers none of them is lost."""
        now = time.monotonic()
        if what in ("begin", "resume"):
            self._lose(host, f"whether its review began is not known: {error}")
            return
        host.deadlines.setdefault(again, now + self._patience.lost_s)
        host.broken = f"its connection is broken: {error}"
        if what == "fetch":
            host.fetch_at = now + self._patience.poll_s

    def _failed(self, host: HostRun, what: str, error: Exception) -> None:
        """Handle an error of the host itself, or of copying from it."""
        text = f"{error}" if isinstance(error, IogaugeError) else f"{type(error).__name__}: {error}"
        if what in ("begin", "resume"):
            self._end(host, HostOutcome.REFUSED, text)
        elif what == "events":
            self._end(host, HostOutcome.FAILED, text)
        elif what == "fetch":
            if host.phase is Phase.ENDED and host.outcome is not HostOutcome.REFUSED:
                host.outcome, host.why = HostOutcome.FAILED, f"what it saved could not be fetched: {text}"
            elif host.phase is Phase.RUNNING:
                self._say("message", text, host)
        elif what == "renew":
            # Its review ends by itself then, and says so; only the first renewal that fails is news.
            if self._renewals.remove(host):
                self._say("lease-ended", text, host)
        else:
            host.start = None if what == "start" else host.start
            self._say("message", text, host)

    def _happened(self, host: HostRun, event: HostEvent) -> None:
        """Handle what happened on a host."""
        match event.kind:
            case "planned":
                host.steps = {step.id: step for step in event.steps}
                host.completed |= {step.id for step in event.steps if step.complete}
                self._barrier.planned(host.name, host.steps)
                self._report()
            case "waiting":
                self._barrier.waits(host.name, event.step)
                self._report()
            case "started":
                self._started(host, event)
            case "step_end":
                if event.complete:
                    host.completed.add(event.step)
                else:
                    self._say("message", f"{event.step}: {event.text or 'not complete'}", host)
                host.fetch_at = time.monotonic()
                self._report()
            case "notice":
                self._say("message", event.text, host)
            case "end":
                assert event.outcome is not None
                self._end(host, event.outcome, event.text, in_use=event.in_use)

    def _started(self, host: HostRun, event: HostEvent) -> None:
        self._label = _label(host, event.step)
        planned_ns = host.planned_ns.get(event.step)
        if planned_ns is not None and event.achieved_ns is not None:
            host.achieved_ns[event.step] = event.achieved_ns
            self._lead.started(self._clocks.to_controller(host.name, event.achieved_ns).ns - planned_ns)
        self._report()

    def _release(self, now: float) -> None:
        """Let the hosts start whose turn it is. Before, while nothing runs, clocks are compared and files fetched.

        A host that was lost may go on until its lease ends; what it shares with the others is not theirs until then.
        """
        if not self._waits or self._stop_by is not None or not self._barrier.is_full:
            return
        if now < (quiet_at := self._quiet_at(now)):
            if self._waits_for:
                text = (
                    f"at most {quiet_at - now:.0f} s until the load of {', '.join(self._waits_for)} has ended"
                )
                self._waits_for = []
                self._say("message", f"the next step waits {text}")
            return
        if self._release_by is None:
            self._release_by = now + self._patience.silent_s
            self._compare_all(now)
        if now < self._release_by and any(host.is_disturbed for host in self._hosts):
            return
        self._release_by = None
        first_ns = time.monotonic_ns() + self._lead.ns
        hosts = {host.name: host for host in self._hosts}
        for release in self._barrier.release():
            host = hosts[release.host]
            planned_ns = first_ns + release.delay_ns
            host.planned_ns[release.step] = planned_ns
            host.start = (release.step, self._clocks.to_host(host.name, planned_ns).ns)
            self._do_due(host, now)
            self._label = _label(host, release.step)
        self._report()

    def _quiet_at(self, now: float) -> float:
        """Return when no lost host uses its drives any longer: ``end_s`` after its process or its lease has ended."""
        for host in self._hosts:
            if host.quiet_at and host.link.has_ended:
                host.quiet_at = min(host.quiet_at, now + self._patience.end_s)
        return max((host.quiet_at for host in self._hosts), default=0.0)

    def _compare_all(self, now: float) -> None:
        """Compare the clocks of all hosts whose reviews run."""
        self._clock_at = now + self._patience.clock_s
        for host in self._hosts:
            if host.phase is Phase.RUNNING:
                self._compare(host, "during")

    def _compare(self, host: HostRun, phase: ClockPhase) -> None:
        if host.comparing is None:
            host.comparing = phase
            work = partial(compare, host.link, phase, timeout_s=self._patience.silent_s)
            self._in_background(host, "compare", self._comparers, work)

    def _compared(self, host: HostRun, batch: ClockBatch) -> None:
        self._clocks.add(batch)
        self._store.append(batch)
        self._record_starts(host)

    def _record_starts(self, host: HostRun, *, all_of_them: bool = False) -> None:
        """Save the starts of a host. They are known best once its clock has been compared after them, too.

        ``all_of_them``: also those that it has not reported, and never will.
        """
        for step, planned_ns in [*host.planned_ns.items()]:
            achieved_ns, bound_ns = None, 0
            if step in host.achieved_ns:
                achieved = self._clocks.to_controller(host.name, host.achieved_ns.pop(step))
                achieved_ns, bound_ns = achieved.ns, achieved.bound_ns
            elif not (all_of_them or step in host.completed):
                continue
            del host.planned_ns[step]
            self._store.append(
                Start(
                    host=host.name,
                    step=step,
                    planned_ns=planned_ns,
                    achieved_ns=achieved_ns,
                    bound_ns=bound_ns,
                )
            )

    def _retry(self, host: HostRun) -> None:
        """Let a host resume again, with a new lease."""
        host.retry_at = None
        generation = host.lease.generation + 1
        self._say("resumed", "", host)
        host.renewed_at = time.monotonic()
        host.lease = host.lease.model_copy(
            update={"id": uuid.uuid4().hex, "generation": generation, "begin_by_ns": None}
        )
        self._call(host, "resume", host.request, host.lease, patience_s=self._patience.preflight_s)

    def _end(self, host: HostRun, outcome: HostOutcome, why: str, *, in_use: bool = False) -> None:
        """Note that a host's review has ended; what it saved is fetched now.

        A host that resumes can find its drive in use since its process of before still runs: until its old lease ends.
        """
        self._renewals.remove(host)
        now = time.monotonic()
        if in_use and host.resumes and now < self._retry_until and self._stop_by is None:
            host.phase = Phase.BEGINNING
            host.retry_at = now + host.retry_s
            host.retry_s *= 2
            return
        host.phase = Phase.ENDED
        host.outcome, host.why = outcome, why
        host.start = None
        host.fetch_at = time.monotonic()
        self._barrier.ended(host.name)
        self._compare(host, "after")

    def _lose(self, host: HostRun, why: str) -> None:
        """Give up a host that cannot be reached. What was fetched of it stays.

        Its review is interrupted when the host's process or its lease ends, and then takes a while to end; one that
        only reads may go on.
        """
        self._renewals.remove(host)
        ended = host.phase is Phase.ENDED
        if ended and not host.fetches and host.fetch_at is None:
            self._close(host)
            return
        if not ended and host.goes_on:
            # Nobody knows for how long, so nobody waits for it; it starts its steps by itself, even if it waited.
            self._say(
                "warning", "it may go on reading, so later steps of other hosts may contain its load", host
            )
        elif not ended:
            # A host that waits for a start uses no drive.
            if host.name not in self._barrier.waiting:
                host.link.kill()
                host.quiet_at = host.renewed_at + self._patience.lease_s + self._patience.end_s
                self._waits_for.append(host.name)
            # A host that only hung may still get the last renewal.
            host.link.call("stop")
        host.why = f"its review had ended, but was not fetched: {why}" if ended else why
        host.outcome = HostOutcome.LOST
        self._close(host)

    def _close(self, host: HostRun) -> None:
        """Expect nothing more of a host."""
        self._renewals.remove(host)
        host.phase = Phase.CLOSED
        self._barrier.ended(host.name)
        self._record_starts(host, all_of_them=True)
        manifest = self._manifest or self._store.manifest
        outcome = {"outcome": host.outcome, "why": host.why}
        self._manifest = manifest.with_host(manifest.host(host.name).model_copy(update=outcome))
        self._say(host.outcome.value, host.why, host)

    def _give_up(self) -> None:
        """Close the hosts that have not ended in time after Ctrl-C."""
        for host in self._hosts:
            if host.is_open:
                if host.phase is not Phase.ENDED or host.outcome is HostOutcome.DONE:
                    host.outcome, host.why = (
                        HostOutcome.INTERRUPTED,
                        "it was stopped, and not fetched any more",
                    )
                self._close(host)

    def _stop(self) -> None:
        """Stop all hosts: their reviews end as at Ctrl-C."""
        self._stop_by = time.monotonic() + self._patience.stop_s
        for host in self._hosts:
            if host.phase in (Phase.BEGINNING, Phase.RUNNING):
                self._call(host, "stop")
        self._say("message", "stopping all hosts")

    def _say(self, kind: str, text: str, host: HostRun | None = None) -> None:
        """Record and report an event."""
        at = datetime.now(UTC).isoformat(timespec="milliseconds")
        event = FleetEvent(at=at, host=host.name if host else "", kind=kind, text=text)
        self._store.append(event)
        self._report(event)

    def _report(self, event: FleetEvent | None = None) -> None:
        self._on_progress(state_of(self._hosts, self._barrier.waiting, label=self._label, event=event))

    def _save(self) -> None:
        """Save what became of hosts since the last time."""
        self._save_at = time.monotonic() + _SAVE_S
        if self._manifest is not None:
            self._store.save_manifest(self._manifest)
            self._manifest = None


def _label(host: HostRun, step: str) -> str:
    """Return what a step is called; one that follows from a search may not be planned yet."""
    return host.steps[step].label if step in host.steps else step
