"""Versions of the schema: refuses what a newer iogauge wrote, and brings an older one's manifests to today's.

Version 3 of a sealed file has a checksum, always. Version 2 of a review has any number of suites, targets and repeats;
version 1 had one of each. Which steps are rounds was told by their labels before each said it itself. Fields that were
only added have defaults in ``schema/`` and need nothing here. Checking values is the schema's.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.schema import SCHEMA_VERSION
from iogauge.store.checksums import damaged


def check_version(path: Path, version: object) -> None:
    """Refuse what a newer iogauge wrote; every older version is read."""
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise damaged(path, f"its schema version is {version!r}")
    if version > SCHEMA_VERSION:
        raise IogaugeError(
            f"{path}: written in version {version} of the schema; this iogauge reads up to {SCHEMA_VERSION}",
            hint="read it with the iogauge that wrote it, or a newer one",
        )


def upgraded(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest's JSON object as the schema of today has it; ``schema_version`` stays what it was.

    >>> old = {"schema_version": 1, "plan": {"suite": "mixed"}, "target": {"path": "/dev/sdx"}}
    >>> upgraded(old)["plans"]
    [{'suite': 'mixed', 'key': 'mixed', 'targets': ['/dev/sdx']}]
    """
    return _with_rounds(_of_many(manifest) if manifest.get("schema_version") == 1 else manifest)


def _of_many(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a review of one suite and one target as one of any number."""
    rest = {name: value for name, value in manifest.items() if name not in ("plan", "target")}
    plan, target = manifest.get("plan"), manifest.get("target")
    if not isinstance(plan, dict) or not isinstance(target, dict):
        return manifest  # damaged, which its check will say
    return rest | {
        "plans": [plan | {"key": plan.get("suite"), "targets": [target.get("path")]}],
        "targets": [target],
    }


def _with_rounds(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest whose steps say whether they are rounds."""
    plans = manifest.get("plans")
    return (
        manifest if not isinstance(plans, list) else manifest | {"plans": [_rounds(plan) for plan in plans]}
    )


def _rounds(plan: Any) -> Any:
    steps = plan.get("steps") if isinstance(plan, dict) else None
    if not isinstance(steps, list) or not str(plan.get("suite")).startswith(("pts-", "precondition")):
        return plan
    return plan | {
        "steps": [
            {"is_round": str(step.get("label")).startswith("round ")} | step
            if isinstance(step, dict)
            else step
            for step in steps
        ]
    }
