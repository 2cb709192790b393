"""The view that explores: figures as answer, chart and table; SQL as rows, chart and CSV; what is refused."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlencode

import pyarrow as pa
import pytest

from iogauge.errors import UsageError
from iogauge.index import Index
from iogauge.index.explore import Exploration, ExploredPoint, Load
from iogauge.live.finding import FeedInfo
from iogauge.web.app import make_app
from iogauge.web.exploring import answer as answering
from iogauge.web.exploring.answer import Answer
from iogauge.web.exploring.columns import TABLES
from iogauge.web.exploring.figures import Figures
from iogauge.web.exploring.queries import BUILT_IN, Query
from iogauge.web.settings import Settings
from iogauge.web.views import explore as view
from tests import reviews
from tests.fast.web import client as browser
from tests.fast.web.client import TOKEN, Client
from tests.reviews import Drive

HOSTILE = "</script><script>alert('x')</script>"
SMALL = {"seconds": 3, "reads_a_second": 400}


@pytest.fixture(scope="module")
def directory(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two reviews of one drive and one of a drive with a hostile name."""
    path = tmp_path_factory.mktemp("explored")
    reviews.save(path / "a1", Drive("Flash", **SMALL), pressures_MBps=(100, 400))
    reviews.save(path / "a2", Drive("Flash", **SMALL), pressures_MBps=(100, 400), seed=2)
    reviews.save(path / "b", Drive(HOSTILE, base_us=9, slope=0.05, **SMALL), pressures_MBps=(100, 400))
    return path


@pytest.fixture(scope="module")
def index(directory: Path) -> Iterator[Index]:
    with Index.open(directory) as opened:
        opened.refresh()
        yield opened


@pytest.fixture(scope="module")
def client(index: Index, directory: Path) -> Client:
    return Client(make_app(Settings(directory=directory, token=TOKEN), index))


@pytest.fixture(autouse=True)
def _nothing_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(view, "feeds", list)


def chart(answer: browser.Answer) -> dict[str, Any]:
    """The page's only chart: its rows by column."""
    (text,) = re.findall(
        r'<script type="application/json" id="charts">(.*?)</script>', answer.text, re.DOTALL
    )
    ((_, data),) = json.loads(text)["charts"].items()
    return dict(data)


def sql(statement: str, **query: str) -> str:
    """The address of a statement."""
    return f"/explore?{urlencode({'sql': statement, **query})}"


def test_the_first_page_has_the_answer_the_chart_and_the_table(client: Client) -> None:
    answer = client.get("/explore")
    assert answer.status == 200
    sentence = re.search(r'class="headline"[^>]*>(.*?)</p>', answer.text, re.DOTALL)
    assert sentence
    assert sentence[1].startswith(
        "At 400 MB/s, p99 latency of reads (write-pressure) is lowest on &lt;/script&gt;"
    )
    assert "highest on Flash: " in sentence[1]
    assert "(median of 2 runs, " in sentence[1]
    drawn = chart(answer)
    assert drawn["columns"][:4] == ["group", "position", "label", "p99_us"]
    assert len(drawn["values"]) == 4
    assert answer.text.count('<th scope="row" class="words">Flash</th>') == 2


@pytest.mark.parametrize(
    ("query", "column", "rows"),
    [
        ("x=date&at=400", "date", 3),
        ("x=drive&at=100&metric=iops", "drive", 2),
        ("group=review", "position", 6),
    ],
)
def test_figures_are_over_dates_drives_and_positions(
    client: Client, query: str, column: str, rows: int
) -> None:
    answer = client.get(f"/explore?{query}")
    assert answer.status == 200
    drawn = chart(answer)
    assert drawn["columns"][1] == column
    assert len(drawn["values"]) == rows
    selected = dict(
        re.findall(r'<select name="(\w+)">(?:(?!</select>).)*?value="([^"]*)" selected', answer.text)
    )
    assert selected["x"] == column


def test_chosen_reviews_are_shown_alone(client: Client) -> None:
    answer = client.get("/explore?review=a1&review=b")
    assert "Only a1, b." in answer.text
    assert answer.text.count('name="review" value="') == 2
    assert "From 2 reviews." in answer.text


