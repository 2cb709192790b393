"""Plans reviews for the pages, starts and resumes them as processes of their own, and ends them.

A review outlives the server: it has a session of its own, and its results are in its directory. It has the priority and
the CPUs that the server was started with, not those that the server keeps for itself. What it says goes to a log in the
user's runtime directory. Arguments are a list that no shell reads.
"""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import threading
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from iogauge.errors import IogaugeError, UsageError
from iogauge.library import options as review_options
from iogauge.library.plan import Plan, plan
from iogauge.live.finding import FeedInfo, feeds
from iogauge.live.places import make_directory
from iogauge.schema import Manifest
from iogauge.store import Review as Stored
from iogauge.store.durable import new_file
from iogauge.suites import is_shipped
from iogauge.text.option import call
from iogauge.web.quiet import keep_priority
from iogauge.web.starting.consent import check, consents
from iogauge.web.starting.requests import ReviewRequest

_COMMAND = "iogauge.cli.web.started"
"""The command ``iogauge``, but that no suite is loaded from a file: the manifest may change after it was looked at."""
BEGIN_S = 20.0
"""How long a page waits to learn whether a review has begun."""
_LOOK_S = 0.1
MOST_MODELLED = 2
"""Reviews of drive models that run at once, each of which uses all CPUs."""
_LOG_AGE_S = 7 * 86400
_LOG_BYTES = 1 << 14
"""How much of a log is read, from its end."""
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")
_DEFAULTED = {signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE, signal.SIGXFSZ}
"""The signals that the review handles itself, even if the server was told to ignore them."""


@dataclass(frozen=True)
class Started:
    """A review that was started."""

    pid: int
    review: Path
    running: bool
    """Whether its process still runs; a short one of drive models may have ended."""


@dataclass
class _Child:
    """A process that this server started."""

    pid: int
    virtual: bool
    log: Path
    status: int | None = None
    """Its exit status, as ``waitpid`` has it; None: it runs."""

    def look(self) -> bool:
        """Return whether it still runs."""
        if self.status is None:
            try:
                pid, status = os.waitpid(self.pid, os.WNOHANG)
            except ChildProcessError:  # another part of this process has waited for it
                pid, status = self.pid, 0
            self.status = status if pid else None
        return self.status is None


