"""Find a wheel with the compiled core of this checkout: ``python packaging/prebuilt.py DIRECTORY`` prints its path.

If none fits, the exit status is 1. Without DIRECTORY it prints the fingerprint of the sources.

``make wheels`` puts the fingerprint of the Rust sources into each wheel. A wheel fits if it has the fingerprint of this
checkout and this interpreter can install it. Needs nothing but Python's own library, since it runs before anything is
installed.
"""

from __future__ import annotations

import hashlib
import platform
import sys
import zipfile
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CORE = "iogauge/_core.abi3.so"
FINGERPRINT = "iogauge/_core.sources"
"""The paths in a wheel of its core, and of the fingerprint of the sources that it was compiled from."""


def fingerprint(root: Path = ROOT) -> str:
    """Return the SHA-256 of the names and contents of all that the core is compiled from."""
    sources = [root / "Cargo.toml", root / "Cargo.lock"]
    for pattern in ("*.rs", "Cargo.toml"):
        sources += (root / "crates").rglob(pattern)
    digest = hashlib.sha256()
    for source in sorted(sources):
        content = source.read_bytes()
        digest.update(f"{source.relative_to(root)} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def fitting(folder: Path, root: Path = ROOT) -> Path | None:
    """Return a wheel in ``folder`` whose core was compiled for this processor from the sources below ``root``."""
    if not sys.platform.startswith("linux"):
        return None
    wanted = fingerprint(root)
    for wheel in sorted(folder.glob(f"iogauge-*-cp311-abi3-manylinux*_{platform.machine()}.whl")):
        try:
            with zipfile.ZipFile(wheel) as archive:
                if archive.read(FINGERPRINT).decode().strip() == wanted:
                    return wheel
        except (KeyError, OSError, zipfile.BadZipFile):
            continue
    return None


if __name__ == "__main__":
    answer = fitting(Path(sys.argv[1])) if sys.argv[1:] else fingerprint()
    if answer is None:
        sys.exit(1)
    print(answer)
