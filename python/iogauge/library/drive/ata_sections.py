"""The sections of a SATA drive: the link and its power, SMART's attributes, and the statistics."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.library.drive.cells import Rows, Section, celsius, or_dash, switch, yes_no
from iogauge.machine.ata.identity import AtaIdentity
from iogauge.machine.ata.port import Ata
from iogauge.machine.ata.smart import Attribute
from iogauge.machine.ata.statistics import Statistics
from iogauge.text import numbers


def ata_sections(ata: Ata) -> Iterator[Section]:
    """Yield the sections of a SATA drive; some may have no rows."""
    yield Section("SATA", list(_ata(ata)))
    if answers := ata.answers:
        if answers.statistics:
            yield Section("Statistics", list(_statistics(answers.statistics)))
        if answers.attributes:
            yield _attributes(answers.attributes)


def _ata(ata: Ata) -> Rows:
    answers = ata.answers
    limit = f" (the port allows {ata.link_limit})" if ata.link_limit else ""
    yield "link", f"{ata.link_speed or '-'}{limit}"
    yield "link power", ata.link_policy or "-"
    if answers and answers.power_mode:
        yield "power mode", answers.power_mode
    identity = ata.identity or (answers and answers.identity)
    if identity:
        yield from _identity(identity)
    if answers and answers.healthy is not None:
        yield "SMART predicts", "no failure" if answers.healthy else "that the drive fails soon"


def _identity(identity: AtaIdentity) -> Rows:
    yield "serial", identity.serial or "-"
    yield (
        "link sleep",
        f"by the host: {yes_no(identity.host_sleep)}; by the drive: {yes_no(identity.device_sleep)}; from Partial on "
        f"to Slumber: {yes_no(identity.deeper_sleep)}",
    )
    yield "device sleep", switch(identity.dev_sleep, exists=identity.dev_sleep is not None)
    yield "write cache", switch(identity.write_cache, exists=identity.write_cache is not None)
    yield "queue depth", or_dash(identity.queue_depth, str)
    yield "APM level", "off" if identity.power_level is None else str(identity.power_level)
    rotation = identity.rotation_rpm
    yield "rotation", "none" if rotation == 0 else or_dash(rotation, lambda rpm: f"{rpm:,} rpm")
    yield "trim", yes_no(identity.trim)
    yield "SMART", "on" if identity.smart else "off"


def _statistics(counters: Statistics) -> Rows:
    if counters.used_percent is not None:
        yield "life used", f"{counters.used_percent} %"
    if counters.temperature_C is not None:
        span = (("lowest", counters.lowest_C), ("highest", counters.highest_C), ("limit", counters.limit_C))
        texts = [f"{name} {value} C" for name, value in span if value is not None]
        yield "temperature", celsius(counters.temperature_C) + (f" ({', '.join(texts)})" if texts else "")
    if counters.over_min is not None:
        yield "time too warm", f"{counters.over_min:,} min"
    for label, size_bytes, commands in (
        ("read", counters.read_bytes, counters.read_commands),
        ("written", counters.written_bytes, counters.write_commands),
    ):
        if size_bytes is not None:
            count = "" if commands is None else f" in {numbers.counted(commands, 'command')}"
            yield label, f"{numbers.size(size_bytes)}{count}"
    on = [] if counters.power_on_h is None else [f"{counters.power_on_h:,} h on"]
    cycles = [] if counters.power_cycles is None else [numbers.counted(counters.power_cycles, "cycle")]
    if on or cycles:
        yield "power", ", ".join(on + cycles)


def _attributes(attributes: Sequence[Attribute]) -> Section:
    rows = [
        (
            f"{attribute.id} {attribute.name}".rstrip(),
            str(attribute.value),
            str(attribute.worst),
            or_dash(attribute.threshold, str),
            f"{attribute.raw:,}",
        )
        for attribute in attributes
    ]
    return Section(
        "SMART attributes",
        rows,
        head=("attribute", "value", "worst", "threshold", "raw"),
        note="Higher values are better. What raw values count is each maker's own.",
    )
