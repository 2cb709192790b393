"""Defines the kinds of structured values: rw, block-size ranges and splits, random distributions, file names.

fio keeps shares as whole percentages. Entries without a share divide the rest equally. As in fio's generator, the
remainder of that division goes to the largest share.

Source: fio options.c (bssplit_ddir, zone_split_ddir, str_rw_cb, get_next_str), io_u.c (get_next_buflen).
"""

from __future__ import annotations

from collections.abc import Callable

from iogauge.schema import (
    BlockSize,
    BlockSizeShare,
    Distribution,
    NormalDistribution,
    ParetoDistribution,
    PerDirection,
    Rw,
    UniformDistribution,
    ZipfDistribution,
    Zone,
    ZonedDistribution,
)
from iogauge.workload import numbers
from iogauge.workload.options.kinds import (
    MODEL,
    Directions,
    Kind,
    decimal,
    decimal_text,
    join_directions,
    one_line,
    split_directions,
    whole_percent,
)
from iogauge.workload.problem import BadValue
from iogauge.workload.suggest import closest

LARGEST_BLOCK = 0x7FFF_F000
"""The most bytes that Linux moves in one request."""
_SPLITS = 64
_ZONES = 256
_ZIPF_THETA = 1.1
_PARETO_H = 0.2

Files = tuple[str, ...]


def _read_rw(text: str, kb_base: int) -> tuple[Rw, int]:
    word, colon, sequence = text.partition(":")
    known = {rw.value: rw for rw in Rw} | {"rw": Rw.READWRITE}
    if word not in known:
        near = closest(word, known)
        hint = f"did you mean '{near}'?" if near else f"one of: {', '.join(known)}"
        raise BadValue("is not an I/O pattern", hint=hint)
    rw = known[word]
    if not colon:
        return rw, 0
    if rw.random:
        return _random_sequence(rw, sequence, kb_base)
    return rw, numbers.integer(sequence, minimum=-numbers.LARGEST, kb_base=kb_base, unit="bytes")


def _random_sequence(rw: Rw, text: str, kb_base: int) -> tuple[Rw, int]:
    """Read the n of a pattern such as ``randread:n``: the number of sequential I/Os from each random offset.

    fio 3.33 counts down from n in 32 bits. If n is 0 or missing, the count never ends, so all I/Os are sequential. If n
    is negative, 2**32 is added to it.
    """
    count = numbers.integer(text or "0", minimum=-(2**31), maximum=2**32 - 1, kb_base=kb_base)
    if count == 0:
        sequential = rw.removeprefix("rand")
        return Rw.READWRITE if sequential == "rw" else Rw(sequential), 0
    return rw, 0 if count == 1 else count % 2**32


def _write_rw(value: tuple[Rw, int]) -> str:
    rw, sequence = value
    return f"{rw.value}:{numbers.size_text(sequence)}" if sequence else rw.value


RW = Kind(syntax="pattern[:n]", read=_read_rw, write=_write_rw)
"""A pattern and its number n: sequential I/Os from each random offset, or bytes skipped after each sequential I/O."""


def _read_ranges(text: str, kb_base: int) -> Directions[BlockSize]:
    def read_range(part: str) -> BlockSize:
        low, dash, high = part.partition("-") if "-" in part else part.partition(":")
        if not dash:
            raise BadValue("is not a range", hint="write a range such as 4k-64k, or use bs")
        ends = sorted(_block(end, kb_base) for end in (low, high))
        return BlockSize(minimum_bytes=ends[0], maximum_bytes=ends[1])

    return split_directions(text, read_range)


def _block(text: str, kb_base: int) -> int:
    return numbers.integer(text, minimum=1, maximum=LARGEST_BLOCK, kb_base=kb_base, unit="bytes")


def _write_range(value: BlockSize) -> str:
    return f"{numbers.size_text(value.minimum_bytes)}-{numbers.size_text(value.maximum_bytes)}"


RANGES = Kind(
    syntax="size-size[,…][,…]",
    read=_read_ranges,
    write=lambda values: join_directions(values, _write_range),
)
"""bsrange: the smallest and the largest block."""


def _read_splits(text: str, kb_base: int) -> Directions[BlockSize]:
    return split_directions(text, lambda part: _split(part, kb_base))


