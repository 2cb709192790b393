"""Patterns of bytes: the examples of fio's code, and whatever may be written."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.workload.byte_pattern import BYTES
from iogauge.workload.problem import BadValue

EXAMPLES = {
    '"abcd"': "61 62 63 64",
    "-1024": "00 fc ff ff",
    "66": "42",
    "0": "00",
    "0xFF0X1": "ff 01",
    '"123"0xFFeeCC': "31 32 33 ff ee cc",
    '-100xab"1""2"': "f6 ff ff ff ab 31 32",
    "0xfefefefefefefefefefefefefe": "fe " * 13,
    "0xabc": "0a bc",
    "0x1": "01",
    '""66': "42",
}


@pytest.mark.parametrize("text", EXAMPLES)
def test_a_pattern_has_fios_bytes(text: str) -> None:
    assert BYTES.read(text, 1024) == bytes.fromhex(EXAMPLES[text])


@pytest.mark.parametrize(
    "text", ["", '""', "abc", '"abc', "%o", "'file'", "0x", "66 66", "2147483648", "0xzz", "-"]
)
def test_what_is_no_pattern_is_refused(text: str) -> None:
    with pytest.raises(BadValue) as caught:
        BYTES.read(text, 1024)
    assert caught.value.hint


@given(st.binary(min_size=1, max_size=512))
def test_what_is_written_reads_back(pattern: bytes) -> None:
    assert BYTES.read(BYTES.write(pattern), 1024) == pattern


@given(st.text(alphabet="0x1aF\"'-+ %", max_size=20))
def test_any_text_is_a_pattern_or_refused(text: str) -> None:
    with contextlib.suppress(BadValue):
        assert BYTES.read(text, 1024)
