"""The sections below the answer. Text and HTML are made of the same."""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.library.drive.cells import Rows, Section, or_dash, switch, yes_no
from iogauge.library.drive.nvme_sections import nvme_sections
from iogauge.machine.ata import Ata, AtaIdentity
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
        parts.append(Section("SATA", list(_ata(drive.ata))))
    parts.append(Section("In Linux", list(_linux(drive.facts))))
    return [part for part in parts if part.rows]


def _reasons(drive: Drive) -> Iterator[str]:
    for names, why, hint in by_reason(drive.unread):
        yield f"{numbers.listed(names)}: {why}{f' ({hint})' if hint else ''}"


def _ata(ata: Ata) -> Rows:
    limit = f" (the port allows {ata.link_limit})" if ata.link_limit else ""
    yield "link", f"{ata.link_speed or '-'}{limit}"
    yield "link power", ata.link_policy or "-"
    if ata.identity is not None:
        yield from _ata_identity(ata.identity)


def _ata_identity(identity: AtaIdentity) -> Rows:
    yield "serial", identity.serial or "-"
    yield (
        "link sleep",
        f"by the host: {yes_no(identity.host_sleep)}; by the drive: {yes_no(identity.device_sleep)}",
    )
    yield "write cache", switch(identity.write_cache, exists=identity.write_cache is not None)
    yield "queue depth", or_dash(identity.queue_depth, str)
    yield "APM level", "off" if identity.power_level is None else str(identity.power_level)
    rotation = identity.rotation_rpm
    yield "rotation", "none" if rotation == 0 else or_dash(rotation, lambda rpm: f"{rpm:,} rpm")
    yield "trim", yes_no(identity.trim)
    yield "SMART", "on" if identity.smart else "off"


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
