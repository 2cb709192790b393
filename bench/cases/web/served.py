"""What pages cost a reader: ``iogauge web`` as a process, asked by HTTP, over reviews whose index is there already."""

from __future__ import annotations

import http.cookiejar
import json
import subprocess
import sys
import time
import urllib.parse
import urllib.request
from collections.abc import Callable
from pathlib import Path

from bench import peers
from bench.cases.web.processes import family, median_ms, peak_bytes
from iogauge.index import Index

COMPARED = 50
_PATIENCE_S = 120.0


def measured(directory: Path) -> dict[str, float]:
    """Return times in milliseconds, and the most resident memory of the server and its processes in bytes.

    ``cold`` is from the start of the process to the end of the list's page. Raises PeerError if the server fails.
    """
    with Index.open(directory) as index:
        first = index.reviews().rows[0]
        ids = [row.id for row in index.reviews("default", limit=COMPARED).rows]
    filtered = urllib.parse.urlencode({"drive": first.drives[0], "suite": first.suites[0]})
    compared = urllib.parse.urlencode([("review", name) for name in ids])
    began = time.monotonic()
    command = [sys.executable, "-m", "iogauge", "web", str(directory), "--port=0"]
    with subprocess.Popen(command, cwd=peers.ROOT, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            page = _signed_in(server.stdout.readline().strip())
            page("/")
            costs = {"cold": 1000 * (time.monotonic() - began)}
            costs |= {
                "list": median_ms(lambda: page("/")),
                "filter": median_ms(lambda: page(f"/reviews/rows?{filtered}")),
                "search": median_ms(lambda: page("/reviews/rows?search=acme+nightly")),
                "compare": median_ms(lambda: page(f"/compare?{compared}")),
            }
            return costs | {"bytes": float(sum(peak_bytes(pid) for pid in family(server.pid)))}
        finally:
            server.terminate()


def _signed_in(link: str) -> Callable[[str], bytes]:
    """Return what asks for a page of the server, after its token has been exchanged for the cookie."""
    if "#token=" not in link:
        raise peers.PeerError("the server printed no link")
    server, _, token = link.partition("/#token=")
    cookies = urllib.request.HTTPCookieProcessor(http.cookiejar.CookieJar())
    opener = urllib.request.build_opener(cookies)
    headers = {"Content-Type": "application/json", "Origin": server, "Sec-Fetch-Site": "same-origin"}
    body = json.dumps({"token": urllib.parse.unquote(token)}).encode()
    opener.open(urllib.request.Request(f"{server}/session", body, headers), timeout=_PATIENCE_S).close()

    def page(address: str) -> bytes:
        request = urllib.request.Request(server + address, headers={"Accept": "text/html"})
        with opener.open(request, timeout=_PATIENCE_S) as answer:
            content: bytes = answer.read()
            return content

    return page
