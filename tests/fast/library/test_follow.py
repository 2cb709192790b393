"""``iogauge.follow``: progress as an iterator, and how it ends: by its end, an error, Ctrl-C or being left."""

from __future__ import annotations

import gc
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

import iogauge

JOB = "[reads]\nrw=randread\nbs=4k\nruntime=3\ntime_based=1\n"
MODEL = "model:p4800x"
ENDLESS = ["--name=x", "--ioengine=null", "--size=1g", "--rw=randread", "--runtime=600", "--time_based"]


def threads() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name == "iogauge"]


def test_it_has_the_news_and_the_result_of_the_function() -> None:
    news: list[iogauge.Progress] = []
    result = iogauge.run(JOB, target=MODEL, seed=1, on_progress=news.append)
    handler = signal.getsignal(signal.SIGINT)
    progress = iogauge.follow(iogauge.run, JOB, target=MODEL, seed=1)
    assert not threads(), "nothing runs yet"
    assert list(map(str, progress)) == list(map(str, news))
    assert progress.result.to_arrow() == result.to_arrow()
    assert list(progress) == []
    assert signal.getsignal(signal.SIGINT) is handler
    assert iogauge.follow(iogauge.run, JOB, target=MODEL, seed=1).result.to_arrow() == result.to_arrow()


def test_a_review_is_followed(tmp_path: Path) -> None:
    options = {"suites": ["mixed"], "runtime": "50ms", "seed": 1}
    with iogauge.follow(iogauge.review, MODEL, output=tmp_path / "saved", **options) as progress:
        ended = [news.step for news in progress if news.event == "end"]
    assert len(ended) == len(progress.result.steps)


def test_an_error_is_raised_by_the_loop_and_by_the_result() -> None:
    progress = iogauge.follow(iogauge.run, JOB, target=MODEL, fail_if=["p99 > 1ns"])
    with pytest.raises(iogauge.ConditionError):
        list(progress)
    with pytest.raises(iogauge.ConditionError):
        _ = progress.result
    with pytest.raises(iogauge.UsageError, match="no job to run"):
        next(iogauge.follow(iogauge.run, []))


def test_ctrl_c_in_the_wait_stops_the_run_and_keeps_what_it_measured() -> None:
    handler = signal.getsignal(signal.SIGINT)
    progress = iogauge.follow(iogauge.run, ENDLESS, ceiling=False)
    next(progress)
    threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
    with pytest.raises(iogauge.Interrupted) as caught:
        list(progress)
    assert caught.value.result is not None
    assert caught.value.result["x"].read.ios
    assert signal.getsignal(signal.SIGINT) is handler
    assert not threads()


def test_ctrl_c_in_the_loops_body_stops_the_run_too() -> None:
    progress = iogauge.follow(iogauge.run, ENDLESS, ceiling=False)
    next(progress)
    with pytest.raises(KeyboardInterrupt) as caught:
        signal.raise_signal(signal.SIGINT)  # to this thread, at once
    assert not isinstance(caught.value, iogauge.Interrupted), "it came to the body, as any Ctrl-C"
    with pytest.raises(iogauge.Interrupted):
        _ = progress.result


def test_leaving_the_block_or_the_iterator_stops_the_run() -> None:
    with iogauge.follow(iogauge.run, ENDLESS, ceiling=False) as progress:
        next(progress)
    assert not threads()
    with pytest.raises(iogauge.Interrupted):
        _ = progress.result
    for _ in iogauge.follow(iogauge.run, ENDLESS, ceiling=False):
        break
    gc.collect()
    assert not threads()


def test_what_is_closed_before_it_began_never_runs() -> None:
    with iogauge.follow(iogauge.run, ENDLESS, ceiling=False) as progress:
        pass
    assert not threads()
    with pytest.raises(KeyboardInterrupt, match="closed before it began"):
        list(progress)


def test_the_interpreter_does_not_wait_for_a_run_that_goes_on() -> None:
    code = (
        f"import iogauge; p = iogauge.follow(iogauge.run, {ENDLESS!r}, ceiling=False); next(p); print('left')"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=600
    )
    assert done.stdout == "left\n"
