"""The view of all reviews: what it lists, how it is narrowed, what is kept, and what it refuses."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.index import Index
from iogauge.live.finding import FeedInfo
from iogauge.store.notes import read_notes, write_notes
from iogauge.web.app import make_app
from iogauge.web.refreshing import Refresher
from iogauge.web.settings import Settings
from iogauge.web.views import reviews as view
from tests.fast.web.client import TOKEN, Client
from tests.reviews import Drive, save

HOSTILE = "<script>alert('x')</script>"
QUICK = Drive(seconds=2, reads_a_second=200)


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three reviews, one of them incomplete, and a damaged one."""
    directory = tmp_path_factory.mktemp("store")
    for name, model, created in (
        ("old", "Flash 9000", "2026-01-02T03:04:05+00:00"),
        ("lab/new", HOSTILE, "2026-03-04T05:06:07+00:00"),
    ):
        (directory / name).parent.mkdir(exist_ok=True)
        save(directory / name, replace(QUICK, model=model), pressures_MBps=(100, 300), created_at=created)
    save(directory / "part", QUICK, pressures_MBps=(100, 300), missing=(300,))
    (directory / "damaged").mkdir()
    (directory / "damaged" / "manifest.json").write_text("{")
    write_notes(directory / "lab" / "new", f"#lab after the repair {HOSTILE}")
    return directory


@pytest.fixture(scope="module")
def index(store: Path) -> Iterator[Index]:
    with Index.open(store) as opened:
        opened.refresh()
        yield opened


def client_of(index: Index, *, allow_start: bool = False) -> Client:
    chosen = Settings(directory=index.directory, token=TOKEN, allow_start=allow_start)
    return Client(make_app(chosen, index))


@pytest.fixture(scope="module")
def client(index: Index) -> Client:
    return client_of(index)


def listed(text: str) -> list[str]:
    """Return the ids of the rows in a page."""
    return re.findall(r'<tr [^>]*data-review="([^"]*)"', text)


def test_the_answer_comes_first_and_the_newest_review_on_top(client: Client) -> None:
    text = client.get("/").text
    assert "<h1>4 reviews of 2 drives</h1>" in text
    assert "begun 2026-03-04 05:06 UTC." in text
    assert listed(text)[0] == "lab/new"
    assert set(listed(text)) == {"lab/new", "old", "part", "damaged"}


def test_names_and_notes_are_text(client: Client) -> None:
    text = client.get("/").text
    assert HOSTILE not in text
    assert text.count("&lt;script&gt;alert") >= 3  # the drive, its filter, the notes


def test_a_row_has_its_figure_with_interval_and_a_line_with_words(client: Client) -> None:
    (row,) = re.findall(r'<tr [^>]*data-review="old".*?</tr>', client.get("/").text, re.DOTALL)
    assert re.search(r'class="figure">[\d.,]+ µs<small>[\d.,]+–[\d.,]+ µs</small><small>mean</small>', row)
    assert 'role="img" aria-label="mean along 2 steps: from ' in row
    assert "2 of 2" in row


def test_an_incomplete_and_a_damaged_review_say_so(client: Client) -> None:
    text = client.get("/").text
    (part,) = re.findall(r'<tr [^>]*data-review="part".*?</tr>', text, re.DOTALL)
    (damaged,) = re.findall(r'<tr [^>]*data-review="damaged".*?</tr>', text, re.DOTALL)
    assert "1 of 2" in part
    assert "incomplete" in part
    assert "not JSON" in damaged
    assert "hint:" in damaged
    assert "checkbox" not in damaged, "it cannot be compared"


@pytest.mark.parametrize(
    ("query", "ids"),
    [
        ("search=flash+OLD", ["old"]),
        ("search=repair", ["lab/new"]),
        ("tag=lab", ["lab/new"]),
        ("since=2026-03-01", ["lab/new"]),
        ("since=2026-03-04&until=2026-03-04", ["lab/new"]),
        ("until=2026-03-03&search=old", ["old"]),
        (urlencode({"drive": HOSTILE}), ["lab/new"]),
        ("search=nothing-has-this", []),
    ],
)
def test_filters_narrow_the_page_and_the_rows_alike(client: Client, query: str, ids: list[str]) -> None:
    text = client.get(f"/?{query}").text
    assert listed(text) == ids
    rows = client.get(f"/reviews/rows?{query}").json
    assert (rows["total"], listed(rows["html"])) == (len(ids), ids)
    assert rows["count"] in text
    if not ids:
        assert "No review matches" in text


@pytest.mark.parametrize(
    "query", ["order=x", "since=x", "until=2026-02-30", "offset=-1", "offset=x", "offset=²"]
)
def test_a_filter_that_makes_no_sense_is_refused_with_a_hint(client: Client, query: str) -> None:
    answer = client.get(f"/?{query}", accept="application/json")
    assert answer.status == 400
    assert answer.json["hint"]


def test_a_page_leads_to_the_next_with_the_same_filters(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "PAGE", 2)
    first = client.get("/?order=created&review=old").text
    (after,) = re.findall(r'<a [^>]*href="([^"]*)" rel="next"', first)
    assert after == "/?review=old&amp;offset=2&amp;order=created"
    second = client.get(after.replace("&amp;", "&")).text
    assert len(listed(first)) == len(listed(second)) == 2
    assert not {*listed(first)} & {*listed(second)}
    assert 'rel="prev"' in second
    assert 'rel="next"' not in second
    assert 'aria-rowcount="5"' in second
    assert 'aria-rowindex="4"' in second, "the header is the first row"


