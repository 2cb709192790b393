"""What every file of ours has, and what none has: an opening, an end within reach, no promises for later."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]

LONGEST = 500
LONGEST_TEST = 600
MOST_FILES = 17


def matching(*patterns: str) -> list[str]:
    """Paths of our own sources, relative to the root."""
    return sorted(
        str(path.relative_to(ROOT))
        for pattern in patterns
        for path in ROOT.glob(pattern)
        if path.is_file() and path.stat().st_size
    )


PYTHON = matching("python/**/*.py", "tests/**/*.py", "bench/**/*.py", "examples/**/*.py")
RUST = matching("crates/*/src/**/*.rs", "crates/*/tests/**/*.rs", "crates/*/benches/**/*.rs")
PROSE = matching(
    "*.md", "bench/*.md", "docs/**/*.md", "Makefile", ".ci/run", "*.toml", "crates/*/Cargo.toml", "examples/*"
)


def test_there_is_something_to_check() -> None:
    assert {"tests/fast/house/test_files.py", "python/iogauge/schema/__init__.py"} <= set(PYTHON)
    assert "crates/core/src/lib.rs" in RUST
    assert {"README.md", "Makefile", ".ci/run"} <= set(PROSE)


@pytest.mark.parametrize("path", PYTHON)
def test_python_opens_with_what_it_is(path: str) -> None:
    assert ast.get_docstring(ast.parse((ROOT / path).read_text())), f"{path} has no module docstring"


@pytest.mark.parametrize("path", RUST)
def test_rust_opens_with_what_it_is(path: str) -> None:
    assert (ROOT / path).read_text().startswith("//! "), f"{path} has no module documentation"


@pytest.mark.parametrize("path", PYTHON + RUST)
def test_ends_within_reach(path: str) -> None:
    lines = len((ROOT / path).read_text().splitlines())
    usual = LONGEST_TEST if "tests" in Path(path).parts else LONGEST
    assert lines <= usual, f"{path} has {lines} lines: split it by purpose"


@pytest.mark.parametrize("folder", sorted({str(Path(path).parent) for path in PYTHON + RUST}))
def test_a_folder_holds_few_files(folder: str) -> None:
    files = [path for path in PYTHON + RUST if str(Path(path).parent) == folder]
    assert len(files) <= MOST_FILES, f"{folder} has {len(files)} files: split it by purpose"


@pytest.mark.parametrize("path", PYTHON + RUST + PROSE)
def test_promises_nothing_for_later(path: str) -> None:
    left = re.findall(
        r"\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K]\b|todo[!]|unimplemented[!])", (ROOT / path).read_text()
    )
    assert left == []


@pytest.mark.parametrize("path", matching("*.md", "bench/*.md", "docs/**/*.md"))
def test_links_within_the_repository_lead_somewhere(path: str) -> None:
    links = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", (ROOT / path).read_text())
    made = (
        {"commands.md", "api.md"} if path.startswith("docs/") else set()
    )  # of the site, by docs/reference.py
    missing = [link for link in links if not ((ROOT / path).parent / link).exists() and link not in made]
    assert missing == []
