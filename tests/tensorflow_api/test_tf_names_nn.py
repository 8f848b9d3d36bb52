"""Convolutions, pools, statistics and embeddings under TensorFlow's names."""

from __future__ import annotations

import itertools
import re
from typing import Any

import engines
import numpy as np
import pytest
from gradient_check import away, check, pos
from tf_names import compare, run, static

import graphio as tf

R = np.random.RandomState(8)


def draw(*shape: int) -> np.ndarray:
    return R.randn(*shape).astype(np.float32)


@pytest.mark.parametrize("kind", ["max_pool", "avg_pool"])
def test_lines_and_volumes_are_pooled_as_images_are(kind: str) -> None:
    pool = getattr(tf.nn, kind)
    for positions, format_of in ((1, "NWC"), (3, "NDHWC")):
        x = np.random.RandomState(3).rand(2, *[5] * positions, 3)
        own = getattr(tf.nn, f"{kind}{positions}d")(x, 2, 2, "SAME", format_of)
        first = pool(np.moveaxis(x, -1, 1), 2, 2, "SAME", "NCHW")
        with tf.Session() as session:
            known, found, moved = session.run([own, pool(x, 2, 2, "SAME"), first])
        np.testing.assert_array_equal(found, known)
        np.testing.assert_array_equal(np.moveaxis(moved, 1, -1), known)


@pytest.mark.parametrize("kind", ["max_pool", "avg_pool"])
def test_a_list_of_tensors_is_pooled_as_their_stack(kind: str) -> None:
    pool = getattr(tf.nn, kind)
    for positions in (1, 2, 3):
        parts = [tf.constant(draw(*[4] * positions, 2)) for _ in range(2)]
        with tf.Session() as session:
            listed, stacked = session.run(
                [pool(given, 2, 2, "VALID") for given in (parts, tf.stack(parts))]
            )
        np.testing.assert_array_equal(listed, stacked)


def test_dropout_that_keeps_all_is_no_operation() -> None:
    x = tf.ones([3])
    assert tf.nn.dropout(x, tf.constant(1.0)) is tf.nn.dropout(x, rate=0.0) is x


@pytest.mark.parametrize(
    ("options", "reported"),
    [
        ({"keep_prob": 0.5, "rate": 0.5}, "give keep_prob or rate; both were given"),
        ({}, "give keep_prob or rate; neither was given"),
        ({"rate": 1.5}, r"^rate must be a scalar tensor or a float in the range \[0, 1\), got 1.5"),
        ({"rate": 1}, "^rate must be .* got 1"),
        ({"rate": -0.5}, "^rate must be .* got -0.5"),
        ({"keep_prob": 0.0}, r"^keep_prob must be .*\(0, 1\], got 0.0"),
    ],
)
def test_dropout_takes_one_probability(options: dict[str, float], reported: str) -> None:
    with tf.Graph().as_default(), pytest.raises(ValueError, match=reported):
        tf.nn.dropout(tf.ones([3]), **options)


