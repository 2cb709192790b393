"""Values with structure: directions, patterns, splits, distributions, lists of CPUs, files and percentiles."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.schema import (
    Amount,
    BlockSize,
    NormalDistribution,
    ParetoDistribution,
    PerDirection,
    Rw,
    UniformDistribution,
    ZipfDistribution,
)
from iogauge.workload.options import kinds, patterns
from iogauge.workload.options.table import BY_NAME
from iogauge.workload.problem import BadValue

NUMBERS = kinds.directions(kinds.count(1, unit="bytes"))


def read(kind: kinds.Kind[Any], text: str) -> Any:
    return kind.read(text, 1024)


DIRECTIONS = {
    "8k": (8192, 8192, 8192), "8k,32k": (8192, 32768, 32768), ",32k": (None, 32768, 32768), "8k,": (8192, None, None),
    "4k,,16k": (4096, None, 16384), ",,8k": (None, None, 8192), "1,2,3": (1, 2, 3), ",2,": (None, 2, None),
    "1,2,": (1, 2, None), "1,,": (1, None, None), "(2*4k)": (8192, 8192, 8192),
}  # fmt: skip


@pytest.mark.parametrize("text", DIRECTIONS)
def test_directions(text: str) -> None:
    assert read(NUMBERS, text) == DIRECTIONS[text]
    assert read(NUMBERS, NUMBERS.write(DIRECTIONS[text])) == DIRECTIONS[text]


@pytest.mark.parametrize("text", ["", ",", ",,", "1,2,3,4", "4k-8k", "4k:8k", "a", "0", "1,0"])
def test_malformed_directions_are_refused(text: str) -> None:
    with pytest.raises(BadValue):
        read(NUMBERS, text)


RWS = {
    "read": (Rw.READ, 0), "rw": (Rw.READWRITE, 0), "readwrite": (Rw.READWRITE, 0), "randrw": (Rw.RANDRW, 0),
    "trimwrite": (Rw.TRIMWRITE, 0), "randtrimwrite": (Rw.RANDTRIMWRITE, 0), "randread:8": (Rw.RANDREAD, 8),
    "randread:1": (Rw.RANDREAD, 0), "write:8k": (Rw.WRITE, 8192), "read:-8k": (Rw.READ, -8192),
    "rw:4k": (Rw.READWRITE, 4096), "randwrite:-3": (Rw.RANDWRITE, 2**32 - 3), "randread:8k": (Rw.RANDREAD, 8192),
    "randread:": (Rw.READ, 0), "randread:0": (Rw.READ, 0), "randrw:": (Rw.READWRITE, 0),
    "randtrimwrite:": (Rw.TRIMWRITE, 0),
}  # fmt: skip


@pytest.mark.parametrize("text", RWS)
def test_patterns_of_io(text: str) -> None:
    assert read(patterns.RW, text) == RWS[text]
    assert read(patterns.RW, patterns.RW.write(RWS[text])) == RWS[text]


@pytest.mark.parametrize(
    "text", ["", "READ", "reed", "read:", "randread:-2049m", "randread:4g", "read:x", "read,write"]
)
def test_malformed_patterns_are_refused(text: str) -> None:
    with pytest.raises(BadValue):
        read(patterns.RW, text)


SPLITS = {
    "4k/10:64k/90": {4096: 10, 65536: 90},
    "64k/90:4k/10": {4096: 10, 65536: 90},
    "4k/60:8k/": {8192: 40, 4096: 60},
    "4k/60:8k:16k": {8192: 20, 16384: 20, 4096: 60},
    "4k:8k:16k": {4096: 33, 8192: 33, 16384: 34},
    "4k/100:8k/0": {8192: 0, 4096: 100},
    "512/4:1k/1:64k/95": {1024: 1, 512: 4, 65536: 95},
}


@pytest.mark.parametrize("text", SPLITS)
def test_splits_fill_up_to_a_hundred(text: str) -> None:
    value = read(patterns.SPLITS, text)[0]
    assert {share.size_bytes: share.percent for share in value.split} == SPLITS[text]
    assert [share.percent for share in value.split] == sorted(share.percent for share in value.split)
    assert (value.minimum_bytes, value.maximum_bytes) == (min(SPLITS[text]), max(SPLITS[text]))


def test_a_split_of_one_size_is_a_fixed_size() -> None:
    fixed = BlockSize(minimum_bytes=8192, maximum_bytes=8192)
    assert read(patterns.SPLITS, "8k") == read(patterns.SPLITS, "8k/50") == (fixed, fixed, fixed)


def test_splits_by_direction() -> None:
    r, w, t = read(patterns.SPLITS, "4k/50:8k/50,,16k")
    assert r is not None
    assert w is None
    assert t == BlockSize(minimum_bytes=16384, maximum_bytes=16384)


@pytest.mark.parametrize(
    "text",
    ["", ",", "4k/50:8k/30", "4k/60:8k/60", "4k/101:8k", "4k/1.5:8k", "4k/50/2:8k/50", "4k/50:", "x/50:8k",
     "4k/50:6k/50", "0/50:4k/50", ":".join(f"{n}k/1" for n in range(1, 70)), "4k/-5:8k"],
)  # fmt: skip
def test_malformed_splits_are_refused(text: str) -> None:
    with pytest.raises(BadValue):
        read(patterns.SPLITS, text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("write", "write:1"),
        ("wait_after,write:12", "write,wait_after:12"),
        ("wait_before,wait_before:3", "wait_before:3"),
    ],
)
def test_syncs_of_ranges(text: str, written: str) -> None:
    kind = BY_NAME["sync_file_range"].kind
    assert kind.write(read(kind, text)) == written
    assert read(kind, written) == read(kind, text)


def test_ranges() -> None:
    assert read(patterns.RANGES, "4k-64k")[2] == BlockSize(minimum_bytes=4096, maximum_bytes=65536)
    assert read(patterns.RANGES, "64k:4k") == read(patterns.RANGES, "4k-64k")
    for text in ("4k", "4k-", "-4k", "4k-8k-16k", "0-4k", ""):
        with pytest.raises(BadValue):
            read(patterns.RANGES, text)


def in_all_directions(value: Any) -> Any:
    return PerDirection[Any](read=value, write=value, trim=value)


DISTRIBUTIONS = {
    "random": UniformDistribution(),
    "zipf": ZipfDistribution(theta=1.1),
    "zipf:1.2": ZipfDistribution(theta=1.2),
    "zipf:0.8:0.25": ZipfDistribution(theta=0.8, center=0.25),
    "pareto": ParetoDistribution(h=0.2),
    "pareto:0.3:1": ParetoDistribution(h=0.3, center=1),
    "normal": NormalDistribution(deviation_percent=0),
    "normal:20:0": NormalDistribution(deviation_percent=20, center=0),
}


@pytest.mark.parametrize("text", DISTRIBUTIONS)
def test_distributions(text: str) -> None:
    value = read(patterns.DISTRIBUTION, text)
    assert value.model_dump() == in_all_directions(DISTRIBUTIONS[text]).model_dump()
    assert read(patterns.DISTRIBUTION, patterns.DISTRIBUTION.write(value)) == value


@pytest.mark.parametrize(
    "text", ["zoned:50/5:30/15:20/80", "zoned:60/10:40/90,50/50:50/50", "zoned:1/1:99/99,50/:50/,100/100"]
)
def test_zones(text: str) -> None:
    value = read(patterns.DISTRIBUTION, text)
    for distribution in (value.read, value.write, value.trim):
        assert (
            sum(zone.access_percent for zone in distribution.zones)
            == sum(zone.size_percent for zone in distribution.zones)
            == 100
        )
    assert read(patterns.DISTRIBUTION, patterns.DISTRIBUTION.write(value)) == value


@pytest.mark.parametrize(
    "text",
    ["", "zip", "random:1", "zipf:1", "zipf:0", "zipf:-1", "zipf:1e1", "zipf:nan", "zipf:1.2:2", "zipf:1.2/0.5",
     "pareto:0", "pareto:1", "normal:100", "zoned", "zoned:", "zoned:50/50", "zoned:50/50:50/60", "zoned:50/50:60/50",
     "zoned:50/20:50/20", "zoned:40/:30/:30/", "zoned:x/50:50/50", "zoned:100/100,", "zoned_abs:60/20g:40/100g",
     "sequence:2,0,1"],
)  # fmt: skip
def test_malformed_distributions_are_refused(text: str) -> None:
    with pytest.raises(BadValue) as caught:
        read(patterns.DISTRIBUTION, text)
    assert caught.value.hint


FILES = {
    "/dev/nvme0n1": ("/dev/nvme0n1",), "a:b": ("a", "b"), r"a\:b": ("a:b",), r"x:a\:b\:c:y": ("x", "a:b:c", "y"),
    ":a::b:": ("a", "b"), r"c:\\:d": ("c", "\\:d"),
}  # fmt: skip


@pytest.mark.parametrize("text", FILES)
def test_files(text: str) -> None:
    assert read(patterns.FILES, text) == FILES[text]


@given(
    st.lists(
        st.text(alphabet="ab:/\\. ", min_size=1, max_size=8).filter(
            lambda n: n[-1] != "\\" and n == n.strip()
        ),
        min_size=1,
    )
)
def test_files_survive_writing(names: list[str]) -> None:
    readable_names = tuple(name for name in names if "\\:" not in name)
    if readable_names:
        assert read(patterns.FILES, patterns.FILES.write(readable_names)) == readable_names


def test_cpus() -> None:
    assert read(kinds.CPU_LIST, "0-2,8,10-11,1") == (0, 1, 2, 8, 10, 11)
    assert kinds.CPU_LIST.write((0, 1, 2, 8, 10, 11)) == "0-2,8,10-11"
    assert read(kinds.CPU_MASK, "0x15") == (0, 2, 4)
    for text in ("", "a", "3-1", "0,", "-1", "1024", "1-2-3"):
        with pytest.raises(BadValue):
            read(kinds.CPU_LIST, text)


@given(st.sets(st.integers(0, 1023), min_size=1, max_size=40))
def test_cpus_survive_writing(cpus: set[int]) -> None:
    assert read(kinds.CPU_LIST, kinds.CPU_LIST.write(tuple(sorted(cpus)))) == tuple(sorted(cpus))


def test_percentiles() -> None:
    assert read(kinds.PERCENTILE_LIST, "99.9:50:99.9999999:100") == (50.0, 99.9, 99.9999999, 100.0)
    for text in ("", "0", "101", "a", "50,99", "99:", "1e1", "-5", "nan", ":".join("1" * 21)):
        with pytest.raises(BadValue):
            read(kinds.PERCENTILE_LIST, text)


@given(st.floats(0.0001, 100).filter(lambda value: "e" not in repr(value)))
def test_decimals_survive_writing(value: float) -> None:
    assert kinds.decimal(kinds.decimal_text(value)) == value


def test_amounts() -> None:
    assert read(kinds.AMOUNT, "10%") == Amount(percent=10)
    assert read(kinds.AMOUNT, "1g") == Amount(size_bytes=2**30)
    for text in ("101%", "%", "1.5%", "-1%", "4z", "", "10%%"):
        with pytest.raises(BadValue):
            read(kinds.AMOUNT, text)


def test_delays() -> None:
    assert read(kinds.DELAY, "5") == (5 * 10**9, 5 * 10**9)
    assert read(kinds.DELAY, "5-10") == (5 * 10**9, 10 * 10**9)
    assert read(kinds.DELAY, "500ms-2s") == (5 * 10**8, 2 * 10**9)
    for text in ("5s-10s", "10-5", "1-2-3", "-5", "5-", "a-b"):
        with pytest.raises(BadValue):
            read(kinds.DELAY, text)


@given(st.integers(0, 10**9), st.integers(0, 10**9))
def test_delays_survive_writing(low: int, more: int) -> None:
    value = (low * 1000, (low + more) * 1000)
    assert read(kinds.DELAY, kinds.DELAY.write(value)) == value


@pytest.mark.parametrize("kind", [
    patterns.RW, patterns.RANGES, patterns.SPLITS, patterns.DISTRIBUTION, patterns.FILES, patterns.DIRECTORIES, NUMBERS,
    kinds.CPU_LIST, kinds.CPU_MASK, kinds.PERCENTILE_LIST, kinds.AMOUNT, kinds.DELAY, kinds.SWITCH, kinds.ONE_WAY_FLAG,
    kinds.PERCENT, kinds.milliseconds(), kinds.duration(10**9), kinds.choice({"a": 1}), kinds.TEXT,
])  # fmt: skip
@given(text=st.one_of(st.text(max_size=30), st.text(alphabet="0123456789:/-,.%kmz\\()", max_size=30)))
def test_any_text_is_a_value_or_refused_with_a_hint(kind: kinds.Kind[Any], text: str) -> None:
    try:
        value = read(kind, text)
    except BadValue as problem:
        assert problem.hint  # noqa: PT017 (either outcome is right)
        return
    try:
        written = kind.write(value)
    except BadValue:
        return
    assert read(kind, written) == value
