"""What tests of running measurements share: a runtime directory of their own, and the texts of a stream."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from iogauge.live import places


def own_runtime(directory: Path, patch: pytest.MonkeyPatch) -> Path:
    """Let feeds lie below a directory and be looked for nowhere else; return where they lie."""
    patch.setenv("XDG_RUNTIME_DIR", str(directory))
    only = places.directories()[:1]
    for module in ("live.finding", "web.following.stream"):
        patch.setattr(f"iogauge.{module}.directories", lambda: only)
    only[0].mkdir(mode=0o700)
    return only[0]


def messages(text: str) -> list[tuple[str | None, Any]]:
    """Return the id and the data of each unnamed event of a stream."""
    pairs: list[tuple[str | None, Any]] = []
    for block in text.split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines())
        if "data" in fields and "event" not in fields:
            pairs.append((fields.get("id"), json.loads(fields["data"])))
    return pairs
