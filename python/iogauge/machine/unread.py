"""What could not be read of a drive, and why."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Unread:
    """Something that a drive may have, and that could not be read."""

    what: str
    why: str
    hint: str | None


def by_reason(unread: Iterable[Unread]) -> list[tuple[list[str], str, str | None]]:
    """Return the reasons in their first order, each with all that could not be read for it and its hint.

    >>> by_reason([Unread("SMART", "no permission", "run as root"), Unread("APST", "no permission", "run as root")])
    [(['SMART', 'APST'], 'no permission', 'run as root')]
    """
    reasons: dict[tuple[str, str | None], list[str]] = {}
    for item in unread:
        reasons.setdefault((item.why, item.hint), []).append(item.what)
    return [(names, why, hint) for (why, hint), names in reasons.items()]
