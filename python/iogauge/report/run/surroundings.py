"""The lines below a run's rows: the device's counters and interrupts, the generator's limits, requests never come back.

The block device's ``stat`` splits a mean latency: into the time of block layer and device, and the rest, which system
calls and the wake-up add. Its counters are read before and after a run, and include ramps. Warnings are rendered by
themselves, since they go to another stream.

Source: Intel's evaluation guides (platform settings), and iogauge's own probes of the machine.
"""

from __future__ import annotations

from collections.abc import Iterator

from iogauge.report import verified
from iogauge.report.run import drive_samples, latency_split
from iogauge.results import served
from iogauge.schema import (
    DeviceStat,
    Direction,
    DriveResult,
    InFlight,
    LatencySplit,
    LedgerEntry,
    ModelFacts,
    Notice,
    RunRecord,
    TargetFacts,
    TargetState,
)
from iogauge.text import numbers
from iogauge.text.grid import labelled


def lines(record: RunRecord) -> list[str]:
    """Return the lines below the rows."""
    devices = [line for stat in record.device_stats for line in _device(record, stat)]
    sampled = [
        line
        for samples in record.drive_samples
        if (what := drive_samples.text(samples))
        for line in labelled(samples.device, what, indent="", width=11)
    ]
    return [
        *devices,
        *latency_split.lines(record),
        *sampled,
        *_interrupts(record),
        *_generator(record),
        *(
            line
            for text in verified.checked(record)
            for line in labelled("verify", text, indent="", width=11)
        ),
        *_ending(record),
    ]


def warnings(notices: tuple[Notice, ...]) -> str:
    """Return the text of warnings, each with its remedy below it; empty if there is none.

    >>> warnings(())
    ''
    """
    return "".join(f"warning: {notice.message}\n   hint: {notice.hint}\n" for notice in notices)


def in_flight(request: InFlight) -> str:
    """Return one sentence about a request that has not come back."""
    return (
        f"a {request.direction.value} of {numbers.block(request.length_bytes)} at {request.offset_bytes} of "
        f"{request.path} has not come back after {numbers.duration(request.age_ns)}"
    )


def _device(record: RunRecord, stat: DeviceStat) -> list[str]:
    lines: list[str] = []
    ramp = ", ramp included" if has_ramp(record) else ""
    for direction, ios, spent_ns in (
        (Direction.READ, stat.read_ios, stat.read_ns),
        (Direction.WRITE, stat.write_ios, stat.write_ns),
        (Direction.TRIM, stat.trim_ios, stat.trim_ns),
        (Direction.SYNC, stat.flush_ios, stat.flush_ns),
    ):
        if not ios:
            continue
        split = _split(record, stat.device, direction)
        mean = f"mean {numbers.duration(spent_ns / ios)} in block layer and device{ramp}"
        text = f"{direction.value}: {ios:,} I/Os, {latency_split.split_text(split) if split else mean}"
        lines += labelled(stat.device if not lines else "", text, indent="", width=11)
    busy = stat.busy_ns / record.result.elapsed_ns if record.result.elapsed_ns else 0.0
    if lines:
        lines += labelled("", f"busy {numbers.percent(min(busy, 1.0))} of the time", indent="", width=11)
    return lines


def _interrupts(record: RunRecord) -> list[str]:
    """Return the lines on which CPUs served the drives' interrupts."""
    lines: list[str] = []
    ran = {cpu for worker in record.result.workers for cpu in worker.cpus}
    for drive in record.interrupts:
        name = f"{drive.device}: " if len(record.interrupts) > 1 else ""
        for text in (served.sentence(drive, ran), *served.remarks(drive)):
            lines += labelled("interrupts" if not lines else "", name + text, indent="", width=11)
    return lines


def has_ramp(record: RunRecord) -> bool:
    """Return whether any job has a ramp."""
    return any(job.ramp_time_ns for job in record.jobs.jobs)


def _split(record: RunRecord, device: str, direction: Direction) -> LatencySplit | None:
    wanted = (device, direction)
    return next((split for split in record.latency_splits if (split.device, split.direction) == wanted), None)


