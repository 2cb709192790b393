"""Resolves a partial job to a job: applies the rules for options that depend on each other.

The rules are fio's adjustments and refusals. In cases where fio prints a note and then runs something else than
requested (time_based without runtime), the job is refused.

Source: fio init.c (fixup_options), options.c callbacks.
"""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from iogauge.errors import IogaugeError
from iogauge.schema import BlockSize, EngineKind, Job, PerDirection, Rw, UniformDistribution
from iogauge.text import invalid
from iogauge.workload.options.partial_job import PartialJob
from iogauge.workload.problem import Place

_PER_DIRECTION = {
    "rate_Bps": PerDirection[int],
    "rate_iops": PerDirection[int],
    "rate_min_Bps": PerDirection[int],
    "ba": PerDirection[int],
    "percentage_random": PerDirection[float],
}


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
            self._sizes,
            self._engine,
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
        return self._values.get(field, Job.model_fields[field].get_default())

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
        open_files, names = self._values.pop("openfiles", 0), self._values.get("filenames", ())
        if names:
            self._values.pop("directory", None)
            self._values.pop("filename_format", None)
            if self._is_set("nrfiles") and self._values.pop("nrfiles") != len(names):
                raise self._error(
                    "nrfiles", f"contradicts filename, which names {len(names)}", "remove one of them"
                )
        if 0 < open_files < (len(names) or self._get("nrfiles")):
            raise self._error(
                "openfiles", "is below the number of files, which all stay open", "raise or remove it"
            )

    def _depth(self) -> None:
        depth = self._get("iodepth")
        low = self._values.pop("iodepth_low", 0)
        if 0 < low < depth:
            self._values["iodepth_low"] = low
        batch = self._get("iodepth_batch")
        if batch is not None and (batch == 0 or batch > depth):
            self._values["iodepth_batch"] = depth
        least, most = self._get("iodepth_batch_complete_min"), self._get("iodepth_batch_complete_max")
        if most is not None:
            self._values["iodepth_batch_complete_max"] = max(most, least or 1)

    def _time(self) -> None:
        if self._get("time_based") and not self._get("runtime_ns"):
            raise self._error("time_based", "needs a runtime", "add runtime, or remove time_based")
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

    def _sizes(self) -> None:
        size, repeats = self._get("size"), self._get("time_based") or self._get("loops") > 1
        if self._get("filesize") and size is not None and size.percent is None and repeats:
            raise self._error(
                "filesize",
                "with size is supported only for a job that runs once: fio repeats the part that it covered",
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
        if self._values.get("sqthread_poll_cpu") is not None and not self._values.get("sqthread_poll"):
            raise self._error("sqthread_poll_cpu", "has no effect without sqthread_poll", "add sqthread_poll")

    def _logs(self) -> None:
        if self._get("write_hist_log") is not None and not self._get("log_hist_ns"):
            raise self._error(
                "write_hist_log", "stays empty without log_hist_msec", "add log_hist_msec, such as 1000"
            )


def _three(value: Any) -> tuple[Any, Any, Any]:
    return value.read, value.write, value.trim
