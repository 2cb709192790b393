"""What documents say exists does: files, tests, functions, links to headings."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

from iogauge.cli import GROUPS
from iogauge.cli.terminal.commands import every_command

ROOT = Path(__file__).resolve().parents[3]
PAGES = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").glob("*.md"))
DOCUMENTS = [
    "README.md",
    "ARCHITECTURE.md",
    "CONTRIBUTING.md",
    "examples/README.md",
    "bench/README.md",
    *PAGES,
]
MADE = {"commands.md", "api.md"}
"""Pages of the site that ``docs/reference.py`` makes from the code."""
PACKAGE = ROOT / "python" / "iogauge"
GROWN = {"bench/history.jsonl", "bench/out"}
"""Not there before something was measured."""

each_document = pytest.mark.parametrize("document", DOCUMENTS)


def quoted(document: str) -> list[str]:
    """Everything in backticks, code blocks left out."""
    text = re.sub(r"^```.*?^```", "", (ROOT / document).read_text(), flags=re.MULTILINE | re.DOTALL)
    return re.findall(r"`([^`\n]+)`", text)


def named_paths(document: str) -> list[str]:
    """Paths from the root, as ``tests/fast/x.py`` or ``crates/core/src/x.rs::a_test``."""
    tops = "crates|python|tests|bench|docs|examples|.ci"
    return [word for word in quoted(document) if re.fullmatch(rf"(?:{tops})/[\w./-]*(?:::\w+)?", word)]


def anchors(document: Path) -> set[str]:
    """The anchors that a page's headings have."""
    headings = re.findall(r"^#+ (.+)$", document.read_text(), re.MULTILINE)
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@each_document
def test_named_files_exist_and_hold_the_named_test(document: str) -> None:
    missing = []
    for word in named_paths(document):
        path, _, name = word.partition("::")
        if not (ROOT / path).exists() and path not in GROWN:
            missing.append(path)
        elif name and not re.search(rf"\b(?:def|fn) {name}\(", (ROOT / path).read_text()):
            missing.append(word)
    assert missing == []


@each_document
def test_links_to_headings_lead_to_one(document: str) -> None:
    missing = []
    page = ROOT / document
    for path, anchor in re.findall(r"\]\(([^)\s#]*)#([^)\s]+)\)", page.read_text()):
        if not path.startswith("http") and anchor not in anchors(page.parent / path if path else page):
            missing.append(f"{path}#{anchor}")
    assert missing == []


def test_the_site_has_every_page() -> None:
    navigation = re.findall(r": (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(), re.MULTILINE)
    assert sorted(navigation) == sorted({Path(page).name for page in PAGES} | MADE)


def test_the_page_of_models_opens_with_what_its_table_adds_up_to() -> None:
    text = (ROOT / "docs" / "accuracy.md").read_text()
    summed = re.findall(r"\d+ of \d+", text.partition("Within their limits: ")[2].partition("\n")[0])
    assert len(summed) == 4
    assert re.findall(r"\d+ of \d+", text.partition("\n## ")[0]) == summed


def script_of_docs(name: str) -> ModuleType:
    """Import a Python file of ``docs/``."""
    specification = importlib.util.spec_from_file_location(name, ROOT / "docs" / f"{name}.py")
    assert specification is not None
    assert specification.loader is not None
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


def test_every_command_has_an_example_in_its_help() -> None:
    page = script_of_docs("reference").commands_page()
    for text in page.split("```text\nUsage: ")[1:]:
        usage, _, rest = text.partition("\n")
        command = usage.partition(" [OPTIONS]")[0]
        if command.removeprefix("iogauge ") not in GROUPS:
            assert re.search(rf"^ {{6}}(eval \"\$\()?{command}\b", rest, re.MULTILINE), command


def test_manual_pages_are_made_of_the_help(tmp_path: Path) -> None:
    script_of_docs("man").main(tmp_path)
    names = {"iogauge", *(f"iogauge-{'-'.join(words)}" for words in every_command())}
    assert {path.stem for path in tmp_path.iterdir()} == names
    page = (tmp_path / "iogauge-quick.1").read_text()
    assert ".SH EXAMPLES\n.EX\niogauge quick /dev/nvme0n1\n" in page
    assert ".B \\-\\-size BYTES\n" in page
    if groff := shutil.which("groff"):
        for path in tmp_path.iterdir():
            ran = subprocess.run([groff, "-man", "-ww", "-Tutf8", path], check=True, capture_output=True)
            assert ran.stderr == b"", path


def test_the_site_shows_the_help_of_every_command() -> None:
    page = script_of_docs("reference").commands_page()
    for command in map(" ".join, every_command()):
        assert f"# iogauge {command}\n\n```text\nUsage: iogauge {command} " in page


def test_architecture_guards_its_invariants() -> None:
    assert sum("::" in path for path in named_paths("ARCHITECTURE.md")) > 20


def packages() -> list[str]:
    """Every package below ours, as a folder ends: ``report/run/``."""
    folders = {path.parent.relative_to(PACKAGE).as_posix() for path in PACKAGE.rglob("*.py")} - {"."}
    return sorted(f"{folder}/" for folder in folders)


def test_architecture_maps_every_package() -> None:
    section = (
        (ROOT / "ARCHITECTURE.md").read_text().partition("### `python/iogauge`")[2].partition("\n### ")[0]
    )
    mapped = re.findall(r"`([\w/]+/)`", "".join(re.findall(r"^\| (`.*?) \|", section, re.MULTILINE)))
    assert sorted(mapped) == packages()


@pytest.mark.parametrize("crate", ["core", "engine", "model", "nbd", "trace"])
def test_architecture_maps_every_file_of_a_crate(crate: str) -> None:
    text = (ROOT / "ARCHITECTURE.md").read_text()
    section = text.partition(f"### `crates/{crate}`")[2].partition("\n### ")[0]
    mapped = set(re.findall(r"`(\w+)(?:\.rs|/)?`", section))
    source = ROOT / "crates" / crate / "src"
    files = {path.relative_to(source).parts[0].removesuffix(".rs") for path in source.rglob("*.rs")}
    assert files - mapped - {"lib", "tests"} == set()
