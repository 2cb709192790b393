"""A fleet as Markdown: short enough for a comment, and escaped."""

from __future__ import annotations

from iogauge.report.fleet.markdown import markdown
from iogauge.report.markdown_brief import MOST_BYTES
from tests.fast.report.fleet.made_up import empty, fleet


def test_the_answer_stands_in_bold_above_folded_tables() -> None:
    text = markdown(fleet())
    assert text.startswith(
        "## A fleet of 10 hosts\n\n72 drives · mixed · quick pace · together · 2026-11-29\n"
    )
    assert "**1 host is slow: r4" in text
    assert text.count("<details>") == text.count("</details>") == 5
    assert "PM9A3 \\<MZQL2\\>" in text
    assert "<MZQL2>" not in text


def test_a_large_fleet_is_cut_to_the_size_of_a_comment_and_says_what_is_gone() -> None:
    view = fleet(200, 8)
    text = markdown(view)
    assert len(text.encode()) <= MOST_BYTES
    assert "\nLeft out: hosts. " in text
    assert "Left out" not in markdown(view, verbose=True)
    assert "| r200 |" in markdown(view, verbose=True)


def test_a_fleet_without_figures_names_its_hosts() -> None:
    text = markdown(empty())
    assert "**No drive was judged: no host has measured anything." in text
    assert "| r10 | refused |" in text
