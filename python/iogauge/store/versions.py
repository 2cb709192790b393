"""Reads manifests that an older iogauge wrote: brings what changed between versions of the schema to today's.

Version 2 of a review has any number of suites, targets and repeats; version 1 had one of each. Fields that were only
added have defaults in ``schema.py`` and need nothing here. Checking values is the schema's.
"""

from __future__ import annotations

from typing import Any


def upgraded(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest's JSON object as the schema of today has it; ``schema_version`` stays what it was.

    >>> old = {"schema_version": 1, "plan": {"suite": "mixed"}, "target": {"path": "/dev/sdx"}}
    >>> upgraded(old)["plans"]
    [{'suite': 'mixed', 'key': 'mixed', 'targets': ['/dev/sdx']}]
    """
    if manifest.get("schema_version") != 1:
        return manifest
    rest = {name: value for name, value in manifest.items() if name not in ("plan", "target")}
    plan, target = manifest.get("plan"), manifest.get("target")
    if not isinstance(plan, dict) or not isinstance(target, dict):
        return manifest  # damaged, which its check will say
    return rest | {
        "plans": [plan | {"key": plan.get("suite"), "targets": [target.get("path")]}],
        "targets": [target],
    }
