"""Fixtures that make devices, and pages in a browser, for several tests."""

from __future__ import annotations

import contextlib
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, sync_playwright

from tests.refusals import IMAGE_BYTES, Attach, sh
from tests.system import pages


@pytest.fixture
def zram() -> Iterator[str]:
    """A device of 16 MiB in memory, whose driver has no non-blocking I/O."""
    control = Path("/sys/class/zram-control")
    if not control.exists():
        pytest.skip("needs zram")
    number = (control / "hot_add").read_text().strip()
    folder = Path(f"/sys/block/zram{number}")
    (folder / "disksize").write_text("16M")
    yield f"/dev/zram{number}"
    (folder / "reset").write_text("1")
    (control / "hot_remove").write_text(number)


@pytest.fixture
def undo() -> Iterator[contextlib.ExitStack]:
    with contextlib.ExitStack() as stack:
        yield stack


@pytest.fixture
def image(tmp_path: Path) -> Path:
    path = tmp_path / "disk.img"
    with path.open("wb") as file:
        file.truncate(IMAGE_BYTES)
    return path


@pytest.fixture
def attach(undo: contextlib.ExitStack) -> Attach:
    def attach_file(path: Path | str, *options: str) -> str:
        device = sh("losetup", "--find", "--show", *options, str(path))
        undo.callback(subprocess.run, ["losetup", "-d", device], capture_output=True, check=False)
        return device

    return attach_file


@pytest.fixture
def disk(image: Path, attach: Attach) -> str:
    return attach(image, "-P")


@pytest.fixture
def mount(tmp_path: Path, undo: contextlib.ExitStack) -> Callable[..., Path]:
    def mount_device(device: str, *options: str) -> Path:
        point = tmp_path / f"mnt{len(list(tmp_path.iterdir()))}"
        point.mkdir()
        sh("mount", *options, device, str(point))
        undo.callback(subprocess.run, ["umount", str(point)], capture_output=True, check=False)
        return point

    return mount_device


@pytest.fixture(scope="session")
def _chromium() -> Iterator[Browser]:
    with sync_playwright() as playwright:
        # Root has no sandbox of Chromium's, and these pages are our own.
        opened = playwright.chromium.launch(executable_path=pages.CHROMIUM, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.fixture
def browser(_chromium: Browser) -> Iterator[Browser]:
    """A browser whose windows close with the test, since one that is left open goes on drawing."""
    yield _chromium
    for context in _chromium.contexts:
        context.close()


_KINDS = [
    pytest.param(kind, marks=pytest.mark.release) if kind == pages.LONGEST_KIND else kind
    for kind in pages.KINDS
]


@pytest.fixture(scope="session", params=_KINDS)
def report(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of each kind of report."""
    return pages.report(request.param, tmp_path_factory)
