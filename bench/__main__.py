"""``python -m bench [CASE...]``: run the cases, print a table, and add to the history."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence

from bench import peers, results
from bench.cases import CASES, WITHOUT_FIO
from bench.settings import Settings, note


def main(argv: Sequence[str]) -> int:
    """Run the cases that ``argv`` names, or all; return 1 if one could not run."""
    parser = argparse.ArgumentParser(
        prog="bench", description="iogauge side by side with fio; see bench/README.md"
    )
    parser.add_argument("cases", nargs="*", metavar="CASE", help=f"one or more of: {', '.join(CASES)}")
    parser.add_argument(
        "--quick", action="store_true", help="few pairs, short runs, nothing saved: for developing"
    )
    parser.add_argument("--keep", action="store_true", help="save to the history even with --quick")
    arguments = parser.parse_args(argv)
    for name in arguments.cases:
        if name not in CASES:
            parser.error(f"no case named {name}")
    names = arguments.cases or list(CASES)
    if not WITHOUT_FIO.issuperset(names) and peers.fio_version() is None:
        parser.error("fio is missing; on Debian: apt-get install fio")

    settings = Settings.quick() if arguments.quick else Settings()
    rows: list[results.Row] = []
    skipped: list[str] = []
    failed: list[str] = []
    for name in names:
        try:
            finding = CASES[name](settings)
        except peers.PeerError as error:
            failed.append(f"{name}: failed: {error}")
            continue
        if finding.skipped:
            skipped.append(f"{name}: skipped: {finding.skipped}")
            continue
        rows += finding.rows
        if arguments.keep or not arguments.quick:
            results.append(name, finding, quick=arguments.quick)
    print(results.table(rows))
    for line in (*skipped, *failed):
        note(line)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
