"""The options of a review, which ``plan`` and ``review`` share, and the manifest that follows from them."""

from __future__ import annotations

import secrets
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, TypedDict, get_args

from iogauge import schema
from iogauge.errors import UsageError
from iogauge.library import quantities
from iogauge.schema import Ceiling, Manifest, TargetFacts, TargetState
from iogauge.target.layers import Layer
from iogauge.text.option import either, option

if TYPE_CHECKING:
    from iogauge.catalog.profiles import Profile
    from iogauge.machine.idle_states import Declared
    from iogauge.suites import Suite
    from iogauge.suites.suite import LadderRequest

StrPath: TypeAlias = str | PathLike[str]
MOST_REPEATS = 1000
MOST_SEED = 2**64 - 1


class ReviewOptions(TypedDict, total=False):
    """What a review does. Every option has a default."""

    suites: Sequence[StrPath] | StrPath
    """Names of procedures, Python files or TOML plans. Default: ``iogauge.suites.DEFAULT``."""
    pace: schema.Pace
    """``"quick"``, seconds a step; ``"standard"``, longer; ``"full"``, as published. Default: ``"quick"``."""
    state: schema.State
    """How targets are prepared before they are measured. Default: ``"as-is"``, not at all."""
    purge_by: schema.PurgeBy
    """How targets are purged: ``"discard"``, or an NVMe drive by ``"format"`` or ``"sanitize"``. These need its serial
    number in ``destroy``. Default: ``"discard"``."""
    drive_samples: bool
    """Read temperature, throttling and errors of the drives each second. Default: yes."""
    repeats: int
    """Repeat the whole review this many times, each time in another order: 1 to 1000. Default: 1."""
    until_supported: float | None
    """Lengthen steps until their samples support this quantile, a fraction such as 0.99999. Default: no."""
    size: int | str | None
    """How much of each target to use: bytes, or text such as ``"4g"``. Default: each suite's own choice."""
    runtime: float | str | None
    """The measured time of each step: seconds, or text such as ``"1m30s"``. Default: each suite's own choice."""
    seed: int | None
    """The seed of all random choices, at least 0. Default: a random one."""
    meter: str | None
    """A shell command that prints watts, a number on each line, for the suite ``idle-power``. Default: none."""
    use: Sequence[str] | str | None
    """Profiles, such as ``"wal"``, or TOML files with criteria: only the steps run that they need. Default: none."""


