"""What goes wrong with a served drive, as a user writes it: ``torn-write:every=100,unit=512``.

The words are few: a fault's kind, then ``KEY=VALUE`` pairs. Sizes and times are in fio's notation. This module reads
them; ``crates/nbd/src/faults`` carries them out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from iogauge.errors import UsageError
from iogauge.execution.serve import Fault, FaultKind, FaultPlan, Keep, PowerCut
from iogauge.library import quantities
from iogauge.text.option import option

_CACHE = "64m"
"""The write cache of a drive whose faults or power cut need one."""
_NEEDS_CACHE = (FaultKind.LOST_FLUSH, FaultKind.REORDERING)
_TORN = (FaultKind.TORN_WRITE, FaultKind.SHORT_WRITE)
_SECTOR = 512


def fault_plan(
    faults: Sequence[str], *, write_cache: int | str | None, power_cut: str | None, seed: int
) -> FaultPlan | None:
    """Read the options about faults; None if none was values. Raises UsageError.

    >>> plan = fault_plan(["lost-flush:p=0.1"], write_cache=None, power_cut="1000:keep=none", seed=1)
    >>> plan.faults[0].when, plan.write_cache_bytes == 64 << 20, plan.power_cut.at_request
    ({'probability': 0.1}, True, 1000)
    """
    if not faults and write_cache is None and power_cut is None:
        return None
    specs = tuple(fault(text) for text in faults)
    if write_cache is None:
        needs = power_cut is not None or any(spec.kind in _NEEDS_CACHE for spec in specs)
        cache_bytes = quantities.size_bytes(_CACHE, name="write_cache") if needs else 0
    else:
        cache_bytes = quantities.size_bytes(write_cache, name="write_cache")
    return FaultPlan(
        seed=seed, faults=specs, write_cache_bytes=cache_bytes, power_cut=_power_cut(power_cut or "signal")
    )


def fault(text: str) -> Fault:
    """Read one fault. Raises UsageError.

    >>> fault("misdirected-write:at=17/40,offset=1m,size=4m,most=1").when
    {'at': (17, 40)}
    >>> fault("torn-write").when
    {'every': 1}
    """
    name, _, rest = text.partition(":")
    if name not in list(FaultKind):
        raise _wrong("faults", text, f"no fault is called {name!r}", f"one of {', '.join(FaultKind)}")
    kind = FaultKind(name)
    values = _pairs("faults", text, rest, _keys(kind))
    when = [values[key] for key in ("p", "every", "at") if key in values]
    if len(when) > 1:
        raise _wrong("faults", text, "says twice when it happens", "leave all but one of p, every and at out")
    return Fault(
        kind=kind,
        when=when[0] if when else {"every": 1},
        offset_bytes=values.get("offset", 0),
        size_bytes=values.get("size"),
        most=values.get("most"),
        unit_bytes=values.get("unit", _SECTOR),
        delay_ns=values.get("delay", 60_000_000_000),
        across_flush="across-flush" in values,
    )


Reader = Callable[[str], Any]


def _keys(kind: FaultKind) -> dict[str, Reader]:
    """Return what can be said of a fault, with what reads it. A key without a reader takes no value."""
    keys: dict[str, Reader] = {
        "p": lambda value: {"probability": _probability(value)},
        "every": lambda value: {"every": _count(value)},
        "at": lambda value: {"at": tuple(_count(number) for number in value.split("/"))},
        "most": _count,
    }
    if kind is not FaultKind.LOST_FLUSH:
        keys |= {"offset": _offset, "size": lambda value: quantities.size_bytes(value, name="size")}
    if kind in _TORN:
        keys["unit"] = _unit
    if kind is FaultKind.LATE:
        keys["delay"] = lambda value: quantities.time_ns(value, name="delay")
    if kind is FaultKind.REORDERING:
        keys["across-flush"] = _flag
    return keys


def _power_cut(text: str) -> PowerCut:
    """Read when the power is cut, and what that leaves. Raises UsageError.

    >>> _power_cut("2.5s:keep=all,end")
    PowerCut(at_request=None, after_ns=2500000000, keep=<Keep.ALL: 'all'>, atomic_bytes=4096, ends=True)
    """
    when, _, rest = text.partition(":")
    values = _pairs("power_cut", text, rest, {"keep": _keep, "unit": _unit, "end": _flag})
    at_request = after_ns = None
    if when.isascii() and when.isdigit() and int(when):
        at_request = int(when)
    elif when != "signal":
        if not when or when[-1].isdigit():
            raise _wrong(
                "power_cut",
                text,
                "not the number of a request, a time, or signal",
                "write for instance 1000, 2.5s, or signal, and then kill -USR1",
            )
        after_ns = quantities.time_ns(when, name="power_cut")
    return PowerCut(
        at_request=at_request,
        after_ns=after_ns,
        keep=values.get("keep", Keep.RANDOM),
        atomic_bytes=values.get("unit", 4096),
        ends="end" in values,
    )


def _pairs(name: str, text: str, rest: str, keys: Mapping[str, Reader]) -> dict[str, Any]:
    """Read ``KEY=VALUE,...``. Raises UsageError that names the option and the whole text."""
    values: dict[str, Any] = {}
    for part in rest.split(",") if rest else ():
        key, equals, value = part.partition("=")
        if key not in keys:
            raise _wrong(name, text, f"{key!r} is not one of its keys", f"its keys are {', '.join(keys)}")
        if key in values:
            raise _wrong(name, text, f"says {key} twice", "leave one out")
        if bool(equals) == (keys[key] is _flag):
            right = key if equals else f"{key}=VALUE"
            raise _wrong(name, text, f"{part!r} cannot be", f"write {right}")
        try:
            values[key] = keys[key](value)
        except ValueError as error:
            raise _wrong(name, text, f"{key} {value!r}: {error}", f"write {key}=VALUE") from None
        except UsageError as error:
            raise _wrong(name, text, f"{key} {value!r} cannot be read", error.hint) from None
    return values


def _flag(_: str) -> bool:
    return True


def _count(value: str) -> int:
    if not value.isascii() or not value.isdigit() or not 1 <= int(value) < 1 << 63:
        raise ValueError("must be a whole number from 1 on")
    return int(value)


def _probability(value: str) -> float:
    try:
        probability = float(value)
    except ValueError:
        raise ValueError("must be a number from 0 to 1") from None
    if not 0 <= probability <= 1:
        raise ValueError("must be from 0 to 1")
    return probability


def _offset(value: str) -> int:
    return 0 if value == "0" else quantities.size_bytes(value, name="offset")


def _unit(value: str) -> int:
    unit = quantities.size_bytes(value, name="unit")
    if unit < _SECTOR or unit & (unit - 1) or unit >= 1 << 31:
        raise ValueError("must be a power of two from 512 on")
    return unit


def _keep(value: str) -> Keep:
    try:
        return Keep(value)
    except ValueError:
        raise ValueError(f"must be one of {', '.join(Keep)}") from None


def _wrong(name: str, text: str, reason: str, hint: str | None) -> UsageError:
    return UsageError(f"{option(name)} {text}: {reason}", hint=hint)
