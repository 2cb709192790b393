"""All that ``iogauge run`` prints: the results so far, as often as was asked for, and those at the end."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import TYPE_CHECKING

from iogauge.cli import streams

if TYPE_CHECKING:
    from iogauge.cli.run import Listeners
    from iogauge.cli.run_formats import Formats
    from iogauge.schema import RunRecord


class Printed:
    """Prints a run by ``emit``. ``whole``: into a file, which holds all that was printed, and the warnings."""

    def __init__(self, formats: Formats, *, emit: Callable[[str], None], whole: bool) -> None:
        self._formats = formats
        self._emit = emit
        self._whole = whole
        self._text = ""

    def so_far(self, record: RunRecord, listeners: Listeners) -> None:
        """Print a run that goes on."""
        # Asking for the statistics closes intervals, of which parts may still come.
        stats, rates = copy.deepcopy((listeners.stats, listeners.rates))
        gap = "\n" if "normal" in self._formats.names else ""
        self._print(self._formats.render(record, stats, rates, warnings="") + gap)

    def results(self, record: RunRecord, listeners: Listeners) -> None:
        """Print a run that has ended, then its warnings."""
        from iogauge.report import surroundings

        warnings = surroundings.warnings(record.warnings)
        below = warnings if self._whole else ""
        self._print(self._formats.render(record, listeners.stats, listeners.rates, warnings=below))
        streams.say(warnings, end="")

    def _print(self, text: str) -> None:
        # A file is written anew with all of it: what it holds is complete whenever it is read.
        self._text = self._text + text if self._whole else text
        self._emit(self._text)
