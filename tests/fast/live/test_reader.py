"""The reader: each event once and in order, however the bytes come and however often the reader begins anew."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.live import segments
from iogauge.live.reader import Reader
from iogauge.live.segments import Segments
from tests.fast.live import feeds

HEADS = {"begin": (), "step": ("rows",), "rows": ()}


class Client:
    """Follows a feed as a page does: it knows the last number, and may connect anew at any time."""

    def __init__(self, directory: Path) -> None:
        self._directory = directory
        self._reader: Reader = feeds.reader(directory)
        self.last = 0
        self.events: list[dict[str, Any]] = []

    def connect(self) -> None:
        self._reader.close()
        self._reader = feeds.reader(self._directory)

    def look(self) -> None:
        while events := self._reader.read(self.last):
            self.events += events
            self.last = events[-1]["seq"]

    def check(self, total: int) -> None:
        """Every event came once and in order, or a gap stands for it."""
        reached = 0
        lost: set[int] = set()
        numbers: list[int] = []
        for event in self.events:
            if event["event"] == "gap":
                assert event["from"] == reached + 1
                lost |= set(range(event["from"], event["to"] + 1))
                continue
            numbers.append(event["seq"])
            assert event.get("again", False) == (event["seq"] in lost)
            if event["seq"] in lost:
                assert event["event"] in HEADS
            else:
                assert event["seq"] == max([reached, *lost], default=0) + 1
            reached = max(reached, event["seq"])
        assert numbers == sorted(set(numbers))
        assert set(numbers) | lost == set(range(1, total + 1))


class Pieces:
    """A file that is written in pieces, between which somebody looks."""

    def __init__(self, path: Path, cut: Callable[[int], list[int]], look: Callable[[], None]) -> None:
        self._file = path.open("xb", buffering=0)
        self._cut = cut
        self._look = look

    def write(self, data: bytes) -> None:
        begin = 0
        for end in [*self._cut(len(data)), len(data)]:
            self._file.write(data[begin:end])
            begin = end
            self._look()

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def fileno(self) -> int:
        return self._file.fileno()

    def close(self) -> None:
        self._file.close()


@given(st.data())
def test_any_cutting_and_any_connecting_gives_each_event_once(data: st.DataObject) -> None:
    kinds = data.draw(
        st.lists(st.sampled_from(["step", "rows", "interval", "interval", "notice"]), max_size=30)
    )
    most_bytes = data.draw(st.integers(60, 2000))
    patient = data.draw(st.booleans())
    with tempfile.TemporaryDirectory() as name, pytest.MonkeyPatch.context() as patch:
        directory = Path(name)
        staying, returning = Client(directory), Client(directory)

        def look() -> None:
            if patient or data.draw(st.integers(0, 3)) == 0:
                staying.look()
            if data.draw(st.integers(0, 5)) == 0:
                returning.connect()
                returning.look()

        def cut(length: int) -> list[int]:
            return sorted(data.draw(st.sets(st.integers(0, length), max_size=2)))

        patch.setattr(segments, "create_file", lambda path: Pieces(path, cut, look))
        feed = Segments(directory=directory, most_bytes=most_bytes, clock=lambda: 0.0)
        for number, kind in enumerate(["begin", *kinds]):
            feed.write(kind, {"text": "é\n" * (number % 7)}, heads=HEADS.get(kind))
        feed.close()
        for client in (staying, returning):
            client.look()
            client.check(total=len(kinds) + 1)
        if patient:
            assert all(event["event"] != "gap" for event in staying.events)


def test_a_torn_line_is_waited_for(tmp_path: Path) -> None:
    path = feeds.reader(tmp_path)._writer.segment(tmp_path, 0)
    path.write_bytes(b'{"seq":1,"event":"begin"}\n{"seq":2,"ev')
    reader = feeds.reader(tmp_path)
    assert [event["seq"] for event in reader.read(0)] == [1]
    assert reader.read(1) == []
    with path.open("ab") as file:
        file.write(b'ent":"end"}\n')
    assert [event["seq"] for event in reader.read(1)] == [2]


def test_damaged_lines_are_a_gap(tmp_path: Path) -> None:
    path = feeds.reader(tmp_path)._writer.segment(tmp_path, 0)
    path.write_bytes(b'{"seq":1,"event":"begin"}\n\xff\n[]\n{"seq":"2"}\n{"seq":3,"event":"end"}\n')
    assert [event["event"] for event in feeds.events(tmp_path)] == ["begin", "gap", "end"]


def test_a_long_line_and_a_feed_that_is_not_there(tmp_path: Path) -> None:
    assert feeds.reader(tmp_path / "missing").read(0) == []
    with feeds.feed(tmp_path) as feed:
        feed._write("rows", {"rows": ["x" * 3_000_000]}, heads=())
        (begin,) = (event for event in feeds.events(tmp_path)[:1])
        assert len(feeds.events(tmp_path)) == 2
    assert begin["event"] == "begin"


def test_reading_again_from_any_number_gives_what_follows(tmp_path: Path) -> None:
    with feeds.feed(tmp_path) as feed:
        for number in range(20):
            feed.message(f"note {number}")
        reader = feeds.reader(tmp_path)
        for after in (0, 7, 3, 20, 21, 0):
            assert [event["seq"] for event in reader.read(after)] == list(range(after + 1, 22))
