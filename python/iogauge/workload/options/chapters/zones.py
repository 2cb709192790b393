"""Defines the options of zones: zonemode=strided, which goes through a file in equal steps.

Source: fio 3.33's options.c, init.c (fixup_options), io_u.c (setup_strided_zone_mode).
"""

from __future__ import annotations

from iogauge.workload.numbers import LARGEST
from iogauge.workload.options.entries import entry
from iogauge.workload.options.kinds import Kind, choice, count
from iogauge.workload.options.option import Category
from iogauge.workload.problem import BadValue


def _read_skip(text: str, kb_base: int) -> int:
    if text.endswith("z"):
        raise BadValue(
            "counts zones ('z'), but zoned devices are not supported", hint="write bytes, such as 64m"
        )
    return count(0, LARGEST, unit="bytes").read(text, kb_base)


ZONES = (
    entry(
        "zonemode",
        Category.SIZE,
        choice(
            {"none": "none", "strided": "strided"},
            refused={"zbd": "is for zoned devices, which are not supported"},
        ),
        "none; strided with zonesize",
        "With `strided`, go through the file zone by zone: issue zonesize bytes within zonerange bytes, skip zoneskip "
        "bytes, and so on; after the last zone that fits, begin again. For one file and one block size.",
    ),
    entry(
        "zonesize", Category.SIZE, count(0, LARGEST, unit="bytes"), "0", "Bytes issued before the next zone."
    ),
    entry(
        "zonerange",
        Category.SIZE,
        count(0, LARGEST, unit="bytes"),
        "zonesize",
        "Bytes of the file that a zone covers, a multiple of the block size.",
    ),
    entry(
        "zoneskip",
        Category.SIZE,
        Kind(syntax="number (bytes)", read=_read_skip, write=count(0, LARGEST).write),
        "0",
        "Bytes between two zones.",
    ),
)
"""All options of zones, in the order of the reference."""
