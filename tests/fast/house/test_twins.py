"""Things written down twice say the same: schema/ and its Rust twins, versions, commands."""

from __future__ import annotations

import inspect
import re
import tomllib
from enum import StrEnum
from pathlib import Path

import pytest

from iogauge import schema
from iogauge.traces.replay.compiling import ROW

ROOT = Path(__file__).resolve().parents[3]
_CORE = ROOT / "crates" / "core" / "src"
PLAN_RS = "".join(path.read_text() for path in (_CORE / "plan.rs", *sorted(_CORE.glob("plan/*.rs"))))
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
CARGO = tomllib.loads((ROOT / "Cargo.toml").read_text())


def rust_structs(text: str) -> dict[str, list[str]]:
    """Names of the public fields of every struct with named fields, in order.

    >>> rust_structs("pub struct A<T> {\\n    /// x: y\\n    pub one: u8,\\n    pub two: Vec<T>,\\n}\\n")
    {'A': ['one', 'two']}
    """
    bodies = re.findall(r"^pub struct (\w+)(?:<\w+>)? \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL)
    return {name: re.findall(r"^    pub (?:r#)?(\w+):", body, re.MULTILINE) for name, body in bodies}


def rust_enums(text: str) -> dict[str, set[str]]:
    """Names of every enum's variants as serde writes them: lower case, unless renamed one by one."""
    enums = {}
    for name, body in re.findall(r"^pub enum (\w+) \{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        variants = re.findall(r'(?:#\[serde\(rename = "(\w+)"\)\]\s*)?^    ([A-Z]\w*)', body, re.MULTILINE)
        enums[name] = {renamed or variant.lower() for renamed, variant in variants}
    return enums


def serialized_structs() -> dict[str, list[str]]:
    """Fields of every struct of any crate that derives Serialize: what comes back from a run."""
    text = "".join(path.read_text() for path in (ROOT / "crates").glob("*/src/**/*.rs"))
    derived = re.findall(
        r"^#\[derive\([^)]*Serialize\b[^)]*\)\]\n(?:#.*\n)*pub struct (\w+)", text, re.MULTILINE
    )
    structs = rust_structs(text)
    return {name: structs[name] for name in derived if name in structs}


def reached(*roots: str) -> list[str]:
    """Names of the given models of schema/ and of every model that their fields lead to."""
    seen: set[str] = set()
    ahead = list(roots)
    while ahead:
        name = ahead.pop()
        if name in seen:
            continue
        seen.add(name)
        for annotation in inspect.get_annotations(getattr(schema, name)).values():
            words = {word: getattr(schema, word, None) for word in re.findall(r"\w+", str(annotation))}
            ahead += [
                word
                for word, value in words.items()
                if isinstance(value, type) and issubclass(value, schema.Model) and value is not schema.Model
            ]
    return sorted(seen)


PLANS = reached("RunPlan")
RESULTS = reached("RunResult", "Interval", "ClockFacts")


def test_every_plan_and_result_is_found() -> None:
    assert {"StagePlan", "WorkerPlan", "EnginePlan", "PatternPlan", "SizesPlan", "FilePlan"} <= set(PLANS)
    assert {"SchedulePlan", "BufferPlan", "PerDirection", "BlockSizeShare"} <= set(PLANS)
    assert {"RowResult", "WorkerResult", "InFlight", "Tally"} <= set(RESULTS)


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_and_its_rust_twin_have_the_same_fields(name: str) -> None:
    assert rust_structs(PLAN_RS)[name] == list(getattr(schema, name).model_fields)


@pytest.mark.parametrize("name", RESULTS)
def test_a_result_and_its_rust_twin_have_the_same_fields(name: str) -> None:
    assert serialized_structs()[name] == list(getattr(schema, name).model_fields)


def test_distributions_have_the_same_fields() -> None:
    (body,) = re.findall(r"^pub enum Distribution \{\n(.*?)^\}", PLAN_RS, re.MULTILINE | re.DOTALL)
    rust = {
        name.lower(): re.findall(r"(\w+):", fields or "")
        for name, fields in re.findall(r"^    (\w+)(?:\s*\{([^}]*)\})?,", body, re.MULTILINE)
    }
    python = {
        model.model_fields["kind"].default: [field for field in model.model_fields if field != "kind"]
        for model in (
            schema.UniformDistribution,
            schema.ZipfDistribution,
            schema.ParetoDistribution,
            schema.NormalDistribution,
            schema.ZonedDistribution,
        )
    }
    assert rust == python
    assert rust_structs(PLAN_RS)["Zone"] == list(schema.Zone.model_fields)


@pytest.mark.parametrize("enum", [schema.Rw, schema.EngineKind, schema.SyncMode])
def test_an_enum_and_its_rust_twin_have_the_same_values(enum: type[StrEnum]) -> None:
    assert rust_enums(PLAN_RS)[enum.__name__] == {member.value for member in enum}


def test_one_version_everywhere() -> None:
    version = PYPROJECT["project"]["version"]
    assert CARGO["workspace"]["package"]["version"] == version
    assert re.search(rf"^## \[{re.escape(version)}\]", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_one_licence_everywhere() -> None:
    assert CARGO["workspace"]["package"]["license"] == PYPROJECT["project"]["license"] == "Apache-2.0 OR MIT"
    assert "Apache License" in (ROOT / "LICENSE-APACHE").read_text()
    assert "MIT License" in (ROOT / "LICENSE-MIT").read_text()


def test_lock_files_name_public_registries_only() -> None:
    sources = re.findall(r'registry = "([^"]+)"', (ROOT / "uv.lock").read_text())
    assert set(sources) == {"https://pypi.org/simple"}
    crates = re.findall(r'^source = "([^"]+)"', (ROOT / "Cargo.lock").read_text(), re.MULTILINE)
    assert set(crates) == {"registry+https://github.com/rust-lang/crates.io-index"}


@pytest.mark.parametrize("document", ["README.md", "CONTRIBUTING.md", "bench/README.md"])
def test_commands_that_documents_name_exist(document: str) -> None:
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = re.findall(r"(?:^|`)make ([a-z-]+)", (ROOT / document).read_text(), re.MULTILINE)
    assert named, f"{document} names no make command"
    assert set(named) <= targets


def test_continuous_integration_runs_the_test_command_of_the_readme() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    for target in ("test", "docs", "test-slow", "test-devices", "test-alone"):
        assert re.search(rf"^make (\$beside )?{target}( \|\| failed=1)?$", script, re.MULTILINE)
    assert script.endswith('\nexit "$failed"\n')
    assert "make test-vm-guests" in script
    assert "make test" in (ROOT / "README.md").read_text()


def test_rows_of_a_replay_are_laid_out_as_the_core_reads_them() -> None:
    body = (_CORE / "replay.rs").read_text().partition("pub struct Row {")[2].partition("}")[0]
    types = {"u64": "<u8", "u32": "<u4", "u16": "<u2", "u8": "|u1"}
    fields = [(name, types[kind]) for name, kind in re.findall(r"pub (\w+): (\w+),", body)]
    assert fields == [(name, ROW[name].str) for name in ROW.names or ()]
    assert ROW.itemsize == 32
