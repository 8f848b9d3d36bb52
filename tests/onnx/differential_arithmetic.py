"""One row for each elementwise operator, reduction, normalization and contraction."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from differential_maker import (
    ANY,
    FLOATS,
    INTS,
    NUMBERS,
    ROWS,
    SIGNED,
    UNSIGNED,
    Attrs,
    Call,
    Maker,
    Row,
    dtype_number,
    no_attributes,
    numbers,
    row,
)


def unary(
    types: Sequence[str], attrs: Attrs = no_attributes, loose: float = 1.0, sums: bool = False
) -> Row:
    return lambda m, op: Call(op, [m.tensor(types)], attrs(m), loose=loose, sums=sums)


ROWS |= {op: unary(FLOATS) for op in "Floor Ceil Round IsNaN Sqrt Reciprocal Softsign".split()}
ROWS |= {
    op: unary(FLOATS, loose=4)
    for op in (
        "Exp Log Sigmoid Tanh Erf Softplus Sin Cos Tan Asin Acos Atan Sinh Cosh Asinh Acosh Atanh "
        "HardSwish Mish"
    ).split()
}
ROWS |= {op: unary(FLOATS + SIGNED) for op in ("Neg", "Relu")}
ROWS |= {op: unary(NUMBERS) for op in ("Abs", "Sign")}
ROWS |= {op: unary(ANY) for op in ("Identity", "Shape", "Size")}
ROWS |= {
    "Not": unary(("bool",)),
    "BitwiseNot": unary(INTS),
    "Elu": unary(FLOATS, numbers("alpha"), 4),
    "Celu": unary(FLOATS, lambda m: {"alpha": m.pick([0.5, 1.0, 2.0])}, 4, sums=True),
    "Selu": unary(FLOATS, numbers("alpha", "gamma"), 4),
    "LeakyRelu": unary(FLOATS, numbers("alpha")),
    "ThresholdedRelu": unary(FLOATS, numbers("alpha")),
    "HardSigmoid": unary(FLOATS, numbers("alpha", "beta")),
    "Shrink": unary(NUMBERS, numbers("lambd", "bias")),
    "Swish": unary(FLOATS, numbers("alpha"), 4),
    "Gelu": unary(FLOATS, lambda m: {"approximate": m.pick(["none", "tanh"])}, 4),
    "IsInf": unary(
        FLOATS, lambda m: {f"detect_{n}": m.int(0, 1) for n in ("negative", "positive")}
    ),
}


def binary(types: Sequence[str], attrs: Attrs = no_attributes) -> Row:
    def make(m: Maker, op: str) -> Call:
        a = m.tensor(types)
        pair = [a, m.beside(a)]
        return Call(op, pair[::-1] if m.bool() else pair, attrs(m))

    return make


ROWS |= {op: binary(NUMBERS) for op in "Add Sub Mul Div".split()}
ROWS |= {op: binary(NUMBERS) for op in "Less Greater LessOrEqual GreaterOrEqual".split()}
ROWS |= {op: binary(("bool",)) for op in "And Or Xor".split()}
ROWS |= {op: binary(INTS) for op in "BitwiseAnd BitwiseOr BitwiseXor".split()}
ROWS |= {
    "Equal": binary(ANY),
    "BitShift": binary(UNSIGNED, lambda m: {"direction": m.pick(["LEFT", "RIGHT"])}),
}


@row("Mod")
def _mod(m: Maker, op: str) -> Call:
    a = m.tensor(NUMBERS)
    fmod = 1 if m[a].dtype.kind == "f" else m.int(0, 1)
    return Call(op, [a, m.beside(a)], {"fmod": fmod})


@row("Pow")
def _pow(m: Maker, op: str) -> Call:
    a = m.tensor(("float32", "float64", "int32", "int64"))
    b = m.beside(a)
    if m.bool():
        b = m.fresh(m.pick(("float32", "float64", "int32", "int64")), m[b].shape, tame=True)
    return Call(op, [a, b], loose=8)


@row("PRelu")
def _prelu(m: Maker, op: str) -> Call:
    x = m.tensor(FLOATS + SIGNED[:2])
    shape = m[x].shape[m.int(0, m[x].ndim) :]
    return Call(op, [x, m.like(x, [1 if not m.int(0, 2) else n for n in shape])])


@row("Max", "Min", "Sum", "Mean")
def _variadic(m: Maker, op: str) -> Call:
    types = NUMBERS if op in ("Max", "Min") else FLOATS
    first = m.tensor(types, tame=op in ("Sum", "Mean"))
    more = [_smaller(m, first, op in ("Sum", "Mean")) for _ in range(m.int(0, 3))]
    return Call(op, [first, *more], sums=op in ("Sum", "Mean"))


def _smaller(m: Maker, name: str, tame: bool = False) -> str:
    """A value that broadcasts to the shape of another."""
    shape = m[name].shape[m.int(0, m[name].ndim) :]
    return m.like(name, [1 if not m.int(0, 2) else n for n in shape], tame)


@row("Where")
def _where(m: Maker, op: str) -> Call:
    a = m.tensor(ANY)
    condition = m.fresh("bool", m[_smaller(m, a)].shape)
    return Call(op, [condition, a, m.beside(a)])


@row("Clip")
def _clip(m: Maker, op: str) -> Call:
    x = m.tensor(NUMBERS)
    return Call(op, [x, *(m.fresh(m[x].dtype.name, ()) if m.bool() else "" for _ in range(2))])


@row("Cast")
def _cast(m: Maker, op: str) -> Call:
    return Call(op, [m.tensor(ANY)], {"to": dtype_number(m.pick(ANY))})


@row("CastLike")
def _cast_like(m: Maker, op: str) -> Call:
    return Call(op, [m.tensor(ANY), m.fresh(m.pick(ANY), (1,))])


@row("BitCast")
def _bit_cast(m: Maker, op: str) -> Call:
    x = m.tensor(INTS)
    size = m[x].dtype.itemsize
    return Call(
        op, [x], {"to": dtype_number(m.pick([t for t in INTS if np.dtype(t).itemsize == size]))}
    )


# reductions


@row(*(f"Reduce{w}" for w in "Sum Mean Prod L1 L2 SumSquare LogSum LogSumExp Max Min".split()))
def _reduce(m: Maker, op: str) -> Call:
    extremes = op in ("ReduceMax", "ReduceMin")
    types = (*FLOATS, "int64", "int32", "uint64", "uint32")
    types = (*types, "int8", "uint8", "bool") if extremes else types
    x = m.tensor(types, tame=not extremes)
    attrs = {n: m.int(0, 1) for n in ("keepdims", "noop_with_empty_axes") if m.bool()}
    inputs = [x, m.ints(*m.axes(x))] if m.int(0, 3) else [x]
    return Call(op, inputs, attrs, sums=not extremes, loose=4)


@row("ArgMax", "ArgMin")
def _arg(m: Maker, op: str) -> Call:
    x = m.tensor(NUMBERS, rank=(1, 4), least=1)
    attrs = {n: m.int(0, 1) for n in ("keepdims", "select_last_index")}
    return Call(op, [x], {"axis": m.axis(x), **attrs})


@row("CumSum", "CumProd")
def _cumulative(m: Maker, op: str) -> Call:
    x = m.tensor((*FLOATS, "int32", "int64", "uint32", "uint64"), rank=(1, 4), tame=True)
    attrs = {n: m.int(0, 1) for n in ("exclusive", "reverse")}
    axis = m.add(m.axis(x), m.pick(["int64", "int32"]))
    return Call(op, [x, axis], attrs, sums=op == "CumSum", loose=4)


# normalisation


@row("Softmax", "LogSoftmax", "Hardmax")
def _softmax(m: Maker, op: str) -> Call:
    x = m.tensor(FLOATS, rank=(1, 4))
    return Call(op, [x], {"axis": m.axis(x)}, loose=8)


@row("LayerNormalization", "RMSNormalization")
def _layer_norm(m: Maker, op: str) -> Call:
    x = m.tensor(FLOATS, rank=(1, 4), least=1, tame=True)
    axis = m.axis(x)
    shape = m[x].shape[axis:]
    inputs = [x, m.like(x, shape, True)]
    if op == "LayerNormalization" and m.bool():
        inputs.append(m.like(x, shape, True))
    attrs = {"axis": axis, "epsilon": m.pick([1e-5, 0.1])}
    return Call(op, inputs, attrs, sums=True, loose=200)


@row("InstanceNormalization", "GroupNormalization", "BatchNormalization")
def _channel_norm(m: Maker, op: str) -> Call:
    x = m.tensor(FLOATS, rank=(3, 4) if op[0] != "B" else (2, 4), least=1, tame=True)
    channels = m[x].shape[1]
    attrs: dict[str, Any] = {"epsilon": m.pick([1e-5, 0.1])}
    if op == "GroupNormalization":
        attrs["num_groups"] = m.pick([g for g in range(1, channels + 1) if channels % g == 0])
    inputs = [x, *(m.like(x, [channels], True) for _ in range(2))]
    outputs = 1
    if op == "BatchNormalization":
        inputs.append(m.like(x, [channels], True))
        inputs.append(m.add(np.abs(m.array(m[x].dtype.name, [channels], True))))
        attrs["training_mode"], attrs["momentum"] = m.int(0, 1), m.pick([0.9, 0.5])
        outputs = 3 if attrs["training_mode"] else 1
    return Call(op, inputs, attrs, outputs, sums=True, loose=400)


@row("LpNormalization")
def _lp_normalization(m: Maker, op: str) -> Call:
    x = m.tensor(FLOATS, rank=(1, 4), tame=True)
    return Call(op, [x], {"axis": m.axis(x), "p": m.int(1, 2)}, loose=8)


@row("LRN")
def _lrn(m: Maker, op: str) -> Call:
    x = m.tensor(FLOATS, rank=(3, 4), least=1, tame=True)
    attrs = {"size": m.pick([1, 3, 5]), **numbers("bias")(m), "alpha": m.pick([1e-4, 0.5])}
    return Call(op, [x], attrs if attrs.get("bias", 1) > 0 else {"size": 3}, loose=16)


@row("MeanVarianceNormalization")
def _mean_variance(m: Maker, op: str) -> Call:
    x = m.tensor(FLOATS, rank=(4, 4), least=1, tame=True)
    return Call(op, [x], {"axes": m.pick([[0, 2, 3], [2, 3], [1]])}, sums=True, loose=400)


# matrix multiplications and contractions

MULTIPLIED = (*FLOATS, "int32", "int64", "uint32", "uint64")


@row("MatMul")
def _matmul(m: Maker, op: str) -> Call:
    a = m.tensor(MULTIPLIED, rank=(1, 4), tame=True)
    k = m[a].shape[-1]
    batch = [1 if m.bool() else n for n in m[a].shape[m.int(0, max(0, m[a].ndim - 2)) : -2]]
    shape = [k] if not m.int(0, 3) else [*batch, k, m.pick([1, 2, 9, 17, 0])]
    return Call(op, [a, m.like(a, shape, True)], sums=True)


@row("Gemm")
def _gemm(m: Maker, op: str) -> Call:
    a = m.tensor(FLOATS, rank=(2, 2), tame=True)
    transposed, n = m.int(0, 1), m.pick([1, 2, 9, 17])
    rows, k = m[a].shape[::-1] if transposed else m[a].shape
    attrs: dict[str, Any] = {
        "transA": transposed,
        "transB": m.int(0, 1),
        **numbers("alpha", "beta")(m),
    }
    inputs = [a, m.like(a, [n, k] if attrs["transB"] else [k, n], True)]
    if m.bool():
        shape: list[int] = m.pick([[n], [rows, n], [1, n], [rows, 1], [1], []])
        inputs.append(m.like(a, shape, True))
    return Call(op, inputs, attrs, sums=True, loose=2)


EQUATIONS = (
    "ij,jk->ik", "ij,jk", "bij,bjk->bik", "ij->ji", "ii->i", "ii", "ij->", "i,j->ij", "i,i->",
    "...ij,...jk->...ik", "ij,ij->ij", "ij,kj->", "bhqd,bhkd->bhqk", "ij,jk,kl->il", "iij->j",
    "...i->...", "ij,j->i", "i...,i...->...",
)  # fmt: skip


@row("Einsum")
def _einsum(m: Maker, op: str) -> Call:
    equation = m.pick(EQUATIONS)
    sizes = {letter: m.pick([2, 1, 3, 5]) for letter in sorted(set(equation) & set("bdhijklq"))}
    ellipsis = m.shape(0, 1, least=1)
    dtype, inputs = m.pick(("float32", "float64", "int32", "int64")), []
    for term in equation.split("->")[0].split(","):
        shape: list[int] = []
        for part in term.replace("...", "."):
            shape += ellipsis if part == "." else [sizes[part]]
        inputs.append(m.fresh(dtype, shape, tame=True))
    return Call(op, inputs, {"equation": equation}, sums=True)


@row("Det")
def _det(m: Maker, op: str) -> Call:
    n = m.int(1, 4)
    return Call(op, [m.fresh(m.pick(FLOATS), [*m.shape(0, 2), n, n], True)], sums=True, loose=50)
