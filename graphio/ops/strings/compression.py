"""Strings that are compressed, by Python."""

from __future__ import annotations

import zlib
from typing import Any

from graphio.framework.graph import Tensor
from graphio.ops.strings.python_strings import mapped
from graphio.support import api_guard, errors

__all__ = ["decode_compressed"]

#: bits of zlib's window by the type of compression: with a header of zlib, or of gzip
_WINDOWS = {"ZLIB": zlib.MAX_WBITS, "GZIP": zlib.MAX_WBITS | 16}
#: bytes that one string may become
_LARGEST = 1 << 31


@api_guard.operator
def decode_compressed(bytes: Any, compression_type: str = "", name: str | None = None) -> Tensor:
    """Strings without their compression.

    Args:
        bytes: string tensor.
        compression_type: "", "ZLIB" or "GZIP"; of all elements.
        name: of the operation.

    Returns:
        A string tensor of the same shape.

    Raises:
        InvalidArgumentError: compression_type is another one.
        DataLossError: of the run: an element is damaged, or becomes more than 2 GiB.
    """
    if compression_type not in ("", *_WINDOWS):
        raise errors.InvalidArgumentError(
            message=f"Only ZLIB, GZIP or NONE are supported compressions, got {compression_type!r}"
        )
    return mapped("DecodeCompressed", bytes, _plain, name, compression_type=compression_type)


def _plain(data: bytes, compression_type: str) -> bytes:
    if not compression_type:
        return data
    decoder = zlib.decompressobj(_WINDOWS[compression_type])
    try:
        found = decoder.decompress(data, _LARGEST)
    except zlib.error as error:
        raise errors.DataLossError(
            message=f"{len(data)} bytes are not {compression_type}: {error}"
        ) from None
    if not decoder.eof:
        why = "become more than 2 GiB" if decoder.unconsumed_tail else "end early"
        raise errors.DataLossError(message=f"{len(data)} bytes of {compression_type} {why}")
    return found
