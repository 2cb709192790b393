"""The process that answers one question: ``python -m iogauge.web.modelling.worker``.

It reads the question from its standard input, and writes the answer to its standard output: both JSON. Its memory and
its CPU time are limited, so that no question can stop the computer.
"""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any

from iogauge.errors import IogaugeError
from iogauge.text.option import command_line
from iogauge.web.modelling.answer import answered
from iogauge.web.modelling.question import Load, Question

CPU_S = 10
"""Seconds of CPU time that a question may take."""
MEMORY_BYTES = 4 << 30
"""Address space that it may take."""


def main() -> None:
    """Answer the question on the standard input."""
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_S, CPU_S + 1))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY_BYTES, MEMORY_BYTES))
    content = json.load(sys.stdin)
    question = Question(
        content["drive"],
        content["machine"],
        Load(**content["load"]),
        tuple((place, value) for place, value in content["changes"]),
    )
    left = memoryview(json.dumps(_answer(question)).encode())
    while left:
        left = left[os.write(1, left) :]


def _answer(question: Question) -> dict[str, Any]:
    try:
        with command_line():
            return answered(question)
    except IogaugeError as error:
        return {"error": str(error), "hint": error.hint or ""}


if __name__ == "__main__":
    main()
