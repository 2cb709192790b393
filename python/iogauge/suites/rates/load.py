"""Loads for a drive that serves as it can, and for one that is asked at a rate.

Requests at a rate arrive at random (a Poisson process) and do not wait for the drive, as those of many independent
clients do. A request that finds all places in flight taken waits, and its response, which counts from its intended
start, includes that wait.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from iogauge.errors import IogaugeError
from iogauge.schema import RunRecord, StepPlan
from iogauge.stats.figures import step_figures
from iogauge.suites.suite import StepTemplate
from iogauge.text.option import call

JOB = "load"
JOBS, DEPTH = 4, 64
"""Jobs at a rate, and the most requests in flight of each."""
SEARCH_RUNTIME_NS = 2 * 10**9

Load = Mapping[str, str | int]
"""Options of the job, with its ``numjobs`` and ``iodepth``."""


def search_step(template: StepTemplate, load: Load) -> StepPlan:
    """Return a short run that keeps all places in flight taken, to see the most that the drive serves."""
    template = replace(template, runtime_ns=SEARCH_RUNTIME_NS)
    return template.step("search", 0, {JOB: {**load, "iodepth_batch": 1}})


def most_served(search: RunRecord) -> float:
    """Return the IOPS of a search. Raises IogaugeError: nothing completed."""
    most = step_figures(search, (), measured_job=JOB, load_jobs=None).iops
    if most <= 0:
        raise IogaugeError(
            "no request completed during the search for the most that the target serves",
            hint=f"first run a job on the target alone: {call('run', 'JOBS')}",
        )
    return most


def grain(load: Load) -> int:
    """Return the smallest rate that all jobs can share, IOPS; rates are its multiples.

    >>> grain({"rw": "randread", "numjobs": 4}), grain({"rw": "randrw", "rwmixread": 70, "numjobs": 4})
    (4, 40)
    """
    jobs = int(load.get("numjobs", 1))
    return jobs * (10 if _mixed(load) else 1)


def paced(load: Load, rate: float) -> dict[str, object]:
    """Return the options of the job at ``rate`` IOPS, a multiple of ``grain``, over all jobs and directions.

    >>> paced({"rw": "randrw", "rwmixread": 70, "numjobs": 4}, 4000)["rate_iops"]
    '700,300'
    """
    per_job = round(rate / int(load.get("numjobs", 1)))
    reads = round(per_job * int(load.get("rwmixread", 50)) / 100)
    return {
        **load,
        "rate_iops": f"{reads},{per_job - reads}" if _mixed(load) else per_job,
        "rate_process": "poisson",
    }


def _mixed(load: Load) -> bool:
    return str(load["rw"]) in ("rw", "readwrite", "randrw")
