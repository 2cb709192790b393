"""Completion by the Tab key: what the shells' scripts ask, and the values that options and arguments can have.

Typer has the scripts and the protocol. A script calls ``iogauge`` with ``VARIABLE`` set, and gets a value in each line.
Bash divides words at colons, so its words are divided again here, and the part before the colon is left out of the
answer.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

VARIABLE = "_IOGAUGE_COMPLETE"
SHELLS = ("bash", "zsh", "fish")
BASH = """\
_iogauge_completion() {
    local IFS=$'\\n' line="${COMP_LINE:0:COMP_POINT}"
    COMPREPLY=( $( COMP_WORDS="$line" _IOGAUGE_COMPLETE=complete_bash "$1" 2>/dev/null ) )
}
complete -o default -F _iogauge_completion iogauge
"""
"""Typer's script passes the words, which bash has divided at colons; this one passes the line."""


def script(shell: str) -> str:
    """Return the script that makes a shell complete the commands of iogauge; ``shell`` is one of ``SHELLS``."""
    from typer._completion_shared import get_completion_script

    if shell == "bash":
        return BASH
    return f"{get_completion_script(prog_name='iogauge', complete_var=VARIABLE, shell=shell)}\n"


def answer(group: Any, question: str) -> int:
    """Print what a shell's script asks for, a value in each line, and return the exit status."""
    from typer._click.shell_completion import CompletionItem, add_completion_class, split_arg_string
    from typer._completion_classes import BashComplete, completion_init
    from typer.completion import shell_complete

    class Bash(BashComplete):
        """Takes the line instead of bash's words, and leaves out of its answer what stands before a colon."""

        def get_completion_args(self) -> tuple[list[str], str]:
            line = os.environ["COMP_WORDS"]
            words = split_arg_string(line)[1:]
            return (words, "") if line[-1:].isspace() or not words else (words[:-1], words[-1])

        def format_completion(self, item: CompletionItem) -> str:
            before, colon, _ = self.get_completion_args()[1].rpartition(":")
            return str(item.value).removeprefix(before + colon)

    completion_init()
    add_completion_class(Bash, "bash")
    return shell_complete(group, {}, "iogauge", VARIABLE, question)


def add_values(params: Sequence[Any]) -> None:
    """Let parameters of a command complete the values of their kind."""
    for param in params:
        known = _VALUES.get(param.opts[0], _VALUES.get(param.metavar or ""))
        if known is not None:
            param._custom_shell_complete = _completing(known)


def _completing(known: Callable[[], Iterable[str]]) -> Callable[[Any, Any, str], list[Any]]:
    from typer._click.shell_completion import CompletionItem

    return lambda _context, _param, begin: [
        CompletionItem(value) for value in known() if value.startswith(begin)
    ]


def _models() -> Iterable[str]:
    from iogauge import catalog

    return catalog.shipped("drive")


def _targets() -> Iterable[str]:
    return (f"model:{name}" for name in _models())


def _suites() -> Iterable[str]:
    from iogauge.suites import SUITES

    return SUITES


def _uses() -> Iterable[str]:
    from iogauge.catalog.profiles import profile_names

    return profile_names()


def _tunings() -> Iterable[str]:
    from iogauge.machine.tuning.profile import profile_names

    return profile_names()


_VALUES: dict[str, Callable[[], Iterable[str]]] = {
    "TARGET": _targets,
    "[TARGET]": _targets,
    "[TARGET...]": _targets,
    "--suite": _suites,
    "--for": _uses,
    "--profile": _tunings,
    "name": _models,
}
"""By option, by the argument's metavar, or by its name."""
