"""Calls of rarely used functions of tf, for name_scenes."""

from __future__ import annotations

from typing import Any

import numpy as np
from name_scenes import BEFORE, Scene, numbers

IMAGE, LINE = numbers(2, 9, 8, 2), numbers(2, 11, 3)


def spaced(tf: Any) -> Any:
    """Operations over every second or third element."""
    kernel, seconds = numbers(3, 2, 2, 3), numbers(3, 3, 2)

    def convolved(x: Any, axes: int, padding: str) -> Any:
        return tf.nn.convolution(x, kernel if axes == 2 else seconds, padding)

    def pooled(x: Any, axes: int, padding: str) -> Any:
        return tf.nn.pool(x, [2, 3], "MAX", padding)

    def summed(x: Any, axes: int, padding: str) -> Any:
        return tf.cumsum(x, 2)

    nn, image = tf.nn, tf.placeholder_with_default(IMAGE, [None, None, None, 2])
    rate = tf.placeholder_with_default([2, 3], [2])
    return [
        nn.with_space_to_batch(IMAGE, [2, 3], "SAME", convolved, [3, 2]),
        nn.with_space_to_batch(image, [2, 3], "SAME", convolved, [3, 2, 2, 3]),
        nn.with_space_to_batch(IMAGE, rate, "VALID", convolved),
        nn.with_space_to_batch(IMAGE, [1, 1], "SAME", convolved),
        nn.with_space_to_batch(LINE, [3], "SAME", convolved, tf.shape(seconds)),
        nn.with_space_to_batch(IMAGE, [2, 1], "VALID", pooled),
        nn.with_space_to_batch(IMAGE, [2], "VALID", summed, spatial_dims=[2]),
        nn.with_space_to_batch(IMAGE, [3], "VALID", summed, data_format="NCW"),
    ]


def crossed(tf: Any) -> Any:
    """Crosses of strings and integers, sparse and dense, as strings and as hashes."""
    rows = [[0, 0], [1, 0], [1, 1], [3, 1]]
    words = tf.SparseTensor(rows, ["a", "b", "a longer word of more than 32 letters", "d"], [4, 2])
    numbers = tf.SparseTensor(rows[:3], np.array([-5, 7, 1 << 40]), [4, 2])
    dense = tf.constant([["x", "y"], ["z", "x"], ["u", "v"], ["w", ""]])
    small = tf.constant([[1], [-2], [3], [4]], tf.int32)
    cross, hashed = tf.sparse.cross, tf.sparse.cross_hashed
    return [
        cross([words, dense]), cross([dense, numbers, words]), cross([small, dense]),
        cross([words]), hashed([words, dense]), hashed([dense, numbers, small, words]),
        hashed([words, numbers], 100), hashed([words, dense], 1000, 77),
        hashed([small, numbers], hash_key=-3),
    ]  # fmt: skip


RANGES = ((-2.0, 2.0), (-0.3, 1.7), (0.5, 1.5), (-1.9, -0.1), (0.0, 0.0), (-1.0, 0.001))
SPREAD = np.concatenate([numbers(40), np.float32([0, 0.5, -0.5, 1, 2, -2, 1e-7])])


def _kinds(tf: Any) -> dict[Any, Any]:
    """The quantized dtypes, and the integers of their bits."""
    return {
        tf.qint8: tf.int8, tf.quint8: tf.uint8, tf.qint16: tf.int16, tf.quint16: tf.uint16,
        tf.qint32: tf.int32,
    }  # fmt: skip


def quantized(tf: Any) -> Any:
    """Steps of all dtypes in all modes, and their ranges."""
    made = []
    for kind, plain in _kinds(tf).items():
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for ends in RANGES if kind != tf.qint32 else ():
                steps, low, high = tf.quantize(SPREAD, *ends, kind, mode)
                made.append([tf.bitcast(steps, plain), low, high])
        # TensorFlow's largest numbers of 32 bits overflow: a range beyond them
        ends = (-4.0, 4.0) if kind == tf.qint32 else (-1.5, 0.5)
        steps, low, high = tf.quantize_v2(SPREAD, *ends, kind, "SCALED", round_mode="HALF_TO_EVEN")
        made.append([tf.bitcast(steps, plain), low, high])
    return made


