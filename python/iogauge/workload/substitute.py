"""``${NAME}`` from the environment, and fio's keywords ``$ncpus``, ``$pagesize`` and ``$mb_memory``.

Both are replaced in the lines of a job file, not on a command line, where the shell has done it. A value in which a
keyword stood may be arithmetic: ``size=8*$pagesize``. fio puts nothing where a variable is not set; here that is
an error, since ``/dev/${DISK}`` without the disk names something else.

Source: fio options.c (fio_option_dup_subs, fio_keyword_replace, bc_calc).
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from iogauge.workload.expression import evaluate
from iogauge.workload.problem import BadValue, shown

_VARIABLE = re.compile(r"\$\{([^}]*)\}")
_SUM = re.compile(r"[-+*/^%()\s0-9]*[-+*/][-+*/^%()\s0-9]*", re.ASCII)
_LONGEST = 8_192


def _page_size() -> int:
    return os.sysconf("SC_PAGE_SIZE")


def _memory_mib() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20


def _cpus() -> int:
    return os.sysconf("SC_NPROCESSORS_CONF")


KEYWORDS: dict[str, Callable[[], int]] = {"$pagesize": _page_size, "$mb_memory": _memory_mib, "$ncpus": _cpus}
"""What each keyword stands for."""


def substitute(line: str, environ: Mapping[str, str]) -> str:
    """Return a job file's line with variables and keywords replaced. Raises ``BadValue``.

    >>> substitute("filename=/dev/${DISK}", {"DISK": "sdx"})
    'filename=/dev/sdx'
    """
    if "$" not in line:
        return line
    line = _VARIABLE.sub(lambda match: _variable(match[1], environ), line)
    if len(line) > _LONGEST or "\n" in line or "\0" in line:
        raise BadValue("is not one line of text once its variables are replaced", hint="check the variables")
    replaced = line
    for keyword, value in KEYWORDS.items():
        if keyword in replaced:
            replaced = replaced.replace(keyword, str(value()))
    if replaced == line:
        return line
    name, equals, text = replaced.partition("=")
    if equals and _SUM.fullmatch(text):
        text = str(int(evaluate(text, {}, minus=True).value))
    return f"{name}{equals}{text}"


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        raise BadValue(
            f"the environment variable '{shown(name)}' is not set", hint=f"set it: {shown(name)}=… iogauge …"
        )
    return environ[name]
