"""Job files fitted to traces are ones to fio, too."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from iogauge.traces.fitting.jobs import fit_jobs
from tests.fast.traces import fit_samples

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="fio is not installed")


@pytest.mark.parametrize("kind", [*fit_samples.OPEN])
def test_fio_reads_a_fitted_job(kind: str, tmp_path: Path) -> None:
    made = fit_jobs(fit_samples.OPEN[kind](np.random.default_rng(1), 20_000))
    assert made is not None
    job = tmp_path / "fitted.fio"
    job.write_text(made.text)
    ran = subprocess.run(
        ["fio", "--parse-only", f"--filename={tmp_path / 'target'}", str(job)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (ran.returncode, ran.stderr) == (0, "")


def test_fio_issues_what_a_fitted_job_says(tmp_path: Path) -> None:
    random = np.random.default_rng(1)
    sizes = random.choice([4096, 6656], 2_000, p=[0.7, 0.3])
    rows = fit_samples.rows(
        fit_samples.arrivals(random, 2_000, 4_000), 0, random.integers(0, 1 << 12, 2_000) * 512, sizes
    )
    made = fit_jobs(rows)
    assert made is not None
    (tmp_path / "fitted.fio").write_text(made.text.replace("direct=1", "direct=0"))
    log = tmp_path / "log"
    subprocess.run(
        ["fio", f"--filename={tmp_path / 'target'}", f"--write_iolog={log}", str(tmp_path / "fitted.fio")],
        capture_output=True,
        check=True,
        timeout=600,
    )
    issued = [line.split() for line in log.read_text().splitlines()]
    lengths = [int(words[-1]) for words in issued if "read" in words]
    assert len(lengths) > 1_000
    assert lengths.count(4096) / len(lengths) == pytest.approx(0.7, abs=0.05)
    assert set(lengths) == {4096, 8192}
