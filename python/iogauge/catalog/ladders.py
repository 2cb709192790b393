"""Ladders of tunings: TOML files that list rungs, each with settings of the machine.

``ladders/`` holds the published one. A file of your own has a table for each rung, from the bottom up; stock, the
machine as it is, is below them all and is not listed:

    title = "schedulers"

    [[rung]]
    name = "scheduler none"
    settings = { block.scheduler = "none" }

``machine`` of a rung names the machine model that stands for it in front of a drive model, and the host of its
published figures. This module does not know the settings: ``machine.tuning`` does.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

from pydantic import BeforeValidator, Field, ValidationError

from iogauge.errors import IogaugeError, UsageError
from iogauge.schema import Model
from iogauge.text import invalid
from iogauge.workload.toml import load_toml

PUBLISHED = "published-linux"
"""The ladder that is measured unless another is named."""
STOCK = "stock"
"""The name of the machine as it is, below all rungs."""
AGAIN = "stock again"
"""The second name under which stock is measured: what differs between the two is chance."""

_HERE = Path(__file__).parent / "ladders"


def flat(settings: object) -> object:
    """Return nested tables of settings as one: TOML reads ``cpu.governor = 1`` as a table in a table.

    A table with a ``value`` is a setting with its source, as profiles write it.

    >>> flat({"cpu": {"governor": "performance", "boost": {"value": 0, "source": "ours"}}, "a.b": 1})
    {'cpu.governor': 'performance', 'cpu.boost': 0, 'a.b': 1}
    """
    if not isinstance(settings, dict):
        return settings
    settings_by_id: dict[str, object] = {}
    for name, value in settings.items():
        if not isinstance(value, dict):
            settings_by_id[name] = value
        elif "value" in value:
            settings_by_id[name] = value["value"]
        else:
            inner = flat(value)
            assert isinstance(inner, dict)
            settings_by_id |= {f"{name}.{rest}": leaf for rest, leaf in inner.items()}
    return settings_by_id


class LadderRung(Model):
    """One rung of a file."""

    name: Annotated[str, Field(min_length=1, max_length=24)]
    settings: Annotated[dict[str, str | int], BeforeValidator(flat), Field(min_length=1)]
    """Wanted values, by the id of the setting. Of several ids, joined by a slash, the first that there is counts."""
    machine: str = ""
    """The machine model of this rung, and the host of its published figures; empty: there are none."""


class Ladder(Model):
    """The rungs of a file, from the bottom up."""

    title: str = "your own rungs"
    source: str = ""
    stock: str = ""
    """The machine model of stock, and the host of its published figures; empty: there are none."""
    rung: Annotated[tuple[LadderRung, ...], Field(min_length=1)]


def step_name(rung: str) -> str:
    """Return a rung's name as a part of the ids of its steps, which are also names of directories.

    >>> step_name("turbo off 2.3 GHz"), step_name("C-states <= 3 us")
    ('turbo-off-2.3-ghz', 'c-states-3-us')
    """
    return re.sub(r"[^a-z0-9.]+", "-", rung.lower()).strip("-.")


def load_ladder(reference: str = PUBLISHED) -> Ladder:
    """Load a ladder by the name of a shipped one, or by the path of a TOML file.

    Raises UsageError if there is no such ladder, and IogaugeError if there is no such file, or it does not hold a
    ladder.

    >>> [rung.name for rung in load_ladder().rung][:2]
    ['governor performance', 'irqbalance off']
    """
    shipped = {file.stem: file for file in sorted(_HERE.glob("*.toml"))}
    remedy = f"name a TOML file with rungs, or a ladder of iogauge's: {', '.join(shipped)}"
    is_path = reference.endswith(".toml") or "/" in reference
    if not is_path and reference not in shipped:
        raise UsageError(f"there is no ladder {reference!r}", hint=remedy)
    path = Path(reference) if is_path else shipped[reference]
    content = load_toml(path, missing=remedy)
    try:
        ladder = Ladder.model_validate(content)
    except ValidationError as error:
        first = error.errors()[0]
        place = ".".join(str(part + 1 if isinstance(part, int) else part) for part in first["loc"])
        raise IogaugeError(
            f"{path}: {place}: {invalid.reason(first)}",
            hint='a rung is [[rung]] with a name and settings = { cpu.governor = "performance" }',
        ) from None
    taken = {step_name(name): name for name in (STOCK, AGAIN)}
    for name in (rung.name for rung in ladder.rung):
        if not name.isprintable() or not step_name(name):
            raise IogaugeError(
                f"{path}: {name!r} cannot be a rung's name",
                hint="a name is one line, with at least one of the letters a to z or a digit in it",
            )
        if step_name(name) in taken:
            other = taken[step_name(name)]
            like = "" if name == other else f", as {other!r}: their letters and digits are the same"
            raise IogaugeError(
                f"{path}: the name {name!r} is taken{like}",
                hint=f"give each rung a name of its own; {STOCK!r} is the machine as it is",
            )
        taken[step_name(name)] = name
    return ladder
