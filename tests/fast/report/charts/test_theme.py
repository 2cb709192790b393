"""The colours of drives: told apart by the colour-blind, and seen on light and on dark paper.

Sources: G. Machado, M. Oliveira and L. Fernandes, "A Physiologically-based Model for Simulation of Color Vision
Deficiency" (IEEE TVCG 15, 2009), the matrices of severity 1.0; CIE 1976 L*a*b* at D65; WCAG 2.2, 1.4.11.
"""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from iogauge.report.charts.theme import DRIVES, PAPER

DARK_PAPER = "#14181d"
VISIONS = {
    "normal": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
}
XYZ = np.array(((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505)))
WHITE = np.array((0.9505, 1.0, 1.089))
APART = 20
"""The least distance in L*a*b*: about nine times the smallest that is noticed (2.3)."""


def linear(colour: str) -> np.ndarray:
    parts = np.array([int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)])
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4)


def lab(colour: str, vision: str) -> np.ndarray:
    seen = np.clip(np.array(VISIONS[vision]) @ linear(colour), 0, 1)
    relative = XYZ @ seen / WHITE
    x, y, z = np.where(relative > 0.008856, np.cbrt(relative), 7.787 * relative + 16 / 116)
    return np.array((116 * y - 16, 500 * (x - y), 200 * (y - z)))


def contrast(one: str, other: str) -> float:
    darker, lighter = sorted(float(XYZ[1] @ linear(colour)) for colour in (one, other))
    return (lighter + 0.05) / (darker + 0.05)


def test_distance_and_contrast_are_those_of_the_standards() -> None:
    assert lab("#ffffff", "normal") == pytest.approx((100, 0, 0), abs=0.05)
    assert lab("#ff0000", "normal") == pytest.approx((53.24, 80.09, 67.20), abs=0.1)
    assert contrast("#ffffff", "#000000") == pytest.approx(21)


@pytest.mark.parametrize("vision", VISIONS)
def test_every_two_drives_have_colours_that_are_told_apart(vision: str) -> None:
    for one, other in itertools.combinations(DRIVES, 2):
        assert np.linalg.norm(lab(one, vision) - lab(other, vision)) > APART, (one, other)


@pytest.mark.parametrize("paper", [PAPER, DARK_PAPER])
def test_every_drive_is_seen_on_its_paper(paper: str) -> None:
    assert min(contrast(colour, paper) for colour in DRIVES) >= 3
