"""Your own suites, from Python files and TOML plans: loading, running, resuming, and judging without the file."""

from __future__ import annotations

import ast
import json
import re
import shutil
from pathlib import Path
from typing import Any

import pytest

from iogauge import workload
from iogauge.cli import main
from iogauge.errors import IogaugeError
from iogauge.store import Review
from iogauge.suites import SUITES, SuiteRequest, suite_of, suite_to_judge
from iogauge.suites.own.plain import PlainSuite
from tests import builders
from tests.suite_runs import cut_down

EXAMPLES = Path(__file__).resolve().parents[3] / "examples"
REQUEST = SuiteRequest(targets=(builders.target("/dev/nvme0n1", kind="block"),), pace="quick")

SUITE_FILE = """
from iogauge.suites import Axis, StepTemplate, Suite


class Mine(Suite):
    NAME = "mine"
    TITLE = "Mine"
    SOURCE = "me"
    AXIS = Axis(name="depth", unit="in flight")
    MEASURED_JOB = "load"

    def plan(self, request):
        empty = self.empty(request)
        step = StepTemplate.of(empty).step("one", 1, {"load": {"rw": "randread"}}, bs="4k")
        return empty.model_copy(update={"steps": (step,)})

    def findings(self, result):
        return ("mine was run",)
"""
PLAN = """
name = "few"
[[step]]
at = 1
options = { rw = "randread", bs = "4k", norandommap = true }
"""


