"""Options that name a file to be written: the ending must be that of what it will hold."""

from __future__ import annotations

import os
from collections.abc import Callable

from graphio.command_line.exits import USAGE, Refused

__all__ = ["ending"]


def ending(requested: str) -> Callable[[str | None], str | None]:
    """A callback of an option whose file ends in `requested`, such as ".svg".

    Raises:
        Refused: from the callback, for a path that ends otherwise.
    """

    def check(path: str | None) -> str | None:
        if path is not None and os.path.splitext(path)[1].lower() != requested:
            raise Refused(
                f"'{path}' would hold the contents of a {requested} file: name it so, such as "
                f"'{os.path.splitext(path)[0] or 'file'}{requested}'",
                USAGE,
            )
        return path

    return check
