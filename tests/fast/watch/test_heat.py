"""The heat map: what each character says, with and without colours."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from iogauge.cli.watch import heat
from tests.fast.live import feeds


def text(lines: list[heat.Line]) -> list[str]:
    return ["".join(piece for piece, _ in line) for line in lines]


def column(index: int, *bands: tuple[int, int], ramp: bool = False):
    return feeds.interval(index, read=feeds.figures(bands=bands), ramp=ramp)


def test_the_characters_are_shares_and_the_digits_are_quantiles() -> None:
    shares = [(4, 40), (5, 551), (6, 400), (7, 8), (8, 1)]
    strip = heat.strip([column(0, *shares), column(1, (4, 10)), column(2)], lines=5)
    assert text(strip) == [
        " 100 us :  ",
        "  56 us :  ",
        "  32 us 9  ",
        "  18 us 5  ",
        "  10 us +& ",
    ]


def test_all_directions_count_together() -> None:
    both = feeds.interval(0, read=feeds.figures(bands=[(4, 999)]), write=feeds.figures(bands=[(6, 1)]))
    assert text(heat.strip([both], lines=3)) == ["  32 us :", "  18 us  ", "  10 us &"]


def test_bands_share_a_line_where_there_is_no_room() -> None:
    columns = [column(0, (0, 1), (10, 1), (24, 1))]
    assert [line[:8] for line in text(heat.strip(columns, lines=7))] == [
        "  1.0 s ", " 100 ms ", "  10 ms ", " 1.0 ms ", " 100 us ", "  10 us ", "   0 us ",
    ]  # fmt: skip
    assert len(heat.strip(columns, lines=1)) == 1
    assert heat.strip(columns, lines=0) == []
    assert heat.strip([column(0)], lines=5) == []


def test_a_band_has_several_lines_where_there_is_room() -> None:
    assert text(heat.strip([column(0, (4, 1), (5, 999))], lines=4)) == [
        "  18 us &", "        #", "  10 us :", "        :",
    ]  # fmt: skip


@given(
    st.lists(
        st.lists(st.tuples(st.integers(0, 24), st.integers(1, 10**6)), max_size=4), min_size=1, max_size=90
    ),
    st.integers(1, 40),
    st.integers(20, 120),
)
def test_a_strip_never_leaves_its_room(bands: list[list[tuple[int, int]]], lines: int, columns: int) -> None:
    intervals = [column(index, *parts) for index, parts in enumerate(bands)][-heat.room(columns) :]
    width = heat.width_of(intervals, columns=columns, expected_s=120.0)
    strip = text(heat.strip(intervals, lines=lines, width=width))
    assert len(strip) <= lines
    assert all(len(line) <= columns for line in strip)
    assert len({len(line) for line in strip}) <= 1
    for at in range(len(intervals)):
        cells = "".join(line[8 + at * width : 8 + (at + 1) * width] for line in strip)
        assert bool(cells.strip()) == bool(bands[-len(intervals) :][at])


def test_rates_over_time() -> None:
    intervals = [feeds.interval(index, read=feeds.figures(ios)) for index, ios in enumerate((1000, 500, 0))]
    assert text(heat.rates(intervals, lines=2)) == ["  1,000 #  ", "      0 ## "]
    assert heat.rates([feeds.interval(0, read=feeds.figures(0))], lines=2) == []
