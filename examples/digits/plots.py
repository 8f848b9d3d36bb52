"""The demo's two pictures: how the loss fell, and what the network sees in images it never saw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SMOOTHED = 15  # steps that a point of the thick line is the mean of
ROWS, COLUMNS = 4, 8


def training(path: Path, losses: Mapping[str, Sequence[float]], resumed: int) -> None:
    """The loss of each step: of a run without a break, and of one that was killed and went on.

    Args:
        path: of the PNG file.
        losses: by name of the run, one a step.
        resumed: the step at which the second went on.
    """
    figure, axes = plt.subplots(figsize=(8, 4.5), layout="constrained")
    for (name, values), style in zip(losses.items(), ("-", ":"), strict=True):
        smooth = np.convolve(values, np.ones(SMOOTHED) / SMOOTHED, "valid")
        (line,) = axes.plot(np.arange(len(smooth)) + SMOOTHED - 1, smooth, style, lw=2, label=name)
        axes.plot(values, color=line.get_color(), lw=0.7, alpha=0.3)
    axes.axvline(resumed, color="gray", lw=1)
    axes.annotate(
        "went on here", (resumed, 0.02), rotation=90, va="bottom", ha="right", color="gray"
    )
    axes.set(xlabel="step", ylabel="loss", yscale="log", title="Digits: the same training twice")
    axes.legend()
    figure.savefig(path, dpi=120)
    plt.close(figure)


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
