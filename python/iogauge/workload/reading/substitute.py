"""Replaces ``${NAME}`` from the environment, and fio's keywords ``$ncpus``, ``$pagesize`` and ``$mb_memory``.

Both are replaced in the lines of a job file. On a command line the shell has replaced variables already. A value with a
keyword may be arithmetic: ``size=8*$pagesize``. fio replaces an unset variable with nothing; here it is an error, since
``/dev/${DISK}`` without the disk is another path.

Source: fio options.c (fio_option_dup_subs, fio_keyword_replace, bc_calc).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping

from iogauge.workload.expression import evaluate
from iogauge.workload.problem import BadValue, shown

_OPERATORS = frozenset("+-*/")
_ARITHMETIC = frozenset("0123456789+-*/^%() \t")
_LONGEST = 8_192


def _page_size() -> int:
    return os.sysconf("SC_PAGE_SIZE")


def _memory_mib() -> int:
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2**20


def _cpus() -> int:
    return os.sysconf("SC_NPROCESSORS_CONF")


KEYWORDS: dict[str, Callable[[], int]] = {"$pagesize": _page_size, "$mb_memory": _memory_mib, "$ncpus": _cpus}
"""The function that returns the value of each keyword."""


def substitute(line: str, environ: Mapping[str, str]) -> str:
    """Return a line of a job file with its variables and keywords replaced. Raises ``BadValue``.

    >>> substitute("filename=/dev/${DISK}", {"DISK": "sdx"})
    'filename=/dev/sdx'
    """
    if "$" not in line:
        return line
    line = "".join(_variables_replaced(line, environ))
    if len(line) > _LONGEST or "\n" in line or "\0" in line:
        raise BadValue("is not one line of text after its variables are replaced", hint="check the variables")
    replaced = line
    for keyword, value in KEYWORDS.items():
        if keyword in replaced:
            replaced = replaced.replace(keyword, str(value()))
    if replaced == line:
        return line
    name, equals, text = replaced.partition("=")
    if equals and _ARITHMETIC.issuperset(text) and not _OPERATORS.isdisjoint(text):
        text = str(int(evaluate(text, {}, minus=True).value))
    return f"{name}{equals}{text}"


def _variables_replaced(line: str, environ: Mapping[str, str]) -> Iterator[str]:
    at = 0
    while (start := line.find("${", at)) >= 0 and (end := line.find("}", start)) >= 0:
        yield line[at:start]
        yield _variable(line[start + 2 : end], environ)
        at = end + 1
    yield line[at:]


def _variable(name: str, environ: Mapping[str, str]) -> str:
    if name not in environ:
        raise BadValue(
            f"the environment variable '{shown(name)}' is not set",
            hint=f"set it in the environment, for instance by: export {shown(name)}=VALUE",
        )
    return environ[name]