def test_a_quantile_that_the_sample_does_not_support_is_marked(client: Client) -> None:
    page = client.get("/explore?metric=p99.999_ns").text
    assert "Hollow points have too small a sample." in page
    assert "<td>~" in page
    assert "~ fewer than ten samples lie beyond this quantile" in page
    assert "<td>~" not in client.get("/explore?metric=p50_ns").text


def test_names_of_reviews_are_text(client: Client) -> None:
    for target in (
        "/explore",
        "/explore?x=drive",
        sql("SELECT drives, value FROM reviews"),
        "/explore?save=1",
    ):
        page = client.get(target).text
        assert "<script>alert" not in page
        assert "alert(" in page


def test_hostile_texts_of_the_address_are_text(client: Client) -> None:
    for name in ("suite", "series", "direction", "metric", "x", "group", "at", "review", "sql", "y"):
        page = client.get(f"/explore?{urlencode({name: HOSTILE})}").text
        assert "<script>alert" not in page


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("metric=nix", "metric &#39;nix&#39; is unknown", "one of: iops, rate_Bps"),
        ("x=nix", "over &#39;nix&#39; is unknown", "one of: position, date, drive"),
        ("group=nix", "group &#39;nix&#39; is unknown", "one of: drive, host, review, all"),
        ("suite=nix", "no review has the suite &#39;nix&#39;", "one of: write-pressure"),
        ("x=date&at=nix", "at &#39;nix&#39; is not a number", "choose a position"),
        ("&".join(f"review={n}" for n in range(101)), "101 reviews are chosen", "at most 100"),
        ("sql=" + "x" * 6001, "6,001 characters are too many", "at most 6,000"),
        ("sql=selec", "Parser Error", "ask with SELECT"),
        ("sql=" + quote("DROP TABLE figures"), "only one SELECT or DESCRIBE is allowed", "ask with SELECT"),
        (
            "sql=" + quote("SELECT 1 AS a, 2 AS b") + "&y=c",
            "y &#39;c&#39; is not among the columns",
            "one of: a, b",
        ),
    ],
)
def test_what_cannot_be_shown_is_refused_with_a_hint(
    client: Client, query: str, message: str, hint: str
) -> None:
    answer = client.get(f"/explore?{query}")
    assert answer.status == 400
    problem = answer.text.partition('<div class="problem"')[2].partition("</div>")[0]
    assert message in problem
    assert hint in problem
    assert 'id="sql"' in answer.text  # the form is there for another try


def test_unknown_reviews_are_a_sentence(client: Client) -> None:
    answer = client.get("/explore?review=..%2F..%2Fetc")
    assert answer.status == 200
    assert "None of these reviews has figures." in answer.text


def test_a_statement_is_answered_with_rows_a_chart_and_csv(client: Client) -> None:
    statement = (
        "SELECT position, max(iops) AS iops, 'it''s, =1' AS note FROM figures GROUP BY position ORDER BY 1"
    )
    answer = client.get(sql(statement))
    assert answer.status == 200
    assert "2 rows of 3 columns." in answer.text
    assert chart(answer)["columns"][:4] == ["group", "position", "label", "iops"]
    saved = client.get(f"/explore.csv?sql={quote(statement)}")
    assert saved.headers["content-type"].startswith("text/csv")
    assert saved.headers["content-disposition"].startswith("attachment")
    head, first, second = saved.text.splitlines()
    assert head == "position,iops,note"
    assert first.startswith("100.0,")
    assert second.endswith('"it\'s, =1"')


def test_an_answer_says_where_it_is_cut(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "MOST_ROWS", 700)
    monkeypatch.setattr("iogauge.web.views.explore.MOST_ROWS", 700)
    answer = client.get(sql("SELECT range AS n FROM range(5000)"))
    assert "more than 700 rows of 1 column." in answer.text
    assert "The page shows the first 500; the CSV has the first 700." in answer.text
    assert answer.text.count("<tr><td>") == 500


@pytest.mark.parametrize("query", BUILT_IN, ids=lambda query: query.name)
def test_every_built_in_question_is_answered(index: Index, query: Query) -> None:
    assert index.sql(query.sql).num_columns > 1


@pytest.mark.parametrize(("table", "columns"), TABLES)
def test_the_columns_are_those_of_the_index(index: Index, table: str, columns: Any) -> None:
    described = index.sql(f"DESCRIBE {table}").to_pylist()
    assert [(row["column_name"], row["column_type"]) for row in described] == [
        (column.name, column.type) for column in columns
    ]
    assert all(column.meaning for column in columns)


