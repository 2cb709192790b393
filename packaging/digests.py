"""Prints a digest of what every shipped drive model shows, by seed: two loads each, behind the drive's own machine."""

from __future__ import annotations

import hashlib

from iogauge import catalog, workload
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.modelled import simulate

LOADS = {
    "mix": """
        [mix]
        filename=model:x
        rw=randrw
        rwmixread=60
        bs=4k
        iodepth=4
        numjobs=4
        number_ios=4000
        """,
    "pressure": """
        [global]
        filename=model:x
        bs=8k
        runtime=40ms
        [writer]
        rw=randwrite
        iodepth=4
        rate=100m
        rate_process=poisson
        [reader]
        rw=randread
        random_distribution=zipf:1.1
        """,
}

with Interrupts() as interrupts:
    for name in catalog.shipped("drive"):
        drive = catalog.drive(name)
        machine = catalog.machine(drive.machine or "ideal")
        for load, text in LOADS.items():
            jobs = workload.parse(text, source=load)
            drives = {"model:x": drive.parameters}
            result = simulate(jobs, drives, machine.parameters, seed=7, interrupts=interrupts)
            # The clock's facts are the host's.
            shown = result.model_dump_json(exclude={"clock"})
            print(name, load, hashlib.sha256(shown.encode()).hexdigest(), flush=True)
