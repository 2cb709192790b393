"""Load your own suite from a Python file.

Loading runs the file, as ``python FILE`` would: its code may do all that the user may do. The file defines exactly one
subclass of ``Suite``. Its name must differ from the names of built-in suites. If one of its methods raises, the error
names the file and the line.

This module checks only that a plan has steps; a review checks the steps of every suite when it starts. Source: Python's
importlib.
"""

from __future__ import annotations

import functools
import importlib.util
import inspect
import re
import traceback
from collections.abc import Callable, Collection
from pathlib import Path
from typing import ParamSpec, TypeVar

from iogauge.errors import IogaugeError
from iogauge.schema import SuitePlan
from iogauge.suites.suite import Suite, SuiteRequest

P = ParamSpec("P")
R = TypeVar("R")

_NAME = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
_NEEDED = ("NAME", "TITLE", "SOURCE", "AXIS", "MEASURED_JOB")


def load(path: Path, *, taken: Collection[str]) -> Suite:
    """Run a Python file and return an instance of the suite that it defines. ``taken``: names of other suites.

    Raises IogaugeError: there is no such file, its code fails, or it does not define exactly one complete suite.
    """
    path = path.absolute()
    if not path.is_file():
        raise IogaugeError(
            f"{path}: no such file", hint="give the path of a Python file that defines a suite"
        )
    spec = importlib.util.spec_from_file_location(f"iogauge_suite_{path.stem}", path)
    if spec is None or spec.loader is None:
        raise IogaugeError(f"{path}: not a Python file", hint="its name ends with .py")
    module = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise IogaugeError(
            f"{path}: its code failed: {type(error).__name__}: {error}", hint=f"try it alone: python {path}"
        ) from error
    suites = [
        value
        for value in vars(module).values()
        if inspect.isclass(value) and issubclass(value, Suite) and value.__module__ == module.__name__
    ]
    if len(suites) != 1:
        named = ", ".join(suite.__name__ for suite in suites) or "none"
        raise IogaugeError(
            f"{path}: defines {len(suites)} suites ({named}), not one",
            hint="define exactly one subclass of iogauge.suites.Suite in a file",
        )
    return _instance(suites[0], path, taken=taken)


def checked_name(name: str, path: Path, *, taken: Collection[str]) -> str:
    """Return a suite's name if it is valid.

    Raises IogaugeError: the name cannot be part of a step's name, or another suite has it.
    """
    if not _NAME.fullmatch(name):
        raise IogaugeError(
            f"{path}: {name!r} cannot name a suite",
            hint="use lower-case letters and digits, joined by hyphens",
        )
    if name in taken:
        raise IogaugeError(f"{path}: {name!r} is a built-in suite", hint="choose another name")
    return name


def _instance(suite_class: type[Suite], path: Path, *, taken: Collection[str]) -> Suite:
    """Return an instance of a complete suite whose methods report errors with the file's lines."""
    missing = [name for name in _NEEDED if not hasattr(suite_class, name)]
    if missing or inspect.isabstract(suite_class):
        lacks = ", ".join(missing or sorted(suite_class.__abstractmethods__))
        raise IogaugeError(
            f"{path}: {suite_class.__name__} lacks {lacks}", hint="examples/own_suite.py has all of them"
        )
    checked_name(suite_class.NAME, path, taken=taken)
    try:
        suite = suite_class()
    except Exception as error:
        raise IogaugeError(
            f"{path}: {suite_class.__name__}() failed: {type(error).__name__}: {error}",
            hint="let __init__ take no arguments",
        ) from error
    suite.origin = str(path)
    # Wrapped on the instance, so that super() in the suite's methods reaches the original methods.
    for name in ("plan", "refine", "more", "conclude", "findings", "published"):
        method = getattr(suite, name)
        setattr(suite, name, _with_lines(_with_steps(method, path) if name == "plan" else method, path))
    return suite


def _with_lines(method: Callable[P, R], path: Path) -> Callable[P, R]:
    """Wrap a method so that an exception from the suite's file becomes an IogaugeError with file and line."""

    @functools.wraps(method)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> R:
        try:
            return method(*args, **kwargs)
        except IogaugeError:
            raise
        except Exception as error:
            lines = [
                frame.lineno
                for frame in traceback.extract_tb(error.__traceback__)
                if frame.filename == str(path)
            ]
            if not lines:
                raise  # The suite inherits the method, so the error is iogauge's.
            raise IogaugeError(
                f"{path}:{lines[-1]}: {method.__name__}: {type(error).__name__}: {error}",
                hint="correct the suite",
            ) from error

    return wrapped


def _with_steps(plan: Callable[[SuiteRequest], SuitePlan], path: Path) -> Callable[[SuiteRequest], SuitePlan]:
    """Wrap a suite's ``plan`` so that it raises an IogaugeError if it returns no SuitePlan, or one without steps."""

    @functools.wraps(plan)
    def wrapped(request: SuiteRequest) -> SuitePlan:
        planned: object = plan(request)
        if not isinstance(planned, SuitePlan):
            raise IogaugeError(
                f"{path}: plan: returns {type(planned).__name__}, not a SuitePlan", hint="correct the suite"
            )
        if not planned.steps and planned.search is None:
            raise IogaugeError(f"{path}: plan: it has no steps", hint="plan at least one step, or a search")
        return planned

    return wrapped
