"""Names of ONNX values as names of operations."""

from __future__ import annotations

import re

__all__ = ["valid_name"]

_STRANGE = re.compile(r"[^A-Za-z0-9_.\\/>-]")
_START = re.compile(r"^[A-Za-z0-9.]")


def valid_name(name: str) -> str:
    """The name with "_" for each character that names of operations lack."""
    made = _STRANGE.sub("_", name).strip("/")
    return made if _START.match(made) else f"n{made}"
