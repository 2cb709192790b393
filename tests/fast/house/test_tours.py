"""The tools that show the house: which files a command passes, and how large each room is."""

from __future__ import annotations

from pathlib import Path, PurePath

from tests.rooms import room_of
from tests.rooms import tests as is_of_tests
from tests.walk import walk


def test_a_walk_names_the_files_of_a_run_in_order(tmp_path: Path) -> None:
    job = tmp_path / "job.fio"
    job.write_text("[reads]\nfilename=model:p4800x\nrw=randread\nruntime=10ms\ntime_based\nsize=1g\n")
    files = walk(["run", str(job), "--fail-if", "p50 > 1s"])
    way = (
        "workload/reading/builder.py",
        "execution/plans/planning.py",
        "execution/core.py",
        "report/run/table.py",
    )
    places = [files.index(file) for file in way]
    assert places == sorted(places)
    assert "report/run/fail_if.py" in files
    assert not any(file.startswith("schema/facts") for file in files), "a class's body is no call"


def test_a_room_is_a_package_or_a_crate() -> None:
    assert room_of(PurePath("python/iogauge/suites/snia/iops.py")) == "iogauge.suites"
    assert room_of(PurePath("python/iogauge/errors.py")) == "iogauge"
    assert room_of(PurePath("crates/core/src/plan.rs")) == "core (Rust)"
    assert is_of_tests(PurePath("crates/core/src/worker/tests/sim.rs"))
    assert not is_of_tests(PurePath("crates/core/src/worker.rs"))
