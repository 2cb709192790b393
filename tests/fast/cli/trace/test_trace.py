"""``trace``: import and show, from files to one screen and pictures."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from iogauge.cli import main
from tests.fast.traces import trace_samples as samples
from tests.fast.traces.trace_samples import REQUESTS, Request

Capture = pytest.CaptureFixture[str]


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_from_a_file_to_a_screen(place: Path, capsys: Capture) -> None:
    Path("hm.csv").write_bytes(samples.msr())
    assert main(["trace", "import", "hm.csv", "--output", "hm.trace"]) == 0
    out, err = capsys.readouterr()
    assert out == "hm.trace\n"
    assert err == "4 requests of msr; next: iogauge trace show hm.trace\n"
    assert main(["trace", "show", "hm.trace"]) == 0
    out, err = capsys.readouterr()
    assert err == ""
    assert out.startswith("hm.trace: 4 requests in 2 s, 75.0 % reads, 25.0 % writes; random")
    for label in ("rate", "sizes", "arrivals", "footprint", "reuse", "in flight", "devices", "source"):
        assert f"\n{label} " in out
    assert main(["trace", "show", "hm.trace", "--json"]) == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["directions"]["write"]["sizes"] == {"65536": 1}
    assert shown["facts"]["start_unix_ns"] == 10**9


@pytest.mark.parametrize(
    "requests",
    [
        [Request(0)],
        [Request(0, "sync", 0, 0)] * 3,
        [
            Request(number // 3 * 10**6, "trim", number << 35, 512 * number + 512, -1, number)
            for number in range(90)
        ],
        [
            Request(
                number * number,
                ("read", "write", "trim", "sync")[number % 4],
                4096 * number,
                512 * number,
                number,
            )
            for number in range(3000)
        ],
    ],
)
def test_any_trace_fits_on_a_screen_and_has_its_charts(
    requests: list[Request], place: Path, capsys: Capture
) -> None:
    facts = {
        "files": ["a" * 60] * 9,
        "skipped": 10**9,
        "unmatched": 10**9,
        "lost": 10**9,
        "resolution_ns": 10**6,
    }
    samples.write(place / "t", requests, **facts)
    assert main(["trace", "show", "t"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) <= 30
    assert max(map(len, lines)) <= 80
    assert "LOSSY: 1,000,000,000 events lost" in " ".join(lines)


def test_charts_are_drawn(place: Path, capsys: Capture) -> None:
    requests = [
        Request(number * 70, "write" if number % 3 else "read", 8192 * (number % 40)) for number in range(400)
    ]
    samples.write(place / "t", requests)
    assert main(["trace", "show", "t", "--charts", "pictures"]) == 0
    written = {Path(line) for line in capsys.readouterr().err.splitlines()}
    names = ("rates", "mix", "sizes", "arrivals", "footprint", "reuse")
    assert written == {Path("pictures", f"{name}.{kind}") for name in names for kind in ("csv", "svg", "png")}
    assert all(path.stat().st_size > 20 for path in written)
    rates = Path("pictures/rates.csv").read_text().splitlines()
    assert rates[0] == "start_s,end_s,direction,iops,rate_MBps"
    assert "<svg" in Path("pictures/reuse.svg").read_text()


def test_nothing_that_is_not_ours_is_overwritten(place: Path, capsys: Capture) -> None:
    Path("hm.csv").write_bytes(samples.msr())
    Path("mine").write_text("precious")
    assert main(["trace", "import", "hm.csv", "--output", "mine"]) == 1
    assert Path("mine").read_text() == "precious"
    assert main(["trace", "import", "hm.csv", "--output", "hm.csv"]) == 1
    assert Path("hm.csv").read_bytes() == samples.msr()
    assert main(["trace", "import", "hm.csv", "--output", "t"]) == 0
    assert main(["trace", "import", "hm.csv", "--output", "t"]) == 0
    assert main(["trace", "show", "t", "--charts", "hm.csv"]) == 1
    capsys.readouterr()


def test_a_failed_import_leaves_nothing(place: Path, capsys: Capture) -> None:
    Path("bad.csv").write_bytes(samples.msr(REQUESTS) + b"nonsense\n")
    assert main(["trace", "import", "bad.csv", "--output", "t"]) == 1
    assert capsys.readouterr().err.startswith("error: bad.csv: line 5: has 1 columns, not 7\nhint: ")
    assert [path.name for path in place.iterdir()] == ["bad.csv"]
    assert main(["trace", "import", "bad.csv", "--skip-bad", "--output", "t"]) == 0
    assert capsys.readouterr().err.startswith("warning: 1 record left out\n")
    assert main(["trace", "import", "bad.csv", "--format", "nosuch", "--output", "t"]) == 2
    assert main(["trace", "show", "bad.csv"]) == 1
    assert "is not a trace" in capsys.readouterr().err
