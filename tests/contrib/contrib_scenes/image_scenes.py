"""Scenes of tf.contrib.image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from contrib_scenes.recording import numbers

Scene = Callable[[Any, Any], Any]
PROJECTION = [0.9, 0.2, -1.0, -0.1, 1.1, 0.5, 0.02, -0.01]


def changed(
    name: str, *arguments: Any, shape: Any = (2, 5, 6, 3), dtype: str = "float32", **options: Any
) -> Scene:
    """A function of an image that is a variable."""

    def scene(tf: Any, contrib: Any) -> Any:
        pixels = tf.get_variable("pixels", shape, tf.as_dtype(dtype))
        return getattr(contrib("image"), name)(tf.identity(pixels), *arguments, **options)

    return scene


def whole(tf: Any, contrib: Any) -> Any:
    """Images of integers."""
    pixels = tf.constant(np.arange(60, dtype=np.uint8).reshape(5, 4, 3))
    image = contrib("image")
    return image.rotate(pixels, 0.7), image.translate(pixels, [1.0, -2.0])


def hues(tf: Any, contrib: Any) -> Any:
    """Images of integers in other colours."""
    pixels = tf.constant(np.arange(60, dtype=np.uint8).reshape(5, 4, 3))
    return contrib("image").adjust_hsv_in_yiq(pixels, -0.4, 0.9)


def composed(tf: Any, contrib: Any) -> Any:
    """Transformations themselves."""
    image = contrib("image")
    turn = image.angles_to_projective_transforms([0.3, -1.0], 5.0, 7.0)
    move = image.translations_to_projective_transforms([[1.0, 2.0], [0.5, -1.0]])
    matrices = image.flat_transforms_to_matrices(PROJECTION)
    return [
        turn,
        move,
        matrices,
        image.matrices_to_flat_transforms(matrices * 2.0),
        image.compose_transforms(turn, move),
    ]


def spline(order: int, **options: Any) -> Scene:
    """A spline through points of a plane."""

    def scene(tf: Any, contrib: Any) -> Any:
        # float64, since the system of equations magnifies what is rounded
        points = tf.constant(np.float64(numbers("points", (2, 6, 2)) * 5))
        values = tf.get_variable("values", (2, 6, 3), tf.float64)
        queries = tf.constant(np.float64(numbers("queries", (2, 4, 2)) * 5))
        return contrib("image").interpolate_spline(points, values, queries, order, **options)

    return scene


SOURCE = np.float64([[[1, 1], [3, 2], [2, 4]]] * 2)
TARGET = np.float64([[[1, 2], [3, 3], [1, 4]]] * 2)

SCENES: dict[str, Scene] = {
    "transform": changed("transform", PROJECTION),
    "transform bilinear": changed("transform", PROJECTION, "BILINEAR"),
    "transform of each": changed(
        "transform", [PROJECTION, [1, 0, 1, 0, 1, 0, 0, 0]], "BILINEAR", shape=(2, 4, 5, 1)
    ),
    "transform to a size": changed("transform", PROJECTION, output_shape=[3, 8]),
    "rotate": changed("rotate", 0.5),
    "rotate bilinear": changed("rotate", [0.5, -1.2], "BILINEAR"),
    "rotate one": changed("rotate", 1.0, shape=(5, 4)),
    "translate": changed("translate", [1.0, -2.0]),
    "translate bilinear": changed("translate", [[0.5, 1.25], [-1.5, 0.25]], "BILINEAR"),
    "integers": whole,
    "transformations": composed,
    "dense_image_warp": changed("dense_image_warp", numbers("flow", (2, 5, 6, 2)) * 3),
    "adjust_hsv_in_yiq": changed("adjust_hsv_in_yiq", 0.7, 1.5, 0.8),
    "adjust_hsv_in_yiq of integers": hues,
    "spline of order 1": spline(1),
    "spline of order 2": spline(2, regularization_weight=0.1),
    "spline of order 3": spline(3),
    "spline of order 4": spline(4),
    "sparse_image_warp": changed("sparse_image_warp", SOURCE, TARGET, dtype="float64"),
    "sparse_image_warp with edges": changed(
        "sparse_image_warp", SOURCE, TARGET, num_boundary_points=2, dtype="float64"
    ),
}
