"""Keeps what Dask and its libraries log and warn of off the user's terminal."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

_LOGGERS = ("distributed", "tornado", "asyncio", "asyncssh", "bokeh")


@contextmanager
def quiet() -> Iterator[None]:
    """Discard these logs until the context ends; then the loggers are as they were.

    What a log would say reaches the user as the error or the event to which it leads.
    """
    import distributed  # noqa: F401 (its import sets the loggers up)

    parents = [logging.getLogger(name) for name in _LOGGERS]
    children = [
        logging.getLogger(name)
        for name in [*logging.root.manager.loggerDict]
        if name.partition(".")[0] in _LOGGERS and name not in _LOGGERS
    ]
    before = [(logger, logger.handlers, logger.propagate) for logger in [*parents, *children]]
    try:
        # Children hand what they log to their parents, those too that are made later.
        for logger in children:
            logger.handlers, logger.propagate = [], True
        for logger in parents:
            logger.handlers, logger.propagate = [logging.NullHandler()], False
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, handlers, propagate in before:
            logger.handlers, logger.propagate = handlers, propagate
