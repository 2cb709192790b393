"""Find and call the command that a command line names, and turn errors into text and an exit status.

A command is the function of the same name in its own file. In Python a dash is an underscore, and a name that Python
has already gets an underscore at its end: ``iogauge model list`` is ``list_`` in ``model/list_.py``. The file is
imported when the command is called, so that ``iogauge --help`` does not wait for numpy. A module with a table
``COMMANDS`` is a group of commands. ``call`` is the only place where errors become text; no user sees a traceback.
"""

from __future__ import annotations

import builtins
import contextlib
import errno
import importlib
import inspect
import keyword
import os
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any

import typer
from typer.core import TyperArgument, TyperCommand, TyperGroup
from typer.main import get_command, get_group

from iogauge.cli import COMMANDS, FOLDERS, GROUPS
from iogauge.cli.terminal import completing, leftover, one_dash, process, status, streams
from iogauge.errors import IogaugeError
from iogauge.text import invalid
from iogauge.text.option import command_line

PLAIN: dict[str, Any] = {
    "add_completion": False,
    "rich_markup_mode": None,
    "pretty_exceptions_enable": False,
    "context_settings": {"help_option_names": ["-h", "--help"], "max_content_width": 100},
}
"""Help is plain text: loading the library that colours it takes longer than everything else."""


class WholeExamples:
    """Help whose examples keep their lines: a command that is broken anywhere cannot be copied."""

    help: str | None

    def format_help_text(self, _ctx: Any, formatter: Any) -> None:
        """Write the text; an indented paragraph is an example."""
        paragraphs = inspect.cleandoc(self.help or "").split("\n\n")
        with formatter.indentation():
            for text in paragraphs:
                formatter.write_paragraph()
                formatter.write_text(f"\b\n{text}" if text.startswith("    ") else text)


