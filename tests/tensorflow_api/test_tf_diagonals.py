"""Diagonals next to the main one, and bands of them, compared with numpy's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from value_cases import TARGETS

import graphio as tf

BOTH = pytest.mark.parametrize("target", TARGETS)
INVALID = tf.errors.InvalidArgumentError
#: whether diagonals above and below the main one begin at the left
ALIGNED = {
    "RIGHT_LEFT": (False, True),
    "LEFT_RIGHT": (True, False),
    "LEFT_LEFT": (True, True),
    "RIGHT_RIGHT": (False, False),
}


def _rows(matrix: Any, low: int, high: int, padding: float, align: str) -> Any:
    """The diagonals, the uppermost first, each in a row as long as the longest."""
    found = {d: np.diagonal(matrix, d) for d in range(low, high + 1)}
    longest = max(len(v) for v in found.values())
    above, below = ALIGNED[align]
    rows = []
    for d in range(high, low - 1, -1):
        rest = [padding] * (longest - len(found[d]))
        left = (d >= 0 and above) or (d <= 0 and below)
        rows.append([*found[d], *rest] if left else [*rest, *found[d]])
    return np.array(rows[0] if low == high else rows)


@BOTH
@pytest.mark.parametrize("align", ALIGNED)
@pytest.mark.parametrize("shape", [(2, 4), (3, 2)])
def test_every_band_is_taken_put_in_and_spread(
    shape: tuple[int, int], align: str, target: str
) -> None:
    m, n = shape
    matrix = np.arange(1.0, m * n + 1).reshape(m, n)
    both = np.stack([matrix, -matrix])
    made, expected = [], []
    with tf.Graph().as_default(), tf.Session(target) as session:
        for low in range(1 - m, n):
            for high in range(low, min(low + 3, n)):
                k = low if low == high else (low, high)
                rows = np.stack([_rows(x, low, high, 7.0, align) for x in both])
                inside = np.triu(np.tril(np.ones(shape), high), low) > 0
                options = {"k": k, "align": align}
                made += [
                    tf.matrix_diag_part(both, padding_value=7.0, **options),
                    tf.matrix_set_diag(np.full_like(both, 3.0), rows, **options),
                    tf.matrix_diag(rows, num_rows=m, num_cols=n, padding_value=3.0, **options),
                ]
                expected += [rows, np.where(inside, both, 3.0), np.where(inside, both, 3.0)]
        for found, other in zip(session.run(made), expected, strict=True):
            np.testing.assert_array_equal(found, other)
        assert [tuple(x.shape.as_list()) for x in made] == [x.shape for x in expected]


@BOTH
def test_the_diagonal_the_rank_and_the_sizes_are_fed(target: str) -> None:
    matrix = np.arange(1.0, 13).reshape(3, 4)
    with tf.Graph().as_default(), tf.Session(target) as session:
        x, k, rows = (tf.placeholder(d, s) for d, s in ((tf.float64, None), (tf.int32, []),
                                                        (tf.int32, [])))  # fmt: skip
        part = tf.matrix_diag_part(x, k=k)
        made = [
            part,
            tf.matrix_set_diag(x, 2 * part, k=k),
            tf.matrix_diag(part, k=k, num_rows=rows, num_cols=4),
        ]
        gradient = tf.gradients([made[0] * made[0], made[1]], x)[0]
        for lead in ((), (2,), (1, 2)):
            for number in range(-2, 4):
                value = np.broadcast_to(matrix, (*lead, 3, 4))
                on = np.eye(3, 4, number)
                found = session.run([*made, gradient], {x: value, k: number, rows: 3})
                np.testing.assert_array_equal(found[0], np.diagonal(value, number, -2, -1))
                np.testing.assert_array_equal(found[1], value * (1 + on))
                np.testing.assert_array_equal(found[2], value * on)
                np.testing.assert_array_equal(found[3], 2 * value * on + 1 + on)
        for number in (-3, 4):
            with pytest.raises(INVALID, match="a diagonal that the matrices have not"):
                session.run(part, {x: matrix, k: number})


def test_sizes_that_are_left_open_are_the_least() -> None:
    two = tf.ones([5, 2])
    shapes = [
        tf.matrix_diag(two, k=k, num_rows=r, num_cols=c).shape.as_list()
        for k, r, c in ((1, -1, -1), (-2, -1, -1), (1, 2, -1), (1, -1, 3), (0, 2, 4))
    ]
    assert shapes == [[5, 3, 3], [5, 4, 4], [5, 2, 3], [5, 2, 3], [5, 2, 4]]


REFUSED: dict[str, tuple[Any, str]] = {
    "an order": (lambda: tf.matrix_diag_part(np.ones([2, 2]), k=(1, 0)), "before the uppermost"),
    "three numbers": (lambda: tf.matrix_diag_part(np.ones([2, 2]), k=(0, 1, 2)), "a pair"),
    "a word": (lambda: tf.matrix_diag_part(np.ones([2, 2]), k=1, align="LEFT"), "expected one of"),
    "no such diagonal": (lambda: tf.matrix_diag_part(np.ones([2, 2]), k=2), "have not"),
    "too few rows": (lambda: tf.matrix_diag(np.ones([3]), k=1, num_rows=2), "does not fit"),
    "too many of both": (lambda: tf.matrix_diag([1.0], num_rows=2, num_cols=2), "does not fit"),
    "other diagonals": (lambda: tf.matrix_diag(np.ones([3, 2]), k=(0, 1)), "has not 2 rows"),
    "a short one": (lambda: tf.matrix_set_diag(np.ones([3, 3]), [1.0], k=1), "not as long"),
    "a vector": (lambda: tf.matrix_diag_part(np.ones([2]), k=1), "at least rank 2"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_does_not_fit_is_refused(name: str) -> None:
    build, words = REFUSED[name]
    with tf.Graph().as_default(), pytest.raises(ValueError, match=words):
        build()


@BOTH
def test_an_error_names_the_operation_and_the_numbers_that_do_not_fit(target: str) -> None:
    ones = np.ones
    with tf.Graph().as_default(), tf.Session(target) as session:
        k, x = tf.placeholder(tf.int32, []), tf.placeholder(tf.float64)
        made = [
            (
                lambda: tf.matrix_diag_part(ones([2, 3]), k=7, name="one"),
                "one.*k 7, rows 2, columns 3",
            ),
            (
                lambda: tf.matrix_diag_part(ones([2, 3]), k=(-3, 1), name="two"),
                "two.*lowest k -3, uppermost k 1, rows 2, columns 3",
            ),
            (
                lambda: tf.matrix_diag(ones([3]), k=1, num_rows=2, name="wide"),
                "wide.*k 1, length of the longest diagonal 3, rows 2, columns 4",
            ),
            (
                lambda: tf.matrix_diag(ones([3, 2]), k=(0, 1), name="band"),
                "band.*lowest k 0, uppermost k 1, rows of diagonal 3",
            ),
            (
                lambda: tf.matrix_set_diag(ones([3, 4]), [1.0], k=1, name="set"),
                "set.*k 1, length 1, expected length 3, rows 3, columns 4",
            ),
        ]
        for build, words in made:
            with pytest.raises(INVALID, match=words):
                build()
        for fetch, words in (
            (tf.matrix_diag_part(x, k=k, name="fed"), r"fed.*\[k:\] \[5\] \[rows:\] \[2\]"),
            (tf.matrix_set_diag(x, [1.0], k=1, name="put"), r"put.*\[length:\] \[1\].*\[2\]"),
        ):
            with pytest.raises(INVALID, match=words):
                session.run(fetch, {x: ones([2, 3]), k: 5})
