"""A modelled run is the same, request by request: for one seed, at any time, on any machine.

The drives and the machine are written out here, with every feature that draws a random number or computes with
fractions, because those that are shipped are fitted anew now and then. A digest that differs says that models behave
otherwise than they did, which must be meant and stand in the changelog; then the new one goes here.
"""

from __future__ import annotations

import functools
import hashlib
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from iogauge import workload
from iogauge.execution.log.spill import Spill
from iogauge.execution.modelled import CPUS, Virtual
from iogauge.execution.plans.planning import make_plan
from iogauge.schema import DriveResult, JobFile, RunPlan, RunResult

REQUEST = np.dtype(
    [
        *((f"{name}_ns", "<u8") for name in ("intended", "ready", "start", "issued", "done")),
        ("offset_bytes", "<u8"),
        ("length_bytes", "<u4"),
        ("result", "<i4"),
        *((name, "<u4") for name in ("worker", "target", "row")),
        ("direction", "u1"),
        ("ramp", "u1"),
        ("stage", "<u2"),
    ]
)
"""What a digest is of: it stays when the core's own layout changes."""

TARGET = "model:x"
CAPACITY = 64 << 20

MACHINE: dict[str, Any] = {
    "sync": {"call_ns": 900, "request_ns": 300, "reap_ns": 250},
    "queued": {"call_ns": 700, "request_ns": 200, "reap_ns": 150},
    "wake_ns": 1_300,
    "poll_ns": 90,
    "timer_late_ns": 4_000,
    "polls": False,
    "noise": [
        {"on": "time", "every_s": 0.002, "mean_ns": 4_000.0},
        {"on": "request", "every_requests": 90.0, "mean_ns": 2_500.0},
        {"on": "wake", "every_wakes": 70.0, "mean_ns": 6_000.0},
    ],
}

XPOINT: dict[str, Any] = {
    "family": "xpoint",
    "read_chunk_ns": 1_613.7,
    "read_next_chunk_ns": 1_487.3,
    "write_chunk_ns": 1_871.9,
    "write_next_chunk_ns": 1_702.1,
    "misaligned_chunk_ns": 211.3,
    "turnaround_ns": 433.3,
    "channels": 7,
    "read_media_ns": 4_101.7,
    "write_media_ns": 5_203.9,
    "latency_ns": 1_003.3,
    "jitter_ns": 377.7,
    "read_stalls": [{"every_services": 200.0, "mean_ns": 9_000.5, "spread": 0.7}],
    "write_stalls": [{"every_services": 150.0, "mean_ns": 12_000.5, "spread": 1.0}],
    "command_ns": 301.1,
    "refresh": {"powered_h": 1.0, "lasts_h": 3.0, "every_ns": 90_000.7, "piece_ns": 3_000.3},
}

NAND: dict[str, Any] = {
    "family": "nand",
    "initial": "random",
    "dies": 8,
    "planes": 2,
    "channels": 4,
    "page_bytes": 8192,
    "pages_per_block": 32,
    "channel_Bps": 4.1e8,
    "command_ns": 510.3,
    "read_latency_ns": 5_003.1,
    "read_jitter_ns": 2_001.7,
    "write_latency_ns": 6_007.3,
    "write_jitter_ns": 1_501.9,
    "read_ns": 50_011.3,
    "slow_read_ns": 90_007.7,
    "slow_read_share": 0.3,
    "retry_share": 0.05,
    "retry_ns": 40_001.3,
    "stalls": [{"every_services": 50.0, "mean_ns": 200_003.3, "spread": 0.5}],
    "program_ns": 400_013.7,
    "program_spread": 0.3,
    "erase_ns": 3_000_017.3,
    "suspend_ns": 10_001.1,
    "reads_before_write": 8,
    "buffer_bytes": 16 * 16384,
    "buffer_protected": False,
    "drain_after_ns": 100_003.7,
    "over_provisioning": 0.28,
    "slc": {
        "bytes": 2 << 20,
        "program_ns": 200_003.1,
        "read_ns": 25_007.9,
        "fold_after_ns": 1e6,
        "fold_when_full": True,
    },
    "trim_mebibyte_ns": 1_001.3,
}

BATCHES = "iodepth_batch_complete_max=64"
ONE_BY_ONE = ""
LOGS = {
    "xpoint": (XPOINT, 2, BATCHES, "95e0ede88a5ebf1ad928ce1de9af56f9b0b922171f1274efff615ec893636da7"),
    "xpoint one by one": (
        XPOINT,
        2,
        ONE_BY_ONE,
        "08e4a2da84abc89f6c18e3654c766957ffa4fc5508843b533de40b47c84ec63d",
    ),
    "nand": (NAND, 1, BATCHES, "1fbc2e4db50dfeea421dbb99dbbb2b6f7f4f7054c39467f3387af107069b850e"),
    "nand one by one": (
        NAND,
        1,
        ONE_BY_ONE,
        "040859124d28c6ec98f8eac82435ca5270cf85e82ec2a345fb995c96ec23dc0e",
    ),
}
"""Media, controllers, how many completions a look takes, and the digest of the log."""