def new_review(
    targets: Sequence[str],
    facts_of: Callable[[str, int], TargetFacts],
    *,
    command: Sequence[str],
    name_target: str,
    layers: Callable[[TargetFacts], tuple[Layer, ...]],
    idle_states: Callable[[TargetFacts], Declared | None] = lambda _: None,
    ladder: Callable[[TargetFacts], LadderRequest | None],
    state_of: Callable[[TargetFacts], TargetState | None] = lambda _: None,
    ceiling: Callable[[], Ceiling | None] = lambda: None,
    goal: schema.Goal | None = None,
    reads_only: str = "",
    order_seed: int | None = None,
    suites: Sequence[StrPath] | StrPath = (),
    pace: schema.Pace = "quick",
    state: schema.State = "as-is",
    purge_by: schema.PurgeBy = "discard",
    drive_samples: bool = True,
    repeats: int = 1,
    until_supported: float | None = None,
    size: int | str | None = None,
    runtime: float | str | None = None,
    seed: int | None = None,
    meter: str | None = None,
    use: Sequence[str] | str | None = None,
) -> Manifest:
    """Plan a new review and return its manifest. The options are those of ``ReviewOptions``.

    Args:
        targets: block devices, files or drive models; empty: those that the suites name.
        facts_of: returns the facts of a target; its second argument is the size in bytes of a file to be created.
        command: the command line that is stored with the review.
        name_target: the hint of the error where neither the targets nor the suites name a target.
        layers: returns the layers over a target, for suites that compare the target with them.
        idle_states: returns what a target declares of its idle states, for suites that keep it.
        ladder: returns the tunings of the machine for a target, for suites that compare them.
        state_of: returns the state of a target, None if it is unknown.
        ceiling: measures the generator's ceiling; not called if all targets are drive models.
        goal: what the suite ``find`` searches for; None: its usual goal.
        reads_only: why nothing may be written, for suites that can leave their writes out; empty: it may.
        order_seed: the seed of the steps' order alone; None: ``seed`` is.

    Raises UsageError for an invalid option, and IogaugeError if the suites cannot plan their steps.
    """
    from iogauge.machine.facts import machine_facts
    from iogauge.reviews.manifest import new_manifest

    require_choice("pace", pace, get_args(schema.Pace))
    require_choice("state", state, get_args(schema.State))
    require_choice("purge_by", purge_by, get_args(schema.PurgeBy))
    require_whole("repeats", repeats, least=1, most=MOST_REPEATS)
    if seed is not None:
        require_whole("seed", seed, least=0, most=MOST_SEED)
    profiles = _profiles(use, suites)
    needed = list(dict.fromkeys(suite for profile in profiles for suite in profile.suites))
    named = suites_named(needed if profiles else as_list(suites))
    if meter is not None and not any(suite.METERED for suite in named):
        raise UsageError(
            f"{option('meter', meter)}: none of the suites measures power",
            hint=f"add {option('suites', 'idle-power')}",
        )
    limit_bytes = None if size is None else quantities.size_bytes(size, name="size")
    runtime_ns = None if runtime is None else quantities.time_ns(runtime, name="runtime")
    quantile = checked_quantile(until_supported, name="until_supported")
    # A new file has the size that the most demanding suite wants.
    file_bytes = limit_bytes or max(suite.FILE_BYTES[pace] for suite in named)
    facts = [facts_of(path, file_bytes) for path in targets or usual_targets(named, hint=name_target)]
    refuse_repeated([target.path for target in facts])
    manifest = new_manifest(
        named,
        facts,
        pace=pace,
        state=state,
        purge_by=purge_by,
        drive_samples=drive_samples,
        repeats=repeats,
        until_supported=quantile,
        seed=secrets.randbits(32) if seed is None else seed,
        order_seed=order_seed,
        size_bytes=limit_bytes,
        runtime_ns=runtime_ns,
        states={target.path: known for target in facts if (known := state_of(target))},
        layers=layers,
        idle_states=idle_states,
        ladder=ladder,
        meter=meter,
        goal=goal,
        reads_only=reads_only,
        use=profiles,
        command=command,
        machine=machine_facts(),
        ceiling=None if all(target.modelled for target in facts) else ceiling(),
    )
    if purge_by != "discard" and not any(step.purge for step in manifest.steps):
        raise UsageError(
            f"{option('purge_by', purge_by)}: no step purges its target",
            hint="leave it out"
            if state == "fresh"  # of a drive model, which starts every run anew
            else f"leave it out, or prepare the target: {option('state', 'fresh')}",
        )
    return manifest


def profiles_named(names: Iterable[str]) -> tuple[Profile, ...]:
    """Return profiles by their names, or by the paths of their files.

    Raises UsageError for a name that there is not, and where a file names what no suite has; IogaugeError for a file
    that cannot be read.
    """
    from iogauge.catalog.profiles import load_profile
    from iogauge.suites.uses import check_profile

    profiles = tuple(map(load_profile, dict.fromkeys(names)))
    for profile in profiles:
        check_profile(profile)
    return profiles


def _profiles(use: Sequence[str] | str | None, suites: Sequence[StrPath] | StrPath) -> tuple[Profile, ...]:
    """Return the profiles that a review is for; files by their absolute paths, so that they are found again."""
    names = as_list(use or ())
    if names and as_list(suites):
        raise UsageError(
            f"{option('use', names[0])} chooses the suites: {option('suites')} cannot be given with it",
            hint="leave one of them out",
        )
    return profiles_named(str(Path(name).absolute()) if name.endswith(".toml") else name for name in names)


def command(targets: Sequence[str], options: ReviewOptions) -> tuple[str, ...]:
    """Return the command line that makes the same review; it is stored with the review.

    >>> " ".join(command(["model:p4800x"], {"suites": ["mixed", "my.toml"], "pace": "full", "seed": 7}))
    'iogauge review model:p4800x --suite=mixed --plan=my.toml --pace=full --seed=7'
    """
    words = ["iogauge", "review", *targets]
    for name, value in options.items():
        if name == "suites":
            suites = as_list(options["suites"])
            words += [f"--{'plan' if suite.endswith('.toml') else 'suite'}={suite}" for suite in suites]
        elif name == "use":
            words += [f"--for={profile}" for profile in as_list(options["use"] or ())]
        elif isinstance(value, bool):
            words.append(f"--{'' if value else 'no-'}{name.replace('_', '-')}")
        elif value is not None:
            words.append(f"--{name.replace('_', '-')}={value}")
    return tuple(words)


def require_whole(name: str, value: object, *, least: int, most: int) -> None:
    """Raise UsageError unless the value of an option is a whole number from ``least`` to ``most``."""
    if not isinstance(value, int) or not least <= value <= most:
        raise UsageError(
            f"{option(name)} {value}: must be a whole number from {least} to {most}",
            hint="leave it out, or change it",
        )


