"""Generates docs/options.md from the table of options, so that the page and the code agree."""

from __future__ import annotations

from iogauge.workload.options import known
from iogauge.workload.options.option import Category, Option
from iogauge.workload.options.table import OPTIONS

_INTRODUCTION = """\
# Options of job files

<!-- Made by iogauge.workload.options.reference from the table of options; do not edit. -->

`iogauge run` reads fio's job files and command lines. It supports these options, with the names, meanings and defaults
of fio's code. It refuses any other option: one of fio's by name, an unknown one with a suggestion. It never ignores an
option.

**Numbers** take the suffixes `k`, `m`, `g`, `t`, `p` (also `kb`, `ki`), which are powers of 1024. `kib`, `mib`, … are
powers of **1000**, as in fio; `kb_base=1000` reverses the two. **Times** take the units `us`, `ms`, `s`, `m` (minutes),
`h`, `d`, alone or together (`1m30s`), and fractions (`0.5s`). A value `a,b,c` is for reads, writes and trims; in `a,b`,
b is for writes and trims. A direction without a value keeps its earlier one: `rate=,10m` limits only writes and trims.
Products (`size=8*16m`) and values in parentheses are computed.

**Files**: `[global]` sections set defaults for the sections after them. `;` and `#` begin a comment anywhere in a line.
`include FILE` reads options from FILE. `${NAME}` is replaced from the environment; `$ncpus`, `$pagesize` and
`$mb_memory` with the values of the machine.

**fio's command line**: `iogauge run --help` describes `--output-format`, `--minimal`, `--terse-version`, `--output`,
`--status-interval`, `--section`, `--readonly`, `--eta`, `--eta-interval`, `--parse-only` and `--showcmd`. `--max-jobs`,
`--alloc-size`, `--eta-newline` and `--warnings-fatal` are accepted and change nothing.

**Different from fio, deliberately**: see [the whole list](fio.md#different-from-fio-deliberately). In job files, these
are errors: values that fio reads only in part (`size=1.5g` is one byte in fio, `runtime=10sec` ten microseconds,
`bs = 4k` four bytes), shares that do not add up, an unset variable, `time_based` without `runtime`, and
`write_hist_log` without `log_hist_msec`.
"""


def page() -> str:
    """Return the text of docs/options.md."""
    parts = [_INTRODUCTION]
    for category in Category:
        rows = [_row(option) for option in OPTIONS if option.category == category]
        parts.append(
            "\n".join(
                [f"## {category}", "", "| option | value | default | |", "|---|---|---|---|", *rows, ""]
            )
        )
    parts.append(_accepted())
    return "\n".join(parts)


def _row(option: Option) -> str:
    names = ", ".join(f"`{name}`" for name in (option.name, *option.aliases))
    # In Markdown a bar would end the cell, and a bracket could begin a link.
    syntax = option.kind.syntax.replace("|", "\\|").replace("[", "\\[")
    engines = f" ({', '.join(sorted(option.engines))} only)" if option.engines else ""
    return f"| {names} | {syntax} | {option.default} | {option.help}{engines} |"


def _accepted() -> str:
    lines = [f"`{name}={'` or `'.join(sorted(values))}`" for name, values in sorted(known.AT_DEFAULT.items())]
    return (
        "## Accepted without effect\n\n"
        "These options are not supported, but job files often set them to values that change nothing: fio's default, "
        "or how to lay out files that are laid out in full anyway:\n\n" + ",\n".join(lines) + ".\n"
    )