def _generator(record: RunRecord) -> list[str]:
    lines = []
    if record.ceiling:
        ceiling = record.ceiling
        text = (
            f"at most {ceiling.iops:,.0f} IOPS a worker (null engine, 4 KiB, iodepth 32); adds "
            f"{numbers.duration(round(ceiling.lat_mean_ns))} to a request at iodepth 1; "
            f"the timer wakes up to {numbers.duration(round(ceiling.sleep_slack_ns))} late (p99)"
        )
        lines += labelled("generator", text, indent="", width=11)
    clock = record.result.clock
    if clock.source == "virtual":
        return lines + _modelled(record)
    parts = [f"{clock.source}{f' ({clock.reason})' if clock.reason else ''}"]
    if clock.tsc_hz:
        parts.append(
            f"{clock.tsc_hz / 1e9:.4g} GHz, {clock.check_ppm:+.2g} ppm off the kernel's over the run"
        )
    if clock.read_cost_ns:
        parts.append(f"{numbers.duration(clock.read_cost_ns)} a reading")
    return lines + labelled("clock", ", ".join(parts), indent="", width=11)


def _modelled(record: RunRecord) -> list[str]:
    """Return the lines of a modelled run: its models, and what each drive model reports of itself."""
    lines = []
    for facts in record.targets:
        if facts.modelled:
            lines += labelled("modelled", model_text(facts.modelled), indent="", width=11)
    for drive in record.result.drives:
        lines += labelled("drive", f"{drive.path}: {'; '.join(_did(drive, record))}", indent="", width=11)
    return lines


def state_text(state: TargetState | None, target: TargetFacts) -> str:
    """Return the state of a target in words: what iogauge has written to it.

    >>> facts = TargetFacts(path="/dev/nvme0n1", kind="block", size_bytes=400 * 10**9)
    >>> state_text(None, facts)
    'unknown (first use)'
    >>> state = TargetState(
    ...     known_since="2026-01-01T00:00:00Z",
    ...     purged_at="2026-01-03T10:00:00Z",
    ...     written_bytes=1200 * 10**9,
    ...     random_bytes=400 * 10**9,
    ...     last=None,
    ... )
    >>> state_text(state, facts)
    'iogauge wrote at least 1.200 TB (3.0 x its size), 400.0 GB of it at random, since its purge on 2026-01-03'
    """
    if state is None:
        return "unknown (first use)"
    times = state.written_bytes / target.size_bytes
    written = (
        f"{numbers.size(state.written_bytes)} ({times:.1f} x its size)" if state.written_bytes else "nothing"
    )
    random = f", {numbers.size(state.random_bytes)} of it at random," if state.random_bytes else ""
    since = (
        f"since its purge{_way(state)} on {state.purged_at[:10]}"
        if state.purged_at
        else f"since {state.known_since[:10]}; earlier writes are unknown"
    )
    least = "at least " if state.written_bytes else ""
    last = f"; last {_writes(state.last)}" if state.last else ""
    return f"iogauge wrote {least}{written}{random} {since}{last}"


def _way(state: TargetState) -> str:
    return "" if state.purged_by == "discard" else f" by {state.purged_by}"


def _writes(entry: LedgerEntry) -> str:
    way = "at random" if entry.random_bytes * 2 >= entry.written_bytes else "in order"
    by = f", by {entry.source}" if entry.source else ""
    return f"{numbers.block(entry.block_bytes)} {way} on {entry.at[:10]}{by}"


def model_text(model: ModelFacts) -> str:
    """Return the models of a target in words."""
    return (
        f"{model.drive} (version {model.drive_version}) behind {model.machine} (version {model.machine_version}), "
        f"in virtual time{f', begun {model.begun_as}' if model.begun_as else ''}; parameters {model.sha256[:12]}"
    )


def _did(drive: DriveResult, record: RunRecord) -> Iterator[str]:
    elapsed_s = record.result.elapsed_ns / 1e9
    if elapsed_s:
        yield f"{drive.energy_J:.4g} J, {drive.energy_J / elapsed_s:.3g} W on average"
    if drive.hottest_C is not None:
        throttled = drive.throttled_ns / record.result.elapsed_ns if record.result.elapsed_ns else 0.0
        yield f"up to {drive.hottest_C:.0f} C, throttled {numbers.percent(throttled)} of the time"
    if drive.write_amplification is not None:
        yield f"write amplification {drive.write_amplification:.3g}"
    if drive.unwritten_reads:
        yield f"{drive.unwritten_reads:,} reads of blocks never written"


def _ending(record: RunRecord) -> list[str]:
    lines = []
    for request in record.result.in_flight:
        lines += labelled("in flight", in_flight(request), indent="", width=11)
    if record.result.stopped_by:
        reason = f": {record.result.error}" if record.result.error else ""
        lines += labelled("stopped", f"by {record.result.stopped_by}{reason}", indent="", width=11)
    return lines + labelled("seed", str(record.plan.seed), indent="", width=11)
