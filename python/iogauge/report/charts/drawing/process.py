"""The process that ``drawing`` starts. It calls functions of vl-convert until its parent closes the connection.

It imports nothing of iogauge, which would take longer than drawing most charts. Its argument is a file descriptor.
"""

from __future__ import annotations

import sys
from multiprocessing.connection import Connection


def main(descriptor: int) -> None:
    """Answer each call on the connection with (result, None), or with (None, the error)."""
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
