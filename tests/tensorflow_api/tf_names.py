"""Runs builders in both engines against numpy, with known and with open static shapes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import engines
import numpy as np

import graphio as tf


def run(
    engine: str, function: Callable[..., Any], values: Sequence[np.ndarray], *, opened: bool = False
) -> Any:
    """The result of function for placeholders with these values; its static shape must agree."""
    engines.module(engine)
    with tf.Graph().as_default():
        xs = [
            tf.placeholder(v.dtype, [None] * v.ndim if opened else v.shape)
            for v in map(np.asarray, values)
        ]
        made = function(*xs)
        with tf.Session(engine) as session:
            found = session.run(made, dict(zip(xs, values, strict=True)))
        many = isinstance(made, (list, tuple))
        for tensor, value in zip(made if many else [made], found if many else [found], strict=True):
            assert tensor.shape.is_compatible_with(np.shape(value)), (tensor, np.shape(value))
            assert tensor.dtype.as_numpy_dtype == np.asarray(value).dtype
        return found


def compare(
    engine: str,
    function: Callable[..., Any],
    values: Sequence[Any],
    expected: Any,
    *,
    opened: bool = False,
    rtol: float = 2e-6,
) -> None:
    """Fails unless function gives expected, several outputs one by one."""
    arrays = [np.asarray(v) for v in values]
    found = run(engine, function, arrays, opened=opened)
    many = isinstance(found, (list, tuple))
    expected_values = expected if many else [expected]
    assert not many or len(found) == len(expected_values)
    for value, want in zip(found if many else [found], expected_values, strict=True):
        assert np.shape(value) == np.shape(want), (np.shape(value), np.shape(want))
        if np.asarray(value).dtype.kind == "f":
            np.testing.assert_allclose(value, want, rtol=rtol, atol=rtol)
        else:
            np.testing.assert_array_equal(value, want)


def static(function: Callable[..., Any], *shapes: Any, dtype: Any = np.float32) -> Any:
    """The static shape of what function makes of placeholders of these shapes."""
    with tf.Graph().as_default():
        made = function(*[tf.placeholder(dtype, s) for s in shapes])
        made = made[0] if isinstance(made, (list, tuple)) else made
        return None if made.shape.ndims is None else made.shape.as_list()