@pytest.fixture(autouse=True)
def folder(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    cut_down(monkeypatch)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def written(name: str, text: str) -> str:
    Path(name).write_text(text)
    return name


def review(*arguments: str) -> int:
    return main(
        ["review", "model:p4800x", "--runtime=60ms", "--seed=1", "--output=saved", "--json", *arguments]
    )


def shown(capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    result: dict[str, Any] = plan
    return result


def test_a_python_file_is_a_suite(capsys: pytest.CaptureFixture[str]) -> None:
    assert review("--suite", written("mine.py", SUITE_FILE)) == 0
    plan = shown(capsys)
    assert (plan["key"], plan["findings"]) == ("mine", ["mine was run"])
    assert plan["suite"] == str(Path("mine.py").absolute())
    assert [step["id"] for step in plan["steps"]] == ["mine.one"]
    assert main(["report", "saved", "--judge-by", "mine.py"]) == 0
    assert "Mine was run" in Path("saved/report.html").read_text()


@pytest.mark.parametrize(
    ("option", "name", "text"), [("--suite", "mine.py", SUITE_FILE), ("--plan", "few.toml", PLAN)]
)
def test_a_review_is_resumed_with_its_file_and_shown_without_it(
    option: str,
    name: str,
    text: str,
    folder: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert review(option, written(name, text)) == 0
    complete = shown(capsys)
    saved = Review.open(Path("saved"))
    with saved.lock():
        saved.discard(saved.manifest.steps[0].id)
    # From another directory: the review keeps the file's absolute path.
    elsewhere = folder / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert main(["review", "--resume", "../saved", "--json"]) == 0
    assert shown(capsys) == complete
    (folder / name).unlink()
    assert main(["review", "--resume", "../saved", "--json"]) == 0
    out, err = capsys.readouterr()
    (plan,) = json.loads(out)["plans"]
    assert plan == {**complete, "findings": []}
    assert f"warning: {folder / name}: no such file: " in err
    assert "shown without its suite's findings" in err
    assert main(["report", "../saved"]) == 0
    assert "shown without its suite's findings" in capsys.readouterr().err


def test_showing_a_review_runs_its_file_only_if_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert review("--suite", written("mine.py", SUITE_FILE)) == 0
    findings = shown(capsys)["findings"]
    assert findings
    Path("mine.py").write_text(f"{SUITE_FILE}\nopen('was-run', 'w').close()\n")
    for command in (["show", "saved", "--json"], ["report", "saved"]):
        assert main(command) == 0
        assert "--judge-by" in capsys.readouterr().err
        assert not Path("was-run").exists()
    assert main(["show", "saved", "--json", "--judge-by", "mine.py"]) == 0
    assert Path("was-run").exists()
    assert shown(capsys)["findings"] == findings


def test_missing_steps_cannot_run_without_the_file(capsys: pytest.CaptureFixture[str]) -> None:
    assert review("--suite", written("mine.py", SUITE_FILE)) == 0
    saved = Review.open(Path("saved"))
    with saved.lock():
        saved.discard(saved.manifest.steps[0].id)
    Path("mine.py").unlink()
    capsys.readouterr()
    assert main(["review", "--resume", "saved"]) == 1
    assert "mine.py: no such file" in capsys.readouterr().err


def test_an_unavailable_suite_judges_but_does_not_plan() -> None:
    warnings: list[str] = []
    plan = SUITES["mixed"].plan(REQUEST).model_copy(update={"suite": "of-tomorrow"})
    suite = suite_to_judge(plan, warn=warnings.append)
    assert isinstance(suite, PlainSuite)
    assert "there is no suite 'of-tomorrow'" in warnings[0]
    with pytest.raises(IogaugeError, match="plans nothing"):
        suite.plan(REQUEST)
    assert suite_to_judge(SUITES["mixed"].plan(REQUEST), warn=warnings.append) is SUITES["mixed"]
    assert len(warnings) == 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("raise ValueError('no')", "its code failed: ValueError: no"),
        ("def f(:", "its code failed: SyntaxError"),
        ("x = 1", "defines 0 suites"),
        (SUITE_FILE + "\nclass Other(Mine):\n    pass\n", "defines 2 suites (Mine, Other)"),
        (SUITE_FILE.replace('NAME = "mine"', 'NAME = "Mine!"'), "'Mine!' cannot name a suite"),
        (SUITE_FILE.replace('NAME = "mine"', 'NAME = "mixed"'), "'mixed' is a built-in suite"),
        (SUITE_FILE.replace('    MEASURED_JOB = "load"\n', ""), "Mine lacks MEASURED_JOB"),
        (SUITE_FILE.replace("def plan", "def plans"), "Mine lacks plan"),
        (SUITE_FILE + "\n    def __init__(self, x): pass\n", "Mine() failed: TypeError"),
    ],
)
def test_an_error_says_why_a_file_is_not_a_suite(text: str, message: str) -> None:
    with pytest.raises(IogaugeError) as caught:
        suite_of(written("bad.py", text))
    assert message in str(caught.value)
    assert caught.value.hint
    assert not re.search("input should|pydantic|value_error|type=", str(caught.value), re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "hint"),
    [
        (PLAN.replace("[[step]]", "[[steps]]"), "did you mean [[step]]?"),
        (PLAN.replace("[[step]]", "[[stp]]"), "did you mean [[step]]?"),
        (PLAN.replace("name =", "nmae ="), "did you mean name?"),
        (PLAN.replace("options =", "option ="), "did you mean options?"),
        ('axis = { name = "x", units = "s" }\n' + PLAN, "did you mean unit?"),
        (PLAN.replace("at = 1", "at = 1\ncolour = 3"), "use one of: at, label, "),
        ('reader = "job"\n' + PLAN, "did you mean measured_job?"),
        ('pressure = "writer"\n' + PLAN, "did you mean load_jobs?"),
    ],
)
def test_a_misspelt_key_names_the_nearest(text: str, hint: str) -> None:
    with pytest.raises(IogaugeError, match="is not known") as caught:
        suite_of(written("bad.toml", text))
    assert str(caught.value.hint).startswith(hint)


TWO = """
name = "two"
measured_job = "first"
[[step]]
at = 1
options = { rw = "randread", bs = "4k", norandommap = true }
jobs.first = { numjobs = 2 }
jobs.second = {}
"""


