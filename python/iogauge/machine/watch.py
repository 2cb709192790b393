"""Watches the machine around one run: audits it before, examines targets and counters, and adds warnings.

Only this module of the package has state. It is called at the start and the end of a run::

    watch = Watch()
    record = run.execute(jobs, on_start=watch.started)
    record = watch.finished(record, rows)

The watch costs CPU time before the workers start: 10 ms on a machine with two CPUs and 0.2 s with 256, most of it for
the audit. While they run, only its samples of the drives cost anything (``sampling``). An observation that fails is
left out; it is not an error.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from iogauge.machine.audit import audits_of
from iogauge.machine.compress import Sample, sample_data
from iogauge.machine.extents import unwritten_share
from iogauge.machine.facts import machine_facts
from iogauge.machine.interference import foreign_bytes, other_processes
from iogauge.machine.interrupts import Counts, read_interrupts, served
from iogauge.machine.judge import Observations, RowFigures, judge
from iogauge.machine.samples.news import DriveNews
from iogauge.machine.samples.sampling import Sampling, readers_of
from iogauge.machine.stat import Counters, differences, read_counters, uncounted_commands
from iogauge.schema import (
    Audit,
    DeviceStat,
    EngineKind,
    FilePlan,
    Interval,
    MachineFacts,
    Notice,
    RunPlan,
    RunRecord,
    TargetFacts,
)
from iogauge.target.users.sysfs import HOST, BlockDevice, Host


class Watch:
    """The observer of one run. Use a new one for every run; pass ``machine`` to avoid reading its facts again.

    ``drive_samples`` is whether drives are sampled while the run lasts. ``close`` it if the run may fail.
    """

    def __init__(
        self, *, machine: MachineFacts | None = None, host: Host = HOST, drive_samples: bool = True
    ) -> None:
        self._host = host
        self._samples_drives = drive_samples
        self._sampling: Sampling | None = None
        self._machine = machine
        self._audits: tuple[Audit, ...] = ()
        self._counters: dict[str, Counters] = {}
        self._interrupts: dict[str, Counts] = {}
        self._users: dict[str, list[str]] = {}
        self._unwritten: dict[str, float] = {}
        self._samples: dict[str, Sample] = {}
        self._polls: dict[str, bool] = {}

    def started(self, plan: RunPlan, targets: Sequence[TargetFacts]) -> None:
        """Examine the open targets before the workers start: ``execute``'s ``on_start``."""
        self._audits = audits_of(targets, self._host)
        self._users = other_processes(targets, self._host)
        for file in _read_files(plan):
            share = unwritten_share(
                file.fd,
                offset_bytes=file.region_offset_bytes,
                length_bytes=file.region_bytes,
                host=self._host,
            )
            sample = sample_data(
                file.fd, offset_bytes=file.region_offset_bytes, length_bytes=file.region_bytes
            )
            if share is not None:
                self._unwritten[file.path] = max(share, self._unwritten.get(file.path, 0.0))
            if sample is not None:
                self._samples[file.path] = sample
        for name in {facts.device for facts in targets if facts.device}:
            device = BlockDevice.by_name(name, self._host)
            polls = device.disk.text("queue/io_poll") if device else None
            if polls is not None:
                self._polls[name] = polls == "1"
        if self._samples_drives:
            self._sampling = Sampling(readers_of(targets, self._host), plan=plan)
            self._sampling.start()
        # Last, so that our own reads are not counted.
        self.count_from_now(targets)

    def count_from_now(self, targets: Sequence[TargetFacts]) -> None:
        """Read the counters from which those after the run are subtracted, again if the run had to wait."""
        self._interrupts = read_interrupts(targets, self._host)
        self._counters = read_counters(targets, self._host)

    def interval(self, interval: Interval) -> None:
        """Note an interval that has just arrived: it places the samples on the run's clock."""
        if self._sampling:
            self._sampling.reached(interval.stage, interval.end_ns)

    def drive_news(self) -> list[DriveNews]:
        """Return what the drives have said of themselves since the last call."""
        return self._sampling.news() if self._sampling else []

    def close(self) -> None:
        """End the sampling of a run that failed, without waiting."""
        if self._sampling:
            self._sampling.stop()

    def finished(
        self,
        record: RunRecord,
        rows: Sequence[RowFigures],
        *,
        own_bytes: Mapping[str, tuple[int, int]] | None = None,
        fallbacks: Sequence[Notice] = (),
    ) -> RunRecord:
        """Return the record with audits, device statistics, interrupts and all warnings.

        ``own_bytes`` holds what the run read and wrote by device name, ramps included; only these devices are checked
        for I/O of other programs. Warnings already in the record come first.
        """
        samples = self._sampling.finish() if self._sampling else ()
        stats = differences(self._counters, read_counters(record.targets, self._host), self._host)
        interrupts = served(self._interrupts, read_interrupts(record.targets, self._host), self._host)
        observed = Observations(
            unwritten=self._unwritten,
            samples=self._samples,
            users=self._users,
            foreign_bytes=dict(_foreign(stats, record, own_bytes or {})),
            polls=self._polls,
            drives=samples,
            fallbacks=fallbacks,
        )
        new_warnings = judge(
            plan=record.plan,
            result=record.result,
            targets=record.targets,
            ceiling=record.ceiling,
            machine=self._machine or machine_facts(self._host),
            rows=rows,
            observed=observed,
        )
        warnings = tuple(dict.fromkeys((*record.warnings, *new_warnings)))
        # Counters without our own commands say nothing of the run.
        uncounted = uncounted_commands(record.plan, record.targets, self._host)
        return record.model_copy(
            update={
                "audits": self._audits,
                "device_stats": tuple(counted for counted in stats if counted.device not in uncounted),
                "drive_samples": samples,
                "interrupts": interrupts,
                "warnings": warnings,
            }
        )


