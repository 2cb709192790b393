"""Which requests reach the pages: by the name of the server, their origin, the cookie, their size and rate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from starlette.responses import PlainTextResponse

from iogauge.errors import UsageError
from iogauge.web import guard, session
from iogauge.web.settings import Settings
from tests.fast.web.client import HOST, ORIGIN, TOKEN, Client

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

CHOSEN = Settings(directory=Path(), token=TOKEN)


def guarded(chosen: Settings = CHOSEN) -> ASGIApp:
    """Return an application behind the guard, which says how much it was sent."""

    async def pages(scope: Scope, receive: Receive, send: Send) -> None:
        size, more = 0, True
        while more:
            message = await receive()
            size += len(message.get("body", b""))
            more = message.get("more_body", False)
        await PlainTextResponse(f"reached with {size} bytes")(scope, receive, send)

    return guard.Guard(pages, chosen)


@pytest.fixture
def client() -> Client:
    return Client(guarded())


def test_a_page_of_this_server_is_shown(client: Client) -> None:
    answer = client.get("/")
    assert (answer.status, answer.text) == (200, "reached with 0 bytes")
    assert answer.headers["content-security-policy"] == guard.POLICY
    assert "unsafe-eval" not in guard.POLICY
    assert "'unsafe-inline'" not in guard.POLICY.partition("script-src")[2].partition(";")[0]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"


@pytest.mark.parametrize(
    "host",
    [
        "evil.example:8384",
        "127.0.0.1",
        "127.0.0.1:80",
        "localhost.evil.example:8384",
        "127.0.0.1:8384.evil.example",
        "127.0.0.1:8384, evil.example",
        "LOCALHOST:8384 ",
        "",
        "[::1",
        "127.1:8384",
        "0.0.0.0:8384",
    ],
)
def test_another_name_of_this_computer_is_refused(client: Client, host: str) -> None:
    """A name that somebody else makes resolve to this computer is not one of the server's."""
    assert client.get("/", host=host).status == 421


@pytest.mark.parametrize("host", ["127.0.0.1:8384", "localhost:8384", "[::1]:8384"])
def test_the_names_of_loopback_are_answered(client: Client, host: str) -> None:
    assert client.get("/", host=host).status == 200


def test_two_host_headers_are_refused(client: Client) -> None:
    cookie = f"iogauge-8384={session.cookie_of(TOKEN)}".encode()
    pairs = [(b"host", HOST.encode()), (b"host", b"evil.example"), (b"cookie", cookie)]
    assert client.send("GET", "/", headers=pairs).status == 421
    assert client.send("GET", "/", headers=pairs[2:]).status == 421
    assert client.send("GET", "/", headers=[pairs[0], pairs[2]]).status == 200


def test_a_chosen_name_is_answered_and_loopback_is_not() -> None:
    chosen = Settings(
        directory=Path(), token=TOKEN, address="192.0.2.7", names=("lab.example",), certificate=Path("c.pem")
    )
    client = Client(guarded(chosen))
    assert client.get("/", host="lab.example:8384").status == 200
    assert client.get("/", host="192.0.2.7:8384").status == 200
    assert client.get("/", host="localhost:8384").status == 421


def test_without_the_cookie_only_the_sign_in_page_is_shown() -> None:
    client = Client(guarded(), signed_in=False)
    page = client.get("/review/secret")
    assert page.status == 401
    assert "<h1>Sign in</h1>" in page.text
    assert "secret" not in page.text
    data = client.send("GET", "/live/1/events", headers={"accept": "text/event-stream"})
    assert (data.status, data.json["error"]) == (401, "sign in first")
    assert client.get("/static/app.css").status == 200
    assert client.get("/", cookie=f"iogauge-8384={'0' * 64}").status == 401
    assert client.get("/", cookie="iogauge=\xff; =;;").status == 401


@pytest.mark.parametrize("path", ["/sessionX", "/session/x", "/session/", "/staticx"])
def test_no_other_address_is_open_to_all(path: str) -> None:
    assert Client(guarded(), signed_in=False).get(path).status == 401
    assert Client(guarded(), signed_in=False).get("/session").status == 200


def test_the_cookie_of_a_server_at_another_port_does_not_sign_in() -> None:
    chosen = Settings(directory=Path(), token=TOKEN, names=("localhost:9000",))
    client = Client(guarded(chosen))
    value = session.cookie_of(TOKEN)
    assert client.get("/", host="localhost:9000", cookie=f"iogauge-8384={value}").status == 401
    assert client.get("/", host="localhost:9000", cookie=f"iogauge-9000={value}").status == 200
    both = f"iogauge-9000={'0' * 64}; iogauge-8384={value}"
    assert client.get("/", host="localhost:8384", cookie=both).status == 200


def test_a_name_may_have_the_port_of_a_tunnel_and_any_case() -> None:
    chosen = Settings(directory=Path(), token=TOKEN, names=("Localhost:9000", "lab.example"))
    client = Client(guarded(chosen), signed_in=False)
    for host in ("localhost:9000", "LOCALHOST:9000", "LocalHost:8384", "Lab.Example:8384"):
        assert client.get("/session", host=host).status == 200
    for host in ("127.0.0.1:9000", "lab.example:9000", "localhost:9001", "localhost"):
        assert client.get("/session", host=host).status == 421
    changed = {"host": "LOCALHOST:9000", "origin": "http://localhost:9000"}
    assert client.post("/session", {}, **changed).status == 200


@pytest.mark.parametrize("name", ["http://lab.example", "lab.example/", "a b", "", "::1", "lab:port", "*"])
def test_what_is_no_name_of_a_server_is_refused(name: str) -> None:
    with pytest.raises(UsageError) as refused:
        Settings(directory=Path(), token=TOKEN, names=(name,))
    assert refused.value.hint


