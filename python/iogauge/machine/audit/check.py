"""What a check is: where it looks, what low latency wants there, and why.

A check never guesses. A file that is missing or unreadable makes the fact unknown; only a reason that was read itself
(the drive is not NVMe, the machine is virtual) makes it not applicable.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from iogauge.machine.audit.subject import Subject
from iogauge.schema.audit import AuditFact, Verdict

_OF_A_PATH = ("interrupts", "nvme", "pcie")
"""The groups whose checks look at one controller of the drive, and at the way to it."""
_WORST_FIRST: tuple[Verdict, ...] = ("differs", "unknown", "pass", "recorded", "not applicable")


@dataclass(frozen=True)
class Seen:
    """What a check read: one value, or one for each CPU or file."""

    path: str
    values: tuple[str, ...] = ()
    """Every distinct value; none: it could not be read."""
    problem: str = "no such file"
    """Why there is no value."""
    meaning: str = ""
    """The values in words; empty: they say it themselves."""

    @property
    def text(self) -> str | None:
        """The values as one text; None: there is none."""
        return ", ".join(self.values) if self.values else None

    @property
    def explanation(self) -> str:
        """What the values mean, or why there is none."""
        return (self.meaning or self.text or "none") if self.values else self.problem


Look = Callable[[Subject], Seen]
Judge = Callable[[str], bool]
"""Returns whether one value is as wanted. Raises ValueError if the value cannot be understood."""
Reason = Callable[[Subject], str]
"""Returns the reason for which a check does not apply; empty: it applies."""


def always(_: Subject) -> str:
    """Apply to every machine."""
    return ""


@dataclass(frozen=True, kw_only=True)
class Check:
    """One setting of a machine or of the path to a drive."""

    id: str
    title: str
    look: Look
    wanted: str = ""
    """In words; empty: the value is only recorded."""
    judge: Judge | None = None
    why: str
    source: str
    change: str = ""
    """The command that sets the wanted value; ``{device}``, ``{pci}`` and ``{nvme}`` stand for the drive's names."""
    excused: Reason = always
    weight: int = 0
    """How much the setting changes latency by published evidence; ``machine.audit`` says what each number means."""
    volatile: bool = False
    """Whether the value changes by itself, so that a difference between two audits means nothing."""

    @property
    def group(self) -> str:
        """The first part of the id."""
        return self.id.partition(".")[0]

    def fact(self, subject: Subject) -> AuditFact:
        """Look, and judge what is there: of a drive with several paths, path by path."""
        if self.group not in _OF_A_PATH or len(subject.by_path) == 1:
            return self._fact_of(subject)
        return _together(
            {part.controller.name: self._fact_of(part) for part in subject.by_path if part.controller}
        )

    def _fact_of(self, subject: Subject) -> AuditFact:
        if reason := self.excused(subject):
            return self._fact(subject, Seen("", problem=reason), "not applicable")
        return self._fact(subject, *judged(self.look(subject), self.judge))

    def _fact(self, subject: Subject, seen: Seen, verdict: Verdict) -> AuditFact:
        names = {
            "device": subject.drive.name if subject.drive else "",
            "pci": subject.pci.name if subject.pci else "",
            "nvme": subject.nvme.name if subject.nvme else "",
            "ata": subject.ata_port.name if subject.ata_port else "",
        }
        return AuditFact(
            id=self.id,
            group=self.group,
            title=self.title,
            path=seen.path,
            value=seen.text,
            meaning=seen.explanation,
            verdict=verdict,
            wanted=self.wanted,
            why=self.why,
            source=self.source,
            change=self.change.format_map(names),
            weight=self.weight,
            volatile=self.volatile,
        )


def _together(facts: Mapping[str, AuditFact]) -> AuditFact:
    """Return one fact of several paths, by the names of their controllers: the worst verdict holds for all."""
    worst = min(facts.values(), key=lambda fact: _WORST_FIRST.index(fact.verdict))
    differing = [fact for fact in facts.values() if fact.verdict == "differs"]
    update: dict[str, str | None] = {
        "path": "; ".join(dict.fromkeys(fact.path for fact in facts.values() if fact.path)),
        "change": "; ".join(dict.fromkeys(fact.change for fact in differing or [worst])),
    }
    if len({(fact.value, fact.meaning) for fact in facts.values()}) > 1:
        values = [f"{name}: {fact.value}" for name, fact in facts.items() if fact.value is not None]
        update["value"] = "; ".join(values) or None
        update["meaning"] = "; ".join(f"{name}: {fact.meaning}" for name, fact in facts.items())
    return worst.model_copy(update=update)


def judged(seen: Seen, judge: Judge | None) -> tuple[Seen, Verdict]:
    """Return what a check saw, and its verdict; a value that ``judge`` does not understand becomes a problem.

    >>> judged(Seen("/a", ("1", "2")), at_most(1))[1], judged(Seen("/a", ("x",)), at_most(1))[1]
    ('differs', 'unknown')
    """
    if not seen.values:
        return seen, "unknown"
    if judge is None:
        return seen, "recorded"
    try:
        return seen, "pass" if all(map(judge, seen.values)) else "differs"
    except ValueError:
        return Seen(seen.path, problem=f"not understood: {', '.join(seen.values)}"), "unknown"


def file(path: str, *, chosen: bool = False) -> Look:
    """Look at one file below /sys or /proc; ``chosen``: at its word in brackets, as of ``[none] mq-deadline``."""
    return files(path, chosen=chosen)


