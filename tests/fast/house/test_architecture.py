"""Every name of code in ARCHITECTURE.md exists: a file, module, definition, field, command, option or dependency.

Definitions are read from the sources, Python's by its parser and Rust's by the words that begin them. A name in a text
or a comment does not count.
"""

from __future__ import annotations

import ast
import fnmatch
import functools
import re
import subprocess
import tomllib
from pathlib import Path

import pytest

from iogauge.cli import COMMANDS, GROUPS
from iogauge.cli.terminal.commands import every_command
from iogauge.workload.options.table import OPTIONS

ROOT = Path(__file__).resolve().parents[3]
ELSEWHERE = {
    "None",  # Rust's
    "IORING_REGISTER_IOWQ_AFF",  # the kernel's
    "/proc/self/fd",
    "|",  # how import-linter writes siblings
    "hint:",  # the second line of an error
    "intended <= ready <= start <= issued <= done",
    "iogauge-*.spill",  # files that a run makes
    "test_<room>_<what>.py",
}


def names() -> list[str]:
    """Everything in backticks, code blocks left out."""
    text = re.sub(r"^```.*?^```", "", (ROOT / "ARCHITECTURE.md").read_text(), flags=re.MULTILINE | re.DOTALL)
    return sorted(set(re.findall(r"`([^`\n]+)`", text)))


@functools.cache
def paths() -> frozenset[str]:
    """Every file of the repository, and every folder that holds one."""
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout.split()
    there = [Path(path) for path in listed if (ROOT / path).exists()]
    return frozenset(str(part) for path in there for part in (path, *path.parents))


@functools.cache
def modules() -> frozenset[str]:
    """Modules and packages by every ending of their dotted path: ``iogauge.cli.run``, ``cli.run``, ``run``."""
    endings = set()
    for path in paths():
        if re.match(r"(python|crates|tests|bench)/", path) and (Path(path).suffix in {".py", ".rs", ""}):
            parts = path.removesuffix(Path(path).suffix).split("/")
            endings |= {".".join(parts[first:]) for first in range(len(parts))}
    return frozenset(endings)


@functools.cache
def definitions() -> frozenset[str]:
    """Names that a source defines, alone and behind the module or type that holds them."""
    names: set[str] = set()
    for path in paths():
        if re.match(r"(python|crates|bench)/.*\.pyi?$", path):
            names |= python_definitions(path)
        elif re.match(r"crates/.*\.rs$", path):
            names |= rust_definitions((ROOT / path).read_text())
    return frozenset(names)


def python_definitions(path: str) -> set[str]:
    """Return what one module defines or brings in: ``name``, ``Class.name``, ``module.name``."""
    module = path.rsplit(".", 1)[0].removesuffix("/__init__").split("/")
    names: set[str] = set()

    def collect(node: ast.AST, owner: str) -> None:
        for child in ast.iter_child_nodes(node):
            own: list[str] = []
            if isinstance(child, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                own = [child.name]
            elif isinstance(child, ast.AnnAssign) and isinstance(child.target, ast.Name):
                own = [child.target.id]
            elif isinstance(child, ast.Assign):
                own = [target.id for target in child.targets if isinstance(target, ast.Name)]
            elif isinstance(child, ast.ImportFrom):
                own = [alias.asname or alias.name for alias in child.names]
            if owner:
                names.update(f"{owner}.{name}" for name in own)
            else:
                for first in range(len(module)):
                    names.update(f"{'.'.join(module[first:])}.{name}" for name in own)
            if not isinstance(child, ast.ImportFrom):
                names.update(own)
            if isinstance(child, ast.ClassDef):
                collect(child, child.name)

    collect(ast.parse((ROOT / path).read_text()), "")
    return names


def rust_definitions(text: str) -> set[str]:
    """Return what one Rust file defines: ``name``, ``Type::method``, fields."""
    item = r"\b(?:fn|struct|enum|trait|mod|const|static|type|union)\s+(\w+)"
    names = set(re.findall(item, text))
    names |= set(re.findall(r"^\s+(?:pub(?:\([^)]*\))?\s+)?(\w+):\s", text, re.MULTILINE))
    blocks = r"^(?:pub\s+)?(?:unsafe\s+)?(?:impl|trait)\b(.*?)\{\n(.*?)^\}"
    for head, body in re.findall(blocks, text, re.MULTILINE | re.DOTALL):
        owners = re.findall(r"\b[A-Z]\w*", head)
        names |= {f"{owner}::{name}" for owner in owners for name in re.findall(r"\bfn\s+(\w+)", body)}
    return names


def is_path(name: str) -> bool:
    """Whether a tracked file or folder ends so, after a slash; stars stand for any name."""
    pattern = name.rstrip("/")
    return any(
        fnmatch.fnmatchcase(path, pattern) or fnmatch.fnmatchcase(path, f"*/{pattern}") for path in paths()
    )


def is_command(name: str) -> bool:
    """Whether the command line, the Makefile or an option of either has it."""
    words = name.split()
    if words[0] == "make":
        return bool(re.search(rf"^{words[1]}:", (ROOT / "Makefile").read_text(), re.MULTILINE))
    if words[0] == "iogauge":
        words = words[1:]
    elif len(words) == 1 and not name.startswith("--"):
        return name in COMMANDS or name in {option.name for option in OPTIONS}
    if words[0] in GROUPS and len(words) > 1:
        return tuple(words[:2]) in every_command()
    options = [word for word in words if word.startswith("--")]
    return (words[0] in COMMANDS or words[0] in options) and all(is_option(option) for option in options)


def is_option(option: str) -> bool:
    """Whether a command declares it."""
    return any(
        f'"{option}"' in (ROOT / path).read_text()
        for path in paths()
        if path.startswith("python/iogauge/cli/") and path.endswith(".py")
    )


@functools.cache
def dependencies() -> frozenset[str]:
    """Packages and crates that the project depends on, and the settings of uv."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    listed = [*project["project"]["dependencies"], *project["dependency-groups"]["dev"]]
    crates = tomllib.loads((ROOT / "Cargo.toml").read_text())["workspace"]["dependencies"]
    return frozenset([*(re.split(r"[<>=\[]", line)[0] for line in listed), *crates, *project["tool"]["uv"]])


def exists(name: str) -> bool:
    """Whether ``name`` is anything of the kinds above."""
    path, _, test = name.partition("::")
    if test and is_path(path):
        return bool(re.search(rf"\b(?:def|fn) {test}\(", (ROOT / path).read_text()))
    bare = name.removesuffix("()")
    return (
        name in ELSEWHERE
        or is_path(name)
        or bare in modules()
        or bare in definitions()
        or is_command(name)
        or name in dependencies()
    )


def test_architecture_names_only_what_exists() -> None:
    assert [name for name in names() if not exists(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        "execution.nothing",
        "StepPlan.nothing",
        "Drive::nothing",
        "nothing.rs",
        "workload.options.table.reference.page()",
        "--nothing",
        "iogauge nothing",
        "compare A B --nothing html",
        "make nothing",
        "tests/fast/house/test_files.py::test_nothing",
    ],
)
def test_a_stale_name_is_noticed(name: str) -> None:
    assert not exists(name)


def test_names_that_are_not_ours_are_few_and_used() -> None:
    assert set(names()) >= ELSEWHERE
