"""The job options that are supported, from the table that the parser itself uses."""

from __future__ import annotations

from dataclasses import dataclass

from iogauge.errors import UsageError
from iogauge.library.public import public
from iogauge.text.option import call


@dataclass(frozen=True)
class JobOption:
    """One of fio's options, as far as iogauge supports it."""

    name: str
    aliases: tuple[str, ...]
    """Other names of the same option."""
    category: str
    """The chapter that it belongs to."""
    syntax: str
    """The values that it takes."""
    default: str
    help: str


@public
def options(*words: str) -> tuple[JobOption, ...]:
    """Return the job options that are supported, chapter by chapter; with ``words``, those that mention any of them.

    Raises UsageError where no option mentions a word.

    Examples:
        >>> import iogauge
        >>> [option.name for option in iogauge.options("iodepth_batch_complete")]
        ['iodepth_batch_complete_min', 'iodepth_batch_complete_max']
    """
    from iogauge.workload import OPTIONS

    wanted = [word.lower() for word in words]
    supported = [
        JobOption(
            option.name,
            option.aliases,
            option.category.value,
            option.kind.syntax,
            option.default,
            option.help,
        )
        for option in OPTIONS
    ]
    chosen = tuple(option for option in supported if not wanted or _mentions(option, wanted))
    if not chosen:
        raise UsageError(f"no option mentions {' or '.join(wanted)}", hint=f"see {call('options')}")
    return chosen


def _mentions(option: JobOption, words: list[str]) -> bool:
    text = f"{option.name} {' '.join(option.aliases)} {option.help}".lower()
    return any(word in text for word in words)
