"""What a user waits for besides I/O: the help, and a process with five seconds of I/O."""

from __future__ import annotations

import subprocess
import time

from bench import peers
from bench.cases.null import JOB
from bench.pairs import Estimate
from bench.results import Finding, Row
from bench.settings import Settings

HELP_GOAL_S = 0.3
RUN_GOAL_S = 6.0


def times(settings: Settings) -> Finding:
    """Measure the wall time of ``iogauge --help`` and of a 5 s run."""
    help_s = [help_time_s() for _ in range(settings.pairs + 1)][1:]
    run_s = [peers.iogauge({**JOB, "runtime": 5}).wall_s for _ in range(max(3, settings.pairs // 5))]
    help_median, longest = Estimate.of(help_s).median, max(run_s)
    return Finding(
        rows=[
            Row(
                "iogauge --help, median",
                "s",
                help_median,
                goal=f"< {HELP_GOAL_S}",
                met=help_median < HELP_GOAL_S,
            ),
            Row("a 5 s run, longest", "s", longest, goal=f"< {RUN_GOAL_S}", met=longest < RUN_GOAL_S),
        ],
        samples={"help_s": help_s, "run_s": run_s},
    )


def help_time_s() -> float:
    """Return the wall time of ``iogauge --help``."""
    began = time.monotonic()
    subprocess.run([str(peers.IOGAUGE), "--help"], capture_output=True, check=True, env=peers.environment())
    return time.monotonic() - began
