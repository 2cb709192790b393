"""From the words of a command line to a command, and from what goes wrong to text and an exit status.

A command is a function of its own file, named like it (with an underscore behind it where Python has the word itself),
and is imported when it is called: ``iogauge --help`` must not wait for numpy. A file with ``COMMANDS`` of its own is a
group: ``iogauge model list`` is the function ``list_`` of ``model/list_.py``. ``call`` is the one place where
errors become text: no user meets a traceback.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import importlib
import keyword
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup
from typer.main import get_command, get_group

from iogauge.cli import COMMANDS
from iogauge.cli.terminal import one_dash, process, status, streams
from iogauge.errors import IogaugeError

PLAIN: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100},
}
"""Help in plain text: loading what would colour it takes longer than all the rest."""


class Commands(TyperGroup):
    """Shows commands by a table as the one above, and imports the one that is called. Without one it shows its help."""

    words: tuple[str, ...] = ()
    """What leads to this group."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the arguments, of which there may be none."""
        return super().parse_args(ctx, args or ["--help"])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the command named first, imported, and what is left for it."""
        name, named, rest = super().resolve_command(ctx, args)
        return name, load(*self.words, name) if name else named, rest


class Command(TyperCommand):
    """A command whose errors of usage know which one they are of: those of an option without its value do not."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Take the arguments. Where options of fio's are among them, one dash does for two, as in fio."""
        if ctx.ignore_unknown_options:
            options = [param for param in self.get_params(ctx) if param.param_type_name == "option"]
            own = {name: not getattr(param, "is_flag", False) for param in options for name in param.opts}
            args = list(one_dash.two_dashes(args, own))
        try:
            return super().parse_args(ctx, args)
        except typer.TyperException as error:
            if getattr(error, "ctx", None) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise


def load(*words: str) -> Any:
    """Import the command that ``words`` name, for ``model list`` from ``iogauge.cli.model.list_``.

    It is the function of the module's name, set up by the module's ``CONTEXT``; or a group, where the module has a
    table ``COMMANDS``. Its help is the module's docstring without the first paragraph.
    """
    *groups, name = words
    if keyword.iskeyword(name) or hasattr(builtins, name):
        name += "_"
    module = importlib.import_module(".".join(["iogauge.cli", *groups, name]))
    text = (module.__doc__ or "").partition("\n\n")[2]
    if table := getattr(module, "COMMANDS", None):
        return _group(table, lambda: None, text=text, words=words)
    app = typer.Typer(**PLAIN)
    context = PLAIN["context_settings"] | getattr(module, "CONTEXT", {})
    app.command(words[-1], cls=Command, help=text, context_settings=context)(getattr(module, name))
    return get_command(app)


def _version(wanted: bool) -> None:
    if wanted:
        from iogauge import __version__

        print(f"iogauge {__version__}")
        raise typer.Exit


def _root(
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and exit.", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Measures how a storage drive responds under load, and says how sure it is."""


def _group(
    table: Mapping[str, str],
    callback: Callable[..., None],
    *,
    text: str | None = None,
    words: tuple[str, ...] = (),
) -> Any:
    app = typer.Typer(cls=Commands, **PLAIN)
    app.callback(help=text)(callback)
    for name, help_text in table.items():
        # A stand-in that only carries the help text; see Commands.
        app.command(name, help=help_text)(lambda: None)
    group: Any = get_group(app)
    group.words = words
    return group


def call(arguments: Sequence[str]) -> int:
    """Run the command that ``arguments`` ask for, and return its exit status."""
    try:
        group = _group(COMMANDS, _root)
        with group.make_context("iogauge", list(arguments)) as context:
            group.invoke(context)
        sys.stdout.flush()
    except typer.Exit as stop:
        return stop.exit_code
    except BrokenPipeError:
        streams.drop_stdout()
        return status.BROKEN_PIPE
    except (KeyboardInterrupt, typer.Abort):
        return process.interrupted()
    except IogaugeError as error:
        streams.say(error.render())
        return status.USAGE if isinstance(error, status.UsageError) else status.ERROR
    except typer.TyperException as error:
        streams.say(_usage(error).render())
        return status.USAGE
    except (SystemExit, GeneratorExit):
        raise
    except BaseException as error:  # a panic of the Rust core is no Exception
        streams.say(_unexpected(error).render())
        return status.ERROR
    return status.OK


def _usage(error: typer.TyperException) -> IogaugeError:
    context = getattr(error, "ctx", None)
    command = context.command_path if context else "iogauge"
    message = error.format_message().rstrip(".").replace("Value error, ", "")
    return status.UsageError(message[:1].lower() + message[1:], hint=f"see '{command} --help'")


def _unexpected(error: BaseException) -> IogaugeError:
    """Say what no command foresaw; a full disk is none the less no defect."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        streams.drop_stdout()
        place = error.filename or "writing"
        return IogaugeError(f"{place}: {error.strerror}", hint="free some space, or write to another place")
    if isinstance(error, MemoryError):
        return IogaugeError("no memory left", hint="raise the limit (ulimit -v), or free some memory")
    return _defect(error)


def _defect(error: BaseException) -> IogaugeError:
    """Save the traceback of what should not happen, or show it where IOGAUGE_TRACEBACK is set."""
    import tempfile
    import traceback

    text = "".join(traceback.format_exception(error))
    what = f"{type(error).__name__}: {error}".splitlines()[0]
    if os.environ.get("IOGAUGE_TRACEBACK", "") not in ("", "0"):
        streams.say(text)
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
