"""The options that ``iogauge review`` and ``iogauge plan`` share, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

if TYPE_CHECKING:
    from iogauge.library.options import ReviewOptions as LibraryOptions


class Pace(StrEnum):
    """``--pace``."""

    QUICK = "quick"
    STANDARD = "standard"
    FULL = "full"


class State(StrEnum):
    """``--state``."""

    AS_IS = "as-is"
    FRESH = "fresh"
    FILLED = "filled"
    PRECONDITIONED = "preconditioned"


@dataclass(frozen=True)
class ReviewOptions:
    """The options of a review. None: the option is absent from the command line."""

    targets: Annotated[
        list[str] | None, typer.Argument(metavar="[TARGET...]", help="Block devices, files or model:NAME.")
    ] = None
    suite: Annotated[
        list[str] | None,
        typer.Option(
            "--suite",
            metavar="NAME",
            help="A suite ('iogauge plan' lists them), or a Python file with your own; the file is run. Repeatable.",
        ),
    ] = None
    plan: Annotated[
        list[str] | None,
        typer.Option("--plan", metavar="FILE", help="A TOML file with your own steps; repeatable."),
    ] = None
    pace: Annotated[
        Pace | None,
        typer.Option(
            "--pace",
            help="quick: seconds a step; standard: longer; full: as published.  [default: quick]",
        ),
    ] = None
    state: Annotated[
        State | None,
        typer.Option(
            "--state",
            help="Prepare targets first. fresh: purge; filled: purge, then write all in order; preconditioned: the "
            "same, then write at random until steady.  [default: as-is]",
        ),
    ] = None
    repeats: Annotated[
        int | None,
        typer.Option(
            "--repeats", metavar="NUMBER", help="Repeat the whole review this many times.", min=1, max=1000
        ),
    ] = None
    until_supported: Annotated[
        float | None,
        typer.Option(
            "--until-supported",
            metavar="QUANTILE",
            help="Lengthen steps, up to 20-fold, until they support this quantile, such as 0.99999.",
        ),
    ] = None
    size: Annotated[
        str | None,
        typer.Option("--size", metavar="BYTES", help="How much of the target to use, such as 4g."),
    ] = None
    runtime: Annotated[
        str | None, typer.Option("--runtime", metavar="TIME", help="Measured time of each step, such as 10s.")
    ] = None
    seed: Annotated[
        int | None,
        typer.Option(
            "--seed", metavar="NUMBER", help="Seed of all random choices: the same seed repeats them.", min=0
        ),
    ] = None

    @property
    def on_command_line(self) -> list[str]:
        """Names of the options on the command line."""
        return [field.name for field in fields(self) if getattr(self, field.name) not in (None, [])]

    @property
    def suites(self) -> list[str]:
        """Names of suites, and files with your own."""
        return [*(self.suite or ()), *(self.plan or ())]

    def for_library(self) -> LibraryOptions:
        """Return the options as the library takes them."""
        return {
            "suites": self.suites,
            "pace": "quick" if self.pace is None else self.pace.value,
            "state": "as-is" if self.state is None else self.state.value,
            "repeats": self.repeats or 1,
            "until_supported": self.until_supported,
            "size": self.size,
            "runtime": self.runtime,
            "seed": self.seed,
        }


def with_review_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the options of ``ReviewOptions`` to a command, which gets them as its first argument."""

    @functools.wraps(command)
    def wrapped(**values: Any) -> None:
        shared = {field.name: values.pop(field.name) for field in fields(ReviewOptions)}
        command(ReviewOptions(**shared), **values)

    shared = get_type_hints(ReviewOptions, include_extras=True)
    own = get_type_hints(command, include_extras=True)
    _, *parameters = inspect.signature(command).parameters.values()
    keyword = inspect.Parameter.KEYWORD_ONLY
    wrapped.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [
            *(
                inspect.Parameter(name, keyword, default=None, annotation=hint)
                for name, hint in shared.items()
            ),
            *(parameter.replace(kind=keyword, annotation=own[parameter.name]) for parameter in parameters),
        ]
    )
    wrapped.__annotations__ = {**shared, **own}
    return wrapped
