"""The demo's picture of what the network sees in images that it never saw."""

from __future__ import annotations

from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

ROWS, COLUMNS = 4, 8


def predictions(path: Path, images: np.ndarray, labels: np.ndarray, found: np.ndarray) -> None:
    """A grid of images with their predicted classes, those that are wrong first and in red.

    Args:
        path: of the PNG file.
        images: (n, 64).
        labels: (n), the truth.
        found: (n, 10), probabilities.
    """
    classes, order = found.argmax(1), np.argsort(found.argmax(1) == labels, kind="stable")
    figure, grid = plt.subplots(ROWS, COLUMNS, figsize=(8, 5), layout="constrained")
    for axes, i in zip(grid.ravel(), order, strict=False):
        axes.imshow(images[i].reshape(8, 8), cmap="gray_r")
        right = classes[i] == labels[i]
        title = f"{classes[i]} {found[i].max():.0%}" + ("" if right else f", is {labels[i]}")
        axes.set_title(title, fontsize=8, color="black" if right else "red")
        axes.axis("off")
    figure.savefig(path, dpi=120)
    plt.close(figure)
