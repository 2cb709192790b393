"""The one door to what users name to be written: what it refuses, what it replaces, and how it is written."""

from __future__ import annotations

import errno
import os
import socket
from collections.abc import Callable
from contextlib import AbstractContextManager
from functools import partial
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.store import outputs
from iogauge.store.outputs import Claims, Existing, Output

CONTENT = b"somebody's content"


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def refused(
    path: str | Path, why: str, claims: Claims | None = None, existing: Existing = Existing.REPLACE
) -> None:
    with pytest.raises(IogaugeError, match=why) as caught:
        (claims or Claims()).file(Path(path), existing=existing)
    assert caught.value.hint


def claimed(path: str | Path, existing: Existing = Existing.REPLACE) -> Output:
    return Claims().file(Path(path), existing=existing)


@pytest.fixture
def target() -> Path:
    path = Path("target.bin")
    path.write_bytes(CONTENT)
    return path


@pytest.mark.parametrize("existing", Existing)
def test_no_name_of_a_target_is_written(target: Path, tmp_path: Path, existing: Existing) -> None:
    Path("hard").hardlink_to(target)
    Path("soft").symlink_to(tmp_path / "hard")
    Path("folder").symlink_to(tmp_path)
    for name in (
        "target.bin",
        tmp_path / "target.bin",
        "hard",
        "soft",
        "folder/target.bin",
        "./folder/../target.bin",
    ):
        if "/../" not in str(name):
            refused(name, "is the target target.bin", Claims(targets=[str(target)]), existing)
    assert target.read_bytes() == CONTENT


def test_a_target_that_is_made_first_is_no_output_either(tmp_path: Path) -> None:
    Path("folder").symlink_to(tmp_path)
    Path("soft").symlink_to("new.bin")
    for name in ("new.bin", "folder/new.bin", "soft"):
        refused(name, "is the target new.bin", Claims(targets=["new.bin"]))
    with pytest.raises(IogaugeError, match=r"is the target new.bin"):
        Claims(targets=["new.bin"]).new_directory(Path("folder/new.bin"))


@pytest.mark.parametrize("name", ["target.bin/x", "n" * 300, "circle"])
def test_a_target_that_cannot_be_looked_at_is_known_by_its_name(target: Path, name: str) -> None:
    Path("circle").symlink_to("circle")
    refused(name, f"is the target {name}", Claims(targets=[name]))


def test_what_is_no_path_is_not_the_door_s_to_explain() -> None:
    Claims(targets=["", "a\0b"]).file(Path("page"), existing=Existing.OWN).write(b"page")


def test_an_input_that_cannot_be_looked_at_is_said() -> None:
    with pytest.raises(IogaugeError, match="cannot read: File name too long"):
        Claims(inputs=["n" * 300])


def test_a_saved_target_that_does_not_answer_is_known_by_its_name(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outputs, "unanswered", lambda paths, patience_s: frozenset(paths))
    claims = Claims(saved_targets=["target.bin"])
    monkeypatch.setattr(outputs, "_status", None)  # it must not be looked at
    refused("./target.bin", "is the target target.bin", claims)


