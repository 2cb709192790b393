"""Resolves a partial job to a job: applies the rules for options that depend on each other.

The rules are fio's adjustments and refusals. In cases where fio prints a note and then runs something else than
requested (time_based without runtime), the job is refused.

Source: fio init.c (fixup_options), options.c callbacks.
"""

from __future__ import annotations

import functools
from typing import Any

from pydantic import ValidationError

from iogauge.errors import IogaugeError
from iogauge.schema import (
    BlockSize,
    Checksum,
    Direction,
    EngineKind,
    Job,
    Pacing,
    PerDirection,
    Rw,
    UniformDistribution,
)
from iogauge.text import invalid
from iogauge.workload import verification
from iogauge.workload.numbers import SECOND
from iogauge.workload.options.chapters.steady import DEFAULT_STEADINESS
from iogauge.workload.options.partial_job import PartialJob
from iogauge.workload.options.table import ATOMIC
from iogauge.workload.problem import Place

_PER_DIRECTION = {
    "rate_Bps": PerDirection[int],
    "rate_iops": PerDirection[int],
    "rate_min_Bps": PerDirection[int],
    "rate_iops_min": PerDirection[int],
    "max_latency_ns": PerDirection[int],
    "ba": PerDirection[int],
    "percentage_random": PerDirection[float],
}

_WITHOUT_PATTERN = (
    "rate", "rate_iops", "rate_iops_min", "rate_process", "thinktime", "time_based", "loops", "io_size",
    "offset_increment", "fsync", "fdatasync", "sync_file_range", "zonemode", "zonesize", "latency_target",
)  # fmt: skip
"""Options of patterns that would have no effect on a trace, and that fio ignores silently."""
_WITHOUT_FLOW = ("thinktime_ns", "verify", "read_iolog")
"""Fields of jobs that pause at times of their own, or whose requests belong to no flow."""
MOST_TIME_SCALE = 10**6
"""A trace ten thousand times as fast."""


@functools.cache
def _defaults() -> dict[str, Any]:
    """Return the default of every field of a job. They are shared: pydantic would copy each for every job."""
    return {name: field.get_default() for name, field in Job.model_fields.items()}


def resolve(partial: PartialJob, *, name: str, place: Place) -> Job:
    """Return the job that ``partial`` describes. ``place`` is where its section begins. Raises ``IogaugeError``."""
    return _Resolver(partial, name, place).job()


