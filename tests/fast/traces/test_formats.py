"""Formats: those that come with iogauge, and files of one's own."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.traces.formats import format_named, names, read_table, recognised, shipped
from tests.fast.traces import trace_samples as samples

OWN = """[time]
column = 1
unit = "us"
[direction]
column = 2
read = ["R"]
[offset]
column = 3
[size]
column = 4
"""


def test_every_table_has_a_title_and_a_source_and_is_recognised_alone() -> None:
    assert {"alibaba", "msr", "spc", "tencent"} == set(shipped())
    for name, table in shipped().items():
        assert table.title
        assert table.source
        head = getattr(samples, name)()
        known = recognised(head)
        assert known is not None
        assert known == format_named(name)


def test_an_unknown_name_suggests_a_known_one() -> None:
    with pytest.raises(IogaugeError, match="no format is named msrc") as caught:
        format_named("msrc")
    assert caught.value.hint is not None
    assert caught.value.hint.startswith("did you mean msr?")
    assert all(name in caught.value.hint for name in names())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("column = 1", "column = 0"), "time.column: must be at least 1"),
        (('unit = "us"', 'unit = "hours"'), "time.unit: must be 'ns', '100ns', 'us', 'ms' or 's'"),
        (('read = ["R"]', 'read = ["R"]\nwrite = ["r"]'), "it: gives a word of direction two meanings"),
        (('read = ["R"]', ""), "it: has no words of direction"),
        (("column = 3", 'column = "lba"'), "it: names columns, which needs header = true"),
        (
            ('unit = "us"', 'unit = "us"\nepoch = "windows"'),
            "it: counts from the epoch of Windows, whose unit is 100ns",
        ),
        (("[size]", "[length]"), "size: is missing"),
        (("[time]", 'separator = "ab"\n[time]'), "separator: "),
    ],
)
def test_a_wrong_file_of_columns_is_explained(change: tuple[str, str], message: str, tmp_path: Path) -> None:
    path = tmp_path / "own.toml"
    path.write_text(OWN)
    assert read_table(path).time.column == 1
    path.write_text(OWN.replace(*change, 1))
    with pytest.raises(IogaugeError) as caught:
        read_table(path)
    assert str(caught.value).startswith(f"{path}: {message}")
    assert "docs/traces.md" in str(caught.value.hint)