class Commands(WholeExamples, TyperGroup):
    """A group: shows its commands from a table, and imports the one that is called. Alone, it prints its help."""

    words: tuple[str, ...] = ()
    """The words of the command line that name this group."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. Without any, show the help; ``help COMMAND`` is ``COMMAND --help``."""
        if args[:1] == ["help"]:
            args = [*args[1:], "--help"]
        return super().parse_args(ctx, args or ["--help"])

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Import the command that is named first; return it and its arguments."""
        name, named, rest = super().resolve_command(ctx, args)
        return name, load(*self.words, name) if name else named, rest


class Command(WholeExamples, TyperCommand):
    """A command that adds itself to its usage errors: the parser omits it from some."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what follows the command's name in its usage line."""
        arguments = (param for param in self.get_params(ctx) if param.param_type_name == "argument")
        return [
            "[OPTIONS]",
            *(param.metavar or "" for param in arguments),
            *(["[-- COMMAND...]"] if ctx.allow_extra_args else []),
        ]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the arguments. If the command takes fio's options, they may begin with one dash, as in fio.

        If it runs another program (``allow_extra_args``), that follows ``--`` and is left in the context.
        """
        if ctx.ignore_unknown_options:
            options = [param for param in self.get_params(ctx) if param.param_type_name == "option"]
            own = {name: not getattr(param, "is_flag", False) for param in options for name in param.opts}
            args = list(one_dash.two_dashes(args, own))
        program: list[str] = []
        if ctx.allow_extra_args and "--" in args:
            args, program = args[: args.index("--")], args[args.index("--") + 1 :]
        try:
            super().parse_args(ctx, args)
            if ctx.allow_extra_args and ctx.args:
                ctx.fail(f"unexpected argument {ctx.args[0]!r}: write a command to run after --")
            ctx.args = program or ctx.args
            return program or list(ctx.args)
        except typer.TyperException as error:
            if getattr(error, "ctx", None) is None:
                error.ctx = ctx  # type: ignore[attr-defined]
            raise


def load(*words: str) -> Any:
    """Import the command that ``words`` name: ``model list`` from ``iogauge.cli.model.list_``.

    Its help is the module's docstring without the first paragraph, its settings are the module's ``CONTEXT``.
    """
    folders = [FOLDERS[words[0]]] if words[0] in FOLDERS else []
    *groups, name = (word.replace("-", "_") for word in (*folders, *words))
    if keyword.iskeyword(name) or hasattr(builtins, name):
        name += "_"
    module = importlib.import_module(".".join(["iogauge.cli", *groups, name]))
    text = (module.__doc__ or "").partition("\n\n")[2]
    if table := getattr(module, "COMMANDS", None):
        return _group(table, lambda: None, text=text, words=words)
    app = typer.Typer(**PLAIN)
    context = PLAIN["context_settings"] | getattr(module, "CONTEXT", {})
    app.command(words[-1], cls=Command, help=text, context_settings=context)(getattr(module, name))
    command = get_command(app)
    for param in command.params:
        if isinstance(param, TyperArgument):
            param.display_type_rich = _no_type  # type: ignore[assignment, method-assign]
    completing.add_values(command.params)
    return command


def every_command() -> dict[tuple[str, ...], str]:
    """Return what each command is for, by its words; a group stands before its commands."""
    commands: dict[tuple[str, ...], str] = {}
    for name, text in COMMANDS.items():
        commands[name,] = text
        if name in GROUPS:
            table = importlib.import_module(f"iogauge.cli.{name}").COMMANDS
            commands |= {(name, subcommand): about for subcommand, about in table.items()}
    return commands


def _no_type(**_: object) -> str:
    """Return what help shows behind the name of an argument: its Python type would tell a user nothing."""
    return ""


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
    """Measures how a storage drive responds under load, and says how sure it is.

    'iogauge help COMMAND' explains a command.
    """


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
        # A placeholder with the help text; Commands imports the command itself.
        app.command(name, help=help_text)(lambda: None)
    group: Any = get_group(app)
    group.words = words
    return group


def call(arguments: Sequence[str]) -> int:
    """Run the command that ``arguments`` name, and return its exit status."""
    try:
        group = _group(COMMANDS, _root)
        if question := os.environ.get(completing.VARIABLE):
            return completing.answer(group, question)
        leftover.undo()
        with command_line(), group.make_context("iogauge", list(arguments)) as context:
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
    except BaseException as error:  # A panic of the Rust core is not an Exception.
        streams.say(_unexpected(error).render())
        return status.ERROR
    return status.OK


def _usage(error: typer.TyperException) -> IogaugeError:
    from pydantic import ValidationError  # typer validates with it

    context = getattr(error, "ctx", None)
    command = context.command_path if context else "iogauge"
    message = error.format_message().rstrip(".").replace("Value error, ", "")
    param = getattr(error, "param", None) or _param(context, getattr(error, "option_name", None))
    if isinstance(cause := error.__cause__, ValidationError):
        message = f"invalid value for '{param.opts[0]}': {invalid.reason(cause.errors()[0])}"
    hint = f"see '{command} --help'" if param is None else _description(param)
    if unknown := re.match(r"(?P<what>no such option: \S+).*?(?P<near>--[\w-]+)", message, re.IGNORECASE):
        message, hint = unknown["what"], f"did you mean {unknown['near']}? see '{command} --help'"
    if extra := re.fullmatch(r"got unexpected extra arguments?\(?s?\)? \((.*)\)", message, re.IGNORECASE):
        message = f"unexpected argument '{extra[1]}'"
    return status.UsageError(message[:1].lower() + message[1:], hint=hint)


def _param(context: Any, name: str | None) -> Any:
    """Return the option of this name; None if the command has no such option."""
    params = context.command.get_params(context) if context and name else ()
    return next((param for param in params if name in param.opts), None)


def _description(param: Any) -> str:
    """Return how an option or an argument is written, its range, and what it means."""
    least, most = getattr(param, "min", None), getattr(param, "max", None)
    span = "" if least is None else f"({least} or more)" if most is None else f"({least} to {most})"
    word = param.opts[0] if param.param_type_name == "option" else ""
    name = param.metavar or ("" if word else param.name.upper())
    meaning = (param.help or "").partition("  [default: ")[0].rstrip(".")
    return f"{' '.join(filter(None, [word, name, span]))}: {meaning}"


def _unexpected(error: BaseException) -> IogaugeError:
    """Return the error for an exception that no command handles. A full disk or no memory is not a defect."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG):
        streams.drop_stdout()
        place = error.filename or "writing"
        return IogaugeError(f"{place}: {error.strerror}", hint="free some space, or write to another place")
    if isinstance(error, MemoryError):
        return IogaugeError("no memory left", hint="raise the limit (ulimit -v), or free some memory")
    return _defect(error)


def _defect(error: BaseException) -> IogaugeError:
    """Save the traceback of a defect in a file, or show it if IOGAUGE_TRACEBACK is set."""
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