def _split(text: str, kb_base: int) -> BlockSize:
    entries = text.split(":", _SPLITS + 1)
    if len(entries) > _SPLITS:
        raise BadValue(f"has more than {_SPLITS} block sizes", hint=f"use at most {_SPLITS}, as in fio")
    sizes: list[int] = []
    percentages: list[int | None] = []
    for entry in entries:
        block, _, percent = entry.partition("/")
        sizes.append(_block(block, kb_base))
        # fio treats a share of zero as a missing share.
        percentages.append(numbers.integer(percent, maximum=100, unit="%") or None if percent else None)
    low, high = min(sizes), max(sizes)
    if low == high:
        return BlockSize(minimum_bytes=low, maximum_bytes=low)
    for size in sizes:
        if size % low:
            raise BadValue(
                f"has a size of {size}, which fio rounds down to a multiple of the smallest size",
                hint=f"use multiples of {numbers.size_text(low)}",
            )
    shares = _filled(percentages, "block sizes")
    ordered = sorted(zip(shares, sizes, strict=True), key=lambda share: share[0])
    rest = 100 - sum(percent for percent, _ in ordered[:-1])
    filled = [*ordered[:-1], (rest, ordered[-1][1])]
    return BlockSize(
        minimum_bytes=low,
        maximum_bytes=high,
        split=tuple(BlockSizeShare(size_bytes=size, percent=percent) for percent, size in filled),
    )


