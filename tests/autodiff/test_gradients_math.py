"""Gradients of mathematical ONNX nodes as they are, against finite differences."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from gradient_check import away, check, pos

import graphio as tf
import graphio.onnx


def call(op: str, **attrs: Any) -> Callable[..., Any]:
    """A function that adds one node."""
    return lambda *xs: graphio.onnx.call(op, *xs, **attrs)


def axes(op: str, *at: int, **attrs: Any) -> Callable[..., Any]:
    """A reduction over axes that are an input."""
    return lambda x: graphio.onnx.call(op, x, list(at), **attrs)


SMALL = away(2, 3) / 2
CASES: dict[str, tuple[Any, ...]] = {
    "tan": (call("Tan"), SMALL),
    "asin": (call("Asin"), SMALL),
    "acos": (call("Acos"), SMALL),
    "atan": (call("Atan"), away(2, 3)),
    "sinh": (call("Sinh"), away(2, 3)),
    "cosh": (call("Cosh"), away(2, 3)),
    "asinh": (call("Asinh"), away(2, 3)),
    "acosh": (call("Acosh"), pos(2, 3) + 1),
    "atanh": (call("Atanh"), SMALL),
    "sum": (call("Sum"), away(2, 3), away(3), away(2, 1)),
    "sum of one": (call("Sum"), away(2, 3)),
    "mean": (call("Mean"), away(2, 3), away(3), away(2, 1)),
    "max": (call("Max"), away(2, 3), away(2, 3) + 0.004, away(3) + 0.008),
    "min": (call("Min"), away(2, 3), away(2, 3) + 0.004, away(3) + 0.008),
    "softplus": (call("Softplus"), away(2, 3)),
    "elu": (call("Elu", alpha=1.5), away(2, 3)),
    "elu, negative": (call("Elu", alpha=-0.5), away(2, 3)),
    "selu": (call("Selu"), away(2, 3)),
    "selu with numbers": (call("Selu", alpha=1.25, gamma=0.5), away(2, 3)),
    "leaky relu": (call("LeakyRelu"), away(2, 3)),
    "relu": (call("Relu"), away(2, 3)),
    "softmax": (call("Softmax"), away(2, 3)),
    "softmax axis": (call("Softmax", axis=0), away(2, 3)),
    "log softmax": (call("LogSoftmax", axis=1), away(2, 3, 2)),
    "clip": (
        lambda x, a, b: graphio.onnx.call("Clip", x, a, b),
        away(2, 3),
        np.asarray(-0.355),
        np.asarray(0.405),
    ),
    "clip above": (
        lambda x, b: graphio.onnx.call("Clip", x, None, b),
        away(2, 3),
        np.asarray(0.405),
    ),
    "clip nowhere": (lambda x: graphio.onnx.call("Clip", x) * x, away(2, 3)),
    "pow": (call("Pow"), pos(2, 3), away(3)),
    "pow by integers": (
        lambda x: graphio.onnx.call("Pow", x, np.array([2, 3, 0])),
        away(2, 3),
    ),
    "pow by another float": (
        lambda x: graphio.onnx.call("Pow", x, np.array([2.5, 3, 0.5], np.float32)),
        pos(2, 3),
    ),
    "fmod": (call("Mod", fmod=1), away(2, 3) * 5, away(3)),
    "cumsum": (lambda x: graphio.onnx.call("CumSum", x * x, 1, exclusive=1), away(2, 3)),
    "matmul": (call("MatMul"), away(2, 2, 3), away(3, 4)),
    "matmul, row": (call("MatMul"), away(3), away(3, 4)),
    "matmul, row by batch": (call("MatMul"), away(3), away(2, 3, 4)),
    "matmul, column": (call("MatMul"), away(2, 3), away(3)),
    "matmul, batch by column": (call("MatMul"), away(2, 2, 3), away(3)),
    "matmul, dot": (call("MatMul"), away(3), away(3)),
    "gemm": (call("Gemm"), away(2, 3), away(3, 4), away(4)),
    "gemm without c": (call("Gemm"), away(2, 3), away(3, 4)),
    "gemm transposed": (
        call("Gemm", transA=1, transB=1, alpha=0.5, beta=2.0),
        away(3, 2),
        away(4, 3),
        away(2, 1),
    ),
    "det 1": (call("Det"), away(1, 1)),
    "det 2": (call("Det"), away(2, 2)),
    "det 4": (call("Det"), away(4, 4)),
    "det of a batch": (call("Det"), away(2, 3, 3)),
}
NORMS = ("ReduceL1", "ReduceL2", "ReduceSumSquare", "ReduceLogSum", "ReduceLogSumExp")
PLAIN = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
for _op in (*NORMS, *PLAIN):
    _x = pos(2, 3, 2) if _op == "ReduceLogSum" else away(2, 3, 2)
    CASES[f"{_op} of all"] = (call(_op), _x)
    CASES[f"{_op} flat"] = (call(_op, keepdims=0), _x)
    CASES[f"{_op} of axes"] = (axes(_op, 0, -1, keepdims=0), _x)
    CASES[f"{_op} kept"] = (axes(_op, 1), _x)
    CASES[f"{_op} of no axes"] = (axes(_op, noop_with_empty_axes=1), _x)
    CASES[f"{_op} of absent axes"] = (call(_op, noop_with_empty_axes=1), _x)
EINSUMS = (
    ("ij->ji", (2, 3)),
    ("ii->i", (3, 3)),
    ("iji->j", (3, 2, 3)),
    ("ii", (3, 3)),
    ("ij->", (2, 3)),
    ("ij,jk->ik", (2, 3), (3, 4)),
    ("ij,jk", (2, 3), (3, 4)),
    ("bij,bjk->bik", (2, 2, 3), (2, 3, 4)),
    ("...ij,...jk", (1, 2, 2, 3), (2, 1, 3, 2)),
    ("...i,i...->...", (2, 3), (3, 1)),
    ("i,j->ij", (3,), (4,)),
    ("ij,ij->j", (2, 3), (2, 3)),
    ("ij,k->jk", (2, 3), (2,)),
    ("ij,jk,kl->il", (2, 3), (3, 2), (2, 3)),
    ("ii,ij->j", (3, 3), (3, 2)),
    (",i->i", (), (3,)),
    ("ij,ij->ij", (2, 3), (1, 3)),
    ("...ij,...jk->...ik", (2, 2, 3), (1, 3, 2)),
    ("ij,ij,ij->j", (1, 3), (2, 3), (2, 1)),
    ("ii,i->i", (1, 1), (3,)),
)
for _equation, *_shapes in EINSUMS:
    CASES[f"einsum {_equation}"] = (
        call("Einsum", equation=_equation),
        *(away(*s, seed=i) for i, s in enumerate(_shapes)),
    )


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("known", [True, False], ids=["static", "dynamic"])
def test_a_gradient_is_the_limit_of_differences(name: str, known: bool) -> None:
    function, *values = CASES[name]
    check(function, values, shapes=np.shape if known else lambda v: [None] * v.ndim)


def test_the_gradient_of_a_determinant_is_its_inverse_times_it() -> None:
    torch = pytest.importorskip("torch")
    x = np.random.RandomState(0).randn(2, 4, 4)
    y = torch.tensor(x, requires_grad=True)
    torch.linalg.det(y).sum().backward()
    with tf.Graph().as_default(), tf.Session() as session:
        a = tf.constant(x)
        (found,) = tf.gradients(graphio.onnx.call("Det", a), [a])
        np.testing.assert_allclose(session.run(found), y.grad.numpy(), rtol=1e-6)


def test_the_gradient_of_a_norm_at_zero_is_zero() -> None:
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.constant(np.zeros((2, 3)))
        (found,) = tf.gradients(graphio.onnx.call("ReduceL2", x), [x])
        np.testing.assert_array_equal(session.run(found), np.zeros((2, 3)))


@pytest.mark.parametrize("op", ["BitwiseAnd", "BitwiseOr", "BitwiseXor"])
def test_bits_have_no_gradient(op: str) -> None:
    with tf.Graph().as_default():
        x = tf.constant(np.array([1, 2]))
        y = tf.cast(graphio.onnx.call(op, x, x), tf.float64)
        assert tf.gradients(y, [x]) == [None]


def test_the_gradient_of_log1p_is_exact_for_numbers_near_the_rounding() -> None:
    x = np.float64([1e-17, 1.5e-16, 3e-16, -3e-16, 0.25])
    with tf.Graph().as_default(), tf.Session() as sess:
        given = tf.constant(x)
        slope = sess.run(tf.gradients(tf.log1p(given), given)[0])
    np.testing.assert_allclose(slope, 1.0 / (1.0 + x), rtol=1e-15)