class Starter:
    """Starts reviews, whose directories are made in ``directory``.

    Make it before the server lowers its priority: the thread that starts processes keeps the present one, and the
    present CPUs, and so they inherit both.
    """

    def __init__(self, directory: Path) -> None:
        self._directory = directory.resolve()
        self._children: list[_Child] = []
        self._starting = threading.Lock()
        self._spawning = ThreadPoolExecutor(max_workers=1, thread_name_prefix="starting")
        self._spawning.submit(keep_priority).result()

    def plan(self, request: ReviewRequest) -> Plan:
        """Return what a review would do. Raises UsageError and IogaugeError as ``iogauge.plan`` does."""
        options = request.options()
        options["seed"] = 0
        return plan(request.targets, **options)

    def start(self, request: ReviewRequest, *, typed: dict[str, str], confirmed: bool) -> Started:
        """Start a review, and wait until it has begun, or has failed.

        ``typed``: the serial numbers that the user typed, by target. Raises UsageError if one is not right, and
        IogaugeError with the review's own message if it is refused.
        """
        manifest = self.plan(request).manifest
        destroy = check(consents(manifest), typed=typed, confirmed=confirmed)
        output = self._directory / f"iogauge-{_name_of(manifest)}-{datetime.now(UTC):%Y%m%dT%H%M%SZ}"
        words = review_options.command(request.targets, request.options())[1:]
        note = [f"--note={request.note}"] if request.note else []
        return self._run([*words, *note, f"--output={output}"], manifest, output, destroy)

    def resume(self, directory: Path, *, typed: dict[str, str], confirmed: bool) -> Started:
        """Go on with an interrupted review; the rest is as ``start``.

        Raises UsageError for a review with other suites than iogauge's own: they are files, which may hold code, and
        the review may come from a stranger.
        """
        saved = Stored.open(directory)
        if other := self.other_suite(saved.manifest):
            raise UsageError(
                f"this review has the suite {other}, which is not one of iogauge's own",
                hint=f"resume it elsewhere: {call('review', resume=directory)}",
            )
        destroy = check(consents(saved.manifest), typed=typed, confirmed=confirmed)
        return self._run(["review", f"--resume={directory.resolve()}"], saved.manifest, directory, destroy)

    def other_suite(self, manifest: Manifest) -> str:
        """Return the first suite of a review that is not one of iogauge's own; empty: there is none."""
        return next((plan.suite for plan in manifest.plans if not is_shipped(plan.suite)), "")

    def end(self, pid: int, start_ticks: int) -> FeedInfo:
        """End a measurement gracefully, and return it.

        ``start_ticks``: when its process began, since its number may be used again. Raises IogaugeError if this user
        has no such measurement.
        """
        for feed in feeds():
            if (feed.pid, feed.start_ticks) == (pid, start_ticks):
                feed.interrupt()
                return feed
        raise IogaugeError(
            f"no measurement of process {pid} is running", hint="load the page again: it may have ended"
        )

    def close(self) -> None:
        """Stop starting reviews. Those that run go on."""
        self._spawning.shutdown()

    def _run(self, words: Sequence[str], manifest: Manifest, review: Path, destroy: Sequence[str]) -> Started:
        virtual = all(target.modelled for target in manifest.targets)
        allowed = [f"--destroy={name}" for name in destroy]
        with self._starting:
            self._refuse_busy(virtual=virtual)
            log = self._new_log(review.name)
            command = [sys.executable, "-P", "-m", _COMMAND, *words, *allowed, "--yes"]
            child = self._spawning.submit(self._spawn, command, log, virtual=virtual).result()
            self._children.append(child)
            return self._begun(child, review)

    def _refuse_busy(self, *, virtual: bool) -> None:
        """Raise IogaugeError if what runs would disturb a review, or be disturbed by it."""
        self._children = [child for child in self._children if child.look()]
        running = feeds()
        known = {feed.pid for feed in running}
        real = [f"{feed.title} (process {feed.pid})" for feed in running if not feed.virtual]
        real += [
            f"process {child.pid}" for child in self._children if not child.virtual and child.pid not in known
        ]
        modelled = [f"{feed.title} (process {feed.pid})" for feed in running if feed.virtual]
        disturbing = real or (modelled if not virtual or len(modelled) >= MOST_MODELLED else [])
        if disturbing:
            raise IogaugeError(
                f"{disturbing[0]} is running, and two measurements would disturb each other",
                hint="wait until it has ended, or end it",
            )

    def _new_log(self, name: str) -> Path:
        directory = make_directory()
        for path in directory.glob("*.log"):
            with contextlib.suppress(OSError):
                if path.stat().st_mtime < time.time() - _LOG_AGE_S:
                    path.unlink()
        path, file = new_file(directory, prefix=f"{_UNUSUAL.sub('-', name)[:60]}-", suffix=".log")
        file.close()
        return path

    def _spawn(self, command: list[str], log: Path, *, virtual: bool) -> _Child:
        pid = os.posix_spawn(
            command[0],
            command,
            os.environ,
            file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0),
                (os.POSIX_SPAWN_OPEN, 1, str(log), os.O_WRONLY | os.O_APPEND, 0),
                (os.POSIX_SPAWN_DUP2, 1, 2),
            ],
            setsid=True,
            setsigmask=[],
            setsigdef=_DEFAULTED,
        )
        return _Child(pid, virtual, log)

    def _begun(self, child: _Child, review: Path) -> Started:
        """Wait until a review measures, has ended, or takes long to begin."""
        until = time.monotonic() + BEGIN_S
        while time.monotonic() < until:
            if not child.look():
                if child.status:
                    raise _failure(child.log)
                return Started(child.pid, review, running=False)
            if any(feed.pid == child.pid for feed in feeds()):
                break
            time.sleep(_LOOK_S)
        return Started(child.pid, review, running=True)


def _name_of(manifest: Manifest) -> str:
    """Return the part of a directory's name that says what its first target is."""
    target = manifest.targets[0]
    name = target.modelled.drive if target.modelled else Path(target.path).name
    return _UNUSUAL.sub("-", name).strip("-.")[:80] or "target"


def _failure(log: Path) -> IogaugeError:
    """Return the error that a review wrote last."""
    text = log.read_bytes()[-_LOG_BYTES:].decode("utf-8", "replace")
    lines = text.splitlines()
    errors = [number for number, line in enumerate(lines) if line.startswith("error: ")]
    if not errors:
        return IogaugeError(
            "the review ended at once", hint=lines[-1] if lines else f"its log is {log}, and is empty"
        )
    hints = [line for line in lines[errors[-1] :] if line.startswith("hint: ")]
    return IogaugeError(
        lines[errors[-1]].removeprefix("error: "), hint=hints[0].removeprefix("hint: ") if hints else None
    )
