"""A checkout takes its compiled core from a wheel only if that was compiled from the same sources."""

from __future__ import annotations

import importlib
import platform
import shutil
import zipfile
from pathlib import Path
from types import ModuleType

import pytest
from wheel.wheelfile import WheelFile

ROOT = Path(__file__).parents[3]
NAME = f"iogauge-0.1.0-cp311-abi3-manylinux_2_28_{platform.machine()}.whl"


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """A checkout with as much of the Rust sources as matters."""
    for name in ("Cargo.toml", "Cargo.lock", "crates/py/Cargo.toml", "crates/py/src/lib.rs"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(f"{name}\n")
    (tmp_path / "python/iogauge").mkdir(parents=True)
    (tmp_path / "dist").mkdir()
    return tmp_path


@pytest.fixture
def prebuilt(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    return imported("prebuilt", monkeypatch)


def imported(name: str, monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(str(ROOT / "packaging"))
    return importlib.import_module(name)


def wheel(folder: Path, *, sources: str | None, name: str = NAME) -> Path:
    """A wheel with a core, of ``sources`` by their fingerprint."""
    with zipfile.ZipFile(folder / name, "w") as archive:
        archive.writestr("iogauge/__init__.py", "")
        archive.writestr("iogauge/_core.abi3.so", b"\x7fELF")
        if sources is not None:
            archive.writestr("iogauge/_core.sources", f"{sources}\n")
        archive.writestr("iogauge-0.1.0.dist-info/METADATA", "Name: iogauge\nVersion: 0.1.0\n")
        archive.writestr("iogauge-0.1.0.dist-info/licenses/LICENSE-MIT", "MIT")
        archive.writestr("iogauge-0.1.0.dist-info/RECORD", "")
    return folder / name


def test_a_wheel_of_the_same_sources_fits(checkout: Path, prebuilt: ModuleType) -> None:
    dist = checkout / "dist"
    assert prebuilt.fitting(dist, checkout) is None
    made = wheel(dist, sources=prebuilt.fingerprint(checkout))
    assert prebuilt.fitting(dist, checkout) == made


@pytest.mark.parametrize("name", ["Cargo.toml", "Cargo.lock", "crates/py/Cargo.toml", "crates/py/src/lib.rs"])
def test_any_change_of_the_sources_makes_it_unfit(checkout: Path, prebuilt: ModuleType, name: str) -> None:
    wheel(checkout / "dist", sources=prebuilt.fingerprint(checkout))
    (checkout / name).write_text("changed\n")
    assert prebuilt.fitting(checkout / "dist", checkout) is None


def test_a_new_or_renamed_source_makes_it_unfit(checkout: Path, prebuilt: ModuleType) -> None:
    wheel(checkout / "dist", sources=prebuilt.fingerprint(checkout))
    source = checkout / "crates/py/src/lib.rs"
    source.rename(source.with_name("main.rs"))
    assert prebuilt.fitting(checkout / "dist", checkout) is None


def test_a_damaged_or_foreign_wheel_is_passed_over(checkout: Path, prebuilt: ModuleType) -> None:
    dist, sources = checkout / "dist", prebuilt.fingerprint(checkout)
    (dist / f"iogauge-0.0.1-cp311-abi3-manylinux_2_28_{platform.machine()}.whl").write_bytes(b"PK no zip")
    wheel(dist, sources=None, name=f"iogauge-0.0.2-cp311-abi3-manylinux_2_28_{platform.machine()}.whl")
    wheel(dist, sources=sources, name="iogauge-0.1.0-cp311-abi3-manylinux_2_28_sparc.whl")
    assert prebuilt.fitting(dist, checkout) is None
    assert prebuilt.fitting(checkout / "missing", checkout) is None
    made = wheel(dist, sources=sources)
    assert prebuilt.fitting(dist, checkout) == made


def test_the_fingerprint_is_of_this_checkout_s_core(prebuilt: ModuleType, tmp_path: Path) -> None:
    """Only the sources count: neither tests in Python nor documents change it."""
    for name in ("Cargo.toml", "Cargo.lock"):
        shutil.copy(ROOT / name, tmp_path / name)
    shutil.copytree(ROOT / "crates", tmp_path / "crates")
    (tmp_path / "README.md").write_text("changed\n")
    assert prebuilt.fingerprint() == prebuilt.fingerprint(tmp_path)


@pytest.fixture
def backend(monkeypatch: pytest.MonkeyPatch, checkout: Path) -> ModuleType:
    """The build backend of ``checkout``, which says when it would compile."""
    backend = imported("backend", monkeypatch)
    monkeypatch.setattr(backend, "ROOT", checkout)
    monkeypatch.setattr(backend, "compile_editable", lambda *_: "compiled")
    monkeypatch.delenv("IOGAUGE_WHEELS", raising=False)
    return backend


def test_without_a_wheel_that_fits_the_core_is_compiled(checkout: Path, backend: ModuleType) -> None:
    wheel(checkout / "dist", sources="of others")
    assert backend.build_editable(str(checkout)) == "compiled"
    assert not (checkout / "python/iogauge/_core.abi3.so").exists()


@pytest.mark.parametrize("elsewhere", [False, True])
def test_an_editable_install_takes_the_core_of_a_wheel_that_fits(
    checkout: Path,
    backend: ModuleType,
    prebuilt: ModuleType,
    monkeypatch: pytest.MonkeyPatch,
    elsewhere: bool,
) -> None:
    wheels = checkout / ("wheels" if elsewhere else "dist")
    wheels.mkdir(exist_ok=True)
    if elsewhere:
        monkeypatch.setenv("IOGAUGE_WHEELS", str(wheels))
    wheel(wheels, sources=prebuilt.fingerprint(checkout))
    built = checkout / "built"
    built.mkdir()
    assert backend.build_editable(str(built)) == NAME
    assert (checkout / "python/iogauge/_core.abi3.so").read_bytes() == b"\x7fELF"
    with WheelFile(built / NAME) as editable:  # which checks the record of its files
        for name in editable.namelist():
            editable.read(name)
        assert editable.read("iogauge.pth").decode() == f"{checkout}/python\n"
        assert "iogauge-0.1.0.dist-info/METADATA" in editable.namelist()
        assert "iogauge/__init__.py" not in editable.namelist()


def test_a_wheel_names_no_directory_of_the_machine_that_built_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    relocate = imported("relocate", monkeypatch).relocate
    made = []
    for checkout in (tmp_path / "one", tmp_path / "another place" / "two"):
        checkout.mkdir(parents=True)
        with WheelFile(checkout / NAME, "w") as archive:
            archive.writestr("iogauge/_core.abi3.so", b"\x7fELF")
            crate = f"path+{checkout.as_uri()}/crates/py#iogauge-py@0.1.0"
            archive.writestr("iogauge-0.1.0.dist-info/sboms/iogauge-py.cyclonedx.json", crate)
        relocate(checkout / NAME, checkout)
        assert [path.name for path in checkout.iterdir()] == [NAME]
        made.append((checkout / NAME).read_bytes())
    assert made[0] == made[1]
    with WheelFile(checkout / NAME) as archive:  # which compares each file with its hash in RECORD
        contents = {name: archive.read(name) for name in archive.namelist()}
    assert contents["iogauge/_core.abi3.so"] == b"\x7fELF"
    assert contents["iogauge-0.1.0.dist-info/sboms/iogauge-py.cyclonedx.json"] == (
        b"path+file:///iogauge/crates/py#iogauge-py@0.1.0"
    )
