"""Complex functions in both engines against numpy's in complex128, and their gradients against
finite differences."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import graphio as tf

Array = np.ndarray[Any, Any]
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])
KINDS = pytest.mark.parametrize("kind", ["complex64", "complex128"])
TOLERANCES = {"complex64": 3e-6, "complex128": 2e-14}


def numbers(*shape: int, seed: int = 0) -> Array:
    """Complex numbers of all four quadrants, none near 0 or an axis."""
    random = np.random.RandomState(seed)
    size, angle = random.uniform(0.5, 1.5, shape), random.uniform(0.2, 1.3, shape)
    return np.asarray(size * np.exp(1j * (angle + random.randint(0, 4, shape) * np.pi / 2)))


def run(target: str, function: Callable[..., Any], *arrays: Array) -> Any:
    """A function's results for fed arrays."""
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        fed = [tf.placeholder(a.dtype, a.shape) for a in map(np.asarray, arrays)]
        return session.run(function(*fed), dict(zip(fed, arrays, strict=True)))


def agree(
    target: str,
    kind: str,
    function: Callable[..., Any],
    expected: Callable[..., Any],
    *arrays: Array,
    times: float = 1.0,
) -> None:
    """Compares a function of complex tensors with numpy's of complex128, of the same rounded
    inputs. times: how many tolerances are allowed."""
    given = [np.asarray(a).astype(kind) if np.iscomplexobj(a) else np.asarray(a) for a in arrays]
    found = run(target, function, *given)
    wide = expected(*(a.astype(np.complex128) if np.iscomplexobj(a) else a for a in given))
    assert np.iscomplexobj(found) == np.iscomplexobj(wide)
    part = np.dtype(kind).type(0).real.dtype
    if found.dtype.kind in "fc":
        assert found.dtype in (np.dtype(kind), part), found.dtype
    tolerance = TOLERANCES[kind] * times
    np.testing.assert_allclose(found, wide, rtol=tolerance, atol=tolerance)


def check_gradient(
    target: str, function: Callable[..., Any], *arrays: Array, tolerance: float = 2e-6
) -> None:
    """Compares dL/dre + i dL/dim with central differences, for a real L, a weighted sum of the
    parts of the results; in complex128."""
    arrays = tuple(np.asarray(a, np.complex128) for a in arrays)
    with tf.Graph().as_default(), tf.Session(target=target) as session:
        fed = [tf.placeholder(tf.complex128, a.shape) for a in arrays]
        loss = _weighted(function(*fed))
        slopes = [tf.convert_to_tensor(dx) for dx in tf.gradients(loss, fed)]
        found = session.run(slopes, dict(zip(fed, arrays, strict=True)))
        for position, (array, gradient) in enumerate(zip(arrays, found, strict=True)):
            assert gradient.dtype == np.complex128 and gradient.shape == array.shape

            def at(moved: Array, position: int = position) -> float:
                values = [*arrays[:position], moved, *arrays[position + 1 :]]
                return float(session.run(loss, dict(zip(fed, values, strict=True))))

            np.testing.assert_allclose(
                gradient, _differences(at, array), rtol=tolerance, atol=tolerance
            )


def _weighted(results: Any) -> Any:
    total = tf.constant(0.0, tf.float64)
    for y in results if isinstance(results, Sequence) else [results]:
        parts = [tf.math.real(y), tf.math.imag(y)] if y.dtype.is_complex else [y]
        for k, part in enumerate(parts):
            weights = tf.cos(tf.cast(tf.range(tf.size(part)), tf.float64) * 0.7 + k)
            total += tf.reduce_sum(tf.reshape(part, [-1]) * weights)
    return total


def _differences(at: Callable[[Array], float], array: Array, step: float = 1e-6) -> Array:
    made = np.zeros(array.shape, np.complex128)
    for index in np.ndindex(*array.shape):
        slopes = []
        for direction in (step, step * 1j):
            up, down = array.copy(), array.copy()
            up[index] += direction
            down[index] -= direction
            slopes.append((at(up) - at(down)) / (2 * step))
        made[index] = complex(*slopes)
    return made
