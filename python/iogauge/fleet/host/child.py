"""The process that runs a host's review: ``python -m iogauge.fleet.host.child``.

It gets its order, renewals of its lease, and the starts of steps as lines of JSON on its standard input, and sends
events as lines on its standard output. It locks the drives before it opens them, and gives them back only by ending.
It ends when its review does, when its lease ends, or when its input is closed, since the host is gone then. A review
that only reads goes on without a lease if the request says so.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Iterable
from contextlib import ExitStack
from pathlib import Path

from iogauge.errors import InUseError, IogaugeError
from iogauge.fleet.host.channel import Channel
from iogauge.fleet.host.drives import DriveLocks, names_of
from iogauge.fleet.host.messages import Command, Order
from iogauge.fleet.host.options import options_of
from iogauge.fleet.host.places import lock_running
from iogauge.fleet.host.reporting import Reporting
from iogauge.fleet.host.starts import Starts
from iogauge.fleet.host.watchdog import Watchdog
from iogauge.library import review as library
from iogauge.library.options import command
from iogauge.live.feed import Feed
from iogauge.reviews.manifest import only_reads
from iogauge.schema import HostOutcome, StepPlan
from iogauge.store import Review
from iogauge.store.names import MANIFEST
from iogauge.text import numbers
from iogauge.text.option import command_line

_FLUSH_S = 10.0
"""How long the last events may take to be read."""


class Child:
    """A review under a lease. ``channel``: to the host, which has sent the order by it."""

    def __init__(self, channel: Channel, order: Order) -> None:
        self._channel = channel
        self._order = order
        self._reporting = Reporting(channel.send)
        self._starts = Starts(
            waits=order.request.waits,
            on_waiting=lambda step: self._reporting.event("waiting", step=step.id),
        )
        self._watchdog = Watchdog(order.until_boot_ns, self._goes_on, obey=self._obey)
        self._locks = DriveLocks(f"host {order.request.host} of fleet {order.request.fleet_id}")
        self._has_ended = False
        self._is_in_use = False
        """Whether it is refused since another review uses a drive of it."""
        self._goes_on_alone = False
        """Whether the review may go on after its lease: it is known to read only, and is to go on."""

    def run(self) -> None:
        """Run the review to its end, and send what became of it."""
        signal.signal(signal.SIGINT, self._interrupt)
        signal.signal(signal.SIGTERM, self._interrupt)
        hint = ""
        try:
            self._watchdog.begin()
            outcome, why, hint = self._conducted()
            self._has_ended = True
        except KeyboardInterrupt as interrupt:
            self._has_ended = True
            outcome = HostOutcome.INTERRUPTED
            why = "; ".join(filter(None, (self._watchdog.reason or "it was interrupted", str(interrupt))))
        self._reporting.step_ended()
        self._reporting.event("end", outcome=outcome, text=why, hint=hint, in_use=self._is_in_use)
        self._channel.flush(_FLUSH_S)

    def _interrupt(self, *_: object) -> None:
        """Interrupt the review, as Ctrl-C does, unless it has ended: an interrupt can come at any instant."""
        if not self._has_ended:
            raise KeyboardInterrupt

    def _conducted(self) -> tuple[HostOutcome, str, str]:
        """Run the review; return its outcome, why it is not done, and a hint."""
        outcome = HostOutcome.REFUSED
        try:
            lock_running(Path(self._order.directory))
            self._lock(self._order.request.targets)
            self._reporting.event("begun")
            saved = self._opened()
            # Targets can be those of the suite or of the saved review, and files that were made have further names.
            self._lock(target.path for target in saved.manifest.targets)
            outcome = HostOutcome.FAILED
            self._reporting.reviewed(saved)
            self._goes_on_alone = self._order.request.reads_go_on and only_reads(saved.manifest)
            return *self._measured(saved), ""
        except IogaugeError as error:
            self._is_in_use = outcome is HostOutcome.REFUSED and isinstance(error, InUseError)
            return outcome, str(error), error.hint or ""
        except Exception as error:
            self._reporting.event("notice", text=traceback.format_exc())
            return HostOutcome.FAILED, f"a defect of iogauge: {error!r}", ""

    def _lock(self, targets: Iterable[str]) -> None:
        """Lock the drives behind targets. Raises IogaugeError if one is in use, or is none that the lease is for."""
        for path in targets:
            names = names_of(path)
            if names and not set(names) & set(self._order.lease.drives):
                raise IogaugeError(
                    f"{path}: the lease is not for this drive",
                    hint="a drive or a file was exchanged since the host was checked: start again",
                )
            self._locks.take(path)

    def _opened(self) -> Review:
        """Return the review: the one that was saved, to be continued, or a new one."""
        request, directory = self._order.request, Path(self._order.directory)
        options = options_of(request)
        if (directory / MANIFEST).exists():
            return library.reopen(
                directory,
                (),
                destroy=request.destroy,
                say=self._say,
                meter=options.get("meter"),
            )
        return library.begin(
            request.targets,
            (),
            output=directory,
            destroy=request.destroy,
            command=command(request.targets, options),
            on_plan=lambda _: None,
            say=self._say,
            order_seed=request.order_seed,
            **options,
        )

    def _say(self, text: str) -> None:
        """Send a message, but not where the host keeps the review: every host would say the same."""
        if not text.startswith(f"{self._order.directory}: "):
            self._reporting.message(text)

    def _measured(self, saved: Review) -> tuple[HostOutcome, str]:
        """Run the missing steps; return the outcome, and why it is not done."""
        targets = [target.path for target in saved.manifest.targets]
        feed = Feed(
            title=f"fleet's review of {', '.join(targets)}",
            targets=targets,
            review=saved.path,
            virtual=library.is_virtual(saved.manifest),
        )
        with ExitStack() as stack:
            self._reporting.publish(stack.enter_context(feed))
            failed = library.measure(
                saved,
                lambda _: self._reporting,
                destroy=self._order.request.destroy,
                on_drive=feed.drive,
                start_at=self._start_at,
            )
            if not failed:
                return HostOutcome.DONE, ""
            why = f"{numbers.counted(len(failed), 'step')} failed: {failed[0].step_id}: {failed[0].why}"
            feed.conclude("failed", why)
            return HostOutcome.FAILED, why

    def _start_at(self, step: StepPlan) -> int | None:
        self._reporting.begins(step)
        return self._starts.start_at(step)

    def _goes_on(self) -> bool:
        """Return whether the review goes on now that its lease has ended."""
        if not self._goes_on_alone:
            self._starts.stop()
            return False
        self._reporting.event("notice", text="its lease ended; it only reads, and goes on by itself")
        self._starts.release()
        return True

    def _obey(self, timeout_s: float | None) -> bool:
        """Obey the host's next command; return false if none comes in time. End the lease if the host is gone."""
        line = self._channel.line(timeout_s)
        if line is None:
            if self._channel.is_closed:
                self._watchdog.end_lease()
            return False
        order = Command.model_validate_json(line)
        if order.kind == "renew":
            self._watchdog.renew(order.until_boot_ns)
        elif order.kind == "start":
            self._starts.start(order.step, order.at_ns)
        else:
            self._starts.stop()
            self._watchdog.stop("it was stopped")
        return True


def main() -> None:
    """Read the order, run the review, and end."""
    # Whatever else reads or prints in this process must not get between the lines.
    incoming, outgoing = os.dup(0), os.dup(1)
    os.dup2(2, 1)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    channel = Channel(incoming, outgoing)
    if (line := channel.line()) is None:
        return
    order = Order.model_validate_json(line)
    with ExitStack() as stack:
        if order.request.for_command:
            stack.enter_context(command_line())
        Child(channel, order).run()


if __name__ == "__main__":
    main()
