"""A model of your own to edit, made from another."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from iogauge.errors import UsageError
from iogauge.library.options import StrPath
from iogauge.library.public import public
from iogauge.text.option import option

if TYPE_CHECKING:
    from iogauge.catalog import ModelFile


@public
def new_model(
    begin_with: str, output: StrPath | None = None, *, on_message: Callable[[str], None] = lambda _: None
) -> Path:
    """Write a TOML file with every number of a model, to edit, and return its path. No other file is needed.

    Args:
        begin_with: a name that ``models`` lists, or the path of a TOML file.
        output: the file to write, which must not exist; by default one of the model's name here.
        on_message: is called with what is worth a line.

    Raises:
        UsageError: two models are named, or the file's name does not end in .toml.
        IogaugeError: there is no such model, or the file cannot be written.

    Examples:
        >>> import iogauge, tempfile
        >>> mine = iogauge.new_model("ram", f"{tempfile.mkdtemp()}/mine.toml")
        >>> iogauge.model(str(mine))["capacity_bytes"] == iogauge.model("ram")["capacity_bytes"]
        True
    """
    from iogauge import catalog
    from iogauge.execution import check_model
    from iogauge.store.outputs import Claims, Existing

    name, machine_name = catalog.split(begin_with)
    if machine_name is not None:
        raise UsageError(f"{begin_with}: is two models", hint="make one from the drive, or from the machine")
    source = catalog.load(name)
    drive, machine = (
        (source, catalog.machine("ideal")) if source.what == "drive" else (catalog.drive("ram"), source)
    )
    check_model(drive, machine)
    path = Path(f"{source.name}.toml") if output is None else Path(output)
    require_toml(path)
    own = replace(source, title=f"like {source.title}", version=1, also=(), published_as=(), base=None)
    text = _head(source, path) + catalog.to_toml(own)
    Claims(say=on_message).file(path, existing=Existing.KEEP).write(text.encode())
    return path


def require_toml(path: Path) -> None:
    """Raise UsageError where a model's file does not end in .toml."""
    if path.suffix != ".toml":
        raise UsageError(
            f"{option('output')} {path}: a model's file ends in .toml", hint=f"write {path}.toml"
        )


def place_of(path: Path) -> str:
    """Return a path that no target takes for the name of a model."""
    return str(path) if "/" in str(path) else f"./{path}"


def _head(source: ModelFile, path: Path) -> str:
    """Return what a user must know to edit the file, as its comment."""
    place = place_of(path)
    target = f"model:{place}" if source.what == "drive" else f"model:p4800x@{place}"
    return f"""\
# A {source.what} model, made from {source.name}, version {source.version}.
#
# Change values, not places: {{ value = ..., kind = ..., source = ... }}. The last part of a name is its unit. kind is
# "published" (source says where), "fitted" (to what was published) or "assumed" (source says why). Wrong values are
# refused with their range. Then:
#
#   iogauge model show {place}
#   iogauge run --name=try --filename={target} --rw=randread --bs=4k --runtime=10 --time_based
#   iogauge review {target}

"""
