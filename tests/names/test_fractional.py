"""Fractional pooling against TensorFlow and numpy, in both engines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import engines
import name_scenes
import numpy as np
import pytest
from fractional_scenes import REAL, SETTINGS
from gradient_check import check

import graphio as tf
from graphio.ops.nn import fractional

STORED = name_scenes.stored("fractional_scenes")["fractional"]
POOLS = (tf.nn.fractional_max_pool, tf.nn.fractional_avg_pool)
X = REAL


def by_loops(
    x: Any, rows: list[int], columns: list[int], overlapping: bool, reduce: Callable[..., Any]
) -> Any:
    """Pooling window by window."""
    ends = int(overlapping)
    made = [
        [
            reduce(x[:, a : b + ends, c : d + ends], axis=(1, 2))
            for c, d in zip(columns, columns[1:], strict=False)
        ]
        for a, b in zip(rows, rows[1:], strict=False)
    ]
    return np.stack([np.stack(row, 1) for row in made], 1)


@engines.BOTH
@pytest.mark.parametrize("case", range(len(STORED) // 3))
def test_windows_of_tensorflow_give_its_values(
    case: int, engine: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    values, rows, columns = STORED[3 * case : 3 * case + 3]
    drawn = iter([rows, columns])
    for name in ("_ordered", "_shifted"):
        monkeypatch.setattr(fractional, name, lambda *_: tf.constant(next(drawn), tf.int64))
    with tf.Graph().as_default(), tf.Session(engine) as session:
        made = POOLS[case % 2](*SETTINGS[case // 2])
        assert made[0].shape.as_list() == list(np.shape(values))
        found = session.run(made)
    np.testing.assert_allclose(found[0], values, rtol=3e-6, atol=1e-6)
    np.testing.assert_array_equal(found[1], rows)


@engines.BOTH
@pytest.mark.parametrize("pseudo_random", [False, True])
def test_windows_are_drawn_by_each_run(engine: str, pseudo_random: bool) -> None:
    with tf.Graph().as_default(), tf.Session(engine) as session:
        made = POOLS[0](X, [1.0, 1.44, 1.73, 1.0], pseudo_random, True, seed=3)
        same = POOLS[1](X, [1.0, 1.44, 1.73, 1.0], pseudo_random, False, True, seed=3)
        runs = [session.run([made, same]) for _ in range(30)]
    assert len({tuple(drawn[1]) for drawn, _ in runs}) > 3
    assert len({tuple(fixed[1]) + tuple(fixed[2]) for _, fixed in runs}) == 1
    for (value, rows, columns), _ in runs:
        for cut, size, count in ((rows, 11, 7), (columns, 8, 4)):
            assert (cut[0], cut[-1], len(cut)) == (0, size, count + 1)
            assert set(np.diff(cut)) <= {size // count, size // count + 1}
        np.testing.assert_array_equal(value, by_loops(X, rows, columns, True, np.max))
    (_, (mean, rows, columns)) = runs[0]
    np.testing.assert_allclose(mean, by_loops(X, rows, columns, False, np.mean), 2e-6, 1e-6)


def test_shifted_windows_are_those_of_one_shift() -> None:
    part = 11 / 7
    shifts = np.linspace(1e-9, min(3 / part - 1, 11 / part - 6) - 1e-9, 20001)
    possible = {tuple(np.ceil((np.arange(1, 7) + u) * part).astype(int) - 1) for u in shifts}
    with tf.Graph().as_default(), tf.Session() as session:
        made = POOLS[0](X, [1.0, 1.44, 1.0, 1.0], True, seed=9)[1]
        drawn = {tuple(session.run(made)[1:-1].tolist()) for _ in range(200)}
    assert drawn <= possible
    assert len(drawn) == len(possible)


@pytest.mark.parametrize("pool", POOLS)
def test_gradients(pool: Any) -> None:
    x = np.random.RandomState(2).permutation(60).reshape(1, 6, 5, 2) / 10.0
    check(lambda x: pool(x, [1.0, 1.5, 1.25, 1.0], True, True, True, 5)[0], [x])


def test_what_does_not_fit_is_refused() -> None:
    with tf.Graph().as_default():
        for value, ratio, error, match in (
            (X, [1.0, 0.5, 1.0, 1.0], ValueError, "pooling_ratio is"),
            (X, [1.0, 2.0, 2.0, 2.0], ValueError, "the first and the last of which are 1"),
            (X, [1.0, 12.0, 1.0, 1.0], ValueError, "above the sizes"),
            (X[0], [1.0, 2.0, 2.0, 1.0], ValueError, "expected \\(n, height"),
            (X.astype(np.float16), [1.0, 2.0, 2.0, 1.0], TypeError, "value is float16"),
        ):
            with pytest.raises(error, match=match):
                POOLS[0](value, ratio)


@engines.BOTH
@pytest.mark.parametrize("pseudo_random", [False, True])
def test_sizes_may_be_known_by_the_run_alone(engine: str, pseudo_random: bool) -> None:
    ratio = [1.0, 1.5, 2.25, 1.0]
    with tf.Graph().as_default(), tf.Session(engine) as session:
        given = tf.placeholder(tf.float32, [None, None, None, 3])
        highest, mean = (pool(given, ratio, pseudo_random, True, True, 4) for pool in POOLS)
        known = POOLS[0](X, ratio, pseudo_random, True, True, 4)
        np.testing.assert_array_equal(*session.run([highest[0], known[0]], {given: X}))
        wide = np.random.RandomState(1).rand(1, 20, 31, 3).astype(np.float32)
        (value, rows, columns), (means, *_) = session.run([highest, mean], {given: wide})
        assert value.shape == means.shape == (1, 13, 13, 3)
        np.testing.assert_array_equal(value, by_loops(wide, rows, columns, True, np.max))
        np.testing.assert_allclose(means, by_loops(wide, rows, columns, True, np.mean), 2e-6)
        with pytest.raises(tf.errors.InvalidArgumentError, match="above the sizes"):
            session.run(highest[0], {given: X[:, :1]})
        assert highest[0].shape.as_list() == [None, None, None, 3]
