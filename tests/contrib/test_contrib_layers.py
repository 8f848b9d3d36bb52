"""tf.contrib.layers against tf-slim over TensorFlow: names, shapes, order, values, gradients."""

from __future__ import annotations

import numpy as np
import pytest
from contrib_scenes import recording

import graphio as tf

EXPECTED = recording.stored("layers")
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


@TARGETS
@pytest.mark.parametrize("name", recording.scenes("layers"))
def test_a_scene_gives_the_variables_values_and_slopes_of_tensorflow(
    name: str, target: str
) -> None:
    scene = recording.scenes("layers")[name]
    found = recording.record(tf, lambda part: getattr(tf.contrib, part), scene, target=target)
    recording.assert_equal(found, EXPECTED[name])


@pytest.mark.parametrize("truth", [True, False])
def test_batch_norm_takes_a_constant_tensor_for_training(truth: bool) -> None:
    x = np.random.RandomState(3).normal(2, 3, [8, 2]).astype(np.float32)
    with tf.Graph().as_default():
        y = tf.contrib.layers.batch_norm(
            tf.constant(x), is_training=tf.constant(truth), updates_collections=None, decay=0.5
        )
        moving = tf.get_collection(tf.GraphKeys.MOVING_AVERAGE_VARIABLES) or tf.global_variables()
        mean = next(v for v in moving if "moving_mean" in v.name)
        with tf.Session() as sess:
            sess.run(tf.global_variables_initializer())
            found = sess.run(y)
            expected = (x - x.mean(0)) / np.sqrt(x.var(0) + 0.001) if truth else x / 1.001**0.5
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
            np.testing.assert_allclose(sess.run(mean), x.mean(0) * 0.5 * truth, rtol=1e-5)
