"""Made-up fleets of drives as observations, and drive models whose parameters vary as those of real drives do.

The spread of the made-up drives at each position, and the noise of their batches, are those of the model of a P4800X
with 2.5 % of spread in each time of its medium, each independent: reads and writes of 4 KiB at depth 1, and reads of
128 KiB at depth 8, which wait for one part alone. Hosts and whatever a drive does alike at all positions come on top.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

import iogauge
from iogauge.schema import Direction, Kind
from iogauge.stats.fleet.batches import Batch, batches
from iogauge.stats.fleet.observations import DriveObservations

POSITIONS = ("reads", "writes", "large reads")
USUAL_NS = np.array([11_700.0, 12_500.0, 418_600.0])
SPREAD = np.array([0.0084, 0.0097, 0.0228])
"""Standard deviation of the logarithm of each position's latency between model drives."""
NOISE = np.array([0.0019, 0.0030, 0.0006])
"""The same between batches of 100 ms of one model drive."""
TAIL = 2.5
"""p99 of a position, as a multiple of its mean."""
TAIL_SPREAD, TAIL_NOISE = 0.015, 0.01
"""Standard deviations of the logarithm of that multiple: between drives, and between batches."""
BATCHES = 10


@dataclass(kw_only=True)
class MadeUpFleet:
    """A fleet of healthy drives until a test makes some slow; ``logs`` are of mean latencies, and ``tails`` of how much
    above them p99 is: drives x positions x batches.

    Drive 12 of ten a host is ``d0012`` in host ``h001`` and slot ``s2``.
    """

    hosts: int
    per_host: int
    seed: int
    spread: float = 0.005
    """Between drives, at all positions alike."""
    host_spread: float = 0.005
    position_spread: NDArray[np.float64] = field(default_factory=lambda: SPREAD)
    batches: int = BATCHES

    def __post_init__(self) -> None:
        random = np.random.default_rng(self.seed)
        drives = self.hosts * self.per_host
        alike = random.normal(0, self.spread, drives) + random.normal(0, self.host_spread, self.hosts).repeat(
            self.per_host
        )
        at_position = random.normal(0, 1, (drives, len(POSITIONS))) * self.position_spread
        noise = random.normal(0, 1, (drives, len(POSITIONS), self.batches)) * NOISE[:, None]
        self.logs = np.log(USUAL_NS)[:, None] + (alike[:, None] + at_position)[:, :, None] + noise
        own = random.normal(0, TAIL_SPREAD, (drives, len(POSITIONS)))
        self.tails = np.log(TAIL) + own[:, :, None] + random.normal(0, TAIL_NOISE, self.logs.shape)
        self.names = [f"d{number:04}" for number in range(drives)]
        self.host_of = [f"h{number // self.per_host:03}" for number in range(drives)]
        self.slot_of = [f"s{number % self.per_host}" for number in range(drives)]
        self.model_of = ["P4800X"] * drives
        self.firmware_of = ["E201"] * drives

    def slow_down(self, drives: Collection[int], ratio: float) -> None:
        """Multiply the latency of some drives."""
        self.logs[list(drives)] += np.log(ratio)

    def of_host(self, host: int) -> range:
        """Return the drives of a host."""
        return range(host * self.per_host, (host + 1) * self.per_host)

    def observations(self) -> DriveObservations:
        """Return what a fleet's judgement sees, with a fixed number of requests in flight."""
        drives, positions, batch_count = self.logs.shape
        rows = np.repeat(np.arange(drives), positions * batch_count)
        mean_ns = np.exp(self.logs.ravel())
        return DriveObservations(
            drive=[self.names[row] for row in rows],
            host=[self.host_of[row] for row in rows],
            model=[self.model_of[row] for row in rows],
            firmware=[self.firmware_of[row] for row in rows],
            slot=[self.slot_of[row] for row in rows],
            position=[name for _ in range(drives) for name in POSITIONS for _ in range(batch_count)],
            batch=np.tile(np.arange(batch_count), drives * positions),
            iops=8e9 / mean_ns,
            mean_ns=mean_ns,
            tail_ns=np.exp((self.logs + self.tails).ravel()),
        )


LOADS = (("reads", "randread", "4k", 1), ("writes", "randwrite", "4k", 1), ("large", "read", "128k", 8))
_JOB = (
    "[{}]\nrw={}\nbs={}\niodepth={}\nruntime=200ms\nioengine=io_uring\ntime_based=1\nstonewall\nnew_group\n"
)
JOBS = "".join(_JOB.format(*load) for load in LOADS)


def varied_model(path: Path, random: np.random.Generator, *, spread: float, ratio: float = 1.0) -> Path:
    """Write the model of a P4800X with each time of its medium multiplied by ``ratio`` and a random factor near 1."""
    source = (Path(iogauge.__file__).parent / "catalog" / "drives" / "p4800x-375g.toml").read_text()
    head, media, tail = re.split(r"(?<=\[parameters\.media\]\n)|(?=\[parameters\.media\.refresh\])", source)

    def scaled(match: re.Match[str]) -> str:
        return f"{match[1]}{round(float(match[2]) * ratio * np.exp(random.normal(0, spread)))}"

    path.write_text(head + re.sub(r"^(\w+_ns = \{ value = )(\d+)", scaled, media, flags=re.MULTILINE) + tail)
    return path


def run_of(model: Path, *, seed: int) -> dict[str, list[Batch]]:
    """Run ``JOBS`` on a model and return the batches of each."""
    result = iogauge.run(JOBS, target=f"model:{model}", seed=seed, interval="20ms")
    return {
        name: batches(
            result.record,
            result.intervals,
            job=name,
            direction=Direction.WRITE if "write" in rw else Direction.READ,
            kind=Kind.LAT,
        )
        for name, rw, *_ in LOADS
    }
