"""Reviews saved under every version of the schema still load, and are judged to the same figures.

``saved_reviews/vN`` was written by ``save_sample`` when version N was current, and is never written again: a change
of the schema that it does not survive needs a new version, and code that reads the old one.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iogauge import workload
from iogauge.errors import IogaugeError
from iogauge.reviews.manifest import new_manifest
from iogauge.reviews.runner import run_review
from iogauge.schema import (
    SCHEMA_VERSION,
    Code,
    Direction,
    Kind,
    Notice,
    ReportedLatency,
    TargetState,
    WriteFingerprint,
)
from iogauge.store import Review
from iogauge.store.checksums import with_checksum, write_checksums
from iogauge.store.query import query
from iogauge.store.review import load_manifest
from iogauge.store.versions import upgraded
from iogauge.suites import SUITES, suite_of
from tests import builders
from tests.reviews import concluded
from tests.suite_runs import Quiet

SAVED = Path(__file__).parents[1] / "saved_reviews"
VERSIONS = range(1, SCHEMA_VERSION + 1)
COMPRESSED = builders.compressed(b"")[:4]
"""How a compressed histogram begins."""


def save_sample(path: Path) -> None:
    """Save a review of the made-up drive: eight steps and a search, with a warning in each.

    The governor changes after the fourth step.
    """
    manifest = new_manifest(
        [SUITES["write-pressure"]],
        [builders.target("/dev/example0", kind="block", serial="A1")],
        seed=1,
        command=("iogauge", "review"),
        machine=builders.machine(),
        ceiling=builders.ceiling(),
    )
    review = Review.create(path, manifest)
    warning = Notice(code=Code.VIRTUAL_MACHINE, message="this machine is virtual", hint="use a real one")

    def execute(job_file: object, *, seed: int, on_interval: object, **_: object) -> object:
        record, intervals = builders.pressed_run(job_file, seed=seed, warnings=(warning,))
        for interval in intervals:
            on_interval(interval)
        governor = "performance" if len(review.completed()) > 3 else "powersave"
        audits = (
            builders.audit({"cpu.governor": governor, "cpu.smt": None}, weight=2),
            builders.audit({"block.scheduler": "none"}, target="/dev/example0"),
        )
        served = (builders.interrupts({0: 10_000, 3: 7}),)
        return record.model_copy(update={"audits": audits, "interrupts": served})

    run_review(review, suite_of, execute=execute, watcher=Quiet())


def check(path: Path, *, version: int) -> None:
    """Load all of a saved sample and judge it."""
    review = Review.open(path)
    (plan,) = review.manifest.plans
    assert [target.path for target in review.manifest.targets] == list(plan.targets) == ["/dev/example0"]
    assert review.manifest.schema_version == version
    assert review.completed() == tuple(step.id for step in plan.steps)
    for step in plan.steps:
        assert workload.parse(step.job_file, source=step.id).jobs
        assert review.record(step.id).plan.seed == step.seed
        assert sum(1 for _ in review.intervals(step.id)) == (1 if step.at == 0 else 2)
        compressed = {interval.loop_gap[:4] == COMPRESSED for interval in review.intervals(step.id)}
        assert compressed == {version < 6}
    assert [warning.code for warning in review.manifest.warnings] == [Code.VIRTUAL_MACHINE]
    result = concluded(review)
    assert [position.at for position in result] == [0, 100, 200, 300, 400, 500, 600, 700]
    for position in result:
        assert position.figures.ios == 10_007
        assert position.figures.mean is not None
        assert position.figures.mean.value == pytest.approx(
            (80_000 + position.requested_Bps / 1000) * 1.009, rel=2e-3
        )
    check_audits(review, version=version)
    assert query(review.path, "SELECT count(DISTINCT step) AS n FROM totals").to_pylist() == [{"n": 8}]


def check_audits(review: Review, *, version: int) -> None:
    """Check the settings and the interrupts, which versions before the fifth lack."""
    records = [review.record(step.id) for step in review.manifest.steps]
    assert all(not record.audits for record in records)
    if version < 5:
        assert review.audits() == ()
        assert not any(record.audit_changes or record.interrupts for record in records)
        return
    assert [(audit.target, len(audit.facts)) for audit in review.audits()] == [
        (None, 2),
        ("/dev/example0", 1),
    ]
    assert review.audits()[0].facts[0].value == "powersave"
    changed = [[(change.old, change.new) for change in record.audit_changes] for record in records]
    assert changed.count([]) == 4
    assert changed.count([("powersave", "performance")]) == 4
    assert all(record.interrupts[0].interrupts[0].by_cpu == {0: 10_000, 3: 7} for record in records)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_version_still_loads_and_means_the_same(version: int) -> None:
    check(SAVED / f"v{version}", version=version)


def test_rounds_were_told_by_their_labels() -> None:
    labels = ("filling it twice", "round 1", "round 25")
    steps = [{"id": label, "label": label} for label in labels]
    manifest = upgraded(
        {
            "schema_version": 2,
            "plans": [{"suite": name, "steps": steps} for name in ("pts-iops", "precondition", "mine.py")],
        }
    )
    marked = [[step.get("is_round") for step in plan["steps"]] for plan in manifest["plans"]]
    assert marked == [[False, True, True]] * 2 + [[None] * 3]
    # What a step says itself counts.
    imported = {
        "schema_version": 2,
        "plans": [{"suite": "pts-iops", "steps": [{"label": "round 1", "is_round": False}]}],
    }
    assert upgraded(imported) == imported


def test_what_is_saved_now_means_the_same(tmp_path: Path) -> None:
    save_sample(tmp_path / "now")
    check(tmp_path / "now", version=SCHEMA_VERSION)


def test_fields_of_version_3_are_read_under_their_names_of_today(tmp_path: Path) -> None:
    save_sample(tmp_path / "now")
    manifest = json.loads((tmp_path / "now" / "manifest.json").read_text())
    del manifest["sha256"], manifest["state_before"], manifest["fingerprint_after"], manifest["running_step"]
    state = TargetState(
        known_since="2026-01-01T00:00:00+00:00", purged_at=None, written_bytes=7, random_bytes=0, last=None
    )
    fingerprint = WriteFingerprint(boot="a", written_bytes=1, trims=2)
    (plan,) = manifest["plans"]
    for old, name in (("reader", "measured_job"), ("pressure", "load_jobs"), ("beside", "compared_with")):
        plan[old] = plan.pop(name)
    plan["beside"] = ["/dev/example1"]
    step = plan["steps"][0]["id"]
    manifest |= {
        "schema_version": 3,
        "found": {"/dev/example0": json.loads(state.model_dump_json())},
        "left": {"/dev/example0": json.loads(fingerprint.model_dump_json())},
        "under_way": step,
    }
    path = tmp_path / "now" / "manifest.json"
    path.write_bytes(with_checksum(json.dumps(manifest, indent=2)))
    loaded = load_manifest(path)
    assert loaded.state_before == {"/dev/example0": state}
    assert loaded.fingerprint_after == {"/dev/example0": fingerprint}
    assert loaded.running_step == step
    assert (loaded.plans[0].measured_job, loaded.plans[0].load_jobs) == ("reader", "pressure")
    assert loaded.plans[0].compared_with == ("/dev/example1",)
    path.write_bytes(with_checksum(json.dumps(manifest | {"running_step": step}, indent=2)))
    with pytest.raises(IogaugeError, match="damaged"):
        load_manifest(path)


def test_latencies_that_version_3_reported_without_samples_are_read(tmp_path: Path) -> None:
    save_sample(tmp_path / "now")
    review = Review.open(tmp_path / "now")
    folder = review.step_path(review.manifest.steps[0].id)
    record = json.loads((folder / "record.json").read_text())
    assert record.pop("reported") == []
    latency = ReportedLatency(stage=0, row=0, kind=Kind.LAT, direction=Direction.READ, count=5, mean_ns=7.0)
    old = record | {"schema_version": 3, "told": [json.loads(latency.model_dump_json())]}
    (folder / "record.json").write_text(json.dumps(old))
    (folder / "SHA256SUMS").unlink()
    write_checksums(folder)
    assert review.record(review.manifest.steps[0].id).reported == (latency,)
