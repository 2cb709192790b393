"""Build iogauge with maturin, except that an editable install takes the core from a wheel that fits the checkout.

So after ``make wheels``, ``make setup`` needs no cargo and saves minutes of compiling. It looks for wheels in ``dist``,
or where ``IOGAUGE_WHEELS`` says (``make setup WHEELS=DIRECTORY``).
"""

from __future__ import annotations

import os
import sys
import zipfile
from pathlib import Path

from maturin import build_editable as compile_editable
from maturin import (
    build_sdist,
    build_wheel,
    get_requires_for_build_editable,
    get_requires_for_build_sdist,
    get_requires_for_build_wheel,
    prepare_metadata_for_build_wheel,
)
from prebuilt import CORE, ROOT, fitting
from wheel.wheelfile import WheelFile

__all__ = [
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_wheel",
]


def build_editable(
    wheel_directory: str,
    config_settings: dict[str, object] | None = None,
    metadata_directory: str | None = None,
) -> str:
    """Make an editable wheel: from a wheel that fits the checkout, or by compiling the core."""
    prebuilt = fitting(Path(os.environ.get("IOGAUGE_WHEELS") or ROOT / "dist"), ROOT)
    if prebuilt is None:
        return str(compile_editable(wheel_directory, config_settings, metadata_directory))
    print(f"setup: the core is that of {prebuilt}", file=sys.stderr)
    unpack_core(prebuilt)
    return repack(prebuilt, Path(wheel_directory))


def unpack_core(wheel: Path) -> None:
    """Put the compiled core of ``wheel`` into the checkout, whole or not at all."""
    core = ROOT / "python" / CORE
    partial = core.with_suffix(".so.part")
    with zipfile.ZipFile(wheel) as archive:
        partial.write_bytes(archive.read(CORE))
    partial.chmod(0o755)
    partial.replace(core)


def repack(wheel: Path, folder: Path) -> str:
    """Write ``wheel`` into ``folder`` without its package, which is imported from the checkout; return its name."""
    with zipfile.ZipFile(wheel) as archive, WheelFile(folder / wheel.name, "w") as editable:
        for name in archive.namelist():
            if ".dist-info/" in name and not name.endswith(("/", "/RECORD")):
                editable.writestr(name, archive.read(name))
        editable.writestr("iogauge.pth", f"{ROOT / 'python'}\n")
    return wheel.name