def test_one_file_needs_no_server(client: Client) -> None:
    answer = client.get("/explore?save=1")
    assert answer.headers["content-disposition"].startswith("attachment")
    elements = re.sub(r"<script.*?</script>", "", answer.text, flags=re.DOTALL)
    assert not re.search(r'src="|<form|href="/', elements)
    assert "At 400 MB/s, p99 latency of reads" in elements


def plotted(columns: dict[str, list[Any]], x: str = "", y: str = "") -> Any:
    """The chart of an answer with these columns."""
    return Answer.of(pa.table(columns)).plot(x, y)


def test_the_chart_of_an_answer_suits_its_columns() -> None:
    plot = plotted({"drive": ["a", "b"], "value": [2.0, 1.0], "low": [1.5, 0.5], "high": [2.5, None]})
    assert (plot.kind, plot.place, plot.value) == ("name", "drive", "value")
    assert [(point.place, point.value, point.low, point.high) for point in plot.points] == [
        ("a", 2.0, 1.5, 2.5),
        ("b", 1.0, 0.5, None),
    ]
    assert plotted({"at": [1, 2], "iops": [5, 6], "host": ["a", "b"]}).points[1].group == "b"
    assert plotted({"at": [1, 2], "iops": [5, 6]}, x="iops", y="at").value == "at"
    assert plotted({"name": ["a"], "other": ["b"]}) is None
    assert plotted({"n": [1]}) is None
    assert plotted({"name": ["a", None], "n": [None, 1.0]}) is None
    with pytest.raises(UsageError, match="y 'name' is not among the columns"):
        plotted({"name": ["a"], "n": [1.0]}, y="name")


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_what_is_no_number_has_no_place_in_a_chart(bad: float) -> None:
    plot = plotted({"x": [1.0, bad, 3.0], "y": [1.0, 2.0, bad], "y_low": [bad, 1.0, 1.0]})
    assert [(point.place, point.value, point.low) for point in plot.points] == [(1.0, 1.0, None)]
    json.dumps(plot.chart().specs, allow_nan=False)


def test_names_of_columns_cannot_be_code() -> None:
    plot = plotted({"a'] || alert(1) //": ["x"], "n[0].b\\": [1.0]})
    text = json.dumps(plot.chart().specs)
    assert "alert(1)" not in re.sub(r'"title": "[^"]*"', "", text)
    assert set(plot.columns) == {"a______alert_1____", "n_0__b_"}


def test_the_answer_says_where_ranges_overlap() -> None:
    def answer(*values: tuple[float, float | None, float | None]) -> str:
        points = [
            ExploredPoint(f"drive {n}", 8.0, "", "", 1, 1, value, low, high, True)
            for n, (value, low, high) in enumerate(values)
        ]
        load = Load("queue-depth", "", "read", "queue depth", "in flight", ((8.0, ""),), 2)
        return Figures(load, "iops", "position", 8.0, Exploration(tuple(points), 2, 2, len(points))).answer

    assert answer((100, 90, 110), (200, 190, 210)).endswith("highest on drive 1: 200 (190 to 210).")
    assert answer((100, 90, 110), (105, 95, 115)).endswith("(95 to 115), but their ranges overlap.")
    assert answer((100, None, None), (105, 95, 115)).endswith("(95 to 115).")
    assert (
        answer((100, 90, 110)) == "At 8 in flight, IOPS of reads (queue-depth) on drive 0: 100 (90 to 110)."
    )


def test_a_query_waits_for_few_others_and_for_no_measurement(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(view, "TURN_S", 0)
    for _ in range(2):
        assert view._turns.acquire(timeout=0)
    busy = client.get(sql("SELECT 1 AS a"))
    for _ in range(2):
        view._turns.release()
    assert busy.status == 400
    assert "try again" in busy.text
    feed = FeedInfo(1, 1, "mixed of /dev/sdx", None, (), (), False, 0.0, Path("none"))
    monkeypatch.setattr(view, "feeds", lambda: [feed])
    measuring = client.get("/explore.csv?sql=SELECT+1", accept="application/json")
    assert (measuring.status, "mixed of /dev/sdx" in measuring.json["error"]) == (400, True)
    monkeypatch.setattr(view, "feeds", lambda: [replace(feed, virtual=True)])
    assert client.get(sql("SELECT 1 AS a")).status == 200
