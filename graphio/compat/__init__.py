"""tf.compat: bytes and strings, and v1, which is this package.

May import io, execution and below.
"""

from __future__ import annotations

import contextlib
import datetime
import numbers
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

__all__ = [
    "as_bytes", "as_str", "as_str_any", "as_text", "bytes_or_text_types", "complex_types",
    "dimension_at_index", "dimension_value", "forward_compatibility_horizon",
    "forward_compatible", "integral_types", "path_to_str", "real_types",
]  # fmt: skip

integral_types = (numbers.Integral, np.integer)
real_types = (numbers.Real, np.integer, np.floating)
complex_types = (numbers.Complex, np.number)
bytes_or_text_types = (bytes, str)


def as_bytes(bytes_or_text: Any, encoding: str = "utf-8") -> bytes:
    """A string as bytes. Raises TypeError for what is neither."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text.encode(encoding)
    if isinstance(bytes_or_text, (bytes, bytearray)):
        return bytes(bytes_or_text)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


def as_text(bytes_or_text: Any, encoding: str = "utf-8") -> str:
    """Bytes as a string. Raises TypeError for what is neither."""
    if isinstance(bytes_or_text, str):
        return bytes_or_text
    if isinstance(bytes_or_text, bytes):
        return bytes_or_text.decode(encoding)
    raise TypeError(f"Expected binary or unicode string, got {bytes_or_text!r}")


as_str = as_text


def as_str_any(value: Any) -> str:
    """Bytes as a string, anything else as str() gives it."""
    return as_str(value) if isinstance(value, bytes) else str(value)


def path_to_str(path: Any) -> Any:
    """A path object as a string; anything else as it is."""
    return as_str_any(path.__fspath__()) if isinstance(path, os.PathLike) else path


def dimension_value(dimension: Any) -> Any:
    """A Dimension as a number or None."""
    return getattr(dimension, "value", dimension)


def dimension_at_index(shape: Any, index: int) -> Any:
    """The Dimension of a TensorShape at an index, unknown if its rank is."""
    from graphio.framework.tensor_shape import Dimension

    return Dimension(None) if shape.ndims is None else shape[index]


class _Horizon:
    """The date of TensorFlow 1.15.5, or that of an open forward_compatibility_horizon."""

    date = datetime.date(2019, 8, 21)


def forward_compatible(year: int, month: int, day: int) -> bool:
    """Whether a date is before TensorFlow 1.15's window of forward compatibility, August 21st,
    2019, or before that of forward_compatibility_horizon; no function here depends on it.

    Raises:
        ValueError: there is no such day.
    """
    return _Horizon.date > datetime.date(year, month, day)


@contextlib.contextmanager
def forward_compatibility_horizon(year: int, month: int, day: int) -> Iterator[None]:
    """A context in which forward_compatible compares with a date.

    Raises:
        ValueError: there is no such day.
    """
    before, _Horizon.date = _Horizon.date, datetime.date(year, month, day)
    try:
        yield
    finally:
        _Horizon.date = before


if TYPE_CHECKING:
    from graphio.compat import v1 as v1
else:

    def __getattr__(name: str) -> Any:
        if name == "v1":
            import importlib

            return importlib.import_module("graphio.compat.v1")
        if name == "v2":
            raise AttributeError(
                "graphio has TensorFlow 1's face alone, there is no compat.v2: use compat.v1, or "
                "graphio itself"
            )
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
