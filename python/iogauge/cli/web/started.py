"""``python -m iogauge.cli.web.started``: the command ``iogauge`` as a page of the server starts it.

It loads no suite from a file: a page may resume a review that comes from a stranger.
"""

import sys

from iogauge.cli import main
from iogauge.suites import load_no_files

if __name__ == "__main__":
    load_no_files()
    sys.exit(main())
