"""Lines, comments, sections, included files and substitution."""

from __future__ import annotations

import os
from pathlib import Path
from threading import Thread

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge.errors import IogaugeError
from iogauge.workload import load, parse
from iogauge.workload.problem import BadValue
from iogauge.workload.reading import ini
from iogauge.workload.reading.substitute import KEYWORDS, substitute


def lines(text: str) -> list[tuple[str, list[str]]]:
    sections = ini.sections(text, source="t.fio", base=None)
    return [(section.name, [line.text for line in section.lines]) for section in sections]


def test_comments_can_begin_anywhere() -> None:
    text = "; first\n# second\n[a] ; of a\n  bs=4k ; size\n\trw=read# how\n;\n\n[b c]\nname=x;y\n"
    assert lines(text) == [("a", ["bs=4k", "rw=read"]), ("b c", ["name=x"])]


def test_line_ends_of_other_systems() -> None:
    assert lines("[a]\r\nbs=4k\r\n") == [("a", ["bs=4k"])]


def test_sections_and_lines_have_their_place() -> None:
    section = ini.sections("\n[a]\n\nbs=4k\n", source="t.fio", base=None)[0]
    assert (section.place.where, section.lines[0].place.where) == ("t.fio:2", "t.fio:4")


@pytest.mark.parametrize(
    ("text", "where"),
    [("bs=4k\n[a]\n", "t.fio:1"), ("[a\n", "t.fio:1"), ("[a] b\n", "t.fio:1"), ("\n[]\n", "t.fio:2"),
     ("[a]\n\0\n", "t.fio:2"), ("[a]\n" + "x" * 9000, "t.fio:2"), ("[" + "x" * 300 + "]", "t.fio:1"),
     ("[a]\ninclude\n", "t.fio:2"), ("[a]\ninclude no/such\n", "t.fio:2"), ("include x\n", "t.fio:1"),
     ("[a]\ninclude \x7f/\n", "t.fio:2")],
)  # fmt: skip
def test_malformed_job_files_are_refused_with_their_place(text: str, where: str) -> None:
    with pytest.raises(IogaugeError) as caught:
        lines(text)
    assert str(caught.value).startswith(where)
    assert caught.value.hint


def test_a_name_that_begins_with_global_is_a_global_section() -> None:
    sections = ini.sections("[global]\n[global2]\n[Global]\n", source="t", base=None)
    assert [section.is_global for section in sections] == [True, True, False]


