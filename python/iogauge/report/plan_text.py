"""A plan as text: its steps, their time and writes, most likely and at most, and what is lost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from iogauge.report import plan_blocks
from iogauge.reviews.bounds import LINK_Bps
from iogauge.reviews.estimate import Following, ReviewCost, StepCost
from iogauge.schema import Manifest, SuitePlan
from iogauge.text import numbers
from iogauge.text.grid import aligned, labelled
from iogauge.text.option import option

_ALIKE = 1.1
"""A longest time of up to this many times the likely one is not shown beside it."""


def lines(made: Manifest, cost: ReviewCost, *, every_step: bool = True) -> Iterator[str]:
    """Yield what the steps take, write and discard, then a table of them, and what a comparison needs.

    Without ``every_step``, a review of several suites or targets has a row for each of them instead of each step.
    """
    yield from labelled("", sentence(made, cost), indent="", width=0)
    for plan in cost.unknown:
        unknown = f"{plan.title} adds steps that follow from its results; their time and writes are unknown"
        yield from labelled("", unknown, indent="", width=0)
    for line in lost(made, cost):
        yield from labelled("", line, indent="", width=0)
    yield ""
    yield from _table(made, cost) if every_step or len(made.plans) == 1 else _summary(made, cost)
    if made.repeats > 1 or len(made.targets) > 1:
        yield ""
    if made.repeats > 1:
        yield f"{numbers.counted(made.repeats, 'block')}, each with its steps in another order:"
        yield from plan_blocks.ordered(made)
    if made.repeats > 1 or len(made.targets) > 1:
        for line in plan_blocks.comparable(made):
            yield from labelled("", line, indent="", width=0)


def sentence(made: Manifest, cost: ReviewCost) -> str:
    """Return the number of steps, their time and how much they write, most likely and at most."""
    steps = counted_steps(cost.fewest, len(cost.most))
    virtual = " of virtual time" if all(target.modelled for target in made.targets) else ""
    likely = f"{steps}; most likely {numbers.clock_time(cost.likely_s)}{virtual}"
    most = "at most " if cost.at_least else f"at most {numbers.clock_time(cost.longest_s)}"
    endless = "; fills and purges have no limit of time" if cost.at_least else ""
    if not any(step.writes for step in cost.most):
        return f"{likely}{endless or f', {most}'}; no step writes"
    basis = f", by {' and '.join(cost.basis)}" if cost.basis else ""
    written = f"{most}{'' if cost.at_least else ' and '}{_most(cost, made)}"
    return f"{likely} and {numbers.rough_size(cost.likely_bytes)} written{basis}; {written}{endless}"


def _table(made: Manifest, cost: ReviewCost) -> Iterator[str]:
    """Yield a row for each step; of several plans, below the title of its plan."""
    several = len(made.plans) > 1
    indent = "  " if several else ""
    rows = [
        [
            indent + step.place,
            _likely_and_longest(step.likely_s, step.longest_s),
            *_writes([step], step.likely_bytes),
        ]
        for step in cost.steps
    ]
    rows += [_follows(following, indent) for following in cost.following]
    plans = [step.plan for step in cost.steps] + [more.plan for more in cost.following]
    titles = [f"{_title(plan)}:" for plan in plans] if several else []
    yield from _below_titles(titles, aligned([["step", "time", "writes", "at most"], *rows]))


def _summary(made: Manifest, cost: ReviewCost) -> Iterator[str]:
    """Yield a row for each plan, with all its steps and repeats; with several targets, below the title of its suite."""
    several = len({plan.targets for plan in made.plans}) > 1
    rows = []
    for plan in made.plans:
        steps = [step for step in cost.steps if step.plan == plan]
        following = [more for more in cost.following if more.plan == plan]
        further = [step for more in following for step in more.most]
        least = len(steps) + sum(len(more.least) for more in following)
        likely_s = sum(step.likely_s for step in steps) + sum(more.likely_s for more in following)
        longest_s = sum(step.longest_s for step in steps) + sum(more.longest_s for more in following)
        likely_bytes = sum(step.likely_bytes for step in steps) + sum(more.likely_bytes for more in following)
        rows.append(
            [
                f"  {', '.join(plan.targets)}" if several else plan.title,
                counted_steps(least, len(steps) + len(further)).rpartition(" ")[0],
                _likely_and_longest(likely_s, longest_s),
                *_writes([*steps, *further], likely_bytes),
            ]
        )
    titles = [f"{plan.title}:" for plan in made.plans] if several else []
    yield from _below_titles(titles, aligned([["suite", "steps", "time", "writes", "at most"], *rows]))


def _below_titles(titles: Sequence[str], table: Iterable[str]) -> Iterator[str]:
    """Yield the lines of a table, with the title of each row before the first row that has it."""
    head, *rows = table
    yield head
    before = ""
    for title, row in zip(titles or [""] * len(rows), rows, strict=True):
        if title != before:
            yield title
        before = title
        yield row


def _title(plan: SuitePlan) -> str:
    return f"{plan.title} on {', '.join(plan.targets)}"


def _follows(following: Following, indent: str) -> list[str]:
    """Return the row of the steps that follow from the results of one repeat."""
    again = f" (repeat {following.repeat + 1})" if following.repeat else ""
    steps = counted_steps(len(following.least), len(following.most), "further step")
    time = span_text(following.expected_s, following.longest_s)
    return [f"{indent}{steps}{again}", time, *_writes(following.most, following.likely_bytes)]


def counted_steps(least: int, most: int, noun: str = "step") -> str:
    """Return the number of steps.

    >>> counted_steps(5, 5), counted_steps(2, 17, "further step")
    ('5 steps', '2 to 17 further steps')
    """
    return numbers.counted(most, noun) if least == most else f"{least:,} to {numbers.counted(most, noun)}"


def _likely_and_longest(likely_s: float, longest_s: float) -> str:
    """Return how long something is likely to take, and its longest time if that is much longer."""
    if longest_s > _ALIKE * likely_s:
        return span_text(likely_s, longest_s)
    return numbers.clock_time(likely_s)


def span_text(shortest_s: float, longest_s: float) -> str:
    """Return a duration, or a range of durations.

    >>> span_text(60, 60), span_text(3.5, 74)
    ('1 min 00 s', '4 s to 1 min 14 s')
    """
    shortest, longest = numbers.clock_time(shortest_s), numbers.clock_time(longest_s)
    return shortest if shortest == longest else f"{shortest} to {longest}"


def _writes(steps: Sequence[StepCost], likely_bytes: int) -> tuple[str, str]:
    """Return how much steps write, most likely and at most; dashes if they write nothing."""
    if not any(step.writes for step in steps):
        return "-", "-"
    most_bytes = sum(step.written_bytes for step in steps)
    most = numbers.most_size(most_bytes) if most_bytes else "unknown"
    return numbers.rough_size(likely_bytes) if likely_bytes else "unknown", most


def _most(cost: ReviewCost, made: Manifest) -> str:
    """Return the most that all steps write, as far as it is known."""
    known = numbers.most_size(cost.written_bytes)
    if cost.bounded:
        return known
    if any(step.writes and not step.written_bytes for step in cost.most):
        return f"{known}, and an unknown amount by jobs that write until their target is full"
    links = {target.link_Bps for target in made.targets}
    carried = (
        f"a link of four lanes carries ({numbers.bandwidth(LINK_Bps)})"
        if None in links
        else f"links carry ({' and '.join(numbers.bandwidth(link) for link in sorted(filter(None, links)))})"
    )
    return f"{known}, the most that {carried}"


def lost(manifest: Manifest, cost: ReviewCost, *, asked_by: str | None = None) -> Iterator[str]:
    """Yield a line for each target whose content is lost, after a line on how it is purged.

    ``asked_by``: the script that runs the steps instead of the review, and the option that it needs.
    """
    for target in manifest.targets:
        if target.modelled:
            continue
        if given_back := cost.given_back(target.path):
            yield f"{target.path}: {given_back}"
        if given_back or cost.writes_to(target.path):
            if asked_by is not None:
                there = "" if target.kind == "block" else " if it exists"
                what = f"its content is lost ({asked_by}{there})"
            elif target.kind == "block":
                what = f"its content is lost (review needs {option('destroy')})"
            else:
                what = "created if it is missing, refused if iogauge did not make it"
            yield f"writes to {target.path}: {what}"
