"""The views of models: what they show, what is refused, and how questions are answered and ended."""

from __future__ import annotations

import asyncio
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, strategies
from markupsafe import escape
from starlette.datastructures import QueryParams

from iogauge import catalog
from iogauge.errors import IogaugeError, UsageError
from iogauge.live.finding import FeedInfo
from iogauge.text.cells import micro
from iogauge.web.app import make_app
from iogauge.web.modelling import answers as answering
from iogauge.web.modelling.answers import Answers
from iogauge.web.modelling.question import Load, Question, changes_of, load_of
from iogauge.web.settings import Settings
from iogauge.web.views import models as view
from tests.fast.web.client import TOKEN, Answer, Client

QUESTION = "/models/p4800x?rw=randrw&bs=4k&iodepth=4&numjobs=1&requests=2000"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Client]:
    """A server whose models are the subject; no view of them asks the index, and nothing is being measured."""
    directory = tmp_path_factory.mktemp("served")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "Answers", lambda: Answers(running=list))
        yield Client(make_app(Settings(directory=directory, token=TOKEN), None))  # type: ignore[arg-type]


def charts(answer: Answer) -> dict[str, Any]:
    """The data of the page's charts."""
    (text,) = re.findall(
        r'<script type="application/json" id="charts">(.*?)</script>', answer.text, re.DOTALL
    )
    data: dict[str, Any] = json.loads(text)
    return data["charts"]


def feed(*, virtual: bool) -> FeedInfo:
    """A running measurement."""
    return FeedInfo(1, 1, "a run on /dev/sdx", None, ("/dev/sdx",), (), virtual, 0.0, Path("none"))


def test_every_model_is_listed_with_its_link(client: Client) -> None:
    page = client.get("/models").text
    assert "12 drive models and 10 machine models" in page
    for name in (*catalog.shipped("drive"), *catalog.shipped("machine")):
        assert f'href="/models/{name}"' in page


@pytest.mark.parametrize("name", [*catalog.shipped("drive"), *catalog.shipped("machine")])
def test_every_number_of_a_model_is_shown_with_its_source(client: Client, name: str) -> None:
    answer = client.get(f"/models/{name}")
    assert answer.status == 200
    for place, _ in catalog.load(name).leaves():
        assert f"<code>{place}</code>" in answer.text
    for _, entry in catalog.load(name).entries():
        assert escape(micro(entry.source)) in answer.text


def test_published_figures_stand_beside_those_of_the_model(client: Client) -> None:
    page = client.get("/models/p4800x").text
    assert "Half of the 97 figures are within 1.6 % of what was published." in page
    assert "S1 Intel evaluation guide Table 5" in page
    assert 'id="published"' not in client.get("/models/disk-7200").text


@pytest.mark.parametrize(
    "name", ["nix", "..%2F..%2Fpyproject.toml", "%2Fetc%2Fpasswd", "p4800x%00", "a" * 500]
)
def test_only_shipped_models_are_read(client: Client, name: str) -> None:
    assert client.get(f"/models/{name}").status == 404


def test_a_question_is_answered_with_sentences_tables_and_charts(client: Client) -> None:
    answer = client.get(f"{QUESTION}&set=media.turnaround_ns%3D0&set=")
    assert answer.status == 200
    assert "randrw, read: With media.turnaround_ns=0, the mean is" in answer.text
    assert "8 pairs of runs" in answer.text
    drawn = charts(answer)
    assert drawn.keys() == {"side-by-side", "explained"}
    sides = drawn["side-by-side"]
    assert sides["columns"][:4] == ["load", "side", "bar", "part"]
    assert "changed" in sides["texts"]


def test_a_load_without_changes_is_explained(client: Client) -> None:
    answer = client.get(QUESTION.replace("randrw", "randread"))
    assert answer.status == 200
    assert "A read takes" in answer.text
    assert list(charts(answer)) == ["explained"]


def test_a_machine_is_asked_about_in_front_of_a_drive(client: Client) -> None:
    answer = client.get("/models/linux-stock?rw=randread&requests=1000&set=wake_ns%3D0")
    assert answer.status == 200, answer.text
    assert "With machine.wake_ns=0, the mean is" in answer.text


def test_an_answer_is_one_file(client: Client) -> None:
    answer = client.get(f"{QUESTION}&set=media.turnaround_ns%3D0&save=1")
    assert answer.headers["content-disposition"].startswith("attachment")
    assert "With media.turnaround_ns=0, the mean is" in answer.text
    elements = re.sub(r"<script.*?</script>", "", answer.text, flags=re.DOTALL)
    assert not re.search(r'src="|<form|href="/', elements)


