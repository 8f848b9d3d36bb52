"""The libraries of the extra `[serve]`."""

from __future__ import annotations

import importlib.util

from graphio.support import installation

__all__ = ["check"]

_MODULES = ("starlette", "uvicorn", "httptools", "prometheus_client")


def check() -> None:
    """Raises ImportError, with what installs them, if libraries are missing."""
    missing = [name for name in _MODULES if importlib.util.find_spec(name) is None]
    if missing:
        raise ImportError(f"serving needs {', '.join(missing)}: {installation.hint('serve')}")
