"""The script that DiskSpd's steps are run by, as a parser that is not ours reads PowerShell."""

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
UNSAID = {"commit-latency": "syncs", "tenants": "random arrivals", "pts-write-saturation": "ends by bytes"}
"""Suites of which DiskSpd can run no step, or not all."""


def nodes(script: str) -> Iterator[Node]:
    waiting = [PARSER.parse(script.encode()).root_node]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += node.children


def wrong(script: str) -> list[tuple[int, str]]:
    """What the parser could not read: the line, from 1, and the text."""
    return [
        (node.start_point.row + 1, (node.text or b"").decode()[:80])
        for node in nodes(script)
        if node.is_error or node.is_missing
    ]


@pytest.mark.parametrize("suite", SUITES)
def test_the_script_of_a_suite_can_be_read(
    suite: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    targets = ["a.bin", "b.bin"] if suite == "many-drives" else ["a.bin"]
    sized = [*targets, "--size=64m", "--suite", suite]
    status = main(["plan", *sized, "--as=diskspd", "--output=out"])
    script = Path("out/run.ps1")
    assert script.exists() or (status == 1 and suite in UNSAID)
    if script.exists():
        assert wrong(script.read_text()) == []


@pytest.mark.parametrize(
    ("is_", "becomes"),
    [("foreach ($file in $files) {", "foreach ($file in $files {"), ("$targets = @(", "$targets = @{(")],
)
def test_a_script_that_is_wrong_is_seen(is_: str, becomes: str) -> None:
    script = diskspd_script(
        [Step("one", "[a]\nfilename=a.bin\nrw=randread\nnorandommap\nruntime=1\ntime_based\n")]
    )
    (text,) = script.files.values()
    assert wrong(text) == []
    assert is_ in text
    assert wrong(text.replace(is_, becomes, 1))


@settings(max_examples=25)
@given(name=st.text(st.characters(blacklist_categories=("Cs", "Cc")), min_size=1, max_size=12))
def test_whatever_targets_are_called_the_script_is_the_same(name: str) -> None:
    """Two of them, since the name of one alone is a parameter. No name is anything but text between quotes."""
    # What DiskSpd itself takes for something else is refused.
    path = "x" + "".join(character for character in name if character not in ':\\/,#;="')

    def shape(called: str) -> list[str]:
        job = "[a]\nfilename={}\nrw=randread\nnorandommap\nruntime=1\ntime_based\n"
        steps = [Step("one", job.format(called)), Step("two", job.format("other.bin"))]
        (text,) = diskspd_script(steps).files.values()
        assert wrong(text) == []
        return [node.type for node in nodes(text)]

    assert shape(f"{path}.bin") == shape("plain.bin")
