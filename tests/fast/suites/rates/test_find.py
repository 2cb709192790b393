"""``find`` and ``latency-throughput`` on drive models whose queue is computed exactly, and on files."""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import replace
from pathlib import Path

import pytest

import iogauge
from iogauge.cli import main
from iogauge.report.find_text import find_text
from iogauge.results.conclusions import SearchResult, TriedLoad
from iogauge.results.position import Position
from iogauge.reviews.estimate import cost_of
from iogauge.schema import Code, LatencyLimit, Notice
from iogauge.stats.figure import Figure
from iogauge.suites import suite_of
from iogauge.suites.rates import find
from tests.fast.suites.rates.known import BYTES, MOST, SERVICE_NS, knee, one_lane, share_waiting_less


def search_of(saved: iogauge.Review) -> SearchResult:
    result = saved.suite("find").conclusions.search
    assert result is not None
    return result


def us(services: float) -> str:
    """Return a limit of this many service times."""
    return f"{services * SERVICE_NS / 1000:.4f}us"


@pytest.mark.parametrize(("quantile", "services", "seed"), [(0.99, 6, 1), (0.9, 4, 2)])
def test_the_limit_of_a_known_queue_is_found(
    quantile: float, services: float, seed: int, tmp_path: Path
) -> None:
    limit = f"p{100 * quantile:g} < {us(services)}"
    saved = iogauge.find(one_lane(tmp_path), limit=limit, runtime="1s", seed=seed, output=tmp_path / "saved")
    result = search_of(saved)
    true = knee(quantile, services * SERVICE_NS)
    assert result.estimate is not None
    assert abs(result.estimate / true - 1) < 0.03
    assert result.holds is not None
    assert result.breaks is not None
    assert result.holds <= true <= result.breaks
    assert len(result.loads) <= 20
    assert result.ended


def test_a_mix_on_a_full_duplex_link_carries_twice_as_much(tmp_path: Path) -> None:
    saved = iogauge.find(
        one_lane(tmp_path),
        limit=[f"read.p99 < {us(6)}", f"write.p99 < {us(6)}"],
        rw="randrw",
        precision=0.1,
        runtime="500ms",
        seed=1,
        output=tmp_path / "saved",
    )
    result = search_of(saved)
    assert result.holds is not None
    assert result.breaks is not None
    assert result.holds <= 2 * knee(0.99, 6 * SERVICE_NS) <= result.breaks
    assert all(len(load.latencies) == 2 for load in result.loads)


@pytest.mark.parametrize("over", ["depth", "jobs"])
def test_the_depth_of_a_closed_loop_is_found_to_the_number(over: str, tmp_path: Path) -> None:
    # With n in flight, each request waits for the n - 1 before it.
    saved = iogauge.find(
        one_lane(tmp_path),
        limit=f"p99 < {us(6.5)}",
        over=over,  # type: ignore[arg-type]
        goal="bandwidth",
        runtime="50ms",
        seed=1,
        output=tmp_path / "saved",
    )
    result = search_of(saved)
    assert (result.holds, result.breaks) == (6, 7)
    assert result.most is not None
    assert math.isclose(result.most.value, MOST * BYTES, rel_tol=0.01)
    assert saved.findings[0].startswith(f"p99 < {us(6.5)} is kept up to 6 ")


def test_a_rate_beyond_what_is_served_misses_any_limit(tmp_path: Path) -> None:
    saved = iogauge.find(
        one_lane(tmp_path), limit="p50 < 10s", runtime="200ms", seed=1, output=tmp_path / "saved"
    )
    result = search_of(saved)
    assert result.holds is not None
    assert result.breaks is not None
    assert result.holds <= MOST * 1.005
    *_, missed = (load for load in result.loads if load.at == result.breaks)
    assert not missed.served


def test_an_interrupted_search_continues_to_the_same_end(tmp_path: Path) -> None:
    target = one_lane(tmp_path)
    options = {"limit": f"p99 < {us(6)}", "runtime": "50ms", "seed": 3, "precision": 0.1}
    complete = iogauge.find(target, **options, output=tmp_path / "complete")  # type: ignore[arg-type]
    news = []

    def stop(progress: iogauge.Progress) -> None:
        news.append(progress)
        if len(news) == 8:
            raise KeyboardInterrupt

    with pytest.raises(iogauge.Interrupted):
        iogauge.find(target, **options, output=tmp_path / "halved", on_progress=stop)  # type: ignore[arg-type]
    halved = iogauge.open_review(tmp_path / "halved")
    assert len(halved.suite("find")) < len(complete.suite("find"))
    resumed = iogauge.review(resume=tmp_path / "halved")
    assert search_of(resumed) == search_of(complete)


