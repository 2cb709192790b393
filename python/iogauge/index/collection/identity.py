"""Which review a directory holds, and in which version.

Reviews are told apart by what never changes of them: the id, time and seed of their manifests, host and targets. So a
review keeps its name when its directory is moved, copied or fetched from another host. The id of a manifest alone is
not enough: the hosts of a fleet begin in the same second.

A version is a checksum of everything that figures follow from, and of the code that computes them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from iogauge.index.read import Problem, Source, created_of, guarded, opened
from iogauge.results.computed import code
from iogauge.schema import Manifest
from iogauge.store import Review
from iogauge.store.checksums import SUMS
from iogauge.store.names import FIGURES, MANIFEST, NOTES

_PLAIN = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,79}")


class Identity(NamedTuple):
    """A review in one version."""

    review: str
    """Its id in a collection: letters, digits, dots, dashes and underscores."""
    version: str
    created: datetime | None
    """When it began, UTC."""
    steps: tuple[str, ...]
    """Its complete steps."""


def identify(source: Source) -> Identity | Problem:
    """Return which review a directory holds, or why it cannot be read."""
    return guarded(lambda: identity_of(opened(source)), source)


def identity_of(review: Review) -> Identity:
    """Return which review this is. Raises OSError if a file is gone meanwhile."""
    steps = review.completed()
    digest = hashlib.sha256(code().encode())
    for name, data in _contents(review.path, steps):
        digest.update(f"\n{name} {hashlib.sha256(data).hexdigest()}".encode())
    manifest = review.manifest
    return Identity(_id(manifest), digest.hexdigest(), created_of(manifest.created_at), steps)


def _contents(path: Path, steps: tuple[str, ...]) -> Iterator[tuple[str, bytes]]:
    for name in (MANIFEST, FIGURES, NOTES):
        if (path / name).is_file():
            yield name, (path / name).read_bytes()
    for step in steps:
        yield step, (path / "steps" / step / SUMS).read_bytes()


def _id(manifest: Manifest) -> str:
    facts = [
        manifest.id,
        manifest.created_at,
        manifest.seed,
        manifest.machine.hostname,
        *((target.path, target.model, target.serial) for target in manifest.targets),
    ]
    digest = hashlib.sha256(json.dumps(facts).encode()).hexdigest()
    return f"{manifest.id if _PLAIN.fullmatch(manifest.id) else 'review'}-{digest[:12]}"
