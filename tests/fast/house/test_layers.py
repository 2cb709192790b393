"""Who may depend on whom, and who may do what, where no linter can tell (ARCHITECTURE.md).

The Python layers themselves are import-linter's (``make check``); unsafe code is also the compiler's.
"""

from __future__ import annotations

import ast
import functools
import json
import re
import subprocess
from collections.abc import Iterator
from itertools import takewhile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
PACKAGE = ROOT / "python" / "iogauge"
CRATES = ROOT / "crates"

ALLOWED = {
    "iogauge-core": set(),
    "iogauge-engine": {"iogauge-core", "iogauge-stamp"},
    "iogauge-model": {"iogauge-core"},
    "iogauge-nbd": {"iogauge-core", "iogauge-model", "iogauge-stamp"},
    "iogauge-stamp": set(),
    "iogauge-trace": set(),
    "iogauge-py": {
        "iogauge-core",
        "iogauge-engine",
        "iogauge-model",
        "iogauge-nbd",
        "iogauge-stamp",
        "iogauge-trace",
    },
}
"""py -> engine | model | nbd -> core, nbd -> model, engine | py -> stamp, py -> trace; the tests of nbd use stamp. One
that is not listed has no place yet."""


PURE = ("core", "model", "stamp", "trace")
"""Crates without I/O, clock or threads: what they do repeats by seed."""


def modules() -> list[Path]:
    """Every Python module of the package."""
    return sorted(PACKAGE.rglob("*.py"))


@functools.cache
def tree_of(path: Path) -> ast.Module:
    """The syntax tree of a Python module."""
    return ast.parse(path.read_text())


def rust_files(crate: str) -> list[Path]:
    """Every source file of a crate."""
    return sorted((CRATES / crate / "src").rglob("*.rs"))


def pure_files() -> list[Path]:
    """Every source file of the crates that are to repeat by seed."""
    return [path for crate in PURE for path in rust_files(crate)]


def rust_code(path: Path, *, tests: bool = True) -> str:
    """The source without comments and string contents and, where not ``tests``, without its test module."""
    text = path.read_text()
    if not tests and path.stem == "tests":
        return ""
    if not tests:
        text = re.split(r"^#\[cfg\(test\)\]\s*\nmod ", text, maxsplit=1, flags=re.MULTILINE)[0]
    text = re.sub(r'"(?:[^"\\\n]|\\.)*"', '""', text)
    return re.sub(r"//.*", "", text)


def imports(tree: ast.AST) -> Iterator[str]:
    """Dotted names of everything that a module imports, ``from a import b`` as ``a.b``."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module or ''}.{alias.name}" for alias in node.names)


def test_crates_depend_in_order() -> None:
    command = ["cargo", "metadata", "--format-version=1", "--no-deps", "--locked"]
    metadata = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    packages = json.loads(metadata.stdout)["packages"]
    ours = {package["name"] for package in packages}
    assert ours == set(ALLOWED)
    for package in packages:
        inner = {dependency["name"] for dependency in package["dependencies"]} & ours
        assert inner == ALLOWED[package["name"]], package["name"]


Module = tuple[str, ...]
"""A Rust module's place in its crate: ``("nand", "spec")``; the crate itself is ``()``."""


def rust_modules(crate: Path) -> dict[Module, str]:
    """The code of every module of a crate that has a file of its own, without tests."""
    modules = {}
    for path in sorted((crate / "src").rglob("*.rs")):
        place = path.relative_to(crate / "src").with_suffix("").parts
        if "tests" not in place:
            modules[place[:-1] if place[-1] in ("lib", "mod") else place] = rust_code(path, tests=False)
    return modules


def use_paths(tree: str) -> Iterator[str]:
    """The paths that the tree of a ``use`` stands for.

    >>> list(use_paths("super::{a, b::{self, C as D}}"))
    ['super::a', 'super::b::self', 'super::b::C']
    """
    start, brace, rest = tree.partition("{")
    if not brace:
        yield re.sub(r"\s+as\s+\w+$", "", tree.strip())
        return
    depth = 0
    branch = ""
    for character in rest.rstrip().removesuffix("}") + ",":
        if character == "," and depth == 0:
            if branch.strip():
                yield from (start.strip() + path for path in use_paths(branch))
            branch = ""
            continue
        depth += {"{": 1, "}": -1}.get(character, 0)
        branch += character


def paths_of(code: str) -> Iterator[tuple[str, bool]]:
    """Every path that code names by ``use``, ``crate::`` or ``super::``, and whether it is exported again."""
    pattern = r"\b(pub(?:\([a-z]+\))?\s+)?use\s+([^;]+);"
    for exported, tree in re.findall(pattern, code):
        yield from ((path, bool(exported)) for path in use_paths(tree))
    for path in re.findall(r"\b(?:crate|super)(?:::\w+)+", re.sub(pattern, "", code)):
        yield path, False


