"""Load your own suite from a Python file, which runs that file.

Whoever names a Python file asks for its code to be run, as ``python FILE`` would; it runs with all that iogauge may do,
and as the user who started it. The file defines one subclass of ``Suite``, which is all that is taken of it. It
follows the same rules as those that iogauge brings, and its name is none of theirs. Where its methods raise, that is
said with their line: it is the suite that is to be mended.

Does not check what a suite plans, but that it plans something: beginning a review does, with every other's. Source:
Python's importlib.
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
_NEEDED = ("NAME", "TITLE", "SOURCE", "AXIS", "READER")


def load(path: Path, *, taken: Collection[str]) -> Suite:
    """Run a Python file and return an instance of the suite that it defines. ``taken``: names of other suites.

    Raises IogaugeError: there is no such file, its code fails, or it does not define one whole suite.
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
            f"{path}: defines {len(suites)} suites ({named}), and one is taken",
            hint="define one subclass of iogauge.suites.Suite in a file",
        )
    return _whole(suites[0], path, taken=taken)


def checked_name(name: str, path: Path, *, taken: Collection[str]) -> str:
    """Return a suite's name where it may be one.

    Raises IogaugeError: it cannot be part of a step's name, or another suite has it.
    """
    if not _NAME.fullmatch(name):
        raise IogaugeError(
            f"{path}: {name!r} cannot name a suite",
            hint="use lower-case letters and digits, joined by hyphens",
        )
    if name in taken:
        raise IogaugeError(f"{path}: iogauge has a suite {name!r} of its own", hint="choose another name")
    return name


def _whole(made_of: type[Suite], path: Path, *, taken: Collection[str]) -> Suite:
    missing = [name for name in _NEEDED if not hasattr(made_of, name)]
    if missing or inspect.isabstract(made_of):
        lacks = ", ".join(missing or sorted(made_of.__abstractmethods__))
        raise IogaugeError(
            f"{path}: {made_of.__name__} lacks {lacks}", hint="examples/suite_of_ones_own.py has all of them"
        )
    checked_name(made_of.NAME, path, taken=taken)
    try:
        suite = made_of()
    except Exception as error:
        raise IogaugeError(
            f"{path}: {made_of.__name__}() failed: {type(error).__name__}: {error}",
            hint="a suite is made without arguments",
        ) from error
    suite.origin = str(path)
    # On the instance, so that what the suite's methods call on their parents stays as it is.
    for name in ("plan", "refine", "more", "conclude", "findings", "published"):
        method = getattr(suite, name)
        setattr(suite, name, _explained(_planning(method, path) if name == "plan" else method, path))
    return suite


def _explained(method: Callable[P, R], path: Path) -> Callable[P, R]:
    """Return a method whose errors are said to be the suite's, where they come from a line of its file."""

    @functools.wraps(method)
    def called(*args: P.args, **kwargs: P.kwargs) -> R:
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
                raise  # A method that the suite inherits: the error is not its own.
            raise IogaugeError(
                f"{path}:{lines[-1]}: {method.__name__}: {type(error).__name__}: {error}",
                hint="mend the suite",
            ) from error

    return called


def _planning(plan: Callable[[SuiteRequest], SuitePlan], path: Path) -> Callable[[SuiteRequest], SuitePlan]:
    """Return a suite's ``plan`` that refuses what is no plan, and one of nothing."""

    @functools.wraps(plan)
    def planned(request: SuiteRequest) -> SuitePlan:
        made: object = plan(request)
        if not isinstance(made, SuitePlan):
            raise IogaugeError(
                f"{path}: plan: gives {type(made).__name__}, not a SuitePlan", hint="mend the suite"
            )
        if not made.steps and made.search is None:
            raise IogaugeError(f"{path}: plan: it has no steps", hint="plan at least one step, or a search")
        return made

    return planned
