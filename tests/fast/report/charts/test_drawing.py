"""The process that draws: a failure to draw, and its own end, are errors of its caller."""

from __future__ import annotations

import os
import signal

import pytest

from iogauge.errors import IogaugeError
from iogauge.report.charts import drawing

SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" width="2" height="2"/>'


def test_its_end_is_an_error_with_a_remedy_and_the_next_one_draws() -> None:
    assert drawing.png(SQUARE, scale=1).startswith(b"\x89PNG")
    os.kill(drawing._idle[-1]._process.pid, signal.SIGTRAP)
    with pytest.raises(
        IogaugeError, match="a chart cannot be drawn: its process was ended by SIGTRAP"
    ) as raised:
        drawing.png(SQUARE, scale=1)
    assert "format='md'" in str(raised.value.hint)
    assert drawing.png(SQUARE, scale=1).startswith(b"\x89PNG")


def test_what_cannot_be_drawn_is_a_defect_and_the_process_goes_on() -> None:
    drawing.png(SQUARE, scale=1)
    process = drawing._idle[-1]._process.pid
    with pytest.raises(RuntimeError, match="svg_to_png"):
        drawing.png("no picture", scale=1)
    assert drawing.png(SQUARE, scale=1).startswith(b"\x89PNG")
    assert drawing._idle[-1]._process.pid == process