def test_loads_without_an_interval_run_for_longer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    known = find._figure

    def unknown_if_short(position: Position, limit: LatencyLimit) -> Figure | None:
        figure = known(position, limit)
        assert figure is not None
        open_ended = position.figures.duration_s < 0.5
        return replace(figure, low=None, high=None, long_enough=False) if open_ended else figure

    monkeypatch.setattr(find, "_figure", unknown_if_short)
    options = {"limit": f"p99 < {us(6)}", "runtime": "50ms", "precision": 0.1, "seed": 1}
    saved = iogauge.find(one_lane(tmp_path), **options, output=tmp_path / "saved")  # type: ignore[arg-type]
    result = search_of(saved)
    assert result.holds is not None
    assert result.breaks is not None
    assert result.holds <= knee(0.99, 6 * SERVICE_NS) <= result.breaks
    decided = {load.effort for load in result.loads if load.outcome == "met"}
    assert decided == {16}
    assert any(run.plan.label.endswith(" IOPS for 800 ms") for run in saved.suite("find").runs)
    # Once two loads needed so long a run, the others begin with it.
    assert sum(load.effort == 1 for load in result.loads) <= 4


def test_a_file_of_others_is_only_read(tmp_path: Path) -> None:
    target = tmp_path / "theirs"
    content = os.urandom(1 << 20)
    target.write_bytes(content)
    options = {"limit": "p50 < 100s", "over": "depth", "runtime": "20ms", "seed": 1}
    saved = iogauge.find(target, **options, output=tmp_path / "saved")  # type: ignore[arg-type]
    assert search_of(saved).holds == 256
    assert target.read_bytes() == content
    with pytest.raises(iogauge.IogaugeError, match="theirs"):
        iogauge.find(target, **options, rw="randwrite", output=tmp_path / "refused")  # type: ignore[arg-type]
    assert target.read_bytes() == content


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ([], "--limit"),
        (["--limit", "p99 > 1ms"], "a limit is what a latency stays below"),
        (["--limit", "p99 < 1"], "lacks its unit"),
        (["--limit", "iops < 5"], "a limit is on the latency"),
        (["--limit", "max < 5ms"], "depends on a single request"),
        (["--limit", "write.p99 < 1ms"], "the load issues no write"),
        (["--limit", "p99 < 1ms", "--over", "depth", "--depth", "4"], "the search varies it"),
        (["--limit", "p99 < 1ms", "--rwmixread", "30"], "randread is no mix"),
        (["--limit", "p99 < 1ms", "--precision", "0"], "must be from 0.001 to 0.5"),
        (["--limit", "p99 < 1ms", "--bs", "four"], "four"),
    ],
)
def test_wrong_options_are_refused_before_anything_is_measured(
    options: list[str], message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["find", "model:ram", *options, "--output", str(tmp_path / "saved")]) == 2
    said = capsys.readouterr().err
    assert message in said
    assert "--fail-if" not in said
    assert not (tmp_path / "saved").exists()


