"""The options that ``iogauge review`` and ``iogauge plan`` share, declared once."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from dataclasses import dataclass, fields
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, Any, get_type_hints

import typer

from iogauge.cli.terminal.shared_options import Runtime, Seed, Size

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


class PurgeBy(StrEnum):
    """``--purge-by``."""

    DISCARD = "discard"
    FORMAT = "format"
    SANITIZE = "sanitize"


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
    purge_by: Annotated[
        PurgeBy | None,
        typer.Option(
            "--purge-by",
            help="How to purge. format, sanitize: the NVMe drive erases itself; --destroy must give its serial "
            "number.  [default: discard]",
        ),
    ] = None
    drive_samples: Annotated[
        bool | None,
        typer.Option(
            "--drive-samples/--no-drive-samples",
            help="Read the drives' temperature, throttling and errors each second.  [default: --drive-samples]",
            show_default=False,
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
    size: Size = None
    runtime: Runtime = None
    seed: Seed = None
    use: Annotated[
        list[str] | None,
        typer.Option(
            "--for",
            metavar="PROFILE",
            help="Run only what this profile needs, such as wal or your own TOML file, and judge by it; repeatable.",
        ),
    ] = None
    meter: Annotated[
        str | None,
        typer.Option(
            "--meter",
            metavar="COMMAND",
            help="A shell command that prints watts, a number on each line, for the suite idle-power.",
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
            "purge_by": "discard" if self.purge_by is None else self.purge_by.value,
            "drive_samples": True if self.drive_samples is None else self.drive_samples,
            "repeats": self.repeats or 1,
            "until_supported": self.until_supported,
            "size": self.size,
            "runtime": self.runtime,
            "seed": self.seed,
            "meter": self.meter,
            "use": self.use,
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
