"""The list is searched, filtered, sorted and cut into pages."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from threading import Thread
from typing import Any

import pytest

from iogauge.errors import IogaugeError, UsageError
from iogauge.index import Choice, Index
from iogauge.store.notes import write_notes
from tests.fast.index.saved import saved


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Four reviews: a and c of one drive, b of another; d is damaged."""
    directory = tmp_path_factory.mktemp("many")
    saved(directory / "lab" / "a", created_at="2026-01-01T00:00:00+00:00", model="Acme N100", run=("p0",))
    b = saved(
        directory / "b", created_at="2026-01-03T00:00:00+00:00", model="Borealis", host="Ö-2", suite="mixed"
    )
    write_notes(b.path, "Slow since the update #Firmware-2 #keep")
    c = saved(
        directory / "c",
        created_at="2026-01-02T00:00:00+00:00",
        model="Acme N100",
        run=("p0",),
        latency_ns=50_000,
    )
    write_notes(c.path, "#keep")
    (directory / "d").mkdir()
    (directory / "d" / "manifest.json").write_text("{}")
    with Index.open(directory) as index:
        index.refresh()
        yield index


def ids(index: Index, search: str = "", **filters: Any) -> list[str]:
    return [row.id for row in index.reviews(search, **filters).rows]


@pytest.mark.parametrize(
    ("search", "expected"),
    [
        ("", ["b", "c", "lab/a", "d"]),
        ("acme", ["c", "lab/a"]),
        ("N100 LAB", ["lab/a"]),
        ("n100 mixed", []),
        ("ö-2", ["b"]),
        ("update slow", ["b"]),
        ("firmware-2", ["b"]),
        ("100%", []),
        ("_", []),
        ("'; DROP TABLE listed; --", []),
        ("drive.bin", ["b", "c", "lab/a"]),
        ("damaged", ["d"]),
    ],
)
def test_a_search_needs_every_word(index: Index, search: str, expected: list[str]) -> None:
    assert ids(index, search) == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        ({"drive": "Acme N100"}, ["c", "lab/a"]),
        ({"drive": "Acme"}, []),
        ({"host": "Ö-2"}, ["b"]),
        ({"suite": "mixed"}, ["b"]),
        ({"tag": "keep"}, ["b", "c"]),
        ({"tag": "#Keep", "drive": "Borealis"}, ["b"]),
        ({"since": datetime(2026, 1, 2, tzinfo=UTC)}, ["b", "c"]),
        ({"until": datetime(2026, 1, 2, tzinfo=UTC)}, ["lab/a"]),
        ({"since": datetime(2026, 1, 2), "until": datetime(2026, 1, 3)}, ["c"]),
    ],
)
def test_filters_combine(index: Index, filters: dict[str, Any], expected: list[str]) -> None:
    assert ids(index, **filters) == expected


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("created", ["lab/a", "c", "b", "d"]),
        ("-created", ["b", "c", "lab/a", "d"]),
        ("-id", ["lab/a", "d", "c", "b"]),
        ("value", ["c", "lab/a", "b", "d"]),
        ("-value", ["lab/a", "c", "b", "d"]),
    ],
)
def test_orders_end_with_what_has_no_value(index: Index, order: str, expected: list[str]) -> None:
    assert ids(index, order=order) == expected


@pytest.mark.parametrize("order", ["", "seed", "created; DROP TABLE listed", "--created"])
def test_another_order_is_refused(index: Index, order: str) -> None:
    with pytest.raises(UsageError, match="order"):
        index.reviews(order=order)


def test_pages_are_parts_of_the_list(index: Index) -> None:
    page = index.reviews(offset=1, limit=2)
    assert ([row.id for row in page.rows], page.total) == (["c", "lab/a"], 4)
    assert index.reviews(offset=9).rows == ()
    assert index.reviews(limit=0).rows == ()
    assert index.reviews(offset=-(10**30), limit=10**30).total == 4


def test_choices_are_counted(index: Index) -> None:
    choices = index.choices()
    assert choices["drive"] == (Choice("Acme N100", 2), Choice("Borealis", 1))
    assert choices["suite"] == (Choice("write-pressure", 2), Choice("mixed", 1))
    assert choices["tag"] == (Choice("keep", 2), Choice("firmware-2", 1))
    assert choices["host"] == (Choice("bench-1", 2), Choice("Ö-2", 1))


def test_text_that_is_no_unicode_is_an_error_for_the_user(index: Index) -> None:
    with pytest.raises(IogaugeError):
        index.reviews("\ud800")
    assert index.row("\0") is None


def test_threads_share_an_index(index: Index) -> None:
    totals: list[int] = []

    def ask() -> None:
        for _ in range(20):
            totals.append(index.reviews("acme").total)

    threads = [Thread(target=ask) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert totals == [2] * 80
