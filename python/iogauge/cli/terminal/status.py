"""What the commands' exit statuses mean, and the error that chooses ``USAGE``."""

from __future__ import annotations

from iogauge.errors import UsageError as UsageError

OK = 0
ERROR = 1
"""Something went wrong, and stderr says what. Also: a condition that could not be judged."""
USAGE = 2
"""The command line itself was wrong; nothing was done."""
VIOLATED = 3
"""Everything was measured, and a ``--fail-if`` condition held."""
INTERRUPTED = 130
"""128 + SIGINT: Ctrl-C. SIGTERM does the same and gives 143; see ``process``."""
BROKEN_PIPE = 141
"""128 + SIGPIPE: whoever read our output went away, which is no error of ours."""
