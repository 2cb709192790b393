"""Calls the Rust core for a run: takes a plan, passes on intervals while it runs, and returns the result.

The first Ctrl-C stops new requests and waits for those in flight. The second one stops the wait.
"""

from __future__ import annotations

from collections.abc import Callable

from iogauge import _core
from iogauge.errors import IogaugeError
from iogauge.execution.interrupts import Interrupts
from iogauge.schema import (
    ClockFacts,
    Code,
    Interval,
    Notice,
    RowParts,
    RunPlan,
    RunResult,
)

OnStage = Callable[[int, Callable[[], bool]], None]
"""Takes the index of a stage that is about to begin, and a function that tells whether the run was interrupted."""

_POLL_S = 0.2


def probe(plan: RunPlan) -> tuple[Notice, ...]:
    """Return a warning for everything that the plan's engines cannot do as planned on this kernel and device.

    Raises IogaugeError if a run could only fail: no io_uring, too little memory, sizes that direct I/O refuses.
    """
    try:
        notes = dict.fromkeys(_core.probe(plan.model_dump_json()))
    except _core.CoreError as error:
        raise _translated(error) from None
    # Polling is judged after the run, from its plan and the device's statistics.
    warnings = (Notice(code=Code(code), message=message, hint=hint) for code, message, hint in notes)
    return tuple(warning for warning in warnings if warning.code is not Code.NO_POLLING)


def clock() -> ClockFacts:
    """Return the facts of the clock that stamps requests, without the check at the end of a run."""
    return ClockFacts.model_validate_json(_core.clock_facts())


def handed_over(plan: RunPlan) -> tuple[bool, ...]:
    """Return for every worker of all stages whether kernel threads execute some of its requests.

    Raises IogaugeError if a file cannot be opened as the plan says.
    """
    try:
        return tuple(_core.handed_over(plan.model_dump_json()))
    except _core.CoreError as error:
        raise _translated(error) from None


Handle = _core.RunHandle | _core.ModelHandle


def start_real(plan: RunPlan, spill: int | None) -> Handle:
    """Begin a run on real targets; log requests to the descriptor ``spill``. Raises CoreError if it cannot begin."""
    return _core.RunHandle(plan.model_dump_json(), spill)


def run_plan(
    plan: RunPlan,
    *,
    start: Callable[[RunPlan, int | None], Handle] = start_real,
    spill: int | None = None,
    on_spilled: Callable[[str | None], None] = lambda _: None,
    interrupts: Interrupts,
    on_interval: Callable[[Interval], None] | None = None,
    on_explained: Callable[[RowParts], None] | None = None,
    on_stage: OnStage | None = None,
    on_message: Callable[[str], None] | None = None,
) -> RunResult:
    """Begin a plan with ``start``, run it to its end, and return its result.

    ``interrupts`` must be entered: the first interrupt stops the run, the second one stops the wait for requests in
    flight. Every request is appended to the descriptor ``spill``; at the end, ``on_spilled`` gets the core's report on
    it. ``on_interval`` gets every interval, in order within a row. If it raises, the run is stopped and the error is
    raised at its end. ``on_explained`` gets where the time of each row's requests went, if the run is explained.
    ``on_stage`` is called before every stage that is held; an IogaugeError ends the run there and is
    the error of its result. Raises IogaugeError if the run cannot be started.
    """
    try:
        handle = start(plan, spill)
    except _core.CoreError as error:
        raise _translated(error) from None
    try:
        return _follow(
            handle,
            interrupts,
            on_interval or _ignore,
            on_explained or _ignore,
            on_stage or _ignore,
            on_message or _ignore,
        )
    finally:
        on_spilled(handle.spilled())


def _ignore(*_: object) -> None:
    pass


def _follow(
    handle: Handle,
    interrupts: Interrupts,
    on_interval: Callable[[Interval], None],
    on_explained: Callable[[RowParts], None],
    on_stage: OnStage,
    say: Callable[[str], None],
) -> RunResult:
    finished: str | None = None
    failure: Exception | None = None
    obeyed = 0
    while finished is None:
        try:
            events = handle.poll(_POLL_S)
        except _core.CoreError as error:
            raise _translated(error) from None
        finished = next((text for what, text in events if what == "finished"), None)
        try:
            for what, text in events:
                if what == "interval" and failure is None:
                    on_interval(Interval.model_validate_json(text))
                elif what == "explained":
                    on_explained(RowParts.model_validate_json(text))
                elif what == "held" and failure is None and not interrupts.count:
                    refusal = _refusal(on_stage, int(text), interrupts)
                    # After an interrupt the run is stopped below, even if a command failed because of it.
                    if not interrupts.count:
                        handle.proceed(refusal)
            if interrupts.count > obeyed:
                handle.stop() if obeyed == 0 else handle.give_up()
                if obeyed == 0:
                    say("interrupted: waiting for requests in flight (interrupt again to stop waiting)")
                obeyed += 1
        except _core.CoreError as error:
            raise _translated(error) from None
        except Exception as error:
            failure = failure or error
            handle.stop()
    if failure is not None:
        raise failure
    return RunResult.model_validate_json(finished)


def _refusal(on_stage: OnStage, stage: int, interrupts: Interrupts) -> str | None:
    """Return why a stage must not begin, if that is so."""
    try:
        on_stage(stage, lambda: interrupts.count > 0)
    except IogaugeError as error:
        return f"{error} (hint: {error.hint})" if error.hint else str(error)
    return None


def _translated(error: _core.CoreError) -> IogaugeError:
    message, hint = error.args
    return IogaugeError(message, hint=hint)
