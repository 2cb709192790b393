"""Tables in a terminal: columns that do not fit follow below, with the names of the rows."""

from __future__ import annotations

import pytest

from iogauge.text.grid import WIDTH, folded


@pytest.mark.parametrize("names", [1, 2])
@pytest.mark.parametrize("length", [1, 9, 20, 33])
def test_every_column_stands_once_and_the_names_in_each_part(names: int, length: int) -> None:
    columns = [f"{place:0>{length}}" for place in range(10)]
    lines = folded([columns, columns], names=names, left=names)
    assert max(map(len, lines)) <= max(WIDTH, (names + 1) * (length + 2))
    parts = [line.split() for line in lines[::2]]
    assert all(part[:names] == columns[:names] for part in parts)
    assert [cell for part in parts for cell in part[names:]] == columns[names:]
