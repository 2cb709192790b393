"""Sets up the layers around a target before a run that needs them, and takes them down after it.

``execute`` and suites are not involved: a step names a layer by a fixed path, and the layer exists behind that path
while the step runs. ``target.layers`` has the reasons.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from typing import Any

from iogauge.schema import JobFile, Manifest, RunRecord
from iogauge.target.layers import layers_over, standing


def layered(execute: Callable[..., RunRecord], manifest: Manifest) -> Callable[..., RunRecord]:
    """Return ``execute`` for the steps of a review, with the layers that its plans name.

    The result also raises IogaugeError if a layer can no longer be set up.
    """
    known = {
        layer.path: layer
        for plan in manifest.plans
        if plan.compared_with
        for layer in layers_over(plan.targets[0])
    }

    def run(job_file: JobFile, **options: Any) -> RunRecord:
        wanted = dict.fromkeys(name for job in job_file.jobs for name in job.filenames)
        with contextlib.ExitStack() as stack:
            for name in wanted:
                if layer := known.get(name):
                    stack.enter_context(standing(layer))
            return execute(job_file, **options)

    return run
