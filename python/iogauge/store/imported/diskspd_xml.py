"""DiskSpd's XML (``-Rxml``): a step for each time span, with its percentiles, its series and the profile it ran.

Source: DiskSpd 2.2 (XmlResultParser.cpp, Common.cpp).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from xml.etree import ElementTree

from iogauge.schema import Direction, Interval, JobFile, Tally
from iogauge.store.imported import diskspd
from iogauge.store.imported.diskspd import MS, Distribution, Part
from iogauge.store.imported.document import damaged, fraction, integer, number
from iogauge.store.imported.steps import ImportedStep
from iogauge.workload.diskspd.arguments import command_line

_UNKNOWN = ('<PowerScheme Name="<unknown>"', '<PowerScheme Name="&lt;unknown&gt;"')
"""What DiskSpd 2.2 writes where it cannot read the power scheme, which is not XML, and what is."""
_BOTH = ((Direction.READ, "Read"), (Direction.WRITE, "Write"))


def recognised(text: str) -> bool:
    """Tell whether a text is DiskSpd's XML, or the beginning of it."""
    return re.match(r"\s*(?:<\?xml[^>]*>\s*)?<Results>", text) is not None


def is_profile(text: str) -> bool:
    """Tell whether a text is a profile of DiskSpd's, which says what to run and not what came of it."""
    return re.match(r"\s*(?:<\?xml[^>]*>\s*)?<Profile>", text) is not None


def read(text: str, path: Path) -> tuple[ImportedStep, ...]:
    """Return the time spans that a text holds. Raises ``IogaugeError`` where it is damaged."""
    source = str(path)
    if "<!DOCTYPE" in text or "<!ENTITY" in text:
        raise damaged(source, "defines entities, which DiskSpd's XML never does")
    repaired = text.replace(*_UNKNOWN, 1)
    said = (
        ()
        if repaired == text
        else ('PowerScheme Name="<unknown>" is not XML, and was read as &lt;unknown&gt;',)
    )
    try:
        root = ElementTree.fromstring(repaired)
    except (ElementTree.ParseError, ValueError) as error:
        raise damaged(source, f"is not valid XML ({error})") from None
    spans = root.findall("TimeSpan")
    if not spans:
        raise damaged(source, "holds no TimeSpan")
    profiles = root.findall("Profile/TimeSpans/TimeSpan")
    version = root.findtext("System/Tool/Version") or ""
    started = root.findtext("System/RunTime") or ""
    steps = []
    for place, span in enumerate(spans):
        if (error_text := span.findtext("Error")) is not None:
            raise diskspd.failed(source, error_text.strip())
        steps.append(
            _step(
                span,
                profiles[place] if place < len(profiles) else None,
                label=path.stem if len(spans) == 1 else f"{path.stem}-{place + 1}",
                version=version,
                started=started,
                source=source,
                said=said,
            )
        )
    return tuple(steps)


def _step(
    span: ElementTree.Element,
    profile: ElementTree.Element | None,
    *,
    label: str,
    version: str,
    started: str,
    source: str,
    said: tuple[str, ...],
) -> ImportedStep:
    duration_s = number(span.findtext("TestTimeSeconds"), source=source, what="TestTimeSeconds")
    parts = list(_parts(span, source))
    if not parts:
        raise damaged(source, "holds no Thread with a Target")
    columns, together = _latencies(span, source)
    row, part_rows = diskspd.rows(parts, columns, together, duration_s=duration_s)
    warnings = said
    if together.max_ns is None:
        warnings += ("latencies were not measured: DiskSpd measures them with -L",)
    words = [] if profile is None else _words(profile)
    jobs, unsaid = diskspd.jobs_of(words) if words else (None, ("its load is described nowhere",))
    interval = profile.findtext("IoBucketDuration") if profile is not None else None
    interval_ms = integer(interval or 1000, source=source, what="IoBucketDuration")
    return ImportedStep(
        label=label,
        tool="diskspd",
        version=version,
        source=source,
        rows=(row,),
        parts=part_rows,
        options=_options(profile),
        command=command_line(words) or None,
        jobs=jobs,
        intervals=tuple(_series(span, interval_ms or 1000, jobs, source)),
        started_at=diskspd.started_at(started),
        warnings=(*warnings, *unsaid),
    )


