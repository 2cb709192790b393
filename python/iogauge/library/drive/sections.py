"""The sections below the answer. Text and HTML are made of the same."""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.library.drive.ata_sections import ata_sections
from iogauge.library.drive.cells import Rows, Section
from iogauge.library.drive.nvme_sections import nvme_sections
from iogauge.machine.drive import Drive
from iogauge.machine.unread import by_reason
from iogauge.schema import TargetFacts
from iogauge.text import numbers


def sections(drive: Drive) -> list[Section]:
    """Return all sections that have rows, in the order in which they are read."""
    parts = [Section("Not read", [("", reason) for reason in _reasons(drive)])]
    if drive.nvme is not None:
        parts += nvme_sections(drive.nvme)
    if drive.ata is not None:
        parts += ata_sections(drive.ata)
    parts.append(Section("In Linux", list(_linux(drive.facts))))
    return [part for part in parts if part.rows]


def _reasons(drive: Drive) -> Iterator[str]:
    for names, why, hint in by_reason(drive.unread):
        yield f"{numbers.listed(names)}: {why}{f' ({hint})' if hint else ''}"


def _linux(facts: TargetFacts) -> Rows:
    yield "device", facts.path
    if facts.serial:
        yield "serial", facts.serial
    blocks = (("logical", facts.logical_block_bytes), ("physical", facts.physical_block_bytes))
    if texts := [f"{numbers.block(size)} {name}" for name, size in blocks if size]:
        yield "block", ", ".join(texts)
    if facts.link_Bps:
        yield "link", numbers.bandwidth(facts.link_Bps)
    if facts.scheduler:
        yield "scheduler", facts.scheduler
    if facts.write_cache:
        yield "write cache", facts.write_cache
