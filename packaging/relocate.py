"""Take the checkout's directory out of a wheel's list of crates: ``python packaging/relocate.py WHEEL``.

maturin names each crate of the workspace by its path on the machine that builds. Without it, a wheel of one commit is
the same, byte for byte, wherever it is built.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import zipfile
from pathlib import Path

from wheel.wheelfile import WheelFile

ROOT = Path(__file__).resolve().parents[1]
NEUTRAL = "file:///iogauge"


def relocate(wheel: Path, root: Path = ROOT) -> None:
    """Replace the URL of ``root`` in the lists of crates in ``wheel``, and their hashes in its RECORD."""
    # A wheel is parsed by its name, so the new one is made under that name in a directory of its own.
    with tempfile.TemporaryDirectory(dir=wheel.parent) as folder:
        made = Path(folder) / wheel.name
        with zipfile.ZipFile(wheel) as archive, WheelFile(made, "w") as relocated:
            for entry in archive.infolist():
                content = archive.read(entry)
                if ".dist-info/sboms/" in entry.filename:
                    content = content.replace(root.as_uri().encode(), NEUTRAL.encode())
                if not entry.filename.endswith(".dist-info/RECORD"):
                    relocated.writestr(entry, content)
        shutil.copymode(wheel, made)
        made.replace(wheel)


if __name__ == "__main__":
    relocate(Path(sys.argv[1]))
