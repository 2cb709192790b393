"""Caches answers that were computed of a review's steps in ``DIR/computed.json``.

If the cache is damaged or missing, the answers are computed again. Only the code that wrote it reads it (``code``), and
the answers of a step count only while the step's files are unchanged. The file is replaced atomically; of two writers,
the last one wins.

This module does not know what the answers mean: they are JSON types, in a dictionary for every step and question.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
from collections.abc import Mapping
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
        """Read the answers of the same ``code``, if there are any."""
        self._path = directory / COMPUTED
        self._code = code
        self._saved = self._read()
        self._as_saved = _extent(self._saved)
        self._steps: dict[str, dict[str, Any]] = {}

    def answers(self, step_id: str, question: str) -> Answers:
        """Return the answers of a complete step. The caller adds to them, and ``save`` keeps them."""
        # The sum is read each time: a review that goes on discards steps and runs them again.
        of = self._sum(step_id)
        step = self._steps.get(step_id) or self._saved.get(step_id) or {}
        if step.get("of") != of:
            step = {"of": of, "answers": {}}
        self._steps[step_id] = step
        answers: Answers = step["answers"].setdefault(question, {})
        return answers

    def save(self) -> None:
        """Save the answers. If the directory cannot be written, do nothing: only the cache is lost."""
        steps = self._saved | self._steps
        extent = _extent(steps)
        if extent == self._as_saved:
            return
        text = json.dumps({"code": self._code, "steps": steps})
        explain = partial(durable.explained, "write", self._path)
        with contextlib.suppress(IogaugeError), durable.replacing(self._path, explain=explain) as file:
            file.write(f"{_digest(text)} {text}\n".encode())
            self._as_saved = extent

    def _read(self) -> dict[str, dict[str, Any]]:
        try:
            checksum, _, text = self._path.read_text().rstrip("\n").partition(" ")
            kept = json.loads(text) if _digest(text) == checksum else {}
            if kept.get("code") != self._code:
                return {}
            steps: dict[str, dict[str, Any]] = {
                step_id: {
                    "of": step["of"],
                    "answers": {name: dict(answers) for name, answers in step["answers"].items()},
                }
                for step_id, step in kept["steps"].items()
            }
        except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
            return {}
        return steps

    def _sum(self, step_id: str) -> str:
        """Return the checksum of a step's checksums; empty if they cannot be read: the step is damaged."""
        try:
            return _digest((self._path.parent / "steps" / step_id / SUMS).read_text())
        except (OSError, ValueError):
            return ""


def _extent(steps: Mapping[str, dict[str, Any]]) -> dict[str, tuple[str, int]]:
    """Return the version of each step's files and the number of its answers: answers are only ever added."""
    return {step_id: (step["of"], sum(map(len, step["answers"].values()))) for step_id, step in steps.items()}


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()
