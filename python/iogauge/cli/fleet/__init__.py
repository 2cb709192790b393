"""``iogauge fleet``: one review on many hosts.

Review the drives of many hosts with one command, and say which of them are slow.

Hosts start each step at the same instant, or one after another, or each by itself. A host that is lost is named as
missing; nothing stands in for its figures. Each host saves its own review, so the fleet's can be resumed.

Needs the extra package: pip install 'iogauge[fleet]'. Only 'review' and 'keys' need it.
"""

from __future__ import annotations

COMMANDS = {
    "review": "Review the drives of many hosts at once; can be resumed.",
    "show": "Show which drives of a saved fleet are slow, and its merged figures.",
    "report": "Write one self-contained HTML page of a saved fleet.",
    "keys": "Make the certificates with which the hosts of a fleet know each other.",
}
"""Each is the function of a file of its name here, imported when it is called."""
