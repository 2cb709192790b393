"""What every file of ours has, and what none has: an opening, an end within reach, no promises for later."""

from __future__ import annotations

import ast
import re
from collections import Counter
from pathlib import Path

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


def text(path: str) -> str:
    return (ROOT / path).read_text()


PYTHON = matching("python/**/*.py", "tests/**/*.py", "bench/**/*.py", "examples/**/*.py")
RUST = matching("crates/*/src/**/*.rs", "crates/*/tests/**/*.rs", "crates/*/benches/**/*.rs")
PROSE = matching(
    "*.md", "bench/*.md", "docs/**/*.md", "Makefile", ".ci/run", "*.toml", "crates/*/Cargo.toml", "examples/*"
)


def test_there_is_something_to_check() -> None:
    assert {"tests/fast/house/test_files.py", "python/iogauge/schema/__init__.py"} <= set(PYTHON)
    assert "crates/core/src/lib.rs" in RUST
    assert {"README.md", "Makefile", ".ci/run"} <= set(PROSE)


def test_python_opens_with_what_it_is() -> None:
    assert [path for path in PYTHON if not ast.get_docstring(ast.parse(text(path)))] == []


def test_rust_opens_with_what_it_is() -> None:
    assert [path for path in RUST if not text(path).startswith("//! ")] == []


def test_a_file_ends_within_reach() -> None:
    """Split a file that does not by purpose."""
    lines = {path: len(text(path).splitlines()) for path in PYTHON + RUST}
    longest = {path: LONGEST_TEST if "tests" in Path(path).parts else LONGEST for path in lines}
    assert {path: count for path, count in lines.items() if count > longest[path]} == {}


def test_a_folder_holds_few_files() -> None:
    """Split a folder that does not by purpose."""
    files = Counter(str(Path(path).parent) for path in PYTHON + RUST)
    assert {folder: count for folder, count in files.items() if count > MOST_FILES} == {}


def test_no_promise_is_left_for_later() -> None:
    promise = re.compile(r"\b(?:TOD[O]|FIXM[E]|XX[X]|HAC[K]\b|todo[!]|unimplemented[!])")
    assert {path: left for path in PYTHON + RUST + PROSE if (left := promise.findall(text(path)))} == {}


def test_links_within_the_repository_lead_somewhere() -> None:
    missing = []
    for path in matching("*.md", "bench/*.md", "docs/**/*.md"):
        # What docs/reference.py makes for the site.
        made = {"commands.md", "api.md"} if path.startswith("docs/") else set()
        links = re.findall(r"\]\((?!https?:|mailto:|#)([^)#\s]+)", text(path))
        missing += [
            (path, link) for link in links if not ((ROOT / path).parent / link).exists() and link not in made
        ]
    assert missing == []
