"""What all functions of the library share: types of arguments are checked, and Ctrl-C is ``Interrupted``."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import iogauge
from iogauge.cli import main
from iogauge.library.argument_types import _parameters

FUNCTIONS = [name for name in iogauge.__all__ if inspect.isfunction(getattr(iogauge, name))]
JOB = "[r]\nrw=read\nbs=4k\nnumber_ios=8\n"


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("reviews") / "saved"
    iogauge.review("model:p4800x", suites="mixed", runtime="100ms", size="1g", seed=1, output=path)
    return path


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_function_checks_its_arguments(name: str) -> None:
    function = getattr(iogauge, name)
    assert function.__wrapped__.__name__ == name
    signature, annotations = _parameters(function.__wrapped__)
    assert len(annotations) >= len(signature.parameters) - (name == "follow")
    assert not any(isinstance(annotation, str) for annotation in annotations.values())
    assert pickle.loads(pickle.dumps(function)) is function, "another process can be given it"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: iogauge.run(b"[r]"), "jobs b'[r]': must be text, a path, a JobFile or a list of text"),
        (lambda: iogauge.run(JOB, target=["model:ram"]), "target ['model:ram']: must be text or a path"),
        (lambda: iogauge.run(JOB, seed=True), "seed True: must be a whole number"),
        (lambda: iogauge.run(JOB, readonly="no"), "readonly 'no': must be True or False"),
        (lambda: iogauge.run(JOB, log_overflow=3), "log_overflow 3: must be 'wait' or 'drop'"),
        (lambda: iogauge.run(JOB, interval=[1]), "interval [1]: must be a number or text"),
        (lambda: iogauge.run(JOB, on_progress="x"), "on_progress 'x': must be a function"),
        (lambda: iogauge.run(JOB, fail_if=[1]), "fail_if [1]: must be text or a list of text"),
        (lambda: iogauge.review(5), "targets 5: must be text, a path or a list of text or paths"),
        (lambda: iogauge.review("model:ram", repeats="3"), "repeats '3': must be a whole number"),
        (lambda: iogauge.plan("model:ram", pace=1), "pace 1: must be 'quick' or 'standard' or 'full'"),
        (lambda: iogauge.compare("a", 1), "reviews 1: must be text, a path or a list of text or paths"),
        (lambda: iogauge.open_review(None), "directory None: must be text or a path"),
        (lambda: iogauge.options(1), "words 1: must be text"),
        (lambda: iogauge.write_report("a", margin=None), "margin None: must be a number or text"),
        (lambda: iogauge.compare_models(state=1), "state 1: must be "),
        (lambda: iogauge.serve_model("ram", dilate="1"), "dilate '1': must be a whole number"),
        (lambda: iogauge.follow("run"), "function 'run': must be a function"),
    ],
)
def test_a_wrong_type_is_a_usage_error(call: Callable[[], Any], message: str) -> None:
    with pytest.raises(iogauge.UsageError) as caught:
        call()
    assert str(caught.value).startswith(message)
    assert caught.value.hint
    assert "describes the argument" in caught.value.hint


def test_numbers_of_numpy_and_any_iterable_are_accepted(saved: Path) -> None:
    assert iogauge.run(JOB, target="model:ram", interval=np.float32(1), section=(n for n in ("r",)))["r"]
    assert iogauge.open_review(saved, suites={"mixed"})
    assert iogauge.plan(("model:ram",), suites=["mixed"], size=np.int64(1 << 30), runtime=1)


def test_python_reports_missing_and_unknown_arguments() -> None:
    with pytest.raises(TypeError, match="missing 1 required"):
        iogauge.open_review()  # type: ignore[call-arg]
    with pytest.raises(TypeError, match="unexpected keyword argument 'targt'"):
        iogauge.run(JOB, targt="x")  # type: ignore[call-arg]


def test_ctrl_c_is_interrupted_in_every_long_function(saved: Path, tmp_path: Path) -> None:
    def press(_: object) -> None:
        raise KeyboardInterrupt

    calls: dict[str, Callable[[], Any]] = {
        "write_report": lambda: iogauge.write_report(saved, tmp_path / "r.html", on_progress=press),
        "write_charts": lambda: iogauge.write_charts(saved, tmp_path / "charts", on_progress=press),
        "compare_models": lambda: iogauge.compare_models("optane-memory-32g", on_progress=press),
        "explain_model": lambda: iogauge.explain_model("ram", JOB, on_progress=press),
        "fit_twin": lambda: iogauge.fit_twin(saved, "p4800x", tmp_path / "x.toml", on_progress=press),
        "fit_published": lambda: iogauge.fit_published(tmp_path / "fit", on_progress=press),
    }
    for name, call in calls.items():
        with pytest.raises(iogauge.Interrupted, match=f"^Ctrl-C ended {name}$") as caught:
            call()
        assert caught.value.result is caught.value.path is None
    assert not (tmp_path / "r.html").exists()


def test_the_command_line_ends_as_before(saved: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def press(*_: object, **__: object) -> None:
        raise iogauge.Interrupted("Ctrl-C")

    monkeypatch.setattr("iogauge.library.reading.report.read_report", press)
    assert main(["report", str(saved), "--format=md"]) == 130
