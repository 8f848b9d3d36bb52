"""Errors as HTTP has them: TensorFlow Serving's codes, and one JSON object."""

from __future__ import annotations

import json
import logging

from graphio.support import errors

__all__ = ["TooLarge", "body_of", "invalid", "not_found", "status_of"]

_STATUS = {
    errors.CANCELLED: 499,
    errors.INVALID_ARGUMENT: 400,
    errors.DEADLINE_EXCEEDED: 504,
    errors.NOT_FOUND: 404,
    errors.ALREADY_EXISTS: 409,
    errors.PERMISSION_DENIED: 403,
    errors.RESOURCE_EXHAUSTED: 429,
    errors.FAILED_PRECONDITION: 400,
    errors.ABORTED: 409,
    errors.OUT_OF_RANGE: 400,
    errors.UNIMPLEMENTED: 501,
    errors.UNAVAILABLE: 503,
    errors.UNAUTHENTICATED: 401,
}
_FAULT = 500
_TOO_LARGE = 413
_log = logging.getLogger(__name__)


class TooLarge(errors.ResourceExhaustedError):
    """A request that is larger than the server takes."""


def status_of(error: Exception) -> int:
    """The HTTP status of an error; one that is not documented is logged with its traceback."""
    if isinstance(error, TooLarge):
        return _TOO_LARGE
    if isinstance(error, MemoryError) and not isinstance(error, errors.OpError):
        return _STATUS[errors.RESOURCE_EXHAUSTED]
    found = _STATUS.get(error.error_code, _FAULT) if isinstance(error, errors.OpError) else _FAULT
    if found == _FAULT:
        _log.error("a request failed", exc_info=error)
    return found


def body_of(error: Exception) -> bytes:
    """{"error": the message}; of an error that is not documented only its class."""
    if isinstance(error, errors.OpError):
        message = error.message
    elif isinstance(error, MemoryError):
        message = "there is not enough memory for this request"
    else:
        message = f"the server failed: {type(error).__name__}; its log says more"
    return json.dumps({"error": message}).encode()


def invalid(message: str) -> errors.InvalidArgumentError:
    """An error of what a client has sent."""
    return errors.InvalidArgumentError(message=message)


def not_found(message: str) -> errors.NotFoundError:
    """An error of a name that there is not."""
    return errors.NotFoundError(message=message)
