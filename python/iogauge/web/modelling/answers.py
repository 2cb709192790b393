"""Answers questions about models, each in a process that can be ended: one at a time, and a few that wait.

A modelled run depends on its seed alone, so an answer is kept and given again. No question is answered while a real
drive is measured: its run would lose CPU time to the model.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from iogauge.errors import IogaugeError
from iogauge.live.finding import feeds
from iogauge.web.modelling.worker import CPU_S
from iogauge.web.quiet import require_quiet

if TYPE_CHECKING:
    from iogauge.live.finding import FeedInfo
    from iogauge.web.modelling.question import Question

MOST_WAITING = 4
"""Questions that wait for the one that is answered."""
MOST_KEPT = 32
"""Answers that are kept."""
LONGEST_S = 60.0
"""A question has this long on a busy computer; an idle one reaches the limit of CPU time first."""
_FEWER = "ask for fewer requests, a smaller block or another parameter"


class Answers:
    """Answers questions, and keeps the last answers."""

    def __init__(self, running: Callable[[], Sequence[FeedInfo]] = feeds) -> None:
        self._running = running
        self._turn = asyncio.Semaphore(1)
        self._waiting = 0
        self._kept: OrderedDict[Question, dict[str, Any]] = OrderedDict()

    async def to(self, question: Question) -> dict[str, Any]:
        """Return the answer, as ``answer.answered`` does. Cancelling this ends the process.

        Raises IogaugeError if the question cannot be answered, or not now.
        """
        if question in self._kept:
            return self._kept[question]
        if self._waiting > MOST_WAITING:
            raise IogaugeError("too many questions about models are waiting", hint="try again in a minute")
        self._waiting += 1
        try:
            async with self._turn:
                if question not in self._kept:
                    require_quiet("a model", self._running())
                    self._kept[question] = await _answer(question)
        finally:
            self._waiting -= 1
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return self._kept[question]


async def _answer(question: Question) -> dict[str, Any]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "iogauge.web.modelling.worker"),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.DEVNULL,
        cwd="/",
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path)},
        process_group=0,  # without a session of its own, it leaves the CPUs that the server leaves
    )
    try:
        async with asyncio.timeout(LONGEST_S):
            written, _ = await process.communicate(json.dumps(asdict(question)).encode())
    except TimeoutError:
        raise IogaugeError(f"the model took longer than {LONGEST_S:.0f} s", hint=_FEWER) from None
    finally:
        if process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()
    if process.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        raise IogaugeError(f"the model took more than {CPU_S} s of CPU time", hint=_FEWER)
    if process.returncode != 0:
        raise IogaugeError("the model could not be run with these parameters", hint=_FEWER)
    answer: dict[str, Any] = json.loads(written)
    if "error" in answer:
        raise IogaugeError(answer["error"], hint=answer["hint"])
    return answer
