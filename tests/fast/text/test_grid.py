"""Tables in a terminal: columns that do not fit follow below, with the names of the rows."""

from __future__ import annotations

import pytest

from iogauge.text.grid import NAME, WIDTH, folded, narrowed


@pytest.mark.parametrize("names", [1, 2])
@pytest.mark.parametrize("length", [1, 9, 20, 33])
def test_every_column_stands_once_and_the_names_in_each_part(names: int, length: int) -> None:
    columns = [f"{place:0>{length}}" for place in range(10)]
    lines = folded([columns, columns], names=names, left=names)
    assert max(map(len, lines)) <= max(WIDTH, (names + 1) * (length + 2))
    parts = [line.split() for line in lines[::2]]
    assert all(part[:names] == columns[:names] for part in parts)
    assert [cell for part in parts for cell in part[names:]] == columns[names:]


TABLE = [
    ["suite", "series", "MB/s", "p99"],
    ["x" * 40, "128 KiB sequential reads", "2,512", "12 us"],
]


@pytest.mark.parametrize("columns", range(24, 90))
def test_names_are_cut_to_the_width_that_is_left_and_numbers_never(columns: int) -> None:
    lines = narrowed(TABLE, ["MB/s"], columns=columns, left=2, names=["suite", "series"])
    assert max(map(len, lines)) <= columns
    assert lines[1].endswith("  12 us")
    full_columns = len("  ".join(TABLE[1]))
    assert ("..." not in lines[1] and "2,512" in lines[1]) == (columns >= full_columns)
    if "2,512" in lines[1]:
        assert columns >= full_columns - len(TABLE[1][0]) + NAME, "a name is cut to NAME before a column goes"
