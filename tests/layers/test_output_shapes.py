"""compute_output_shape of the layers: the shape that a call of them gives."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import graphio as tf

CONVOLUTIONS = [
    ("Conv1D", 1), ("Conv2D", 2), ("Conv3D", 3), ("SeparableConv1D", 1), ("SeparableConv2D", 2),
    ("Conv2DTranspose", 2), ("Conv3DTranspose", 3),
]  # fmt: skip
POOLINGS = [(f"{kind}Pooling{axes}D", axes) for kind in ("Max", "Average") for axes in (1, 2, 3)]
SIZES, OPEN = [7, 8, 6], [7, None, 6]


def shape_of(first: bool, sizes: list[int | None]) -> list[int | None]:
    return [None, 5, *sizes] if first else [None, *sizes, 5]


def compared(layer: Any, shape: list[int | None]) -> None:
    expected = layer.compute_output_shape(tf.TensorShape(shape)).as_list()
    assert expected == layer(tf.placeholder(tf.float32, shape)).shape.as_list()
    assert layer.compute_output_shape(tuple(shape)).as_list() == expected


@pytest.mark.parametrize(("name", "axes"), CONVOLUTIONS)
def test_a_convolution_says_the_shape_that_its_result_has(name: str, axes: int) -> None:
    cases = itertools.product((False, True), ("valid", "same"), (1, 2, 3), (2, 3))
    for first, padding, step, window in cases:
        with tf.Graph().as_default():
            layer = getattr(tf.layers, name)(
                4, window, step, padding, "channels_first" if first else "channels_last"
            )
            compared(layer, shape_of(first, [*SIZES[:axes]]))


def test_dilation_and_causal_padding_count() -> None:
    with tf.Graph().as_default():
        compared(tf.layers.Conv2D(4, 3, dilation_rate=2), [None, 7, 8, 5])
        layer = tf.layers.Conv1D(4, 3, padding="causal", dilation_rate=2)
        assert layer.compute_output_shape([2, 7, 5]).as_list() == [2, 7, 4]


@pytest.mark.parametrize(("name", "axes"), POOLINGS)
def test_a_pooling_says_the_shape_that_its_result_has(name: str, axes: int) -> None:
    for first, padding, step in itertools.product((False, True), ("valid", "same"), (1, 2, 3)):
        with tf.Graph().as_default():
            layer = getattr(tf.layers, name)(
                2, step, padding, "channels_first" if first else "channels_last"
            )
            compared(layer, shape_of(first, [*SIZES[:axes]]))


def test_sizes_that_are_not_known_stay_so() -> None:
    shape = [None, *OPEN, 5]
    for layer in (tf.layers.Conv3D(4, 3), tf.layers.Conv3DTranspose(4, 3)):
        found = layer.compute_output_shape(shape).as_list()
        assert (found[0], found[2], found[4]) == (None, None, 4)
    assert tf.layers.MaxPooling3D(2, 2).compute_output_shape(shape).as_list() == [
        None, 3, None, 3, 5,
    ]  # fmt: skip
    assert tf.layers.Flatten().compute_output_shape([None, 2, None]).as_list() == [None, None]


def test_the_other_layers_say_theirs() -> None:
    with tf.Graph().as_default():
        compared(tf.layers.Flatten(), [None, 2, 3, 4])
        compared(tf.layers.Flatten("channels_first"), [None, 2, 3, 4])
        compared(tf.layers.Dropout(), [None, 2, 3])
        compared(tf.layers.BatchNormalization(), [None, 2, 3])
    assert tf.layers.Flatten().compute_output_shape([7]).as_list() == [7, 1]


def test_a_shape_of_another_rank_is_refused() -> None:
    for layer in (tf.layers.Conv2D(3, 2), tf.layers.MaxPooling2D(2, 2)):
        with pytest.raises(ValueError, match="must have rank 4"):
            layer.compute_output_shape([None, 5, 3])
