"""The body of a request, within limits of size and time."""

from __future__ import annotations

import asyncio

from starlette.requests import ClientDisconnect, Request

from graphio.serving.failures import TooLarge, invalid
from graphio.serving.settings import Settings
from graphio.support import errors

__all__ = ["read"]


async def read(request: Request, settings: Settings) -> bytes:
    """The bytes of a request's body.

    Raises:
        TooLarge: more bytes than settings.max_body, also before they have come.
        DeadlineExceededError: they did not come within settings.timeout.
        InvalidArgumentError: they are compressed, or Content-Length is not a number.
        CancelledError: the client has gone.
    """
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity":
        raise invalid(f"Content-Encoding is {encoding!r}, expected none: send the body as it is")
    length = request.headers.get("content-length", "0")
    if not (length.isascii() and length.isdecimal()):
        raise invalid(f"Content-Length is {length!r}, expected a number")
    _check_size(int(length), settings.max_body)
    try:
        return await asyncio.wait_for(_all(request, settings.max_body), settings.timeout)
    except asyncio.TimeoutError:
        raise errors.DeadlineExceededError(
            message=f"the body did not come within {settings.timeout:g} s"
        ) from None
    except ClientDisconnect:
        raise errors.CancelledError(message="the client has gone") from None


async def _all(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        _check_size(size, most)
        parts.append(part)
    return b"".join(parts)


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise TooLarge(message=f"the body has more than {most} bytes, which is the limit")
