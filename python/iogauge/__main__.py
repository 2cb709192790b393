"""``python -m iogauge``: the same as the command ``iogauge``."""

import sys

from iogauge.cli import main

sys.exit(main())