def files(pattern: str, *, chosen: bool = False) -> Look:
    """Look at every file of a pattern; it may begin with a directory of the drive, such as ``{queue}``."""

    def look(subject: Subject) -> Seen:
        place = _placed(pattern, subject)
        if place is None:
            return Seen(pattern, problem="the drive's directory is not known")
        base, rest = place
        paths = sorted(base.glob(rest), key=_natural) if re.search(r"[*?\[]", rest) else [base / rest]
        shown = _shown(base / rest, subject)
        read: dict[str, list[str]] = {}
        problem = "no such file"
        for path in paths:
            value, why = read_value(path)
            if value is None and why == problem:
                continue  # a CPU that went offline
            if value is None:
                return Seen(shown, problem=why)
            if chosen:
                value = next(iter(re.findall(r"\[([^]]+)\]", value)), value)
            read.setdefault(value, []).append(_member(path, rest))
        if not read:
            return Seen(shown, problem=problem)
        meaning = (
            ""
            if len(read) == 1
            else "; ".join(f"{value} ({spans(owners)})" for value, owners in read.items())
        )
        return Seen(shown, tuple(read), meaning=meaning)

    return look


def read_value(path: Path) -> tuple[str | None, str]:
    """Return a small file's text without surrounding blanks, and why there is none. An empty file has the value ""."""
    try:
        return path.read_bytes().decode("utf-8", "replace").strip(" \t\r\n\0"), ""
    except FileNotFoundError:
        return None, "no such file"
    except PermissionError:
        return None, "permission denied: run as root"
    except OSError as error:
        return None, (error.strerror or str(error)).lower()


def spans(names: Iterable[str]) -> str:
    """Return names with numbers as ranges.

    >>> spans(["cpu0", "cpu1", "cpu2", "cpu8"]), spans(["policy4"])
    ('cpu0-2, cpu8', 'policy4')
    """
    parts: list[tuple[str, int, int]] = []
    others: list[str] = []
    for name in names:
        match = re.fullmatch(r"(\D*)(\d+)", name)
        if match is None:
            others.append(name)
        elif parts and parts[-1][0] == match[1] and parts[-1][2] + 1 == int(match[2]):
            parts[-1] = (match[1], parts[-1][1], int(match[2]))
        else:
            parts.append((match[1], int(match[2]), int(match[2])))
    return ", ".join(
        [f"{name}{low}" + (f"-{high}" if high > low else "") for name, low, high in parts] + others
    )


def equals(*wanted: str) -> Judge:
    """Want one of these words."""
    return lambda value: value in wanted


def at_most(limit: float) -> Judge:
    """Want a number that is not larger."""
    return lambda value: float(value) <= limit


def at_least(limit: float) -> Judge:
    """Want a number that is not smaller."""
    return lambda value: float(value) >= limit


def all_of(*reasons: Reason) -> Reason:
    """Excuse for the first reason that holds."""
    return lambda subject: next(filter(None, (reason(subject) for reason in reasons)), "")


def without_drive(subject: Subject) -> str:
    """Excuse checks of a drive if none is named."""
    return "" if subject.drive else "no target is named"


def without_pci(subject: Subject) -> str:
    """Excuse checks of PCIe if the drive is not on it."""
    return without_drive(subject) or ("" if subject.pci else "the drive is not a PCIe device")


def without_nvme(subject: Subject) -> str:
    """Excuse checks of NVMe if the drive is another."""
    return without_drive(subject) or ("" if subject.is_nvme else "the drive is not NVMe")


def without_ata(subject: Subject) -> str:
    """Excuse checks of SATA if the drive is another."""
    return without_drive(subject) or ("" if subject.ata_port else "the drive is not SATA")


def _placed(pattern: str, subject: Subject) -> tuple[Path, str] | None:
    """Return the directory that a pattern begins with, and the rest of it; None: the drive has none."""
    first, _, rest = pattern.partition("/")
    directories: dict[str, Path | None] = {
        "sys": subject.host.sys,
        "proc": subject.host.proc,
        "{disk}": subject.drive.directory if subject.drive else None,
        "{queue}": subject.drive.directory / "queue" if subject.drive else None,
        "{pci}": subject.pci,
        "{nvme}": subject.nvme,
        "{ata}": subject.ata_port,
    }
    base = directories[first]
    return None if base is None else (base, rest)


def _shown(path: Path, subject: Subject) -> str:
    """Return a path as it is on the machine, also where the tree is a recorded one."""
    for base, name in ((subject.host.sys, "/sys"), (subject.host.proc, "/proc")):
        if path.is_relative_to(base):
            return f"{name}/{path.relative_to(base)}"
        if path.is_relative_to(base.resolve()):
            return f"{name}/{path.relative_to(base.resolve())}"
    return str(path)


def _member(path: Path, pattern: str) -> str:
    """Return the part of a path that the pattern left open."""
    parts, wanted = path.parts[-len(Path(pattern).parts) :], Path(pattern).parts
    return next(
        (part for part, want in zip(parts, wanted, strict=True) if re.search(r"[*?\[]", want)), path.name
    )


def _natural(path: Path) -> list[tuple[int, str]]:
    """Sort cpu2 before cpu10."""
    return [(int(part) if part.isdecimal() else 0, part) for part in re.split(r"(\d+)", str(path))]
