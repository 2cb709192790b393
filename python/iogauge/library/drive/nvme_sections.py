"""The sections of an NVMe drive: power states, features, SMART, errors, controller, namespace."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from iogauge.library.drive.cells import Rows, Section, celsius, or_dash, power, switch
from iogauge.machine.nvme.features import Features
from iogauge.machine.nvme.identify import Controller, Namespace, PowerState
from iogauge.machine.nvme.logs import ErrorEntry, FirmwareSlots, Smart
from iogauge.machine.nvme.read import Nvme
from iogauge.text import numbers

_MOST_ERRORS = 10
"""Errors that are listed; the JSON has all that were read."""
_PAGE_BYTES = 4096


def nvme_sections(nvme: Nvme) -> Iterator[Section]:
    """Yield the sections of an NVMe drive; some may have no rows."""
    if nvme.controller is not None:
        yield _power_states(nvme.controller.power_states, nvme.features)
    yield Section("Features", list(_features(nvme.features, nvme.controller)))
    if nvme.smart is not None:
        yield Section("SMART", list(_smart(nvme.smart)))
    if nvme.errors:
        yield _errors(nvme.errors)
    identity = [*_controller(nvme.controller), *_firmware(nvme.firmware)] if nvme.controller else []
    yield Section("Controller", identity)
    if nvme.namespace is not None:
        yield Section("Namespace", list(_namespace(nvme.namespace)))


def _power_states(states: Sequence[PowerState], features: Features) -> Section:
    idle = {entry.from_state: entry for entry in features.apst.transitions} if features.apst else {}
    now = features.power.state if features.power else None

    def row(state: PowerState) -> tuple[str, ...]:
        then = idle.get(state.state)
        return (
            f"{state.state}{' now' if state.state == now else ''}",
            "yes" if state.operational else "no",
            f"{then.to_state} after {then.idle_ms:,} ms" if then else "-",
            *(or_dash(watts, power) for watts in (state.max_W, state.idle_W, state.active_W)),
            *(or_dash(latency, lambda us: f"{us:,} us") for latency in (state.entry_us, state.exit_us)),
        )

    return Section(
        "Power states",
        [row(state) for state in states],
        head=("state", "I/O", "when idle", "max", "idle", "active", "entry", "exit"),
        left=3,
        note="APST is off: the drive enters no state by itself."
        if features.apst and not features.apst.enabled
        else "",
    )


def _features(features: Features, controller: Controller | None) -> Rows:
    if controller is not None:
        yield "write cache", switch(features.write_cache, exists=controller.write_cache)
    if coalescing := features.coalescing:
        delays = coalescing.time_us and coalescing.completions > 1
        yield (
            "interrupts",
            f"delayed until {coalescing.completions} completions wait, at most {coalescing.time_us:,} us"
            if delays
            else "not delayed (no coalescing)",
        )
    if queues := features.queues:
        yield "I/O queues", f"{queues.submission:,} to submit, {queues.completion:,} to complete"
    if controller is not None:
        yield "APST", switch(features.apst.enabled if features.apst else None, exists=controller.apst)
    if features.power and features.power.workload_hint:
        yield "workload hint", str(features.power.workload_hint)
    if features.permissive is not None:
        yield (
            "idle work",
            f"may{'' if features.permissive else ' not'} exceed the power of a state without I/O",
        )
    if controller is not None:
        yield "host memory", _host_memory(features, controller)
        yield "throttling", _throttling(features, controller)
        limits = (("warning", controller.warning_C), ("critical", controller.critical_C))
        yield "temperatures", ", ".join(f"{name} {or_dash(limit, celsius)}" for name, limit in limits)
    if thresholds := features.thresholds:
        beyond = (("above", thresholds.over_C), ("below", thresholds.under_C))
        alarms = [f"{side} {limit} C" for side, limit in beyond if limit is not None]
        yield "alarm to the host", " or ".join(alarms) or "off"


def _host_memory(features: Features, controller: Controller) -> str:
    preferred_bytes = controller.host_memory_bytes
    if preferred_bytes is None:
        return "the drive uses none"
    memory = features.host_memory
    if memory is None:
        return "not read"
    prefers = f"the drive prefers {numbers.block(preferred_bytes)}"
    return (
        f"{or_dash(memory.size_bytes, numbers.block)} ({prefers})" if memory.enabled else f"off ({prefers})"
    )


def _throttling(features: Features, controller: Controller) -> str:
    if not controller.thermal_management:
        return "the host cannot set its temperatures"
    if features.thermal is None:
        return "not read"
    levels = (("lightly", features.thermal.light_C), ("heavily", features.thermal.heavy_C))
    texts = [f"{how} from {limit} C on" for how, limit in levels if limit is not None]
    return ", ".join(texts) or "the host has set no temperatures"


def _smart(smart: Smart) -> Rows:
    yield "critical", "; ".join(smart.critical) or "nothing"
    sensors = [f"{sensor} C" for sensor in smart.sensors_C if sensor is not None]
    yield (
        "temperature",
        or_dash(smart.temperature_C, celsius) + (f" (sensors: {', '.join(sensors)})" if sensors else ""),
    )
    yield "life used", f"{smart.used_percent} %"
    yield "spare", f"{smart.spare_percent} % (threshold {smart.spare_threshold_percent} %)"
    yield (
        "read",
        f"{or_dash(smart.read_bytes, numbers.size)} in {numbers.counted(smart.read_commands, 'command')}",
    )
    yield (
        "written",
        f"{or_dash(smart.written_bytes, numbers.size)} in {numbers.counted(smart.write_commands, 'command')}",
    )
    cycles = numbers.counted(smart.power_cycles, "cycle")
    yield "power", f"{smart.power_on_h:,} h on, {cycles}, {smart.unsafe_shutdowns:,} of them ended unsafely"
    yield "busy", f"{smart.busy_min:,} min"
    yield "media errors", f"{smart.media_errors:,}"
    yield "logged errors", f"{smart.error_entries:,}"
    too_warm = (("warning", smart.warning_min), ("critical", smart.critical_min))
    yield (
        "time too warm",
        ", ".join(f"{name} {or_dash(minutes, lambda count: f'{count:,} min')}" for name, minutes in too_warm),
    )
    throttles = (
        ("lightly", smart.light_throttles, smart.light_throttled_s),
        ("heavily", smart.heavy_throttles, smart.heavy_throttled_s),
    )
    times = [
        f"{how} {count or 0:,} times, {seconds or 0:,} s"
        for how, count, seconds in throttles
        if count or seconds
    ]
    yield "throttled", "; ".join(times) or "never, or not counted"


def _errors(entries: Sequence[ErrorEntry]) -> Section:
    left = len(entries) - _MOST_ERRORS
    rows = [
        (entry.status, str(entry.number), or_dash(entry.queue), str(entry.namespace), str(entry.block))
        for entry in entries[:_MOST_ERRORS]
    ]
    return Section(
        "Error log, newest first",
        rows,
        head=("error", "number", "queue", "namespace", "block"),
        note=f"The JSON has {numbers.counted(left, 'older error')}." if left > 0 else "",
    )


def _controller(controller: Controller) -> Rows:
    yield "serial", controller.serial or "-"
    yield (
        "NVMe",
        f"{controller.version or '-'}, PCI vendor {controller.pci_vendor:04x}, controller {controller.controller_id}",
    )
    pages = controller.transfer_pages
    yield (
        "largest request",
        "no limit"
        if pages is None
        else f"{pages:,} pages, {numbers.block(pages * _PAGE_BYTES)} with pages of 4 KiB",
    )
    if controller.capacity_bytes:
        free = (
            f", {numbers.size(controller.unallocated_bytes)} in no namespace"
            if controller.unallocated_bytes
            else ""
        )
        yield "capacity", f"{numbers.size(controller.capacity_bytes)}{free}"
    yield "commands", ", ".join((*controller.io_commands, *controller.admin_commands)) or "no optional ones"
    if "format" in controller.admin_commands:
        yield (
            "format",
            ", ".join(controller.format_attributes) or "of each namespace alone, not cryptographic",
        )
    yield "sanitize", ", ".join(controller.sanitize) or "not supported"


def _firmware(slots: FirmwareSlots | None) -> Rows:
    if slots is None:
        return
    texts = []
    for slot, revision in enumerate(slots.revisions, 1):
        marks = [
            word
            for word, number in (("active", slots.active), ("after reset", slots.after_reset))
            if number == slot
        ]
        if revision or marks:
            texts.append(f"slot {slot}: {revision or '-'}" + (f" ({', '.join(marks)})" if marks else ""))
    yield "firmware", ", ".join(texts) or "-"


def _namespace(namespace: Namespace) -> Rows:
    size = or_dash(namespace.size_bytes, numbers.size)
    yield (
        "size",
        f"{size}, {or_dash(namespace.used_bytes, numbers.size)} in use{', thin' if namespace.thin else ''}",
    )
    formats = []
    for index, entry in enumerate(namespace.formats):
        metadata = f" + {entry.metadata_bytes} B" if entry.metadata_bytes else ""
        now = ", now" if index == namespace.format else ""
        formats.append(f"{or_dash(entry.data_bytes, numbers.block)}{metadata} ({entry.performance}{now})")
    yield "block formats", ", ".join(formats)
    yield "protection", f"type {namespace.protection}" if namespace.protection else "none"
    if namespace.boundary_bytes:
        yield (
            "boundary",
            f"requests that cross a multiple of {numbers.block(namespace.boundary_bytes)} are slower",
        )
    for label, identifier in (("NGUID", namespace.nguid), ("EUI-64", namespace.eui64)):
        if identifier:
            yield label, identifier
