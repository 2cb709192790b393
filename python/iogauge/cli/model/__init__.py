"""``iogauge model``: what there is of drive and machine models.

A drive model is a target as a drive is one: model:NAME, or model:NAME@MACHINE with another machine in front of it.
It runs in virtual time, needs no hardware and repeats by seed. NAME is one that 'iogauge model list' shows, or the
path of a TOML file.
"""

from __future__ import annotations

COMMANDS = {
    "list": "List the drives and machines that iogauge brings.",
    "show": "Show every number of a model, with where it comes from.",
    "new": "Write a model of one's own, to be edited, from one that there is.",
    "fit": "Fit a twin to a review, or models to published figures.",
    "compare": "Put published figures beside what the models show.",
    "serve": "Serve a drive model to other programs, by NBD.",
}
"""Each is the function of a file of its name here, imported when it is called."""
