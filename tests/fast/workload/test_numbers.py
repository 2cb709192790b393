"""Numbers, times and expressions: fio's readings as a table, and properties of all of them."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.workload.expression import evaluate
from iogauge.workload.numbers import SECOND, US, byte_suffixes, duration_ns, duration_text, integer, size_text
from iogauge.workload.problem import BadValue

SIZES = {
    "0": 0, "7": 7, "+7": 7, "007": 7, "512b": 512, "512B": 512, "0x10": 16, "0XfF": 255,
    "1k": 1024, "1K": 1024, "1kb": 1024, "1ki": 1024, "1Ki": 1024, "1kib": 1000, "1KiB": 1000,
    "2*1024": 2048, "2*4k": 8192, "2*(1+1)k": 4096, "1m": 2**20, "1mb": 2**20, "1mi": 2**20, "1mib": 10**6,
    "1g": 2**30, "1gib": 10**9, "1t": 2**40, "1tib": 10**12, "1p": 2**50, "1pib": 10**15,
    "(8)": 8, "(2*4)": 8, "(2*4k)": 8192, "(2*4)k": 8192, "(1+4k)": 4097, "(8/2k)": 4096, "(7/2)": 3,
    "(2^10)": 1024, "(2^3^2)": 512, "(17%5)": 2, "(1.5*4)": 6, "(3)*2": 6, "( 2 * 3 )": 6, "(0x10+1)": 17,
}  # fmt: skip


@pytest.mark.parametrize("text", SIZES)
def test_sizes(text: str) -> None:
    assert integer(text) == SIZES[text]


def test_kb_base_1000_reverses_the_suffixes() -> None:
    assert {text: integer(text, kb_base=1000) for text in ("1k", "1ki", "1kib", "2MiB", "1m")} == {
        "1k": 1000, "1ki": 1000, "1kib": 1024, "2MiB": 2 * 2**20, "1m": 10**6,
    }  # fmt: skip


TIMES_US = {
    "0": 0, "5": 5 * 10**6, "5s": 5 * 10**6, "1m": 60 * 10**6, "1M": 60 * 10**6, "2h": 7200 * 10**6,
    "1d": 86400 * 10**6, "250ms": 250_000, "250msec": 250_000, "9us": 9, "9usec": 9,
    "1m30s": 90 * 10**6, "1h1m1s1ms1us": 3661_001_001, "1M30S": 90 * 10**6, "0.5s": 500_000, "1.5m": 90 * 10**6,
    "0.25": 250_000, "1.5ms": 1500, "1m0.5s": 60_500_000, "2*30": 60 * 10**6, "2*3s": 6 * 10**6,
    "(30+30)": 60 * 10**6, "(2*30)s": 60 * 10**6, "(1m)": 60 * 10**6,
}  # fmt: skip


@pytest.mark.parametrize("text", TIMES_US)
def test_times_in_seconds(text: str) -> None:
    assert duration_ns(text, default_unit_ns=SECOND) == TIMES_US[text] * US


def test_times_in_microseconds() -> None:
    texts = {"7": 7, "7us": 7, "7ms": 7000, "(2*3)": 6, "1s": 10**6}
    assert {text: duration_ns(text, default_unit_ns=US) for text in texts} == {
        text: us * US for text, us in texts.items()
    }


BAD_NUMBERS = (
    "", " ", "k", "4 k", " 4k", "4k ", "1.5g", "1e9", "4kx", "4kibs", "10%", "4k-8k", "4,8", "--4", "-", "0x", "0x10k",
    "٤", "४k", "½", "1_000", "9" * 70, "9223372036854775808", "8192p", "-1", "nan", "inf", "0b1", "0o7", "4z",
    "(", "()", "(1", "1)", "(1))", "(1 2)", "(1*)", "(*1)", "(9-1)", "(1/0)", "(5%0)", "(2^64)", "(2^-1)", "(1.5^2)",
    "(1q)", "(a)", "(4k", "(" * 60 + "1" + ")" * 60, "(" + "9^" * 90 + "9)", "(1" + "*9" * 98 + ")", "(0.1%1)",
)  # fmt: skip


@pytest.mark.parametrize("text", BAD_NUMBERS)
def test_malformed_numbers_are_refused_with_a_hint(text: str) -> None:
    with pytest.raises(BadValue) as caught:
        integer(text)
    assert caught.value.hint


@pytest.mark.parametrize(
    "text",
    [
        "1m30",
        "30s1m",
        "1s1s",
        "1.s",
        ".5s",
        "1..5s",
        "0.5us",
        "1m30sec",
        "1m-30s",
        "0.0000001",
        "10sec",
        "10min",
        "5 s",
        "0x10",
        "5ns",
        "-1",
        "5k",
        "",
        "1y",
        "(1500ms)",
        "9" * 40,
        "1" * 40 + "!",
        "1a" * 31 + "!",
        "1.1" * 21 + "!",
    ],
)
def test_malformed_times_are_refused_with_a_hint(text: str) -> None:
    with pytest.raises(BadValue) as caught:
        duration_ns(text, default_unit_ns=SECOND)
    assert caught.value.hint


def test_the_hint_names_the_intended_unit() -> None:
    for text, meant in {"10sec": "s", "2min": "m", "1hour": "h", "3days": "d"}.items():
        with pytest.raises(BadValue) as caught:
            duration_ns(text, default_unit_ns=SECOND)
        assert caught.value.hint == f"write '{meant}'"


def test_bounds_are_inclusive() -> None:
    assert integer("3", minimum=3, maximum=3) == 3
    for text in ("2", "4"):
        with pytest.raises(BadValue, match="must be at"):
            integer(text, minimum=3, maximum=3)


@given(st.integers(0, 2**63 - 1))
def test_sizes_survive_writing(value: int) -> None:
    assert integer(size_text(value)) == value


@given(st.integers(-(2**40), -1))
def test_negative_sizes_survive_writing(value: int) -> None:
    assert integer(size_text(value), minimum=-(2**63)) == value


@given(st.integers(0, 2**50).map(lambda us: us * US), st.sampled_from([US, SECOND]))
def test_times_survive_writing(value_ns: int, unit: int) -> None:
    assert duration_ns(duration_text(value_ns), default_unit_ns=unit) == value_ns


@given(st.integers(1, 2**60).filter(lambda ns: ns % US))
def test_times_below_a_microsecond_cannot_be_written(value_ns: int) -> None:
    with pytest.raises(BadValue):
        duration_text(value_ns)


@given(st.integers(0, 1000), st.sampled_from(sorted(byte_suffixes(1024))), st.sampled_from([1024, 1000]))
def test_suffixes_multiply_in_either_case(number: int, suffix: str, kb_base: int) -> None:
    expected = number * byte_suffixes(kb_base)[suffix]
    assert integer(f"{number}{suffix}", kb_base=kb_base) == expected
    assert integer(f"{number}{suffix.upper()}", kb_base=kb_base) == expected


def outcome(read: Callable[[str], object], text: str) -> object:
    """Return the value, or the ``BadValue``."""
    try:
        return read(text)
    except BadValue as problem:
        return problem


@given(st.text(max_size=40))
def test_any_text_is_a_number_or_refused(text: str) -> None:
    for read in (integer, partial(duration_ns, default_unit_ns=US), lambda text: evaluate(text, {}).value):
        value = outcome(read, text)
        assert value.hint if isinstance(value, BadValue) else isinstance(value, int | Fraction)


EXPRESSION = st.recursive(
    st.integers(0, 99).map(str),
    lambda inner: st.tuples(inner, st.sampled_from("+*"), inner).map(lambda parts: f"({''.join(parts)})"),
    max_leaves=8,
)


@given(EXPRESSION)
def test_sums_and_products_are_those_of_arithmetic(text: str) -> None:
    assert evaluate(text, {}).value == eval(text)


@given(st.text(alphabet="0123456789+-*/^%().k ", max_size=30).map(lambda text: f"({text}"))
def test_expressions_end_in_a_value_or_a_refusal(text: str) -> None:
    value = outcome(integer, text)
    assert value.hint if isinstance(value, BadValue) else isinstance(value, int) and 0 <= value < 2**63
