"""The body of a request, within limits of size and time."""

from __future__ import annotations

import asyncio
import zlib

from starlette.requests import ClientDisconnect, Request

from graphio.serving.failures import TooLarge, invalid
from graphio.serving.settings import Settings
from graphio.support import errors

__all__ = ["ends_soon", "read"]

_DISCARDED = 16  # times the limit: a longer body costs its client the connection
#: zlib's number of each encoding
_FORMATS = {"gzip": 16 + zlib.MAX_WBITS, "x-gzip": 16 + zlib.MAX_WBITS, "deflate": zlib.MAX_WBITS}


async def read(request: Request, settings: Settings) -> bytes:
    """The bytes of a request's body, decompressed.

    Raises:
        TooLarge: more bytes than settings.max_body, also before they have come.
        DeadlineExceededError: they did not come within settings.timeout.
        InvalidArgumentError: a compression that there is not, or damaged bytes.
        CancelledError: the client has gone.
    """
    encoding = request.headers.get("content-encoding", "identity")
    if encoding != "identity" and encoding not in _FORMATS:
        known = ", ".join(_FORMATS)
        raise invalid(f"Content-Encoding is {encoding!r}, expected none or one of {known}")
    _check_size(_length(request), settings.max_body)
    try:
        body = await asyncio.wait_for(_all(request, settings.max_body), settings.timeout)
    except asyncio.TimeoutError:
        raise errors.DeadlineExceededError(
            message=f"the body did not come within {settings.timeout:g} s"
        ) from None
    except ClientDisconnect:
        raise errors.CancelledError(message="the client has gone") from None
    return body if encoding == "identity" else _decompressed(body, encoding, settings.max_body)


def ends_soon(error: Exception, request: Request, settings: Settings) -> bool:
    """Whether the server can discard a body that is refused with an error, by its length.

    A client that still sends when the connection is closed does not see why.
    """
    return isinstance(error, TooLarge) and (0 < _length(request) <= _DISCARDED * settings.max_body)


def _length(request: Request) -> int:
    """The length that the head tells, which the server has checked; 0: it tells none."""
    return int(request.headers.get("content-length", "0"))


async def _all(request: Request, most: int) -> bytes:
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        _check_size(size, most)
        parts.append(part)
    return b"".join(parts)


def _decompressed(body: bytes, encoding: str, most: int) -> bytes:
    decoder = zlib.decompressobj(_FORMATS[encoding])
    try:
        found = decoder.decompress(body, most + 1)
    except zlib.error as error:
        raise invalid(f"the body is not {encoding}: {error}") from None
    _check_size(len(found), most)
    if not decoder.eof or decoder.unused_data:
        raise invalid(f"the body is not {encoding}: it ends too early, or goes on after its end")
    return found


def _check_size(size: int, most: int) -> None:
    if size > most:
        raise TooLarge(message=f"the body has more than {most} bytes, which is the limit")
