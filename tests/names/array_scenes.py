"""Calls of functions of arrays, signals and pictures, by their older names too."""

from __future__ import annotations

from typing import Any

import numpy as np
from name_scenes import Scene, numbers

ROW = np.array([0.0, -np.inf, np.nan, 2.5, np.inf], np.float32)
TABLE, OTHER, PLANE = numbers(3, 4), numbers(3, 4, seed=2), numbers(2, 4, 6)


def comparisons(tf: Any) -> Any:
    """Elementwise questions."""
    return [
        tf.is_inf(ROW), tf.greater_equal(TABLE, OTHER), tf.less_equal(TABLE, OTHER),
        tf.greater_equal(np.array([1, 2, 3]), 2), tf.less_equal(np.array([1, 2, 3]), [3, 2, 1]),
        tf.less_equal(ROW, np.float32(2.5)), tf.greater_equal(ROW, np.float32(2.5)),
    ]  # fmt: skip


def positions(tf: Any) -> Any:
    """Positions of the largest and the smallest, of equal ones the first."""
    twice = np.array([[3, 1, 3], [0, 0, 5]])
    return [
        tf.arg_max(TABLE, 1), tf.arg_min(TABLE, 0), tf.arg_max(twice, 1, tf.int32),
        tf.arg_min(twice, dimension=1, output_type=tf.int32), tf.arg_max(twice, 0),
    ]  # fmt: skip


def sums(tf: Any) -> Any:
    """Sums, quotients, and what is cut to an average norm, with gradients."""
    x, y = tf.constant(TABLE), tf.constant(OTHER)
    total = tf.accumulate_n([x, y * 2.0, x])
    cut = tf.clip_by_average_norm(x, 0.05)
    by = tf.realdiv(x, y)
    return [
        total, tf.gradients(total, [x, y]), cut, tf.clip_by_average_norm(x, 5.0),
        tf.gradients(tf.reduce_sum(cut * y), x), by, tf.gradients(by, [x, y]),
        tf.realdiv(np.array([1.0, -2.0]), np.array([3.0, 0.5])),
        tf.accumulate_n([np.array([1, 2]), np.array([3, 4])], shape=[2], tensor_dtype=tf.int64),
    ]  # fmt: skip


def copies(tf: Any) -> Any:
    """Values that stay as they are."""
    x, words = tf.constant(TABLE), tf.constant(["a", "bc"])
    same = tf.identity_n([x, words, tf.constant([1, 2])])
    kept = tf.guarantee_const(x)
    stacked = tf.parallel_stack([TABLE, OTHER])
    return [
        same, tf.gradients(same[0] * 3.0, x), kept, kept * 2.0, stacked,
        tf.parallel_stack([np.array([1, 2]), np.array([3, 4])]),
        tf.constant(stacked.shape.as_list()),
    ]  # fmt: skip


def sizes(tf: Any) -> Any:
    """Shapes as tensors, and static ones."""
    both = tf.broadcast_static_shape(tf.TensorShape([4, 1, 3]), tf.TensorShape([2, 1]))
    open_shape = tf.TensorShape([None, 7])
    known = [tf.dimension_value(one) for one in (open_shape[1], tf.Dimension(5), 3)]
    at = [tf.dimension_at_index(open_shape, 1), tf.compat.dimension_at_index(open_shape, -1)]
    assert tf.dimension_value(open_shape[0]) is None
    return [
        tf.shape_n([TABLE, PLANE]), tf.shape_n([TABLE], out_type=tf.int64),
        tf.constant(both.as_list()), tf.constant(known), tf.constant([int(one) for one in at]),
        tf.constant(tf.broadcast_static_shape(tf.TensorShape([]), tf.TensorShape([2])).as_list()),
    ]  # fmt: skip


def casts(tf: Any) -> Any:
    """Values in another type."""
    x = np.array([-1.7, 0.2, 1.00390625, 2.6, 300.7])
    return [
        tf.to_double(x.astype(np.float32)), tf.to_int32(x), tf.to_int32(np.array([2**31 - 1])),
        tf.cast(tf.to_bfloat16(x), tf.float32), tf.to_double(np.array([1, 2])),
        tf.cast(tf.to_bfloat16(x.astype(np.float32)), tf.float64),
    ]  # fmt: skip


def quantized_slopes(tf: Any) -> Any:
    """Gradients of values of eight bits."""
    x, above = numbers(5, 3), numbers(5, 3, seed=3)
    low, high = np.array([-1.0, -0.5, 0.1], np.float32), np.array([1.0, 0.8, 1.9], np.float32)
    return [
        tf.fake_quant_with_min_max_args_gradient(above, x, min=-1.0, max=0.9),
        tf.quantization.fake_quant_with_min_max_args_gradient(
            above, x, -0.9, 1.0, num_bits=3, narrow_range=True),
        tf.fake_quant_with_min_max_vars_per_channel_gradient(above, x, low, high),
        tf.quantization.fake_quant_with_min_max_vars_per_channel_gradient(
            above, x, low, high, num_bits=4, narrow_range=True),
    ]  # fmt: skip


def planes(tf: Any) -> Any:
    """Fourier transforms of two and three dimensions."""
    x = PLANE.astype(np.complex64) + 1j * numbers(2, 4, 6, seed=5)
    half = np.fft.rfft2(PLANE).astype(np.complex64)
    solid = np.fft.rfftn(PLANE).astype(np.complex64)
    return [
        tf.ifft2d(x), tf.signal.ifft2d(x[:, :3]), tf.spectral.rfft2d(PLANE),
        tf.signal.rfft2d(PLANE, [3, 8]), tf.signal.irfft2d(half), tf.spectral.irfft2d(half, [4, 5]),
        tf.signal.rfft3d(PLANE), tf.spectral.rfft3d(PLANE, [2, 3, 5]), tf.signal.irfft3d(solid),
        tf.spectral.irfft3d(solid, [2, 3, 4]),
    ]  # fmt: skip


def layers_of_old(tf: Any) -> Any:
    """Affine maps, regularization, fractions of zeros."""
    x, weights, biases = tf.constant(TABLE), numbers(4, 2), numbers(2)
    made = tf.nn.relu_layer(x, weights, biases)
    sparse = np.array([[0, 1.5, 0], [0, 0, -2]], np.float32)
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.reduce_sum(x))
    tf.add_to_collection(tf.GraphKeys.REGULARIZATION_LOSSES, tf.constant(0.5))
    return [
        tf.nn.xw_plus_b(x, weights, biases), made, tf.gradients(made, x),
        tf.math.zero_fraction(sparse), tf.nn.zero_fraction(np.array([0, 3, 0, 0])),
        tf.losses.get_regularization_loss(), tf.losses.get_regularization_loss(scope="none"),
    ]  # fmt: skip


def pictures(tf: Any) -> Any:
    """Patches of pictures."""
    image = numbers(2, 6, 7, 3)
    return [
        tf.image.extract_patches(image, sizes=[1, 3, 2, 1], strides=[1, 2, 2, 1],
                                 rates=[1, 1, 1, 1], padding="VALID"),
        tf.image.extract_patches(image, [1, 2, 3, 1], [1, 3, 3, 1], [1, 2, 1, 1], "SAME"),
    ]  # fmt: skip


SCENES: dict[str, Scene] = {
    f.__name__: f
    for f in (
        *(comparisons, positions, sums, copies, sizes, casts, quantized_slopes, planes),
        *(layers_of_old, pictures),
    )
}