JOBS = f"""
[global]
filename={TARGET}
ioengine=libaio
direct=1
norandommap=1
runtime=60ms
{{batches}}
time_based=1

[mixed]
rw=randrw
rwmixread=60
bssplit=4k/60:512/20:24k/20
blockalign=512
iodepth=6
numjobs=2
fsync=50

[paced]
rw=randread
random_distribution=zipf:1.1
iodepth=8
rate_iops=20000
rate_process=poisson

[trims]
rw=randtrim
bs=64k
rate_iops=300
ioengine=pvsync2

[durable]
stonewall
rw=randwrite
bs=4k
ioengine=pvsync2
sync=dsync
thinktime=20ms
thinktime_blocks=30
runtime=100ms
"""


def drive(media: dict[str, Any], *, controllers: int) -> dict[str, Any]:
    """All that there is around media: stripes, splitting, sleep and heat among it."""
    return {
        "capacity_bytes": CAPACITY,
        "controllers": controllers,
        "stripe_bytes": 16384,
        "max_transfer_bytes": 16384,
        "link": {"kind": "pcie", "generation": 3, "lanes": 4, "efficiency": 0.83, "switch_ns": 151.3},
        "media": media,
        "power": {
            "idle_W": 3.1,
            "read_W": 7.3,
            "write_W": 12.7,
            "states": [{"after_ns": 5e6, "entry_ns": 1.1e5, "exit_ns": 2.3e5, "idle_W": 0.7}],
        },
        "thermal": {
            "ambient_C": 25.0,
            "rise_C_per_W": 4.0,
            "time_constant_s": 0.02,
            "throttle_C": 39.5,
            "resume_C": 39.0,
            "throttled_Bps": 2e8,
        },
    }


@dataclass(frozen=True)
class Logged:
    """Every request of a run, as ``REQUEST``, and what came of the drive."""

    requests: bytes
    drive: DriveResult


@functools.cache
def logged(family: str, *, seed: int, again: int = 0) -> Logged:
    """Run the jobs on a family's drive. ``again``: not the run that was made before."""
    media, controllers, batches, _ = LOGS[family]
    jobs = workload.parse(JOBS.format(batches=batches), source="jobs")
    virtual = Virtual({TARGET: drive(media, controllers=controllers)}, MACHINE)
    plan = make_plan(
        jobs,
        virtual.opened,
        seed=seed,
        interval_ns=10**7,
        give_up_ns=10**9,
        request_log=True,
        cpus=CPUS,
        spins=False,
    )
    with tempfile.TemporaryDirectory() as directory:
        return _logged(virtual, jobs, plan, Spill.create(Path(directory), request_log=None))


def _logged(virtual: Virtual, jobs: JobFile, plan: RunPlan, spill: Spill) -> Logged:
    handle = virtual.start(plan, spill.begin(jobs, plan))
    finished: str | None = None
    give_up = time.monotonic() + 600
    while finished is None:
        assert time.monotonic() < give_up
        finished = dict(handle.poll(0.01)).get("finished")
    requests = []
    for records in spill.records():
        requests.append(np.empty(len(records), dtype=REQUEST))
        for name in REQUEST.names or ():
            requests[-1][name] = records[name]
    return Logged(np.concatenate(requests).tobytes(), RunResult.model_validate_json(finished).drives[0])


each_family = pytest.mark.parametrize("family", LOGS)


@each_family
def test_the_log_of_a_seed_is_the_same_at_any_time_on_any_machine(family: str) -> None:
    log = logged(family, seed=1).requests
    assert log == logged(family, seed=1, again=1).requests
    assert hashlib.sha256(log).hexdigest() == LOGS[family][3]


@each_family
def test_another_seed_makes_another_log(family: str) -> None:
    assert logged(family, seed=1).requests != logged(family, seed=2).requests


@each_family
def test_the_log_holds_all_that_it_is_there_for(family: str) -> None:
    log = logged(family, seed=1)
    records = np.frombuffer(log.requests, dtype=REQUEST)
    assert set(np.unique(records["direction"])) == {0, 1, 2, 3}
    assert set(np.unique(records["stage"])) == {0, 1}
    assert len(np.unique(records["done_ns"] - records["start_ns"])) > 1_000
    assert log.drive.throttled_ns > 0
    assert log.drive.low_power_ns > 0
    if LOGS[family][0] is NAND:
        assert log.drive.write_amplification > 1.5
        assert log.drive.erases_max > 0
        assert log.drive.unwritten_reads > 0
