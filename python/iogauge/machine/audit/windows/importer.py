"""Reads the JSON that the script wrote.

It may come from anybody: everything in it is checked, and its texts are made printable.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

import pydantic

from iogauge.errors import UsageError
from iogauge.machine.audit.windows.check import WindowsCheck
from iogauge.schema.audit import Audit, AuditFact
from iogauge.schema.windows_audit import FORMAT, WindowsAudit, WindowsFact
from iogauge.text.encodings import decoded
from iogauge.text.invalid import reason

_LARGEST_BYTES = 4 << 20
"""A hundred times what the script writes."""
_AGAIN = "run the script again with -OutFile, and copy the file unchanged"


def read_answers(path: Path) -> WindowsAudit:
    """Return what the script wrote. Raises UsageError if the file cannot be read, or is not the script's."""
    try:
        if path.exists() and not (path.is_file() or path.is_fifo()):
            raise UsageError(f"{path}: is not a file", hint="name the JSON that the script wrote")
        with path.open("rb") as file:
            data = file.read(_LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{path}: {getattr(error, 'strerror', None) or error}", hint="check the path"
        ) from None
    if len(data) > _LARGEST_BYTES:
        raise UsageError(
            f"{path}: is larger than the script's JSON", hint="name the JSON that the script wrote"
        )
    return parse_answers(data, name=str(path))


def parse_answers(data: bytes, *, name: str) -> WindowsAudit:
    """Return what the script wrote, from the bytes of its file. Raises UsageError if they are not the script's."""
    try:
        fields = _cleaned(json.loads(decoded(data)))
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name}: not JSON, or cut short: {_printable(str(error))}", hint=_AGAIN) from None
    if not isinstance(fields, dict) or fields.get("format") != FORMAT:
        raise UsageError(
            f"{name}: is not the JSON of the script", hint="write the script, and run it on Windows"
        )
    try:
        answers = WindowsAudit.model_validate(fields)
    except pydantic.ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        raise UsageError(f"{name}: {_printable(where)[:80]}: {reason(first)}", hint=_AGAIN) from None
    if repeated := [id_ for id_, count in Counter(fact.id for fact in answers.facts).items() if count > 1]:
        raise UsageError(f"{name}: {repeated[0]} is there twice", hint=_AGAIN)
    return answers


def judged_answers(answers: WindowsAudit, checks: Iterable[WindowsCheck]) -> Audit:
    """Return the audit: a fact for every check, and one for everything else that the script read."""
    by_id = {answer.id: answer for answer in answers.facts}
    facts = [check.fact(by_id.pop(check.id, None)) for check in checks]
    disk = None if answers.disk is None else f"disk {answers.disk}"
    values = {fact.id: fact.value for fact in facts}
    version = [values.get(name) for name in ("windows.version", "windows.revision")]
    return Audit(
        target=disk,
        device=disk,
        at=answers.at,
        kernel="Windows " + ".".join(filter(None, version)) if version[0] else "Windows",
        facts=(*facts, *_unknown(by_id.values())),
    )


def _unknown(answers: Iterable[WindowsFact]) -> Iterator[AuditFact]:
    """Yield the facts that this version of iogauge has no check for."""
    for answer in answers:
        yield AuditFact(
            id=answer.id, group=answer.id.partition(".")[0], title=answer.id, path="", value=None,
            meaning="a newer script reads it than this iogauge knows", verdict="unknown", wanted="",
            why="it cannot be judged", source="", change="",
        )  # fmt: skip


def _cleaned(value: object) -> object:
    """Return JSON with every text made printable, and with lists as tuples."""
    if isinstance(value, str):
        return _printable(value)
    if isinstance(value, list):
        return tuple(map(_cleaned, value))
    if isinstance(value, dict):
        return {key: _cleaned(part) for key, part in value.items()}
    return value


def _printable(text: str) -> str:
    """Return a text in one line. Half a surrogate pair, which JSON can hold, is not printable either."""
    return " ".join("".join(character if character.isprintable() else " " for character in text).split())
