"""How many requests are in flight, and where their worker runs, by default."""

from __future__ import annotations

from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.execution import execute
from iogauge.workload import parse

REQUESTS = 2_000


@pytest.mark.parametrize("engine", ["libaio", "io_uring"])
def test_every_free_slot_is_filled_by_the_next_submission(engine: str, tmp_path: Path) -> None:
    job = (
        f"[depth]\nfilename={tmp_path}/target.bin\nsize=1m\nrw=randread\nioengine={engine}\niodepth=8\n"
        f"norandommap=1\nio_size={REQUESTS * 4}k\n"
    )
    try:
        record = execute(parse(job, source="depth"))
    except IogaugeError as error:
        if "io_uring" in str(error):
            pytest.skip(f"this machine has none: {error}")
        raise
    (worker,) = record.result.workers
    (plan,) = record.plan.stages[0].workers
    # In flight at each submission: 1; 2 and 3; 4 to 7; then 8 to the end.
    assert worker.depth == (1, 2, 4, REQUESTS - 7)
    assert worker.submit_calls == REQUESTS
    # Buffered, io_uring leaves to threads of the kernel what would block.
    assert (plan.handed_over, len(plan.cpus)) == ((True, 0) if engine == "io_uring" else (False, 1))
