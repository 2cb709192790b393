"""Short names of drives, for headings, legends and tables: ``P4800X 375 GB, model``.

The page has the full name once, under its title. A name that this module does not know how to shorten stays whole.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from iogauge.results.suite_result import SuiteResult

_MAKERS = {
    *(
        "Intel",
        "INTEL",
        "Solidigm",
        "Samsung",
        "SAMSUNG",
        "Micron",
        "Crucial",
        "Western",
        "Digital",
        "WDC",
        "SanDisk",
    ),
    *("Seagate", "HGST", "KIOXIA", "Toshiba", "TOSHIBA", "SK", "hynix", "Hynix", "Kingston", "KINGSTON"),
    *("Optane", "SSD", "DC", "NVMe", "PCIe", "Solid", "State", "Drive"),
}
"""Words before a model's number that tell no two of a maker's drives apart."""
_CAPACITY = re.compile(r"^(\d+(?:\.\d+)?)([KMGTP]B)$")
_MODELLED = re.compile(r" \((model(?: behind [^()]*)?)\)")
_LISTED = re.compile(r", (model(?: behind [^()]*)?)(?= \(| \[|$)")


def short_name(model: str) -> str:
    """Return a drive's model without its maker, with a space before the unit of its capacity.

    >>> short_name("Intel Optane SSD DC P4800X 375GB"), short_name("Samsung 960 EVO 250GB")
    ('P4800X 375 GB', '960 EVO 250 GB')
    >>> short_name("Intel Optane Memory 32GB"), short_name("QEMU NVMe Ctrl")
    ('Intel Optane Memory 32 GB', 'QEMU NVMe Ctrl')
    """
    words = model.split(" ")
    number = next((place for place, word in enumerate(words) if word not in _MAKERS), 0)
    # "Memory 32GB" alone says too little: the word after the maker's must be a model's number.
    numbered = re.search(r"\d", words[number]) and not _CAPACITY.match(words[number])
    return " ".join(_CAPACITY.sub(r"\1 \2", word) for word in (words[number:] if numbered else words))


def shorten_labels(drives: Sequence[SuiteResult]) -> None:
    """Give the drives short labels. Those of all drives stay as they are if two would then be alike."""
    short = {drive.label: _short_label(drive) for drive in drives}
    if len(set(short.values())) == len(short):
        for drive in drives:
            drive.label = short[drive.label]


def in_sentence(label: str) -> str:
    """Return a label as the subject of a sentence: what follows its comma stands in brackets.

    >>> in_sentence("P4800X 375 GB, model"), in_sentence("P4800X 375 GB, model (saved)"), in_sentence("test.bin on vda")
    ('P4800X 375 GB (model)', 'P4800X 375 GB (model) (saved)', 'test.bin on vda')
    """
    return _LISTED.sub(r" (\1)", label)


def full_names(drives: Sequence[SuiteResult]) -> tuple[str, ...]:
    """Return the full names of the drives' models, each once."""
    targets = (drive.manifest.target(path) for drive in drives for path in drive.plan.targets)
    return tuple(dict.fromkeys(target.model or target.path for target in targets))


def _short_label(drive: SuiteResult) -> str:
    label = drive.label
    for path in drive.plan.targets:
        if model := drive.manifest.target(path).model:
            label = label.replace(model, short_name(model))
    return _MODELLED.sub(r", \1", label)