def test_the_command_prints_the_answer_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    target = one_lane(Path())
    options = ["--limit", f"p99 < {us(6)}", "--runtime", "100ms", "--seed", "1", "--precision", "0.1"]
    assert main(["find", target, *options, "--output", "saved"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].startswith(f"p99 < {us(6)} is kept up to 3")
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    assert main(["show", str(tmp_path / "saved"), "--json"]) == 0
    (plan,) = json.loads(capsys.readouterr().out)["plans"]
    assert plan["search"]["holds"] < plan["search"]["estimate"] < plan["search"]["breaks"]
    assert {load["outcome"] for load in plan["search"]["loads"]} <= {"met", "missed", "not shown"}
    assert main(["report", str(tmp_path / "saved"), "--output", str(tmp_path / "saved.html")]) == 0


def test_responses_grow_with_the_rate_as_the_queue_says(tmp_path: Path) -> None:
    saved = iogauge.review(
        one_lane(tmp_path), suites="latency-throughput", runtime="1s", seed=1, output=tmp_path / "saved"
    )
    result = saved.suite("latency-throughput")
    for position in result:
        if position.at > 90:
            continue
        tail = position.figures.quantile(0.99)
        assert tail is not None
        assert tail.low is not None
        assert tail.high is not None
        load = position.at / 100
        # The interval holds the exact quantile, give or take what a chance of 5 % leaves out.
        low, high = (
            share_waiting_less(load, max(ns / SERVICE_NS - 1, 0))
            for ns in (0.97 * tail.low, 1.03 * tail.high)
        )
        assert low <= 0.99 <= high, position.name
    (sentence,) = result.conclusions.findings
    assert sentence.startswith("p99 stays below 2x that at 10 % up to ")


def test_the_announced_time_holds_where_the_quantile_needs_longer_runs(tmp_path: Path) -> None:
    announced: list[float] = []
    saved = iogauge.find(
        one_lane(tmp_path),
        limit=f"p99.99 < {us(12)}",
        runtime="20ms",
        precision=0.1,
        seed=1,
        output=tmp_path / "saved",
        on_plan=lambda manifest: announced.append(cost_of(manifest, suite_of).longest_s),
    )
    took_s = sum(run.figures.duration_s for run in saved.suite("find").runs)
    assert took_s > 2
    assert took_s <= announced[0]


def half_open(load: TriedLoad) -> TriedLoad:
    (latency,) = load.latencies
    assert latency is not None
    return replace(load, latencies=(replace(latency, low=latency.value / 1.04, high=None),))


def short_search(folder: Path) -> iogauge.Review:
    """Return a search for a limit that every load keeps."""
    return iogauge.find(
        one_lane(folder), limit="p99 < 10s", runtime="50ms", precision=0.5, seed=1, output=folder / "saved"
    )


def test_an_interval_that_is_open_at_one_end_is_printed_with_the_other(tmp_path: Path) -> None:
    saved = short_search(tmp_path)
    result = saved.suite("find")
    search = replace(search_of(saved), loads=tuple(map(half_open, search_of(saved).loads)))
    result.__dict__["conclusions"] = replace(result.conclusions, search=search)
    lines = find_text(result, ["warning: something"]).splitlines()
    assert lines[1] == "warning: something"
    assert any(
        re.search(r" \d+\.\d+ us \(\d+\.\d+ us or more\) +(kept|missed|not shown)", line) for line in lines
    )
    assert max(map(len, lines)) <= 80


def stretched(load: TriedLoad) -> tuple[TriedLoad, TriedLoad]:
    """Return a load's run that shows nothing, and a longer one that decides."""
    return replace(load, effort=1, outcome="not shown"), replace(load, effort=16, outcome="met")


def test_each_load_is_printed_once_with_its_longest_run(tmp_path: Path) -> None:
    saved = short_search(tmp_path)
    result = saved.suite("find")
    first = search_of(saved).loads[0]
    many = [replace(first, at=first.at + place) for place in range(20)]
    loads = tuple(run for load in many for run in stretched(load))
    search = replace(search_of(saved), loads=loads, holds=first.at)
    assert [load.effort for load in search.deciding] == [16] * 20
    result.__dict__["conclusions"] = replace(result.conclusions, search=search)
    text = find_text(result)
    assert sum(line.endswith("kept") for line in text.splitlines()) == 14
    assert "not shown" not in text.split("\n\n")[1]
    assert "... 6 loads further from the limit" in text


def test_two_limits_fit_in_the_width_too(tmp_path: Path) -> None:
    limits = [f"read.p99 < {us(6)}", f"write.p99 < {us(6)}"]
    saved = iogauge.find(
        one_lane(tmp_path), limit=limits, rw="randrw", runtime="50ms", seed=1, output=tmp_path / "saved"
    )
    lines = find_text(saved.suite("find")).splitlines()
    assert max(map(len, lines)) <= 80


def test_what_changes_the_answer_stands_below_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    codes = (Code.GENERATOR_LIMITED, Code.VIRTUAL_MACHINE)
    notices = tuple(Notice(code=code, message=code, hint="") for code in codes)
    monkeypatch.setattr(iogauge.Review, "warnings", notices)
    options = ["--limit", "p99 < 10s", "--runtime", "50ms", "--seed", "1", "--precision", "0.5"]
    assert main(["find", one_lane(Path()), *options, "--output", "saved"]) == 0
    printed, said = capsys.readouterr()
    _, second, *_ = printed.splitlines()
    assert second == "warning: the load generator set the pace, not only the drive"
    assert "set the pace" not in said
    assert "context: virtual machine" in said