class _Resolver:
    """Applies the rules to one job; every rule is a method that reads and changes ``_values``."""

    def __init__(self, partial: PartialJob, name: str, place: Place) -> None:
        self._partial = partial
        self._place = place
        self._values: dict[str, Any] = {
            "name": name,
            **partial.values,
            **partial.engine_values.get(partial.engine, {}),
        }

    def job(self) -> Job:
        for rule in (
            self._block_sizes,
            self._directions,
            self._files,
            self._depth,
            self._time,
            self._rates,
            self._randomness,
            self._buffers,
            self._verification,
            self._sizes,
            self._engine,
            self._memory,
            self._zones,
            self._replay,
            self._flow,
            self._logs,
        ):
            rule()
        try:
            return Job(**self._values)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"])
            raise self._place.error(
                "", f"{field}: {invalid.reason(first)}", hint="check the option's value"
            ) from None

    def _get(self, field: str) -> Any:
        return self._values[field] if field in self._values else _defaults()[field]

    def _is_set(self, option: str) -> bool:
        return option in self._partial.options

    def _error(self, option: str, reason: str, hint: str) -> IogaugeError:
        place, text = self._partial.places.get(option, (self._place, option))
        return place.within(self._place.section).error(text, reason, hint=hint)

    def _block_sizes(self) -> None:
        sizes = [
            shape or BlockSize(minimum_bytes=size, maximum_bytes=size)
            for shape, size in zip(self._partial.shaped, self._partial.bs, strict=True)
        ]
        self._values["bs"] = PerDirection[BlockSize](read=sizes[0], write=sizes[1], trim=sizes[2])

    def _directions(self) -> None:
        for field, model in _PER_DIRECTION.items():
            if field in self._values:
                read, write, trim = self._values[field]
                self._values[field] = model(read=read, write=write, trim=trim)

    def _files(self) -> None:
        names = self._values.get("filenames", ())
        if names:
            self._values.pop("directory", None)
            self._values.pop("filename_format", None)
            self._values.pop("nrfiles", None)  # As in fio, in either order.
        if self._get("openfiles") >= (len(names) or self._get("nrfiles")):
            self._values["openfiles"] = 0

    def _depth(self) -> None:
        depth = self._get("iodepth")
        low = self._values.pop("iodepth_low", 0)
        if 0 < low < depth:
            self._values["iodepth_low"] = low
        batch = self._get("iodepth_batch")
        if batch is not None and (batch == 0 or batch > depth):
            self._values["iodepth_batch"] = depth
        offload = self._values.pop("io_submit_mode", "inline") == "offload"
        if offload and self._get("ioengine").is_synchronous and depth > 1:
            raise self._error(
                "io_submit_mode",
                "offload with a synchronous engine makes iodepth I/Os in parallel in fio",
                "use numjobs, or ioengine=io_uring",
            )
        least, most = self._get("iodepth_batch_complete_min"), self._get("iodepth_batch_complete_max")
        if most is not None:
            self._values["iodepth_batch_complete_max"] = max(most, least or 1)

    def _time(self) -> None:
        if self._get("time_based") and not self._get("runtime_ns"):
            raise self._error("time_based", "needs a runtime", "add runtime, or remove time_based")
        duration_ns, sample_ns = self._get("steadystate_duration_ns"), self._get("steadystate_interval_ns")
        if duration_ns and self._get("steadystate") is None:
            self._values["steadystate"] = DEFAULT_STEADINESS
        if duration_ns and sample_ns < SECOND:
            raise self._error("steadystate_check_interval", "is below a second", "use at least 1s, as in fio")
        if duration_ns and (duration_ns % sample_ns or duration_ns <= sample_ns):
            raise self._error(
                "steadystate_duration",
                "is no multiple of steadystate_check_interval, twice that or more",
                "use whole intervals",
            )
        if self._get("latency_target_ns") and not self._get("latency_window_ns"):
            raise self._error(
                "latency_target",
                "needs latency_window",
                "add the time to try each depth, such as latency_window=1s",
            )
        if self._get("loops") == 0:
            self._values["loops"] = 1
        self._values["thinktime_spin_ns"] = min(self._get("thinktime_spin_ns"), self._get("thinktime_ns"))

    def _rates(self) -> None:
        rate, iops, least = (self._get(field) for field in ("rate_Bps", "rate_iops", "rate_min_Bps"))
        if any(_three(rate)) and any(_three(iops)):
            raise self._error("rate_iops", "cannot be combined with rate", "keep one of rate and rate_iops")
        for maximum, minimum in zip(_three(rate), _three(least), strict=True):
            if maximum and minimum > maximum:
                raise self._error("rate_min", "is above rate", "lower rate_min, or raise rate")
        self._least_iops(iops, rate)

    def _least_iops(self, iops: PerDirection[int], rate: PerDirection[int]) -> None:
        for way in ("read", "write", "trim"):
            minimum = getattr(self._get("rate_iops_min"), way)
            if not minimum or Direction(way) not in self._get("rw").directions:
                continue
            size: BlockSize = getattr(self._values["bs"], way)
            maximum = getattr(iops, way) or getattr(rate, way) // size.minimum_bytes
            if maximum and minimum > maximum:
                raise self._error(
                    "rate_iops_min", "is above the rate", "lower rate_iops_min, or raise the rate"
                )
            if size.minimum_bytes != size.maximum_bytes:
                raise self._error(
                    "rate_iops_min", "needs one block size", "use rate_min, in bytes a second, or one size"
                )

    def _randomness(self) -> None:
        if self._is_set("randseed"):
            self._values["randrepeat"] = False
        rw: Rw = self._get("rw")
        alignment = _three(self._get("ba"))
        smallest = [size.minimum_bytes for size in _three(self._values["bs"])]
        unaligned = any(ba not in (0, size) for ba, size in zip(alignment, smallest, strict=True))
        distributions = _three(self._get("random_distribution"))
        skewed = any(distribution != UniformDistribution() for distribution in distributions)
        lfsr = self._values.pop("random_generator", None) == "lfsr" and rw.random
        if lfsr and not skewed:
            if len({*smallest, *(size.maximum_bytes for size in _three(self._values["bs"]))}) > 1:
                raise self._error(
                    "random_generator",
                    "lfsr covers only part of the region if block sizes differ",
                    "use one block size, or remove the option: a random map covers all of it",
                )
            self._values["norandommap"] = False
        if skewed or (unaligned and rw.random):
            self._values["norandommap"] = True

    def _buffers(self) -> None:
        compress = self._get("buffer_compress_percent")
        if compress == 100:
            self._values |= {"zero_buffers": True, "buffer_compress_percent": 0}
        elif compress and not self._is_set("refill_buffers"):
            self._values["refill_buffers"] = True

    def _verification(self) -> None:
        if self._get("verify_pattern") and not self._is_set("verify"):
            self._values["verify"] = Checksum.PATTERN_HDR
        if problem := verification.problem(Job.model_construct(**_defaults() | self._values)):
            raise self._error(problem.option, problem.reason, problem.hint)

    def _sizes(self) -> None:
        size, repeats = self._get("size"), self._get("time_based") or self._get("loops") > 1
        files = len(self._get("filenames")) or self._get("nrfiles")
        files_bytes = files * (self._get("filesize_most") or self._get("filesize") or 0)
        if repeats and size is not None and size.percent is None and size.size_bytes < files_bytes:
            raise self._error(
                "filesize",
                "above size is supported only for a job that runs once: fio repeats the part that it covered",
                "remove size, time_based or loops",
            )
        smallest = min(block.minimum_bytes for block in _three(self._values["bs"]))
        if size is not None and size.percent is None and size.size_bytes < smallest:
            raise self._error(
                "size", f"is smaller than the smallest block size, {smallest}", "raise size, or lower bs"
            )

    def _engine(self) -> None:
        if self._get("pre_read"):
            if self._get("direct") or self._get("ioengine") is EngineKind.IO_URING_CMD:
                raise self._error(
                    "pre_read", "fills the page cache, which the job bypasses", "remove it, or set direct=0"
                )
            self._values["invalidate"] = False
        if any(self._get("cmdprio_percentage")) and any(self._get("cmdprio_bssplit")):
            raise self._error(
                "cmdprio_bssplit", "cannot be combined with cmdprio_percentage", "remove one of them"
            )
        if self._values.get("sqthread_poll_cpu") is not None and not self._values.get("sqthread_poll"):
            raise self._error("sqthread_poll_cpu", "has no effect without sqthread_poll", "add sqthread_poll")

    def _memory(self) -> None:
        if self._get("numa_cpu_nodes") and self._get("cpus_allowed"):
            raise self._error("numa_cpu_nodes", "cannot be combined with cpus_allowed", "keep one of them")
        if self._get("atomic"):
            if self._get("ioengine") not in ATOMIC:
                raise self._error("atomic", "is not possible with this ioengine", "use io_uring or libaio")
            if not self._get("direct"):
                raise self._error("atomic", "needs direct I/O", "add direct=1")
        if self._get("unlink_each_loop") and self._get("loops") > 1:
            raise self._error(
                "unlink_each_loop",
                "with loops is not supported: files are laid out once",
                "remove one of them",
            )

    def _zones(self) -> None:
        size = self._get("zonesize")
        if not self._is_set("zonemode"):
            self._values["zonemode"] = "strided" if size else "none"
        if self._get("zonemode") == "none":
            if size:
                raise self._error("zonemode", "contradicts zonesize", "remove one of them")
            return
        if not size:
            raise self._error("zonemode", "strided needs zonesize", "add zonesize, such as 64m")
        files = len(self._get("filenames")) or self._get("nrfiles")
        blocks = {end for of in _three(self._values["bs"]) for end in (of.minimum_bytes, of.maximum_bytes)}
        covered = self._get("zonerange") or size
        for wrong, reason, hint in (
            (files > 1, "is for a single file: fio ignores it otherwise", "use a job for each file"),
            (
                self._get("rw") in (Rw.TRIMWRITE, Rw.RANDTRIMWRITE),
                "does not fit a trimwrite pattern",
                "use trim",
            ),
            (len(blocks) > 1, "needs one block size for all directions", "set bs to one size"),
            (
                covered % max(blocks) > 0,
                "has zones that are no multiple of bs",
                "change zonerange or zonesize",
            ),
        ):
            if wrong:
                raise self._error("zonemode" if self._is_set("zonemode") else "zonesize", reason, hint)

    def _replay(self) -> None:
        if any(character.isspace() for name in self._get("filenames") for character in name) and self._is_set(
            "write_iolog"
        ):
            raise self._error("write_iolog", "cannot tell the name of a file with spaces", "rename the file")
        if not self._get("read_iolog"):
            return
        if self._is_set("write_iolog"):
            raise self._error("write_iolog", "has no effect on a trace that is replayed", "remove it")
        for option in _WITHOUT_PATTERN:
            if self._is_set(option):
                raise self._error(
                    option, "has no effect on a trace that is replayed", "remove it, or remove read_iolog"
                )
        if self._get("replay_no_stall"):
            if self._is_set("replay_pacing") and self._get("replay_pacing") is not Pacing.CLOSED:
                raise self._error("replay_no_stall", "contradicts replay_pacing", "remove one of them")
            self._values["replay_pacing"] = Pacing.CLOSED
        if self._get("replay_time_scale") > MOST_TIME_SCALE:
            raise self._error("replay_time_scale", "is too high", f"write at most {MOST_TIME_SCALE}")

    def _flow(self) -> None:
        if not self._get("flow"):
            return
        for option in _WITHOUT_FLOW:
            if self._get(option) not in (None, "", 0, Job.model_fields[option].get_default()):
                name = option.removesuffix("_ns").removesuffix("_Bps")
                raise self._error("flow", f"cannot be combined with {name}", "remove one of them")

    def _logs(self) -> None:
        if self._get("write_hist_log") is not None and not self._get("log_hist_ns"):
            raise self._error(
                "write_hist_log", "stays empty without log_hist_msec", "add log_hist_msec, such as 1000"
            )


def _three(value: Any) -> tuple[Any, Any, Any]:
    return value.read, value.write, value.trim
