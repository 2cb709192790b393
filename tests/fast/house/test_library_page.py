"""The examples of ``docs/library.md`` and of the notebook run; so does a user's script."""

from __future__ import annotations

import doctest
import json
import shutil
import subprocess
import sys
from pathlib import Path

import nbclient
import nbformat
import pytest

import iogauge

ROOT = Path(__file__).resolve().parents[3]
PAGE = ROOT / "docs" / "library.md"
NOTEBOOK = ROOT / "examples" / "notebook.ipynb"

SCRIPT = """
from pathlib import Path

import iogauge

result = iogauge.run("job.fio", target="model:p4800x", seed=1)
p999 = result["reads"].read.lat.quantile(0.999)
bounds: tuple[float | None, float | None] = (p999.low, p999.high)
supported: bool = p999.supported
plan: iogauge.Plan = iogauge.plan("model:p4800x", suites=["mixed"], pace="quick", size="1g")
review: iogauge.Review = iogauge.review(["a.bin", Path("b.bin")], suites=["write-pressure"], runtime=1.5, seed=1)
opened = iogauge.open_review("saved")
for position in opened.suite("write-pressure"):
    at: float = position.at
    mean = position.figures.mean
    if mean is not None:
        value: float = mean.value
frame = opened.to_polars()
columns: list[str] = frame.columns
rows: int = opened.to_arrow().num_rows
findings: tuple[str, ...] = iogauge.compare("saved", opened, margin="5%").findings
page: Path = iogauge.write_report("saved", format="md")
pictures: list[Path] = iogauge.write_charts("saved", "figures", charts=["mixed*"])
names: list[str] = [drive.name for drive in iogauge.models().drives]
paths: list[Path] = [saved.path for saved in iogauge.list_reviews()]
"""

WRONG = {
    'iogauge.plan("x", pace="slow")': "pace",
    'iogauge.plan("x", nothing=1)': "nothing",
    'iogauge.run("x", seed="1")': "seed",
    'iogauge.open_review("x").suite(1)': "suite",
    "iogauge.nothing": "nothing",
}


def checked(path: Path) -> subprocess.CompletedProcess[str]:
    """Check a script as its author would: strictly, and without our settings."""
    cache = f"--cache-dir={ROOT / '.mypy_cache' / 'script'}"
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", cache, str(path)]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, check=False)


@pytest.mark.slow
def test_a_users_script_is_typed(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.py", tmp_path / "bad.py"
    good.write_text(SCRIPT)
    done = checked(good)
    assert done.returncode == 0, done.stdout
    bad.write_text("import iogauge\n" + "".join(f"{line}\n" for line in WRONG))
    errors = checked(bad).stdout.splitlines()[:-1]
    lines = {int(error.split(":")[1]) for error in errors if ": error:" in error}
    assert lines == set(range(2, 2 + len(WRONG))), errors


@pytest.mark.slow
def test_the_examples_of_the_page_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    failed, tried = doctest.testfile(str(PAGE), module_relative=False, encoding="utf-8")
    assert (failed, tried > 20) == (0, True)


def test_the_page_names_every_function_and_error() -> None:
    text = PAGE.read_text()
    functions = [name for name in iogauge.__all__ if name.islower() and name != "__version__"]
    errors = [name for name in iogauge.__all__ if name.endswith("Error") or name == "Interrupted"]
    missing = [name for name in functions if f"iogauge.{name}" not in text and name != "models"]
    assert missing + [name for name in errors if f"`{name}`" not in text] == []


@pytest.mark.slow
def test_the_notebook_goes_from_a_run_to_a_chart(tmp_path: Path) -> None:
    shutil.copy(NOTEBOOK, tmp_path)
    notebook = nbformat.read(tmp_path / NOTEBOOK.name, as_version=4)
    context = {"metadata": {"path": str(tmp_path)}}
    nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources=context).execute()
    shown = [output for cell in notebook.cells for output in cell.get("outputs", [])]
    kinds = {kind for output in shown for kind in output.get("data", {})}
    assert {"text/html", "image/svg+xml"} <= kinds
    assert [output for output in shown if output.output_type == "stream"] == [], "nothing is printed"


def test_the_notebook_is_stored_without_outputs() -> None:
    cells = json.loads(NOTEBOOK.read_text())["cells"]
    assert [cell for cell in cells if cell.get("outputs") or cell.get("execution_count")] == []
