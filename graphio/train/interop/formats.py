"""Which format a file of another framework has, by its bytes."""

from __future__ import annotations

import os

from graphio.schema import errors
from graphio.train.interop.safetensors import SafetensorsSource
from graphio.train.sources import Source


def open_foreign(path: str) -> Source:
    """The values of a file, folder or prefix that is no checkpoint of ours.

    Raises:
        NotFoundError, DataLossError, InvalidArgumentError: as graphio.train.sources.open_source.
    """
    if not os.path.exists(path):
        raise errors.NotFoundError(message=f"there is no checkpoint and no file {path!r}")
    return SafetensorsSource(path)
