"""tf.layers.InputSpec, with the messages of TensorFlow."""

from __future__ import annotations

import pytest

import graphio as tf

InputSpec = tf.layers.InputSpec


def test_a_spec_is_shown_and_made_again_from_its_configuration() -> None:
    spec = InputSpec("float32", (None, 3), max_ndim=4)
    assert repr(spec) == "InputSpec(dtype=float32, shape=(None, 3), ndim=2, max_ndim=4)"
    again = InputSpec.from_config(InputSpec(tf.int64, min_ndim=2, axes={"-1": 4}).get_config())
    assert again.get_config() == {
        "dtype": "int64", "shape": None, "ndim": None, "max_ndim": None, "min_ndim": 2,
        "axes": {-1: 4},
    }  # fmt: skip


def test_axes_are_numbers_within_the_dimensions() -> None:
    with pytest.raises(TypeError, match="The keys in axes must be integers"):
        InputSpec(axes={"last": 3})
    with pytest.raises(ValueError, match="Axis 2 is greater than the maximum allowed value: 1"):
        InputSpec(ndim=2, axes={2: 3})
    assert InputSpec(max_ndim=3, axes={2: 3}).axes == {2: 3}
