"""A thousand malformed requests to each view: every answer is a page or a refusal, none breaks the view."""

from __future__ import annotations

import random
from collections.abc import Iterator
from urllib.parse import quote, quote_from_bytes

import pytest

from iogauge.index import Index
from iogauge.web import guard
from iogauge.web.app import make_app
from iogauge.web.settings import Settings
from iogauge.web.starting import Starter
from tests import reviews
from tests.fast.web.client import HOST, ORIGIN, TOKEN, Client
from tests.fast.web.running import own_runtime
from tests.reviews import Drive

REQUEST_COUNTS = [pytest.param(100, marks=pytest.mark.slow), pytest.param(1000, marks=pytest.mark.release)]
VIEWS = {
    "/": ("search", "drive", "host", "suite", "tag", "since", "until", "order", "offset", "review", "save"),
    "/reviews/rows": ("search", "order", "offset", "since", "until"),
    "/notes": ("review",),
    "/review/": ("save",),
    "/compare": ("review", "baseline", "search", "save"),
    "/explore": ("suite", "series", "direction", "metric", "x", "group", "at", "review", "save"),
    "/live": ("save",),
    "/live/": ("after", "save", "row"),
    "/live/1/events": ("after", "start"),
    "/explore.csv": ("x", "y", "save"),
    "/start": ("target", "suite", "pace", "size", "resume", "save"),
    "/models": ("save",),
    "/models/": ("set", "machine", "save"),
}
"""The views, and the names that their addresses may have. ``rw`` and ``sql`` are left out, which begin processes: their
own tests have hostile values of these."""
CHANGES = ("/notes", "/start/plan", "/start/run", "/start/end", "/start/resume", "/session")


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    directory = tmp_path_factory.mktemp("malformed")
    reviews.save(directory / "a", Drive("Flash", seconds=2, reads_a_second=100), pressures_MBps=(100, 300))
    reviews.save(directory / "b", Drive("Other", seconds=2, reads_a_second=100), pressures_MBps=(100, 300))
    with pytest.MonkeyPatch.context() as patch:
        own_runtime(tmp_path_factory.mktemp("runtime"), patch)
        patch.setattr(guard, "BURST", 10**9)
        with Index.open(directory) as index:
            index.refresh()
            settings = Settings(directory=directory, token=TOKEN, allow_start=True)
            yield Client(make_app(settings, index, starter=Starter(directory)))


def hostile(source: random.Random) -> str:
    """Return a value, quoted for an address."""
    kind = source.randrange(8)
    if kind == 0:
        return quote_from_bytes(source.randbytes(source.randrange(40)))
    if kind == 1:
        return "".join(source.choices("%0123456789abcdef&=?#;/.\\\0 +", k=source.randrange(30)))
    texts = (
        "a", "b", "write-pressure", "../../etc/passwd", "/etc/passwd", "..%2f..%2f", "a/../b", "-1", "1e999",
        "NaN", "99999999999999999999", "0x10", "2026-13-45", "0001-01-01", "9999-12-31", "' OR 1=1 --", "\0",
        "<script>alert(1)</script>", "{{ 7 * 7 }}", "%s%n", "p99_ns", "mean_ns", "date", "drive", "\ud83d\ude00",
        "model:p4800x", "p4800x", "ideal", "media.channels=1e308", "media.channels=-5", "=", "a=b=c", "é" * 200,
    )  # fmt: skip
    return quote(source.choice(texts).encode("utf-8", "surrogatepass"), safe="/%")


@pytest.mark.parametrize("requests", REQUEST_COUNTS)
@pytest.mark.parametrize("view", VIEWS)
def test_no_address_breaks_a_view(client: Client, view: str, requests: int) -> None:
    source = random.Random(view)
    answered = set()
    for _ in range(requests):
        names = source.choices([*VIEWS[view], "unknown", ""], k=source.randrange(4))
        query = "&".join(f"{name}={hostile(source)}" for name in names)
        path = view + hostile(source) if view.endswith("/") and len(view) > 1 else view
        target = f"{path}?{query}" if query else path
        answer = client.get(target)
        answered.add(answer.status)
        assert answer.status in (200, 400, 404, 405, 409), (target, answer.text[:2000])
        assert "<script>alert(1)" not in answer.text, target
        assert "root:x:0" not in answer.text, target
    assert 200 in answered or view in (
        "/notes", "/live/", "/live/1/events", "/explore.csv", "/review/", "/models/"
    )  # fmt: skip


@pytest.mark.parametrize("requests", REQUEST_COUNTS)
@pytest.mark.parametrize("address", CHANGES)
def test_no_content_breaks_a_change(client: Client, address: str, requests: int) -> None:
    source = random.Random(address)
    words = (
        "review",
        "text",
        "target",
        "targets",
        "suites",
        "pace",
        "pid",
        "start",
        "token",
        "options",
        "serial",
        "a",
    )

    def value(depth: int = 0) -> object:
        kind = source.randrange(9 if depth < 3 else 7)
        if kind == 7:
            return [value(depth + 1) for _ in range(source.randrange(4))]
        if kind == 8:
            return {source.choice(words): value(depth + 1) for _ in range(source.randrange(4))}
        return (None, True, -1, 10**30, 1.5, "../a", source.choice(("", "none", "\0", "x" * 3000)))[kind]

    for _ in range(requests // 4):
        answer = client.post(address, value())
        assert 400 <= answer.status < 500, (address, answer.text)
    headers = {
        "content-type": "application/json",
        "origin": ORIGIN,
        "sec-fetch-site": "same-origin",
        "host": HOST,
    }
    for _ in range(requests // 4):
        body = source.choice(
            (source.randbytes(source.randrange(60)), b"[" * 5000, b'{"a":' * 3000, b"{}\xff", b"")
        )
        answer = client.send("POST", address, headers=headers, body=body)
        assert 400 <= answer.status < 500, (address, body[:100], answer.text)
