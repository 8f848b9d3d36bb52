"""The errors of a run under TensorFlow's names; see graphio.support.errors."""

from __future__ import annotations

import typing
from typing import Any

from graphio.support import public_path
from graphio.support.errors import (
    ABORTED,
    ALREADY_EXISTS,
    CANCELLED,
    DATA_LOSS,
    DEADLINE_EXCEEDED,
    FAILED_PRECONDITION,
    INTERNAL,
    INVALID_ARGUMENT,
    NOT_FOUND,
    OK,
    OUT_OF_RANGE,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNAUTHENTICATED,
    UNAVAILABLE,
    UNIMPLEMENTED,
    UNKNOWN,
    AbortedError,
    AlreadyExistsError,
    CancelledError,
    DataLossError,
    DeadlineExceededError,
    FailedPreconditionError,
    InternalError,
    InvalidArgumentError,
    NotFoundError,
    OpError,
    OutOfRangeError,
    PermissionDeniedError,
    ResourceExhaustedError,
    UnauthenticatedError,
    UnavailableError,
    UnimplementedError,
    UnknownError,
    error_code_from_exception_type,
    exception_type_from_error_code,
)

if typing.TYPE_CHECKING:
    from graphio.framework.tensor import InaccessibleTensorError, OperatorNotAllowedInGraphError

__all__ = [
    "ABORTED", "ALREADY_EXISTS", "CANCELLED", "DATA_LOSS", "DEADLINE_EXCEEDED",
    "FAILED_PRECONDITION", "INTERNAL", "INVALID_ARGUMENT", "NOT_FOUND", "OK", "OUT_OF_RANGE",
    "PERMISSION_DENIED", "RESOURCE_EXHAUSTED", "UNAUTHENTICATED", "UNAVAILABLE", "UNIMPLEMENTED",
    "UNKNOWN",
    "AbortedError", "AlreadyExistsError", "CancelledError", "DataLossError",
    "DeadlineExceededError", "FailedPreconditionError", "InaccessibleTensorError", "InternalError",
    "InvalidArgumentError", "NotFoundError", "OpError", "OperatorNotAllowedInGraphError",
    "OutOfRangeError", "PermissionDeniedError", "ResourceExhaustedError", "UnauthenticatedError",
    "UnavailableError", "UnimplementedError", "UnknownError", "error_code_from_exception_type",
    "exception_type_from_error_code",
]  # fmt: skip


if not typing.TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        """The errors of building, whose module is loaded only for them: the others come from an
        engine, too, and pickles find them here."""
        if name in ("InaccessibleTensorError", "OperatorNotAllowedInGraphError"):
            from graphio.framework import tensor

            found = getattr(tensor, name)
            public_path.name_class(found, __name__, name)
            return found
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