def test_two_jobs_of_a_step_are_two_rows(capsys: pytest.CaptureFixture[str]) -> None:
    assert review("--plan", written("two.toml", TWO)) == 0
    assert shown(capsys)["missing"] == []
    saved = Review.open(Path("saved"))
    record = saved.record(saved.manifest.steps[0].id)
    assert [row.name for row in record.result.rows] == ["first", "first", "second"]
    assert main(["show", "saved"]) == 0
    assert main(["report", "saved"]) == 0


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("merged.toml", TWO.replace("norandommap", "group_reporting = true, norandommap")),
        (
            "mine.py",
            SUITE_FILE.replace(
                '{"load": {"rw": "randread"}}', '{"load": {"rw": "randread"}, "b": {"rw": "randread"}}'
            ).replace('bs="4k"', 'bs="4k", group_reporting=1'),
        ),
        ("mine.py", SUITE_FILE.replace('{"load": {"rw"', '{"other": {"rw"')),
    ],
)
def test_a_plan_without_a_row_of_its_own_for_the_measured_job_is_refused(
    name: str, text: str, capsys: pytest.CaptureFixture[str]
) -> None:
    option = "--plan" if name.endswith("toml") else "--suite"
    assert review(option, written(name, text)) == 1
    err = capsys.readouterr().err
    assert "reported in one row with" in err or "has no job 'load'" in err
    assert "hint: " in err
    assert not Path("saved").exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            SUITE_FILE.replace("empty = self.empty(request)", "empty = 1 / 0"),
            "mine.py:13: plan: ZeroDivisionError: division by zero",
        ),
        (
            SUITE_FILE.replace('return ("mine was run",)', "return result.none"),
            "mine.py:18: findings: AttributeError: ",
        ),
        (SUITE_FILE.replace("(step,)", "()"), "mine.py: plan: it has no steps"),
        (SUITE_FILE.replace("        return empty.model", "        empty.model"), "plan: returns NoneType"),
        (
            f"{SUITE_FILE}\n    def more(self, plan, review, *, repeat):\n        return {{}}[repeat]\n",
            "mine.py:21: more: KeyError: 0",
        ),
        (
            f"{SUITE_FILE}\n    def conclude(self, result):\n        raise OSError('gone')\n",
            "mine.py:21: conclude: OSError: gone",
        ),
    ],
)
def test_an_exception_of_a_suite_is_reported_with_its_line(
    text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert review("--suite", written("mine.py", text)) == 1
    err = capsys.readouterr().err
    assert f"error: {Path.cwd()}/mine.py" in err
    assert message in err
    assert "defect of iogauge" not in err


def test_an_iogauge_error_of_a_suite_passes_unchanged() -> None:
    text = SUITE_FILE.replace(
        "empty = self.empty(request)",
        "from iogauge.errors import IogaugeError; raise IogaugeError('too small')",
    )
    with pytest.raises(IogaugeError, match=r"^too small$"):
        suite_of(written("mine.py", text)).plan(REQUEST)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name = ", "not TOML"),
        ("a = " + "[" * 5000 + "]" * 5000, "nested too deep"),
        (". ".join(["a"] * 100_000) + " = 1", "nested too deep"),
        ('name = "few"', "[[step]] is missing"),
        ("name = 3\n[[step]]\nat = 1\n", "name is 3, and must be a string"),
        (PLAN.replace("at = 1", 'at = "x"'), "[[step]] 1: at is 'x', and must be a number"),
        (PLAN.replace("at = 1", "at = 1\ncolour = 3"), "[[step]] 1: 'colour' is not known"),
        (PLAN.replace("at = 1\n", ""), "[[step]] 1: at is missing"),
        (PLAN + "judged = []\n", "[[step]] 1: judged is [], and must be true or false"),
        ('name = "few"\nstep = []', "there is no [[step]]"),
        ('name = "few"\nstep = 3', "step is 3, and must be an array"),
        ('name = "few"\nstep = [3]', "[[step]] 1 is 3, and must be a table"),
        (PLAN.replace("at = 1", 'at = 1\njob_file = "gone.fio"'), "a step with job_file cannot have options"),
        (
            'name = "few"\n[[step]]\nat = 1\njob_file = "gone.fio"\njobs.load = {}\n',
            "a step with job_file cannot have options",
        ),
        (PLAN.replace('"few"', '"spec"'), "'spec' is a built-in suite"),
        (PLAN.replace('"4k"', '"4k\\nrw=write"'), "[[step]] 1: options.bs"),
        (PLAN.replace('"4k"', "[1]"), "[[step]] 1: options.bs"),
        ('name = "few"\n[[step]]\nat = 1\njob_file = "gone.fio"\n', "gone.fio: no such file"),
    ],
)
def test_an_error_says_where_a_toml_plan_is_wrong(text: str, message: str) -> None:
    with pytest.raises(IogaugeError) as caught:
        suite_of(written("bad.toml", text))
    assert message in str(caught.value)
    assert caught.value.hint


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (PLAN.replace("norandommap = true", "rwx = 1"), "rwx"),
        (PLAN.replace('rw = "randread"', 'rw = "sideways"'), "sideways"),
        (PLAN + "jobs.other = {}\n", "step 1 has no job 'load'"),
        (PLAN.replace("norandommap = true", 'filename = "/dev/sda"'), "/dev/sda"),
    ],
)
def test_an_impossible_step_is_refused_before_a_review_is_created(
    text: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert review("--plan", written("bad.toml", text)) == 1
    assert message in capsys.readouterr().err
    assert not Path("saved").exists()


def test_options_and_job_files_of_a_plan() -> None:
    plan = suite_of(str(EXAMPLES / "plan.toml")).plan(REQUEST)
    jobs = [workload.parse(step.job_file, source=step.id).jobs for step in plan.steps]
    assert [[(job.name, job.numjobs, job.iodepth) for job in step_jobs] for step_jobs in jobs] == [
        [("load", 1, 1)],
        [("load", 1, 16)],
        [("load", 4, 4)],
        [("load", 1, 32)],
    ]
    assert {job.filenames for step_jobs in jobs for job in step_jobs} == {("/dev/nvme0n1",)}
    assert jobs[-1][0].runtime_ns == 3 * 10**9
    assert plan.steps[0].label == "one"
    assert plan.axis.unit == "in flight"


def test_a_job_file_that_names_another_target_is_refused() -> None:
    written("other.fio", "[load]\nfilename=/dev/sda\nrw=randread\n")
    suite = suite_of(written("plan.toml", 'name = "few"\n[[step]]\nat = 1\njob_file = "other.fio"\n'))
    with pytest.raises(IogaugeError, match="names /dev/sda, but steps run on the review's target"):
        suite.plan(REQUEST)


def test_a_job_file_is_read_once_and_gets_the_review_s_size() -> None:
    written("mine.fio", "[load]\nrw=randread\nruntime=1\ntime_based\n")
    suite = suite_of(written("plan.toml", 'name = "few"\n[[step]]\nat = 1\njob_file = "mine.fio"\n'))
    Path("mine.fio").unlink()
    file = builders.target("/tmp/x.bin", kind="file")
    (step,) = suite.plan(SuiteRequest(targets=(file,), pace="quick", size_bytes=1 << 20)).steps
    (job,) = workload.parse(step.job_file, source="x").jobs
    assert job.filenames == ("/tmp/x.bin",)
    assert job.size is not None
    assert job.size.size_bytes == 1 << 20


def test_a_plan_s_targets_are_used_if_the_command_names_none(capsys: pytest.CaptureFixture[str]) -> None:
    plan = written("few.toml", 'targets = ["model:p3700"]\n' + PLAN)
    assert main(["review", "--plan", plan, "--runtime=60ms", "--output=r", "--json"]) == 0
    assert shown(capsys)["targets"] == ["model:p3700"]
    assert review("--plan", plan) == 0
    assert shown(capsys)["targets"] == ["model:p4800x"]
    bare = written("bare.toml", PLAN)
    assert main(["review", "--plan", bare]) == 2
    assert "name a TARGET" in capsys.readouterr().err


def test_two_suites_with_one_name_are_refused(capsys: pytest.CaptureFixture[str]) -> None:
    shutil.copy(written("one.toml", PLAN), "two.toml")
    assert review("--plan", "one.toml", "--plan", "two.toml") == 2
    assert "two suites are named 'few'" in capsys.readouterr().err


@pytest.mark.parametrize(
    "arguments", [("--suite", "examples/own_suite.py"), ("--plan", "examples/plan.toml")]
)
def test_the_examples_run(arguments: tuple[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    option, path = arguments
    assert review(option, str(EXAMPLES.parent / path)) == 0
    plan = shown(capsys)
    assert len(plan["steps"]) in (4, 5)
    assert all(step["ios"] for step in plan["steps"])
    text = (EXAMPLES.parent / path).read_text()
    assert f"iogauge review model:p4800x {option} {path}" in text
    assert path.removeprefix("examples/") in (EXAMPLES / "README.md").read_text()


def test_the_example_imports_only_the_package_of_suites() -> None:
    tree = ast.parse((EXAMPLES / "own_suite.py").read_text())
    modules = {node.module for node in ast.walk(tree) if isinstance(node, ast.ImportFrom)}
    assert modules == {"__future__", "iogauge.suites"}
