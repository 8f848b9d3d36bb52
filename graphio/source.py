"""The user's line: the innermost frame outside this package."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable
from typing import NamedTuple, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

_PACKAGE = os.path.dirname(os.path.abspath(__file__)) + os.sep


class Source(NamedTuple):
    """File name without folder, line and function; empty where unknown."""

    file: str
    line: int
    function: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}" if self.file else ""


NOWHERE = Source("", 0, "")


def user_line() -> Source:
    """Where the user's program is at the moment."""
    frame = sys._getframe(1)
    while frame is not None:
        name = frame.f_code.co_filename
        if not name.startswith(_PACKAGE) and "contextlib" not in name:
            return Source(os.path.basename(name), frame.f_lineno, frame.f_code.co_name)
        if frame.f_back is None:
            break
        frame = frame.f_back
    return NOWHERE


def locate(error: BaseException | None) -> None:
    """Adds the user's line to the message of a ValueError or TypeError, once."""
    if not isinstance(error, (ValueError, TypeError)) or getattr(error, "located", False):
        return
    where = user_line()
    if where.file and len(error.args) == 1:
        error.args = (f"{error.args[0]} ({where})",)
        error.located = True  # type: ignore[union-attr]


def locating(function: Callable[P, R]) -> Callable[P, R]:
    """The function, whose ValueErrors and TypeErrors name the user's line."""

    @functools.wraps(function)
    def call(*arguments: P.args, **options: P.kwargs) -> R:
        try:
            return function(*arguments, **options)
        except (TypeError, ValueError) as error:
            locate(error)
            raise

    return call