def as_list(texts: Iterable[StrPath] | StrPath) -> list[str]:
    """Return targets, names or conditions as a list of text; a single one need not be in a list.

    >>> as_list("model:p4800x"), as_list(Path("/dev/null")), as_list(["a", "b"])
    (['model:p4800x'], ['/dev/null'], ['a', 'b'])
    """
    return [fspath(texts)] if isinstance(texts, str | PathLike) else [fspath(text) for text in texts]


def flat(reviews: Iterable[StrPath | Iterable[StrPath]], *, needed: bool = True) -> list[str]:
    """Return paths as text; each argument is a path, or a list of them.

    Raises UsageError if there is none and one is ``needed``.

    >>> flat(["a", ["b", Path("c")]])
    ['a', 'b', 'c']
    """
    paths = [path for review in reviews for path in as_list(review)]
    if needed and not paths:
        raise UsageError("name a review", hint="the directory of a saved review, or 'published'")
    return paths


def anchored(targets: Sequence[str]) -> list[str]:
    """Return absolute paths, so that the review can be resumed from any directory.

    Symbolic links such as /dev/disk/by-id/... are kept. Raises UsageError for an empty or repeated path.
    """
    from iogauge import catalog
    from iogauge.target import is_model

    if "" in targets:
        raise UsageError(
            either(command="a TARGET is empty", library="the name of a target is empty"),
            hint="name a block device, a file or model:NAME",
        )
    for name in targets:
        _refuse_other_name(name)
    paths = [catalog.anchored(path) if is_model(path) else str(Path(path).absolute()) for path in targets]
    refuse_repeated(paths)
    return paths


def _refuse_other_name(name: str) -> None:
    """Raise UsageError for a target that is no file, but the name of a drive model or a suite.

    Otherwise a file of this name would be created and filled.
    """
    from iogauge import catalog
    from iogauge.suites import SUITES

    if "/" in name or Path(name).exists():
        return
    models = [*catalog.shipped("drive")]
    if name in models or any(name in catalog.drive(model).also for model in models):
        raise UsageError(
            f"there is no file {name}, and a drive model has this name",
            hint=f"model:{name} is the model, ./{name} a new file",
        )
    if name in SUITES:
        raise UsageError(
            f"there is no file {name}, and a suite has this name",
            hint=f"{option('suites', name)} is the suite, ./{name} a new file",
        )


def refuse_repeated(paths: Sequence[str]) -> None:
    """Raise UsageError if a path is named twice."""
    if repeated := sorted(path for path, count in Counter(paths).items() if count > 1):
        raise UsageError(
            f"{repeated[0]} is named twice", hint=f"name each target once; see {option('repeats')}"
        )


def suites_named(names: Sequence[str]) -> list[Suite]:
    """Return the suites of these names and files, by default the default set. Raises UsageError for an unknown name."""
    from iogauge.suites import DEFAULT, SUITES, suite_of
    from iogauge.workload.suggest import closest

    wanted = dict.fromkeys(names or DEFAULT)
    if unknown := [name for name in wanted if name not in SUITES and not name.endswith((".py", ".toml"))]:
        near = closest(unknown[0], SUITES)
        raise UsageError(
            f"there is no suite {unknown[0]!r}",
            hint=f"did you mean {near!r}?" if near else f"suites: {', '.join(SUITES)}",
        )
    suites = [suite_of(name) for name in wanted]
    counts: Mapping[str, int] = Counter(suite.NAME for suite in suites)
    if repeated := [name for name, count in counts.items() if count > 1]:
        raise UsageError(f"two suites are named {repeated[0]!r}", hint="give one of them another name")
    return suites


def usual_targets(suites: Sequence[Suite], *, hint: str) -> list[str]:
    """Return the targets that the suites themselves name. Raises UsageError if they name none."""
    targets = list(dict.fromkeys(target for suite in suites for target in suite.targets))
    if not targets:
        raise UsageError(either(command="name a TARGET", library="name a target"), hint=hint)
    return targets


def checked_quantile(value: float | None, *, name: str) -> float | None:
    """Return a quantile, or None, unchanged. Raises UsageError unless it is above 0 and below 1."""
    if value is not None and not 0 < value < 1:
        raise UsageError(
            f"{option(name)} {value:g}: a quantile is a fraction, above 0 and below 1",
            hint=f"for the 99.999th percentile: {option(name, 0.99999)}",
        )
    return value


def require_choice(name: str, value: str, choices: Sequence[str]) -> None:
    """Raise UsageError where the argument ``name`` has a value that is none of ``choices``."""
    if value not in choices:
        raise UsageError(
            f"{option(name)} {value!r}: there is none of this name", hint=f"one of {', '.join(choices)}"
        )
