"""Splits a job file into sections and lines, removes comments and reads included files. It does not interpret options.

The syntax is fio's. A section begins with ``[name]``. A ``;`` or ``#`` anywhere in a line begins a comment.
``include FILE`` is replaced with the lines of FILE, which is looked for in the working directory and then in the
directory of the including file. An included file has no sections and cannot include itself. Sizes and the depth of
inclusion are bounded.

Source: fio init.c (__parse_jobs_ini), parse.c (strip_blank_end).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, field
from pathlib import Path

from iogauge.errors import IogaugeError
from iogauge.workload.problem import Place, escaped

LARGEST_BYTES = 1 << 20
"""The largest job file or included file."""
_LONGEST_LINE = 8_192
_DEEPEST = 16
_MOST_LINES = 20_000
"""The most lines of a job file with all its included files."""
_MOST_FILES = 256
"""The most files that one job file includes."""
_GLOBAL = "global"
LONGEST_NAME = 255


@dataclass(frozen=True, slots=True)
class Line:
    """One option line, without its comment and outer blanks."""

    text: str
    place: Place


@dataclass(slots=True)
class Section:
    """A section and its lines in order. As in fio, a section whose name begins with ``global`` is a global section."""

    name: str
    place: Place
    lines: list[Line] = field(default_factory=list)

    @property
    def is_global(self) -> bool:
        """Whether the section gives defaults for the sections after it."""
        return self.name.startswith(_GLOBAL)


def read_text(path: Path, *, pipe: bool = True) -> str:
    """Return the text of a job file. ``pipe`` allows a named pipe. Raises ``IogaugeError``."""
    try:
        if path.exists() and not path.is_file() and not (pipe and path.is_fifo()):
            raise IogaugeError(f"{path}: not a file", hint="give the path of a job file")
        with path.open("rb") as file:
            raw = file.read(LARGEST_BYTES + 1)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise IogaugeError(f"{escaped(str(path))}: {reason}", hint="check the path of the job file") from None
    if len(raw) > LARGEST_BYTES:
        raise _too_large(str(path))
    try:
        return raw.decode()
    except UnicodeDecodeError:
        raise IogaugeError(f"{path}: not UTF-8 text", hint="check that it is a job file") from None


def _too_large(source: str) -> IogaugeError:
    return IogaugeError(f"{source}: larger than {LARGEST_BYTES} bytes", hint="check that it is a job file")


def sections(text: str, *, source: str, base: Path | None, only: Collection[str] = ()) -> list[Section]:
    """Return the sections of a job file's text.

    ``source`` names the text in errors. Included files are looked for in the working directory and in ``base``.
    ``only`` names the jobs to read; empty: all. The sections of other jobs are returned without lines, and their
    ``include`` lines are skipped. Raises ``IogaugeError`` if the text is not a job file.

    >>> [s.name for s in sections("[global]\\nbs=4k ; small\\n[reader]\\n", source="a.fio", base=None)]
    ['global', 'reader']
    """
    return _Reader(only).sections(text, source, base)


def _is_skipped(section: Section, only: Collection[str]) -> bool:
    """Return whether ``only`` excludes a section. As in fio, its lines are not read then."""
    return bool(only) and not section.is_global and section.name not in only


class _Reader:
    """Reads one job file, and counts its included files and all lines against the limits."""

    def __init__(self, only: Collection[str]) -> None:
        self._only = only
        self._lines_left = _MOST_LINES
        self._files_left = _MOST_FILES

    def sections(self, text: str, source: str, base: Path | None) -> list[Section]:
        parsed: list[Section] = []
        for line in _lines(text, source):
            if line.text.startswith("["):
                name = _name(line)
                parsed.append(Section(name, line.place.within(name)))
            elif not parsed:
                raise line.place.error(line.text, "is not in a section", hint="add a line [global] above it")
            elif not _is_skipped(parsed[-1], self._only):
                option_line = Line(line.text, line.place.within(parsed[-1].name))
                parsed[-1].lines.extend(self._included(option_line, base, ()))
        return parsed

    def _included(self, line: Line, base: Path | None, chain: tuple[Path, ...]) -> Iterator[Line]:
        """Yield the line, or the lines of the file that it includes."""
        words = line.text.split(maxsplit=1)
        if words[0] != "include":
            self._lines_left -= 1
            if self._lines_left < 0:
                raise line.place.error("", f"the job file has more than {_MOST_LINES} lines", hint="split it")
            yield line
            return
        if len(words) == 1:
            raise line.place.error(line.text, "names no file", hint="write include FILE")
        path = _find(words[1], base)
        resolved = _resolved(path)
        if resolved in chain:
            raise line.place.error(
                line.text, "the file includes itself", hint="remove one of the include lines"
            )
        self._files_left -= 1
        if len(chain) >= _DEEPEST or self._files_left < 0:
            raise line.place.error(
                line.text, "too many files are included, or too deeply", hint="include fewer files"
            )
        try:
            text = read_text(path, pipe=False)
        except IogaugeError as error:
            raise line.place.error(line.text, str(error), hint=error.hint) from None
        for inner in _lines(text, str(path)):
            if inner.text.startswith("["):
                raise inner.place.error(
                    inner.text, "an included file cannot have sections", hint="move it to the job file"
                )
            option_line = Line(inner.text, inner.place.within(line.place.section))
            yield from self._included(option_line, path.parent, (*chain, resolved))


def _lines(text: str, source: str) -> Iterator[Line]:
    if len(text) > LARGEST_BYTES:
        raise _too_large(source)
    # In fio only a line feed ends a line; str.splitlines splits at other characters, too.
    for number, raw in enumerate(text.split("\n"), start=1):
        place = Place(f"{source}:{number}")
        if len(raw) > _LONGEST_LINE:
            raise place.error(
                "",
                f"the line is longer than {_LONGEST_LINE} characters",
                hint="check that this is a job file",
            )
        line = _without_comment(raw).strip()
        if "\0" in line:
            raise place.error("", "the line has a NUL byte", hint="check that this is a job file")
        if line:
            yield Line(line, place)


def _without_comment(line: str) -> str:
    return line.partition(";")[0].partition("#")[0]


def _name(line: Line) -> str:
    name = line.text[1:-1]
    if not line.text.endswith("]") or not name:
        raise line.place.error(line.text, "is not a section", hint="write the name in brackets: [name]")
    if len(name) > LONGEST_NAME:
        raise line.place.error(
            line.text, f"the name is longer than {LONGEST_NAME} characters", hint="shorten the name"
        )
    return name


def _find(name: str, base: Path | None) -> Path:
    path = Path(name)
    in_base = base / path if base is not None else path
    try:
        return path if path.exists() or not in_base.exists() else in_base
    except (OSError, ValueError):
        return path


def _resolved(path: Path) -> Path:
    try:
        return path.resolve()
    except (OSError, RuntimeError, ValueError):
        return path
