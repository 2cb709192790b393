"""Reviews of an NVMe drive at the quick pace: by one suite, and the default one."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from pathlib import Path

import pytest

import iogauge
from iogauge.suites import DEFAULT
from tests.vm.guest import Guest
from tests.vm.test_nvme import drive

REVIEW_S = 1500


@pytest.mark.timeout(1800)
@pytest.mark.parametrize(
    ("chosen", "suites"),
    [("--suite mixed", ["mixed"]), pytest.param("", list(DEFAULT), marks=pytest.mark.release)],
    ids=["one suite", "the default"],
)
def test_a_review_completes_and_is_judged(
    chosen: str, suites: list[str], guest: Guest, tmp_path: Path
) -> None:
    path = drive(guest, "B2")
    output = f"/tmp/review-of-{len(suites)}"
    refused = guest.iogauge(f"review {path} --destroy A1 --yes {chosen} --output /tmp/refused")
    assert refused.status != 0
    assert "is not this device" in refused.err
    ran = guest.iogauge(
        f"review {path} --destroy B2 --yes {chosen} --output {output} --json", patience_s=REVIEW_S
    )
    review = json.loads(ran.ok())
    assert review["failed"] == []
    assert [plan["suite"] for plan in review["plans"]] == suites
    assert any(plan["findings"] for plan in review["plans"])
    for plan in review["plans"]:
        assert plan["missing"] == []
        assert len(plan["steps"]) >= 3
        assert all(step["ios"] > 0 and not step["errors"] for step in plan["steps"])
    # A report needs no drive, so it is written where that takes seconds.
    saved = io.BytesIO(base64.b64decode(guest.sh(f"tar -C {output} -c . | base64")))
    with tarfile.open(fileobj=saved) as archive:
        archive.extractall(tmp_path / "review", filter="data")
    page = iogauge.write_report(tmp_path / "review", output=tmp_path / "review.html")
    assert page.stat().st_size > 100_000
    assert page.read_text()[:15].lower() == "<!doctype html>"