def dequantized(tf: Any) -> Any:
    """Numbers of steps of all dtypes in all modes."""
    made = []
    for kind in _kinds(tf):
        steps = tf.quantization.quantize(SPREAD, -4.0, 4.0, kind, "SCALED")[0]
        for mode in ("MIN_COMBINED", "MIN_FIRST", "SCALED"):
            for ends in RANGES:
                made.append(tf.quantization.dequantize(steps, *ends, mode))
    return made


def requantized(tf: Any) -> Any:
    """Numbers rounded to steps, with and without ranges, and the gradient."""
    rounded, x = tf.quantization.quantize_and_dequantize, tf.constant(SPREAD)
    made = [
        rounded(x, *ends, signed, bits, given, way, narrow_range=narrow)
        for ends in ((-1.5, 0.75), (-0.25, 1.0))
        for signed, bits in ((True, 8), (True, 3), (False, 4))
        for given in (True, False)
        for way in ("HALF_TO_EVEN", "HALF_UP")
        for narrow in (True, False)
    ]
    return [made, tf.gradients(tf.reduce_sum(made[0] * SPREAD), x)]


def on_steps(tf: Any) -> Any:
    """Operations on quantized pictures."""
    nn, uint8 = tf.nn, tf.quint8
    image = tf.quantize(numbers(2, 6, 5, 3), -1.5, 2.0, uint8, "MIN_FIRST")
    other = tf.quantize(numbers(2, 6, 5, 3, seed=2), -2.0, 1.0, uint8, "MIN_FIRST")
    kernel = tf.quantize(numbers(3, 2, 3, 4, seed=3), -2.0, 2.0, uint8, "MIN_FIRST")
    pools = [
        pool(*image, [1, 3, 2, 1], [1, 2, 1, 1], padding)
        for pool in (nn.quantized_max_pool, nn.quantized_avg_pool)
        for padding in ("SAME", "VALID")
    ]
    joined = [
        tf.quantized_concat(axis, [a[0], b[0]], [a[1], b[1]], [a[2], b[2]])
        for axis, a, b in ((3, image, other), (0, other, other))
    ]
    summed = [
        nn.quantized_conv2d(
            image[0], kernel[0], *image[1:], *kernel[1:], [1, step, step, 1], padding
        )
        for step, padding in ((1, "SAME"), (2, "SAME"), (1, "VALID"))
    ]
    made = [[tf.bitcast(o[0], tf.uint8), o[1], o[2]] for o in (*pools, *joined)]
    return [*made, *([tf.bitcast(o[0], tf.int32), o[1], o[2]] for o in summed)]


def encoded(tf: Any) -> Any:
    """Characters by their codes, some of which are none."""
    codes = tf.constant([[72, 101, 0x1F600, 0], [0xD800, 0x110000, -5, 65]])
    encode = tf.strings.unicode_encode
    return [
        *(
            encode(codes, encoding, **settings)
            for encoding in ("UTF-8", "UTF-16-BE", "UTF-32-BE")
            for settings in ({}, {"replacement_char": 33}, {"errors": "ignore"})
        ),
        encode(tf.constant([[[65, 66], [67, 68]]]), "UTF-8", errors="strict"),
        encode(tf.zeros([2, 0], tf.int32), "UTF-8"),
    ]


def shrunk(tf: Any) -> Any:
    """Weights after steps of L1 regularization."""
    found = []
    for l1, l2 in ((0.5, 2.0), (0.5, 0.5), (0.0, 0.0), (0.5, 0.0)):
        weights = [tf.Variable([[1.0, -2.0, 0.3, -0.05]]), tf.Variable([[0.25, 0.0]])]
        tf.add_to_collection(BEFORE, tf.train.sdca_shrink_l1(weights, l1=l1, l2=l2))
        found += weights
    return found


SCENES: dict[str, Scene] = {
    f.__name__: f
    for f in (spaced, crossed, quantized, dequantized, requantized, on_steps, encoded, shrunk)
}
