"""Answers that were computed of a review's steps, kept beside them so that the next reader need not compute again.

``DIR/computed.json`` is a cache: whatever is wrong with it, the answers are computed anew. It is read only by the code
that wrote it (``code``), and of a step only while the step's files are the same. It is replaced as one file; of two
processes that write it, the last one's answers stay.

Does not know what the answers mean: they are JSON's own types, in a dictionary for each step and question.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from functools import partial
from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.store import durable
from iogauge.store.checksums import SUMS
from iogauge.store.names import COMPUTED

Answers = dict[str, Any]


class Computed:
    """The answers kept in a review's directory."""

    def __init__(self, directory: Path, *, code: str) -> None:
        """Read what the same ``code`` computed before; nothing where there is none, or it is damaged."""
        self._path = directory / COMPUTED
        self._code = code
        self._text = ""
        self._saved = self._read()
        self._steps: dict[str, dict[str, Any]] = {}

    def answers(self, step_id: str, question: str) -> Answers:
        """Return what is known of a complete step; what is added to it is kept by ``save``."""
        if step_id not in self._steps:
            of = self._sum(step_id)
            saved = self._saved.get(step_id, {})
            self._steps[step_id] = saved if saved.get("of") == of else {"of": of, "answers": {}}
        answers: Answers = self._steps[step_id]["answers"].setdefault(question, {})
        return answers

    def save(self) -> None:
        """Keep the answers; do nothing where the directory cannot be written, which costs time and no figure."""
        text = json.dumps({"code": self._code, "steps": self._saved | self._steps})
        if text == self._text:
            return
        explain = partial(durable.explained, "write", self._path)
        with contextlib.suppress(IogaugeError), durable.replacing(self._path, explain=explain) as file:
            file.write(f"{_digest(text)} {text}\n".encode())
            self._text = text

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            checksum, _, text = self._path.read_text().rstrip("\n").partition(" ")
            kept = json.loads(text) if _digest(text) == checksum else {}
            if kept.get("code") != self._code:
                return {}
            steps: dict[str, dict[str, Any]] = {
                step_id: {"of": step["of"], "answers": dict(step["answers"])}
                for step_id, step in kept["steps"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}
        self._text = text
        return steps

    def _sum(self, step_id: str) -> str:
        """Return the checksum of a step's checksums; a step that has none is damaged, as its reader will find."""
        try:
            return _digest((self._path.parent / "steps" / step_id / SUMS).read_text())
        except (OSError, ValueError):
            return ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
