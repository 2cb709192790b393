"""Rows in the order of their times, whatever the pieces."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.traces.order import in_order, merged
from iogauge.traces.rows import ROW, Rows


def rows(times: list[int], device: int = 0) -> Rows:
    array = np.zeros(len(times), dtype=ROW)
    array["time_ns"] = times
    array["offset_bytes"] = np.arange(len(times))
    array["device"] = device
    return array


def times(batches: list[Rows]) -> list[int]:
    return [int(time) for batch in batches for time in batch["time_ns"]]


PIECES = st.lists(st.lists(st.integers(0, 50), max_size=8), max_size=12)


@given(PIECES)
def test_a_window_that_holds_all_sorts_all(pieces: list[list[int]]) -> None:
    ordered = [*in_order(map(rows, pieces), name="f")]
    assert times(ordered) == sorted(time for piece in pieces for time in piece)


@given(st.lists(st.integers(0, 5), min_size=1, max_size=80), st.integers(1, 9))
def test_rows_near_their_place_are_sorted_in_a_small_window(jitter: list[int], piece: int) -> None:
    near = [10 * place + late * 10 for place, late in enumerate(jitter)]
    batches = [rows(near[first : first + piece]) for first in range(0, len(near), piece)]
    ordered = [*in_order(iter(batches), name="f", window_rows=6)]
    assert times(ordered) == sorted(near)


def test_rows_of_the_same_time_keep_their_order() -> None:
    ordered = np.concatenate([*in_order(iter([rows([5, 5, 1, 5])]), name="f")])
    assert ordered["offset_bytes"].tolist() == [2, 0, 1, 3]


def test_a_row_beyond_the_window_is_an_error_and_no_wrong_order() -> None:
    batches = [rows([number * 10, number * 10 + 1]) for number in range(20)] + [rows([3])]
    with pytest.raises(IogaugeError, match="f: requests are more than 4 lines from their place"):
        list(in_order(iter(batches), name="f", window_rows=4))


def test_little_is_held() -> None:
    taken = 0

    def source() -> object:
        nonlocal taken
        for number in range(100):
            taken += 1
            yield rows([number])

    ordered = in_order(source(), name="f", window_rows=5)  # type: ignore[arg-type]
    next(ordered)
    assert taken <= 7


@given(st.lists(PIECES, max_size=4))
def test_inputs_are_merged(inputs: list[list[list[int]]]) -> None:
    ordered = []
    for device, pieces in enumerate(inputs):
        flat = sorted(time for piece in pieces for time in piece)
        cuts = np.cumsum([0, *map(len, pieces)])
        ordered.append([rows(flat[a:b], device) for a, b in pairwise(cuts) if b > a])
    batches = [*merged([iter(batches) for batches in ordered])]
    assert times(batches) == sorted(time for batches in ordered for time in times(batches))
