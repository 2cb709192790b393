"""The guest that the tests share. A test that reboots it, or takes a drive away, has one of its own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.vm.guest import OUT, Drive, Guest, missing


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if reason := ", ".join(missing()) or ("" if (OUT / "root.img").exists() else "its image: make test-vm"):
        for item in items:
            item.add_marker(pytest.mark.skip(reason=f"the guest lacks {reason}"))


@pytest.fixture(scope="session")
def guest(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guest]:
    """Return a guest with two empty NVMe drives, A1 and B2.

    The controller of QEMU 7.2 sometimes loses a request under load. Linux resets it after this timeout, usually 30 s.
    """
    drives = [Drive("A1"), Drive("B2")]
    with Guest(tmp_path_factory.mktemp("guest"), drives, kernel_options="nvme_core.io_timeout=5") as guest:
        yield guest
