"""What a drive says of itself: identity, health, power states, features, logs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from iogauge.errors import UsageError
from iogauge.library.drive.answer import answer, problems_of, temperature_C
from iogauge.library.drive.cells import Section
from iogauge.library.drive.sections import sections
from iogauge.library.options import StrPath
from iogauge.library.public import public
from iogauge.machine.ata.port import Ata
from iogauge.machine.drive import Drive, read_drive
from iogauge.machine.nvme.read import Nvme
from iogauge.machine.unread import Unread
from iogauge.results.tabular import Tabular
from iogauge.schema import TargetFacts
from iogauge.target import is_model
from iogauge.text import html
from iogauge.text.grid import aligned, labelled
from iogauge.text.option import call

if TYPE_CHECKING:
    import pyarrow as pa

_COLUMNS = 80


@public
def drive_info(target: StrPath) -> DriveInfo:
    """Return all that a drive says of itself. Nothing is changed: only commands that read are sent.

    Args:
        target: a drive, a partition, or an NVMe controller such as ``/dev/nvme0``; a file or a directory means the
            drive that it lies on.

    Without root, there is only what Linux has of a drive; ``unread`` says what is missing, and why.

    Raises IogaugeError where there is no such drive, and UsageError for a drive model.

    Examples:
        >>> import iogauge
        >>> drive = iogauge.drive_info("/dev/nvme0n1")  # doctest: +SKIP
        >>> drive.healthy, drive.temperature_C, drive.nvme.smart.used_percent  # doctest: +SKIP
        (True, 41, 3)
    """
    path = str(target)
    if is_model(path):
        raise UsageError(
            f"{path}: a drive model does not say anything of itself",
            hint=f"see its numbers: {call('model', path.partition(':')[2])}",
        )
    return DriveInfo(path, read_drive(path))


@dataclass(frozen=True, repr=False)
class DriveInfo(Tabular):
    """What a drive says of itself. ``str()`` is what ``iogauge drive-info`` prints.

    ``nvme`` has the controller, namespace, features, SMART log, errors and firmware of an NVMe drive, ``ata`` the link,
    identity, SMART log and statistics of a SATA drive, ``facts`` what Linux knows of any. A value that the drive does
    not report is None.
    """

    target: str
    """The path that was given."""
    drive: Drive

    @property
    def facts(self) -> TargetFacts:
        """What Linux knows of it."""
        return self.drive.facts

    @property
    def nvme(self) -> Nvme | None:
        """What an NVMe drive says; None if it is no NVMe drive, or may not be opened."""
        return self.drive.nvme

    @property
    def ata(self) -> Ata | None:
        """What is known of a SATA drive."""
        return self.drive.ata

    @property
    def restriction(self) -> str | None:
        """The reason why a device that is neither NVMe nor SATA says nothing more; None: it is either."""
        return self.drive.restriction

    @property
    def unread(self) -> tuple[Unread, ...]:
        """What could not be read, and why."""
        return self.drive.unread

    @property
    def problems(self) -> list[str] | None:
        """What is wrong with it, the worst first; empty if it is healthy, None if its health is unknown."""
        return problems_of(self.drive)

    @property
    def healthy(self) -> bool | None:
        """Whether nothing is wrong with it; None if its health is unknown."""
        return None if self.problems is None else not self.problems

    @property
    def temperature_C(self) -> float | None:
        """Its temperature in degrees Celsius."""
        return temperature_C(self.drive)

    @property
    def answer(self) -> str:
        """Which drive it is and how it is, in a sentence."""
        return answer(self.drive)

    def to_dict(self) -> dict[str, Any]:
        """Return everything as data that JSON can hold; names end in their unit."""
        drive = self.drive
        return {
            "target": self.target,
            "answer": self.answer,
            "healthy": self.healthy,
            "problems": self.problems,
            "temperature_C": self.temperature_C,
            "facts": drive.facts.model_dump(mode="json"),
            "nvme": asdict(drive.nvme) if drive.nvme else None,
            "ata": asdict(drive.ata) if drive.ata else None,
            "restriction": drive.restriction,
            "unread": [asdict(item) for item in drive.unread],
        }

    def to_text(self) -> str:
        """Return what ``iogauge drive-info`` prints: the answer, then sections; at most 80 columns."""
        lines = labelled("", self.answer, indent="", width=0, columns=_COLUMNS)
        for section in sections(self.drive):
            lines += ["", section.title, *_lines(section)]
        return "".join(f"{line}\n" for line in lines)

    def to_arrow(self) -> pa.Table:
        """Return a row for each fact that is known, as an Arrow table. Units end the facts' names.

        ``value`` is the number, if it is one; truth is 1 or 0.
        """
        import pyarrow as pa

        rows = [
            {
                "fact": name,
                "value": float(value) if isinstance(value, bool | int | float) else None,
                "text": str(value),
            }
            for name, value in _facts("", self.to_dict())
        ]
        fields = dict.fromkeys(("fact", "text"), pa.string()) | {"value": pa.float64()}
        return pa.Table.from_pylist(rows, schema=pa.schema(list(fields.items())))

    def __str__(self) -> str:
        return self.to_text()

    def __repr__(self) -> str:
        return f"<DriveInfo {self.answer}>"

    def _repr_html_(self) -> str:
        parts = [
            html.folded(section.title, html.table(section.head or ("", ""), section.rows, most=100))
            for section in sections(self.drive)
        ]
        return html.heading(self.answer) + "".join(parts)


def _lines(section: Section) -> Iterator[str]:
    if section.head:
        yield from aligned([section.head, *section.rows], indent="  ", left=section.left)
    else:
        for label, text in section.rows:
            yield from labelled(label, text, width=19 if label else 0, columns=_COLUMNS)
    if section.note:
        yield from labelled("", section.note, width=0, columns=_COLUMNS)


def _facts(name: str, value: Any) -> Iterator[tuple[str, Any]]:
    """Yield the facts of nested data with the places where they are: ``nvme.smart.used_percent``."""
    if isinstance(value, dict):
        for key, part in value.items():
            yield from _facts(f"{name}.{key}" if name else key, part)
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _facts(f"{name}.{index}", part)
    elif value is not None:
        yield name, value
