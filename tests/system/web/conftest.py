"""A real server over a directory of reviews, and a browser that is signed in to it."""

from __future__ import annotations

import contextlib
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page

from tests.system.pages import context

Serve = Callable[..., str]
"""Starts ``iogauge web`` over a directory, with further arguments; returns the link that it prints."""
Open = Callable[..., Page]
"""Opens an address below a link in a new window, signed in, with Playwright's options."""


@pytest.fixture(scope="module")
def serve(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serve]:
    """Start servers that end with the module."""
    with contextlib.ExitStack() as stack:

        def started(directory: Path, *options: str) -> str:
            command = [sys.executable, "-m", "iogauge", "web", str(directory), "--port=0", *options]
            process = subprocess.Popen(
                command, stdout=subprocess.PIPE, text=True, cwd=tmp_path_factory.mktemp("server")
            )
            stack.callback(process.wait)
            stack.callback(process.terminate)
            assert process.stdout is not None
            line = process.stdout.readline()
            assert "#token=" in line, line
            return line.strip()

        yield started


@pytest.fixture
def visit(browser: Browser) -> Open:
    """Open pages of a server."""

    def opened(link: str, address: str, **options: Any) -> Page:
        signed_in = context(browser)
        page = signed_in.new_page()
        page.goto(link)
        page.wait_for_selector("nav.views")
        # The cookie goes on in a window whose options may exclude scripts, which signing in needs.
        page = context(browser, storage_state=signed_in.storage_state(), **options).new_page()
        signed_in.close()
        page.goto(re.sub(r"/#token=.*", address, link))
        return page

    return opened
