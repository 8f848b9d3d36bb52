"""Answers about eager execution and GPUs, of which there are none: of eager.context."""

from __future__ import annotations

from graphio.support import api_guard

__all__ = ["always", "never", "none"]


@api_guard.unguarded
def never() -> bool:
    """False."""
    return False


@api_guard.unguarded
def always() -> bool:
    """True."""
    return True


@api_guard.unguarded
def none() -> int:
    """0."""
    return 0
