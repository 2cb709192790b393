"""The view that compares: the answer, the differences in setup, the figures, and what it says of the rest."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import replace
from urllib.parse import urlencode

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.index import Index
from iogauge.web.app import make_app
from iogauge.web.settings import Settings
from tests.fast.web.client import TOKEN, Client
from tests.reviews import Drive, PRESSURES_MBps, save

HOSTILE = "</script><script>alert('x')</script>"
QUICK = Drive(seconds=6, reads_a_second=200)
MANY = tuple(f"many/{number}" for number in range(10))


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Index]:
    """Three drives of which one is fast, ten reviews of one drive, one that is damaged and one that is empty."""
    directory = tmp_path_factory.mktemp("store")
    pressures = {"pressures_MBps": (100, 300)}
    save(directory / "flash", QUICK, **pressures)
    save(directory / "slow", replace(QUICK, model="Flash 5000", base_us=400.0), pace="full", **pressures)
    save(directory / "fast", replace(QUICK, model=HOSTILE, base_us=9.0, slope=0.1), **pressures)
    save(directory / "empty", QUICK, missing=PRESSURES_MBps)
    (directory / "many").mkdir()
    for number, name in enumerate(MANY):
        drive = replace(QUICK, model=f"Flash {number}", base_us=50.0 * (1 + 9 * (number % 2)))
        save(directory / name, drive, pressures_MBps=(100,), seed=number)
    (directory / "damaged").mkdir()
    (directory / "damaged" / "manifest.json").write_text("{")
    with Index.open(directory) as opened:
        opened.refresh()
        yield opened


@pytest.fixture(scope="module")
def client(index: Index) -> Client:
    return Client(make_app(Settings(directory=index.directory, token=TOKEN), index))


def address(*reviews: str, **query: str) -> str:
    return f"/compare?{urlencode([*(('review', name) for name in reviews), *query.items()])}"


def place(text: str, *parts: str) -> list[int]:
    """Return where parts of a page are."""
    assert [part for part in parts if part not in text] == []
    return [text.index(part) for part in parts]


def test_the_answer_then_the_differences_in_setup_then_the_figures(client: Client) -> None:
    text = client.get(address("flash", "slow")).text
    places = place(
        text, "<h1>Flash 9000 vs Flash 5000</h1>", "more responsive than those of Flash 5000",
        "Differences in setup</h2>", "Findings</h2>", "Figures</h2>",
    )  # fmt: skip
    assert places == sorted(places)
    assert re.search(r"<tr><th [^>]*>Pace</th><td [^>]*>quick</td><td [^>]*>full</td></tr>", text)


def test_every_ratio_is_in_the_chart_and_in_the_table(client: Client) -> None:
    text = client.get(address("flash", "slow")).text
    (data,) = re.findall(r'<script type="application/json" id="charts">(.*?)</script>', text, re.DOTALL)
    ((name, chart),) = json.loads(data)["charts"].items()
    assert f'data-chart="{name}"' in text
    rows = re.findall(r'<tr id="compared-1-write-pressure-row-\d+"', text)
    assert len(rows) == len(chart["values"]) > 2


def test_another_baseline_turns_the_comparison_round(client: Client) -> None:
    first = client.get(address("flash", "slow", "fast")).text
    (turned,) = re.findall(r'<a href="([^"]*)">Make baseline<span class="unseen"> slow</span>', first)
    second = client.get(turned.replace("&amp;", "&")).text
    assert "A is Flash 9000, B is Flash 5000." in first
    assert "A is Flash 5000, B is Flash 9000." in second
    assert "A is Flash 9000" not in second


def test_a_side_can_be_removed_also_the_baseline(client: Client) -> None:
    text = client.get(address("flash", "slow", "fast", baseline="slow")).text
    links = dict(re.findall(r'<a href="([^"]*)">Remove<span class="unseen"> ([^<]*)</span>', text))
    assert {name: link.replace("&amp;", "&") for link, name in links.items()} == {
        "flash": address("slow", "fast", baseline="slow"),
        "slow": address("flash", "fast"),
        "fast": address("flash", "slow", baseline="slow"),
    }


def test_names_are_text_in_the_page_and_in_its_data(client: Client) -> None:
    text = client.get(address("flash", "fast")).text
    assert HOSTILE not in text
    assert "&lt;/script&gt;&lt;script&gt;alert" in text


def test_a_search_offers_reviews_that_are_not_chosen(client: Client) -> None:
    text = client.get(address("flash", search="5000")).text
    links = re.findall(r'<a href="([^"]*)">Add ', text)
    assert address("flash", "slow", baseline="flash") in [link.replace("&amp;", "&") for link in links]
    assert not [link for link in links if link.count("review=flash") != 1]
    assert "No other review has all of these words." in client.get(address("flash", search="zzz")).text


@pytest.mark.parametrize(
    ("reviews", "sentence"),
    [
        ((), "Choose two or more reviews of the same suites"),
        (("flash",), "Choose two or more reviews of the same suites"),
        (("flash", "slow", "../flash"), "../flash: no review has this name"),
        (("flash", "slow", "damaged"), "damaged: "),
        (("flash", "slow", "empty"), "A and B have no complete step in common"),
        (("many/0", "empty"), "no two sides have a complete step in common"),
        (tuple(f"{number}" for number in range(51)), "at most 50 reviews are compared at once"),
    ],
)
def test_what_cannot_be_compared_is_a_sentence(
    client: Client, reviews: tuple[str, ...], sentence: str
) -> None:
    answer = client.get(address(*reviews))
    assert answer.status == 200
    assert sentence in answer.text
    if {"flash", "slow"} <= {*reviews}:
        assert "Figures</h2>" in answer.text, "the others are compared"


def test_many_reviews_are_side_by_side_with_a_row_for_each(client: Client) -> None:
    text = client.get(address(*MANY, baseline="many/1")).text
    assert "<h1>10 reviews side by side</h1>" in text
    # Five of the drives are faster; a sixth can be apart by chance.
    assert re.search("that of the baseline, Flash 1[.] [5-7] of 9 reviews differ from it: ", text)
    assert "No difference in host, processor, pace or state of the drive is recorded." in text
    assert "They differ in pace (2 different)" in client.get(address(*MANY, "slow")).text
    (table,) = re.findall(r'<summary id="table-1">write-pressure, read, mean .*?</table>', text, re.DOTALL)
    rows = re.findall(r"<tr[^>]*><th scope=\"row\".*?</tr>", table, re.DOTALL)
    assert [re.findall(r"Flash \d", row)[0] for row in rows] == [f"Flash {number}" for number in range(10)]
    assert ['class="apart"' in row for row in rows] == [number % 2 == 0 for number in range(10)]
    assert "<small>1.00x</small>" in rows[1]
    tail = client.get(address(*MANY, baseline="many/1", metric="p99_ns")).text
    assert re.findall('<summary id="table-.*?">(.*?) <', tail) == ["write-pressure, read, p99"]
    assert "hint:" in client.get(address(*MANY, metric="none")).text


@pytest.mark.parametrize("reviews", [("flash", "slow"), MANY])
def test_a_saved_comparison_needs_no_server(client: Client, reviews: tuple[str, ...]) -> None:
    answer = client.get(address(*reviews, save="1"))
    assert "attachment" in answer.headers["content-disposition"]
    page = re.sub(r"<script>.*?</script>", "", answer.text, flags=re.DOTALL)
    assert not re.search(r'(?:href|src|action)="/', page)
    assert not re.search("<(?:form|input type=.(?:search|hidden))", page)
    assert ("vegaEmbed" in answer.text) is (reviews != MANY)


@given(st.lists(st.sampled_from(["flash", "slow", "damaged", "", ".", "..", "\0", "many/0", "published"]), max_size=4),
       st.text(max_size=10), st.text(max_size=10))  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_no_address_breaks_the_view(client: Client, reviews: list[str], baseline: str, search: str) -> None:
    pairs = [*(("review", name) for name in reviews), ("baseline", baseline), ("search", search)]
    assert client.get(f"/compare?{urlencode(pairs, errors='replace')}").status == 200