def test_what_is_chosen_is_kept_when_the_list_is_narrowed(client: Client) -> None:
    text = client.get("/?search=repair&review=old&review=lab/new&review=gone").text
    assert re.search(r'<input type="checkbox" name="review" value="lab/new" checked>', text)
    assert re.search(
        r'<input type="checkbox" name="review" value="old" data-name="Flash 9000" checked>', text
    )
    assert 'value="gone"' not in text
    assert '<button class="main" id="compare" formaction="/compare">' in text


def test_a_running_review_leads_to_where_it_is_watched(
    client: Client, store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feed = FeedInfo(
        pid=4711, start_ticks=1, title="write-pressure of Flash 9000", review=store / "old", targets=("/dev/nvme0n1",),
        command=("iogauge",), virtual=False, at=0.0, path=store / "x.feed",
    )  # fmt: skip
    monkeypatch.setattr(view, "feeds", lambda: [feed])
    text = client.get("/").text
    assert "1 measurement is running; the newest review is of" in text
    assert text.count('href="/live/4711"') == 2


def test_a_saved_page_needs_no_server(client: Client) -> None:
    answer = client.get("/?save=1&search=flash")
    assert "attachment" in answer.headers["content-disposition"]
    assert set(listed(answer.text)) == {"old", "part"}
    assert not re.search(r'(?:href|src|action)="(?!#|data:)', answer.text)
    assert not re.search("<(?:form|input|button|script)", answer.text)


def test_notes_are_read_by_all_and_written_where_the_server_allows_it(index: Index, store: Path) -> None:
    reading, writing = client_of(index), client_of(index, allow_start=True)
    refused = reading.post("/notes", {"review": "part", "text": "#x"})
    assert (refused.status, "only reads" in refused.json["error"]) == (400, True)
    before = reading.get("/notes?review=part").json
    assert before["text"] == ""
    new = {"review": "part", "text": f"#Fresh {HOSTILE}", "version": before["version"]}
    answer = writing.post("/notes", new)
    assert read_notes(store / "part").text == f"#Fresh {HOSTILE}"
    assert listed(answer.json["html"]) == ["part"]
    assert "#fresh" in answer.json["html"]
    assert HOSTILE not in answer.json["html"]
    after = reading.get("/notes?review=part").json
    assert after["text"] == f"#Fresh {HOSTILE}"
    late = writing.post("/notes", {**new, "text": "mine"})
    assert (late.status, "changed meanwhile" in late.json["error"]) == (400, True)
    assert read_notes(store / "part").text == f"#Fresh {HOSTILE}"
    writing.post("/notes", {"review": "part", "text": "", "version": after["version"]})
    assert not (store / "part" / "notes.md").exists()


@pytest.mark.parametrize("data", [b"x" * (view.MOST_NOTES + 1), b"caf\xe9", b"a\0b"])
def test_notes_of_which_a_page_would_lose_a_part_are_not_edited(
    index: Index, store: Path, data: bytes
) -> None:
    client, path = client_of(index, allow_start=True), store / "part" / "notes.md"
    path.write_bytes(data)
    try:
        for answer in (
            client.get("/notes?review=part", accept="application/json"),
            client.post("/notes", {"review": "part", "text": "x", "version": ""}),
        ):
            assert (answer.status, answer.json["hint"]) == (400, "edit the file itself")
        assert path.read_bytes() == data
    finally:
        path.unlink()


def test_notes_that_the_page_could_not_edit_again_are_refused(index: Index, store: Path) -> None:
    text = "x" * (view.MOST_NOTES + 1)
    answer = client_of(index, allow_start=True).post(
        "/notes", {"review": "part", "text": text, "version": ""}
    )
    assert (answer.status, "shorten" in answer.json["hint"]) == (400, True)
    assert not (store / "part" / "notes.md").exists()


@pytest.mark.parametrize(
    "content", [{}, {"review": "old"}, {"review": "../old", "text": ""}, {"review": 1, "text": ""}]
)
def test_notes_on_nothing_are_refused(index: Index, content: dict[str, object]) -> None:
    answer = client_of(index, allow_start=True).post("/notes", content)
    assert answer.status == 400
    assert answer.json["hint"]


def test_an_empty_directory_says_what_makes_a_review(tmp_path: Path) -> None:
    with Index.open(tmp_path) as index:
        text = client_of(index).get("/").text
    assert "<h1>0 reviews</h1>" in text
    assert "iogauge review TARGET makes one" in text


def test_reviews_that_are_still_being_read_are_not_missing(tmp_path: Path) -> None:
    with Index.open(tmp_path) as index, Refresher(index, say=print) as refresher:
        app = make_app(Settings(directory=tmp_path, token=TOKEN), index, refresher=refresher)
        refresher._state = "Reading reviews: 1 of 9."
        client = Client(app)
        text = client.get("/").text
        assert "are being read" in text
        assert "makes one" not in text
        assert client.get("/reviews/rows").json["state"] == refresher.state


NAMES = st.sampled_from([*view.Filters.__dataclass_fields__, "offset", "review", "save"])


@given(st.lists(st.tuples(NAMES, st.text(max_size=30)), max_size=6))
@settings(max_examples=60, deadline=None)
def test_no_address_breaks_the_list(client: Client, pairs: list[tuple[str, str]]) -> None:
    query = urlencode(pairs, errors="replace")
    for path in ("/", "/reviews/rows"):
        assert client.get(f"{path}?{query}").status in (200, 400)
