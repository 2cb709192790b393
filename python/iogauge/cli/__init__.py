"""The command line: ``iogauge run | review | report | options``. The only place that prints.

A command is a function of its own file, named like it, and is imported when it is called: ``iogauge --help`` must
not wait for numpy. ``main`` is the one place where errors become text: no user meets a traceback.

stdout is data; progress, warnings and errors go to stderr. Exit statuses are in ``status.py``.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
import tempfile
import traceback
from collections.abc import Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

from iogauge.cli import status
from iogauge.errors import IogaugeError

COMMANDS = {
    "run": "Run fio job files or fio's options; print what was measured.",
    "review": "Take a target through a published procedure, resumably.",
    "report": "Write one self-contained HTML report of reviews.",
    "options": "List the job options that are supported.",
}
PLAIN: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100},
}
"""Help in plain text: loading what would colour it takes longer than all the rest."""


class Commands(TyperGroup):
    """Shows the commands by the table above, and imports the one that is called."""

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command named first, imported, and what is left for it."""
        name, named, rest = super().resolve_command(ctx, args)
        return name, load(name) if name in COMMANDS else named, rest


def load(name: str) -> Any:
    """Import the command ``name``: the function ``name`` of ``iogauge.cli.name``, set up by its ``CONTEXT``.

    Its help is the module's docstring without the first paragraph.
    """
    module = importlib.import_module(f"iogauge.cli.{name}")
    app = typer.Typer(**PLAIN)
    context = PLAIN["context_settings"] | getattr(module, "CONTEXT", {})
    text = (module.__doc__ or "").partition("\n\n")[2]
    app.command(name, help=text, context_settings=context)(getattr(module, name))
    return get_command(app)


def _version(asked: bool) -> None:
    if asked:
        from iogauge import __version__

        print(f"iogauge {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Measures how a storage drive responds under load, and says how sure it is."""


def _group() -> Any:
    app = typer.Typer(cls=Commands, **PLAIN)
    app.callback()(_root)
    for name, text in COMMANDS.items():
        # A stand-in that only carries the help text; see Commands.
        app.command(name, help=text)(lambda: None)
    return get_group(app)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line (by default the process's own) and return its exit status."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        group = _group()
        with group.make_context("iogauge", given or ["--help"]) as context:
            group.invoke(context)
        sys.stdout.flush()
    except typer.Exit as stop:
        return stop.exit_code
    except BrokenPipeError:
        _drop_stdout()
        return status.BROKEN_PIPE
    except (KeyboardInterrupt, typer.Abort):
        print("interrupted", file=sys.stderr)
        return status.INTERRUPTED
    except IogaugeError as error:
        print(error.render(), file=sys.stderr)
        return status.USAGE if isinstance(error, status.UsageError) else status.ERROR
    except typer.TyperException as error:
        print(_usage(error).render(), file=sys.stderr)
        return status.USAGE
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of the Rust core is no Exception
        print(_unexpected(error).render(), file=sys.stderr)
        return status.ERROR
    return status.OK


def _usage(error: typer.TyperException) -> IogaugeError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "iogauge"
    message = error.format_message().rstrip(".")
    return status.UsageError(message[:1].lower() + message[1:], hint=f"see '{command} --help'")


def _unexpected(error: BaseException) -> IogaugeError:
    """Save the traceback of what should not happen, or show it where IOGAUGE_TRACEBACK is set."""
    text = "".join(traceback.format_exception(error))
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    if os.environ.get("IOGAUGE_TRACEBACK", "") not in ("", "0"):
        print(text, file=sys.stderr)
        return IogaugeError(f"unexpected {what}", hint="this is a defect of iogauge; please report it")
    with contextlib.suppress(OSError):
        with tempfile.NamedTemporaryFile(
            "w", prefix="iogauge-", suffix=".log", delete=False, encoding="utf-8"
        ) as log:
            log.write(text)
        return IogaugeError(
            f"unexpected {what}", hint=f"this is a defect of iogauge; please report it with {log.name}"
        )
    return IogaugeError(f"unexpected {what}", hint="set IOGAUGE_TRACEBACK=1 to see where")


def _drop_stdout() -> None:
    """Let nothing that is still buffered fail again when the interpreter flushes at its end."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
