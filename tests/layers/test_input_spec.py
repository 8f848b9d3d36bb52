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


@pytest.mark.parametrize(
    ("spec", "words", "good", "bad"),
    [
        (InputSpec(ndim=2), "expected ndim=2, found ndim=1", [[1.0]], [1.0]),
        (InputSpec(min_ndim=2), "expected min_ndim=2, found ndim=1", [[1.0]], [1.0]),
        (InputSpec(max_ndim=1), "expected max_ndim=1, found ndim=2", [1.0], [[1.0]]),
        (InputSpec("float32"), "expected dtype=float32, found dtype=int32", [1.0], [1]),
        (InputSpec(axes={-1: 2}), "expected axis -1 of input shape to have value 2",
         [1.0, 2.0], [1.0, 2.0, 3.0]),
        (InputSpec(axes={1: None, 0: 2}), "expected axis 0 of input", [1.0, 2.0], [1.0]),
        (InputSpec(shape=(None, 3)), r"expected shape=\(None, 3\), found shape=\[1, 2\]",
         [[1.0, 2.0, 3.0]], [[1.0, 2.0]]),
    ],
)  # fmt: skip
def test_a_layer_of_a_program_takes_what_its_input_spec_says(
    spec: tf.layers.InputSpec, words: str, good: list[float], bad: list[float]
) -> None:
    class Own(tf.layers.Layer):
        def __init__(self) -> None:
            super().__init__()
            self.input_spec = spec

    with tf.Graph().as_default():
        with pytest.raises(ValueError, match=words):
            Own()(tf.constant(bad))
        assert Own().apply(tf.constant(good)).shape == tf.constant(good).shape


def test_an_unknown_rank_is_refused_only_where_the_rank_matters() -> None:
    class Own(tf.layers.Layer):
        pass

    with tf.Graph().as_default():
        x, layer = tf.placeholder(tf.float32), Own()
        layer.input_spec = InputSpec(tf.float32, axes={-1: 2})
        layer(x)
        layer.input_spec = InputSpec(min_ndim=1)
        with pytest.raises(ValueError, match="its rank is undefined, but the layer requires"):
            layer(x)


def test_several_inputs_have_a_spec_each() -> None:
    class Own(tf.layers.Layer):
        pass

    with tf.Graph().as_default():
        layer = Own()
        layer.input_spec = [InputSpec(ndim=1), None]
        layer([tf.constant([1.0]), 2])
        with pytest.raises(ValueError, match=r"expects 2 inputs, but it received 1 input"):
            layer([tf.constant([1.0])])
        layer.input_spec = [InputSpec(ndim=1), InputSpec(ndim=1)]
        with pytest.raises(ValueError, match="Input 1 of layer own_1 is incompatible"):
            layer([tf.constant([1.0]), 2])


def test_the_layers_of_the_library_say_what_they_expect() -> None:
    with tf.Graph().as_default():
        layer = tf.layers.Dense(3)
        assert layer.input_spec.min_ndim == 2
        layer(tf.zeros([2, 5]))
        assert layer.input_spec.axes == {-1: 5}
        assert tf.layers.Conv2D(3, 2).input_spec.ndim == 4
