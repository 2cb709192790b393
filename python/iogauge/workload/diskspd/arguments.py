"""Reads a command line of DiskSpd into a ``Command``, and writes it back.

Every value has the meaning that DiskSpd's parser gives it. That parser is stricter than its help in places (``-w``
needs its number) and laxer in others (it reads ``-d60s`` as sixty). Values that it reads only in part are refused here.
Options that change the issued I/O and cannot work on Linux are refused by name. Options that only concern Windows or
the output are accepted, with a note in ``notes``.

``jobs.py`` turns a command into fio jobs, and ``commands.py`` turns jobs into commands.

Source: DiskSpd 2.2 (CmdLineParser.cpp, Common.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final, Literal

from iogauge.text.option import either
from iogauge.workload.numbers import size_text
from iogauge.workload.options.kinds import MODEL
from iogauge.workload.problem import BadValue, Place, shown

Content = Literal["pattern", "zero", "random", "buffer"]
"""The written data: the bytes 0 to 255 over and over, zeroes, random data for every write, or one random buffer."""

_SIZE: Final = re.compile(r"([0-9]{1,18})([kmgtb]?)", re.IGNORECASE)
_POWERS: Final = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}
_LARGEST: Final = 2**63 - 1
_DRIVE: Final = re.compile(r"[A-Za-z]:")


@dataclass(frozen=True, kw_only=True)
class Command:
    """One command line of DiskSpd, with DiskSpd's defaults. The comment of a field names the option that sets it."""

    targets: tuple[str, ...] = ()
    block_bytes: int = 64 * 1024
    """-b. At least 1."""
    duration_s: int = 10
    warmup_s: int = 5
    """-W."""
    cooldown_s: int = 0
    """-C: time that the load continues after the measured time."""
    threads: int = 1
    """-t, for each target. At least 1."""
    total_threads: int = 0
    """-F: threads for all targets together; 0: ``threads`` for each."""
    outstanding: int = 2
    """-o: requests in flight for each target of each thread. At least 1."""
    thread_outstanding: int = 0
    """-O: requests in flight for all targets of a thread; 0: ``outstanding`` for each."""
    write_percent: int = 0
    random_percent: int = 0
    """-r (100) and -rs: share of the requests with a random offset; 0: sequential."""
    align_bytes: int = 0
    """-r: alignment of random offsets; -s: distance between sequential requests; 0: the block size."""
    interlocked: bool = False
    """-si: all threads of a target share one sequence."""
    thread_stride_bytes: int = 0
    """-T: distance between the starts of the sequences of a target's threads."""
    zones: tuple[tuple[int, int], ...] = ()
    """-rdpct: percent of the requests and percent of the target; the remaining requests go to the rest."""
    unbuffered: bool = False
    """-Su: bypass the cache."""
    write_through: bool = False
    """-Sw: write through. -Sh sets both."""
    base_bytes: int = 0
    """-B."""
    end_bytes: int = 0
    """-f, or the end of -B: the end of the last possible request; 0: the target's end."""
    create_bytes: int = 0
    """-c; 0: the target exists."""
    rate_Bpms: int = 0
    """-g: bytes a millisecond for each target of each thread; 0: no limit."""
    rate_iops: int = 0
    """-g with i: requests a second for each target of each thread; 0: no limit."""
    burst: int = 0
    """-i: requests between two pauses, of all threads of a target together; 0: no pauses."""
    think_ms: int = 0
    """-j: length of a pause."""
    seed: int | None = 0
    """-z; None: taken from the clock."""
    content: Content = "pattern"
    buffer_bytes: int = 0
    """-Z with a size."""
    cpus: tuple[int, ...] = ()
    """-a: threads take these CPUs in turn. Empty: all."""
    unpinned: bool = False
    """-n: do not pin threads to CPUs."""
    latency: bool = False
    """-L: print latencies. iogauge always does."""
    interval_ms: int = 0
    """-D; 0: not given."""
    notes: tuple[str, ...] = ()
    """Sentences about options that have no effect in iogauge."""

    def arguments(self, *, xml: bool = False) -> tuple[str, ...]:
        """Return the command line, without the program's name; ``xml`` asks for XML on stdout.

        >>> " ".join(Command(targets=("t.dat",), block_bytes=4096, random_percent=100).arguments())
        '-b4k -d10 -W5 -o2 -t1 -w0 -r t.dat'
        """
        words = [f"-b{_size(self.block_bytes)}", f"-d{self.duration_s}", f"-W{self.warmup_s}"]
        words += [f"-O{self.thread_outstanding}" if self.thread_outstanding else f"-o{self.outstanding}"]
        words += [f"-F{self.total_threads}" if self.total_threads else f"-t{self.threads}"]
        words += [f"-w{self.write_percent}", *self._pattern()]
        words += ["-S" + "u" * self.unbuffered + "w" * self.write_through] * (
            self.unbuffered or self.write_through
        )
        for letter, value, text in (
            ("C", self.cooldown_s, str(self.cooldown_s)),
            ("T", self.thread_stride_bytes, _size(self.thread_stride_bytes)),
            ("B", self.base_bytes, _size(self.base_bytes)),
            ("f", self.end_bytes, _size(self.end_bytes)),
            ("c", self.create_bytes, _size(self.create_bytes)),
            ("g", self.rate_Bpms, str(self.rate_Bpms)),
            ("g", self.rate_iops, f"{self.rate_iops}i"),
            ("i", self.burst, str(self.burst)),
            ("j", self.think_ms, str(self.think_ms)),
            ("z", self.seed != 0, "" if self.seed is None else str(self.seed)),
            ("Z", self.content != "pattern", self._content()),
            ("a", self.cpus, ",".join(map(str, self.cpus))),
            ("n", self.unpinned, ""),
            ("L", self.latency, ""),
            ("D", self.interval_ms, str(self.interval_ms)),
            ("R", xml, "xml"),
        ):
            words += [f"-{letter}{text}"] if value else []
        return (*words, *self.targets)

    def _pattern(self) -> list[str]:
        align = _size(self.align_bytes) if self.align_bytes else ""
        if not self.random_percent:
            return [f"-s{'i' * self.interlocked}{align}"] if self.interlocked or align else []
        words = [f"-rs{self.random_percent}"] if self.random_percent < 100 else []
        words += [f"-r{align}"] if align or not words else []
        if self.zones:
            words.append("-rdpct" + ":".join(f"{io}/{target}" for io, target in self.zones))
        return words

    def _content(self) -> str:
        return {"random": "r", "buffer": _size(self.buffer_bytes)}.get(self.content, "")


