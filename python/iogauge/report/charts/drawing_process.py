"""The process that ``drawing`` starts: calls functions of vl-convert until nobody asks any more.

It imports nothing of iogauge, which would take longer than most charts. It is given the number of a descriptor.
"""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection


def main(descriptor: int) -> None:
    """Answer with (result, None), or with (None, what went wrong)."""
    import vl_convert

    connection: Connection[tuple[object, str | None], tuple[str, tuple[object, ...], dict[str, object]]]
    connection = Connection(descriptor)
    while True:
        try:
            function, arguments, options = connection.recv()
        except EOFError:
            return
        try:
            connection.send((getattr(vl_convert, function)(*arguments, **options), None))
        except Exception as error:
            connection.send((None, f"{function}: {error}"))


if __name__ == "__main__":
    main(int(sys.argv[1]))
