"""Rarely used functions of tf: what they refuse. rare_scenes has their values."""

from __future__ import annotations

import numpy as np
import pytest

import graphio as tf


def test_spaced_operations_say_what_does_not_fit() -> None:
    def same(x: tf.Tensor, axes: int, padding: str) -> tf.Tensor:
        return x

    x = np.zeros((1, 4, 4, 1), np.float32)
    with tf.Graph().as_default():
        for match, arguments in (
            ("rank 1", ([[2]], "VALID", same)),
            ("positive", ([0], "VALID", same)),
            ("Invalid padding", ([2], "valid", same)),
            ("filter_shape must be", ([2], "SAME", same)),
            ("increasing", ([2, 2], "VALID", same, None, [2, 1])),
            ("rank 5", ([2, 2], "VALID", same, None, [1, 4])),
        ):
            with pytest.raises(ValueError, match=match):
                tf.nn.with_space_to_batch(x, *arguments)
