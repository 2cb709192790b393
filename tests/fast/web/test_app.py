"""What the application does around its views: sign-in, errors as pages and as JSON, and the index kept up to date."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pytest
from starlette.exceptions import HTTPException
from starlette.routing import Route

from iogauge.errors import IogaugeError
from iogauge.web import app as application
from iogauge.web import session
from iogauge.web.settings import Settings
from tests.fast.web.client import TOKEN, Client

if TYPE_CHECKING:
    from starlette.requests import Request


@pytest.fixture
def said() -> list[str]:
    return []


@pytest.fixture
def client(said: list[str], monkeypatch: pytest.MonkeyPatch) -> Client:
    async def fails(request: Request) -> Any:
        raise {
            "missing": HTTPException(404, "there is no <b>such</b> review"),
            "refused": IogaugeError("the <i>disk</i> is full", hint="free some space"),
            "broken": ZeroDivisionError("a <u>secret</u>"),
        }[request.path_params["how"]]

    view = SimpleNamespace(routes=lambda: [Route("/fails/{how}", fails)])
    monkeypatch.setattr(application, "VIEWS", ("fails",))
    monkeypatch.setattr(application, "import_module", lambda _: view)
    index: Any = None
    return Client(
        application.make_app(Settings(directory=Path(), token=TOKEN), index, say=said.append), signed_in=True
    )


def test_the_token_is_exchanged_for_a_cookie_that_scripts_and_other_sites_cannot_use(client: Client) -> None:
    answer = client.post("/session", {"token": TOKEN})
    assert answer.status == 204
    cookie = answer.headers["set-cookie"]
    assert cookie.startswith(f"iogauge-8384={session.cookie_of(TOKEN)};")
    assert "HttpOnly" in cookie
    assert "SameSite=strict" in cookie
    assert "Secure" not in cookie
    assert TOKEN not in cookie


@pytest.mark.parametrize(
    "content", [{}, {"token": 5}, {"token": ""}, {"token": TOKEN + "x"}, {"token": ["a"]}]
)
def test_another_token_is_refused(client: Client, content: dict[str, Any]) -> None:
    answer = client.post("/session", content)
    assert (answer.status, answer.json["error"]) == (403, "that is not the token")
    assert "set-cookie" not in answer.headers


@pytest.mark.parametrize("content", [[], "text", None, 5])
def test_what_is_no_object_is_refused(client: Client, content: Any) -> None:
    assert client.post("/session", content).status == 400


def test_errors_are_pages_for_people_and_json_for_scripts(client: Client) -> None:
    page = client.get("/fails/refused")
    assert page.status == 400
    assert "<h1>The &lt;i&gt;disk&lt;/i&gt; is full</h1>" in page.text
    assert "hint: free some space" in page.text
    data = client.get("/fails/refused", accept="application/json")
    assert data.json == {"error": "the <i>disk</i> is full", "hint": "free some space"}
    missing = client.get("/fails/missing")
    assert (missing.status, "&lt;b&gt;such" in missing.text) == (404, True)


def test_a_view_that_fails_is_a_sentence_and_the_terminal_says_why(client: Client, said: list[str]) -> None:
    with pytest.raises(ZeroDivisionError):  # which Starlette raises again, for the server
        client.get("/fails/broken")
    assert len(said) == 1
    assert said[0].startswith("error: /fails/broken: ZeroDivisionError: a <u>secret</u> (")
    assert "Traceback" not in said[0]


def test_an_unknown_address_is_a_page(client: Client) -> None:
    assert client.get("/nothing").status == 404
    assert client.get("/static/../app.py").status == 404
    assert client.get("/static/%2e%2e/app.py").status == 404
    assert client.get("/static/..%2fapp.py").status == 404
    assert client.get("/static/%00").status == 404
