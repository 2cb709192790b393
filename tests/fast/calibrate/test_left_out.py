"""Tables left out of the fit: which models are fitted again, what they may know, and how the results are kept."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge import catalog
from iogauge.calibrate import left_out
from iogauge.calibrate.assess import comparable, shipped
from iogauge.calibrate.fit import Search
from iogauge.calibrate.left_out import (
    RARE,
    RELATIVES,
    Effort,
    affected,
    neutral,
    relatives,
    rows_of_source,
    sources,
    unseen_at_neutral,
)
from iogauge.calibrate.numbers import Free
from iogauge.calibrate.observe import is_shown
from iogauge.calibrate.published import Stage, stages
from iogauge.calibrate.trial import Trial
from iogauge.catalog.left_out import PredictedRow, read, text
from iogauge.errors import IogaugeError, UsageError
from iogauge.execution.interrupts import Interrupts
from iogauge.library.models import predicted
from iogauge.library.progress import Progress

SMALL = Effort(most_ios=2_000, shown_ios=2_000, rounds=1, restarts=0)
UNFITTED = "github.com/MicronSSD/unvme#18"
"""A table of one row, which is kept from every fit."""
ONE_DRIVE = "AnandTech 11953 p7"
INBOX = "S1 Intel evaluation guide Table 5 (inbox driver)"
STOCK = "S1 Intel evaluation guide Table 7 (Stock OS)"


@pytest.fixture(scope="module")
def trial() -> Trial:
    return shipped(Interrupts())


def test_every_row_is_in_one_table() -> None:
    rows = [point.row for source in sources() for point in rows_of_source(source)]
    assert sorted(rows) == sorted(point.row for point in comparable() if is_shown(point))


@pytest.mark.parametrize("source", sources())
def test_no_fit_sees_a_row_of_the_table(source: str) -> None:
    for stage in affected(source):
        assert source not in {point.source for point in stage.rows}
        assert any(point.source == source for point in replace(stage, without="").rows)


@pytest.mark.parametrize("source", sources())
def test_fits_that_do_not_use_the_table_are_not_done_again(source: str) -> None:
    again = {stage.name for stage in affected(source)}
    for stage in stages():
        if stage.name not in again:
            assert source not in {point.source for point in stage.rows}


@pytest.mark.parametrize("source", sources())
def test_machines_come_first_and_a_relative_before_the_drive_that_takes_its_numbers(source: str) -> None:
    order = [stage.name for stage in affected(source)]
    kinds = [stage.what for stage in affected(source)]
    assert kinds == sorted(kinds, reverse=True)
    for stage in affected(source):
        if stage.what == "drive":
            for name in relatives(stage):
                assert name not in order or order.index(name) < order.index(stage.name)


def test_a_machine_of_one_table_has_no_row_left_and_a_relative() -> None:
    bare = [stage for source in sources() for stage in affected(source) if not stage.rows]
    assert {stage.name for stage in bare if stage.what == "machine"} == {
        name for name in catalog.shipped("machine") if name.startswith(("linux-", "windows-"))
    }
    assert all(relatives(stage) for stage in bare if stage.what == "machine")


def test_the_rarest_quantile_is_fitted_only_to_machines_that_lose_it() -> None:
    for source in sources():
        for stage in affected(source):
            if stage.rows and stage.what == "machine":
                assert RARE not in {point.metric for point in stage.rows}


def test_relatives_are_models() -> None:
    known = {*catalog.shipped("drive"), *catalog.shipped("machine")}
    for name, relative in RELATIVES.items():
        assert {name, *relative.names} <= known
        assert relative.reason


@pytest.mark.parametrize("stage", stages(), ids=lambda stage: stage.name)
def test_a_neutral_value_is_in_range_and_not_the_models_own(stage: Stage, trial: Trial) -> None:
    pool = "drives" if stage.what == "drive" else "machines"
    for number in stage.free:
        value = neutral(stage, number, trial)
        assert number.low * (1 - 1e-9) <= value <= number.high * (1 + 1e-9)
        # Another value of the model's own number changes nothing.
        other = left_out.changed(
            replace(trial, **{pool: dict(getattr(trial, pool))}), stage, {number.place: number.high}
        )
        assert neutral(stage, number, other) == value


def test_a_machine_without_rows_becomes_its_relative(trial: Trial, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        left_out, "affected", lambda source: [Stage(what="machine", name="windows-inbox", without=source)]
    )
    again = left_out.without(INBOX, trial, effort=SMALL, began=lambda _: None, on_trial=lambda *_: None)
    assert again.machines["windows-inbox"] == trial.machines["windows-intel"]
    assert again.machines["windows-intel"] == trial.machines["windows-intel"]
    assert again.drives == trial.drives


def test_a_base_without_rows_gives_its_numbers_to_no_model_based_on_it(
    trial: Trial, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        left_out, "affected", lambda source: [Stage(what="machine", name="linux-stock", without=source)]
    )
    again = left_out.without(STOCK, trial, effort=SMALL, began=lambda _: None, on_trial=lambda *_: None)
    stock, governor = again.machines["linux-stock"], again.machines["linux-governor"]
    assert stock == governor
    assert governor["sync"]["reap_ns"] == trial.machines["anandtech-linux"]["sync"]["reap_ns"]
    assert governor["queued"] == trial.machines["linux-governor"]["queued"]


@given(st.lists(st.floats(0.05, 0.95), min_size=2, max_size=5), st.data())
@settings(max_examples=40, deadline=None)
def test_numbers_that_no_row_shows_begin_at_their_neutral_values(
    shares: list[float], data: st.DataObject
) -> None:
    """Of any numbers, some of which no residual depends on."""
    free = [
        Free(place=f"n{place}", start=1.0 + share, low=1.0, high=2.0) for place, share in enumerate(shares)
    ]
    shown = [data.draw(st.booleans()) for _ in free]

    def residuals(values: dict[str, float]) -> np.ndarray:
        return np.array(
            [100.0 * values[number.place] * seen for number, seen in zip(free, shown, strict=True)]
        )

    search = Search(free, residuals)
    far = np.array([0.0 if share > 0.5 else 1.0 for share in search.start])
    begin = unseen_at_neutral(search, far)
    assert list(begin) == [far[i] if seen else search.start[i] for i, seen in enumerate(shown)]


def row(number: int, source: str = "a, b", **changes: object) -> PredictedRow:
    values = {
        "row": number,
        "source": source,
        "drive": "a drive",
        "host": "",
        "figure": "iops",
        "unit": "IOPS",
        "published": 1.0,
        "part": "fitted",
        "fitted": 1.5,
        "left_out": 2.0,
        "models": "0",
    }
    return PredictedRow(**values | changes)  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.floats(1e-3, 1e9), st.text("ab,\" '", max_size=8)), max_size=6))
def test_a_file_reads_as_it_was_written(contents: list[tuple[float, str]]) -> None:
    rows = [row(number, source, left_out=value) for number, (value, source) in enumerate(contents)]
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "left_out.csv"
        path.write_text(text(reversed(rows)), encoding="utf-8", newline="")
        assert read(path) == rows


def begun(
    output: Path, *, names: tuple[str, ...] = (), chosen: tuple[str, ...] | None
) -> tuple[list[str], predicted.PredictedFigures]:
    """Leave tables out; return the names of the fits that began, and the result."""
    news: list[Progress] = []
    result = predicted.leave_out(output, names, sources=chosen, effort=SMALL, on_progress=news.append)
    return [one.step for one in news if one.event == "begin"], result


def test_a_finished_table_is_not_fitted_again_and_an_unfinished_one_is(tmp_path: Path) -> None:
    output = tmp_path / "left_out.csv"
    begins, first = begun(output, chosen=(ONE_DRIVE, UNFITTED))
    assert begins == [f"optane-memory-32g without {ONE_DRIVE}"]
    assert [one.source for one in first.rows] == [UNFITTED, ONE_DRIVE]
    assert first.of == sum(len(rows_of_source(source)) for source in sources())
    content = output.read_bytes()
    begins, again = begun(output, chosen=(ONE_DRIVE, UNFITTED))
    assert begins == []
    assert again.rows == first.rows
    assert output.read_bytes() == content
    output.write_text("".join(output.read_text().splitlines(keepends=True)[:2]))
    begins, again = begun(output, chosen=(ONE_DRIVE,))
    assert begins == [f"optane-memory-32g without {ONE_DRIVE}"]
    assert again.rows == first.rows


def test_tables_of_other_models_are_left_out_again(tmp_path: Path) -> None:
    output = tmp_path / "left_out.csv"
    begun(output, chosen=(UNFITTED,))
    old = read(output)
    output.write_text(text(replace(one, models="older", left_out=1.0) for one in old))
    _, again = begun(output, chosen=(UNFITTED,))
    assert list(again.rows) == old


def test_an_interruption_keeps_the_tables_that_are_done(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = tmp_path / "left_out.csv"
    predict = left_out.predict

    def interrupted(source: str, *arguments: object, **more: object) -> object:
        if source == ONE_DRIVE:
            raise KeyboardInterrupt
        return predict(source, *arguments, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(left_out, "predict", interrupted)
    with pytest.raises(KeyboardInterrupt):
        begun(output, chosen=(UNFITTED, ONE_DRIVE))
    assert [one.source for one in read(output)] == [UNFITTED]


def test_another_file_is_not_overwritten(tmp_path: Path) -> None:
    output = tmp_path / "mine.csv"
    output.write_text("a,b\n1,2\n")
    with pytest.raises(IogaugeError, match="no file of predictions"):
        begun(output, chosen=(UNFITTED,))
    assert output.read_text() == "a,b\n1,2\n"


def test_drives_choose_tables(tmp_path: Path) -> None:
    about = predicted._about(["mx300"], sources())
    assert about == ["S4 AnandTech Optane Memory mixed/idle", "Vortez MX300 review spec list"]
    with pytest.raises(UsageError, match="nothing is published of ram"):
        begun(tmp_path / "left_out.csv", names=("ram",), chosen=None)
