"""The thread that keeps the index up to date: errors, and that the server's end does not wait for it."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import pytest

from iogauge.errors import IogaugeError
from iogauge.web import refreshing
from iogauge.web.refreshing import Refresher

PATIENCE_S = 600


class Failing:
    """An index whose refreshes fail, each with the next error, and then go well."""

    def __init__(self, *errors: Exception) -> None:
        self._errors: Iterator[Exception] = iter(errors)
        self.went_well = threading.Event()

    def refresh(self, **_: Any) -> None:
        error = next(self._errors, None)
        if error:
            raise error
        self.went_well.set()


def test_an_error_is_said_once_and_the_next_look_follows() -> None:
    index: Any = Failing(
        ZeroDivisionError("by zero"), ZeroDivisionError("by zero"), IogaugeError("full", hint="free some")
    )
    said: list[str] = []
    with Refresher(index, say=said.append, rest_s=0) as refresher:
        while not index.went_well.wait(0.01):
            refresher.soon()
            assert refresher._thread.is_alive()
    assert [text.splitlines()[0] for text in said] == [
        "warning: the list of reviews is not up to date: ZeroDivisionError: by zero",
        "warning: full",
    ]
    assert all("\nhint: " in text for text in said)


def test_the_end_does_not_wait_for_a_refresh_that_computes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(refreshing, "END_S", 0.01)
    begun, go_on = threading.Event(), threading.Event()

    class Slow:
        def refresh(self, **_: Any) -> None:
            begun.set()
            go_on.wait(PATIENCE_S)
            raise ValueError("the index is closed")

    said: list[str] = []
    index: Any = Slow()
    with Refresher(index, say=said.append) as refresher:
        assert begun.wait(PATIENCE_S)
    assert refresher._thread.is_alive()
    go_on.set()
    refresher._thread.join(PATIENCE_S)
    assert not said
