"""``iogauge model``: what can be done with a drive model.

Drive models: what can be done with one besides running jobs on it as a target, model:NAME.
"""

from __future__ import annotations

from iogauge.cli import model_serve

SUBCOMMANDS = {"serve": model_serve}
"""Each a module with a function of this name, and its help as its docstring."""
