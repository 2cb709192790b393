"""Models' files: what is read, what is taken from a base, and what is refused, in words that say where."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from iogauge import catalog
from iogauge.catalog.file import KINDS, Entry, ModelFile, read
from iogauge.errors import IogaugeError
from iogauge.execution import check_model

SHIPPED = [(what, name) for what in ("drive", "machine") for name in catalog.shipped(what)]
HEAD = 'title = "x"\n[parameters]\n'


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory to work in."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(("what", "name"), SHIPPED)
def test_what_is_shipped_is_a_model(what: str, name: str) -> None:
    model = catalog.load(name)
    assert (model.name, model.what) == (name, what)
    if what == "drive":
        check_model(*catalog.pair(name))
    else:
        check_model(*catalog.pair(f"ram@{name}"))


@pytest.mark.parametrize(("what", "name"), SHIPPED)
def test_every_shipped_number_has_its_source(what: str, name: str) -> None:
    for place, entry in catalog.load(name).entries():
        assert entry.kind in KINDS, place
        assert entry.source, place
        if entry.range is not None:
            assert entry.range[0] <= entry.value <= entry.range[1], place


def test_no_two_models_share_a_name() -> None:
    names = [reference for _, name in SHIPPED for reference in (name, *catalog.load(name).also)]
    assert sorted(set(names)) == sorted(names)


def test_other_names_lead_to_the_same_model() -> None:
    assert catalog.drive("p4800x").path == catalog.drive("p4800x-375g").path


@pytest.mark.parametrize(("what", "name"), SHIPPED)
def test_what_is_written_is_read_again(folder: Path, what: str, name: str) -> None:
    model = catalog.load(name)
    Path("x.toml").write_text(catalog.to_toml(model))
    again = read(Path("x.toml"))
    assert again.tree == model.tree
    assert again.base is None
    for field in ("title", "version", "notes", "also", "published_as", "machine"):
        assert getattr(again, field) == getattr(model, field)
    assert list(again.parameters) == list(model.parameters)


TEXTS = st.text(st.characters(exclude_categories=["Cs"]))
ENTRIES = st.builds(
    Entry,
    value=st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.booleans(),
    kind=st.sampled_from(KINDS),
    source=TEXTS,
)
KEYS = TEXTS.filter(lambda key: key != "value")
TREES = st.recursive(
    ENTRIES | TEXTS,
    lambda inner: st.dictionaries(KEYS, inner, max_size=3) | st.lists(inner, max_size=3),
    max_leaves=8,
)


@given(tree=st.dictionaries(KEYS, TREES, max_size=4), title=TEXTS)
def test_whatever_is_written_is_read_again(
    tree: dict[str, object], title: str, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("models") / "x.toml"
    made = ModelFile(
        path=path,
        title=title,
        version=3,
        notes="",
        also=(),
        published_as=(),
        machine=None,
        base=None,
        tree=tree,
    )
    path.write_text(catalog.to_toml(made), encoding="utf-8", newline="\n")
    again = read(path)
    assert (again.title, again.tree) == (title, tree)


def test_a_base_gives_what_is_left_out(folder: Path) -> None:
    Path("mine.toml").write_text(
        'title = "mine"\nbase = "p4800x"\n[parameters.power]\n'
        'idle_W = { value = 3, kind = "assumed", source = "measured" }\n'
    )
    mine, base = catalog.drive("./mine.toml"), catalog.drive("p4800x")
    changed = base.parameters | {"power": base.parameters["power"] | {"idle_W": 3}}
    assert mine.parameters == changed
    assert (mine.title, mine.also, mine.machine) == ("mine", (), base.machine)


def test_a_base_s_path_begins_where_the_file_lies(folder: Path) -> None:
    Path("sub").mkdir()
    Path("sub/first.toml").write_text(catalog.to_toml(catalog.drive("ram")))
    Path("sub/second.toml").write_text('title = "2"\nbase = "./first.toml"\n[parameters]\n')
    Path("sub/third.toml").write_text('title = "3"\nbase = "second.toml"\n[parameters]\n')
    assert catalog.drive("sub/third.toml").parameters == catalog.drive("ram").parameters


def test_lists_are_taken_whole(folder: Path) -> None:
    Path("mine.toml").write_text('title = "mine"\nbase = "linux-stock"\n[parameters]\nnoise = []\n')
    assert catalog.machine("mine.toml").parameters["noise"] == []


@pytest.mark.parametrize("path", ["a.toml", "./a.toml", "sub/../a.toml"])
def test_a_circle_of_bases_is_refused(folder: Path, path: str) -> None:
    Path("sub").mkdir()
    Path("a.toml").write_text('title = "a"\nbase = "b.toml"\n[parameters]\n')
    Path("b.toml").write_text(f'title = "b"\nbase = "{path}"\n[parameters]\n')
    with pytest.raises(IogaugeError, match="is its own base"):
        catalog.drive("a.toml")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("title", "not TOML"),
        (b"\xff\xfe", "not TOML"),
        ("a = " + "[" * 5000 + "]" * 5000, "not TOML"),
        (".".join(["a"] * 100_000) + " = 1", "nested too deep"),
        ("", r"a model has a title and \[parameters\]"),
        ('title = "x"', r"a model has a title and \[parameters\]"),
        (HEAD + "[more]\n", "'more' is not known"),
        ("titel = 1\n" + HEAD, "'titel' is not known"),
        ("title = 1\n[parameters]\n", "title is a number"),
        ("version = true\n" + HEAD, "version is a boolean"),
        ("also = [1]\n" + HEAD, "also is an array"),
        ('parameters = ["x"]\ntitle = "x"', "parameters is an array"),
        ('base = "nothing"\n' + HEAD, "there is no model 'nothing'"),
        ('base = "nothing.toml"\n' + HEAD, "nothing.toml: no such file"),
        (HEAD + "capacity_bytes = 5", "parameters.capacity_bytes is a number, without its source"),
        (HEAD + "noise = [1]", "parameters.noise.0 is a number, without its source"),
        (HEAD + "media.x = 2026-01-02", "parameters.media.x is a date or time, without its source"),
        (HEAD + "x = { value = 5 }", "parameters.x has value"),
        (HEAD + 'x = { value = 5, kind = "assumed" }', "parameters.x has value, kind"),
        (HEAD + 'x = { value = 5, kind = "guessed", source = "" }', "parameters.x.kind is 'guessed'"),
        (HEAD + 'x = { value = "5", kind = "assumed", source = "" }', "parameters.x.value is not a number"),
        (HEAD + 'x = { value = nan, kind = "assumed", source = "" }', "parameters.x.value is not a number"),
        (HEAD + 'x = { value = inf, kind = "assumed", source = "" }', "parameters.x.value is not a number"),
        (HEAD + 'x = { value = 5, kind = "assumed", source = 5 }', "parameters.x has value, kind, source"),
        (
            HEAD + 'x = { value = 5, kind = "assumed", source = "", range = [1, 2], start = 1 }',
            "parameters.x has value, kind, source, range, start",
        ),
        (HEAD + 'x = { value = 5, kind = "fitted", source = "", start = 1 }', "parameters.x.range"),
        (
            HEAD + 'x = { value = 5, kind = "fitted", source = "", start = 1, range = [2, 3] }',
            "parameters.x.range does not hold its start",
        ),
    ],
)
def test_what_is_no_model_s_file_is_refused(folder: Path, text: str | bytes, message: str) -> None:
    Path("x.toml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(IogaugeError, match=message) as caught:
        catalog.load("x.toml")
    assert caught.value.hint


@pytest.mark.parametrize(
    "reference",
    ["", "@", "p4800x@", "@ideal", "a" * 5000, "a" * 5000 + ".toml", "a\0b", "a\0b.toml", "/", "~"],
)
def test_what_is_no_name_is_refused(reference: str) -> None:
    with pytest.raises(IogaugeError) as caught:
        catalog.pair(f"model:{reference}")
    assert caught.value.hint


def test_a_near_name_is_guessed() -> None:
    with pytest.raises(IogaugeError) as caught:
        catalog.drive("p4800")
    assert caught.value.hint
    assert caught.value.hint.startswith("did you mean p4800x? drives: ")


def test_a_file_that_may_not_be_read(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied", "x.toml")

    monkeypatch.setattr(Path, "open", refuse)
    with pytest.raises(IogaugeError, match=r"^x\.toml: Permission denied$"):
        catalog.load("x.toml")


def changed(name: str, place: str, value: object) -> ModelFile:
    """A shipped model with one parameter changed, or taken away where ``value`` is None."""
    model = catalog.load(name)
    node = model.parameters
    tree = node
    *tables, last = place.split(".")
    for table in tables:
        node = node[int(table)] if isinstance(node, list) else node[table]
    if value is None:
        del node[last]
    else:
        node[last] = value
    return ModelFile(**vars(model) | {"tree": tree})


@pytest.mark.parametrize(
    ("name", "place", "value", "message"),
    [
        ("p4800x", "media.read_chunk_ns", -1, "media.read_chunk_ns is -1, not in"),
        ("p4800x", "media.read_stalls.0.spread", 7.5, "spread"),
        ("p4800x", "media.famly", "x", "unknown field `famly`"),
        ("p4800x", "media.family", "tape", "unknown variant `tape`"),
        ("p4800x", "media.read_chunk_ns", None, "missing field `read_chunk_ns`"),
        ("p4800x", "controllers", 17, r"controllers is 17, not in \[1, 16\]"),
        ("p4800x", "controllers", 1.5, "expected u32"),
        ("linux-stock", "wake_ns", 2 * 10**9, "wake_ns is 2000000000, not in"),
        ("linux-stock", "wake_ns", -5, "expected u64"),
        ("linux-stock", "sleep_ns", 5, "unknown field `sleep_ns`"),
    ],
)
def test_what_the_core_does_not_take_is_refused_by_place(
    name: str, place: str, value: object, message: str
) -> None:
    model = changed(name, place, value)
    drive, machine = (
        (model, catalog.machine("ideal")) if model.what == "drive" else (catalog.drive("ram"), model)
    )
    with pytest.raises(IogaugeError, match=message) as caught:
        check_model(drive, machine)
    assert str(caught.value).startswith(f"{model.path}: parameters: ")
    assert " at line " not in str(caught.value)
    assert caught.value.hint
