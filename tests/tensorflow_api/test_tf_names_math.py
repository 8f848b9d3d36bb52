"""Arithmetic, matrices, order and moving elements under TensorFlow's names."""

from __future__ import annotations

import re
from typing import Any

import engines
import numpy as np
import pytest
from gradient_check import away, check, pos
from tf_names import compare, static

import graphio as tf

R = np.random.RandomState(5)
F = R.randn(3, 4).astype(np.float32)
V = R.randn(2, 3, 4).astype(np.float32)
I = R.randint(-9, 9, (3, 4)).astype(np.int32)  # noqa: E741
INNER = (R.rand(3, 4) * 1.8 - 0.9).astype(np.float32)
ANGLES = np.array([0.0, -0.0, 1, -1, 2.5, -3, np.inf, -np.inf, np.nan], np.float64)
Y, X = (a.ravel() for a in np.meshgrid(ANGLES, ANGLES))
SORTED = np.sort(V, axis=-1)
REPEATS = np.array([3, 1, 3, 2, 1, 7], np.int32)
IDS = np.array([0, 0, 2, 2, 2], np.int32)
ROWS = R.randn(5, 2).astype(np.float32)
ANY_ORDER = np.array([3, 0, -1, 3, 1], np.int64)


def by_segment(f: Any, ids: Any, count: int, empty: Any, rows: Any = ROWS) -> np.ndarray:
    return np.stack(
        [
            f(rows[ids == i], axis=0) if (ids == i).any() else np.full(rows.shape[1:], empty)
            for i in range(count)
        ]
    )


def band(x: np.ndarray, low: int, high: int) -> np.ndarray:
    m, n = np.indices(x.shape[-2:])
    keep = ((low < 0) | (m - n <= low)) & ((high < 0) | (n - m <= high))
    return np.where(keep, x, 0)


def set_diag(x: np.ndarray, d: np.ndarray) -> np.ndarray:
    y = x.copy()
    i = np.arange(d.shape[-1])
    y[..., i, i] = d
    return y


def running(x: np.ndarray) -> np.ndarray:
    return np.log(np.cumsum(np.exp(x), axis=1))


LEAST, MOST = np.finfo(np.float32).min, np.finfo(np.float32).max
UPDATED = F.copy()
UPDATED[[2, 0]] = V[0, :2]

