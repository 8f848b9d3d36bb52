"""The program's line, the innermost frame outside this package; and the errors of public calls."""

from __future__ import annotations

import contextlib
import dis
import enum
import functools
import inspect
import os
import sys
from collections.abc import Callable, Mapping
from types import FrameType, TracebackType
from typing import Any, NamedTuple, ParamSpec, TypeVar

import numpy as np

from graphio.support.errors import OpError

P = ParamSpec("P")
R = TypeVar("R")

#: the folder of the package graphio, wherever in it this module is
_PACKAGE = os.path.dirname(os.path.abspath(sys.modules[__name__.split(".")[0]].__file__ or ""))
_PACKAGE += os.sep


class Source(NamedTuple):
    """File name without folder, line, function and the line where that begins; empty, and 0, where
    unknown."""

    file: str
    line: int
    function: str
    start: int = 0

    def __str__(self) -> str:
        return f"{self.file}:{self.line} in {self.function}" if self.file else ""


NOWHERE = Source("", 0, "")


def is_inside(file: str) -> bool:
    """Whether code of a file is left out of what a program sees: this package's and contextlib's,
    which runs the package's contexts."""
    return file.startswith((_PACKAGE, contextlib.__file__))


def user_line() -> Source:
    """The current source line of the user's program."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None:
        code = frame.f_code
        name = _base_name(code.co_filename)
        if name:
            return _shared(name, frame.f_lineno, code.co_name, code.co_firstlineno)
        frame = frame.f_back
    return NOWHERE


def user_level() -> int:
    """The stacklevel with which a warning of the caller names the user's line."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and is_inside(frame.f_code.co_filename):
        level, frame = level + 1, frame.f_back
    return level


@functools.lru_cache(maxsize=4096)
def _shared(file: str, line: int, function: str, start: int) -> Source:
    """A line as an object that the operations made there have in common."""
    return Source(file, line, function, start)


@functools.lru_cache(maxsize=4096)
def _base_name(path: str) -> str:
    """The name without folder of a file of the user's program; "" for one of this package's."""
    return "" if is_inside(path) else os.path.basename(path)


def locate(error: BaseException | None, function: str = "") -> None:
    """Adds the user's line to the message of a ValueError or TypeError, once; and the function's
    name, where that is given."""
    if not isinstance(error, (ValueError, TypeError)) or len(error.args) != 1:
        return
    text = getattr(error, "before_locating", None)
    if text is not None and not function:
        return
    where = str(user_line())
    if where:
        error.before_locating = error.args[0] if text is None else text  # type: ignore[union-attr]
        where = f"{where}; by {function}" if function else where
        error.args = (f"{error.before_locating} ({where})",)  # type: ignore[union-attr]
        if isinstance(error, OpError):
            error._message = error.args[0]


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


# ---- errors of public calls ----


class _Origin(enum.Enum):
    """The origins of an error."""

    PROGRAM = "a frame of the user's program"
    CHECK = "a raise statement of this package"
    UNCHECKED = "Python or numpy, at a value that no check of this package has refused"


#: where Python's and numpy's own modules are
_LIBRARIES = tuple(
    os.path.dirname(os.path.abspath(module.__file__ or "")) + os.sep for module in (os, np)
)
#: the class of the error that the caller gets for an unchecked one
_CLASSES: tuple[tuple[type[Exception], type[Exception]], ...] = (
    (TypeError, TypeError),
    (AttributeError, TypeError),
    (ValueError, ValueError),
    (LookupError, ValueError),
    (ArithmeticError, ValueError),
    (RecursionError, ValueError),
    (AssertionError, ValueError),
)
_RAISES = {number for name, number in dis.opmap.items() if name in ("RAISE_VARARGS", "RERAISE")}


def refusal(
    error: Exception, function: Callable[..., Any], arguments: Any, options: Mapping[str, Any]
) -> Exception:
    """The error that the caller of a public function gets: error itself, with the function's name
    and the user's line; or, where Python or numpy has raised it, one that shows the arguments too.

    What a function of the user's raises is left alone.
    """
    origin = _origin(error)
    if origin is _Origin.PROGRAM:
        return error
    name = function.__qualname__.removesuffix(".__init__").split("<locals>.")[-1]
    if function.__name__ == "__call__":
        name = type(arguments[0]).__name__
    found = _arguments(function, arguments, options)
    if origin is _Origin.UNCHECKED and found is not None:
        kind = next((given for caught, given in _CLASSES if isinstance(error, caught)), None)
        if kind is not None:
            text = getattr(error, "before_locating", str(error)) or type(error).__name__
            error = kind(f"{name}: an argument is of a wrong type or value: {text}; given {found}")
    named = _letters(name.split(".")[-1]) in _letters(str(error))
    locate(error, "" if named else name)
    return error


def _letters(text: str) -> str:
    return "".join(filter(str.isalnum, text)).lower()


def _origin(error: Exception) -> _Origin:
    """The origin of an error, by its traceback.

    A raise statement and a call of a C function that fails leave the same error and traceback:
    only the instruction at which the last frame stopped distinguishes them.
    """
    at: TracebackType | None = error.__traceback__
    last = at
    while at is not None:
        name = at.tb_frame.f_code.co_filename
        if not name.startswith((_PACKAGE, *_LIBRARIES, "<frozen")):
            return _Origin.PROGRAM
        last, at = at, at.tb_next
    if last is None:
        return _Origin.PROGRAM
    code = last.tb_frame.f_code
    raised = code.co_filename.startswith(_PACKAGE) and code.co_code[last.tb_lasti] in _RAISES
    bare = isinstance(error, AssertionError) and not error.args
    return _Origin.CHECK if raised and not bare else _Origin.UNCHECKED


def _arguments(
    function: Callable[..., Any], arguments: Any, options: Mapping[str, Any]
) -> str | None:
    """The arguments by name, shortened; None where Python refuses the call itself."""
    try:
        given = inspect.signature(function).bind(*arguments, **options).arguments
    except TypeError:
        return None
    return ", ".join(f"{key}={_short(value)}" for key, value in given.items() if key != "self")


def _short(value: Any) -> str:
    try:
        text = " ".join(repr(value).split())
    except Exception:
        text = f"<{type(value).__name__}>"
    return text if len(text) <= 60 else f"{text[:57]}..."
