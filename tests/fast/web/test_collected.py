"""The pages over a collection are those over its reviews; what only a review has is said."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlencode

import pytest

from iogauge.errors import UsageError
from iogauge.index import Index
from iogauge.index.collection.collect import collect
from iogauge.index.collection.stored import Collection
from iogauge.web.app import make_app
from iogauge.web.export import write_site
from iogauge.web.settings import Settings
from tests.fast.web.client import TOKEN, Client
from tests.reviews import Drive, save

QUICK = Drive(seconds=2, reads_a_second=200)


@pytest.fixture(scope="module")
def reviews(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("reviews")
    save(directory / "a", QUICK, pressures_MBps=(100, 300))
    save(directory / "b", replace(QUICK, model="Slow", base_us=900.0), pressures_MBps=(100, 300), seed=2)
    return directory


@pytest.fixture(scope="module")
def collection(reviews: Path, tmp_path_factory: pytest.TempPathFactory) -> Collection:
    made = Collection.make(tmp_path_factory.mktemp("place") / "collection")
    collect([reviews], made)
    return made


@pytest.fixture(scope="module")
def index(collection: Collection) -> Iterator[Index]:
    with Index.open(collection.address) as opened:
        opened.refresh()
        yield opened


@pytest.fixture(scope="module")
def client(index: Index) -> Client:
    return Client(make_app(Settings(directory=index.directory, token=TOKEN), index))


def ids(index: Index) -> list[str]:
    return [row.id for row in index.reviews(order="drive").rows]


def test_reviews_are_listed_found_and_filtered(client: Client) -> None:
    page = client.get("/").text
    assert "2 reviews of 2 drives" in page
    for query, total in (({"search": "slow"}, 1), ({"drive": "Slow"}, 1), ({"search": "nothing"}, 0)):
        assert client.get(f"/reviews/rows?{urlencode(query)}").json["total"] == total


def test_figures_are_compared_side_by_side(client: Client, index: Index) -> None:
    page = client.get(f"/compare?{urlencode([('review', name) for name in ids(index)])}").text
    assert "2 reviews side by side" in page
    assert "1 of 1 review differs from it" in page
    assert "Tests need the reviews themselves" in page


def test_figures_are_explored(client: Client, index: Index) -> None:
    page = client.get("/explore")
    assert page.status == 200
    assert "write-pressure" in page.text
    (load,) = index.loads()
    assert {point.group for point in index.explore(load, "mean_ns").points} == {"Flash 9000", "Slow"}


def test_a_review_says_where_it_was_collected(client: Client, index: Index, reviews: Path) -> None:
    for save_it in ("", "?save=1"):
        answer = client.get(f"/review/{ids(index)[0]}{save_it}")
        assert answer.status == 200
        assert "its report needs the review itself" in answer.text
        assert f"{reviews}/a" in answer.text
    assert client.get("/review/none").status == 404
    assert client.get("/review/..%2F..").status == 404


def test_a_copied_review_has_its_report(reviews: Path, tmp_path: Path) -> None:
    collection = Collection.make(tmp_path / "collection")
    collect([reviews], collection, with_copies=True)
    with Index.open(collection.address) as index:
        index.refresh()
        client = Client(make_app(Settings(directory=index.directory, token=TOKEN), index))
        page = client.get(f"/review/{ids(index)[0]}")
        compared = client.get(f"/compare?{urlencode([('review', name) for name in ids(index)])}")
    assert page.status == 200
    assert "needs the review itself" not in page.text
    assert "Differences in setup" in compared.text
    assert "side by side</h" not in compared.text


def test_a_collection_is_only_read(
    client: Client, index: Index, collection: Collection, tmp_path: Path
) -> None:
    answer = client.get(f"/notes?{urlencode({'review': ids(index)[0]})}", accept="application/json")
    assert answer.status == 400
    assert "only read" in answer.json["error"]
    assert collection.directory is not None
    with pytest.raises(UsageError, match="shown by the server only"):
        write_site(collection.directory, tmp_path / "site", say=lambda _: None, on_progress=lambda _: None)
    assert not list(collection.directory.rglob(".iogauge*"))
