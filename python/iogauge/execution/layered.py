"""Runs on the layers around a target: each is set up before the run that needs it, and taken down after it.

``execute`` is not changed by it, and a suite does not see it: a step names a layer by a path that does not change, and
what stands behind it does so while the step runs. Source: ``target.layers``, which has the reasons.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from iogauge.schema import JobFile, Manifest, RunRecord
from iogauge.target.layers import layers_over, standing


def layered(execute: Callable[..., RunRecord], manifest: Manifest) -> Callable[..., RunRecord]:
    """Return ``execute`` for the steps of a review, with the layers that its plans name.

    The result raises IogaugeError too where a layer can no longer be set up.
    """
    known = {
        layer.path: layer for plan in manifest.plans if plan.beside for layer in layers_over(plan.targets[0])
    }

    def run(job_file: JobFile, **options: Any) -> RunRecord:
        wanted = dict.fromkeys(name for job in job_file.jobs for name in job.filenames)
        with contextlib.ExitStack() as stack:
            for name in wanted:
                if layer := known.get(name):
                    stack.enter_context(standing(layer))
            return execute(job_file, **options)

    return run