def absolute(path: str, module: Module, modules: dict[Module, str]) -> Module | None:
    """A path from the crate's root on; None where it leads into another crate."""
    names = path.split("::")
    if names[0] not in ("crate", "super", "self") and (*module, names[0]) not in modules:
        return None
    base = () if names[0] == "crate" else module
    while names and names[0] in ("crate", "super", "self"):
        base = base[:-1] if names.pop(0) == "super" else base
    return (*base, *(name for name in names if name != "self"))


def owner(target: Module, modules: dict[Module, str], exports: dict[Module, Module]) -> Module:
    """The module that a path leads into, past the names under which others export it again."""
    depth = next(depth for depth in range(len(target), -1, -1) if target[:depth] in modules)
    name, rest = target[: depth + 1], target[depth + 1 :]
    return owner((*exports[name], *rest), modules, exports) if name in exports else target[:depth]


def dependencies(modules: dict[Module, str]) -> set[tuple[Module, Module]]:
    """Which module uses which, as siblings: ``nand::spec`` using ``link`` counts as ``nand`` using ``link``.

    A module and what lies inside it are one unit to the outside, and may use each other: the parent declares its
    children, and a child's ``super::`` reaches the type whose methods it holds.
    """
    exports: dict[Module, Module] = {}
    targets: list[tuple[Module, Module]] = []
    for module, code in modules.items():
        for path, exported in paths_of(code):
            target = absolute(path, module, modules)
            if target is not None:
                targets.append((module, target))
                if exported:
                    exports[*module, target[-1]] = target
    uses = set()
    for user, target in targets:
        used = owner(target, modules, exports)
        shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(user, used, strict=False)))
        if shared < min(len(user), len(used)):
            uses.add((user[: shared + 1], used[: shared + 1]))
    return uses


def circles(uses: set[tuple[Module, Module]]) -> list[str]:
    """The uses that lie on a circle.

    >>> circles({(("a",), ("b",)), (("b",), ("c",)), (("c",), ("b",))})
    ['b -> c', 'c -> b']
    """
    reached = {module: {target for user, target in uses if user == module} for module, _ in uses}
    for _ in range(len(reached)):
        for targets in reached.values():
            targets |= {further for target in targets for further in reached.get(target, ())}
    return sorted(
        f"{'::'.join(user)} -> {'::'.join(target)}"
        for user, target in uses
        if user in reached.get(target, ())
    )


def test_a_circle_between_rust_modules_is_found(tmp_path: Path) -> None:
    source = tmp_path / "src"
    (source / "disk").mkdir(parents=True)
    (source / "lib.rs").write_text("mod disk;\nmod ram;\npub use ram::Ram;\npub use disk::Disk;\n")
    (source / "disk.rs").write_text("mod spec;\npub use spec::Spec;\n")
    (source / "disk" / "spec.rs").write_text("use super::Disk;\nfn size() { crate::Ram::size(); }\n")
    (source / "ram.rs").write_text("// use crate::disk::Spec;\n")
    assert circles(dependencies(rust_modules(tmp_path))) == []
    (source / "ram.rs").write_text("use crate::{disk::{Spec as DiskSpec}};\n")
    assert circles(dependencies(rust_modules(tmp_path))) == ["disk -> ram", "ram -> disk"]


@pytest.mark.parametrize("crate", sorted(name.removeprefix("iogauge-") for name in ALLOWED))
def test_no_circle_between_the_files_of_a_crate(crate: str) -> None:
    uses = dependencies(rust_modules(CRATES / crate))
    assert uses
    assert circles(uses) == []


@pytest.mark.parametrize("crate", PURE)
def test_pure_crates_forbid_unsafe_code(crate: str) -> None:
    assert "#![forbid(unsafe_code)]" in (CRATES / crate / "src" / "lib.rs").read_text()


def test_only_the_engine_has_unsafe_code() -> None:
    offenders = [
        path.relative_to(ROOT)
        for crate in CRATES.iterdir()
        if crate.name != "engine"
        for path in rust_files(crate.name)
        if re.search(r"\bunsafe\b(?!_code)", rust_code(path))
    ]
    assert offenders == []


@pytest.mark.parametrize(
    "forbidden",
    [
        r"\bstd::(time|thread|fs|net|process|env|os)\b",
        r"\b(Instant|SystemTime)\b",
        r"\blibc\b",
        r"\b(println|eprintln|print|eprint|dbg)!",
    ],
)
def test_pure_crates_read_no_clock_and_touch_no_system(forbidden: str) -> None:
    offenders = [
        path.relative_to(ROOT) for path in pure_files() if re.search(forbidden, rust_code(path, tests=False))
    ]
    assert offenders == []


def test_pure_crates_repeat_on_any_machine() -> None:
    """Transcendental functions come from ``libm``: those of ``std`` are the system's, and differ in the last bit."""
    inexact = r"\.(ln|ln_1p|log|log2|log10|exp|exp2|exp_m1|pow[fi]|cbrt|sin|cos|tan|tanh|atan2?|hypot)\("
    offenders = [
        f"{path.relative_to(ROOT)}: {call[0]}"
        for path in pure_files()
        for call in re.finditer(inexact, rust_code(path, tests=False))
    ]
    assert offenders == []


