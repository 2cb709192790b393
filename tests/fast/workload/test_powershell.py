"""The script that runs steps with DiskSpd, parsed by an independent parser of PowerShell."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import tree_sitter_powershell
from hypothesis import given, settings
from hypothesis import strategies as st
from tree_sitter import Language, Node, Parser

from iogauge.cli import main
from iogauge.suites import SUITES
from iogauge.workload.diskspd.powershell import diskspd_script
from iogauge.workload.scripts import Step

PARSER = Parser(Language(tree_sitter_powershell.language()))
INCOMPLETE = {
    "commit-latency": "syncs",
    "tenants": "random arrivals",
    "pts-write-saturation": "ends by bytes",
}
"""Suites with steps that DiskSpd cannot run."""


def nodes(script: str) -> Iterator[Node]:
    waiting = [PARSER.parse(script.encode()).root_node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


def syntax_errors(script: str) -> list[tuple[int, str]]:
    """Return the line, from 1, and the text of everything that the parser cannot read."""
    return [
        (node.start_point.row + 1, (node.text or b"").decode()[:80])
        for node in nodes(script)
        if node.is_error or node.is_missing
    ]


@pytest.mark.parametrize("suite", SUITES)
def test_the_script_of_a_suite_can_be_parsed(
    suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    targets = ["a.bin", "b.bin"] if suite == "many-drives" else ["a.bin"]
    sized = [*targets, "--size=64m", "--suite", suite]
    status = main(["plan", *sized, "--as=diskspd", "--output=out"])
    script = Path("out/run.ps1")
    assert script.exists() or (status == 1 and suite in INCOMPLETE)
    if script.exists():
        assert syntax_errors(script.read_text()) == []


@pytest.mark.parametrize(
    ("is_", "becomes"),
    [("foreach ($file in $files) {", "foreach ($file in $files {"), ("$targets = @(", "$targets = @{(")],
)
def test_a_syntax_error_is_detected(is_: str, becomes: str) -> None:
    script = diskspd_script(
        [Step("one", "[a]\nfilename=a.bin\nrw=randread\nnorandommap\nruntime=1\ntime_based\n")]
    )
    (text,) = script.files.values()
    assert syntax_errors(text) == []
    assert is_ in text
    assert syntax_errors(text.replace(is_, becomes, 1))


@settings(max_examples=25)
@given(name=st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=12))
def test_names_of_targets_do_not_change_the_script(name: str) -> None:
    """A name stays text between quotes. There are two targets, since the name of a single one is a parameter."""
    # Names with these characters mean something else to DiskSpd, and are refused.
    path = "x" + "".join(character for character in name if character not in ':\\/,#;="')

    def shape(called: str) -> list[str]:
        job = "[a]\nfilename={}\nrw=randread\nnorandommap\nruntime=1\ntime_based\n"
        steps = [Step("one", job.format(called)), Step("two", job.format("other.bin"))]
        (text,) = diskspd_script(steps).files.values()
        assert syntax_errors(text) == []
        return [node.type for node in nodes(text)]

    assert shape(f"{path}.bin") == shape("plain.bin")
