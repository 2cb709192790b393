"""Jobs of several block sizes issue fio's sizes while their random map fills: asked of fio's null engine."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

import pyarrow.parquet as pq
import pytest

from iogauge import cli
from iogauge.cli.terminal import status
from tests.fio_mixes import CASES, Request, difference, fio_requests, shares

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")


LONG = {"other-smallest"}
"""Takes fio and iogauge longest, with 32 seeds."""


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.release) if name in LONG else name for name in CASES]
)
def test_every_size_has_fios_share_at_every_tenth_of_coverage(name: str, tmp_path: Path) -> None:
    log = tmp_path / "log.parquet"

    def our_requests(options: Sequence[str], seed: int) -> list[Request]:
        # The generator of requests is the same on every target; on a model the log has them in virtual time.
        job = ["--name=mix", "--filename=model:ram@ideal", *(f"--{option}" for option in options)]
        own = [f"--seed={seed}", f"--request-log={log}", "--no-ceiling"]
        log.unlink(missing_ok=True)
        assert cli.main(["run", *job, *own]) == status.OK
        table = pq.read_table(log, columns=["direction", "length_bytes"])
        return list(zip(table["direction"].to_pylist(), table["length_bytes"].to_pylist(), strict=True))

    case = CASES[name]
    assert difference(shares(case, our_requests), shares(case, fio_requests)) <= 2.0