def command_line(words: Iterable[str]) -> str:
    """Return words as one line for a shell of Windows. Words with blanks are put in double quotes.

    >>> print(command_line(["-b4k", "D:\\\\my disk.dat"]))
    -b4k "D:\\my disk.dat"
    """
    return " ".join(f'"{word}"' if re.search(r"\s", word) else word for word in words)


def _size(value: int) -> str:
    """Write a size as DiskSpd reads it: with fio's suffixes, up to T."""
    text = size_text(value)
    return f"{int(text[:-1]) * 1024}t" if text.endswith("p") else text


def read(arguments: Sequence[str], *, windows: bool = False) -> Command:
    """Read a command line, with or without the program's name. Raises ``IogaugeError``.

    ``windows`` means that the command ran on Windows and will not run here. Its targets may have Windows names (``#1``
    becomes the path of that drive), and any output format is accepted.

    >>> command = read("-d600 -b4k -w30 -r -o4 -t8 -h -L t.dat".split())
    >>> command.block_bytes, command.unbuffered, command.write_through, command.warmup_s
    (4096, True, True, 5)
    """
    words = list(arguments)
    if words and re.fullmatch(r"(?:.*[\\/])?diskspd(?:\.exe)?", words[0], re.IGNORECASE):
        words = words[1:]
    parser = _Parser(windows=windows)
    first = next((at for at, word in enumerate(words) if not word.startswith("-")), len(words))
    options, targets = words[:first], words[first:]
    # Sizes can be given in blocks before -b gives the block size, so -b is read first.
    word = ""
    try:
        for word in sorted(options, key=lambda option: not option.startswith("-b")):
            parser.option(word)
        for word in targets:
            parser.target(word)
        word = ""
        return parser.command()
    except BadValue as problem:
        raise Place("diskspd", is_argument=not windows).error(word, str(problem), hint=problem.hint) from None


