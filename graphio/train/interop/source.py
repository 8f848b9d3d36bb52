"""The interface of a file with named values, in any format."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple, Protocol

import numpy as np

from graphio.schema.checkpoint import Resource

__all__ = ["Entry", "Resource", "Source"]

Array = np.ndarray[Any, Any]


class Entry(NamedTuple):
    """The description of a value before it is read.

    Attributes:
        dtype: ONNX's number; 0: one that graphio cannot hold, `array` says which.
        dims: the shape.
    """

    dtype: int
    dims: tuple[int, ...]


class Source(Protocol):
    """Named values."""

    @property
    def what(self) -> str:
        """Its name in messages, "safetensors file 'x'"."""

    @property
    def resources(self) -> Mapping[str, Resource]:
        """Generators, iterators, blobs; none in files of others."""

    @property
    def skipped(self) -> Mapping[str, str]:
        """Names of entries that are not tensors, to their types."""

    def entries(self) -> Mapping[str, Entry]:
        """Name to dtype and dimensions."""

    def array(self, name: str) -> Array:
        """A read-only array, checked as far as the format has checksums.

        Raises:
            NotFoundError: there is none of this name.
            DataLossError: its bytes are damaged.
            UnimplementedError: it has a dtype that graphio cannot hold.
        """
