"""The process that draws: a failure to draw, and its own end, are errors of its caller."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import pytest

from iogauge.errors import IogaugeError
from iogauge.report.charts import drawing

SQUARE = '<svg xmlns="http://www.w3.org/2000/svg" width="2" height="2"/>'
POINT: dict[str, Any] = {"data": {"values": [{}]}, "mark": "point"}


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache in which nothing is: that of all tests has what others have drawn."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "iogauge"


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


def test_a_picture_of_a_page_is_drawn_once_and_any_other_each_time(
    cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    drawn: list[str] = []
    draw = drawing._draw

    def counted(function: str, *arguments: object, **options: object) -> Any:
        drawn.append(function)
        return draw(function, *arguments, **options)

    monkeypatch.setattr(drawing, "_draw", counted)
    texts = [drawing.svg(POINT, keep=False) for _ in range(2)]
    assert not cache.exists()
    texts += [drawing.svg(POINT) for _ in range(2)]
    assert drawn == ["vegalite_to_svg"] * 3
    assert len(list(cache.iterdir())) == 1
    assert len(set(texts)) == 1
    assert texts[0].startswith("<svg")