def _parts(span: ElementTree.Element, source: str) -> Iterator[Part]:
    for thread in span.findall("Thread"):
        thread_id = integer(thread.findtext("Id") or 0, source=source, what="Thread/Id")
        for target in thread.findall("Target"):
            part = Part(thread=thread_id, target=target.findtext("Path") or "")
            for direction, word in _BOTH:
                part.ios[direction] = integer(
                    target.findtext(f"{word}Count"), source=source, what=f"{word}Count"
                )
                part.bytes[direction] = integer(
                    target.findtext(f"{word}Bytes"), source=source, what=f"{word}Bytes"
                )
                for held, name in (
                    (part.mean_ns, f"Average{word}LatencyMilliseconds"),
                    (part.stddev_ns, f"{word}LatencyStdev"),
                ):
                    if (text := target.findtext(name)) is not None:
                        held[direction] = number(text, source=source, what=name) * MS
            yield part


def _latencies(span: ElementTree.Element, source: str) -> tuple[dict[Direction, Distribution], Distribution]:
    columns = {word: Distribution() for word in ("Read", "Write", "Total")}
    latency = span.find("Latency")
    if latency is not None:
        for word, column in columns.items():
            for field, name in (
                ("mean_ns", f"Average{word}Milliseconds"),
                ("stddev_ns", f"{word.replace('Total', '')}LatencyStdev"),
            ):
                if (text := latency.findtext(name)) is not None:
                    setattr(column, field, number(text, source=source, what=name) * MS)
        for bucket in latency.findall("Bucket"):
            _bucket(bucket, columns, source)
    return {direction: columns[word] for direction, word in _BOTH}, columns["Total"]


def _bucket(bucket: ElementTree.Element, columns: dict[str, Distribution], source: str) -> None:
    q = fraction(bucket.findtext("Percentile") or "", source=source, what="a Percentile")
    for word, column in columns.items():
        if (text := bucket.findtext(f"{word}Milliseconds")) is None:
            continue
        value_ns = round(number(text, source=source, what=f"{word}Milliseconds") * MS)
        if q == 0:
            column.min_ns = value_ns
        elif q == 1:
            column.max_ns = value_ns
        else:
            column.quantiles[q] = value_ns


def _series(
    span: ElementTree.Element, interval_ms: int, jobs: JobFile | None, source: str
) -> Iterator[Interval]:
    """Yield the I/Os and bytes of every interval; nothing if the block size is unknown."""
    for index, bucket in enumerate(span.findall("Iops/Bucket") if jobs else ()):
        end_ms = integer(bucket.get("SampleMillisecond"), source=source, what="SampleMillisecond")
        if end_ms < interval_ms:
            raise damaged(source, "a SampleMillisecond lies before the first interval's end")
        tallies = {}
        for direction, word in _BOTH:
            rate = number(bucket.get(word), source=source, what=f"{word} of a Bucket")
            ios = round(rate * interval_ms / 1000)
            block_bytes = getattr(jobs.jobs[0].bs, direction.value).minimum_bytes if jobs else 0
            tallies[direction] = Tally(ios=ios, bytes=ios * block_bytes)
        yield Interval(
            stage=0,
            row=0,
            index=index,
            start_ns=(end_ms - interval_ms) * MS,
            end_ns=end_ms * MS,
            ramp=False,
            tallies=tallies,
        )


def _options(profile: ElementTree.Element | None) -> dict[str, str]:
    """Return the plain values of a profile, of its time span and then of its first target, by element name."""
    options: dict[str, str] = {}
    for parent in () if profile is None else (profile, profile.find("Targets/Target")):
        for element in () if parent is None else parent:
            if not len(element) and (element.text or "").strip():
                options[element.tag] = (element.text or "").strip()
    return options


