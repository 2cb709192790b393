"""Options that begin with one dash, which fio accepts like those with two: ``-bs=4k``.

Source: getopt_long_only(3), by which fio reads its command line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

_LONG_NAME = re.compile(r"-[A-Za-z_][A-Za-z0-9_-]+(=|$)")


def two_dashes(arguments: Sequence[str], own: Mapping[str, bool]) -> Iterator[str]:
    """Yield the arguments, with options changed to two dashes. Values, and all arguments after ``--``, stay.

    ``own``: the command's options, and whether each needs a value. As in fio, a value may follow a one-letter option
    directly, unless an option has that name.

    >>> " ".join(two_dashes(["-bs=4k", "-oresult", "-o", "-bs", "--", "-bs"], {"-o": True}))
    '--bs=4k -oresult -o -bs -- -- -bs'
    """
    rest = iter(arguments)
    for argument in rest:
        if argument == "--":
            # The parser removes one of them; the other separates fio's options from files.
            yield from ("--", "--", *rest)
            return
        option = f"-{argument}" if _LONG_NAME.match(argument) and not _is_short(argument, own) else argument
        yield option
        if _needs_next(option, own):
            yield from islice(rest, 1)


def _is_short(argument: str, own: Mapping[str, bool]) -> bool:
    """Return whether an argument is a one-letter option followed by its value."""
    from iogauge.workload import BY_NAME
    from iogauge.workload.options import known

    name = argument.removeprefix("-").partition("=")[0]
    return (
        argument[:2] in own and f"--{name}" not in own and name not in {*BY_NAME, *known.ALL, *known.COMMANDS}
    )


def _needs_next(option: str, own: Mapping[str, bool]) -> bool:
    """Return whether the next argument is the value of ``option``."""
    if not option.startswith("-") or "=" in option:
        return False
    if option in own:
        return own[option]
    from iogauge.workload import BY_NAME

    fios = BY_NAME.get(option.removeprefix("--"))
    return fios is not None and fios.kind.bare is None
