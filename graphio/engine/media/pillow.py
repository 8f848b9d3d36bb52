"""Pillow, which is imported when a picture is decoded or encoded first."""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterator, Sequence
from typing import Any

from graphio.support import errors, installation

__all__ = ["library", "opened"]


def library() -> Any:
    """The module PIL.Image.

    Raises:
        UnimplementedError: Pillow is not installed.
    """
    try:
        from PIL import Image
    except ImportError:
        raise errors.UnimplementedError(
            message=f"pictures need Pillow: {installation.hint('images')}"
        ) from None
    return Image


@contextlib.contextmanager
def opened(data: bytes, formats: Sequence[str], failure: str) -> Iterator[Any]:
    """Pillow's picture of a file, whose pixels are not decoded yet.

    Args:
        data: bytes of the file.
        formats: Pillow's names of the formats that are tried.
        failure: the error's message where the file is damaged, which Pillow's words end.

    Raises:
        UnimplementedError: Pillow is not installed.
        InvalidArgumentError: the file is damaged, or too large; also what the context raises.
    """
    image = library()
    try:
        with image.open(io.BytesIO(data), formats=formats) as picture:
            yield picture
    except (errors.OpError, MemoryError):
        raise
    except Exception as error:  # Pillow's decoders raise of many kinds
        words = " ".join(str(error).split()).partition(" <_io")[0]
        raise errors.InvalidArgumentError(message=f"{failure}: {words}") from None