_SPAN_WORDS = (
    ("Duration", "-d"), ("Warmup", "-W"), ("Cooldown", "-C"), ("ThreadCount", "-F"), ("RequestCount", "-O"),
    ("RandSeed", "-z"),
)  # fmt: skip
_TARGET_WORDS = (
    ("BlockSize", "-b"), ("BaseFileOffset", "-B"), ("MaxFileSize", "-f"), ("FileSize", "-c"), ("BurstSize", "-i"),
    ("ThinkTime", "-j"), ("ThreadStride", "-T"), ("WriteRatio", "-w"),
)  # fmt: skip
_ZERO_MEANS_ABSENT = frozenset({"-F", "-O", "-z", "-C", "-B", "-f", "-c", "-i", "-j", "-T", "-g"})
_TRUE_WORDS = (
    ("ParallelAsyncIO", "-p"), ("UseLargePages", "-l"), ("MemoryMappedIo", "-Sm"), ("DisableLocalCache", "-Sr"),
)  # fmt: skip


def _words(profile: ElementTree.Element) -> list[str]:
    """Return the profile as a command line; empty if its targets differ in more than their paths.

    The profile does not say whether every write had new random data (-Zr).
    """
    targets = profile.findall("Targets/Target")
    of_targets = [_target_words(target) for target in targets]
    if not targets or any(words != of_targets[0] for words in of_targets):
        return []
    words = [
        f"{option}{text}" for name, option in _SPAN_WORDS if (text := profile.findtext(name)) is not None
    ]
    if not any(word.startswith("-F") and word != "-F0" for word in words):
        words.append(f"-t{targets[0].findtext('ThreadsPerFile') or 1}")
    for name, option in (("MeasureLatency", "-L"), ("DisableAffinity", "-n"), ("CompletionRoutines", "-x")):
        words += [option] if profile.findtext(name) == "true" else []
    if profile.findtext("CalculateIopsStdDev") == "true":
        words.append(f"-D{profile.findtext('IoBucketDuration') or 1000}")
    for assigned in profile.findall("Affinity/AffinityGroupAssignment"):
        words.append(f"-ag{assigned.get('Group')},{assigned.get('Processor')}")
    # Zero means that an option was not used; no option takes it as a value.
    used = [
        word for word in (*words, *of_targets[0]) if not (word[:2] in _ZERO_MEANS_ABSENT and word[2:] == "0")
    ]
    return [*used, *(target.findtext("Path") or "" for target in targets)]


def _target_words(target: ElementTree.Element) -> list[str]:
    words = [
        f"{option}{text}" for name, option in _TARGET_WORDS if (text := target.findtext(name)) is not None
    ]
    words += [f"-o{target.findtext('RequestCount') or 2}"]
    words += [option for name, option in _TRUE_WORDS if target.findtext(name) == "true"]
    caching = "u" * (target.findtext("DisableOSCache") == "true") + "w" * (
        target.findtext("WriteThrough") == "true"
    )
    words += [f"-S{caching}"] if caching else []
    words += [f"-I{target.findtext('IOPriority')}"] if target.findtext("IOPriority") in ("1", "2") else []
    limit = target.find("Throughput")
    if limit is not None:
        words.append(f"-g{limit.text}{'i' if limit.get('unit') == 'IOPS' and limit.text != '0' else ''}")
    return words + _pattern_words(target) + _content_words(target)


def _pattern_words(target: ElementTree.Element) -> list[str]:
    random, stride = target.findtext("Random"), target.findtext("StrideSize")
    if random is None:
        interlocked = "i" if target.findtext("InterlockedSequential") == "true" else ""
        return [f"-s{interlocked}{stride or ''}"]
    words = [f"-r{random}"]
    if (share := target.findtext("RandomRatio")) is not None:
        words.append(f"-rs{share}")
    for kind, option in (("Percent", "pct"), ("Absolute", "abs")):
        ranges = target.findall(f"Distribution/{kind}/Range")
        if ranges:
            words.append(f"-rd{option}" + ":".join(f"{part.get('IO')}/{part.text}" for part in ranges))
    return words


def _content_words(target: ElementTree.Element) -> list[str]:
    content = target.find("WriteBufferContent")
    pattern = None if content is None else content.findtext("Pattern")
    if content is None or pattern == "sequential":
        return []
    if pattern == "zero":
        return ["-Z"]
    path = content.findtext("RandomDataSource/FilePath")
    return [f"-Z{content.findtext('RandomDataSource/SizeInBytes') or ''}{f',{path}' if path else ''}"]
