"""cinfer's status numbers as the errors of graphio.schema."""

from __future__ import annotations

from typing import Any

from graphio.cinfer._native import ffi
from graphio.support import errors


def new_error() -> Any:
    """A ci_error for calls to fill in."""
    return ffi.new("ci_error *")


def text(chars: Any) -> str:
    """A C string; what was cut inside a character is replaced."""
    return str(ffi.string(chars).decode("utf-8", "replace"))


def check(status: int, error: Any) -> None:
    """Raises the error that a call gave, if it did."""
    if status:
        raise of(status, error)


def of(status: int, error: Any) -> errors.OpError:
    """The error that a failed call gave."""
    return errors.from_code(status, text(error.message), text(error.node))