CASES: dict[str, tuple[Any, ...]] = {
    "asin": (tf.asin, [INNER], np.arcsin(INNER)),
    "acos": (tf.acos, [INNER], np.arccos(INNER)),
    "asinh": (tf.asinh, [F], np.arcsinh(F)),
    "acosh": (tf.acosh, [1 + F * F], np.arccosh(1 + F * F)),
    "atanh": (tf.atanh, [INNER], np.arctanh(INNER)),
    "atan2": (tf.atan2, [V, F], np.arctan2(V, F)),
    "atan2 corners": (tf.atan2, [Y, X], np.arctan2(Y, X)),
    "rint": (tf.rint, [F * 3], np.rint(F * 3)),
    "scalar_mul": (lambda x: tf.scalar_mul(2, x), [I], 2 * I),
    "truncatediv": (tf.truncatediv, [I, np.int32(4)], np.trunc(I / 4).astype(np.int32)),
    "truncatediv float": (tf.truncatediv, [F * 5, F[0]], np.trunc(F * 5 / F[0])),
    "truncatemod": (tf.truncatemod, [I, np.int32(4)], np.fmod(I, 4)),
    "div_no_nan": (
        tf.div_no_nan,
        [F, I.astype(np.float32)],
        np.where(I == 0, 0, F / np.where(I == 0, 1, I)),
    ),
    "multiply_no_nan": (
        tf.math.multiply_no_nan,
        [np.float32([np.nan, 2]), np.float32([0, 3])],
        np.float32([0, 6]),
    ),
    "xlogy": (
        tf.math.xlogy,
        [np.float32([0, 2]), np.float32([-1, 3])],
        np.float32([0, 2 * np.log(3)]),
    ),
    "xdivy": (tf.math.xdivy, [np.float32([0, 2]), np.float32([0, 4])], np.float32([0, 0.5])),
    "cross": (tf.cross, [V[..., :3], V[::-1, :, 1:]], np.cross(V[..., :3], V[::-1, :, 1:])),
    "lin_space": (lambda a: tf.lin_space(a, 3.0, 7), [np.float32(-1)], np.linspace(-1, 3, 7)),
    "linspace one": (lambda a: tf.linspace(a, 3.0, 1), [np.float32(-1)], [-1]),
    "cumprod": (lambda x: tf.cumprod(x, -1), [F], np.cumprod(F, -1)),
    "cumprod back": (
        lambda x: tf.cumprod(x, 1, exclusive=True, reverse=True),
        [I],
        np.concatenate([np.cumprod(I[:, :0:-1], 1)[:, ::-1], np.ones((3, 1), int)], 1),
    ),
    "cumulative_logsumexp": (lambda x: tf.math.cumulative_logsumexp(x, 1), [F], running(F)),
    "einsum": (lambda a, b: tf.einsum("bij,kj->bik", a, b), [V, F], np.einsum("bij,kj->bik", V, F)),
    "einsum dots": (lambda a: tf.einsum("...ij->...ji", a), [V], np.swapaxes(V, 1, 2)),
    "reduce_variance": (lambda x: tf.math.reduce_variance(x, 1), [V], V.var(1)),
    "reduce_std": (lambda x: tf.math.reduce_std(x, 1, True), [V], V.std(1, keepdims=True)),
    "reduce_euclidean_norm": (tf.math.reduce_euclidean_norm, [V], np.sqrt((V * V).sum())),
    "bitwise_and": (tf.bitwise.bitwise_and, [I, I[0]], I & I[0]),
    "bitwise_or": (tf.bitwise.bitwise_or, [I, I[0]], I | I[0]),
    "bitwise_xor": (tf.bitwise.bitwise_xor, [I, I[0]], I ^ I[0]),
    "invert": (tf.bitwise.invert, [I], ~I),
    "left_shift": (lambda x: tf.bitwise.left_shift(x, 3), [I], I << 3),
    "right_shift": (lambda x: tf.bitwise.right_shift(x, 2), [I], I >> 2),
    "matrix_band_part": (lambda x: tf.matrix_band_part(x, 1, 0), [V], band(V, 1, 0)),
    "matrix_band_part all": (lambda x: tf.matrix_band_part(x, -1, 1), [V], band(V, -1, 1)),
    "matrix_band_part fed": (
        tf.matrix_band_part,
        [V, np.int32(-1), np.int64(0)],
        band(V, -1, 0),
    ),
    "matrix_diag": (tf.matrix_diag, [F], F[..., None] * np.eye(4)),
    "matrix_diag_part": (tf.matrix_diag_part, [V], np.diagonal(V, axis1=1, axis2=2)),
    "matrix_diag_part tall": (
        lambda x: tf.matrix_diag_part(tf.matrix_transpose(x)),
        [V],
        np.diagonal(V, axis1=1, axis2=2),
    ),
    "matrix_set_diag": (tf.matrix_set_diag, [V, F[:2, :3]], set_diag(V, F[:2, :3])),
    "matrix_set_diag tall": (
        tf.matrix_set_diag,
        [V[:, :, :2], F[:2, :2]],
        set_diag(V[:, :, :2], F[:2, :2]),
    ),
    "trace": (tf.trace, [V], np.trace(V, axis1=1, axis2=2)),
    "diag_part": (tf.diag_part, [F[:, :3]], np.diagonal(F[:, :3])),
    "matrix_determinant": (
        tf.matrix_determinant,
        [V[..., :3]],
        np.linalg.det(V[..., :3].astype(float)),
    ),
    "sort": (lambda x: tf.sort(x, 1), [V], np.sort(V, 1)),
    "sort down": (lambda x: tf.sort(x, direction="DESCENDING"), [I], -np.sort(-I)),
    "argsort": (lambda x: tf.argsort(x, 0), [I], np.argsort(I, 0, kind="stable").astype(np.int32)),
    "argsort down": (
        lambda x: tf.argsort(x, direction="DESCENDING"),
        [REPEATS],
        np.argsort(-REPEATS, kind="stable").astype(np.int32),
    ),
    "top_k": (
        lambda x: tf.nn.top_k(x, 2),
        [V],
        [-np.sort(-V)[..., :2], np.argsort(-V)[..., :2].astype(np.int32)],
    ),
    "searchsorted": (
        tf.searchsorted,
        [SORTED, V[..., :2] * 0 + SORTED[..., 1:3]],
        np.broadcast_to(np.int32([1, 2]), (2, 3, 2)),
    ),
    "searchsorted right": (
        lambda a, b: tf.searchsorted(a, b, side="right", out_type=tf.int64),
        [np.int32([1, 2, 2, 5]), np.int32([2, 0, 9])],
        np.int64([3, 0, 4]),
    ),
    "is_non_decreasing": (tf.is_non_decreasing, [SORTED[0, 0]], np.bool_(True)),
    "is_strictly_increasing": (tf.is_strictly_increasing, [np.int32([1, 1])], np.bool_(False)),
    "unique": (tf.unique, [REPEATS], [np.int32([3, 1, 2, 7]), np.int32([0, 1, 0, 2, 1, 3])]),
    "unique_with_counts": (
        lambda x: tf.unique_with_counts(x, tf.int64),
        [REPEATS],
        [np.int32([3, 1, 2, 7]), np.int64([0, 1, 0, 2, 1, 3]), np.int64([2, 2, 1, 1])],
    ),
    "setdiff1d": (
        tf.setdiff1d,
        [REPEATS, np.int32([1, 7, 8])],
        [np.int32([3, 3, 2]), np.int32([0, 2, 3])],
    ),
    "invert_permutation": (tf.invert_permutation, [np.int32([2, 0, 3, 1])], np.int32([1, 3, 0, 2])),
    "bincount": (tf.bincount, [REPEATS], np.bincount(REPEATS).astype(np.int32)),
    "bincount none": (tf.bincount, [REPEATS[:0]], np.zeros(0, np.int32)),
    "bincount limits": (
        lambda x: tf.bincount(x, minlength=5, maxlength=6),
        [REPEATS],
        np.int32([0, 2, 1, 2, 0, 0]),
    ),
    "bincount weights": (
        lambda x, w: tf.bincount(x, w, minlength=9),
        [REPEATS, F.ravel()[:6]],
        np.bincount(REPEATS, F.ravel()[:6], 9),
    ),
    "bincount occurs": (
        lambda x: tf.bincount(x, minlength=9, binary_output=True),
        [REPEATS],
        np.bincount(REPEATS, minlength=9).clip(0, 1).astype(np.int32),
    ),
    "bincount rows": (
        lambda x: tf.bincount(x, axis=-1),
        [np.int64([[0, 2, 2], [3, 0, 1]])],
        np.int32([[1, 0, 2, 0], [1, 1, 0, 1]]),
    ),
    "bincount rows limits": (
        lambda x, w: tf.bincount(x, w, maxlength=2, axis=-1),
        [np.int32([[0, 2, 0], [3, 0, 1]]), F.ravel()[:6].reshape(2, 3)],
        np.array([[F.ravel()[[0, 2]].sum(), 0], [F.ravel()[4], F.ravel()[5]]]),
    ),
    "bincount no rows": (
        lambda x: tf.bincount(x, minlength=2, axis=-1),
        [np.zeros([0, 3], np.int32)],
        np.zeros([0, 2], np.int32),
    ),
    "div_no_nan integers": (
        tf.div_no_nan,
        [np.int32([7, -7, 7]), np.int32([2, 4, 0])],
        np.array([3.5, -1.75, 0]),
    ),
    "div_no_nan bytes": (tf.div_no_nan, [np.int8([7, 7]), np.int8([2, 0])], np.float32([3.5, 0])),
    "div_no_nan by a tensor": (
        lambda y: tf.div_no_nan(3, y),
        [np.float16([2, 0])],
        np.float16([1.5, 0]),
    ),
    "confusion_matrix": (
        lambda a, b: tf.confusion_matrix(a, b, 3),
        [np.int32([0, 1, 2, 1]), np.int32([0, 2, 2, 2])],
        np.int32([[1, 0, 0], [0, 0, 2], [0, 0, 1]]),
    ),
    "confusion_matrix weights": (
        lambda a, b: tf.confusion_matrix(a, b, weights=[0.5, 2, 1], dtype=tf.float32),
        [np.int64([0, 1, 1]), np.int64([0, 0, 0])],
        [[0.5, 0], [3, 0]],
    ),
    "histogram": (
        lambda x: tf.histogram_fixed_width(x, [-1.0, 1.0], 4),
        [F],
        np.histogram(np.clip(F, -1, 0.999), 4, (-1, 1))[0].astype(np.int32),
    ),
    "reverse_sequence": (
        lambda x, n: tf.reverse_sequence(x, n, seq_axis=1),
        [V, np.int32([2, 3])],
        np.stack([V[0][[1, 0, 2]], V[1][::-1]]),
    ),
    "reverse_sequence far": (
        lambda x, n: tf.reverse_sequence(x, n, seq_axis=-1, batch_axis=0),
        [V, np.int64([0, 3])],
        np.stack([V[0], V[1][:, [2, 1, 0, 3]]]),
    ),
    "sequence_mask": (
        tf.sequence_mask,
        [np.int32([[1, 3], [0, 2]])],
        np.arange(3) < np.int32([[1, 3], [0, 2]])[..., None],
    ),
    "sequence_mask length": (
        lambda n: tf.sequence_mask(n, 4, tf.float32),
        [np.int32([1, 9])],
        [[1, 0, 0, 0], [1, 1, 1, 1]],
    ),
    "roll": (lambda x: tf.roll(x, [5, -1], [2, 1]), [V], np.roll(V, [5, -1], [2, 1])),
    "roll fed": (lambda x, n: tf.roll(x, n, 0), [V, np.int32(-3)], np.roll(V, -3, 0)),
    "meshgrid": (tf.meshgrid, [F[0], I[0]], np.meshgrid(F[0], I[0])),
    "meshgrid ij": (
        lambda *a: tf.meshgrid(*a, indexing="ij"),
        [F[0], F[0], I[0]],
        np.meshgrid(F[0], F[0], I[0], indexing="ij"),
    ),
    "gather batch_dims": (
        lambda x, i: tf.gather(x, i, batch_dims=1),
        [V, np.int32([[2, 0], [1, 1]])],
        np.stack([V[0][[2, 0]], V[1][[1, 1]]]),
    ),
    "gather batch_dims axis": (
        lambda x, i: tf.gather(x, i, axis=-1, batch_dims=1),
        [V, np.int32([[[3, 0]], [[1, 2]]])],
        np.stack([V[0][:, [[3, 0]]], V[1][:, [[1, 2]]]]),
    ),
    "tensor_scatter_update": (
        tf.tensor_scatter_update,
        [F, np.int32([[2], [0]]), V[0, :2]],
        UPDATED,
    ),
    "tensor_scatter_add": (
        tf.tensor_scatter_add,
        [I, np.int64([[2, 1], [2, 1], [0, 3]]), np.int32([5, 6, 7])],
        I + np.int32([[0, 0, 0, 7], [0, 0, 0, 0], [0, 11, 0, 0]]),
    ),
    "tensor_scatter_sub": (
        tf.tensor_scatter_sub,
        [F[0], np.int32([[1]]), np.float32([2])],
        F[0] - [0, 2, 0, 0],
    ),
    "segment_mean": (tf.segment_mean, [ROWS, IDS], by_segment(np.mean, IDS, 3, 0)),
    "segment_max": (tf.segment_max, [ROWS, IDS], by_segment(np.max, IDS, 3, 0)),
    "segment_min": (tf.segment_min, [ROWS, IDS], by_segment(np.min, IDS, 3, 0)),
    "segment_prod": (tf.segment_prod, [ROWS, IDS], by_segment(np.prod, IDS, 3, 1)),
    **{
        f"unsorted_segment_{name}": (
            lambda x, i, f=f"unsorted_segment_{name}": getattr(tf, f)(x, i, 5),
            [ROWS, ANY_ORDER],
            by_segment(fn, ANY_ORDER, 5, empty),
        )
        for name, fn, empty in (
            ("mean", np.mean, 0),
            ("max", np.max, LEAST),
            ("min", np.min, MOST),
            ("prod", np.prod, 1),
            ("sqrt_n", lambda r, axis: r.sum(axis) / np.sqrt(len(r)), 0),
        )
    },
    "dynamic_partition": (
        lambda x, p: tf.dynamic_partition(x, p, 3),
        [ROWS, np.int32([2, 0, 2, 0, 0])],
        [ROWS[[1, 3, 4]], ROWS[:0], ROWS[[0, 2]]],
    ),
    "dynamic_stitch": (
        lambda i, j, x, y: tf.dynamic_stitch([i, j], [x, y]),
        [np.int32(5), np.int32([[0, 1], [2, 3]]), ROWS[0], V[:, :2, :2]],
        np.concatenate([V[:, :2, :2].reshape(4, 2), np.zeros((1, 2)), ROWS[:1]]),
    ),
    "space_to_depth": (
        lambda x: tf.space_to_depth(x, 2),
        [R.rand(2, 4, 6, 3).astype(np.float32)],
        None,
    ),
    "depth_to_space": (
        lambda x: tf.depth_to_space(x, 2),
        [R.rand(2, 2, 3, 8).astype(np.float32)],
        None,
    ),
    "space_to_batch": (
        lambda x: tf.space_to_batch_nd(x, [2, 3], [[1, 0], [2, 1]]),
        [R.rand(2, 3, 3, 2)],
        None,
    ),
    "batch_to_space": (
        lambda x: tf.batch_to_space_nd(x, [2, 3], [[1, 0], [2, 1]]),
        [R.rand(12, 2, 2, 2)],
        None,
    ),
}