def test_saved_targets_are_compared_and_not_read(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(outputs, "await_answers", lambda paths, **_: paths == () or pytest.fail("read"))
    Path("hard").hardlink_to(target)
    refused("hard", "is the target target.bin", Claims(saved_targets=["target.bin"]))


def test_a_descriptor_of_a_target_is_one_of_its_names(target: Path) -> None:
    with target.open("r+b") as file:
        refused(f"/dev/fd/{file.fileno()}", "is the target", Claims(targets=[str(target)]))


def test_what_a_command_reads_and_its_other_outputs_are_kept(target: Path) -> None:
    refused(target, "is an input of this command", Claims(inputs=[target]))
    Path("mine.toml").write_text("a model")
    refused("mine.toml", "is an input of this command", Claims(targets=["model:./mine.toml@ideal"]))
    claims = Claims()
    claims.file(Path("new"), existing=Existing.OWN)
    refused("./new", "is another output of this command: new", claims)
    for _ in range(2):
        claims.file(Path("/dev/null"), existing=Existing.OWN)


def test_files_of_a_saved_review_are_kept() -> None:
    folder = Path("saved/steps/one")
    folder.mkdir(parents=True)
    for name in ("saved/manifest.json", "saved/figures.json", "saved/steps/one/totals.parquet"):
        Path(name).write_bytes(CONTENT)
        refused(name, "belongs to the review saved in ")
    refused("saved/steps/new", "belongs to the review saved in ")
    claimed("saved/report.html").write(b"page")


def test_what_is_no_file_is_refused(tmp_path: Path) -> None:
    Path("folder").mkdir()
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        refused("socket", "is a socket")
    refused("folder", "is a directory")
    refused("missing/file", "there is no directory missing")
    refused("target.bin/file", "Not a directory|no directory")
    refused("/dev/zero", "is a character device other than /dev/null or a terminal")
    refused("/dev/nvme99n1", "no such device")
    refused("n" * 300, "File name too long")
    Path("circle").symlink_to("circle")
    refused("circle", "symbolic links")
    refused("/proc/self/comm", "belongs to the kernel")
    Path("link").symlink_to("/sys/kernel/mm/transparent_hugepage/new")
    refused("link", "belongs to the kernel")


def test_a_file_of_others_is_replaced_only_where_that_is_the_convention(target: Path) -> None:
    said: list[str] = []
    stranger = "exists and was not written by iogauge, or was changed since"
    refused(target, stranger, existing=Existing.OWN)
    refused(target, "exists", existing=Existing.KEEP)
    claims = Claims(say=said.append)
    output = claims.file(target, existing=Existing.REPLACE)
    assert said == [f"target.bin: {stranger}: it will be replaced"]
    assert target.read_bytes() == CONTENT  # nothing is lost by a claim
    output.write(b"ours")
    assert target.read_bytes() == b"ours"


def test_a_file_of_ours_is_replaced_without_a_word_until_somebody_changes_it(tmp_path: Path) -> None:
    said: list[str] = []
    page = Path("page")
    for content in (b"first", b"second"):
        Claims(say=said.append).file(page, existing=Existing.OWN).write(content)
    with Claims(say=said.append).file(page, existing=Existing.OWN).stream() as file:
        file.write(b"third")
    Claims(say=said.append).file(page, existing=Existing.REPLACE)
    assert said == []
    assert page.read_bytes() == b"third"
    with page.open("ab") as file:
        file.write(b" and a note")
    refused(page, "was not written by iogauge", existing=Existing.OWN)


def test_an_empty_file_is_nothing_to_lose(tmp_path: Path) -> None:
    Path("made").touch()
    claimed("made", Existing.OWN).write(b"page")
    assert Path("made").read_bytes() == b"page"


@pytest.mark.parametrize("existing", [Existing.OWN, Existing.KEEP])
def test_what_comes_to_the_place_meanwhile_is_kept(existing: Existing, target: Path) -> None:
    output = Claims(targets=[str(target)]).file(Path("page"), existing=existing)
    Path("page").hardlink_to(target)
    with pytest.raises(IogaugeError, match="page: is the target"):
        output.write(b"page")
    Path("page").unlink()
    os.mkfifo("page")
    with pytest.raises(IogaugeError, match="page: is no longer a regular file"), output.stream():
        pass
    assert target.read_bytes() == CONTENT


def test_a_stranger_that_comes_meanwhile_is_checked_as_at_first() -> None:
    said: list[str] = []
    own = claimed("own", Existing.OWN)
    kept = claimed("kept", Existing.KEEP)
    replaced = Claims(say=said.append).file(Path("replaced"), existing=Existing.REPLACE)
    for name in ("own", "kept", "replaced"):
        Path(name).write_bytes(CONTENT)
    with pytest.raises(IogaugeError, match="own: exists and was not written by iogauge"):
        own.write(b"page")
    with pytest.raises(IogaugeError, match="kept: exists"):
        kept.write(b"page")
    assert {Path(name).read_bytes() for name in ("own", "kept")} == {CONTENT}
    replaced.write(b"page")
    replaced.write(b"page again")
    assert said == [
        "replaced: exists and was not written by iogauge, or was changed since: it will be replaced"
    ]


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_what_was_opened_is_checked_before_it_is_emptied(
    target: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    output = Claims(targets=["target.bin"]).file(Path("log"), existing=Existing.REPLACE)
    output.write(b"ours")
    ours = Path("log").stat()
    Path("log").unlink()
    Path("log").hardlink_to(target)
    monkeypatch.setattr(outputs, "_status", lambda _: ours)  # the target came just after the look
    before = descriptors()
    with pytest.raises(IogaugeError, match="log: is the target"), output.stream():
        pass
    assert target.read_bytes() == CONTENT
    assert descriptors() == before


def test_a_file_that_cannot_be_emptied_is_closed(target: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def failing(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    output = claimed(target)
    monkeypatch.setattr(outputs.os, "ftruncate", failing)
    before = descriptors()
    with pytest.raises(IogaugeError, match="cannot write: Input/output error"), output.stream():
        pass
    assert descriptors() == before


def test_a_terminal_is_known_by_its_descriptor() -> None:
    main, other = os.openpty()  # the main side is called /dev/ptmx
    try:
        assert not claimed(f"/dev/fd/{main}").is_file
    finally:
        os.close(main)
        os.close(other)


def test_a_descriptor_has_to_be_writable_and_is_written_once() -> None:
    with Path("log").open("wb") as file:
        claims = Claims()
        claims.file(Path(f"/dev/fd/{file.fileno()}"), existing=Existing.REPLACE)
        refused("log", "is another output of this command", claims)
    with Path("log").open("rb") as file:
        refused(f"/dev/fd/{file.fileno()}", "is open for reading only")


@pytest.mark.parametrize("enter", [Output.atomic, Output.stream])
def test_errors_of_the_caller_are_not_told_as_the_output_s(
    enter: Callable[..., AbstractContextManager[object]],
) -> None:
    error = OSError(errno.EIO, "Input/output error", "another")
    with pytest.raises(OSError, match="another") as caught, enter(claimed("page")):
        raise error
    assert caught.value is error


def test_the_null_device_and_own_descriptors_are_written(tmp_path: Path) -> None:
    claimed("/dev/null").write(b"gone")
    with Path("log").open("ab") as file:
        file.write(b"before, ")
        file.flush()
        output = claimed(f"/proc/self/fd/{file.fileno()}")
        output.write(b"after")
        assert not output.is_file
    assert Path("log").read_bytes() == b"before, after"
    refused("/dev/fd/987654", "Bad file descriptor")


def test_a_stream_is_there_as_it_comes_and_an_unfinished_output_never() -> None:
    with claimed("log").stream() as file:
        file.write(b"line\n")
        file.flush()
        assert Path("log").read_bytes() == b"line\n"
    with pytest.raises(ZeroDivisionError), claimed("page").atomic() as file:
        file.write(b"half" * (1 // int(not CONTENT)))
    assert not Path("page").exists()


@pytest.fixture
def without_attributes(monkeypatch: pytest.MonkeyPatch) -> None:
    def unsupported(*_: object, **__: object) -> None:
        raise OSError(95, "Operation not supported")

    monkeypatch.setattr(outputs.os, "setxattr", unsupported)
    monkeypatch.setattr(outputs.os, "getxattr", unsupported)


@pytest.mark.usefixtures("without_attributes")
def test_without_attributes_a_file_is_somebody_else_s() -> None:
    claimed("page").write(b"page")
    refused("page", "its file system cannot tell whether iogauge wrote it", existing=Existing.OWN)


def test_a_name_that_is_not_utf8_is_refused_before_anything_is_made(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"bad\xff")
    for claim in (
        partial(Claims().file, path, existing=Existing.REPLACE),
        partial(Claims().make_directory, path),
    ):
        with pytest.raises(IogaugeError, match=r"bad\\xff: its name is not UTF-8"):
            claim()
    assert list(tmp_path.iterdir()) == []
