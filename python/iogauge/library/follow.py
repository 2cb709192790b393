"""A long task as an iterator of its progress: the task runs in a thread, and the iterator waits for its news.

Errors, Ctrl-C and the end of the task come to the thread that iterates, at the place where it waits. No task outlives
its iterator, its ``with`` block or the interpreter.
"""

from __future__ import annotations

import signal
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from queue import SimpleQueue
from types import FrameType, TracebackType
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, cast

from iogauge.library.errors import Interrupted
from iogauge.library.progress import OnProgress, Progress
from iogauge.library.public import public

if TYPE_CHECKING:
    from iogauge.execution.interrupts import StopRequests

P = ParamSpec("P")
T = TypeVar("T")

_PATIENCE = 3
"""The Ctrl-C after which the iterator no longer waits for the task to stop."""


@public
def follow(function: Callable[P, T], /, *arguments: P.args, **options: P.kwargs) -> Following[T]:
    """Return an iterator over the progress of a function that takes ``on_progress``; its ``result`` is the function's.

    Nothing runs before the first iteration. The iteration ends with the task, and raises what the function raises.
    Ctrl-C stops the task and raises ``Interrupted``, as without the iterator. A ``with`` block that is left early stops
    the task too.

    Args:
        function: ``run``, ``review``, ``write_report``, ``write_charts``, ``fit_twin``, ``fit_published`` or
            ``compare_models``.
        arguments: those of the function.
        options: those of the function, without ``on_progress``.

    Examples:
        >>> import iogauge
        >>> job = "[reads]\\nrw=randread\\nbs=4k\\nruntime=3\\ntime_based=1\\n"
        >>> with iogauge.follow(iogauge.run, job, target="model:p4800x", seed=1) as progress:
        ...     events = [news.event for news in progress]
        >>> events[0], set(events[1:-1]), events[-1]
        ('begin', {'interval'}, 'end')
        >>> progress.result["reads"].read.ios > 0
        True
    """

    def task(on_progress: OnProgress) -> T:
        call = cast("Callable[..., T]", function)
        return call(*arguments, **options, on_progress=on_progress)

    return Following(task)


@dataclass
class _Outcome(Generic[T]):
    """How a task ended."""

    result: T | None = None
    error: BaseException | None = None


class Following(Iterator[Progress], AbstractContextManager["Following[Any]"], Generic[T]):
    """The progress of a task, and its result. One thread iterates over it, once."""

    def __init__(self, task: Callable[[OnProgress], T]) -> None:
        from iogauge.execution.interrupts import StopRequests

        self._task = task
        self._news: SimpleQueue[Progress | None] = SimpleQueue()
        self._outcome: _Outcome[T] = _Outcome()
        self._stop = StopRequests()
        self._thread: threading.Thread | None = None
        self._ended = False
        self._restore: Callable[[], None] = lambda: None

    def __next__(self) -> Progress:
        """Return the next piece of news. Raises what the task raised, and StopIteration after its end."""
        news = self._wait()
        if news is None:
            if self._outcome.error is not None:
                raise self._outcome.error
            raise StopIteration
        return news

    @property
    def result(self) -> T:
        """What the function returned; waits for its end, and raises what it raised."""
        while self._wait() is not None:
            pass
        if self._outcome.error is not None:
            raise self._outcome.error
        return cast("T", self._outcome.result)

    def close(self) -> None:
        """Stop the task as Ctrl-C would, and wait for its end. Raises nothing: ``result`` tells how it ended."""
        if self._thread is None:
            self._ended = True
            self._outcome.error = self._outcome.error or Interrupted("closed before it began")
        self._stop.request()
        while self._wait() is not None:
            pass

    def __enter__(self) -> Following[T]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if not self._ended:
            self.close()

    def _wait(self) -> Progress | None:
        """Return the next piece of news; None: the task has ended. Ctrl-C stops the task, the third also the wait."""
        if self._ended:
            return None
        if self._thread is None:
            self._begin()
        while True:
            requests = self._stop.count
            try:
                news = self._news.get()
                break
            except KeyboardInterrupt as interrupt:
                if self._stop.count == requests:  # another handler took the place of ours, as notebooks' do
                    self._stop.request()
                if self._stop.count >= _PATIENCE:
                    raise Interrupted("Ctrl-C ended the wait before the function stopped") from interrupt
        if news is None:
            self._ended = True
            self._restore()
        return news

    def _begin(self) -> None:
        self._restore = _stopped_by_ctrl_c(self._stop)
        # The thread holds no reference to the iterator, which would otherwise never be collected.
        arguments = (self._task, self._news, self._outcome, self._stop)
        self._thread = threading.Thread(target=_run, args=arguments, name="iogauge", daemon=True)
        weakref.finalize(self, _end, self._stop, self._thread)
        self._thread.start()


def _run(
    task: Callable[[OnProgress], T],
    news: SimpleQueue[Progress | None],
    outcome: _Outcome[T],
    stop: StopRequests,
) -> None:
    """Run a task, and put its news, then None, into the queue."""
    from iogauge.execution.interrupts import STOP_REQUESTS

    def on_progress(piece: Progress) -> None:
        news.put(piece)
        # A run looks at the requests itself, and keeps what it measured. Parts of a report are stopped here.
        if piece.event == "part" and stop.count:
            raise KeyboardInterrupt

    STOP_REQUESTS.set(stop)
    try:
        outcome.result = task(on_progress)
    except BaseException as error:
        outcome.error = error
    finally:
        news.put(None)


def _end(stop: StopRequests, thread: threading.Thread) -> None:
    """Stop a task whose iterator is gone, or whose interpreter ends."""
    stop.request()
    thread.join()


def _stopped_by_ctrl_c(stop: StopRequests) -> Callable[[], None]:
    """Let Ctrl-C stop the task too, wherever the program is at that moment; return what undoes it.

    Signals reach only the main thread. In another one, and where SIGINT is ignored, nothing is changed.
    """
    before: Any = signal.getsignal(signal.SIGINT)
    if threading.current_thread() is not threading.main_thread() or not callable(before):
        return lambda: None

    def handle(number: int, frame: FrameType | None) -> None:
        stop.request()
        before(number, frame)

    def restore() -> None:
        if (
            signal.getsignal(signal.SIGINT) is handle
            and threading.current_thread() is threading.main_thread()
        ):
            signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, handle)
    return restore
