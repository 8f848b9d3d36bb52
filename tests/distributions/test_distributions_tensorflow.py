"""tf.distributions against recorded strings, values and errors of TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from distribution_cases import scenes, tensorflow

import graphio as tf

EXPECTED = tensorflow.stored()


@pytest.mark.parametrize("target", ["runtime", "cinfer"])
@pytest.mark.parametrize("name", scenes.SCENES)
def test_a_distribution_says_and_computes_what_tensorflows_does(name: str, target: str) -> None:
    with tf.Graph().as_default(), tf.Session(target) as sess:
        found = scenes.described(tf.distributions, name, sess.run)
    expected = dict(EXPECTED["scenes"][name])
    values, known = found.pop("values"), expected.pop("values")
    assert found == expected
    assert sorted(values) == sorted(known)
    single = "float64" not in found["text"]
    for method, value in values.items():
        a, b = (np.array(x, np.float64) for x in (value, known[method]))
        assert a.shape == b.shape, method
        # float32 of TensorFlow's has its own rounding
        tolerance: Any = {"rtol": 2e-5, "atol": 1e-6} if single else {"rtol": 1e-9, "atol": 1e-12}
        np.testing.assert_allclose(a, b, err_msg=method, **tolerance)


@pytest.mark.parametrize("name", scenes.FAILURES)
def test_a_call_fails_with_the_error_of_tensorflows(name: str) -> None:
    with tf.Graph().as_default():
        assert scenes.failure(tf.distributions, name) == EXPECTED["failures"][name]


def test_every_scene_is_recorded() -> None:
    assert sorted(EXPECTED["scenes"]) == sorted(scenes.SCENES)
    assert sorted(EXPECTED["failures"]) == sorted(scenes.FAILURES)