@pytest.mark.parametrize(
    ("address", "loopback"),
    [
        ("localhost", True),
        ("LOCALHOST", True),
        ("127.0.0.9", True),
        ("::1", True),
        ("127.example.com", False),
        ("0.0.0.0", False),
    ],
)
def test_what_is_an_address_of_this_computer_alone(address: str, loopback: bool) -> None:
    assert Settings(directory=Path(), token=TOKEN, address=address).is_loopback is loopback


def test_whoever_is_not_signed_in_does_not_use_up_the_rate_of_who_is() -> None:
    app = guarded()
    owner, other = Client(app), Client(app, signed_in=False)
    statuses = {other.get("/").status for _ in range(2 * guard.BURST)}
    assert statuses == {401, 429}
    assert owner.get("/").status == 200


def test_a_script_is_kept_for_a_day_where_its_address_has_its_digest(client: Client) -> None:
    assert client.get("/static/app.css?0123456789ab").headers["cache-control"] == "max-age=86400"
    for target in ("/static/app.css", "/static/app.css?x", "/?0123456789ab", "/static/app.css?0123456789abc"):
        assert client.get(target).headers["cache-control"] == "no-store"
    signed_out = Client(guarded(), signed_in=False)
    assert signed_out.get("/review?0123456789ab").headers["cache-control"] == "no-store"


def test_the_cookie_of_another_token_is_refused() -> None:
    assert Client(guarded(), token="another token").get("/").status == 401


def test_a_page_of_another_site_reads_nothing(client: Client) -> None:
    assert client.get("/", sec_fetch_site="cross-site", sec_fetch_mode="cors").status == 403
    assert client.get("/", sec_fetch_site="same-site", sec_fetch_mode="no-cors").status == 403
    framed = {"sec_fetch_site": "cross-site", "sec_fetch_mode": "navigate", "sec_fetch_dest": "iframe"}
    assert client.get("/", **framed).status == 403
    followed = framed | {"sec_fetch_dest": "document"}
    assert client.get("/", **followed).status == 200


def test_a_change_comes_from_a_page_of_this_server_as_json(client: Client) -> None:
    assert client.post("/notes", {}).status == 200
    assert client.post("/notes", {}, origin="http://evil.example").status == 403
    assert client.post("/notes", {}, origin="null").status == 403
    assert client.post("/notes", {}, origin=f"https://{HOST}").status == 403
    assert client.post("/notes", {}, origin="http://localhost:8384").status == 403
    assert client.post("/notes", {}, sec_fetch_site="same-site").status == 403
    assert client.post("/notes", {}, content_type="text/plain").status == 415
    assert client.post("/notes", {}, content_type="application/x-www-form-urlencoded").status == 415
    no_origin = {"content-type": "application/json", "sec-fetch-site": "same-origin"}
    assert client.send("POST", "/notes", headers=no_origin, body=b"{}").status == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "GETT", ""])
def test_no_other_method_is_answered(client: Client, method: str) -> None:
    assert client.send(method, "/", headers={"origin": ORIGIN}).status == 405


def test_large_requests_are_refused(client: Client) -> None:
    limit = guard.LARGEST_BODY
    assert client.post("/notes", "a" * (limit - 2)).text == f"reached with {limit} bytes"
    assert client.post("/notes", "a" * limit).status == 413
    assert client.post("/notes", "a", content_length=str(limit + 1)).status == 413
    assert client.post("/notes", "a", content_length="-1").status == 413
    assert client.post("/notes", "a", content_length="9" * 40).status == 413
    assert client.get("/" + "a" * guard.LONGEST_TARGET).status == 414
    assert client.get("/?" + "a" * guard.LONGEST_TARGET).status == 414


def test_too_many_requests_are_refused_and_later_ones_are_not() -> None:
    now = [0.0]
    rate = guard.Rate(clock=lambda: now[0])
    assert all(rate.allows("a") for _ in range(guard.BURST))
    assert not rate.allows("a")
    now[0] += 1.0
    assert sum(rate.allows("a") for _ in range(1000)) == guard.PER_SECOND


def test_many_clients_take_bounded_memory() -> None:
    rate = guard.Rate(clock=lambda: 0.0)
    for number in range(10 * guard.MOST_CLIENTS):
        rate.allows(str(number))
    assert len(rate._clients) == guard.MOST_CLIENTS


def test_refusals_name_a_remedy_in_both_forms() -> None:
    client = Client(guarded())
    page = client.get("/", host="evil.example")
    assert "hint: open the link" in page.text
    data = client.send("GET", "/", headers={"host": "evil.example", "accept": "application/json"})
    assert set(data.json) == {"error", "hint"}
    head = client.send("HEAD", "/", headers={"host": "evil.example", "accept": "text/html"})
    assert (head.status, head.body) == (421, b"")


@settings(max_examples=1000, deadline=None)
@given(
    method=st.sampled_from(["GET", "POST", "HEAD", "PUT", "get", ""]),
    target=st.binary(max_size=60),
    headers=st.lists(st.tuples(st.sampled_from([b"host", b"cookie", b"origin", b"accept", b"content-length",
                                                b"sec-fetch-site", b"content-type"]), st.binary(max_size=40)),
                     max_size=6),
    body=st.binary(max_size=100),
)  # fmt: skip
def test_no_malformed_request_gets_through_or_breaks_it(
    method: str, target: bytes, headers: list[tuple[bytes, bytes]], body: bytes
) -> None:
    answer = Client(guarded()).send(method, target, headers=headers, body=body)
    assert 400 <= answer.status < 500
    assert b"reached" not in answer.body
