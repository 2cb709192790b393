"""Logs of a run that was killed, or interrupted before it wrote them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from iogauge.library.options import StrPath
from iogauge.library.public import public
from iogauge.library.running.measurement import RunLogs
from iogauge.schema import RunPlan


@public
def recover(
    spill: StrPath, *, request_log: StrPath | None = None, on_message: Callable[[str], None] = lambda _: None
) -> list[Path]:
    """Write the logs of a run that was killed, from the file iogauge-*.spill that it left; return the files written.

    They lie where the run would have written them; ``request_log`` names another file for the request log. The spill is
    removed unless it is damaged: then the logs have the requests before the damage, and ``on_message`` is called.

    Raises IogaugeError if the spill cannot be read, or a log must not be written.
    """
    logs, plan = recovered(spill, request_log=request_log, say=on_message)
    logs.convert(plan, on_share=lambda _: None, say=on_message)
    if logs.spill and logs.spill.damage is None:
        logs.remove_spill()
    return [output.path for output in logs.outputs]


def recovered(
    spill: StrPath, *, request_log: StrPath | None = None, say: Callable[[str], None] = lambda _: None
) -> tuple[RunLogs, RunPlan]:
    """Open a spill that a run left, and claim its logs where the run would have written them.

    ``RunLogs.convert`` writes the logs of the returned plan. ``request_log`` names another file for the request log.

    Raises IogaugeError if the spill cannot be read, or a log must not be written.
    """
    from iogauge.execution.log.spill import Spill
    from iogauge.report.run import fio_logs
    from iogauge.store.outputs import Claims, Existing
    from iogauge.target import is_model
    from iogauge.workload import driven_paths

    source = Spill(Path(spill))
    header = source.header()
    directory = Path(header.directory)
    wanted = request_log or (directory / header.request_log if header.request_log else None)
    targets = [name if is_model(name) else str(directory / name) for name in driven_paths(header.jobs)]
    claims = Claims(saved_targets=targets, inputs=[Path(spill)], say=say)
    requests = claims.file(Path(wanted), existing=Existing.OWN) if wanted else None
    names = fio_logs.claim(header.jobs, claims, names=fio_logs.request_names, directory=directory)
    return RunLogs(header.jobs, names, requests, source, claims=claims), header.plan
