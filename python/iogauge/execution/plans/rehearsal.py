"""Plans a run before its files are laid out, so that a job is refused before gigabytes are written for it."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from iogauge.execution.plans.planning import Opened, make_plan
from iogauge.schema import JobFile
from iogauge.target import is_model
from iogauge.workload.regions import Need


def rehearse(
    job_file: JobFile, wanted: Sequence[Need], *, cpus: Sequence[int], stamp_descriptors: Mapping[str, int]
) -> None:
    """Raise IogaugeError if the plan will be refused once the files of these needs have been laid out.

    Where a target has a size of its own, or a trace decides what is issued, this is left to the plan itself.
    """
    if all(is_model(need.path) or os.path.lexists(need.path) for need in wanted):
        return
    if any(need.size_bytes is None for need in wanted) or any(job.read_iolog for job in job_file.jobs):
        return
    opened = {
        need.path: Opened(
            fd=number, size_bytes=need.size_bytes or 0, writable=need.write, is_block_device=False
        )
        for number, need in enumerate(wanted)
    }
    make_plan(
        job_file,
        opened,
        seed=0,
        interval_ns=10**9,
        give_up_ns=10**9,
        request_log=False,
        cpus=cpus,
        stamp_descriptors=stamp_descriptors,
    )
