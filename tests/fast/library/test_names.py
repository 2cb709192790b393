"""``import iogauge``: what it offers, and what it does not import before it is used."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import iogauge

HEAVY = ("numpy", "pydantic", "scipy", "pyarrow", "duckdb", "rich", "typer", "iogauge.schema")


def imported(code: str) -> list[str]:
    """Which heavy modules a new process has imported after ``code``."""
    code += f"\nimport sys; print([name for name in {HEAVY!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return list(ast.literal_eval(done.stdout.splitlines()[-1]))


def test_the_import_alone_imports_nothing() -> None:
    assert imported("import iogauge; iogauge.__version__; dir(iogauge)") == []
    code = "import iogauge, sys; print([name for name in sys.modules if name.startswith('iogauge')])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "['iogauge']"


def test_an_error_costs_no_library() -> None:
    assert imported("import iogauge; iogauge.IogaugeError") == []


def test_what_is_used_is_imported() -> None:
    assert "iogauge.schema" in imported("import iogauge; iogauge.run")


@pytest.mark.parametrize("name", sorted(set(iogauge.__all__) - {"__version__"}))
def test_every_name_is_there_with_its_docstring(name: str) -> None:
    value = getattr(iogauge, name)
    assert value.__name__ == name
    assert value.__doc__
    assert name in dir(iogauge)


def test_a_type_checker_sees_every_name() -> None:
    tree = ast.parse(Path(iogauge.__file__).read_text())
    seen = {alias.name for node in ast.walk(tree) if isinstance(node, ast.ImportFrom) for alias in node.names}
    assert seen - {"annotations"} == set(iogauge.__all__) - {"__version__"} == set(iogauge._MODULES)


def test_an_unknown_name_is_no_attribute() -> None:
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        iogauge.nothing  # noqa: B018


def test_the_package_is_marked_as_typed() -> None:
    assert (Path(iogauge.__file__).parent / "py.typed").is_file()


def test_a_package_does_not_hide_a_function() -> None:
    """A package of the name of a function would take its place once it is imported."""
    folder = Path(iogauge.__file__).parent
    names = {
        path.stem for path in folder.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()
    }
    assert not names & set(iogauge.__all__)
