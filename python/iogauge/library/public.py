"""What all functions of the library share: they check the types of their arguments, and raise ``Interrupted``."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import ParamSpec, TypeVar

from iogauge.library.argument_types import require_types
from iogauge.library.errors import Interrupted

P = ParamSpec("P")
T = TypeVar("T")


def public(function: Callable[P, T]) -> Callable[P, T]:
    """Decorate a function that ``import iogauge`` offers.

    It then raises UsageError for an argument of a wrong type, and ``Interrupted`` instead of a bare KeyboardInterrupt.
    """

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> T:
        require_types(function, arguments, options)
        try:
            return function(*arguments, **options)
        except Interrupted:
            raise
        except KeyboardInterrupt as interrupt:
            raise Interrupted(f"Ctrl-C ended {function.__qualname__}") from interrupt

    return call
