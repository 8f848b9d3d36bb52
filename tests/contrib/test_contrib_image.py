"""tf.contrib.image against tensorflow-addons, which has its code: values, gradients."""

from __future__ import annotations

import numpy as np
import pytest
from contrib_scenes import recording

import graphio as tf

EXPECTED = recording.stored("image")
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
@pytest.mark.parametrize("name", recording.scenes("image"))
def test_a_scene_gives_the_variables_values_and_slopes_of_tensorflow(
    name: str, target: str
) -> None:
    scene = recording.scenes("image")[name]
    found = recording.record(tf, lambda part: getattr(tf.contrib, part), scene, target=target)
    recording.assert_equal(found, EXPECTED[name])


@TARGETS
@pytest.mark.parametrize("shape, side", [([1, 1, 4, 1], "height"), ([1, 4, 1, 1], "width")])
def test_an_image_of_one_row_or_column_has_no_warp(
    shape: list[int], side: str, target: str
) -> None:
    warp = tf.contrib.image.dense_image_warp
    x, flow = np.zeros(shape), np.zeros([*shape[:3], 2])
    with tf.Graph().as_default():
        with pytest.raises(tf.errors.InvalidArgumentError, match=f"{side} must be at least 2"):
            warp(tf.constant(x), tf.constant(flow))
        given = [tf.placeholder(tf.float64, [None] * 4) for _ in range(2)]
        warped = warp(*given)
        with (
            tf.Session(target) as session,
            pytest.raises(tf.errors.InvalidArgumentError, match=f"{side} must be at least 2"),
        ):
            session.run(warped, dict(zip(given, (x, flow), strict=True)))
