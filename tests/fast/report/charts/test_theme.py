"""The colours of drives: told apart by the colour-blind, and seen on light and on dark paper.

Sources: G. Machado, M. Oliveira and L. Fernandes, "A Physiologically-based Model for Simulation of Color Vision
Deficiency" (IEEE TVCG 15, 2009); H. Brettel, F. Viénot and J. Mollon, "Computerized simulation of color appearance for
dichromats" (JOSA A 14, 1997); CIEDE2000; WCAG 2.2, 1.4.11.
"""

from __future__ import annotations

import itertools

import pytest
from coloraide import Color

from iogauge.report.charts.theme import DRIVES, PAPER

DARK_PAPER = "#14181d"
DEFICIENCIES = ("protan", "deutan", "tritan")
APART = 13
"""The least CIEDE2000 difference: 1 is just noticed side by side."""


def seen(colour: str, deficiency: str, method: str) -> Color:
    """Return a colour as someone sees it who lacks one kind of cone."""
    return Color(colour).filter(deficiency, 1, method=method).clip()


def differences(colours: list[Color]) -> list[float]:
    return [one.delta_e(other, method="2000") for one, other in itertools.combinations(colours, 2)]


def test_red_and_green_are_alike_to_who_lacks_red_or_green_cones() -> None:
    pair = ("#b04030", "#507030")
    (usual,) = differences([Color(colour) for colour in pair])
    for method in ("machado", "brettel"):
        (lacking,) = differences([seen(colour, "deutan", method) for colour in pair])
        assert lacking < APART < usual


def test_every_two_drives_have_colours_that_are_told_apart() -> None:
    assert min(differences([Color(colour) for colour in DRIVES])) > APART


@pytest.mark.parametrize("method", ["machado", "brettel"])
@pytest.mark.parametrize("deficiency", DEFICIENCIES)
def test_the_colour_blind_tell_every_two_drives_apart(deficiency: str, method: str) -> None:
    assert min(differences([seen(colour, deficiency, method) for colour in DRIVES])) > APART


@pytest.mark.parametrize("paper", [PAPER, DARK_PAPER])
def test_every_drive_is_seen_on_its_paper(paper: str) -> None:
    assert min(Color(colour).contrast(paper) for colour in DRIVES) >= 3
