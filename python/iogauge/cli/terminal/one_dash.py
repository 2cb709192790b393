"""Options behind one dash, which fio takes as it takes those behind two: ``-bs=4k``.

Source: getopt_long_only(3), by which fio reads its command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

_LONG_NAME = re.compile(r"-[A-Za-z_][A-Za-z0-9_-]+(=|$)")


def two_dashes(arguments: Sequence[str], own: Mapping[str, bool]) -> Iterator[str]:
    """Yield the arguments, options behind two dashes; values, and what follows ``--``, stay as they are.

    ``own``: the command's options, and whether each needs a value. As in fio, one of theirs of a single letter may have
    its value behind it, unless an option is called so.

    >>> " ".join(two_dashes(["-bs=4k", "-oresult", "-o", "-bs", "--", "-bs"], {"-o": True}))
    '--bs=4k -oresult -o -bs -- -- -bs'
    """
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            yield from (
                "--",
                "--",
                *rest,
            )  # of which the parser keeps one, for those who tell fio's options from files
            return
        option = f"-{argument}" if _LONG_NAME.match(argument) and not _is_short(argument, own) else argument
        yield option
        if _needs_next(option, own):
            yield from islice(rest, 1)


def _is_short(argument: str, own: Mapping[str, bool]) -> bool:
    """Whether an argument is an option of a single letter, with its value."""
    from iogauge.workload import BY_NAME
    from iogauge.workload.options import known

    name = argument.removeprefix("-").partition("=")[0]
    return (
        argument[:2] in own and f"--{name}" not in own and name not in {*BY_NAME, *known.ALL, *known.COMMANDS}
    )


def _needs_next(option: str, own: Mapping[str, bool]) -> bool:
    """Whether the next argument is an option's value."""
    if not option.startswith("-") or "=" in option:
        return False
    if option in own:
        return own[option]
    from iogauge.workload import BY_NAME

    fios = BY_NAME.get(option.removeprefix("--"))
    return fios is not None and fios.kind.bare is None
