"""The errors of a run, named as TensorFlow users know them.

Each class carries TensorFlow's code, which is also the status number of cinfer, and subclasses
the builtin exception that fits.
"""

from __future__ import annotations

import re
from typing import Any

from graphio.support import public_path

OK = 0
CANCELLED = 1
UNKNOWN = 2
INVALID_ARGUMENT = 3
DEADLINE_EXCEEDED = 4
NOT_FOUND = 5
ALREADY_EXISTS = 6
PERMISSION_DENIED = 7
RESOURCE_EXHAUSTED = 8
FAILED_PRECONDITION = 9
ABORTED = 10
OUT_OF_RANGE = 11
UNIMPLEMENTED = 12
INTERNAL = 13
UNAVAILABLE = 14
DATA_LOSS = 15
UNAUTHENTICATED = 16


#: characters that could act on a terminal or reverse a line: control characters, marks of direction
_CONTROL = re.compile(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f"
    r"\u200b\u200e\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_LONG = re.compile(r"\S{401,}")
_MOST = 1 << 16  # characters of a message


def printable(text: str) -> str:
    """A message as it may be shown, whatever names of a file are in it.

    Control characters are escaped; words of more than 400 characters and messages of more than
    65,536 are cut.
    """
    text = _LONG.sub(lambda found: _cut(found.group(), 200, 100), text)
    if len(text) > _MOST:
        text = _cut(text, _MOST // 2, _MOST // 4)
    return _CONTROL.sub(lambda found: ascii(found.group())[1:-1], text)


def one_line(text: str) -> str:
    """A string as an item of a list of lines."""
    return text.replace("\n", "\\n") if "\n" in text else text


def _cut(text: str, first: int, last: int) -> str:
    return f"{text[:first]}... {len(text) - first - last} characters ...{text[-last:]}"


class OpError(Exception):
    """An error of a run or of a file.

    Args:
        node_def: the node that failed, or None.
        op: the builder's operation that failed, or None.
        message: the full sentence; what cannot be printed in it is escaped. None: there is none.
        error_code: one of the numbers above.
    """

    code = UNKNOWN

    def __init__(
        self,
        node_def: Any = None,
        op: Any = None,
        message: str | None = "",
        error_code: int | None = None,
    ) -> None:
        message = "" if message is None else printable(message)
        super().__init__(message)
        self._node_def = node_def
        self._op = op
        self._message = message
        self._error_code = self.code if error_code is None else error_code
        self.node_name = getattr(node_def, "name", "")

    def __reduce__(self) -> tuple[Any, ...]:
        # without the operation, which belongs to a graph of this process
        given = (self._node_def, None, self._message, self._error_code)
        return type(self), given, {**self.__dict__, "_op": None}

    @property
    def message(self) -> str:
        """The full sentence."""
        return self._message

    @property
    def op(self) -> Any:
        """The builder's operation that failed, or None."""
        return self._op

    @property
    def node_def(self) -> Any:
        """The node that failed, or None."""
        return self._node_def

    @property
    def error_code(self) -> int:
        """TensorFlow's number of the class."""
        return self._error_code

    def __str__(self) -> str:
        return self._message


class CancelledError(OpError):
    """The run was cancelled."""

    code = CANCELLED


class UnknownError(OpError):
    """An error without a specific class."""

    code = UNKNOWN


class InvalidArgumentError(OpError, ValueError):
    """A value, shape or dtype that the operation cannot take."""

    code = INVALID_ARGUMENT


class DeadlineExceededError(OpError, TimeoutError):
    """It took too long."""

    code = DEADLINE_EXCEEDED


class NotFoundError(OpError, LookupError):
    """A name or file that is not there."""

    code = NOT_FOUND


class AlreadyExistsError(OpError):
    """A name or file that is there already."""

    code = ALREADY_EXISTS


class PermissionDeniedError(OpError, PermissionError):
    """The operating system refused."""

    code = PERMISSION_DENIED


class ResourceExhaustedError(OpError, MemoryError):
    """Memory, disk or a limit is used up."""

    code = RESOURCE_EXHAUSTED


class FailedPreconditionError(OpError, RuntimeError):
    """Something has to happen before, such as initialising a variable."""

    code = FAILED_PRECONDITION


class AbortedError(OpError):
    """Another run came in between."""

    code = ABORTED


class OutOfRangeError(OpError):
    """Past the end of the data."""

    code = OUT_OF_RANGE


class UnimplementedError(OpError, NotImplementedError):
    """An operator, type or feature that is not there."""

    code = UNIMPLEMENTED


class InternalError(OpError, RuntimeError):
    """A bug of graphio's."""

    code = INTERNAL


class UnavailableError(OpError, OSError):
    """The operating system or a store refused a read or a write; errno says why."""

    code = UNAVAILABLE


class DataLossError(OpError, OSError):
    """Damaged or truncated bytes."""

    code = DATA_LOSS


class UnauthenticatedError(OpError):
    """The caller is not authenticated."""

    code = UNAUTHENTICATED


BY_CODE: dict[int, type[OpError]] = {
    c.code: c
    for c in (
        CancelledError,
        UnknownError,
        InvalidArgumentError,
        DeadlineExceededError,
        NotFoundError,
        AlreadyExistsError,
        PermissionDeniedError,
        ResourceExhaustedError,
        FailedPreconditionError,
        AbortedError,
        OutOfRangeError,
        UnimplementedError,
        InternalError,
        UnavailableError,
        DataLossError,
        UnauthenticatedError,
    )
}


def exception_type_from_error_code(error_code: int) -> type[OpError]:
    """The class of a number. Raises KeyError for a number of none."""
    return BY_CODE[error_code]


def error_code_from_exception_type(cls: type[OpError]) -> int:
    """The number of a class; UNKNOWN for another class."""
    return next((code for code, found in BY_CODE.items() if found is cls), UNKNOWN)


def from_code(code: int, message: str, node_name: str = "") -> OpError:
    """The error of a status number; node_name is the operation, for the session."""
    error = BY_CODE.get(code, UnknownError)(None, None, message, code)
    error.node_name = node_name
    return error


_classes: list[type[OpError]] = [OpError, *BY_CODE.values()]
for _error in _classes:
    public_path.name_class(_error, "graphio.errors", _error.__name__)