def test_included_lines_replace_the_include_and_have_their_own_place(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub/one.inc").write_text("bs=8k\ninclude two.inc\n")
    (tmp_path / "sub/two.inc").write_text("iodepth=0\n")
    job = tmp_path / "job.fio"
    job.write_text("[a]\nrw=read\ninclude sub/one.inc\nsize=1m\n")
    with pytest.raises(IogaugeError) as caught:
        load(job)
    assert str(caught.value).startswith(f"{tmp_path}/sub/two.inc:1: [a] iodepth=0:")
    (tmp_path / "sub/two.inc").write_text("numjobs=2\n")
    assert list(load(job).options[0]) == ["rw", "bs", "numjobs", "size"]


def test_included_files_are_looked_for_in_the_working_directory_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here, beside = tmp_path / "here", tmp_path / "beside"
    for folder, size in ((here, "8k"), (beside, "16k")):
        folder.mkdir()
        (folder / "x.inc").write_text(f"bs={size}\n")
    (beside / "job.fio").write_text("[a]\ninclude x.inc\n")
    monkeypatch.chdir(here)
    assert load(beside / "job.fio").jobs[0].bs.read.minimum_bytes == 8192
    (here / "x.inc").unlink()
    assert load(beside / "job.fio").jobs[0].bs.read.minimum_bytes == 16384


def test_included_files_hold_no_sections(tmp_path: Path) -> None:
    (tmp_path / "x.inc").write_text("[b]\n")
    with pytest.raises(IogaugeError, match="cannot have sections"):
        parse("[a]\ninclude x.inc\n", source="t.fio", base=tmp_path)


def test_files_that_include_themselves_are_refused(tmp_path: Path) -> None:
    (tmp_path / "a.inc").write_text("include b.inc\n")
    (tmp_path / "b.inc").write_text("include a.inc\n")
    with pytest.raises(IogaugeError, match="includes itself"):
        parse("[a]\ninclude a.inc\n", source="t.fio", base=tmp_path)


def test_depth_and_number_of_included_files_are_bounded(tmp_path: Path) -> None:
    for depth in range(30):
        (tmp_path / f"{depth}.inc").write_text(f"include {depth + 1}.inc\n")
    with pytest.raises(IogaugeError, match="too many files"):
        parse("[a]\ninclude 0.inc\n", source="t.fio", base=tmp_path)
    for depth in range(12):
        (tmp_path / f"w{depth}.inc").write_text(f"include w{depth + 1}.inc\n" * 10)
    (tmp_path / "w12.inc").write_text("")
    with pytest.raises(IogaugeError, match="too many files"):
        parse("[a]\ninclude w0.inc\n", source="t.fio", base=tmp_path)


def test_sizes_are_bounded(tmp_path: Path) -> None:
    (tmp_path / "big.fio").write_bytes(b"#" * (ini.LARGEST_BYTES + 1))
    with pytest.raises(IogaugeError, match="larger than"):
        load(tmp_path / "big.fio")
    (tmp_path / "many.inc").write_text("bs=4k\n" * 12_000)
    with pytest.raises(IogaugeError, match="more than"):
        parse("[a]\ninclude many.inc\ninclude many.inc\n", source="t", base=tmp_path)


def test_unreadable_files_are_refused_with_a_hint(tmp_path: Path) -> None:
    (tmp_path / "binary.fio").write_bytes(b"[a]\n\xff\xfe\n")
    for path in (
        tmp_path / "missing.fio",
        tmp_path,
        tmp_path / "binary.fio",
        Path("/dev/zero"),
        Path("a\0b"),
    ):
        with pytest.raises(IogaugeError) as caught:
            load(path)
        assert caught.value.hint


def test_pipes_are_read_but_not_included(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe.fio"
    os.mkfifo(pipe)
    with pytest.raises(IogaugeError, match="not a file"):
        parse("[a]\ninclude pipe.fio\n", source="t", base=tmp_path)
    writer = Thread(target=pipe.write_text, args=("[a]\n",))
    writer.start()
    assert load(pipe).jobs[0].name == "a"
    writer.join()


def test_variables_and_keywords() -> None:
    environ = {"DISK": "sdx", "EMPTY": "", "ODD": "a${DISK}b"}
    assert substitute("filename=/dev/${DISK}1", environ) == "filename=/dev/sdx1"
    assert substitute("a${EMPTY}b=$x", environ) == "ab=$x"
    assert substitute("x=${ODD}", environ) == "x=a${DISK}b"
    with pytest.raises(BadValue, match="'NONE' is not set"):
        substitute("filename=/dev/${NONE}", environ)


def test_a_variable_cannot_add_lines() -> None:
    with pytest.raises(BadValue):
        substitute("x=${A}", {"A": "1\nrw=write"})
    with pytest.raises(BadValue):
        substitute("x=${A}", {"A": "y" * 10_000})


def test_arithmetic_with_keywords_is_evaluated(monkeypatch: pytest.MonkeyPatch) -> None:
    for keyword, value in {"$pagesize": 4096, "$mb_memory": 1000, "$ncpus": 6}.items():
        monkeypatch.setitem(KEYWORDS, keyword, lambda value=value: value)
    assert {text: substitute(text, {}) for text in (
        "numjobs=$ncpus", "size=5*1024*1024*$mb_memory/8", "size=$mb_memory-1", "filename=/d/$ncpus", "bs=2*$pagesize",
    )} == {
        "numjobs=$ncpus": "numjobs=6", "size=5*1024*1024*$mb_memory/8": "size=655360000",
        "size=$mb_memory-1": "size=999", "filename=/d/$ncpus": "filename=/d/6", "bs=2*$pagesize": "bs=8192",
    }  # fmt: skip


def test_keywords_have_the_values_of_the_machine() -> None:
    assert all(value() > 0 for value in KEYWORDS.values())


@given(st.text(alphabet="[]=;#\n ab\r\t\0", max_size=80))
def test_any_text_gives_sections_or_an_error_with_a_hint(text: str) -> None:
    try:
        sections = lines(text)
    except IogaugeError as error:
        sections = []
        assert error.hint  # noqa: PT017 (either outcome is right)
    for name, texts in sections:
        assert name
        assert not any({";", "#", "\n"} & set(line) or line != line.strip() or not line for line in texts)
