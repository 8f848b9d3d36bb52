"""Gradients of array and index operators as ONNX nodes, with shapes known and not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_check import away, check, pos

import graphio as tf
from graphio.onnx import call

I32 = np.int32
TARGETS = pytest.mark.parametrize("target", ["runtime", "cinfer"])


def ints(*values: Any, dtype: Any = np.int64) -> tf.Tensor:
    """A constant vector."""
    return tf.constant(np.array(values, dtype))


def fed(values: Any, dtype: Any = np.int64, rank: int = 1) -> tf.Tensor:
    """Numbers whose value and length are not known while the graph is built."""
    array = np.asarray(values, dtype)
    return tf.placeholder_with_default(array, [None] * array.ndim)


def one(op: str, *rest: Any, **attrs: Any) -> Callable[..., Any]:
    """A function of one tensor; the other inputs are made when the graph is."""
    return lambda x: call(op, x, *(r() if callable(r) else r for r in rest), **attrs)


def scattered(op: str, indices: Any, reduction: str, **attrs: Any) -> Callable[..., Any]:
    attrs = attrs if reduction == "none" else {**attrs, "reduction": reduction}
    return lambda x, u: call(op, x, tf.constant(np.array(indices)), u, **attrs)


def either(x: Any, y: Any) -> Any:
    return call("Where", tf.constant(np.array([[True, False, True]])), x, y)


def cumulated(axis: int, **attrs: int) -> Callable[..., Any]:
    return lambda x: call("CumProd", x, tf.constant(np.array(axis)), **attrs)


X = away(3, 4)
ZEROS = np.where(np.arange(12).reshape(3, 4) % 5 == 1, 0.0, X)
TWICE = [[0], [-1], [0]]
BATCHED = [[[1], [0], [-1]], [[0], [0], [1]]]
ALONG = [[0, -1, 1, 0], [0, 1, 1, 2]]


def backwards() -> tf.Tensor:
    return ints(-2, -1)


CASES: dict[str, tuple[Any, ...]] = {
    "Gather": (one("Gather", lambda: fed([[2, -1], [0, 2]]), axis=0), X),
    "Gather axis": (one("Gather", lambda: ints(-1, 0, -1, dtype="int32"), axis=-1), X),
    "Gather scalar": (one("Gather", lambda: tf.constant(np.array(-2)), axis=1), X),
    "GatherElements": (one("GatherElements", lambda: tf.constant(np.array(ALONG)), axis=0), X),
    "GatherElements 1": (
        one("GatherElements", lambda: fed([[0, -1, 0], [1, 1, 2]], "int32"), axis=-1),
        X,
    ),
    "GatherND": (one("GatherND", lambda: fed(TWICE)), X),
    "GatherND pairs": (one("GatherND", lambda: tf.constant(np.array([[0, 1], [-1, -1]]))), X),
    "GatherND batch": (one("GatherND", lambda: fed([[1], [-1], [0]]), batch_dims=1), away(3, 4, 2)),
    "GatherND batches": (
        one(
            "GatherND",
            lambda: tf.constant(np.array([[[1], [0], [-1]], [[0], [0], [1]]])),
            batch_dims=2,
        ),
        away(2, 3, 2),
    ),
    "TopK": (lambda x: call("TopK", x, ints(3), outputs=2)[0], X),
    "TopK smallest": (lambda x: call("TopK", x, fed([2]), outputs=2, axis=0, largest=0)[0], X),
    "Compress": (one("Compress", lambda: fed([True, False, True], bool), axis=0), X),
    "Compress flat": (one("Compress", lambda: fed([True, False, True, True], bool)), X),
    "ReverseSequence": (one("ReverseSequence", lambda: fed([3, 1, 0, 2])), X),
    "ReverseSequence batch": (
        one("ReverseSequence", lambda: ints(4, 0, 2), batch_axis=0, time_axis=1),
        X,
    ),
    "Trilu": (one("Trilu"), X),
    "Trilu lower": (one("Trilu", lambda: tf.constant(np.array(-1)), upper=0), away(2, 3, 3)),
    "CumProd": (cumulated(1), X),
    "CumProd zeros": (cumulated(-1), ZEROS),
    "CumProd exclusive": (cumulated(0, exclusive=1), ZEROS),
    "CumProd reverse": (cumulated(1, reverse=1), ZEROS),
    "CumProd both": (cumulated(0, reverse=1, exclusive=1), ZEROS),
    "TensorScatter": (
        lambda x, u: call("TensorScatter", x, u, fed([2, 0])),
        away(2, 4, 3),
        away(2, 2, 3, seed=1),
    ),
    "TensorScatter circular": (
        lambda x, u: call("TensorScatter", x, u, ints(3, 1), mode="circular", axis=-1),
        away(2, 3, 4),
        away(2, 3, 3, seed=1),
    ),
    "TensorScatter start": (
        lambda x, u: call("TensorScatter", x, u),
        away(2, 4, 3),
        away(2, 2, 3, seed=1),
    ),
    "Flatten": (one("Flatten", axis=-1), away(2, 3, 2)),
    "Flatten 0": (one("Flatten", axis=0), away(2, 3)),
    "ScatterElements none": (
        scattered("ScatterElements", [[0, -1, 1, 0], [1, 0, 2, 2]], "none", axis=0),
        X,
        away(2, 4, seed=1),
    ),
    "ScatterND none": (scattered("ScatterND", [[-1], [0]], "none"), X, away(2, 4, seed=1)),
    "Slice": (one("Slice", lambda: ints(1), lambda: ints(9), lambda: ints(-1)), X),
    "Slice back": (
        one(
            "Slice",
            lambda: ints(-1, 5),
            lambda: ints(-9, 0),
            lambda: ints(1, 0),
            lambda: ints(-2, -1),
        ),
        X,
    ),
    "Slice fed": (
        one(
            "Slice",
            lambda: fed([-3], "int32"),
            lambda: fed([9], "int32"),
            lambda: ints(1, dtype="int32"),
        ),
        X,
    ),
    "Slice all fed": (
        one(
            "Slice",
            lambda: fed([9, 0]),
            lambda: fed([-9, 2]),
            lambda: fed([-1, 0]),
            lambda: fed([-1, 1]),
        ),
        X,
    ),
    "Slice without axes": (
        one("Slice", lambda: ints(0, 3), lambda: ints(3, -9), None, lambda: ints(2, -3)),
        X,
    ),
    "Slice nothing": (one("Slice", lambda: ints(2), lambda: ints(1)), X),
    "Pad": (
        lambda x, v: call("Pad", x, ints(1, 0, 0, 2), v),
        X,
        np.array(0.5),
    ),
    "Pad value vector": (lambda x, v: call("Pad", x, fed([1, 0, 0, 2]), v), X, np.array([0.5])),
    "Pad negative": (lambda x, v: call("Pad", x, ints(-1, 2, 1, -1), v), X, np.array(0.5)),
    "Pad axes": (lambda x, v: call("Pad", x, ints(2, -1), v, ints(-1)), X, np.array(0.5)),
    "Pad axes fed": (one("Pad", lambda: fed([2, 1]), None, lambda: fed([0])), X),
    "Pad reflect": (one("Pad", lambda: ints(1, -1, 2, 3), mode="reflect"), X),
    "Pad edge": (one("Pad", lambda: fed([1, -1, 2, 3]), mode="edge"), X),
    "Pad wrap": (one("Pad", lambda: ints(1, 5), None, lambda: ints(1), mode="wrap"), X),
    "Pad edge value": (lambda x, v: call("Pad", x, ints(1, 0, 0, 2), v, mode="edge"), X, None),
    "Split": (lambda x: call("Split", x, ints(1, 3), outputs=2, axis=-1)[1], X),
    "Split default axis": (lambda x: call("Split", x, fed([2, 1]), outputs=2)[0], X),
    "Split uneven": (
        lambda x: call("Split", x, outputs=2, num_outputs=2, axis=0)[1],
        X,
    ),
    "Split zero": (lambda x: call("Split", x, ints(0, 4, 0), outputs=3, axis=1)[1], X),
    "Tile": (one("Tile", lambda: ints(2, 3)), X),
    "Tile fed": (one("Tile", lambda: fed([1, 2])), X),
    "Expand": (one("Expand", lambda: ints(2, 3, 4)), away(3, 1)),
    "Expand smaller": (one("Expand", lambda: ints(1, 4)), away(3, 1)),
    "Expand fed": (one("Expand", lambda: fed([2, 3, 4])), away(3, 1)),
    "Where": (either, away(2, 1), away(2, 3, seed=1)),
    "Squeeze": (one("Squeeze", lambda: ints(0, -1)), away(1, 3, 1)),
    "Squeeze fed": (one("Squeeze", lambda: fed([-1])), away(1, 3, 1)),
    "Squeeze all": (one("Squeeze"), away(1, 3, 1)),
    "Unsqueeze": (one("Unsqueeze", lambda: ints(0, -1)), X),
    "Unsqueeze fed": (one("Unsqueeze", lambda: fed([1])), X),
    "Reshape": (one("Reshape", lambda: ints(0, -1)), away(2, 3, 2)),
    "Reshape fed": (one("Reshape", lambda: fed([3, -1])), away(2, 3, 2)),
    "Transpose": (one("Transpose"), away(2, 3, 2)),
    "Transpose perm": (one("Transpose", perm=[2, 0, 1]), away(2, 3, 2)),
    "Concat": (lambda x, y: call("Concat", x, y, axis=-1), X, away(3, 2, seed=1)),
    "Identity": (one("Identity"), X),
}
for _reduction in ("add", "mul", "max", "min"):
    for _label, _x in (("", X), (" zeros", ZEROS)):
        if _label and _reduction != "mul":
            continue
        CASES[f"ScatterElements {_reduction}{_label}"] = (
            scattered("ScatterElements", ALONG, _reduction, axis=0),
            _x,
            np.where(away(2, 4, seed=1) > (0.5 if _label else 9), 0.0, away(2, 4, seed=1)),
        )
        CASES[f"ScatterND {_reduction}{_label}"] = (
            scattered("ScatterND", TWICE, _reduction),
            _x,
            away(3, 4, seed=2) + 0.005,
        )


@pytest.mark.parametrize("known", [True, False], ids=["known", "unknown"])
@pytest.mark.parametrize("name", CASES)
def test_gradients_agree_with_differences(name: str, known: bool) -> None:
    function, *values = CASES[name]
    if values[-1] is None:
        inner, values = function, values[:-1]

        def function(x: Any) -> Any:
            return inner(x, tf.constant(np.array(0.5)))

    shapes = np.shape if known else lambda v: [None] * np.ndim(v)
    second = "ScatterND mul zeros" != name and "ScatterElements mul zeros" != name
    check(function, values, shapes=shapes, second=second)


def test_choices_pass_no_gradient() -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float64, [3, 4])
        outputs = [
            *call("Unique", x, outputs=4),
            call("NonZero", x),
            call("EyeLike", x),
            call("Shape", x),
            call("Size", x),
            call("OneHot", x, ints(3), tf.constant(np.array([0.0, 1.0]))),
            call("TopK", x, ints(2), outputs=2)[1],
        ]
        for y in outputs:
            y = tf.cast(y, tf.float64)
            assert tf.gradients(y, x) == [None]


def test_equal_extremes_share() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.array([1.0, 3.0, 2.0]))
        u = tf.constant(np.array([3.0, 3.0, 0.0]))
        y = call("ScatterElements", x, ints(1, 1, 2), u, reduction="max")
        found = session.run(tf.gradients(y * tf.constant(np.array([5.0, 6.0, 7.0])), [x, u]))
    np.testing.assert_allclose(found[0], [5.0, 2.0, 7.0])
    np.testing.assert_allclose(found[1], [2.0, 2.0, 0.0])


def test_scatters_agree_with_torch() -> None:
    torch = pytest.importorskip("torch")
    x, u = ZEROS, away(2, 4, seed=3)
    index = np.array([[0, 2, 1, 0], [0, 1, 1, 2]])
    for ours, theirs in (("add", "sum"), ("mul", "prod"), ("max", "amax"), ("min", "amin")):
        tx, tu = (torch.tensor(v, requires_grad=True) for v in (x, u))
        y = torch.scatter_reduce(tx, 0, torch.tensor(index), tu, theirs)
        weights = away(3, 4, seed=5)
        (y * torch.tensor(weights)).sum().backward()
        with tf.Graph().as_default(), tf.Session() as session:
            ox, ou = tf.constant(x), tf.constant(u)
            z = call("ScatterElements", ox, tf.constant(index), ou, axis=0, reduction=ours)
            found = session.run([z, *tf.gradients(z * tf.constant(weights), [ox, ou])])
        np.testing.assert_allclose(found[0], y.detach().numpy(), rtol=1e-12)
        np.testing.assert_allclose(found[1], tx.grad.numpy(), rtol=1e-6)
        np.testing.assert_allclose(found[2], tu.grad.numpy(), rtol=1e-6)


def test_cum_prod_agrees_with_torch() -> None:
    torch = pytest.importorskip("torch")
    x, weights = pos(3, 5), away(3, 5, seed=4)
    x[1, 2] = 0.0
    tx = torch.tensor(x, requires_grad=True)
    (torch.cumprod(tx, 1) * torch.tensor(weights)).sum().backward()
    with tf.Graph().as_default(), tf.Session() as session:
        ox = tf.constant(x)
        y = call("CumProd", ox, tf.constant(np.array(1)))
        found = session.run(tf.gradients(y * tf.constant(weights), [ox])[0])
    np.testing.assert_allclose(found, tx.grad.numpy(), rtol=1e-6)


AFTER_ELLIPSIS: list[Callable[[Any], Any]] = [
    lambda x: x[..., None],
    lambda x: x[..., -1],
    lambda x: x[..., None, 0, 1:3],
    lambda x: x[..., 1, None, 2],
    lambda x: x[None, 1, ..., None, 2, None],
    lambda x: x[:1, ..., ::-2],
]


@TARGETS
@pytest.mark.parametrize("part", AFTER_ELLIPSIS)
def test_what_follows_an_ellipsis_counts_from_the_end_of_any_rank(
    target: str, part: Callable[[Any], Any]
) -> None:
    value = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    with tf.Graph().as_default(), tf.Session(target) as session:
        x = tf.placeholder(tf.float32)
        taken = part(x)
        (gradient,) = tf.gradients(taken, x)
        y, dx = session.run([taken, gradient], {x: value})
    assert np.array_equal(y, part(value))
    assert np.array_equal(dx, np.isin(value, part(value)))
