"""The one caller of the Rust core: a plan in, intervals while it runs, the result at the end.

Ctrl-C once: nothing more is issued and what is in flight is waited for. Twice: it is not waited for either.
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
    RunPlan,
    RunResult,
    Warning,  # noqa: A004
)

_POLL_S = 0.2


def probe(plan: RunPlan) -> tuple[Warning, ...]:
    """Return what the plan's engines will do differently on this kernel and device, each once.

    Raises IogaugeError where a run could only fail: no io_uring, too little memory, sizes that direct I/O refuses.
    """
    try:
        notes = dict.fromkeys(_core.probe(plan.model_dump_json()))
    except _core.CoreError as error:
        raise _translated(error) from None
    # Polling is judged with the run itself, from its plan and what was seen of the device.
    found = (Warning(code=Code(code), message=message, hint=hint) for code, message, hint in notes)
    return tuple(one for one in found if one.code is not Code.NO_POLLING)


def clock() -> ClockFacts:
    """Return what stamps requests in this process, without the check that only a run's end can make."""
    return ClockFacts.model_validate_json(_core.clock_facts())


def handed_over(plan: RunPlan) -> tuple[bool, ...]:
    """Return for each worker of all stages whether threads of the kernel do requests of it.

    Raises IogaugeError where one of its files cannot be opened as the plan has it.
    """
    try:
        return tuple(_core.handed_over(plan.model_dump_json()))
    except _core.CoreError as error:
        raise _translated(error) from None


Handle = _core.RunHandle | _core.ModelHandle


def real(plan: RunPlan, spill: int | None) -> Handle:
    """Begin a run on real targets; requests go to the descriptor ``spill``. Raises CoreError where it cannot be."""
    return _core.RunHandle(plan.model_dump_json(), spill)


def drive(
    plan: RunPlan,
    *,
    start: Callable[[RunPlan, int | None], Handle] = real,
    spill: int | None = None,
    on_spilled: Callable[[str | None], None] = lambda _: None,
    interrupts: Interrupts,
    on_interval: Callable[[Interval], None] | None = None,
    on_message: Callable[[str], None] | None = None,
) -> RunResult:
    """Run a plan to its end, once ``start`` has begun it, and return its result.

    ``interrupts`` has been entered: one stops the run, another does not wait for what is in flight. Every request is
    appended to the descriptor ``spill``, and ``on_spilled`` hears at the end what came of it. ``on_interval`` hears
    every interval, in order for each row. Where it raises, the run is stopped, its end is waited for, and the error
    raised then. Raises IogaugeError where the run cannot be started.
    """
    try:
        handle = start(plan, spill)
    except _core.CoreError as error:
        raise _translated(error) from None
    try:
        return _follow(handle, interrupts, on_interval or (lambda _: None), on_message or (lambda _: None))
    finally:
        on_spilled(handle.spilled())


def _follow(
    handle: Handle,
    interrupts: Interrupts,
    on_interval: Callable[[Interval], None],
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
                if what != "finished" and failure is None:
                    on_interval(Interval.model_validate_json(text))
            if interrupts.count > obeyed:
                handle.stop() if obeyed == 0 else handle.give_up()
                if obeyed == 0:
                    say("interrupted: waiting for what is in flight (once more: not waiting)")
                obeyed += 1
        except _core.CoreError as error:
            raise _translated(error) from None
        except Exception as error:
            failure = failure or error
            handle.stop()
    if failure is not None:
        raise failure
    return RunResult.model_validate_json(finished)


def _translated(error: _core.CoreError) -> IogaugeError:
    message, hint = error.args
    return IogaugeError(message, hint=hint)
