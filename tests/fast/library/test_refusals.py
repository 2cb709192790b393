"""Refusals name what their reader has: the arguments of the library, or the options of the command line."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import iogauge
from iogauge.cli import COMMANDS, main

OPTION = re.compile(r"(?<![\w-])--[a-z]")
COMMAND = re.compile(rf"\biogauge ({'|'.join(COMMANDS)})\b")
PACKAGE = Path(iogauge.__file__).parent
OF_OTHER_PROGRAMS = (
    "--name=",
    "blockdev --setrw",
    "docker run --device",
    "--output-format=json+",
    "--no-nanny --nthreads 1 --name HOST",
)
"""What messages rightly say of fio's job options and of other programs."""
WRITE = "[w]\nrw=write\nsize=1m\n"


def refused(call: Callable[..., Any], *arguments: Any, **options: Any) -> str:
    """What is refused, and its hint."""
    with pytest.raises(iogauge.IogaugeError) as caught:
        call(*arguments, **options)
    return f"{caught.value} {caught.value.hint}"


@pytest.fixture
def precious(tmp_path: Path) -> Path:
    path = tmp_path / "precious"
    path.write_bytes(b"x" * 2**20)
    return path


def test_the_library_names_its_arguments(precious: Path, tmp_path: Path) -> None:
    refusals = {
        refused(iogauge.run, WRITE, target=precious): f"destroy=['{precious}']",
        refused(iogauge.run, WRITE, target="model:ram", readonly=True): "leave out readonly=True",
        refused(iogauge.run, WRITE, target="model:ram", fail_if=["x"]): "fail_if 'x'",
        refused(iogauge.review): "resume='DIRECTORY'",
        refused(iogauge.plan, suites="mixed"): "name a target iogauge.plan('/dev/nvme0n1')",
        refused(iogauge.review, ""): "the name of a target is empty",
        refused(iogauge.model, "nosuch"): "see iogauge.models()",
        refused(iogauge.compare, "published"): "iogauge.compare('REVIEW', 'published')",
        refused(iogauge.open_review, tmp_path): "the directory of a review that iogauge saved",
        refused(
            iogauge.review, "model:ram", suites="many-drives"
        ): "iogauge.review(['TARGET', 'TARGET', ...])",
        refused(iogauge.run, "[w]\nrw=${NO_SUCH_NAME}\n"): "export NO_SUCH_NAME=VALUE",
        refused(iogauge.serve_model, "ram", tcp="0.0.0.0:0"): "allow remote clients",
        refused(iogauge.serve_model, "ram", socket=tmp_path / "s", size=1000): "a multiple of 512",
        refused(iogauge.review, ["a", "a"]): "see repeats",
        refused(iogauge.review, "model:ram", resume="x", pace="full"): "targets, pace cannot be",
        refused(iogauge.review, "model:ram", until_supported=2): "until_supported=0.99999",
        refused(iogauge.plan, "/dev/elsewhere", program="fio"): "size='100g'",
        refused(iogauge.plan, "model:ram", suites="mixed", purge_by="format"): "state='fresh'",
        refused(iogauge.plan, "model:ram", program="fio", purge_by="format"): "purge the target yourself",
        refused(iogauge.review, "model:ram", output=precious.parent): f"iogauge.review(resume='{tmp_path}')",
    }
    for text, words in refusals.items():
        assert words in text
        assert not OPTION.search(text)
        assert not COMMAND.search(text)


def messages(tree: ast.AST) -> Iterator[ast.Constant]:
    """The text of errors, hints and notes, but for what ``either`` has for users of the command line."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and (
            re.search(r"(Error|Refused|BadValue|error|say)$", ast.unparse(node.func))
            or any(keyword.arg == "hint" for keyword in node.keywords)
        ):
            yield from texts(node)


def texts(node: ast.AST) -> Iterator[ast.Constant]:
    if isinstance(node, ast.Constant):
        yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.keyword) and child.arg == "command"):
            yield from texts(child)


def test_no_message_of_the_library_names_a_command_or_an_option() -> None:
    named: list[str] = []
    files = [path for path in PACKAGE.rglob("*.py") if "cli" not in path.relative_to(PACKAGE).parts]
    for path in files:
        for constant in messages(ast.parse(path.read_text())):
            text = str(constant.value)
            for words in OF_OTHER_PROGRAMS:
                text = text.replace(words, "")
            if OPTION.search(text) or COMMAND.search(text):
                named.append(f"{path.relative_to(PACKAGE)}:{constant.lineno}: {text}")
    assert len(files) > 100
    assert not named, "use iogauge.text.option"


def test_an_option_of_fios_command_line_is_an_argument_here() -> None:
    text = refused(iogauge.run, ["--name=x", "--eta=never"])
    assert "the argument of iogauge.run" in text
    assert not COMMAND.search(text)


def test_the_command_line_names_its_options(precious: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", "--name=w", "--rw=write", "--size=1m", f"--filename={precious}"]) == 1
    assert f"--destroy {precious}" in capsys.readouterr().err
    assert main(["review", "model:ram", "--resume=x", "--pace=full"]) == 2
    assert (
        "--resume continues a review as it was planned: TARGET, --pace cannot be" in capsys.readouterr().err
    )
    assert main(["plan", "--suite=mixed"]) == 2
    assert capsys.readouterr().err == "error: name a TARGET\nhint: iogauge plan /dev/nvme0n1\n"
    # Afterwards the process is the library's again.
    assert "destroy=[" in refused(iogauge.run, WRITE, target=precious)


def test_a_single_name_need_not_be_in_a_list(tmp_path: Path) -> None:
    drive = tmp_path / "drive.bin"
    drive.write_bytes(bytes(1 << 20))
    jobs = ["--name=x", f"--filename={drive}", "--rw=write", "--bs=4k", "--size=1m", "--number_ios=4"]
    with pytest.raises(iogauge.IogaugeError, match="exists"):
        iogauge.run(jobs, destroy="x", ceiling=False)
    assert iogauge.run(jobs, destroy=str(drive), section="x", fail_if="write.max > 1s", ceiling=False)


def test_names_of_suites_and_quantiles_are_checked(tmp_path: Path) -> None:
    saved = iogauge.review(
        "model:p4800x", suites="queue-depth", runtime="100ms", output=tmp_path / "saved", seed=1
    )
    assert [suite.plan.suite for suite in iogauge.open_review(saved, suites="queue-depth")] == ["queue-depth"]
    position = saved.suite("queue-depth").positions[0]
    for q in (0, 1, 99, -1):
        with pytest.raises(iogauge.IogaugeError, match="must be above 0 and below 1"):
            position.figures.quantile(q)
    for seed in (-1, 1.5, 2**64):
        with pytest.raises(iogauge.UsageError, match=r"seed .*: must be a whole number"):
            iogauge.run(WRITE, target="model:p4800x", seed=seed)
    comparison = iogauge.compare(saved, "published", suites="queue-depth")
    assert comparison.findings
    assert set(comparison.findings) <= {
        finding for entry in comparison.to_dict() for finding in entry["findings"]
    }
    table = comparison.to_arrow()
    assert table.num_rows == sum(len(entry["figures"]) for entry in comparison.to_dict()) > 0