def windows(x: np.ndarray, kernel: Any, strides: Any, gaps: Any, padding: str, fill: float) -> Any:
    """Yields each position of the result with the elements of its window, channels last."""
    extents = [(k - 1) * g + 1 for k, g in zip(kernel, gaps, strict=True)]
    sizes = x.shape[1:-1]
    if padding == "SAME":
        out = [-(-n // s) for n, s in zip(sizes, strides, strict=True)]
        rest = [
            max((o - 1) * s + e - n, 0)
            for o, s, e, n in zip(out, strides, extents, sizes, strict=True)
        ]
        pads = [(0, 0), *((r // 2, r - r // 2) for r in rest), (0, 0)]
        x = np.pad(x.astype(np.float64), pads, constant_values=fill)
    else:
        out = [(n - e) // s + 1 for n, e, s in zip(sizes, extents, strides, strict=True)]
    for position in itertools.product(*map(range, out)):
        cut = tuple(
            slice(p * s, p * s + e, g)
            for p, s, e, g in zip(position, strides, extents, gaps, strict=True)
        )
        yield position, x[(slice(None), *cut)], tuple(out)


def convolved(x: Any, w: Any, strides: Any, padding: str, gaps: Any = None) -> np.ndarray:
    axes = x.ndim - 2
    y = None
    for position, part, out in windows(x, w.shape[:-2], strides, gaps or [1] * axes, padding, 0.0):
        if y is None:
            y = np.zeros((x.shape[0], *out, w.shape[-1]))
        y[(slice(None), *position)] = np.tensordot(part, w.astype(np.float64), axes + 1)
    return y


def pooled(x: Any, kernel: Any, strides: Any, padding: str, how: Any, gaps: Any = None) -> Any:
    axes, y = x.ndim - 2, None
    for position, part, out in windows(x, kernel, strides, gaps or [1] * axes, padding, np.nan):
        if y is None:
            y = np.zeros((x.shape[0], *out, x.shape[-1]))
        y[(slice(None), *position)] = how(part, axis=tuple(range(1, axes + 1)))
    return y


def transposed(shape: Any, w: Any, dy: Any, strides: Any, padding: str, gaps: Any = None) -> Any:
    """The transpose of convolved, from its values on the unit images."""
    x = np.zeros(shape)
    for i in range(x.size):
        unit = np.zeros(x.size)
        unit[i] = 1
        y = convolved(unit.reshape(shape), w, strides, padding, gaps)
        x.reshape(-1)[i] = (y * dy).sum()
    return x


X1, W1 = draw(2, 7, 3), draw(3, 3, 4)
X2, W2 = draw(2, 5, 6, 2), draw(2, 3, 2, 3)
X3, W3 = draw(1, 4, 5, 3, 2), draw(2, 3, 2, 2, 3)
DY1, DY2, DY3 = draw(1, 3, 4), draw(1, 4, 4, 3), draw(1, 2, 2, 2, 3)
SCALE, SHIFT, MEAN, VARIANCE = draw(2), draw(2), draw(2), draw(2) ** 2


def first(x: np.ndarray) -> np.ndarray:
    return np.moveaxis(x, -1, 1)


def argmax_of(x: Any, batch: bool) -> np.ndarray:
    n, h, w, c = x.shape
    number = np.arange(x.size).reshape(x.shape) if batch else (
        np.broadcast_to(np.arange(h * w * c).reshape(1, h, w, c), x.shape)
    )  # fmt: skip
    found = np.zeros((n, -(-h // 2), -(-w // 2), c), np.int64)
    for i, y, z, k in np.ndindex(found.shape):
        part = (i, slice(2 * y, 2 * y + 2), slice(2 * z, 2 * z + 2), k)
        found[i, y, z, k] = number[part].ravel()[np.argmax(x[part])]
    return found


def lrn(x: np.ndarray, r: int, bias: float, alpha: float, beta: float) -> np.ndarray:
    total = np.stack(
        [(x[..., max(0, i - r) : i + r + 1] ** 2).sum(-1) for i in range(x.shape[-1])], -1
    )
    return x / (bias + alpha * total) ** beta


def normalized(x: Any, mean: Any, variance: Any) -> np.ndarray:
    return (x - mean) / np.sqrt(variance + 0.001) * SCALE + SHIFT


MOMENTS = X2.reshape(-1, 2).astype(np.float64)
WEIGHTS = R.randint(0, 4, (5, 1)).astype(np.float32)
REPEATED = np.repeat(X2[0].astype(np.float64), WEIGHTS[:, 0].astype(int), axis=0)
TARGETS = np.float32([0, 0.5, 1, 2.5])
LOGS = np.float32([0.1, -1, 0.3, 2])
STIRLING = np.where(TARGETS > 1, 2.5 * np.log(2.5) - 2.5 + 0.5 * np.log(2 * np.pi * 2.5), 0.0)
TABLE = draw(7, 2)
IDS = np.int32([[6, 0], [3, 3]])

CASES: dict[str, tuple[Any, ...]] = {
    "conv1d": (
        lambda x, w: tf.nn.conv1d(x, w, 2, "SAME"),
        [X1, W1],
        convolved(X1, W1, [2], "SAME"),
    ),
    "conv1d first": (
        lambda x, w: tf.nn.conv1d(x, w, 1, "VALID", data_format="NCW", dilations=2),
        [first(X1), W1],
        first(convolved(X1, W1, [1], "VALID", [2])),
    ),
    "conv1d_transpose": (
        lambda x, w: tf.nn.conv1d_transpose(x, w, [1, 6, 3], 2, "SAME"),
        [DY1, W1[:, :, :4]],
        transposed((1, 6, 3), W1, DY1, [2], "SAME"),
    ),
    "conv3d": (
        lambda x, w: tf.nn.conv3d(x, w, [1, 2, 1, 2, 1], "SAME"),
        [X3, W3],
        convolved(X3, W3, [2, 1, 2], "SAME"),
    ),
    "conv3d first": (
        lambda x, w: tf.nn.conv3d(x, w, 1, "VALID", "NCDHW", [1, 1, 2, 1, 2]),
        [first(X3), W3],
        first(convolved(X3, W3, [1, 1, 1], "VALID", [2, 1, 2])),
    ),
    "conv3d_transpose": (
        lambda y, w: tf.nn.conv3d_transpose(y, w, [1, 3, 4, 3, 2], 2),
        [DY3, W3],
        transposed((1, 3, 4, 3, 2), W3, DY3, [2, 2, 2], "SAME"),
    ),
    "atrous_conv2d": (
        lambda x, w: tf.nn.atrous_conv2d(x, w, 2, "SAME"),
        [X2, W2],
        convolved(X2, W2, [1, 1], "SAME", [2, 2]),
    ),
    "atrous_conv2d_transpose": (
        lambda y, w: tf.nn.atrous_conv2d_transpose(y, w, [1, 4, 4, 2], 2, "SAME"),
        [DY2, W2],
        transposed((1, 4, 4, 2), W2, DY2, [1, 1], "SAME", [2, 2]),
    ),
    "max_pool1d": (
        lambda x: tf.nn.max_pool1d(x, 3, 2, "SAME"),
        [X1],
        pooled(X1, [3], [2], "SAME", np.nanmax),
    ),
    "avg_pool1d": (
        lambda x: tf.nn.avg_pool1d(x, 3, 2, "SAME"),
        [X1],
        pooled(X1, [3], [2], "SAME", np.nanmean),
    ),
    "max_pool2d": (
        lambda x: tf.nn.max_pool2d(x, 2, 2, "VALID"),
        [X2],
        pooled(X2, [2, 2], [2, 2], "VALID", np.nanmax),
    ),
    "max_pool3d": (
        lambda x: tf.nn.max_pool3d(x, [1, 2, 3, 2, 1], 2, "SAME"),
        [X3],
        pooled(X3, [2, 3, 2], [2, 2, 2], "SAME", np.nanmax),
    ),
    "avg_pool3d": (
        lambda x: tf.nn.avg_pool3d(x, 2, [1, 1, 1, 2, 1, 1][:5], "SAME"),
        [X3],
        pooled(X3, [2, 2, 2], [1, 1, 2], "SAME", np.nanmean),
    ),
    "avg_pool3d first": (
        lambda x: tf.nn.avg_pool3d(x, 2, 1, "VALID", "NCDHW"),
        [first(X3)],
        first(pooled(X3, [2, 2, 2], [1, 1, 1], "VALID", np.nanmean)),
    ),
    "pool": (
        lambda x: tf.nn.pool(x, [2, 3], "MAX", "SAME", dilation_rate=[2, 1]),
        [X2],
        pooled(X2, [2, 3], [1, 1], "SAME", np.nanmax, [2, 1]),
    ),
    "pool average": (
        lambda x: tf.nn.pool(x, [2], "AVG", "VALID", dilation_rate=[3]),
        [X1],
        pooled(X1, [2], [1], "VALID", np.nanmean, [3]),
    ),
    "max_pool_with_argmax": (
        lambda x: tf.nn.max_pool_with_argmax(x, [1, 2, 2, 1], [1, 2, 2, 1], "SAME"),
        [X2],
        [pooled(X2, [2, 2], [2, 2], "SAME", np.nanmax), argmax_of(X2, False)],
    ),
    "max_pool of integers": (
        lambda x: tf.nn.max_pool(tf.cast(x * 100, tf.int16), [2, 2], [2, 2], "SAME"),
        [X2],
        pooled((X2 * 100).astype(np.int16).astype(float), [2, 2], [2, 2], "SAME", np.nanmax),
    ),
    "max_pool_with_argmax of integers": (
        lambda x: (
            tf.nn.max_pool_with_argmax(
                tf.cast(x * 100, tf.int32), [1, 2, 2, 1], [1, 2, 2, 1], "SAME"
            ).output
        ),
        [X2],
        pooled((X2 * 100).astype(np.int32).astype(float), [2, 2], [2, 2], "SAME", np.nanmax),
    ),
    "max_pool_with_argmax across channels": (
        lambda x: tf.nn.max_pool_with_argmax(x, [1, 1, 1, 2], [1, 1, 1, 2], "SAME"),
        [X2],
        [X2, np.broadcast_to(np.arange(X2[0].size).reshape(X2[0].shape), X2.shape)],
    ),
    "max_pool_with_argmax batch": (
        lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "SAME", include_batch_in_index=True),
        [X2],
        [pooled(X2, [2, 2], [2, 2], "SAME", np.nanmax), argmax_of(X2, True)],
    ),
    "lrn": (
        lambda x: tf.nn.lrn(x, 1, 2.0, 0.5, 0.75),
        [draw(1, 2, 2, 7)],
        None,
    ),
    "fused_batch_norm": (
        lambda x: tf.nn.fused_batch_norm(x, SCALE, SHIFT),
        [X2],
        [normalized(X2, MOMENTS.mean(0), MOMENTS.var(0)), MOMENTS.mean(0), MOMENTS.var(0, ddof=1)],
    ),
    "fused_batch_norm first": (
        lambda x: tf.nn.fused_batch_norm(
            x, SCALE, SHIFT, MEAN, VARIANCE, data_format="NCHW", is_training=False
        ),
        [first(X2)],
        [first(normalized(X2, MEAN, VARIANCE)), MEAN, VARIANCE],
    ),
    "global normalization": (
        lambda x: tf.nn.batch_norm_with_global_normalization(
            x, MEAN, VARIANCE, SHIFT, SCALE, 0.001, True
        ),
        [X2],
        normalized(X2, MEAN, VARIANCE),
    ),
    "weighted_moments": (
        lambda x, w: list(tf.nn.weighted_moments(x, [0], w)),
        [X2[0, :, 0], WEIGHTS],
        [REPEATED[:, 0].mean(0), REPEATED[:, 0].var(0)],
    ),
    "weighted_moments kept": (
        lambda x, w: list(tf.nn.weighted_moments(x, [0], w, keep_dims=True)),
        [X2[0, :, 0], WEIGHTS],
        [REPEATED[:, 0].mean(0, keepdims=True), REPEATED[:, 0].var(0, keepdims=True)],
    ),
    "sufficient_statistics": (
        lambda x: list(tf.nn.sufficient_statistics(x, [0, -2], 0.5)[:3]),
        [X2],
        [np.float32(12), (X2 - 0.5).sum((0, 2)), ((X2 - 0.5) ** 2).sum((0, 2))],
    ),
    "normalize_moments": (
        lambda x: list(
            tf.nn.normalize_moments(*tf.nn.sufficient_statistics(x, [0], tf.constant(0.5)))
        ),
        [X2],
        [X2.mean(0), X2.var(0)],
    ),
    "log_poisson_loss": (tf.nn.log_poisson_loss, [TARGETS, LOGS], np.exp(LOGS) - LOGS * TARGETS),
    "log_poisson_loss full": (
        lambda t, x: tf.nn.log_poisson_loss(t, x, True),
        [TARGETS, LOGS],
        np.exp(LOGS) - LOGS * TARGETS + STIRLING,
    ),
    "embedding_lookup": (
        lambda a, b, c, i: tf.nn.embedding_lookup([a, b, c], i),
        [TABLE[0::3], TABLE[1::3], TABLE[2::3], IDS],
        TABLE[IDS],
    ),
    "embedding_lookup div": (
        lambda a, b, c, i: tf.nn.embedding_lookup([a, b, c], i, "div"),
        [TABLE[:3], TABLE[3:5], TABLE[5:], IDS],
        TABLE[IDS],
    ),
    "depthwise native": (
        lambda x, w: tf.nn.depthwise_conv2d_native(
            x, w, [1, 1, 1, 1], "VALID", dilations=[1, 2, 1, 1]
        ),
        [X2, W2],
        np.concatenate(
            [
                convolved(X2[..., i : i + 1], W2[:, :, i : i + 1], [1, 1], "VALID", [2, 1])
                for i in range(2)
            ],
            -1,
        ),
    ),
}
#: their filters' static sizes are needed
CLOSED = {"depthwise native"}


@engines.BOTH
@pytest.mark.parametrize("opened", [False, True], ids=["known", "open"])
@pytest.mark.parametrize("name", CASES)
def test_values(engine: str, name: str, opened: bool) -> None:
    function, values, expected = CASES[name]
    if expected is None:
        expected = lrn(values[0].astype(np.float64), 1, 2.0, 0.5, 0.75)
    if opened and name in CLOSED:
        with pytest.raises(ValueError, match="known"):
            run(engine, function, values, opened=True)
        return
    compare(engine, function, values, expected, opened=opened, rtol=2e-5)


GRADIENTS: dict[str, tuple[Any, ...]] = {
    "conv1d": (lambda x, w: tf.nn.conv1d(x, w, 2, "SAME"), [away(1, 5, 2), away(3, 2, 2, seed=2)]),
    "conv3d": (
        lambda x, w: tf.nn.conv3d(x, w, 2, "SAME"),
        [away(1, 3, 2, 3, 1), away(2, 2, 2, 1, 2)],
    ),
    "conv3d_transpose": (
        lambda y, w: tf.nn.conv3d_transpose(y, w, [1, 3, 2, 3, 1], 2),
        [away(1, 2, 1, 2, 2), away(2, 2, 2, 1, 2)],
    ),
    "max_pool3d": (lambda x: tf.nn.max_pool3d(x, 2, 1, "SAME"), [away(1, 3, 2, 3, 1)]),
    "avg_pool3d": (lambda x: tf.nn.avg_pool3d(x, 2, 2, "SAME"), [away(1, 3, 2, 3, 1)]),
    "max_pool1d": (lambda x: tf.nn.max_pool1d(x, 2, 1, "VALID"), [away(2, 4, 2)]),
    "with_argmax": (
        lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "SAME").output,
        [away(1, 3, 4, 2)],
    ),
    "lrn": (lambda x: tf.nn.lrn(x, 1), [away(1, 2, 1, 4)]),
    "fused_batch_norm": (
        lambda x, s, o: tf.nn.fused_batch_norm(x, s, o)[0],
        [away(2, 2, 3, 2), away(2), away(2, seed=4)],
    ),
    "weighted_moments": (
        lambda x, w: tf.nn.weighted_moments(x, [0], w)[1],
        [away(4, 2), pos(4, 1)],
    ),
    "log_poisson_loss": (lambda t, x: tf.nn.log_poisson_loss(t, x, True), [2 + pos(3), away(3)]),
    "embedding_lookup": (
        lambda a, b: tf.nn.embedding_lookup([a, b], [0, 2, 1, 2]),
        [away(2, 2), away(1, 2)],
    ),
}


@engines.BOTH
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients(engine: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engines.module(engine)
    monkeypatch.setenv("GRAPHIO_TARGET", engine)
    check(*GRADIENTS[name])


SHAPES: dict[str, tuple[Any, ...]] = {
    "conv1d": (lambda x: tf.nn.conv1d(x, W1, 2, "SAME"), [None, 7, 3], [None, 4, 4]),
    "conv3d": (
        lambda x: tf.nn.conv3d(x, W3, 1, "VALID"),
        [None, 4, 5, None, 2],
        [None, 3, 3, None, 3],
    ),
    "conv3d_transpose": (
        lambda x: tf.nn.conv3d_transpose(x, W3, [1, 8, 8, 8, 2], 2),
        [1, 4, 4, 4, 3],
        [1, 8, 8, 8, 2],
    ),
    "pool": (lambda x: tf.nn.pool(x, [2], "AVG", "SAME", strides=[2]), [None, 5, 2], [None, 3, 2]),
    "argmax": (
        lambda x: tf.nn.max_pool_with_argmax(x, 2, 2, "VALID"),
        [None, 5, 4, 2],
        [None, 2, 2, 2],
    ),
    "lrn": (tf.nn.lrn, [None, 5, 4, 2], [None, 5, 4, 2]),
}


@pytest.mark.parametrize("name", SHAPES)
def test_static_shapes(name: str) -> None:
    function, shape, expected = SHAPES[name]
    assert static(function, shape) == expected


ERRORS: dict[str, tuple[Any, ...]] = {
    "argmax across images": (
        lambda: tf.nn.max_pool_with_argmax(X2, [2, 1, 1, 1], [1, 1, 1, 1], "SAME"),
        tf.errors.UnimplementedError,
        "across height and width",
    ),
    "argmax across channels and positions": (
        lambda: tf.nn.max_pool_with_argmax(X2, [1, 2, 2, 2], [1, 2, 2, 2], "SAME"),
        tf.errors.UnimplementedError,
        "across height and width",
    ),
    "max_pool of int64": (
        lambda: tf.nn.max_pool(np.ones([1, 2, 2, 1], np.int64), 2, 2, "SAME"),
        TypeError,
        "int64",
    ),
    "atrous_conv2d of blocks that nothing holds": (
        lambda: tf.nn.atrous_conv2d(
            np.ones([1, 1, 1, 5]), np.ones([1, 1, 5, 1]), 2**31 - 1, "SAME"
        ),
        ValueError,
        "more elements than int64 counts",
    ),
    "conv1d rank": (lambda: tf.nn.conv1d(X1[0], W1, 1, "SAME"), ValueError, "rank 3"),
    "conv1d format": (
        lambda: tf.nn.conv1d(X1, W1, 1, "SAME", data_format="NDHWC"),
        ValueError,
        "NWC or NCW",
    ),
    "conv3d channels": (lambda: tf.nn.conv3d(X3, W3[..., :1, :], 1, "SAME"), ValueError, "equal"),
    "conv3d strides": (
        lambda: tf.nn.conv3d(X3, W3, [2, 1, 1, 1, 1], "SAME"),
        ValueError,
        "strides",
    ),
    "conv3d window": (lambda: tf.nn.conv3d(X3[:, :1], W3, 1, "VALID"), ValueError, "window"),
    "padding": (lambda: tf.nn.max_pool3d(X3, 2, 2, "FULL"), ValueError, "padding"),
    "pool type": (lambda: tf.nn.pool(X1, [2], "SUM", "SAME"), ValueError, "MAX"),
    "pool strides": (
        lambda: tf.nn.pool(X1, [2], "MAX", "SAME", dilation_rate=[2], strides=[2]),
        ValueError,
        "not supported",
    ),
    "lrn": (lambda: tf.nn.lrn(X3), ValueError, "rank 4"),
    "fused": (
        lambda: tf.nn.fused_batch_norm(X2, SCALE, SHIFT, is_training=False),
        ValueError,
        "given",
    ),
    "pool of rank 2": (lambda: tf.nn.max_pool(np.ones([2, 3]), 2, 2, "SAME"), ValueError, "rank"),
    "pool of nothing": (
        lambda: tf.nn.avg_pool(X2, [1, 0, 1, 1], 1, "SAME"),
        tf.errors.InvalidArgumentError,
        "posi",
    ),
    "pool beyond int64": (
        lambda: tf.nn.max_pool(X2, [1, 1 << 63, 1, 1], 1, "SAME"),
        ValueError,
        "of int64",
    ),
    "dropout of two": (lambda: tf.nn.dropout(np.ones([2]), [0.5, 1.0]), ValueError, "scalar"),
    "dropout shape": (
        lambda: tf.nn.dropout(np.ones([2]), tf.placeholder(tf.float64, [2])),
        ValueError,
        "expected a sca",
    ),
    "dropout dtype": (
        lambda: tf.nn.dropout(np.float32([1]), tf.placeholder(tf.float64)),
        ValueError,
        "match",
    ),
    "poisson": (lambda: tf.nn.log_poisson_loss(TARGETS, LOGS[:2]), ValueError, "equal"),
    "lookup": (lambda: tf.nn.embedding_lookup([TABLE] * 2, IDS, "odd"), ValueError, "strategy"),
    "int": (
        lambda: tf.nn.max_pool1d(np.zeros((1, 3, 1), np.int32), 2, 1, "SAME"),
        TypeError,
        "float",
    ),
}


@pytest.mark.parametrize("name", ERRORS)
def test_errors(name: str) -> None:
    build, error, text = ERRORS[name]
    with tf.Graph().as_default(), pytest.raises(error, match=re.compile(text)):
        build()


@engines.BOTH
@pytest.mark.parametrize("first", [False, True], ids=["NHWC", "NCHW"])
@pytest.mark.parametrize("known", [False, True])
def test_a_convolution_takes_explicit_paddings(engine: str, first: bool, known: bool) -> None:
    images, w = draw(2, 5, 6, 3), draw(3, 2, 3, 4)
    order = [0, 3, 1, 2] if first else [0, 1, 2, 3]
    pairs, steps = [[0, 0], [1, 2], [0, 1], [0, 0]], [1, 2, 1, 1]
    x = tf.placeholder(tf.float32, np.transpose(images, order).shape if known else [None] * 4)
    y = tf.nn.conv2d(
        x,
        w,
        [steps[i] for i in order],
        [pairs[i] for i in order],
        data_format="NCHW" if first else "NHWC",
    )
    back = np.argsort(order)
    padded = tf.placeholder(tf.float32, [2, 8, 7, 3])
    expected_values = tf.nn.conv2d(padded, w, steps, "VALID")
    feeds = {x: np.transpose(images, order), padded: np.pad(images, pairs)}
    with tf.Session(engine) as session:
        found = session.run([y, tf.gradients(y * y, x)[0]], feeds)
        expected = session.run(
            [expected_values, tf.gradients(expected_values * expected_values, padded)[0]], feeds
        )
    np.testing.assert_allclose(np.transpose(found[0], back), expected[0], rtol=1e-5, atol=1e-5)
    inside = expected[1][:, 1:6, :6]
    np.testing.assert_allclose(np.transpose(found[1], back), inside, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize(
    "padding", [[[0, 0], [1, 2], [0, 1]], [[0, 0], [1, -2], [0, 1], [0, 0]], [[1, 0]] * 4, None]
)
def test_other_paddings_of_a_convolution_are_refused(padding: Any) -> None:
    with pytest.raises(ValueError, match="padding is .*, expected 'SAME'"):
        tf.nn.conv2d(tf.zeros([1, 5, 5, 1]), tf.zeros([2, 2, 1, 1]), 1, padding)
    with pytest.raises(ValueError, match="padding is .*, expected 'SAME'"):
        tf.nn.max_pool(tf.zeros([1, 5, 5, 1]), 2, 2, padding)
