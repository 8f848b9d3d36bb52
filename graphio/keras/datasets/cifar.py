"""Batches of CIFAR."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from graphio.keras.datasets import local

__all__ = ["load_batch"]


def load_batch(path: Path, label_key: str) -> local.Pair:
    """uint8 [n, 32, 32, 3] and [n, 1] of one file."""
    with open(path, "rb") as file:
        found = local.load_pickle(file)
    labels = np.array(found[label_key.encode()], dtype=np.uint8)
    images = found[b"data"].reshape(-1, 3, 32, 32).transpose(0, 2, 3, 1)
    return images, labels.reshape(-1, 1)
