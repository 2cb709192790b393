"""Commands that install iogauge on a host, for hints."""

from __future__ import annotations

import shlex

from iogauge import __version__

_WHEEL = f"iogauge-{__version__}-*.whl"


def install(python: str = "python3") -> str:
    """Return the command that installs the controller's version on a host, from its wheel in the current directory.

    >>> install().replace(__version__, "VERSION")
    'python3 -m pip install "$(echo ./iogauge-VERSION-*.whl)[fleet]"'
    """
    return f'{shlex.quote(python)} -m pip install "$(echo ./{_WHEEL})[fleet]"'


def copied(*, login: str, port: int | None = None) -> str:
    """Return the command that copies the wheel of the controller's version to the home of a host's user.

    >>> copied(login="bench@r1", port=22).replace(__version__, "VERSION")
    'scp -P 22 iogauge-VERSION-*.whl bench@r1:'
    """
    return f"scp {'' if port is None else f'-P {port} '}{_WHEEL} {login}:"
