"""Points in the plane in two classes: circles and spirals."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.contrib.learn.datasets.base import Dataset
from graphio.support import api_guard

__all__ = ["Dataset", "circles", "spirals"]

Array = np.ndarray[Any, Any]


@api_guard.unguarded
def circles(
    n_samples: int = 100,
    noise: float | None = None,
    seed: int | None = None,
    factor: float = 0.8,
    n_classes: int = 2,
    *args: Any,
    **kwargs: Any,
) -> Dataset:
    """Circles around the origin, each factor times as large as the one before.

    Args:
        n_samples: points.
        noise: standard deviation of what is added to them; None: nothing.
        seed: of numpy's global generator; None: it goes on.
        factor: of the radius.
        n_classes: circles.

    Returns:
        data float64 [n_samples, 2], target int32 [n_samples], in random order.
    """
    _seed(seed)
    angles = np.linspace(0, 2 * np.pi, n_samples // n_classes)
    x, y = np.cos(angles), np.sin(angles)
    parts = []
    for _ in range(n_classes):
        parts.append((x, y))
        x, y = x * factor, y * factor
    extras = n_samples % n_classes
    # the two numbers of a further point come from two angles, as in TensorFlow
    further = np.cos(np.random.rand(extras) * 2 * np.pi), np.sin(np.random.rand(extras) * 2 * np.pi)
    return _shuffled([*parts, further], n_classes, noise)


@api_guard.unguarded
def spirals(
    n_samples: int = 100,
    noise: float | None = None,
    seed: int | None = None,
    mode: str = "archimedes",
    n_loops: int = 2,
    *args: Any,
    **kwargs: Any,
) -> Dataset:
    """Two spirals, each from -1 to 1 in both directions.

    Args:
        n_samples, noise, seed: as those of circles.
        mode: archimedes: the radius grows with the angle; fermat: with its root; bernoulli: with
            exp(exp_scale * angle), exp_scale a further argument, 0.1 by default.
        n_loops: loops of each.

    Raises:
        ValueError: another mode.
    """
    radius = _RADIUS.get(mode)
    if radius is None:
        raise ValueError(f"Cannot generate spiral with mode {mode}")
    _seed(seed)
    angles = np.linspace(0, 2 * n_loops * np.pi, n_samples // 2)
    parts = [_spiral(radius, angles, label * np.pi, *args, **kwargs) for label in range(2)]
    extras = n_samples % 2
    if extras:
        parts.append(_spiral(radius, np.random.rand(extras) * 2 * np.pi, *args, **kwargs))
    return _shuffled(parts, 2, noise)


def _archimedes(angle: Array, **options: Any) -> Array:
    return angle


def _bernoulli(angle: Array, exp_scale: float = 0.1, **options: Any) -> Array:
    grown: Array = np.exp(exp_scale * angle)
    return grown


def _fermat(angle: Array, **options: Any) -> Array:
    root: Array = np.sqrt(angle)
    return root


_RADIUS: dict[str | None, Callable[..., Array]] = {
    "archimedes": _archimedes,
    "bernoulli": _bernoulli,
    "fermat": _fermat,
}


def _spiral(
    radius: Callable[..., Array], angle: Array, offset: float = 0.0, *args: Any, **options: Any
) -> tuple[Array, Array]:
    r = radius(angle, **options)
    x, y = r * np.cos(angle + offset), r * np.sin(angle + offset)
    return x / np.max(np.abs(x)), y / np.max(np.abs(y))


def _seed(seed: int | None) -> None:
    if seed is not None:
        np.random.seed(seed)


def _shuffled(parts: list[tuple[Array, Array]], classes: int, noise: float | None) -> Dataset:
    """The points of all parts, of each class one; those of further parts are of class 0."""
    points = np.concatenate([np.stack(part, axis=1) for part in parts])
    labels = [number if number < classes else 0 for number in range(len(parts))]
    target = np.repeat(np.array(labels, np.int32), [len(part[0]) for part in parts])
    order = np.random.permutation(len(points))
    if noise is not None:
        points += np.random.normal(scale=noise, size=points.shape)
    return Dataset(data=points[order], target=target[order])
