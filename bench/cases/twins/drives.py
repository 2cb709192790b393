"""Draws drives by seed: a shipped model whose numbers are multiplied by random factors.

A factor is log-uniform between 1/s and s, where s is the number's spread below. Integers are rounded, never below one.
All other numbers are those of the shipped model.
"""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Mapping
from dataclasses import dataclass, replace

from iogauge import catalog
from iogauge.calibrate.numbers import folder, put

XPOINT: Mapping[str, float] = {
    "read_chunk_ns": 1.5,
    "read_next_chunk_ns": 1.5,
    "write_chunk_ns": 1.5,
    "write_next_chunk_ns": 1.5,
    "turnaround_ns": 2.0,
    "channels": 1.6,
    "read_media_ns": 1.5,
    "write_media_ns": 1.5,
    "latency_ns": 2.0,
    "jitter_ns": 2.0,
    "read_stalls.0.every_services": 2.0,
    "read_stalls.0.mean_ns": 1.5,
    "write_stalls.0.every_services": 2.0,
    "write_stalls.0.mean_ns": 1.5,
}
FLASH: Mapping[str, float] = {
    "dies": 2.0,
    "channels": 1.5,
    "channel_Bps": 1.5,
    "command_ns": 1.5,
    "read_latency_ns": 2.0,
    "read_jitter_ns": 2.0,
    "write_latency_ns": 1.5,
    "read_ns": 1.5,
    "slow_read_ns": 1.2,
    "slow_read_share": 1.5,
    "retry_ns": 2.0,
    "program_ns": 1.5,
    "take_chunk_ns": 1.5,
    "buffer_bytes": 2.0,
    "over_provisioning": 1.5,
    "stalls.0.every_services": 2.0,
    "stalls.0.mean_ns": 1.5,
}
"""``slow_read_ns`` also moves with ``read_ns``: a slow page is no faster than another."""


@dataclass(frozen=True, kw_only=True)
class Sort:
    """A sort of drives that are drawn."""

    name: str
    around: tuple[str, ...]
    """The shipped models that they vary, in turn."""
    spreads: Mapping[str, float]


SORTS = {
    "xpoint": Sort(name="xpoint", around=("p4800x-375g",), spreads=XPOINT),
    "flash": Sort(name="flash", around=("p3700-800g", "9100max-2400g"), spreads=FLASH),
}


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A drawn drive."""

    sort: str
    index: int
    begin_with: catalog.ModelFile
    """The shipped model that it varies, with which its twin begins."""
    model: catalog.ModelFile

    @property
    def name(self) -> str:
        """Its name in files."""
        return f"{self.sort}-{self.index:02}"


def drawn(sort: Sort, index: int) -> Drawn:
    """Return a drive of a sort; the same index always gives the same drive.

    >>> drawn(SORTS["xpoint"], 3).model.parameters == drawn(SORTS["xpoint"], 3).model.parameters
    True
    """
    begin_with = catalog.drive(sort.around[index % len(sort.around)])
    source = random.Random(f"{sort.name} {index}")
    parameters = copy.deepcopy(begin_with.parameters)
    factors = {name: math.exp(source.uniform(-1, 1) * math.log(most)) for name, most in sort.spreads.items()}
    if "slow_read_ns" in factors:
        factors["slow_read_ns"] = factors["read_ns"] * max(factors["slow_read_ns"], 1.0)
    for name, factor in factors.items():
        table, key = folder(parameters, f"media.{name}")
        put(
            parameters,
            f"media.{name}",
            max(table[key] * factor, 1) if table[key] >= 1 else table[key] * factor,
        )
    media = parameters["media"]
    media["channels"] = min(media["channels"], media.get("dies", media["channels"]))
    tree = copy.deepcopy(dict(begin_with.tree))
    for name in sort.spreads:
        table, key = folder(tree, f"media.{name}")
        plain, last = folder(parameters, f"media.{name}")
        table[key] = catalog.Entry(value=plain[last], kind="assumed", source="drawn by chance")
    title = f"{begin_with.title}, varied by chance"
    return Drawn(
        sort=sort.name,
        index=index,
        begin_with=begin_with,
        model=replace(begin_with, title=title, also=(), published_as=(), tree=tree, fit=None),
    )