_REFUSED: Final = {
    "X": ("reads a profile from a file", "write its values as options"),
    "e": ("traces by ETW, which only Windows has", "remove it"),
    "y": ("waits for events of Windows, or sets them", "remove it"),
    "p": (
        "starts several requests at the same offset, which is not supported",
        "remove it, or use -o1 with more threads",
    ),
    "l": ("requests large pages, which are not supported", "remove it"),
    "I": ("sets an I/O priority, which is not supported", "remove it, or start iogauge with ionice"),
    "N": ("flushes mapped memory, which is not supported", "remove it"),
    ":": ("switches on an experiment of DiskSpd", "remove it"),
}
_NOTED: Final = {
    "P": "progress is shown on stderr, not as a dot after a number of I/Os (-P)",
    "v": "the results are the same with -v",
    "x": "-x has no effect: the engine determines how completions are taken",
}


class _Parser:
    """Reads the options and targets of one command line. Its methods raise ``BadValue``."""

    def __init__(self, *, windows: bool) -> None:
        self.windows = windows
        self.values: dict[str, Any] = {}
        self.notes: list[str] = []
        self.targets: list[str] = []
        self.seen: set[str] = set()

    def option(self, word: str) -> None:
        letter, rest = word[1:2], word[2:]
        self.seen.add(letter)
        if letter in _REFUSED:
            raise BadValue(_REFUSED[letter][0], hint=_REFUSED[letter][1])
        if letter in _NOTED:
            self.notes.append(_NOTED[letter])
        elif letter in _PLAIN:
            field, minimum = _PLAIN[letter]
            self.values[field] = _whole(rest, minimum=minimum)
        elif letter in _ALONE:
            if rest:
                raise BadValue("takes no value", hint="write only the letter")
            _ALONE[letter](self)
        elif letter in _SIZES:
            self.values[_SIZES[letter]] = self.size(rest, minimum=1)
        elif letter in _OWN:
            _OWN[letter](self, rest)
        else:
            raise BadValue(
                "is not an option of DiskSpd",
                hint="write options before targets, each as one word such as -b4k",
            )

    def size(self, text: str, *, minimum: int = 0) -> int:
        match = _SIZE.fullmatch(text)
        if match is None:
            raise BadValue(
                "needs a size", hint="write bytes, or a number with K, M, G, T (powers of 1024) or b (blocks)"
            )
        suffix = match[2].lower()
        unit = (
            self.values.get("block_bytes", Command.block_bytes) if suffix == "b" else 1024 ** _POWERS[suffix]
        )
        value = int(match[1]) * unit
        if not minimum <= value <= _LARGEST:
            raise BadValue(f"must be from {minimum} to {_LARGEST} bytes", hint="use another size")
        return int(value)

    def target(self, word: str) -> None:
        if word.startswith("-"):
            raise BadValue("is an option after a target", hint="write all options before the targets")
        if self.windows:
            self.targets.append(rf"\\.\PhysicalDrive{word[1:]}" if word.startswith("#") else word)
            return
        if word.startswith("#") or _DRIVE.fullmatch(word):
            raise BadValue(
                "is a Windows name of a drive",
                hint="name a device such as /dev/nvme0n1, or a model such as model:p4800x",
            )
        if word.startswith("*"):
            raise BadValue("is a placeholder of an XML profile", hint="name a file or a device")
        if "\\" in word or (_DRIVE.match(word) and not word.startswith(MODEL)):
            raise BadValue("is a Windows path", hint="name a file or a device of this machine")
        self.targets.append(word)

    def bounds(self, rest: str) -> None:
        base, colon, length = rest.partition(":")
        self.values["base_bytes"] = self.size(base)
        if colon:
            self._end(self.values["base_bytes"] + self.size(length, minimum=1))

    def end(self, rest: str) -> None:
        if rest and not set(rest) - set("rst"):
            self.notes.append("hints to the cache of Windows (-fr, -fs, -ft) have no effect")
            return
        self._end(self.size(rest, minimum=1))

    def _end(self, value: int) -> None:
        if "end_bytes" in self.values:
            raise BadValue("sets the end a second time", hint="keep one of -f and -B with a length")
        self.values["end_bytes"] = value

    def rate(self, rest: str) -> None:
        field, other = ("rate_iops", "rate_Bpms") if rest.endswith("i") else ("rate_Bpms", "rate_iops")
        self.values[field] = _whole(rest.removesuffix("i"), minimum=1)
        self.values.pop(other, None)

    def random(self, rest: str) -> None:
        if rest.startswith("s"):
            self.values["random_percent"] = _whole(rest[1:], minimum=1, maximum=100)
        elif rest.startswith("d"):
            self.zones(rest[1:])
        else:
            self.values.setdefault("random_percent", 100)
            self.values["align_bytes"] = self.size(rest, minimum=1) if rest else 0

    def zones(self, rest: str) -> None:
        if not rest.startswith("pct"):
            raise BadValue(
                "is not a supported distribution", hint="write -rdpct with percentages of the target"
            )
        zones = []
        for pair in rest[3:].split(":"):
            requests, slash, target = pair.partition("/")
            if not slash:
                raise BadValue(
                    "needs zones",
                    hint="write percentages of the I/Os and of the target, such as -rdpct90/10:5/20",
                )
            zones.append((_whole(requests, maximum=100), _whole(target, minimum=1, maximum=100)))
        ios, covered = (sum(column) for column in zip(*zones, strict=True))
        if ios > 100 or covered > 100 or (covered == 100 and ios < 100):
            raise BadValue(
                "has percentages that cannot add up to 100",
                hint="let the I/Os and the parts of the target each add up to at most 100",
            )
        self.values["zones"] = tuple(zones)

    def sequential(self, rest: str) -> None:
        self.values["interlocked"] = rest.startswith("i")
        stride = rest.removeprefix("i")
        self.values["align_bytes"] = self.size(stride) if stride else 0
        if stride and self.values["align_bytes"] < self.values.get("block_bytes", Command.block_bytes):
            raise BadValue(
                "makes requests overlap, which is not supported", hint="use at least the size of -b"
            )

    def caching(self, rest: str) -> None:
        for flag in rest or "u":
            if flag in "mr":
                use = "uses mapped memory" if flag == "m" else "concerns caches of remote file systems"
                raise BadValue(f"{use}, which is not supported", hint="use -Su, -Sw or -Sh")
            if flag not in "bhuw":
                raise BadValue("is not a mode of caching", hint="use -Sb, -Su, -Sw or -Sh")
            modes = {"cache"} if flag in "bu" else {"through"} if flag == "w" else {"cache", "through"}
            if modes & self.seen:
                raise BadValue(
                    "repeats or contradicts an earlier mode of caching", hint="use one of -Su, -Sw and -Sh"
                )
            self.seen |= modes
            self.values |= {"unbuffered": True} if flag in "uh" else {}
            self.values |= {"write_through": True} if flag in "wh" else {}

    def content(self, rest: str) -> None:
        if "," in rest:
            raise BadValue(
                "reads the data to write from a file, which is not supported",
                hint="use -Zr, or -Z with a size",
            )
        self.values["content"] = {"": "zero", "r": "random"}.get(rest, "buffer")
        if self.values["content"] == "buffer":
            self.values["buffer_bytes"] = self.size(rest, minimum=1)

    def affinity(self, rest: str) -> None:
        if rest == "g":
            return
        words = rest.split(",")
        if words[0].startswith("g") and (words.pop(0) != "g0" or not words):
            raise BadValue("names a processor group, which Linux lacks", hint="name CPUs, such as -a0,1")
        cpus = [*self.values.get("cpus", ()), *(_whole(word, maximum=1023) for word in words)]
        if len(set(cpus)) < len(cpus):
            raise BadValue("names a CPU twice", hint="name each CPU once")
        self.values["cpus"] = tuple(cpus)

    def seed(self, rest: str) -> None:
        self.values["seed"] = _whole(rest, maximum=2**32 - 1) if rest else None

    def interval(self, rest: str) -> None:
        self.values["interval_ms"] = _whole(rest, minimum=1) if rest else 1000

    def output_format(self, rest: str) -> None:
        if rest != "text" and not self.windows:
            raise BadValue(
                "is not a supported output format",
                hint=either(
                    command="use --output-format=json, or --parse-only to see only the jobs",
                    library="leave it out: the result has to_dict() and to_json()",
                ),
            )

    def writes(self, rest: str) -> None:
        self.values["write_percent"] = _whole(rest, maximum=100)

    def command(self) -> Command:
        command = Command(targets=tuple(self.targets), notes=tuple(dict.fromkeys(self.notes)), **self.values)
        for wrong, reason, hint in _contradictions(command, self.seen):
            if wrong:
                raise BadValue(reason, hint=hint)
        if command.cooldown_s:
            return replace(
                command, notes=(*command.notes, "no requests are issued after the measured time (-C)")
            )
        return command


