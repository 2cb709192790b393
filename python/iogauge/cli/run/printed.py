"""Print the results of ``iogauge run``: those so far, every ``--status-interval``, and those at the end."""

from __future__ import annotations

import contextlib
from contextlib import AbstractContextManager, ExitStack
from typing import IO, TYPE_CHECKING, NoReturn

from iogauge.cli.terminal import streams
from iogauge.errors import IogaugeError
from iogauge.store.durable import explained

if TYPE_CHECKING:
    from iogauge.cli.run.formats import Formats
    from iogauge.cli.run.listeners import Listeners
    from iogauge.schema import RunRecord
    from iogauge.store.outputs import Output


def emit(text: str, output: Output | None) -> None:
    """Print on stdout, or write ``output``. If that fails, print elsewhere and raise IogaugeError."""
    if output is None:
        streams.show(text)
        return
    try:
        output.write(_encoded(text))
    except IogaugeError as error:
        _print_instead(text, error)


class Printed(AbstractContextManager["Printed"]):
    """Prints a run on stdout, or into ``output``.

    Status reports and the results after them go into one open file. Results without reports are written atomically. An
    error in a report does not stop the run: it is printed, no more reports follow, and ``results`` raises it. Only a
    closed pipe on stdout ends the run, as it ends any program.
    """

    def __init__(self, formats: Formats, output: Output | None) -> None:
        self._formats = formats
        self._output = output
        self._opened = ExitStack()
        self._file: IO[bytes] | None = None
        self._trouble: IogaugeError | None = None

    def __exit__(self, *_: object) -> None:
        # If the run failed, its error matters more than one of closing the output.
        with contextlib.suppress(IogaugeError):
            self._opened.close()

    def open(self) -> None:
        """Open the output for reports. Raises IogaugeError if it cannot be opened."""
        if self._output is not None:
            self._file = self._opened.enter_context(self._output.stream())

    def so_far(self, record: RunRecord, listeners: Listeners) -> None:
        """Print the results so far."""
        if self._trouble is not None:
            return
        gap = "\n" if "normal" in self._formats.names else ""
        stats, rates = listeners.stats.snapshot(), listeners.rates.snapshot()
        text = self._formats.render(record, stats, rates, warnings="") + gap
        try:
            self._append(text)
        except IogaugeError as error:
            self._trouble = error
            streams.say(f"no more results until the end: {error}")

    def results(self, record: RunRecord, listeners: Listeners) -> None:
        """Print the final results, then the warnings. If that fails, print elsewhere and raise IogaugeError."""
        from iogauge.report.run import surroundings

        warnings = surroundings.warnings(record.warnings)
        below = warnings if self._output is not None and self._output.is_file else ""
        text = self._formats.render(record, listeners.stats, listeners.rates, warnings=below)
        try:
            self._finish(text)
        finally:
            streams.say(self._formats.warnings(record, shown=text), end="")

    def _finish(self, text: str) -> None:
        if self._trouble is not None and self._output is None:
            streams.say(text, end="")  # stdout has failed before.
            raise self._trouble
        if self._file is None:
            emit(text, self._output)
            return
        try:
            if self._trouble is not None:
                raise self._trouble
            self._append(text)
            self._opened.close()
        except IogaugeError as error:
            _print_instead(text, error)

    def _append(self, text: str) -> None:
        """Append ``text`` to the output and flush it."""
        if self._output is None or self._file is None:
            streams.show(text)
            return
        with explained("write", self._output.path):
            self._file.write(_encoded(text))
            self._file.flush()


def _print_instead(text: str, error: IogaugeError) -> NoReturn:
    streams.show(text)
    raise IogaugeError(str(error), hint="the result was printed instead; save it from there") from error


def _encoded(text: str) -> bytes:
    return text.encode("utf-8", "surrogateescape")
