"""Jobs of one flow issue in the proportion that fio gives them. Needs fio, and neither root nor a device."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from tests.system.fio.calls import IOGAUGE, call

pytestmark = pytest.mark.skipif(not shutil.which("fio"), reason="needs fio")

GLOBAL = "[global]\nsize=1m\nbs=4k\nrw=randread\nthread\ntime_based\ninvalidate=0\n"
JOBS = "[a]\nflow=3\n[b]\nflow=1\n[c]\nflow=1\nflow_id=1\nflow_sleep=100\n[d]\nflow=2\nflow_id=1\n"


def reads(program: list[str], options: str, *, cwd: Path) -> list[int]:
    (cwd / "j.fio").write_text(GLOBAL + options + JOBS)
    jobs = json.loads(call(program, "j.fio", "--output-format=json", cwd=cwd))["jobs"]
    return [job["read"]["total_ios"] for job in jobs]


@pytest.mark.parametrize("program", [IOGAUGE, ["fio"]], ids=["iogauge", "fio"])
def test_jobs_read_a_file_in_the_proportion_of_their_flows(program: list[str], tmp_path: Path) -> None:
    """Threads do not end at one instant, so that the shares are not exact."""
    a, b, c, d = reads(program, "ioengine=psync\nfilename=f\nruntime=1\n", cwd=tmp_path)
    assert min(a, b, c, d) > 20
    assert a == pytest.approx(3 * b, rel=0.2)
    assert d == pytest.approx(2 * c, rel=0.2)


def test_a_rate_holds_the_other_jobs_of_its_flow(tmp_path: Path) -> None:
    options = "ioengine=io_uring\nfilename=model:p4800x-375g\nruntime=2\n"
    rate, flow = "[rate]\nflow=1\nrate_iops=1000\n", "[fast]\nflow=8\n"
    (tmp_path / "j.fio").write_text(GLOBAL + options + rate + flow)
    jobs = json.loads(call(IOGAUGE, "j.fio", "--output-format=json", cwd=tmp_path))["jobs"]
    assert [job["read"]["total_ios"] for job in jobs] == pytest.approx([2000, 16_000], abs=10)


def test_jobs_on_a_model_keep_the_proportion_exactly(tmp_path: Path) -> None:
    options = "ioengine=io_uring\niodepth=2\nfilename=model:p4800x-375g\nruntime=20ms\n"
    a, b, c, d = first = reads(IOGAUGE, options, cwd=tmp_path)
    assert min(first) > 100
    assert abs(a - 3 * b) <= 4
    assert abs(d - 2 * c) <= 4
    assert reads(IOGAUGE, options, cwd=tmp_path) == first
