"""Drawing with vl-convert, in child processes.

vl-convert draws with V8, which aborts its process when it gets no memory. In a child process, that becomes an error
with a remedy. A child takes a second to start, so it lives as long as this process. ``in_parallel`` draws with a child
for each CPU. What was drawn once for a page is cached.
"""

from __future__ import annotations

import atexit
import importlib.metadata
import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from multiprocessing import Pipe
from pathlib import Path
from typing import Any, TypeVar

from iogauge.errors import IogaugeError
from iogauge.store.cache import cached
from iogauge.text.option import option

VEGA_LITE = "6.4"
"""The version that the charts are written for, one of those that vl-convert includes."""

_PROGRAM = Path(__file__).with_name("process.py")
_MOST_PROCESSES = 8
"""The most child processes, since each takes 200 MB while it draws."""

Item = TypeVar("Item")
Drawn = TypeVar("Drawn")


def in_parallel(draw: Callable[[Item], Drawn], items: Iterable[Item]) -> Iterator[Drawn]:
    """Yield what ``draw`` returns for each item, in their order. Several threads call it, one for each CPU."""
    threads = min(len(os.sched_getaffinity(0)), _MOST_PROCESSES)
    with ThreadPoolExecutor(threads) as pool:
        yield from pool.map(draw, items)


def svg(spec: dict[str, Any], *, keep: bool = True) -> str:
    """Return the picture of a complete Vega-Lite specification as SVG. Raises IogaugeError if it cannot be drawn.

    ``keep`` caches the picture, for pages: whoever makes a page again needs the same pictures.
    """
    if keep:
        return _cached("vegalite_to_svg", spec)
    text: str = _draw("vegalite_to_svg", spec, vl_version=VEGA_LITE)
    return text


def png(drawn: str, *, scale: float) -> bytes:
    """Return an SVG as PNG, with ``scale`` pixels per point. Raises IogaugeError if it cannot be drawn."""
    pixels: bytes = _draw("svg_to_png", drawn, scale=scale)
    return pixels


def bundle(script: str) -> str:
    """Return ``script`` bundled with Vega, Vega-Lite and Vega-Embed. Raises IogaugeError as ``svg`` does."""
    return _cached("javascript_bundle", script)


def _cached(function: str, argument: object) -> str:
    source = json.dumps([_vl_convert_version(), VEGA_LITE, function, argument])

    def draw() -> str:
        text: str = _draw(function, argument, vl_version=VEGA_LITE)
        return text

    return cached(source, draw)


@cache
def _vl_convert_version() -> str:
    return importlib.metadata.version("vl-convert-python")


def _draw(function: str, *arguments: object, **options: object) -> Any:
    drawer = None
    try:
        drawer = _idle_drawer()
        result, failure = drawer.call(function, arguments, options)
    except (OSError, EOFError) as error:
        reason = drawer.close() if drawer else str(error)
        raise IogaugeError(
            f"a chart cannot be drawn: {reason}",
            hint="drawing reserves about 64 GB of address space, most of it unused: raise the limit "
            f"(ulimit -v unlimited), free some memory, or use {option('format', 'md')}, which draws no charts",
        ) from None
    except KeyboardInterrupt:  # The answer still to come would be taken as that of the next call.
        if drawer:
            drawer.close()
        raise
    _idle.append(drawer)
    if failure is not None:
        raise RuntimeError(failure)
    return result


class _Drawer:
    """A child process. It has its own session, so that Ctrl-C reaches this process alone."""

    def __init__(self) -> None:
        self._connection, theirs = Pipe()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, "-P", str(_PROGRAM), str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                start_new_session=True,
            )
        atexit.register(self.close)

    def call(
        self, function: str, arguments: tuple[object, ...], options: dict[str, object]
    ) -> tuple[Any, str | None]:
        """Call a function of vl-convert; return its result and ``None``, or ``None`` and why it failed.

        Raises OSError or EOFError if the process has ended.
        """
        self._connection.send((function, arguments, options))
        answer: tuple[Any, str | None] = self._connection.recv()
        return answer

    def close(self) -> str:
        """End the process if it still runs, and return how it ended."""
        self._connection.close()
        self._process.kill()
        status = self._process.wait()
        atexit.unregister(self.close)
        return (
            f"its process was ended by {signal.Signals(-status).name}"
            if status < 0
            else f"its process ended with status {status}"
        )


_idle: list[_Drawer] = []
"""The child processes that draw nothing now."""


def _idle_drawer() -> _Drawer:
    """Take a child process that is idle, or start one. Raises OSError if none can be started."""
    try:
        return _idle.pop()
    except IndexError:
        return _Drawer()
