"""Results with named parts: one way to iterate over them, count them, take one by name, show and pickle them."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import pytest

import iogauge

JOB = "[global]\nrate_iops=2000\nruntime=12\ntime_based=1\n[a]\nrw=randrw\nbs=4k\n[b]\nrw=randread\nbs=8k\n"


@pytest.fixture(scope="module")
def result() -> iogauge.RunResult:
    return iogauge.run(JOB, target="model:p4800x", seed=1)


@pytest.fixture(scope="module")
def review(tmp_path_factory: pytest.TempPathFactory) -> iogauge.Review:
    path = tmp_path_factory.mktemp("reviews") / "saved"
    return iogauge.review(
        "model:p4800x", output=path, suites=["mixed", "write-pressure"], runtime="200ms", size="1g", seed=1
    )


@pytest.fixture(scope="module")
def collections(result: iogauge.RunResult, review: iogauge.Review) -> list[Any]:
    return [
        result,
        review,
        review["mixed"],
        iogauge.models(),
        iogauge.list_suites(),
        iogauge.list_reviews(review.path.parent),
        iogauge.published(),
    ]


def test_a_part_is_counted_iterated_and_named(collections: list[Any]) -> None:
    for collection in collections:
        assert len(collection) == len(list(collection)) > 0
        with pytest.raises(iogauge.UnknownNameError, match="'bogus'") as caught:
            collection["bogus"]
        assert caught.value.hint
        assert isinstance(caught.value, KeyError)
        assert isinstance(caught.value, iogauge.UsageError)


def test_every_part_has_its_name(result: iogauge.RunResult, review: iogauge.Review) -> None:
    assert all(result[job.name] is job for job in result)
    assert all(review[suite.plan.suite] is suite for suite in review)
    assert all(review["mixed"][position.name] is position for position in review["mixed"])
    models = iogauge.models()
    assert all(models[name] is model for model in models for name in (model.name, *model.also))
    saved = iogauge.list_reviews(review.path.parent)
    assert saved[str(review.path)].review.path == review.path


def test_a_close_name_is_suggested() -> None:
    with pytest.raises(iogauge.UnknownNameError) as caught:
        iogauge.list_suites()["mixd"]
    assert caught.value.hint == "did you mean mixed?"
    with pytest.raises(iogauge.UnknownNameError, match="read_chunk") as caught:
        iogauge.model("p4800x")["media.read_chunk"]
    assert caught.value.hint == "did you mean media.read_chunk_ns?"


def test_what_python_prints_names_the_thing_and_its_figures(
    collections: list[Any], result: iogauge.RunResult
) -> None:
    reads = result["a"].read
    position = collections[2].positions[0]
    for thing in (*collections, result["a"], reads, reads.lat, position, position.runs[0]):
        assert repr(thing).startswith(f"<{type(thing).__name__}"), repr(thing)
        assert " at 0x" not in repr(thing)
    assert str(reads.lat.mean) in str(reads.lat)
    assert str(reads.iops) in str(result["a"])


def test_collections_are_tables(collections: list[Any]) -> None:
    for collection in collections:
        table = collection.to_arrow()
        assert table.num_rows >= len(collection)
        assert collection.to_pandas().shape[0] == table.num_rows
        assert "<t" in collection._repr_html_()


def test_a_suite_has_its_own_rows(review: iogauge.Review) -> None:
    tables = [suite.to_arrow() for suite in review]
    assert [set(table["suite"].to_pylist()) for table in tables] == [{"mixed"}, {"write-pressure"}]
    assert sum(table.num_rows for table in tables) == review.to_arrow().num_rows


def test_a_run_and_a_review_can_be_pickled(result: iogauge.RunResult, review: iogauge.Review) -> None:
    _ = str(result), result["a"].read.lat.mean  # what was computed must not prevent it
    again = pickle.loads(pickle.dumps(result))
    assert again.to_dict() == result.to_dict()
    assert again.record == result.record
    assert str(pickle.loads(pickle.dumps(review))) == str(review)


def test_several_reviews_answer_one_question(review: iogauge.Review, tmp_path: Path) -> None:
    other = iogauge.review(
        "model:p3700", output=tmp_path / "r", suites=["mixed"], runtime="200ms", size="1g", seed=1
    )
    sql = "select count(distinct review) as reviews from figures"
    for reviews in ((review, other), ([review, other.path],)):
        assert iogauge.query(sql, *reviews)["reviews"][0].as_py() == 2
    tables = iogauge.export_tables(review, other)
    assert sorted(tables) == ["intervals.csv", "mixed.csv", "write-pressure.csv"]
    assert tables["mixed.csv"].num_rows == review["mixed"].to_arrow().num_rows + other.to_arrow().num_rows
    assert iogauge.compare([review, other]).findings == iogauge.compare(review, other).findings
    with pytest.raises(iogauge.UsageError, match="name a review"):
        iogauge.query(sql)


def test_a_plan_is_what_plan_prints(capsys: pytest.CaptureFixture[str]) -> None:
    from iogauge.cli import main

    plan = iogauge.plan("model:p4800x", suites=["mixed"], seed=0)
    assert main(["plan", "model:p4800x", "--suite=mixed"]) == 0
    assert capsys.readouterr().out == str(plan)
    assert plan.to_arrow().num_rows == len(plan) == plan.most_steps
    assert main(["plan"]) == 0
    assert capsys.readouterr().out == str(iogauge.list_suites())


def test_a_step_is_that_of_a_positions_run(review: iogauge.Review) -> None:
    run = review["mixed"].positions[0].runs[0]
    assert review.step(run).record == review.step(run.plan.id).record == run.record


def test_methods_check_their_arguments(result: iogauge.RunResult, review: iogauge.Review) -> None:
    lat = result["a"].read.lat
    calls = (
        lambda: lat.quantile("0.5"),
        lambda: review.step(None),
        lambda: review.query(3),
        lambda: review.suite(1),
    )  # type: ignore[arg-type]
    for call in calls:
        with pytest.raises(iogauge.UsageError, match="must be"):
            call()


def test_a_name_or_a_part_is_in_a_collection(result: iogauge.RunResult, review: iogauge.Review) -> None:
    assert "a" in result
    assert "c" not in result
    assert result["a"] in result
    assert review["mixed"].positions[0] in review["mixed"]
    assert "mixed" in iogauge.list_suites()
    assert 5 not in result
