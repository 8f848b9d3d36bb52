"""Packages that only some commands need."""

from __future__ import annotations

import importlib
from typing import Any

from graphio.command_line.exits import USAGE, Refused
from graphio.support import installation

__all__ = ["need"]

#: by module: the commands that need it, and the extra of graphio's that brings it
_EXTRAS = {
    "pyarrow": ("tables need pyarrow", "tables"),
    "PIL.Image": ("pictures need Pillow", "images"),
}


def need(module: str) -> Any:
    """The module.

    Raises:
        Refused: it is not installed; says what brings it.
    """
    try:
        return importlib.import_module(module)
    except ModuleNotFoundError:
        what, extra = _EXTRAS[module]
        raise Refused(f"{what}: {installation.hint(extra)}", USAGE) from None