def _contradictions(command: Command, seen: set[str]) -> tuple[tuple[bool, str, str], ...]:
    """Return whether each refused combination occurs, with reason and hint.

    DiskSpd refuses some of the combinations itself; iogauge cannot run the others.
    """
    random, several = bool(command.random_percent), command.threads > 1 or command.total_threads > 1
    end = command.end_bytes or command.create_bytes
    return (
        (not command.targets, "names no target", "name a file, a device or a model after the options"),
        (len(set(command.targets)) < len(command.targets), "names a target twice", "name each target once"),
        ({"t", "F"} <= seen, "-t and -F cannot be used together", "keep one of them"),
        (bool(command.thread_outstanding) and "F" not in seen, "-O needs -F", "use -o, or add -F"),
        (
            bool(command.total_threads) and len(command.targets) > 1 and not command.thread_outstanding,
            "-F with -o keeps a number of requests in flight on every target, which is not supported",
            "use -t, or -O instead of -o",
        ),
        (
            bool(command.thread_outstanding and (command.rate_Bpms or command.rate_iops or command.think_ms)),
            "-g and -j cannot be used with -O",
            "use -t and -o",
        ),
        ("x" in seen and "g" in seen, "-g cannot be used with -x", "remove -x"),
        ("n" in seen and "a" in seen, "-n and -a cannot be used together", "keep one of them"),
        (bool(command.burst) != bool(command.think_ms), "-i and -j need each other", "use both, or neither"),
        (
            0 < command.burst < command.threads * (not command.total_threads) + command.total_threads,
            "-i is shared by all threads and leaves some without a request",
            "use a multiple of the number of threads",
        ),
        ("s" in seen and "r" in seen, "-s conflicts with -r", "keep one of them"),
        (random and "T" in seen, "-T conflicts with -r", "remove -T"),
        ("T" in seen and not several, "-T has no effect with one thread", "remove -T, or add -t"),
        ("T" in seen and bool(command.total_threads), "-T is supported only with -t", "use -t"),
        (command.interlocked and "T" in seen, "-si conflicts with -T", "keep one of them"),
        (
            command.interlocked and several,
            "-si makes threads share one sequence, which is not supported",
            "use one thread with a larger -o, or -s with -T",
        ),
        (bool(command.zones) and not random, "-rd needs random requests", "add -r"),
        (
            0 < command.buffer_bytes < command.block_bytes,
            "-Z is smaller than a block",
            "use at least the size of -b",
        ),
        (
            0 < end <= command.base_bytes,
            "-B begins at or after the end (-f or -c)",
            "lower -B, or raise -f or -c",
        ),
    )


