"""Write amplification as a run prints it, against the closed form of greedy collection under uniform random writes.

alpha / (alpha + W(-alpha e^-alpha)), with alpha physical over visible pages and W Lambert's function.

Source: Xiang and Kurkoski, arXiv:1110.4245.
"""

from __future__ import annotations

import math
from typing import Any

import pytest
from scipy.special import lambertw

from iogauge import workload
from iogauge.execution.interrupts import Interrupts
from iogauge.execution.modelled import simulate

CAPACITY = 512 << 20
TARGET = "model:x"
OVERWRITES = 3
FREE: dict[str, int] = {"call_ns": 0, "request_ns": 0, "reap_ns": 0}
IDEAL: dict[str, Any] = {
    "sync": FREE,
    "queued": FREE,
    "wake_ns": 0,
    "poll_ns": 0,
    "timer_late_ns": 0,
    "polls": False,
    "noise": [],
}


def drive(over_provisioning: float) -> dict[str, Any]:
    """Flash in the steady state of random writes, whose dies take next to no time: only what is moved counts."""
    return {
        "capacity_bytes": CAPACITY,
        "controllers": 1,
        "stripe_bytes": 131072,
        "max_transfer_bytes": 131072,
        "link": {"kind": "pcie", "generation": 3, "lanes": 4, "efficiency": 0.8, "switch_ns": 0.0},
        "media": {
            "family": "nand",
            "initial": "random",
            "dies": 4,
            "planes": 2,
            "channels": 2,
            "page_bytes": 8192,
            "pages_per_block": 64,
            "channel_Bps": 4e9,
            "command_ns": 500.0,
            "read_latency_ns": 5_000.0,
            "read_jitter_ns": 0.0,
            "write_latency_ns": 6_000.0,
            "write_jitter_ns": 0.0,
            "read_ns": 100.0,
            "slow_read_ns": 100.0,
            "slow_read_share": 0.0,
            "retry_share": 0.0,
            "retry_ns": 0.0,
            "stalls": [],
            "program_ns": 4_000.0,
            "program_spread": 0.0,
            "erase_ns": 1_000.0,
            "suspend_ns": None,
            "reads_before_write": 1_000,
            "buffer_bytes": 8 * 16384,
            "buffer_protected": True,
            "drain_after_ns": 1e6,
            "over_provisioning": over_provisioning,
            "slc": None,
            "trim_mebibyte_ns": 1_000.0,
        },
        "power": {"idle_W": 5.0, "read_W": 8.0, "write_W": 13.0, "states": []},
        "thermal": None,
    }


def closed_form(over_provisioning: float) -> float:
    alpha = 1 + over_provisioning
    return float(alpha / (alpha + lambertw(-alpha * math.exp(-alpha)).real))


@pytest.mark.parametrize("over_provisioning", [0.07, 0.15, 0.28, 0.40, 0.67])
def test_a_run_s_write_amplification_is_that_of_the_closed_form(over_provisioning: float) -> None:
    writes = OVERWRITES * CAPACITY // 4096
    jobs = workload.parse(
        f"[writes]\nfilename={TARGET}\nrw=randwrite\nbs=4k\niodepth=64\nioengine=libaio\ndirect=1\n"
        f"norandommap=1\nio_size={writes * 4096}\n",
        source="jobs",
    )
    with Interrupts() as interrupts:
        result = simulate(jobs, {TARGET: drive(over_provisioning)}, IDEAL, seed=3, interrupts=interrupts)
    (tally,) = (tally for row in result.rows for tally in row.tallies.values() if tally.ios)
    assert tally.ios == writes
    (drive_result,) = result.drives
    assert drive_result.write_amplification == pytest.approx(closed_form(over_provisioning), rel=0.03)
