"""The reader of the script's JSON: encodings, damage, and files that somebody made up."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from iogauge.errors import UsageError
from iogauge.machine.audit.windows import CHECKS, import_audit
from iogauge.machine.audit.windows.importer import judged_answers, parse_answers
from iogauge.schema.audit import Audit

SERVER = Path(__file__).with_name("server.json")
TEXT = SERVER.read_text(encoding="utf-8")
PASSING = {fact.id for fact in import_audit(SERVER).facts if fact.verdict == "pass"}
VALUES = ["0", "1", "0x0", "0x00000064", "True", "x", "", "-1", "2 3", "Disabled, Stopped"]
JSON: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda part: st.lists(part, max_size=4) | st.dictionaries(st.text(max_size=12), part, max_size=4),
    max_leaves=12,
)


def imported(data: bytes) -> Audit:
    return judged_answers(parse_answers(data, name="audit.json"), CHECKS)


def with_facts(facts: Any, **fields: Any) -> bytes:
    head = {"format": "iogauge windows audit", "version": 1, "at": "2026-11-20T09:15:00+00:00", "disk": "1"}
    return json.dumps({**head, "facts": facts, **fields}).encode()


def test_an_audit_is_of_the_disk_and_the_version() -> None:
    audit = import_audit(SERVER)
    assert (audit.target, audit.device) == ("disk 1", "disk 1")
    assert audit.kernel == "Windows 10.0.17763.5329"
    assert audit.at == "2026-11-20T09:15:00+00:00"
    assert [fact.id for fact in audit.facts] == [check.id for check in CHECKS]


@pytest.mark.parametrize(
    ("mark", "encoding"),
    [(b"\xff\xfe", "utf-16-le"), (b"\xfe\xff", "utf-16-be"), (b"\xef\xbb\xbf", "utf-8"), (b"", "ascii")],
)
def test_every_encoding_of_powershell_is_read(mark: bytes, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "audit.json"
    path.write_bytes(mark + TEXT.replace("\n", "\r\n").encode(encoding))
    assert import_audit(path) == import_audit(SERVER)


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (b"", "not JSON"),
        (b"\0\0\0", "not JSON"),
        (TEXT[:-40].encode(), "cut short"),
        (b"[" * 100_000, "not JSON"),
        (b"[]", "is not the JSON of the script"),
        (b'{"format": "iogauge audit"}', "is not the JSON of the script"),
        (with_facts([], version=2), "version: must be 1"),
        (with_facts([], disk="0'; DROP"), "disk: must"),
        (with_facts([], extra=1), "extra: is not known"),
        (with_facts([{"id": "a.b"}, {"id": "a.b"}]), "a.b is there twice"),
        (with_facts([{"id": "power.disk_timeout", "values": [0]}]), "facts.0.values.0: must be text"),
        (with_facts([{"id": "../../etc"}]), "facts.0.id: must"),
        (with_facts([{"id": "a.b", "values": ["x" * 5000]}]), "facts.0.values.0: must"),
        (with_facts({}), "facts: must be a list"),
    ],
)  # fmt: skip
def test_what_is_not_the_scripts_is_refused(data: bytes, said: str) -> None:
    with pytest.raises(UsageError, match=r"^audit\.json: ") as caught:
        imported(data)
    assert said in str(caught.value)
    assert caught.value.hint


def test_files_that_cannot_be_read_are_refused(tmp_path: Path) -> None:
    large = tmp_path / "large.json"
    with large.open("wb") as file:
        file.truncate((4 << 20) + 1)
    for path, said in (
        (tmp_path / "none.json", "No such file"),
        (tmp_path, "is not a file"),
        (large, "is larger"),
    ):
        with pytest.raises(UsageError, match=said) as caught:
            import_audit(path)
        assert caught.value.hint


def test_texts_cannot_act_on_a_terminal() -> None:
    facts = [{"id": "disk.model", "values": ["\x1b]0;owned\x07 P4800X\nline\ud800"]}]
    (model,) = (fact for fact in imported(with_facts(facts)).facts if fact.id == "disk.model")
    assert model.meaning == "]0;owned P4800X line"


def test_what_a_newer_script_reads_is_shown_as_unknown() -> None:
    audit = imported(with_facts([{"id": "power.new_setting", "values": ["1"]}]))
    assert (audit.facts[-1].id, audit.facts[-1].verdict) == ("power.new_setting", "unknown")
    assert {fact.verdict for fact in audit.facts} == {"unknown"}


@settings(max_examples=200)
@given(st.binary(max_size=200))
def test_bytes_are_refused_or_read(data: bytes) -> None:
    with pytest.raises(UsageError):
        imported(data)


@settings(max_examples=100)
@given(st.integers(min_value=0, max_value=len(TEXT) - 3))
def test_a_part_of_a_file_is_never_read(length: int) -> None:
    with pytest.raises(UsageError):
        imported(TEXT[:length].encode())


@settings(max_examples=200)
@given(
    st.lists(
        st.builds(
            lambda check, part: {"id": check.id, **part},
            st.sampled_from(CHECKS),
            st.fixed_dictionaries(
                {},
                optional={
                    "values": st.lists(st.sampled_from(VALUES), max_size=5),
                    "missing": st.text(max_size=5),
                    "problem": st.text(max_size=5),
                },
            ),
        ),
        unique_by=lambda fact: str(fact["id"]),
        max_size=20,
    )
)  # fmt: skip
def test_only_what_was_read_can_pass(facts: list[dict[str, Any]]) -> None:
    answers = {fact["id"]: fact for fact in facts}
    for fact in imported(with_facts(facts)).facts:
        assert fact.meaning
        answer = answers.get(fact.id)
        if answer is None or "problem" in answer:
            assert fact.verdict == "unknown"
        elif fact.verdict == "pass":
            assert fact.value
            assert "missing" in answer or any(answer.get("values", []))


@settings(max_examples=200)
@given(
    facts=JSON,
    fields=st.dictionaries(st.sampled_from(["format", "version", "at", "disk", "note", "x"]), JSON),
)
def test_no_json_is_a_traceback(facts: Any, fields: dict[str, Any]) -> None:
    with contextlib.suppress(UsageError):
        assert not any(fact.verdict == "pass" for fact in imported(with_facts(facts, **fields)).facts)


@settings(max_examples=60)
@given(st.sets(st.sampled_from(sorted(PASSING)), min_size=1))
def test_what_is_taken_out_no_longer_passes(ids: set[str]) -> None:
    fields = json.loads(TEXT)
    fields["facts"] = [fact for fact in fields["facts"] if fact["id"] not in ids]
    audit = imported(json.dumps(fields).encode())
    assert {fact.id for fact in audit.facts if fact.verdict == "pass"} == PASSING - ids
