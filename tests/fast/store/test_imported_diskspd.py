"""DiskSpd's XML and text, imported. The samples are made up; tests/fast/imports/README.md says how."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.schema import Direction, Kind, Rw
from iogauge.store.imported import ImportedStep, read_foreign

SAMPLES = Path(__file__).parents[1] / "imports"
READ, WRITE = Direction.READ, Direction.WRITE
TEXT, XML = ((SAMPLES / name).read_text() for name in ("diskspd.txt", "diskspd.xml"))

both = pytest.mark.parametrize("name", ["diskspd.txt", "diskspd.xml"])


def step(path: Path) -> ImportedStep:
    (imported,) = read_foreign(path)
    return imported


def written(folder: Path, text: str) -> Path:
    path = folder / "result"
    path.write_text(text)
    return path


@both
def test_counts_are_exact_and_percentiles_are_the_published_ones(name: str) -> None:
    imported = step(SAMPLES / name)
    assert (imported.tool, imported.label) == ("diskspd", "diskspd")
    (row,) = imported.rows
    assert row.duration_s == 10
    reads, writes = row.figures[READ], row.figures[WRITE]
    assert (reads.ios, reads.bytes, reads.iops) == (139_000, 139_000 * 4096, 13_900)
    assert (writes.ios, writes.bytes, writes.rate_Bps) == (61_000, 61_000 * 4096, 6_100 * 4096)
    latency = reads.latencies[Kind.LAT]
    assert (latency.min_ns, latency.max_ns, latency.histogram) == (50_000, 12_345_000, None)
    published = {quantile.q: quantile.value_ns for quantile in latency.quantiles}
    assert (published[0.5], published[0.999], published[0.9999999]) == (180_000, 1_500_000, 12_345_000)
    assert all(quantile.high_ns - quantile.low_ns == 1_000 for quantile in latency.quantiles)
    assert row.together is not None
    assert (row.together.count, row.together.quantiles[1].value_ns) == (200_000, 210_000)


@both
def test_each_thread_has_its_means(name: str) -> None:
    first, second = step(SAMPLES / name).parts
    assert (first.name, second.name) == (r"0: D:\io\t dat.bin", r"1: D:\io\t dat.bin")
    latency = second.figures[WRITE].latency
    assert latency is not None
    assert (second.figures[WRITE].ios, latency.mean_ns, latency.stddev_ns) == (31_000, 350_000, 230_000)
    assert latency.quantiles == ()


@both
def test_its_load_is_known(name: str) -> None:
    imported = step(SAMPLES / name)
    assert imported.jobs is not None
    (job,) = imported.jobs.jobs
    assert (job.rw, job.rwmix_read_percent, job.iodepth, job.numjobs) == (Rw.RANDRW, 70, 4, 2)
    assert (job.direct, job.sync.value, job.bs.read.minimum_bytes) == (True, "dsync", 4096)
    assert job.filenames == (r"D:\io\t dat.bin",)
    assert imported.started_at == "2026-01-02T03:04:05+00:00"
    assert imported.warnings == ()


def test_both_forms_of_one_run_say_the_same() -> None:
    text, xml = (step(SAMPLES / name) for name in ("diskspd.txt", "diskspd.xml"))
    assert text.jobs is not None
    assert xml.jobs is not None
    assert text.jobs.jobs == xml.jobs.jobs
    for direction in (READ, WRITE):
        ours, theirs = (
            imported.rows[0].figures[direction].latencies[Kind.LAT].quantiles for imported in (text, xml)
        )
        assert ours == theirs


def test_the_mean_of_all_is_that_of_the_total_line() -> None:
    latency = step(SAMPLES / "diskspd.txt").rows[0].figures[READ].latency
    assert latency is not None
    assert (latency.mean_ns, latency.stddev_ns) == (250_000, 200_000)


def test_xml_has_a_series_and_its_options() -> None:
    imported = step(SAMPLES / "diskspd.xml")
    assert [interval.tallies[READ].ios for interval in imported.intervals[:2]] == [13_700, 14_100]
    assert imported.intervals[-1].end_ns == 10 * 10**9
    assert imported.intervals[0].tallies[WRITE].bytes == 6_000 * 4096
    assert (imported.options["BlockSize"], imported.options["Warmup"]) == ("4096", "5")
    assert imported.version == "2.2.0"


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ("<Random>4096</Random>", "<StrideSize>8192</StrideSize>", "-s8192"),
        (
            "<Random>4096</Random>",
            "<StrideSize>4096</StrideSize><InterlockedSequential>true</InterlockedSequential>",
            "-si4096",
        ),
        ("<Throughput>0</Throughput>", '<Throughput unit="IOPS">50</Throughput>', "-g50i"),
        ("<Throughput>0</Throughput>", "<Throughput>500</Throughput>", "-g500"),
        ("<Pattern>sequential</Pattern>", "<Pattern>zero</Pattern>", "-Z"),
        (
            "<Pattern>sequential</Pattern>",
            "<Pattern>random</Pattern><RandomDataSource><SizeInBytes>8192</SizeInBytes></RandomDataSource>",
            "-Z8192",
        ),
        (
            "<Random>4096</Random>",
            '<Random>4096</Random><RandomRatio>30</RandomRatio><Distribution><Percent><Range IO="90">10</Range>'
            '<Range IO="5">20</Range></Percent></Distribution>',
            "-rs30 -rdpct90/10:5/20",
        ),
        ("<RandSeed>0</RandSeed>", "<RandSeed>7</RandSeed>", "-z7"),
        (
            "<RandSeed>0</RandSeed>",
            '<Affinity><AffinityGroupAssignment Group="0" Processor="3"/></Affinity>',
            "-ag0,3",
        ),
    ],
)
def test_the_profile_becomes_a_command(tmp_path: Path, old: str, new: str, expected: str) -> None:
    imported = step(written(tmp_path, XML.replace(old, new)))
    assert imported.command is not None
    assert set(expected.split()) <= set(imported.command.split())
    assert (imported.jobs is None) == ("-si" in expected), "two threads that share a sequence are no jobs"


def test_without_latencies_there_are_none_and_it_is_said(tmp_path: Path) -> None:
    xml = re.sub(r"<Latency .*</Latency>", "", XML, flags=re.DOTALL)
    text = TEXT.partition("\nTotal latency distribution:")[0]
    for result in (xml, text):
        imported = step(written(tmp_path, result))
        assert imported.rows[0].figures[READ].latency is None
        assert any("-L" in warning for warning in imported.warnings)


def test_a_text_without_l_and_d_has_fewer_columns(tmp_path: Path) -> None:
    lines = [
        "|".join(cell for place, cell in enumerate(line.split("|")) if place not in (5, 6, 7))
        if line.count("|") == 8
        else line
        for line in TEXT.partition("\nTotal latency distribution:")[0].splitlines()
    ]
    imported = step(written(tmp_path, "\n".join(lines)))
    assert imported.rows[0].figures[READ].ios == 139_000
    assert imported.parts[0].figures[READ].latency is None


def test_what_powershell_wrote_is_read(tmp_path: Path) -> None:
    for text, encoding in ((TEXT, "utf-16"), (TEXT.replace("\n", "\r\n"), "utf-8-sig"), (XML, "utf-8-sig")):
        path = tmp_path / "result.txt"
        path.write_bytes(text.encode(encoding))
        assert step(path).rows[0].figures[READ].ios == 139_000


def test_a_physical_drive_has_its_path(tmp_path: Path) -> None:
    imported = step(written(tmp_path, TEXT.replace(r'"D:\io\t dat.bin"', "#1")))
    assert imported.jobs is not None
    assert imported.jobs.jobs[0].filenames == (r"\\.\PhysicalDrive1",)


def test_a_load_that_is_no_job_is_no_error(tmp_path: Path) -> None:
    imported = step(written(tmp_path, TEXT.replace("-Sh", "-Sm")))
    assert imported.jobs is None
    assert any("mapped memory" in warning for warning in imported.warnings)


def test_several_time_spans_are_several_steps(tmp_path: Path) -> None:
    span = XML[XML.index("  <TimeSpan>\n    <TestTime") : XML.index("</Results>")]
    head, _, rest = TEXT.partition("Results for timespan 1:")
    text = f"{head}Results for timespan 1:{rest}\nResults for timespan 2:{rest}\n\n\nTotals:\n***\n\nwrite  | 1 | 2\n"
    for result in (XML.replace(span, span + span), text):
        assert [one.label for one in read_foreign(written(tmp_path, result))] == ["result-1", "result-2"]


@both
def test_a_file_that_ends_early_is_damaged_or_says_less(tmp_path: Path, name: str) -> None:
    text = (SAMPLES / name).read_text()
    refused = 0
    for cut in range(0, len(text) - 20, len(text) // 60):
        try:
            imported = step(written(tmp_path, text[:cut]))
        except IogaugeError as error:
            refused += 1
            assert error.hint  # noqa: PT017 (both outcomes are looked at)
        else:
            assert name == "diskspd.txt", "a part of XML is no XML"
            assert cut > text.index("Write IO")
            assert imported.rows[0].figures[READ].ios == 139_000
    assert refused > 30


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("<TestTimeSeconds>10.00", "<TestTimeSeconds>soon", "TestTimeSeconds"),
        ("<ReadCount>70000", "<ReadCount>-1", "ReadCount"),
        ("<ReadCount>70000</ReadCount>", "", "ReadCount"),
        ("<Percentile>25<", "<Percentile>250<", "Percentile"),
        ("<Results>", '<!DOCTYPE x [<!ENTITY a "b">]><Results>', "not a result|entities"),
        (
            "<TestTimeSeconds>10.00</TestTimeSeconds>",
            "<Error>The test was interrupted</Error>",
            "interrupted",
        ),
        ('SampleMillisecond="1000"', 'SampleMillisecond="10"', "SampleMillisecond"),
    ],
)
def test_a_value_of_xml_that_cannot_be_is_named(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(IogaugeError, match=reason) as caught:
        read_foreign(written(tmp_path, XML.replace(old, new)))
    assert caught.value.hint


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("actual test time:\t10.00s", "", "actual test time"),
        ("Write IO\n", "Writes\n", "Write IO"),
        ("     0 |", "   one |", "a thread"),
        ("   70000 |", "   lots |", "I/Os"),
        ("7-nines", "seven", "is not a percentile"),
    ],
)
def test_a_value_of_text_that_cannot_be_is_named(tmp_path: Path, old: str, new: str, reason: str) -> None:
    with pytest.raises(IogaugeError, match=reason) as caught:
        read_foreign(written(tmp_path, TEXT.replace(old, new)))
    assert caught.value.hint


@given(st.sampled_from([TEXT, XML]), st.data())
def test_whatever_is_changed_is_read_or_refused(tmp_path_factory, text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, min(start + 40, len(text))))
    changed = text[:start] + data.draw(st.text(alphabet="0123456789<>/|-. \nXé\0", max_size=12)) + text[end:]
    path = tmp_path_factory.getbasetemp() / "any.txt"
    path.write_text(changed)
    try:
        assert read_foreign(path)
    except IogaugeError as error:
        assert error.hint  # noqa: PT017 (either outcome is right)


def test_the_one_thing_that_is_not_xml_is_repaired_and_said() -> None:
    """DiskSpd 2.2 writes Name="<unknown>" where it cannot read the power scheme."""
    text, xml = (step(SAMPLES / f"diskspd-2.2-mixed.{suffix}") for suffix in ("txt", "xml"))
    assert (xml.version, xml.rows[0].duration_s) == ("2.2.0", 2)
    assert any('Name="<unknown>" is not XML' in warning for warning in xml.warnings)
    assert not any("XML" in warning for warning in text.warnings)
    for imported in (text, xml):
        assert imported.jobs is not None
        (job,) = imported.jobs.jobs
        assert (job.rw, job.rwmix_read_percent, job.iodepth) == (Rw.RANDRW, 70, 4)
        assert imported.rows[0].figures[READ].latencies[Kind.LAT].quantiles
    assert text.rows[0].figures[READ].ios == 7630


def test_nothing_else_that_is_not_xml_is_repaired(tmp_path: Path) -> None:
    text = (
        (SAMPLES / "diskspd-2.2-mixed.xml")
        .read_text()
        .replace("<ComputerName>vm", '<ComputerName x="<y>">vm')
    )
    with pytest.raises(IogaugeError, match="is not valid XML"):
        read_foreign(written(tmp_path, text))


@pytest.mark.parametrize("form", ["xml", "txt"])
def test_a_failed_run_is_told_in_its_own_words(form: str, tmp_path: Path) -> None:
    message = "The test was interrupted before the measurements began. No results are displayed."
    path = SAMPLES / "diskspd-2.2-missing.xml"
    if form == "txt":
        head, mark, _ = (SAMPLES / "diskspd-2.2-mixed.txt").read_text().partition("Results for timespan 1:\n")
        path = written(tmp_path, f"{head}{mark}{'*' * 79}\n\n{message}\n")
    with pytest.raises(IogaugeError, match=re.escape(f"DiskSpd failed: {message}")) as caught:
        read_foreign(path)
    assert caught.value.hint


def test_a_profile_is_no_result() -> None:
    with pytest.raises(IogaugeError, match="is a profile of DiskSpd") as caught:
        read_foreign(SAMPLES / "diskspd-2.2-profile.xml")
    assert "-X" in str(caught.value.hint)
