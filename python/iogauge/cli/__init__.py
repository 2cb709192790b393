"""The command line. Only this package prints.

Results go to stdout; progress, warnings and errors go to stderr. Exit statuses are in ``terminal/status.py``. Each
command has a file of its name, here or in the folder that ``FOLDERS`` says, which ``terminal/commands.py`` imports.
Nothing else is imported before the process can be interrupted.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

COMMANDS = {
    "run": "Run fio job files or fio's options; print what was measured.",
    "quick": "Measure a drive or file for a minute: eight rows, as CrystalDiskMark shows.",
    "replay": "Replay a trace on a target: at its instants, or as its requests waited for each other.",
    "review": "Run published procedures on a target; can be resumed.",
    "fleet": "Review the drives of many hosts at once, and find the slow ones.",
    "find": "Find the most IOPS or MB/s that keep a limit of latency.",
    "ladder": "Measure what each tuning of the machine is worth.",
    "watch": "Show a running measurement on one screen.",
    "report": "Write one self-contained HTML report of reviews.",
    "list": "List saved reviews.",
    "show": "Show the findings of a saved review, or one step.",
    "web": "Show reviews and running measurements as pages on this computer.",
    "compare": "Compare reviews, and say what differs.",
    "judge": "Say whether drives are good enough for a use.",
    "collect": "Collect the figures of many reviews, in a directory or an object store.",
    "query": "Ask saved reviews questions in SQL.",
    "export": "Write the figures of reviews as CSV or Parquet.",
    "verify": "Say whether a drive kept what was flushed over a power cut.",
    "recover": "Write the logs of a run that was killed or interrupted.",
    "trace": "Traces of I/O requests: import what other programs recorded, show it.",
    "import": "Save results of fio or DiskSpd as a review.",
    "plan": "Show what a review would do, and how long it takes.",
    "audit": "Show the settings of this machine that differ from what low latency wants.",
    "tune": "Tune this machine for low latency while a command runs, and put everything back.",
    "drive-info": "Show what a drive says of itself: health, power states, features.",
    "model": "Drive and machine models: list, show, fit, serve, make your own.",
    "completion": "Make bash, zsh or fish complete commands, options and values.",
    "options": "List the job options that are supported.",
}

FOLDERS = {
    "audit": "machine",
    "collect": "fleet",
    "drive-info": "machine",
    "ladder": "machine",
    "replay": "trace",
    "tune": "machine",
}
"""The folders of the commands that are not in this one."""

GROUPS = ("fleet", "model", "trace")
"""The commands that are groups of commands."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit status.

    Without ``arguments``, take those of the process, and handle its signals until it ends.
    """
    try:
        from iogauge.cli.terminal import process

        if arguments is None:
            process.start()
        from iogauge.cli.terminal.commands import call
    except KeyboardInterrupt:
        import sys

        print("interrupted", file=sys.stderr)
        return 130
    try:
        return call(process.arguments() if arguments is None else arguments)
    except KeyboardInterrupt:  # A second Ctrl-C, while the first is reported.
        return process.interrupted()
    finally:
        if arguments is None:
            process.end()