@pytest.mark.parametrize(
    ("query", "message", "hint"),
    [
        ("rw=verify", "rw &#39;verify&#39; is not offered here", "one of: randread"),
        ("rw=read&bs=4k%0Aexec_prerun%3Dtrue", "is not a block size", "write, for instance, 4k"),
        ("rw=read&bs=17m", "is not a block size", "4k"),
        ("rw=read&iodepth=0", "iodepth &#39;0&#39; is out of range", "a whole number from 1 to 1,024"),
        ("rw=read&numjobs=33", "numjobs &#39;33&#39; is out of range", "from 1 to 32"),
        ("rw=read&requests=1e9", "is out of range", "from 1,000 to 100,000"),
        ("rw=read&rate_iops=-1", "is out of range", "from 1 to"),
        ("rw=read&machine=/etc/x.toml", "there is no machine model", "one of: anandtech-linux"),
        ("rw=read&set=nothing", "nothing: is not PARAMETER=VALUE", "media.turnaround_ns=0"),
        ("rw=read&set=a%3D1&set=a%3D2", "a is changed twice", "leave one"),
        ("rw=read&set=media.chanels%3D3", "has no media.chanels", "media.channels"),
        ("rw=read&set=media.channels%3D-1", "media.channels", "iogauge model show p4800x-375g"),
        ("rw=read&" + "&".join(f"set=a{n}%3D1" for n in range(17)), "17 changes are too many", "at most 16"),
    ],
)
def test_what_cannot_be_asked_is_refused_with_a_hint(
    client: Client, query: str, message: str, hint: str
) -> None:
    answer = client.get(f"/models/p4800x?{query}")
    assert answer.status == 400
    problem = answer.text.partition('<div class="problem"')[2].partition("</div>")[0]
    assert message in problem
    assert hint in problem


@given(strategies.text(max_size=20), strategies.text(max_size=20), strategies.text(max_size=20))
def test_no_text_adds_a_line_to_the_job(rw: str, bs: str, iodepth: str) -> None:
    try:
        load = load_of(QueryParams({"rw": rw, "bs": bs, "iodepth": iodepth}))
    except UsageError:
        return
    assert len(load.job.splitlines()) == 9


def test_changes_are_read_in_their_order() -> None:
    assert changes_of(["b=1", "", "a=2.5e3 "]) == (("b", "1"), ("a", "2.5e3"))


def question(requests: int = 1000) -> Question:
    """A question that is answered quickly."""
    return Question("p4800x-375g", "ideal", Load(requests=requests), ())


def test_no_model_runs_while_a_drive_is_measured() -> None:
    real = Answers(running=lambda: [feed(virtual=True), feed(virtual=False)])
    with pytest.raises(IogaugeError, match="a run on /dev/sdx") as refused:
        asyncio.run(real.to(question()))
    assert refused.value.hint == "wait until it ends, then load this page again"
    answer = asyncio.run(Answers(running=lambda: [feed(virtual=True)]).to(question()))
    assert answer["sentences"]


def test_an_answer_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    async def answered(asked_for: Question) -> dict[str, Any]:
        calls.append(asked_for)
        return {"number": len(calls)}

    monkeypatch.setattr(answering, "_answer", answered)
    monkeypatch.setattr(answering, "MOST_KEPT", 2)
    answers = Answers(running=list)

    async def ask() -> list[int]:
        questions = [question(number) for number in (1, 1, 2, 3, 1)]
        return [(await answers.to(one))["number"] for one in questions]

    assert asyncio.run(ask()) == [1, 1, 2, 3, 4]


def test_one_is_answered_at_a_time_and_few_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    async def ask() -> tuple[int, list[BaseException | dict[str, Any]]]:
        running, most, go = 0, 0, asyncio.Event()

        async def answered(_: Question) -> dict[str, Any]:
            nonlocal running, most
            running += 1
            most = max(most, running)
            await go.wait()
            running -= 1
            return {}

        monkeypatch.setattr(answering, "_answer", answered)
        answers = Answers(running=list)
        tasks = [asyncio.create_task(answers.to(question(number))) for number in range(7)]
        done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
        assert {str(task.exception()) for task in done} == {"too many questions about models are waiting"}
        go.set()
        return most, await asyncio.gather(*tasks, return_exceptions=True)

    most, outcomes = asyncio.run(ask())
    assert most == 1
    assert sum(isinstance(outcome, dict) for outcome in outcomes) == 1 + answering.MOST_WAITING


def test_a_client_that_leaves_ends_the_process(monkeypatch: pytest.MonkeyPatch) -> None:
    processes = []
    begin = asyncio.create_subprocess_exec

    async def leave() -> None:
        begun = asyncio.Event()

        async def recorded(*arguments: Any, **options: Any) -> asyncio.subprocess.Process:
            processes.append(await begin(*arguments, **options))
            begun.set()
            return processes[-1]

        class Request:
            async def receive(self) -> dict[str, str]:
                await begun.wait()
                return {"type": "http.disconnect"}

        monkeypatch.setattr(asyncio, "create_subprocess_exec", recorded)
        work = Answers(running=list).to(question(100_000))
        with pytest.raises(IogaugeError, match="the page was closed"):
            await view._unless_left(Request(), work)  # type: ignore[arg-type]

    asyncio.run(leave())
    (process,) = processes
    assert process.returncode is not None


def test_a_question_that_takes_too_long_is_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answering, "LONGEST_S", 0.0)
    with pytest.raises(IogaugeError, match="the model took longer than"):
        asyncio.run(Answers(running=list).to(question(100_000)))