def _whole(text: str, *, minimum: int = 0, maximum: int = 2**31 - 1) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 12 and minimum <= int(text) <= maximum):
        verb = f"'{shown(text)}' is not" if text else "needs"
        raise BadValue(
            f"{verb} a whole number from {minimum} to {maximum}",
            hint="write the number directly after the letter",
        )
    return int(text)


_PLAIN: Final = {
    "d": ("duration_s", 1), "W": ("warmup_s", 0), "C": ("cooldown_s", 0), "t": ("threads", 1),
    "F": ("total_threads", 1), "o": ("outstanding", 1), "O": ("thread_outstanding", 1), "i": ("burst", 1),
    "j": ("think_ms", 1),
}  # fmt: skip
"""Letters with a whole number: the field, and the smallest value."""

_ALONE: Final[dict[str, Callable[[_Parser], None]]] = {
    "L": lambda parser: parser.values.update(latency=True),
    "n": lambda parser: parser.values.update(unpinned=True),
    "h": lambda parser: parser.caching("h"),
}
_OWN: Final[dict[str, Callable[[_Parser, str], None]]] = {
    "a": _Parser.affinity,
    "B": _Parser.bounds,
    "D": _Parser.interval,
    "f": _Parser.end,
    "g": _Parser.rate,
    "r": _Parser.random,
    "R": _Parser.output_format,
    "s": _Parser.sequential,
    "S": _Parser.caching,
    "w": _Parser.writes,
    "z": _Parser.seed,
    "Z": _Parser.content,
}
_SIZES: Final = {"b": "block_bytes", "c": "create_bytes", "T": "thread_stride_bytes"}
