"""Refuses files of a newer iogauge, and upgrades manifests and records of older ones.

Version 6: histograms are not compressed; compressed ones are still read, and nothing is converted. Version 5: audits,
interrupts, samples of drives, the split of latency, power, the parts of modelled latency; older reviews lack them, and
nothing is converted. Version 4: some fields have plainer names. Version 3: the manifest and the figures always carry a
checksum. Version 2: a review has any number of suites, targets and repeats; version 1 had one of each. In old
manifests, a step's label says whether it is a round. New fields have defaults in ``schema/`` and need no upgrade. The
schema checks the values.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.schema import SCHEMA_VERSION
from iogauge.store.checksums import damaged

_NAMED = 4
"""The first version in which fields have their names of today."""
_MANIFEST_NAMES = {"found": "state_before", "left": "fingerprint_after", "under_way": "running_step"}
_PLAN_NAMES = {"reader": "measured_job", "pressure": "load_jobs", "beside": "compared_with"}


def check_version(path: Path, version: object) -> None:
    """Refuse the version of a newer iogauge. Every older version can be read."""
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise damaged(path, f"its schema version is {version!r}")
    if version > SCHEMA_VERSION:
        raise IogaugeError(
            f"{path}: written in version {version} of the schema; this iogauge reads up to {SCHEMA_VERSION}",
            hint="read it with the iogauge that wrote it, or a newer one",
        )


def upgraded(manifest: dict[str, Any]) -> dict[str, Any]:
    """Upgrade a manifest's JSON object to the current schema. ``schema_version`` does not change.

    >>> old = {"schema_version": 1, "plan": {"suite": "mixed"}, "target": {"path": "/dev/sdx"}}
    >>> upgraded(old)["plans"]
    [{'suite': 'mixed', 'key': 'mixed', 'targets': ['/dev/sdx']}]
    """
    version = manifest.get("schema_version")
    manifest = _with_rounds(_of_many(manifest) if version == 1 else manifest)
    return manifest if isinstance(version, int) and version >= _NAMED else _with_names(manifest)


def upgraded_record(record: dict[str, Any]) -> dict[str, Any]:
    """Return a record's JSON object as the schema of today has it.

    >>> upgraded_record({"schema_version": 3, "told": []})
    {'schema_version': 3, 'reported': []}
    """
    version = record.get("schema_version")
    named = isinstance(version, int) and version >= _NAMED
    return record if named else _renamed(record, {"told": "reported"})


def _renamed(fields: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """Return fields under their names of today. The schema refuses a file that has both names: these stay."""
    return {
        names[name] if name in names and names[name] not in fields else name: value
        for name, value in fields.items()
    }


def _with_names(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a manifest with the names that fields have since version 4."""
    manifest = _renamed(manifest, _MANIFEST_NAMES)
    plans = manifest.get("plans")
    if not isinstance(plans, list):
        return manifest
    return manifest | {
        "plans": [_renamed(plan, _PLAN_NAMES) if isinstance(plan, dict) else plan for plan in plans]
    }


def _of_many(manifest: dict[str, Any]) -> dict[str, Any]:
    """Upgrade a manifest of one suite and one target to one of any number."""
    rest = {name: value for name, value in manifest.items() if name not in ("plan", "target")}
    plan, target = manifest.get("plan"), manifest.get("target")
    if not isinstance(plan, dict) or not isinstance(target, dict):
        return manifest  # damaged: the schema reports it
    return rest | {
        "plans": [plan | {"key": plan.get("suite"), "targets": [target.get("path")]}],
        "targets": [target],
    }


def _with_rounds(manifest: dict[str, Any]) -> dict[str, Any]:
    """Mark the steps that are rounds."""
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