def _blocks_out(x: np.ndarray, a: int, b: int) -> np.ndarray:
    n, h, w, c = x.shape
    return x.reshape(n, h // a, a, w // b, b, c)


def _expected(name: str, x: np.ndarray) -> np.ndarray:
    if name == "space_to_depth":
        n, h, w, c = x.shape
        return _blocks_out(x, 2, 2).transpose(0, 1, 3, 2, 4, 5).reshape(n, h // 2, w // 2, 4 * c)
    if name == "depth_to_space":
        n, h, w, c = x.shape
        y = x.reshape(n, h, w, 2, 2, c // 4).transpose(0, 1, 3, 2, 4, 5)
        return y.reshape(n, 2 * h, 2 * w, c // 4)
    if name == "space_to_batch":
        p = np.pad(x, [(0, 0), (1, 0), (2, 1), (0, 0)])
        n, h, w, c = p.shape
        return _blocks_out(p, 2, 3).transpose(2, 4, 0, 1, 3, 5).reshape(6 * n, h // 2, w // 3, c)
    n, h, w, c = x.shape
    y = (
        x.reshape(2, 3, n // 6, h, w, c)
        .transpose(2, 3, 0, 4, 1, 5)
        .reshape(n // 6, 2 * h, 3 * w, c)
    )
    return y[:, 1:, 2:-1]


@engines.BOTH
@pytest.mark.parametrize("opened", [False, True], ids=["known", "open"])
@pytest.mark.parametrize("name", CASES)
def test_values(engine: str, name: str, opened: bool) -> None:
    function, values, expected = CASES[name]
    if expected is None:
        expected = _expected(name, values[0])
    with np.errstate(all="ignore"):
        compare(engine, function, values, expected, opened=opened)


D = away(3, 3)
GRADIENTS: dict[str, tuple[Any, ...]] = {
    "asin": (tf.asin, [away(3) / 2]),
    "acos": (tf.acos, [away(3) / 2]),
    "asinh": (tf.asinh, [away(3)]),
    "acosh": (tf.acosh, [1 + pos(3)]),
    "atanh": (tf.atanh, [away(3) / 2]),
    "atan2": (tf.atan2, [away(2, 8), away(8, seed=3)]),
    "xlogy": (tf.math.xlogy, [away(3), pos(3)]),
    "div_no_nan": (lambda x: tf.div_no_nan(x, np.array([0.7, 0, -0.4])), [away(3)]),
    "cross": (tf.cross, [away(2, 3), away(2, 3, seed=2)]),
    "lin_space": (lambda a, b: tf.lin_space(a, b, 4), [np.array(0.5), np.array(2.0)]),
    "cumprod": (lambda x: tf.cumprod(x, 1), [away(2, 3)]),
    "cumulative_logsumexp": (lambda x: tf.math.cumulative_logsumexp(x, 1), [away(2, 3)]),
    "einsum": (lambda a, b: tf.einsum("ij,kj->ik", a, b), [away(2, 3), away(4, 3)]),
    "reduce_std": (lambda x: tf.math.reduce_std(x, 1), [away(2, 3)]),
    "matrix_band_part": (lambda x: tf.matrix_band_part(x, 0, 1), [D]),
    "matrix_diag": (tf.matrix_diag, [away(2, 3)]),
    "matrix_diag_part": (tf.matrix_diag_part, [away(2, 3, 4)]),
    "matrix_set_diag": (tf.matrix_set_diag, [away(2, 4, 3), away(2, 3, seed=1)]),
    "trace": (tf.trace, [D]),
    "det": (tf.linalg.det, [D]),
    "sort": (lambda x: tf.sort(x, 0), [away(4, 2)]),
    "top_k": (lambda x: tf.nn.top_k(x, 2).values, [away(2, 4)]),
    "reverse_sequence": (lambda x: tf.reverse_sequence(x, [1, 3], 1), [away(2, 3)]),
    "roll": (lambda x: tf.roll(x, 2, 1), [away(2, 3)]),
    "meshgrid": (lambda a, b: tf.meshgrid(a, b)[0] * tf.meshgrid(a, b)[1], [away(2), away(3)]),
    "gather": (lambda x: tf.gather(x, [[0, 2], [1, 1]], batch_dims=1), [away(2, 3)]),
    "scatter": (lambda x, u: tf.tensor_scatter_update(x, [[2], [0]], u), [away(3, 2), away(2, 2)]),
    "scatter add": (lambda x, u: tf.tensor_scatter_add(x, [[1], [1]], u), [away(3), away(2)]),
    "segment_mean": (lambda x: tf.segment_mean(x, [0, 0, 2]), [away(3, 2)]),
    "segment_max": (lambda x: tf.segment_max(x, [0, 0, 2]), [away(3, 2)]),
    "segment_prod": (lambda x: tf.segment_prod(x, [0, 0, 2]), [away(3, 2)]),
    "space_to_depth": (lambda x: tf.space_to_depth(x, 2), [away(1, 4, 2, 1)]),
    "space_to_batch": (lambda x: tf.space_to_batch(x, [[0, 0], [1, 1]], 2), [away(1, 4, 2, 1)]),
    "dynamic_stitch": (lambda a, b: tf.dynamic_stitch([[0, 3], [1]], [a, b]), [away(2), away(1)]),
}


@engines.BOTH
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(engine: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engines.module(engine)
    monkeypatch.setenv("GRAPHIO_TARGET", engine)
    check(*GRADIENTS[name])


SHAPES: dict[str, tuple[Any, ...]] = {
    "top_k": (lambda x: tf.nn.top_k(x, 2), [None, 5], [None, 2]),
    "matrix_diag": (tf.matrix_diag, [None, 5], [None, 5, 5]),
    "matrix_diag_part": (tf.matrix_diag_part, [None, 5, 3], [None, 3]),
    "det": (tf.linalg.det, [None, 3, 3], [None]),
    "einsum": (lambda x: tf.einsum("ij,ij->j", x, x), [None, 4], [4]),
    "roll": (lambda x: tf.roll(x, 1, 0), [None, 4], [None, 4]),
    "space_to_depth": (lambda x: tf.space_to_depth(x, 2), [None, 4, 6, 3], [None, 2, 3, 12]),
    "space_to_batch": (
        lambda x: tf.space_to_batch(x, [[0, 0], [0, 0]], 2),
        [None, 4, 6, 3],
        [None, 2, 3, 3],
    ),
    "cumprod": (tf.cumprod, [None, 4], [None, 4]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_static_shapes(name: str) -> None:
    function, shape, expected = SHAPES[name]
    assert static(function, shape) == expected


ERRORS: dict[str, tuple[Any, ...]] = {
    "asin int": (lambda: tf.asin(tf.constant(1)), TypeError, "floating"),
    "atan2 types": (
        lambda: tf.atan2(tf.constant(1.0), tf.constant(1)),
        TypeError,
        "does not match",
    ),
    "and float": (lambda: tf.bitwise.bitwise_and(1.0, 2.0), TypeError, "integer"),
    "linspace": (lambda: tf.linspace(0.0, 1.0, 0), ValueError, "num > 0"),
    "einsum": (lambda: tf.einsum("ij,jk->ik", F, F), ValueError, "equal"),
    "einsum text": (lambda: tf.einsum("ij->z", F), ValueError, "in no input"),
    "top_k": (lambda: tf.nn.top_k(F, 5), ValueError, "last dimension >= k"),
    "sort": (lambda: tf.sort(F, direction="UP"), ValueError, "direction"),
    "unique": (lambda: tf.unique(F), ValueError, "rank 1"),
    "band": (lambda: tf.matrix_band_part(F[0], 1, 1), ValueError, "at least rank 2"),
    "det": (lambda: tf.matrix_determinant(F), ValueError, "equal"),
    "cross": (lambda: tf.cross(F, F), ValueError, r"\(\.\.\., 3\)"),
    "gather": (lambda: tf.gather(F, [0], axis=0, batch_dims=1), ValueError, "batch_dims"),
    "roll": (lambda: tf.roll(F, [1, 2], 0), ValueError, "equal"),
    "reverse_sequence": (lambda: tf.reverse_sequence(F, [1], 1), ValueError, "equal"),
    "scatter": (lambda: tf.tensor_scatter_add(F, [[1]], F), ValueError, "equal"),
    "space_to_depth": (
        lambda: tf.space_to_depth(np.zeros((1, 3, 4, 1)), 2),
        ValueError,
        "divisible",
    ),
    "meshgrid": (lambda: tf.meshgrid([1], indexing="yx"), ValueError, "indexing"),
    "searchsorted": (lambda: tf.searchsorted([1], [1], side="up"), ValueError, "side"),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    build, error, text = ERRORS[name]
    with tf.Graph().as_default(), pytest.raises(error, match=re.compile(text)):
        build()


class _Known:
    """Knows what to do with a tensor to its left."""

    def __radd__(self, other: tf.Tensor) -> tuple[str, str]:
        return "sum", other.name

    __rand__ = __rmatmul__ = __radd__


class _Unknown(_Known):
    def __radd__(self, other: tf.Tensor) -> Any:
        return NotImplemented

    def __rmatmul__(self, other: tf.Tensor) -> Any:
        raise TypeError("no matrix")


def test_an_object_may_have_the_operator_that_a_tensor_lacks() -> None:
    with tf.Graph().as_default():
        x, flag = tf.ones([1, 1], name="x"), tf.constant(True, name="flag")
        assert x + _Known() == x @ _Known() == ("sum", "x:0")
        assert flag & _Known() == ("sum", "flag:0")
        for failing in (lambda: x + _Unknown(), lambda: x @ _Unknown(), lambda: x - _Known()):
            with pytest.raises(TypeError, match="Expected float32"):
                failing()


def test_add_n_takes_the_values_of_a_dict() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        assert session.run(tf.add_n({"a": 1, "b": 2}.values())) == 3


def test_a_matmul_of_bytes_is_refused_while_it_is_built() -> None:
    with tf.Graph().as_default(), pytest.raises(TypeError, match="int8 not in list"):
        tf.matmul(np.ones([2, 2], np.int8), np.ones([2, 2], np.int8))