PURE_DOORS = {
    "traces/parsing.py": {"TracePairing", "TraceParser", "TraceReuse"},
    "fleet/merge/summing.py": {"HistogramSums"},
}
"""Who imports what is no way to a target: bytes in, rows and counts out."""


def test_only_execution_imports_the_rust_core() -> None:
    importers: dict[str, set[str]] = {}
    for path in modules():
        for name in imports(tree_of(path)):
            if name == "_core" or name.endswith("._core") or "._core." in name:
                importers.setdefault(str(path.relative_to(PACKAGE)), set()).add(name.rpartition(".")[2])
    assert {path: importers.pop(path) for path in PURE_DOORS} == PURE_DOORS
    assert importers
    assert all(path.startswith("execution/") for path in importers), importers


OPENS = {
    "store/durable.py",  # files of reviews, and outputs once outputs.py has claimed them
    "store/outputs.py",
    "store/kept.py",  # what a served drive is written to, once outputs.py has claimed it
    "target/file.py",  # targets themselves
    "target/block.py",
    "target/mark.py",  # what is kept beside targets
    "target/ledger.py",
    "target/layers.py",  # devices made for a step
    "machine/tuning/door.py",  # settings of the machine that are on its list, each journalled before
    "machine/tuning/journal.py",  # the journal of these
    "machine/trace/tracefs.py",  # an instance of its own, which it removes
    "traces/replay/scratch.py",  # temporary files without a name
    "cli/terminal/streams.py",  # /dev/null for a stream that was closed
    "cli/terminal/commands.py",  # the traceback of a defect, in a new temporary file
}
"""Who may open a file for writing: a way around the doors would be a way around their refusals."""

WRITING = re.compile(
    r"(write_text|write_bytes|touch|symlink_to|hardlink_to|NamedTemporaryFile|TemporaryFile|mkstemp|copyfile|copytree)"
)
MODE = re.compile(r"[rwxabt+]*[wxa+][rwxabt+]*")


def opens_for_writing(call: ast.Call) -> bool:
    """Whether a call opens, makes or fills a file; Arrow's writers do where they are given a path."""
    if not isinstance(call.func, ast.Attribute | ast.Name):
        return False
    name = call.func.attr if isinstance(call.func, ast.Attribute) else call.func.id
    arguments = [*call.args, *(keyword.value for keyword in call.keywords)]
    if name in ("open", "fdopen"):
        modes = [value.value for value in arguments if isinstance(value, ast.Constant)]
        of_os = isinstance(call.func, ast.Attribute) and ast.unparse(call.func.value) == "os"
        flags = " ".join(map(ast.unparse, arguments)) if of_os else ""
        return any(isinstance(mode, str) and MODE.fullmatch(mode) for mode in modes) or bool(
            re.search("O_WRONLY|O_RDWR|O_CREAT", flags)
        )
    if name in ("ParquetWriter", "write_table", "OSFile"):
        return any("path" in ast.unparse(value) for value in arguments)
    return bool(WRITING.fullmatch(name))


def test_only_the_doors_open_files_for_writing() -> None:
    offenders = [
        f"{path.relative_to(PACKAGE)}:{node.lineno}: {ast.unparse(node)}"
        for path in modules()
        if str(path.relative_to(PACKAGE)) not in OPENS
        for node in ast.walk(tree_of(path))
        if isinstance(node, ast.Call) and opens_for_writing(node)
    ]
    assert offenders == []


HANDLES_PATHS = {
    "engine/src/engines/files.rs": {"O_RDWR", "O_WRONLY"},  # descriptors, opened anew
    "py/src/descriptor.rs": {"OpenOptions"},  # the same
    "py/src/spill.rs": {"PathBuf"},  # which is read
    "nbd/src/listen.rs": {"PathBuf"},  # the socket that a server listens on
}
"""Where the core has to do with paths, or with opening files for writing."""


def test_the_core_is_given_no_path_to_write() -> None:
    """Python says what may be written, and hands out descriptors."""
    handles = (
        r"\b(PathBuf|OpenOptions|O_RDWR|O_WRONLY|O_CREAT|File::options|File::create\w*|create_new"
        r"|fs::(?:write|rename|copy|hard_link))\b"
    )
    uses = {
        str(path.relative_to(CRATES)): set(re.findall(handles, rust_code(path, tests=False)))
        for crate in ALLOWED
        for path in rust_files(crate.removeprefix("iogauge-"))
    }
    assert {path: names for path, names in uses.items() if names} == HANDLES_PATHS


def test_only_the_command_line_prints() -> None:
    offenders = []
    for path in modules():
        if path.is_relative_to(PACKAGE / "cli"):
            continue
        tree = tree_of(path)
        for node in ast.walk(tree):
            called = (
                isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "print"
            )
            stream = (
                isinstance(node, ast.Attribute)
                and node.attr in ("stdout", "stderr")
                and ast.unparse(node.value) == "sys"
            )
            if called or stream:
                offenders.append(f"{path.relative_to(ROOT)}:{node.lineno}")
        offenders += [
            f"{path.relative_to(ROOT)}: {name}" for name in imports(tree) if name.split(".")[0] == "rich"
        ]
    assert offenders == []
