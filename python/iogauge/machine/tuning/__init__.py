"""Tunes a machine for low latency as a transaction: everything is journalled, read back, and put back.

>>> from iogauge.machine.tuning import load_profile
>>> load_profile("latency").title
'Low latency'

``tuned`` changes settings while a context lasts, ``apply_to_stay`` until ``undo_applied`` or the next start, and
``recover`` undoes what a dead process left. ``profile`` reads profiles, ``settings`` has what can be tuned, ``apply``
changes it, ``undo`` puts it back; ``door`` is the only way to the machine, ``journal`` what is on disk, ``guardian``
the process that undoes after SIGKILL.

Names are imported when they are used: the guardian imports this package, and must stay small.
"""

from __future__ import annotations

from pathlib import Path

STATE_DIRECTORY = Path("/var/lib/iogauge/tuning")
"""Where tunings are written down: one place of the machine, whoever is root, so that only one process tunes it."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from iogauge.machine.tuning.apply import Change, Unavailable
    from iogauge.machine.tuning.profile import Profile, SettingValue, load_profile, profile_names
    from iogauge.machine.tuning.session import Tuning, apply_to_stay, recover, tuned, undo_applied

_MODULES = {
    "Change": "apply",
    "Profile": "profile",
    "SettingValue": "profile",
    "Tuning": "session",
    "Unavailable": "apply",
    "apply_to_stay": "session",
    "load_profile": "profile",
    "profile_names": "profile",
    "recover": "session",
    "tuned": "session",
    "undo_applied": "session",
}
__all__ = [
    "Change",
    "Profile",
    "SettingValue",
    "Tuning",
    "Unavailable",
    "apply_to_stay",
    "load_profile",
    "profile_names",
    "recover",
    "tuned",
    "undo_applied",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        """Import what is asked for by its name."""
        if name not in _MODULES:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        import importlib

        return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
