"""Job files drawn over the options: 200 of them give the values of fio's parser, 100 the I/Os of fio, one by one.

Needs fio; the second part also strace, and neither of them root or a device.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from iogauge.errors import IogaugeError
from iogauge.workload import parse, to_fio
from tests.fio_parser import assert_like_fio
from tests.system.fio.calls import IOGAUGE, STRACE, call
from tests.system.fio.job_files import ISSUED, PARSED, job_file

pytestmark = pytest.mark.skipif(shutil.which("fio") is None, reason="needs fio")


def accepted(number: int, options: object, **how: object) -> str:
    """Return the first job file from ``number`` on, in steps of 1000, whose options do not exclude each other."""
    for attempt in range(number, number + 100_000, 1000):
        text = job_file(attempt, options, **how)  # type: ignore[arg-type]
        try:
            parse(text, source="drawn")
        except IogaugeError:
            continue
        return text
    raise AssertionError("options exclude each other in every file")


@pytest.mark.parametrize("number", range(200))
def test_values_are_those_of_fios_parser(number: int, tmp_path: Path) -> None:
    path = tmp_path / "drawn.fio"
    path.write_text(accepted(number, PARSED))
    assert_like_fio(path)
    # What iogauge writes of it means the same to both.
    written = tmp_path / "written.fio"
    jobs = parse(path.read_text(), source="drawn").jobs
    written.write_text(to_fio(parse(path.read_text(), source="drawn")))
    assert parse(written.read_text(), source="written").jobs == jobs
    assert_like_fio(written)


Ios = list[tuple[str, ...]]
SAMPLE_BYTES = "4096"
FILES = range(100)


def issued(program: list[str], text: str, folder: Path) -> dict[int, Ios]:
    """Return the I/Os of each job: its threads in their order, and for each the call, file, length and offset."""
    folder.mkdir()
    (folder / "j.fio").write_text(text)
    call(program, "j.fio", cwd=folder)  # lays the files out, which needs the same calls
    names = "pread64,pwrite64,preadv2,pwritev2,fsync,fdatasync"
    call([*STRACE, f"--trace={names}", *program], "j.fio", cwd=folder)
    io = re.compile(
        rf"(?m)^(p(?:read|write))\w*\(\d+<{re.escape(str(folder))}/(job[^>]*)>, "
        rf"(?:.*?, (\d+), (\d+)\)|\[\{{.*?iov_len=(\d+)\}}\], 1, (\d+), 0\)) += "
        rf"|^(fsync|fdatasync)\(\d+<{re.escape(str(folder))}/(job[^>]*)>\)"
    )
    threads: dict[int, list[Ios]] = {number: [] for number in FILES}
    for path in folder.glob("calls.*"):
        of_thread = [tuple(filter(None, match.groups())) for match in io.finditer(path.read_text())]
        # iogauge looks at blocks of 4 KiB before a run, to see what a target holds. No job here reads that few bytes.
        ios = [io for io in of_thread if io[2:3] != (SAMPLE_BYTES,)]
        # fio lays files out in its main thread, and a job's files have its name.
        for number in {int(io[1].split(".")[0].removeprefix("job")) for io in ios}:
            threads[number].append([io for io in ios if io[1].startswith(f"job{number}.")])
    return {number: [io for ios in sorted(of_job) for io in ios] for number, of_job in threads.items()}


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> tuple[dict[int, Ios], dict[int, Ios]]:
    """Return the I/Os of iogauge and those of fio: each runs all job files as the sections of one, in turn."""
    drawn = [accepted(number, ISSUED, jobs=1, share=0.35) for number in FILES]
    sections = [text.replace("[job0]", f"[job{number}]\nstonewall") for number, text in enumerate(drawn)]
    text = "".join(["[global]\nthread\ninvalidate=0\nbs=8k\nsize=128k\nrandrepeat=1\n", *sections])
    folder = tmp_path_factory.mktemp("jobs")
    return issued([*IOGAUGE], text, folder / "ours"), issued(["fio"], text, folder / "fios")


@pytest.mark.skipif(shutil.which("strace") is None, reason="needs strace")
@pytest.mark.parametrize("number", FILES)
def test_ios_are_those_of_fio(number: int, both: tuple[dict[int, Ios], dict[int, Ios]]) -> None:
    ours, theirs = both
    assert theirs[number]
    assert ours[number] == theirs[number]
