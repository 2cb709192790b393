"""Files of conditions, for ``--checks``: TOML, a table for each check.

    [[check]]
    name = "commits stay fast"
    fail-if = "commit-latency[1 log].p99 > 5ms"

The name is for the results; by default it is the condition itself.
"""

from __future__ import annotations

import tomllib
from pathlib import Path

from iogauge.errors import IogaugeError, UsageError
from iogauge.store.durable import explained
from iogauge.workload.suggest import closest

_KEYS = ("fail-if", "name")
_EXAMPLE = '[[check]], name = "commits stay fast", fail-if = "commit-latency[1 log].p99 > 5ms"'
_MOST_BYTES = 1 << 20


def read_checks(path: Path) -> dict[str, str]:
    """Return the names of the file's conditions, by their texts.

    Raises UsageError, with file and check, if it is not such a file, and IogaugeError if it cannot be read.
    """
    with explained("read", path):
        size = path.stat().st_size
        data = path.read_bytes() if size <= _MOST_BYTES else b""
    if size > _MOST_BYTES:
        raise IogaugeError(
            f"{path}: {size:,} bytes are too many for a file of checks", hint="name another file"
        )
    try:
        content = tomllib.loads(data.decode())
    except (UnicodeDecodeError, tomllib.TOMLDecodeError, RecursionError) as error:
        raise UsageError(f"{path}: this is no TOML: {error}", hint=_hint()) from None
    if unknown := [key for key in content if key != "check"]:
        raise UsageError(f"{path}: there is no key {unknown[0]!r}", hint=_hint())
    checks = content.get("check", [])
    if not isinstance(checks, list) or not checks:
        raise UsageError(f"{path}: it has no checks", hint=_hint())
    names: dict[str, str] = {}
    for number, check in enumerate(checks, 1):
        text, name = _check(f"{path}: check {number}", check)
        if text in names:
            raise UsageError(f"{path}: check {number}: {text!r} is there twice", hint="leave one of them out")
        names[text] = name
    return names


def _check(where: str, check: object) -> tuple[str, str]:
    """Return the condition and the name of one check."""
    if not isinstance(check, dict):
        raise UsageError(f"{where}: it is no table", hint=_hint())
    for key, value in check.items():
        if key not in _KEYS:
            near = closest(key, _KEYS)
            raise UsageError(
                f"{where}: there is no key {key!r}", hint=f"did you mean {near}?" if near else _hint()
            )
        if not isinstance(value, str) or not value.strip():
            raise UsageError(f"{where}: {key} is not text", hint=_hint())
    if "fail-if" not in check:
        raise UsageError(f"{where}: it has no condition (fail-if)", hint=_hint())
    text = check["fail-if"].strip()
    return text, check.get("name", text).strip()


def _hint() -> str:
    return f"write for example {_EXAMPLE}, a line each"
