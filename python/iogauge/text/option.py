"""How a message names an option: as an argument of the library, or as the command line writes it.

The same errors reach users of both. ``iogauge.cli`` enters ``command_line``; everywhere else it is the library.

>>> option("pace", "full"), call("review", resume="saved")
("pace='full'", "iogauge.review(resume='saved')")
>>> with command_line():
...     option("pace", "full"), call("review", resume="saved")
('--pace full', 'iogauge review --resume saved')
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from iogauge.text.numbers import argument

_OPTIONS = {
    "begin_with": "from",
    "faults": "fault",
    "import_file": "import",
    "program": "as",
    "suites": "suite",
    "use": "for",
}
"""Options whose argument has another name."""
_LISTS = ("charts", "destroy", "fail_if", "faults", "judge_by", "section", "suites")
"""Arguments that take a list; the option is repeated instead."""
_COMMANDS = {
    "fit_trace": "trace fit",
    "fit_twin": "model fit",
    "import_results": "import",
    "import_trace": "trace import",
    "list_reviews": "list",
    "model": "model show",
    "models": "model list",
    "compare_models": "model compare",
    "drive_info": "drive-info",
    "new_model": "model new",
    "serve_model": "model serve",
    "open_review": "show",
    "open_trace": "trace show",
    "record_trace": "trace record",
    "published": "list --published",
    "write_charts": "export",
    "write_report": "report",
}
"""Commands whose function has another name."""

_entered = 0


@contextmanager
def command_line() -> Iterator[None]:
    """Let messages name the options of the command line, in every thread."""
    global _entered  # noqa: PLW0603 (one interface speaks to the user at a time)
    _entered += 1
    try:
        yield
    finally:
        _entered -= 1


def either(*, command: str, library: str) -> str:
    """Return the text for the interface in use."""
    return command if _entered else library


def option(name: str, value: object = None) -> str:
    """Return the argument ``name`` as the interface in use writes it, with ``value`` where there is one.

    >>> option("destroy", "/dev/sdb"), option("readonly", True), option("give_up")
    ("destroy=['/dev/sdb']", 'readonly=True', 'give_up')
    >>> with command_line():
    ...     option("destroy", "/dev/sdb"), option("readonly", True), option("give_up")
    ('--destroy /dev/sdb', '--readonly', '--give-up')
    """
    if _entered:
        word = f"--{_OPTIONS.get(name, name).replace('_', '-')}"
        return word if value is None or value is True else f"{word} {argument(value)}"
    if value is None:
        return name
    return f"{name}={_literal([value] if name in _LISTS else value)}"


def call(function: str, *arguments: object, **options: object) -> str:
    """Return a call of a function of the library, or the command that does the same.

    >>> call("import_results", "jobs", output="saved")
    "iogauge.import_results('jobs', output='saved')"
    >>> with command_line():
    ...     call("import_results", "jobs", output="my review")
    "iogauge import jobs --output 'my review'"
    """
    written = [option(name, value) for name, value in options.items()]
    if _entered:
        return " ".join(["iogauge", _COMMANDS.get(function, function), *map(argument, arguments), *written])
    return f"iogauge.{function}({', '.join([*map(_literal, arguments), *written])})"


def _literal(value: object) -> str:
    """Return a value as Python source; a path as its text."""
    if isinstance(value, list):
        return f"[{', '.join(map(_literal, value))}]"
    return repr(value if isinstance(value, bool | int | float | str) else str(value))
