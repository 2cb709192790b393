"""The state of a modelled flash drive before a run: the values of ``--state``, and their names in the core.

Only flash has such a state. Each run of a model starts from it again.

Source: ``initial`` in crates/model/src/media/nand/spec.rs.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from iogauge.schema import BegunAs, State

INITIAL: dict[BegunAs, str] = {"fresh": "fresh", "filled": "sequential", "preconditioned": "random"}
"""The value of ``media.initial`` in a model's file for each state."""
MEANING: dict[BegunAs, str] = {
    "fresh": "nothing was written to it",
    "filled": "all of it was written in order",
    "preconditioned": "it was written at random until its rate was steady",
}


def in_state(parameters: Mapping[str, Any], state: State) -> dict[str, Any]:
    """Return a drive's parameters with the state in which its runs start; unchanged for ``as-is``.

    >>> flash = {"media": {"family": "nand", "initial": "random"}}
    >>> in_state(flash, "filled")["media"]["initial"], in_state(flash, "as-is") == flash
    ('sequential', True)
    >>> in_state({"media": {"family": "ram"}}, "fresh")
    {'media': {'family': 'ram'}}
    """
    if state == "as-is" or not _is_flash(parameters):
        return dict(parameters)
    return {**parameters, "media": {**parameters["media"], "initial": INITIAL[state]}}


def begun_as(parameters: Mapping[str, Any]) -> BegunAs | None:
    """Return the state in which runs of a drive start; None if its media have no such state.

    >>> begun_as({"media": {"family": "nand", "initial": "sequential"}}), begun_as({"media": {"family": "disk"}})
    ('filled', None)
    """
    if not _is_flash(parameters):
        return None
    # The core's default is fresh.
    initial = parameters["media"].get("initial", INITIAL["fresh"])
    return next((state for state, name in INITIAL.items() if name == initial), None)


def _is_flash(parameters: Mapping[str, Any]) -> bool:
    media = parameters.get("media")
    return isinstance(media, Mapping) and media.get("family") == "nand"