def _read_files(plan: RunPlan) -> Iterator[FilePlan]:
    """Yield every distinct region that workers read from a real target before the run has written all of it."""
    seen = set()
    written: list[FilePlan] = []
    for stage in plan.stages:
        for worker in stage.workers:
            if worker.engine.kind is EngineKind.NULL or "read" not in worker.pattern.rw.directions:
                continue
            for file in worker.files:
                region = (file.path, file.region_offset_bytes, file.region_bytes)
                if file.fd >= 0 and region not in seen and not _covered(file, written):
                    seen.add(region)
                    yield file
        written += [
            file
            for worker in stage.workers
            if "write" in worker.pattern.rw.directions and worker.engine.kind is not EngineKind.NULL
            for file in worker.files
        ]


def _covered(file: FilePlan, written: Sequence[FilePlan]) -> bool:
    """Return whether these regions together cover a file's region."""
    reached = file.region_offset_bytes
    same = (other for other in written if other.path == file.path)
    for other in sorted(same, key=lambda other: other.region_offset_bytes):
        if other.region_offset_bytes > reached:
            break
        reached = max(reached, other.region_offset_bytes + other.region_bytes)
    return reached >= file.region_offset_bytes + file.region_bytes


def _foreign(
    stats: Sequence[DeviceStat], record: RunRecord, own: Mapping[str, tuple[int, int]]
) -> Iterator[tuple[str, tuple[int, int]]]:
    # Buffered writes reach the device at another time, or never, so the counts cannot be compared.
    if not all(worker.engine.direct for stage in record.plan.stages for worker in stage.workers):
        return
    for counted in stats:
        if counted.device in own:
            read, written = own[counted.device]
            through_filesystem = any(
                facts.kind == "file" for facts in record.targets if facts.device == counted.device
            )
            beyond = foreign_bytes(
                counted,
                own_read_bytes=read,
                own_write_bytes=written,
                through_filesystem=through_filesystem,
            )
            if any(beyond):
                yield counted.device, beyond
