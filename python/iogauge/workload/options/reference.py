"""docs/options.md, made from the options' table: the page cannot say anything else than the code does."""

from __future__ import annotations

from iogauge.workload.options import known
from iogauge.workload.options.option import Category, Option
from iogauge.workload.options.table import OPTIONS

_INTRODUCTION = """\
# Options of job files

<!-- Made by iogauge.workload.options.reference from the table of options; do not edit. -->

`iogauge run` reads fio's job files and command lines. These are the options it supports, with fio's names, meanings
and defaults as fio's code has them. An option that fio knows and that is not listed is refused by name, an unknown
one gets a suggestion, and none is ever ignored.

**Numbers** take `k`, `m`, `g`, `t`, `p` (also `kb`, `ki`): powers of 1024. `kib`, `mib`, … are powers of **1000**, as
in fio; `kb_base=1000` reverses the two. **Times** take `us`, `ms`, `s`, `m` (minutes), `h`, `d`, alone or together
(`1m30s`), and fractions (`0.5s`). Where a value takes `a,b,c`, these are for reads, writes and trims; `a,b` gives b to
writes and trims, and an empty place leaves a direction as it was: `rate=,10m` limits writes and trims only. Products
are computed (`size=8*16m`), and so is a value in parentheses.

**Files**: `[global]` sections give defaults for the sections after them. `;` and `#` begin comments anywhere in a line.
`include FILE` reads options from FILE. `${NAME}` is replaced from the environment; `$ncpus`, `$pagesize` and
`$mb_memory` by what the machine has.

**fio's own options** `--output-format`, `--minimal`, `--terse-version`, `--output`, `--status-interval`, `--section`,
`--readonly`, `--eta`, `--eta-interval`, `--max-jobs`, `--parse-only` and `--showcmd` are those of `iogauge run --help`.

**Different from fio, deliberately**: [the whole list](fio.md#different-from-fio-deliberately). One that
matters here: values that fio reads only in part (`size=1.5g` is one byte in fio,
`runtime=10sec` ten microseconds, `bs = 4k` four bytes) are errors, as are shares that do not add up, an unset
variable, `time_based` without `runtime`, and `write_hist_log` without `log_hist_msec`.
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
    # A bar would end the table's cell; a bracket may begin a link.
    syntax = option.kind.syntax.replace("|", "\\|").replace("[", "\\[")
    engines = f" ({', '.join(sorted(option.engines))} only)" if option.engines else ""
    return f"| {names} | {syntax} | {option.default} | {option.help}{engines} |"


def _accepted() -> str:
    lines = [f"`{name}={'` or `'.join(sorted(values))}`" for name, values in sorted(known.AT_DEFAULT.items())]
    return (
        "## Accepted without effect\n\n"
        "These are not supported, but job files often spell them out at fio's default, which changes nothing:\n\n"
        + ",\n".join(lines)
        + ".\n"
    )
