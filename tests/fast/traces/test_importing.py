"""What other programs recorded becomes a trace with the same requests."""

from __future__ import annotations

import bz2
import gzip
import io
import tarfile
import threading
from collections.abc import Callable, Sequence
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.traces import importing
from iogauge.traces.file import Facts
from iogauge.traces.formats import format_named
from iogauge.traces.importing import import_trace
from iogauge.traces.rows import DIRECTIONS
from tests.fast.traces import trace_samples as samples
from tests.fast.traces.trace_samples import REQUESTS, Request

Plain = list[tuple[int, str, str, int, int, int | None]]


def imported(tmp_path: Path, *files: bytes, name: str = "disk", **options: object) -> tuple[Plain, Facts]:
    """Import files and return the requests: time, device, direction, offset, size, latency."""
    paths = []
    for number, content in enumerate(files):
        paths.append(tmp_path / f"{name}{number or ''}.x")
        paths[-1].write_bytes(content)
    output = tmp_path / "trace"
    with output.open("wb") as sink:
        facts = import_trace(paths, sink, **options)  # type: ignore[arg-type]
    rows, devices, stored = samples.read(output)
    assert stored == facts
    assert facts.requests == len(rows)
    return [
        (
            int(row["time_ns"]),
            devices[row["device"]],
            DIRECTIONS[row["direction"]].value,
            int(row["offset_bytes"]),
            int(row["size_bytes"]),
            None if row["latency_ns"] < 0 else int(row["latency_ns"]),
        )
        for row in rows
    ], facts


