"""The default review of an NVMe drive at the quick pace."""

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
def test_the_default_review_completes_and_is_judged(guest: Guest, tmp_path: Path) -> None:
    path = drive(guest, "B2")
    refused = guest.iogauge(f"review {path} --destroy A1 --yes --output /tmp/refused")
    assert refused.status != 0
    assert "is not this device" in refused.err
    ran = guest.iogauge(f"review {path} --destroy B2 --yes --output /tmp/review --json", patience_s=REVIEW_S)
    review = json.loads(ran.ok())
    assert review["failed"] == []
    assert [plan["suite"] for plan in review["plans"]] == list(DEFAULT)
    assert any(plan["findings"] for plan in review["plans"])
    for plan in review["plans"]:
        assert plan["missing"] == []
        assert len(plan["steps"]) >= 3
        assert all(step["ios"] > 0 and not step["errors"] for step in plan["steps"])
    # A report needs no drive, so it is written where that takes seconds.
    saved = io.BytesIO(base64.b64decode(guest.sh("tar -C /tmp -c review | base64")))
    with tarfile.open(fileobj=saved) as archive:
        archive.extractall(tmp_path, filter="data")
    page = iogauge.write_report(tmp_path / "review", output=tmp_path / "review.html")
    assert page.stat().st_size > 100_000
    assert page.read_text()[:15].lower() == "<!doctype html>"
