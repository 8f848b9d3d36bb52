"""scikit-learn's images of digits, 8 x 8, split once for all."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.datasets import load_digits

TRAIN_IMAGES = 1437


@dataclass
class Digits:
    """Images (n, 1, 8, 8) in [0, 1] float32 and labels (n) int64."""

    train_x: np.ndarray
    train_y: np.ndarray
    test_x: np.ndarray
    test_y: np.ndarray


def digits() -> Digits:
    """1,437 images to train on and 360 to test."""
    images, labels = load_digits(return_X_y=True)
    order = np.random.RandomState(0).permutation(len(images))
    x = (images[order] / 16).astype(np.float32).reshape(-1, 1, 8, 8)
    y = labels[order].astype(np.int64)
    n = TRAIN_IMAGES
    return Digits(x[:n], y[:n], x[n:], y[n:])
