"""Pages of other sites, and names that lead to this computer, get nothing from the server and change nothing."""

from __future__ import annotations

import http.server
import re
import threading
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, BrowserContext, Page

from iogauge.store.notes import read_notes
from tests.reviews import Drive, save
from tests.system.pages import CHROMIUM, context, needs_chromium
from tests.system.web.conftest import Serve

pytestmark = needs_chromium

STRANGER = "stranger.example"
NAME = "Secret drive"
ATTACK = """<!doctype html><title>attack</title><p id="done"></p><script>
(async () => {
  const server = new URLSearchParams(location.search).get("server");
  const wrong = [];
  const note = JSON.stringify({ review: "a", text: "attacked" });
  const read = async (name, address, options) => {
    try {
      const answer = await fetch(server + address, options);
      const text = await answer.text();
      if (answer.ok && answer.type !== "opaque") wrong.push(`${name}: ${answer.status} ${text.slice(0, 80)}`);
    } catch { /* refused */ }
  };
  const types = ["application/json", "text/plain", "application/x-www-form-urlencoded"];
  for (const credentials of ["include", "omit"]) {
    await read("list", "/", { credentials });
    await read("rows", "/reviews/rows", { credentials });
    for (const type of types) for (const mode of ["cors", "no-cors"]) {
      const headers = { "Content-Type": type };
      await read(`${mode} ${type}`, "/notes", { method: "POST", mode, credentials, body: note, headers });
    }
  }
  await new Promise((ended) => {
    const source = new EventSource(`${server}/live/1/events`, { withCredentials: true });
    source.onmessage = (event) => wrong.push(`event ${event.data}`);
    source.onerror = () => { source.close(); ended(); };
  });
  const framed = document.createElement("iframe");
  const loaded = new Promise((ended) => { framed.onload = ended; });
  framed.src = `${server}/`;
  document.body.append(framed);
  await loaded;
  try { wrong.push(`frame: ${framed.contentDocument.body.innerText}`); } catch { /* another origin */ }
  const form = document.createElement("form");
  Object.assign(form, { method: "post", action: `${server}/notes`, target: "sent", enctype: "text/plain" });
  const field = document.createElement("input");
  Object.assign(field, { name: note.slice(0, -1) + ',"x":"', value: '"}' });
  form.append(field);
  const sent = document.createElement("iframe");
  sent.name = "sent";
  const posted = new Promise((ended) => { sent.onload = ended; });
  document.body.append(sent, form);
  form.submit();
  await posted;
  document.getElementById("done").textContent = JSON.stringify(wrong);
})();
</script>"""