def expected(
    device: Callable[[int], str], *, latency: bool, step_us: int = 1, requests: Sequence[Request] = REQUESTS
) -> Plain:
    first_us = requests[0].time_us // step_us * step_us
    return [
        (
            (one.time_us // step_us * step_us - first_us) * 1000,
            device(one.device),
            one.direction,
            one.offset,
            one.size,
            one.latency_us * 1000 if latency else None,
        )
        for one in requests
    ]


@pytest.mark.parametrize(
    ("content", "name", "device", "latency", "step_us"),
    [
        (samples.msr(), "msr", lambda number: f"hm-{number}", True, 1),
        (samples.spc(), "spc", str, False, 1),
        (samples.alibaba(), "alibaba", str, False, 1),
        (samples.tencent(), "tencent", str, False, 10**6),
        (samples.iolog(), "iolog", lambda number: f"/f{number}", False, 1),
        (samples.vscsi(), "vscsi", lambda _: "disk", True, 1),
        (samples.blktrace()[0], "blktrace", lambda number: f"8:{number}", True, 1),
    ],
)
def test_a_format_is_recognised_and_read(
    content: bytes, name: str, device: Callable[[int], str], latency: bool, step_us: int, tmp_path: Path
) -> None:
    requests, facts = imported(tmp_path, content)
    assert facts.source == name
    assert requests == expected(device, latency=latency, step_us=step_us)
    assert (facts.files, facts.skipped, facts.lost) == (("disk.x",), 0, 0)


def test_the_start_is_known_where_times_are_absolute(tmp_path: Path) -> None:
    assert imported(tmp_path, samples.msr())[1].start_unix_ns == 10**9
    assert imported(tmp_path, samples.spc())[1].start_unix_ns is None


@pytest.mark.parametrize(
    "compress", [gzip.compress, bz2.compress, lambda data: pa.compress(data, "zstd", asbytes=True)]
)
def test_compressed_files_are_read(compress: Callable[[bytes], bytes], tmp_path: Path) -> None:
    assert imported(tmp_path, compress(samples.spc()))[0] == expected(str, latency=False)


def test_files_of_each_cpu_are_one_trace(tmp_path: Path) -> None:
    requests, facts = imported(tmp_path, *samples.blktrace(cpus=3))
    assert requests == expected(lambda number: f"8:{number}", latency=True)
    assert len(facts.files) == 3


def test_volumes_are_put_in_the_order_of_time(tmp_path: Path) -> None:
    first = [Request(1000 + 10 * number, device=1) for number in range(50)]
    second = [Request(1005 + 10 * number, device=2) for number in range(50)]
    requests, _ = imported(tmp_path, samples.msr(first), samples.msr(second, host="prxy"))
    assert [device for _, device, *_ in requests] == ["hm-1", "prxy-2"] * 50
    assert [time_ns for time_ns, *_ in requests] == [5000 * number for number in range(100)]


def test_lines_out_of_order_are_put_in_order(tmp_path: Path) -> None:
    shuffled = [REQUESTS[3], *REQUESTS[:3]]
    assert imported(tmp_path, samples.spc(shuffled))[0] == expected(str, latency=False)


@given(
    requests=st.lists(
        st.builds(
            Request,
            time_us=st.integers(0, 10**9),
            direction=st.sampled_from(["read", "write"]),
            offset=st.integers(0, 1 << 30).map(lambda block: 512 * block),
            size=st.integers(1, 2048).map(lambda blocks: 512 * blocks),
            latency_us=st.integers(0, 10**6),
            device=st.integers(0, 3),
        ),
        min_size=1,
        max_size=60,
    ),
    piece_bytes=st.integers(1, 300),
)
def test_pieces_and_order_do_not_matter(
    requests: list[Request], piece_bytes: int, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("pieces")
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(importing, "PIECE_BYTES", piece_bytes)
        read, _ = imported(folder, samples.msr(requests))
    ordered = sorted(requests, key=lambda one: one.time_us)
    assert read == expected(lambda number: f"hm-{number}", latency=True, requests=ordered)


def fails(tmp_path: Path, *files: bytes, **options: object) -> IogaugeError:
    with pytest.raises(IogaugeError) as caught:
        imported(tmp_path, *files, **options)
    assert caught.value.hint
    return caught.value


def test_what_is_wrong_is_said_with_its_place(tmp_path: Path) -> None:
    bad = samples.spc() + b"1,2,3,q,4.5\n"
    error = fails(tmp_path, bad)
    assert str(error).endswith("disk.x: line 5: 'q' is no direction that the format knows")
    assert "skip_bad" in str(error.hint)
    requests, facts = imported(tmp_path, bad, skip_bad=True)
    assert (len(requests), facts.skipped) == (4, 1)
    assert "the file ends within a record" in str(fails(tmp_path, samples.vscsi()[:-1]))
    assert "is not recognised" in str(fails(tmp_path, b""))


def test_what_is_no_trace_is_refused(tmp_path: Path) -> None:
    assert "blktrace" in str(fails(tmp_path, b"hello\n").hint)
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w:gz") as tar:
        member = tarfile.TarInfo("trace.csv")
        member.size = len(samples.tencent())
        tar.addfile(member, io.BytesIO(samples.tencent()))
    assert "tar xf" in str(fails(tmp_path, archive.getvalue()).hint)
    assert "of one format" in str(fails(tmp_path, samples.spc(), samples.msr()).hint)
    assert "has no requests" in str(fails(tmp_path, b"fio version 3 iolog\n0 /f add\n"))
    assert "cannot read" in str(fails(tmp_path, gzip.compress(samples.spc())[:-9]))
    with pytest.raises(IogaugeError, match="No such file"):
        import_trace([tmp_path / "missing"], io.BytesIO())


def test_requests_that_never_complete_have_no_latency(tmp_path: Path) -> None:
    events = [
        samples.blktrace_record(5, samples.COMPLETED | samples.READ, 0, 512, 0),
        samples.blktrace_record(10, samples.QUEUED | samples.WRITE, 512, 512, 0),
        samples.blktrace_record(11, samples.QUEUED | samples.WRITE | samples.FLUSH, 0, 0, 0),
        samples.blktrace_record(13, samples.COMPLETED | samples.WRITE | samples.FLUSH, 0, 0, 0),
    ]
    requests, facts = imported(tmp_path, b"".join(events))
    assert requests == [(0, "8:0", "write", 512, 512, None), (1, "8:0", "sync", 0, 0, 2)]
    assert facts.unmatched == 1


def test_a_table_of_ones_own(tmp_path: Path) -> None:
    columns = tmp_path / "ours.toml"
    columns.write_text(
        'separator = ";"\nheader = true\n[time]\ncolumn = "at"\nunit = "ms"\nepoch = "unix"\n'
        '[direction]\ncolumn = "op"\nread = ["get"]\nwrite = ["put"]\nignore = ["ping"]\n'
        '[offset]\ncolumn = "page"\nunit = 8192\n[size]\ncolumn = "kb"\nunit = "KiB"\n'
        '[latency]\ncolumn = "took"\nunit = "us"\n'
    )
    content = b"op;page;kb;at;took\nput;2;4;1500.25;7\nping;0;0;1501;\nGET;0;8;1502;\n"
    requests, facts = imported(tmp_path, content, name="array", format=format_named(str(columns)))
    assert requests == [
        (0, "array", "write", 16384, 4096, 7000),
        (1_750_000, "array", "read", 0, 8192, None),
    ]
    assert (facts.source, facts.skipped, facts.start_unix_ns) == ("ours", 1, 1_500_250_000)


def test_progress_and_a_reader_that_fails_late(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "PIECE_BYTES", 100)
    content = samples.spc(REQUESTS * 50)
    counts: list[tuple[int, int]] = []
    imported(tmp_path, content, on_progress=lambda *done: counts.append(done))
    assert counts == sorted(counts)
    assert counts[-1] == (len(content), len(content))
    many = [Request(10 * number) for number in range(2000)]
    assert "line 2001" in str(fails(tmp_path, samples.spc(many) + b"nonsense\n", format=format_named("spc")))


@pytest.mark.parametrize("sample", [samples.spc, lambda many: samples.blktrace(many)[0]])
def test_no_thread_is_left_by_a_user_who_stops_it(
    sample: Callable[[list[Request]], bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(importing, "PIECE_BYTES", 1000)

    def stop(*_: int) -> None:
        raise KeyboardInterrupt

    many = [Request(10 * number) for number in range(20_000)]
    with pytest.raises(KeyboardInterrupt):
        imported(tmp_path, sample(many), on_progress=stop)
    assert "iogauge-import" not in {thread.name for thread in threading.enumerate()}


def test_events_that_are_damaged_late_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importing, "PIECE_BYTES", 1000)
    many = [Request(10 * number) for number in range(2000)]
    content = samples.blktrace(many)[0]
    assert f"byte {len(content)}" in str(fails(tmp_path, content + bytes(48)))
    assert "iogauge-import" not in {thread.name for thread in threading.enumerate()}
