"""Pictures and labels in the files of MNIST (idx, compressed)."""

from __future__ import annotations

import gzip
from typing import Any

import numpy as np

__all__ = ["read_images", "read_labels"]

_IMAGES, _LABELS = 2051, 2049


def read_images(path: Any) -> np.ndarray[Any, Any]:
    """uint8 [n, rows, columns] of a path or an open file. Raises ValueError for another file."""
    data = _content(path)
    magic, count, rows, columns = np.frombuffer(data, ">u4", 4).tolist()
    if magic != _IMAGES:
        raise ValueError(f"Invalid magic number {magic} in MNIST image file: {path}")
    return np.frombuffer(data, np.uint8, count * rows * columns, 16).reshape(count, rows, columns)


def read_labels(path: Any) -> np.ndarray[Any, Any]:
    """uint8 [n] of a path or an open file. Raises ValueError for another file."""
    data = _content(path)
    magic, count = np.frombuffer(data, ">u4", 2).tolist()
    if magic != _LABELS:
        raise ValueError(f"Invalid magic number {magic} in MNIST label file: {path}")
    return np.frombuffer(data, np.uint8, count, 8)


def _content(path: Any) -> bytes:
    with gzip.open(path) as file:
        return file.read()