class _Stranger(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(ATTACK.encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def stranger() -> Iterator[int]:
    """A server of somebody else on this computer; its port."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), _Stranger) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield server.server_port
        server.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = tmp_path_factory.mktemp("safe")
    save(directory / "a", Drive(NAME, seconds=2, reads_a_second=100), pressures_MBps=(100, 300))
    return directory


@pytest.fixture(scope="module")
def link(serve: Serve, store: Path) -> str:
    return serve(store, "--allow-start")


@pytest.fixture
def strange_browser(browser: Browser) -> Iterator[Browser]:
    """A browser for which the stranger's name leads to this computer."""
    arguments = ["--no-sandbox", f"--host-resolver-rules=MAP {STRANGER} 127.0.0.1"]
    opened = browser.browser_type.launch(executable_path=CHROMIUM, args=arguments)
    yield opened
    opened.close()


def signed_in(browser: Browser, link: str) -> tuple[BrowserContext, Page]:
    own = context(browser)
    page = own.new_page()
    page.goto(link)
    page.wait_for_selector("nav.views")
    return own, page


def server_of(link: str) -> str:
    return re.sub(r"/#token=.*", "", link)


def test_a_name_that_is_made_to_lead_here_shows_nothing(strange_browser: Browser, link: str) -> None:
    """DNS rebinding: the stranger's page would have the origin of the server's answers."""
    _, page = signed_in(strange_browser, link)
    port = urlsplit(link).port
    answer = page.goto(f"http://{STRANGER}:{port}/")
    assert answer is not None
    assert answer.status == 421
    assert NAME not in page.content()
    fetched = page.evaluate("fetch('/reviews/rows').then((answer) => answer.status)")
    assert fetched == 421


@pytest.mark.parametrize("host", [STRANGER, "localhost", "127.0.0.1"])
def test_pages_of_other_origins_read_and_change_nothing(
    strange_browser: Browser, stranger: int, link: str, store: Path, host: str
) -> None:
    """``127.0.0.1`` with another port is the same site: its requests have the cookie."""
    own, _ = signed_in(strange_browser, link)
    page = own.new_page()
    page.goto(f"http://{host}:{stranger}/?server={server_of(link)}")
    page.wait_for_function("document.getElementById('done').textContent")
    assert page.locator("#done").inner_text() == "[]"
    assert read_notes(store / "a").text == ""


def test_the_server_s_own_page_may_change_what_strangers_may_not(
    strange_browser: Browser, link: str, store: Path
) -> None:
    """Else the attacks above could fail for another reason."""
    _, page = signed_in(strange_browser, link)
    written = """async (text) => {
        const { version } = await (await fetch('/notes?review=a')).json();
        const body = JSON.stringify({ review: 'a', text, version });
        const headers = { 'Content-Type': 'application/json' };
        return (await fetch('/notes', { method: 'POST', headers, body })).status;
    }"""
    status = page.evaluate(written, "own")
    assert status == 200
    assert read_notes(store / "a").text == "own"
    page.evaluate(written, "")


def test_scripts_cannot_read_the_cookie_or_the_token(strange_browser: Browser, link: str) -> None:
    _, page = signed_in(strange_browser, link)
    assert page.evaluate("document.cookie") == ""
    assert page.evaluate("location.href") == f"{server_of(link)}/"
    token = link.partition("token=")[2]
    assert token not in page.content()


@pytest.mark.parametrize("address", ["/", "/review/a", "/compare"])
def test_the_token_leaves_the_address_of_whoever_is_signed_in_already(
    strange_browser: Browser, link: str, address: str
) -> None:
    own, _ = signed_in(strange_browser, link)
    page = own.new_page()
    page.goto(f"{server_of(link)}{address}#token={link.partition('token=')[2]}")
    page.wait_for_url(f"{server_of(link)}{address}")


def test_two_servers_do_not_sign_each_other_out(
    strange_browser: Browser, link: str, serve: Serve, store: Path, tmp_path: Path
) -> None:
    token = tmp_path / "token"
    token.write_text("another token than the usual one")
    token.chmod(0o600)
    other = serve(store, f"--token-file={token}")
    own, first = signed_in(strange_browser, link)
    second = own.new_page()
    second.goto(other)
    second.wait_for_selector("nav.views")
    first.reload()
    first.wait_for_selector("nav.views")


def test_no_script_may_be_made_from_text(strange_browser: Browser, link: str) -> None:
    _, page = signed_in(strange_browser, link)
    # The browser's own tools may evaluate text, so the page itself tries it: a timer of text, and an image's handler.
    page.evaluate("new Promise((ended) => { setTimeout('window.ran = 1', 0); setTimeout(ended, 50); })")
    page.evaluate(
        """new Promise((ended) => {
          document.body.insertAdjacentHTML("beforeend", '<img id="broken" src="x" onerror="window.ran = 2">');
          document.getElementById("broken").addEventListener("error", ended);
        })"""
    )
    assert page.evaluate("window.ran") is None


def test_all_views_load_only_from_the_server(strange_browser: Browser, link: str) -> None:
    _, page = signed_in(strange_browser, link)
    elsewhere: list[str] = []
    page.on(
        "request",
        lambda request: (
            None
            if request.url.startswith((server_of(link) + "/", "data:", "blob:"))
            else elsewhere.append(request.url)
        ),
    )
    for view in (
        "/",
        "/review/a",
        "/compare?review=a",
        "/explore",
        "/live",
        "/models",
        "/models/p4800x",
        "/start",
    ):
        page.goto(server_of(link) + view, wait_until="networkidle")
        assert page.locator("nav.views").count() == 1, view
    assert elsewhere == []
