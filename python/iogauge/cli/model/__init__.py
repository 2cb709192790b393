"""``iogauge model``: drive and machine models.

List, show, fit, compare and serve drive and machine models.

A drive model is a target like a drive: model:NAME, or model:NAME@MACHINE with another machine in front of it. It runs
in virtual time, needs no hardware, and the same seed repeats the run. NAME is a name that 'iogauge model list' shows,
or the path of a TOML file.
"""

from __future__ import annotations

COMMANDS = {
    "list": "List the drives and machines that come with iogauge.",
    "show": "Show every number of a model, with its source.",
    "new": "Write a copy of a model, to edit as your own.",
    "explain": "Say where the time of the requests goes, by quantile; what if numbers differed.",
    "fit": "Fit a twin to a review, or models to published figures.",
    "compare": "Compare the models with published figures.",
    "serve": "Serve a drive model to other programs, by NBD.",
}
"""Each is the function of a file of its name here, imported when it is called."""
