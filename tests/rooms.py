"""Count the lines of each room of the house, and the files of its folders, now or at another revision.

    python -m tests.rooms [REVISION]

A line counts if it is not empty. Tests of Rust that lie in files of their own (``tests.rs``, ``tests/``) are left out,
as are the tests of Python: what is counted is the program. Arrows between rooms and circles are for ``lint-imports``
and ``tests/fast/house/test_layers.py``.
"""

from __future__ import annotations

import subprocess
import sys
from collections import Counter
from pathlib import PurePath

ROOTS = ("python/iogauge", "crates")
CODE = (".py", ".rs", ".toml", ".j2", ".css", ".js")


def main() -> int:
    """Print a line for each room: its name, its lines, its files, and the most files that one of its folders has."""
    revision = sys.argv[1] if len(sys.argv) > 1 else "HEAD"
    lines: Counter[str] = Counter()
    folders: dict[str, Counter[str]] = {}
    for path in files(revision):
        room = room_of(path)
        lines[room] += sum(1 for line in git("show", f"{revision}:{path}").splitlines() if line.strip())
        folders.setdefault(room, Counter())[str(path.parent)] += 1
    for room in sorted(lines):
        most = max(folders[room].values())
        print(f"{lines[room]:7,} lines {folders[room].total():4} files {most:3} in a folder  {room}")
    print(f"{lines.total():7,} lines in all")
    return 0


def files(revision: str) -> list[PurePath]:
    """Return the program's files at a revision."""
    paths = map(PurePath, git("ls-tree", "-r", "--name-only", revision, *ROOTS).splitlines())
    return [path for path in paths if path.suffix in CODE and not tests(path)]


def tests(path: PurePath) -> bool:
    """Whether a file of Rust holds tests, examples or benchmarks alone."""
    return path.name in ("tests.rs", "testing.rs") or bool({"tests", "benches", "examples"} & {*path.parts})


def room_of(path: PurePath) -> str:
    """Return the package or crate of a file.

    >>> room_of(PurePath("python/iogauge/suites/snia/iops.py")), room_of(PurePath("crates/core/src/plan.rs"))
    ('iogauge.suites', 'core (Rust)')
    """
    if path.parts[0] == "crates":
        return f"{path.parts[1]} (Rust)"
    return "iogauge" if len(path.parts) == 3 else f"iogauge.{path.parts[2]}"


def git(*arguments: str) -> str:
    """Return what git prints."""
    return subprocess.run(["git", *arguments], check=True, capture_output=True, text=True).stdout


if __name__ == "__main__":
    sys.exit(main())
