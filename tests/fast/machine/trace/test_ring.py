"""Pages of a ring buffer and the events in them: made-up ones, damaged ones, and some that a kernel recorded."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.machine.trace.events import Kind, parse_events, usable
from iogauge.machine.trace.formats import lost_events, page_bytes, parse_fields, parse_format
from iogauge.machine.trace.ring import parse_pages

RECORDED = Path(__file__).with_name("recorded")
"""Of a loop device, 4 KiB reads at depth 4 by libaio. Linux 6.18."""

PAGE = 4096
EVENTS = {
    "block_bio_queue": Kind.QUEUE,
    "block_rq_issue": Kind.ISSUE,
    "block_rq_complete": Kind.COMPLETE,
    "sys_enter_io_submit": Kind.ENTER,
}


def formats() -> dict[Kind, list]:
    return {kind: [parse_format((RECORDED / f"{name}.format").read_text())] for name, kind in EVENTS.items()}


@dataclass
class Event:
    """One entry of a made-up page: its kind as the kernel numbers them, and the time since the one before."""

    kind: int
    delta: int
    words: int = 1


def page(start_ns: int, events: list[Event]) -> tuple[bytes, list[int], list[int]]:
    """Return a page, and when and where its events are, by an encoder that is written after the kernel's header."""
    body, times, offsets, now = b"", [], [], start_ns
    for event in events:
        low = event.delta & (1 << 27) - 1
        if event.kind == 30:
            body += struct.pack("<II", 30 | low << 5, event.delta >> 27)
            now += event.delta
        elif event.kind == 31:
            now = (now >> 59 << 59) | event.delta
            body += struct.pack("<II", 31 | low << 5, event.delta >> 27)
        elif event.kind == 29:
            low = max(low, 1)
            body += struct.pack("<II", 29 | low << 5, 4 * event.words) + bytes(4 * (event.words - 1))
            now += low
        else:
            now += low
            times.append(now)
            if event.kind == 0:
                offsets.append(16 + len(body) + 8)
                body += struct.pack("<II", low << 5, 4 + 4 * event.words) + bytes(4 * event.words)
            else:
                offsets.append(16 + len(body) + 4)
                body += struct.pack("<I", event.kind | low << 5) + bytes(4 * event.kind)
    return struct.pack("<QQ", start_ns, len(body)) + body.ljust(PAGE - 16, b"\0"), times, offsets


events = st.lists(
    st.one_of(
        st.builds(Event, st.integers(1, 28), st.integers(0, 2**27 - 1)),
        st.builds(Event, st.just(0), st.integers(0, 2**27 - 1), st.integers(1, 40)),
        st.builds(Event, st.just(29), st.integers(1, 2**27 - 1), st.integers(1, 9)),
        st.builds(Event, st.just(30), st.integers(0, 2**40)),
        st.builds(Event, st.just(31), st.integers(0, 2**58)),
    ),
    max_size=20,
)


@given(st.lists(st.tuples(st.integers(0, 2**60), events), max_size=4))
def test_every_event_of_every_page_is_read(made: list[tuple[int, list[Event]]]) -> None:
    pages, times, offsets = b"", [], []
    for start_ns, entries in made:
        octets, when, where = page(start_ns, entries)
        times += when
        offsets += [place + len(pages) for place in where]
        pages += octets
    read = parse_pages(np.frombuffer(pages, dtype="<u4"), page_bytes=PAGE)
    assert sorted(zip(read.offset.tolist(), read.time_ns.tolist(), strict=True)) == list(
        zip(offsets, times, strict=True)
    )


@given(st.binary(max_size=3 * PAGE), st.integers(0, 2))
def test_no_bytes_are_too_broken(data: bytes, pages: int) -> None:
    padded = data + (RECORDED / "pages.bin").read_bytes()[: pages * PAGE]
    parsed = parse_events(padded, formats(), page_bytes=PAGE)
    assert len({len(column) for column in parsed}) == 1


@given(st.integers(0, 2 * PAGE))
def test_a_page_that_is_cut_off_is_left_out(length: int) -> None:
    data = (RECORDED / "pages.bin").read_bytes()
    whole_pages = parse_events(data[: length // PAGE * PAGE], formats(), page_bytes=PAGE)
    cut = parse_events(data[:length], formats(), page_bytes=PAGE)
    assert all(np.array_equal(*columns) for columns in zip(whole_pages, cut, strict=True))


def test_what_a_kernel_recorded() -> None:
    parsed = parse_events((RECORDED / "pages.bin").read_bytes(), formats(), page_bytes=PAGE)
    counts = {kind.name: int((parsed.kind == kind).sum()) for kind in EVENTS.values()}
    assert min(counts.values()) > 20
    assert max(counts.values()) - min(counts.values()) <= 5, counts
    assert (np.diff(parsed.time_ns) >= 0).all()
    of_device = parsed.kind != Kind.ENTER
    assert set(parsed.sectors[of_device].tolist()) == {8}
    assert set(parsed.direction[of_device].tolist()) == {ord("R")}
    assert (parsed.sector[of_device] % 8 == 0).all()


def test_formats_that_a_kernel_described() -> None:
    queue = parse_format((RECORDED / "block_bio_queue.format").read_text())
    assert queue.id == 2097
    assert {name: queue.fields[name].offset for name in ("dev", "sector", "nr_sector", "rwbs")} == {
        "dev": 8,
        "sector": 16,
        "nr_sector": 24,
        "rwbs": 28,
    }
    assert all(usable(layout, kind) for kind, layouts in formats().items() for layout in layouts)
    assert page_bytes((RECORDED / "header_page").read_text()) == PAGE
    assert lost_events((RECORDED / "stats").read_text()) == 0


@given(st.sampled_from(sorted(EVENTS)), st.integers(0, 1300))
def test_a_format_that_is_cut_off_is_an_error_or_lacks_fields(name: str, length: int) -> None:
    text = (RECORDED / f"{name}.format").read_text()
    every = parse_fields(text)
    try:
        layout = parse_format(text[:length])
    except ValueError:
        return
    assert layout.fields.items() <= every.items()


@pytest.mark.parametrize("text", ["", "field: u64 timestamp;\toffset:0;\tsize:4;\tsigned:0;\n", "\0"])
def test_a_buffer_of_another_layout_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="another layout"):
        page_bytes(text)


def test_an_event_of_other_sizes_is_not_used() -> None:
    text = (RECORDED / "block_rq_issue.format").read_text()
    narrow = text.replace("offset:16;\tsize:8", "offset:16;\tsize:4")
    assert narrow != text
    assert not usable(parse_format(narrow), Kind.ISSUE)
    assert not usable(parse_format(text.replace("rwbs", "flags")), Kind.ISSUE)