def _filled(percentages: list[int | None], noun: str) -> list[int]:
    """Return the shares with equal values for the missing ones; raise ``BadValue`` if they cannot add up to 100."""
    total = sum(percent for percent in percentages if percent is not None)
    missing = percentages.count(None)
    if total > 100 or (total < 100 and not missing):
        raise BadValue(
            f"has shares of {noun} that add up to {total} %, not 100", hint="make them add up to 100"
        )
    return [(100 - total) // missing if percent is None else percent for percent in percentages]


def _write_split(value: BlockSize) -> str:
    if not value.split:
        return numbers.size_text(value.minimum_bytes)
    return ":".join(
        f"{numbers.size_text(share.size_bytes)}/{whole_percent(share.percent)}" for share in value.split
    )


SPLITS = Kind(
    syntax="size/percent[:…][,…][,…]",
    read=_read_splits,
    write=lambda values: join_directions(values, _write_split),
)
"""bssplit: block sizes and their shares of the I/Os."""


def _read_distribution(text: str, _: int) -> PerDirection[Distribution]:
    word, colon, rest = text.partition(":")
    if word in ("zoned_abs", "sequence"):
        raise BadValue(f"fio's '{word}' is not supported", hint="use zoned, zipf, pareto or normal")
    parameters = rest if colon else None
    if word in SKEWED:
        return PerDirection[Distribution].same(SKEWED[word](parameters))
    if word == "zoned":
        return _zoned(parameters)
    if word == "random":
        if parameters is not None:
            raise BadValue("'random' takes no parameter", hint="write random_distribution=random")
        return PerDirection[Distribution].same(UniformDistribution())
    known = ("random", *SKEWED, "zoned")
    near = closest(word, known)
    raise BadValue(
        "is not a distribution",
        hint=f"did you mean '{near}'?" if near else f"one of: {', '.join(known)}",
    )


def _parameters(rest: str | None, default: float) -> tuple[float, float | None]:
    """Return shape and center of ``shape[:center]``; ``default`` is the shape if there are no parameters."""
    if rest is None:
        return default, None
    if "/" in rest:
        raise BadValue("has its centre after '/', which fio ignores", hint="write the centre after ':'")
    shape, colon, text = rest.partition(":")
    center = decimal(text) if colon else None
    if center is not None and center > 1:
        raise BadValue(
            "has its centre outside of [0, 1]", hint="0 is the start of the region, and 1 is its end"
        )
    return decimal(shape), center


def _zipf(rest: str | None) -> ZipfDistribution:
    theta, center = _parameters(rest, _ZIPF_THETA)
    if theta <= 0 or theta == 1:
        raise BadValue("zipf's theta must be above 0 and not 1", hint="write a theta such as 1.2")
    return ZipfDistribution(theta=theta, center=center)


def _pareto(rest: str | None) -> ParetoDistribution:
    h, center = _parameters(rest, _PARETO_H)
    if not 0 < h < 1:
        raise BadValue("pareto's h must lie between 0 and 1", hint="write an h such as 0.2")
    return ParetoDistribution(h=h, center=center)


def _normal(rest: str | None) -> NormalDistribution:
    deviation, center = _parameters(rest, 0.0)
    if not 0 <= deviation < 100:
        raise BadValue(
            "normal's deviation must be from 0 to below 100 %", hint="write a deviation such as 10"
        )
    return NormalDistribution(deviation_percent=deviation, center=center)


Skewed = ZipfDistribution | ParetoDistribution | NormalDistribution

SKEWED: dict[str, Callable[[str | None], Skewed]] = {"zipf": _zipf, "pareto": _pareto, "normal": _normal}
"""Readers of the parameters of distributions that favour some places."""


def _zoned(rest: str | None) -> PerDirection[Distribution]:
    if not rest:
        raise BadValue("has no zones", hint="write access/size percentages: zoned:50/5:30/15:20/80")
    read, write, trim = split_directions(rest, _zones)
    if read is None or write is None or trim is None:
        raise BadValue(
            "has a direction without zones", hint="write zones for all directions, or for each of the three"
        )
    return PerDirection[Distribution](read=read, write=write, trim=trim)


def _zones(text: str) -> ZonedDistribution:
    entries = text.split(":", _ZONES + 1)
    if len(entries) > _ZONES:
        raise BadValue(f"has more than {_ZONES} zones", hint=f"use at most {_ZONES}, as in fio")
    access: list[int] = []
    percentages: list[int | None] = []
    for entry in entries:
        first, _, size = entry.partition("/")
        access.append(numbers.integer(first, maximum=100, unit="%"))
        percentages.append(numbers.integer(size, maximum=100, unit="%") or None if size else None)
    if sum(access) != 100:
        raise BadValue(
            f"has accesses that add up to {sum(access)} %, not 100", hint="make them add up to 100"
        )
    sizes = _filled(percentages, "zones")
    if sum(sizes) != 100:
        raise BadValue(
            "has zones without a size that cannot share the rest equally", hint="write the size of each zone"
        )
    return ZonedDistribution(
        zones=tuple(Zone(access_percent=a, size_percent=s) for a, s in zip(access, sizes, strict=True))
    )


def _write_distribution(value: PerDirection[Distribution]) -> str:
    match value.read, value.write, value.trim:
        case (ZonedDistribution() as read, ZonedDistribution() as write, ZonedDistribution() as trim):
            return "zoned:" + join_directions((read, write, trim), _zones_text)
        case (read, write, trim) if read == write == trim and not isinstance(read, ZonedDistribution):
            return distribution_text(read)
    raise BadValue(
        "differs between directions, which fio cannot express", hint="use one distribution for all"
    )


def _zones_text(value: ZonedDistribution) -> str:
    return ":".join(
        f"{whole_percent(zone.access_percent)}/{whole_percent(zone.size_percent)}" for zone in value.zones
    )


def distribution_text(value: UniformDistribution | Skewed) -> str:
    """Return the name of a distribution with its parameters."""
    match value:
        case UniformDistribution():
            return "random"
        case ZipfDistribution(theta=shape) | ParetoDistribution(h=shape):
            pass
        case NormalDistribution(deviation_percent=shape):
            pass
    center = "" if value.center is None else f":{decimal_text(value.center)}"
    return f"{value.kind}:{decimal_text(shape)}{center}"


DISTRIBUTION = Kind(
    syntax="random|zipf[:theta]|pareto[:h]|normal[:deviation]|zoned:access/size[:…]",
    read=_read_distribution,
    write=_write_distribution,
)
"""How random offsets are spread, for each direction."""


def _read_files(text: str, _: int) -> Files:
    names: list[str] = []
    current = ""
    for character in text:
        if character != ":":
            current += character
        elif current.endswith("\\"):
            current = current[:-1] + ":"
        elif f"{current}:" == MODEL:
            # model:NAME is one target. A file named model that other files follow is written ./model.
            current += ":"
        elif current:
            names.append(current)
            current = ""
    if current:
        names.append(current)
    if not names:
        raise BadValue("names no file", hint="write a path after '='")
    return tuple(names)


def _write_files(names: Files) -> str:
    for name in names:
        if name.endswith("\\") or not name:
            raise BadValue("has a path that is empty or ends with a backslash", hint="rename the file")
        one_line(name)
    return ":".join(file_text(name) for name in names)


def file_text(name: str) -> str:
    """Write one path or model as a job file needs it, with colons escaped.

    >>> print(file_text("/dev/disk/by-path/pci-0000:01:00.0"), file_text("model:p4800x"))
    /dev/disk/by-path/pci-0000\\:01\\:00.0 model:p4800x
    """
    prefix = MODEL if name.startswith(MODEL) else ""
    return prefix + name.removeprefix(prefix).replace(":", "\\:")


FILES = Kind(syntax="path[:path…]", read=_read_files, write=_write_files)
"""Paths and models. A colon in a path is written ``\\:``; the colon of ``model:NAME`` is not escaped."""


def _read_directories(text: str, _: int) -> Files:
    if not text:
        raise BadValue("needs a value", hint="write a directory after '='")
    return _read_files(text, 0)


DIRECTORIES = Kind(syntax="path[:path…]", read=_read_directories, write=_write_files)
"""Directories, written as paths are."""
