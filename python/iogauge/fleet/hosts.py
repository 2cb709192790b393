"""Reads the file that lists the hosts of a fleet.

    [defaults]                              # of every host; optional
    user = "bench"
    targets = ["/dev/nvme0n1"]
    labels = { zone = "a" }

    [[host]]
    name = "db1"

    [[host]]
    name = "db2"
    address = "192.0.2.7"                   # default: its name
    port = 2222
    python = "/opt/iogauge/bin/python"      # the Python that has iogauge
    targets = ["/dev/nvme1n1"]              # instead of the default ones
    labels = { rack = "7" }                 # beside the default ones
    slots = { "/dev/nvme1n1" = "bay 3" }    # where drives sit, by target
    directory = "/var/lib/iogauge"          # where the host keeps its review

The workers of a scheduler are listed in the same way, by name; settings for ssh have no effect on them.
Nothing is reached here, and no host's key or password is kept in the file: ssh has them.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from iogauge.errors import IogaugeError
from iogauge.schema.base import Model
from iogauge.schema.fleet import HostName
from iogauge.text import invalid, numbers
from iogauge.workload.toml import load_toml

MOST_HOSTS = 10_000

Word = Annotated[str, Field(pattern=r"^[^\s\x00-\x1f-][^\s\x00-\x1f]*$", max_length=255)]
"""A word of a command line of ssh: without blanks, and no option."""
Text = Annotated[str, Field(pattern=r"^[^\x00-\x1f]+$", max_length=4096)]
Label = Annotated[str, Field(pattern=r"^[A-Za-z][A-Za-z0-9_-]*$", max_length=40)]

_HINT = "correct it in the file; its keys are name, address, user, port, python, targets, labels, slots and directory"
_MEANINGS = {
    "name": "must have letters, digits, '.', '_' and '-', 63 at most, and begin with a letter or digit",
    "address": "must be a host name or an IP address",
    "user": "must be the name of a user",
    "python": "must be a path",
    "directory": "must be a path",
    "targets": "must be a list of drives, files or drive models",
    "labels": "must have words as names, and text as values",
    "slots": "must have targets as names, and text as values",
}
"""What a value must be that does not match its pattern."""


class HostEntry(Model):
    """A host of a fleet as the user lists it."""

    name: HostName
    address: Word = ""
    """Where ssh reaches it; ``load_hosts`` puts its name in place of an empty one."""
    user: Word | None = None
    """None: ssh's own choice."""
    port: Annotated[int, Field(ge=1, le=65535)] | None = None
    """Of sshd; None: ssh's own choice."""
    python: Text = "python3"
    """The Python of the host that has iogauge."""
    targets: tuple[Text, ...] = ()
    """Empty: those of the command."""
    labels: dict[Label, Annotated[str, Field(max_length=200)]] = Field(default_factory=dict)
    """Words of the user's, such as its zone or rack."""
    slots: dict[Text, Annotated[str, Field(min_length=1, max_length=200)]] = Field(default_factory=dict)
    """Where its drives sit, by target."""
    directory: Text | None = None
    """Where it keeps its reviews; None: below the home of its user."""

    @property
    def login(self) -> str:
        """What ssh calls it: ``bench@192.0.2.7``."""
        return f"{self.user}@{self.address}" if self.user else self.address


def load_hosts(path: Path) -> tuple[HostEntry, ...]:
    """Return the hosts of a file in their order.

    Raises:
        IogaugeError: the file cannot be read, a value in it is not valid, or two hosts are the same.
    """
    content = load_toml(path, missing="name the file that lists the hosts")
    for key in content:
        if key not in ("defaults", "host"):
            raise IogaugeError(
                f"{path}: {key} is not known", hint="it has [defaults] and a [[host]] for each host"
            )
    defaults = _table(content.get("defaults", {}), f"{path}: defaults")
    if "name" in defaults or "address" in defaults:
        raise IogaugeError(
            f"{path}: defaults: hosts share no name or address", hint="write them into each [[host]]"
        )
    tables = content.get("host", [])
    if not isinstance(tables, list) or not tables:
        raise IogaugeError(f"{path}: lists no host", hint='add one: [[host]], and below it name = "..."')
    if len(tables) > MOST_HOSTS:
        raise IogaugeError(
            f"{path}: lists {len(tables):,} hosts, and at most {MOST_HOSTS:,} are reviewed at once",
            hint="split the file",
        )
    hosts = tuple(_host(path, number, table, defaults) for number, table in enumerate(tables, 1))
    _refuse_repeated(path, hosts)
    return hosts


def _table(value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise IogaugeError(
            f"{where}: must be a table", hint="write it as [defaults] or [[host]], keys below it"
        )
    return value


def _host(path: Path, number: int, value: object, defaults: Mapping[str, Any]) -> HostEntry:
    """Return a host of the file, the ``number``-th."""
    where = f"{path}: host {number}"
    table = _table(value, where)
    if isinstance(name := table.get("name"), str):
        where = f"{where} ({numbers.argument(name)[:80]})"
    merged = {**defaults, **table}
    if isinstance(merged.get("labels"), dict) and isinstance(defaults.get("labels"), dict):
        merged["labels"] = {**defaults["labels"], **merged["labels"]}
    if isinstance(defaults.get("slots"), dict):
        merged["slots"] = _slots(table, merged, defaults["slots"])
    try:
        host = HostEntry.model_validate(merged)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = str(first["loc"][0]) if first["loc"] else ""
        reason = _MEANINGS.get(key, "") if first["type"] == "string_pattern_mismatch" else ""
        raise IogaugeError(f"{where}: {key} {reason or invalid.reason(first)}", hint=_HINT) from None
    return host if host.address else host.model_copy(update={"address": host.name})


def _slots(table: Mapping[str, Any], merged: Mapping[str, Any], common: Mapping[str, Any]) -> Any:
    """Return the slots of a host. Of the default ones, a host with targets of its own has only those of its targets."""
    own, targets = table.get("slots", {}), merged.get("targets")
    if not isinstance(own, dict):
        return own
    if "targets" in table and isinstance(targets, list):
        common = {target: slot for target, slot in common.items() if target in targets}
    return {**common, **own}


def _refuse_repeated(path: Path, hosts: tuple[HostEntry, ...]) -> None:
    """Raise IogaugeError if two hosts have one name, or are one computer."""
    names: set[str] = set()
    places: dict[tuple[str, int], str] = {}
    for host in hosts:
        if host.name in names:
            raise IogaugeError(
                f"{path}: two hosts are called {host.name}", hint="give each a name of its own"
            )
        names.add(host.name)
        place = host.address, host.port or 22
        if place in places:
            raise IogaugeError(
                f"{path}: {places[place]} and {host.name} have the same address",
                hint="list a computer once, with all of its targets",
            )
        places[place] = host.name
