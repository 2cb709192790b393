"""Several drives at once: shares of their single rates, with intervals, and CPU time."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from iogauge.cli import main
from iogauge.stats.figure import Figure, open_figure
from iogauge.stats.figures import Ratio, total
from iogauge.store import Review
from iogauge.suites.many_drives import Block, DriveRun, blocks_of, drive_runs, least_kept
from tests import builders
from tests.reviews import concluded
from tests.suite_runs import BLOCK, cut_down, jobs_of, planned, reviewed


@pytest.fixture(autouse=True)
def quickly(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    cut_down(monkeypatch)
    monkeypatch.chdir(tmp_path)


def test_drives_are_measured_alone_and_together() -> None:
    other = builders.target("/dev/nvme1n1", kind="block")
    plan = planned("many-drives", "quick", BLOCK, other)
    assert [step.at for step in plan.steps] == [1, 1, 2] * 4
    together = plan.steps[2]
    assert [(job.name, job.filenames) for job in jobs_of(together)] == [
        ("load", ("/dev/nvme0n1",)),
        ("load", ("/dev/nvme1n1",)),
    ]


def test_shares_of_repeats_have_intervals(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["review", "model:p4800x", "model:p4800x-750g@anandtech-linux", "--suite=many-drives"]
    assert (
        main([*arguments, "--repeats=3", "--runtime=10ms", "--seed=1", "-v", f"--output={tmp_path}/r"]) == 0
    )
    out = capsys.readouterr().out
    shares = re.findall(r"B/s, ([\d.]+) % \(([\d.]+) to ([\d.]+) %\) of the sum of their single rates", out)
    assert len(shares) == 4
    assert all(float(low) <= float(value) <= float(high) for value, low, high in shares)
    kept = r"(?:keeps the smallest share of its own rate: |the drives keep )[\d.]+ % \([\d.]+ to [\d.]+ %\)"
    assert len(re.findall(kept, out)) == 4


def test_each_repeat_compares_its_own_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    targets = ["model:p4800x", "model:p4800x-750g@anandtech-linux"]
    reviewed("many-drives", targets, tmp_path / "r", capsys, "--repeats=3", "--runtime=10ms")
    review = Review.open(tmp_path / "r")
    review.discard("many-drives.read-128k-drive-1")
    review.discard("many-drives.read-128k-drive-2.r3")
    (plan,) = review.manifest.plans
    result = concluded(review)
    (block,) = blocks_of(result.by_series()["128 KiB sequential reads, depth 8"], plan.targets)
    for place, path in enumerate(targets, 1):
        record = review.record(f"many-drives.read-128k-drive-{place}.r2")
        (row,) = record.result.rows
        moved = sum(tally.bytes for tally in row.tallies.values())
        expected = pytest.approx(moved * 1e9 / (row.end_ns - row.start_ns))
        assert block.alone[path].rate_Bps.value == expected


def drive(value: float, *, by: float = 0.01, cpu_ns: int = 1000) -> DriveRun:
    return DriveRun(
        Figure(value, value * (1 - by), value * (1 + by), True, 0, 100, dependence=True), 100, cpu_ns
    )


def test_a_single_repeat_has_the_intervals_of_its_rates() -> None:
    block = Block(
        alone={"a": drive(100), "b": drive(300)},
        together={"a": drive(90), "b": drive(200, cpu_ns=3000)},
        together_Bps=drive(290).rate_Bps,
    )
    share = block.share
    assert (share.low, share.value, share.high) == pytest.approx((0.7157, 0.725, 0.7344), abs=1e-3)
    assert least_kept({path: block.share_of(path) for path in ("a", "b")}) == (
        "b keeps the smallest share of its own rate: 66.7 % (65.7 to 67.6 %)"
    )
    # Its 200 requests took 4000 ns, and alone they take 10 ns each.
    assert (block.cpu_ns, block.cpu_alone_ns) == (20.0, 10.0)


def test_the_slowest_drive_is_named_only_if_its_interval_is_apart() -> None:
    shares = {"a": Ratio(0.96, 0.94, 0.98), "b": Ratio(0.97, 0.95, 0.99), "c": Ratio(1.0, 0.98, 1.02)}
    assert least_kept(shares) == (
        "the drives keep 96.0 % (94.0 to 98.0 %) to 100.0 % (98.0 to 102.0 %) of their own rates; these runs cannot "
        "tell which keeps least"
    )
    assert least_kept({**shares, "a": Ratio(0.5, None, None)}).endswith(
        "; these runs cannot tell which keeps least"
    )
    assert (
        least_kept({**shares, "c": Ratio(0.5, 0.49, 0.51)})
        == "c keeps the smallest share of its own rate: 50.0 % (49.0 to 51.0 %)"
    )


def test_a_sum_with_an_open_part_is_open() -> None:
    both = total([drive(100).rate_Bps, open_figure(50, count=10)])
    assert (both.value, both.low, both.high, both.long_enough) == (150, None, None, False)


def test_drives_behind_one_machine_add_up(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    targets = ["model:p4800x", "model:p4800x-750g@anandtech-linux"]
    plan = reviewed("many-drives", targets, tmp_path / "r", capsys)
    sums = [finding for finding in plan["findings"] if "of the sum of their single rates" in finding]
    assert len(sums) == 4
    assert re.search(r" MB/s, (99\.\d|100(\.0)?) % ", sums[1])
    assert any("of CPU time, " in finding for finding in plan["findings"])
    record = Review.open(tmp_path / "r").record("many-drives.read-128k-together")
    drives = drive_runs(record, ())
    assert set(drives) == set(targets)
    together = next(step for step in plan["steps"] if step["id"] == "many-drives.read-128k-together")
    assert sum(run.rate_Bps.value for run in drives.values()) == pytest.approx(together["rate_Bps"])


def test_a_single_target_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["review", "model:ram", "--suite=many-drives", f"--output={tmp_path}/r"]) == 1
    assert "many-drives needs at least 2 targets at once\nhint: " in capsys.readouterr().err
    assert not (tmp_path / "r").exists()
