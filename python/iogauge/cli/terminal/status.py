"""The exit statuses of the commands, and the error that means ``USAGE``."""

from __future__ import annotations

from iogauge.errors import UsageError as UsageError

OK = 0
ERROR = 1
"""An error, which stderr names, or a condition that could not be judged."""
USAGE = 2
"""The command line is wrong; nothing was done."""
VIOLATED = 3
"""Everything was measured, and a ``--fail-if`` condition holds."""
INTERRUPTED = 130
"""128 + SIGINT: Ctrl-C. SIGTERM gives 143; see ``process``."""
BROKEN_PIPE = 141
"""128 + SIGPIPE: the reader of stdout has gone, which is not an error of iogauge."""
