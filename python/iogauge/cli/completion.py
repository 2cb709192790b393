"""``iogauge completion``: make a shell complete commands, options and values by the Tab key.

Print the script that makes a shell complete the commands of iogauge, their options, and values such as suites, drive
models and profiles. SHELL is bash, zsh or fish.

For bash, put the first line into ~/.bashrc; for zsh, the second into ~/.zshrc, behind compinit; for fish, run the third
once.

    eval "$(iogauge completion bash)"

    eval "$(iogauge completion zsh)"

    iogauge completion fish > ~/.config/fish/completions/iogauge.fish
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from iogauge.cli.terminal import completing, streams


class Shell(StrEnum):
    """A shell that can complete."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="bash, zsh or fish.", show_default=False)],
) -> None:
    """Print the script of a shell."""
    streams.show(completing.script(shell.value))
