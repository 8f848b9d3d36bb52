"""One row an operator: how its inputs and attributes are drawn."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from hypothesis import strategies as st

Array = np.ndarray[Any, Any]
FLOATS = ("float32", "float64", "float16")
SIGNED = ("int64", "int32", "int8", "int16")
UNSIGNED = ("uint8", "uint16", "uint32", "uint64")
INTS = SIGNED + UNSIGNED
NUMBERS = FLOATS + INTS
ANY = (*NUMBERS, "bool")
LARGEST = 6  # of a dimension


@dataclass(frozen=True)
class Call:
    """A node.

    Attributes:
        inputs: names of values, "" for an absent one.
        outputs: how many.
        loose: multiplies the tolerance of the element type.
        sums: whether terms may cancel, so that the error is that of the largest term.
        exact_zero: whether a zero must be a zero.
        off_by: what integers that were rounded from floats may differ by.
    """

    op: str
    inputs: list[str]
    attrs: Mapping[str, Any] = field(default_factory=dict)
    outputs: int = 1
    loose: float = 1.0
    sums: bool = False
    exact_zero: bool = False
    off_by: int = 0


Row = Callable[["Maker", str], Call]
ROWS: dict[str, Row] = {}


class Maker:
    """Draws values: computed ones where they fit, else new ones."""

    def __init__(
        self, draw: st.DrawFn, values: dict[str, Array], constants: set[str], computed: list[str]
    ) -> None:
        self._draw = draw
        self._values, self._constants, self._computed = values, constants, computed
        self._count = 0

    def begin(self) -> None:
        """Starts the next node."""

    def __getitem__(self, name: str) -> Array:
        return self._values[name]

    def int(self, low: int, high: int) -> int:
        return self._draw(st.integers(low, high))

    def bool(self) -> bool:
        return self._draw(st.booleans())

    def pick(self, choices: Sequence[Any]) -> Any:
        return choices[0] if len(choices) == 1 else self._draw(st.sampled_from(choices))

    def shape(self, low: int = 0, high: int = 4, least: int = 0) -> tuple[int, ...]:
        """Sizes, often 1, seldom 0 unless `least` forbids it."""
        sizes = [n for n in (2, 1, 3, 1, 4, 5, 2, 3, LARGEST, 0) if n >= least]
        return tuple(self.pick(sizes) for _ in range(self.int(low, high)))

    def add(self, value: Any, dtype: Any = None, constant: bool | None = None) -> str:
        """A new value; None: a constant or an input."""
        name = f"x{len(self._values)}"
        self._values[name] = np.asarray(value, dtype)
        if self.bool() if constant is None else constant:
            self._constants.add(name)
        return name

    def ints(self, *values: int) -> str:
        """Axes, sizes and the like."""
        return self.add(np.array(values, np.int64))

    def fresh(self, dtype: str, shape: Sequence[int], tame: bool = False) -> str:
        return self.add(self.array(dtype, shape, tame))

    def array(self, dtype: str, shape: Sequence[int], tame: bool = False) -> Array:
        """Elements of one of several kinds."""
        kind = np.dtype(dtype).kind
        flavours = ["whole", "normal"] if tame or kind == "b" else ["whole", "normal", "wild"]
        flavour, rng = self.pick(flavours), np.random.RandomState(self.int(0, 10**6))
        whole = rng.randint(-4 if kind in "if" else 0, 5, shape)
        if kind == "b":
            return np.asarray(whole > 1)
        if flavour == "whole":
            return np.asarray(whole / (2 if kind == "f" else 1)).astype(dtype)
        if kind == "f":
            x = np.asarray(rng.normal(size=shape))
            return (_wild(rng, x, dtype) if flavour == "wild" else x).astype(dtype)
        info = np.iinfo(dtype)
        if flavour == "normal":
            return np.asarray(rng.randint(max(info.min, -100), 101, shape)).astype(dtype)
        ends = np.array([info.min, info.max, 0, 1, info.max // 2 + 1, info.min + 1], dtype)
        return np.asarray(ends[rng.randint(0, len(ends), shape)])

    def tensor(
        self,
        types: Sequence[str],
        *,
        rank: tuple[int, int] = (0, 4),
        least: int = 0,
        tame: bool = False,
        fits: Callable[[Array], bool] | None = None,
    ) -> str:
        """A value of any shape: a computed one that fits, or a new one."""
        good = [
            n
            for n in self._computed[-6:]
            if self._values[n].dtype.name in types
            and rank[0] <= self._values[n].ndim <= rank[1]
            and min(self._values[n].shape, default=9) >= least
            and self._values[n].size <= 3000
            and (not tame or _is_tame(self._values[n]))
            and (fits is None or fits(self._values[n]))
        ]
        if good and self.int(0, 3):
            return str(self.pick(good))
        return self.fresh(self.pick(types), self.shape(*rank, least=least), tame)

    def like(self, name: str, shape: Sequence[int], tame: bool = False) -> str:
        """A value of the same type; a computed one if there is one of the shape."""
        dtype = self[name].dtype
        good = [
            n
            for n in self._computed[-6:]
            if self[n].dtype == dtype
            and self[n].shape == tuple(shape)
            and (not tame or _is_tame(self[n]))
        ]
        if good and self.bool():
            return str(self.pick(good))
        return self.fresh(dtype.name, shape, tame)

    def beside(self, name: str, tame: bool = False) -> str:
        """A value of the same type that broadcasts with it, in either direction."""
        shape = list(self[name].shape)
        shape = shape[self.int(0, len(shape)) :]
        shape = [1 if not self.int(0, 3) else n for n in shape]
        if len(shape) == self[name].ndim and len(shape) < 4 and not self.int(0, 3):
            shape = [self.int(1, 3), *shape]
        whole = [1] * len(shape) + list(self[name].shape)
        grown = [
            self.int(2, 3) if n == whole[i - len(shape)] == 1 and not self.int(0, 3) else n
            for i, n in enumerate(shape)
        ]
        return self.like(name, grown, tame)

    def axis(self, name: str) -> int:
        rank = self[name].ndim
        return self.int(-rank, rank - 1)

    def axes(self, name: str) -> list[int]:
        """Some axes, in any order, of either sign."""
        rank = self[name].ndim
        chosen = self._draw(st.permutations(range(rank)))[: self.int(0, rank)] if rank else []
        return [a - rank if self.bool() else a for a in chosen]

    def permutation(self, n: int) -> list[int]:
        return list(self._draw(st.permutations(range(n))))

    def indices(self, size: int, shape: Sequence[int], negative: bool = True) -> Array:
        rng = np.random.RandomState(self.int(0, 10**6))
        return np.asarray(
            rng.randint(-size if negative and self.bool() else 0, size, shape)
        ).astype(np.int64)


def _wild(rng: np.random.RandomState, x: Array, dtype: str) -> Array:
    """Special numbers among ordinary ones."""
    info = np.finfo(dtype)
    ends = [np.nan, np.inf, -np.inf, -0.0, 0.0, info.max, -info.max, info.tiny, -info.tiny / 4]
    special = np.array([float(v) for v in ends] + [0.5, 1.5, -2.5, 127.5, -1.0, 88.0, 1e4])
    return np.asarray(np.where(rng.rand(*x.shape) < 0.5, special[rng.randint(0, 16, x.shape)], x))


def _is_tame(x: Array) -> bool:
    if x.dtype.kind == "b":
        return True
    wide = x.astype(np.float64)
    return bool(np.isfinite(wide).all() and (np.abs(wide) <= 100).all())


def row(*ops: str) -> Callable[[Row], Row]:
    """Adds a row for each of the operators."""

    def add(function: Row) -> Row:
        ROWS.update(dict.fromkeys(ops, function))
        return function

    return add


# elementwise

Attrs = Callable[[Maker], dict[str, Any]]


def _none(m: Maker) -> dict[str, Any]:
    return {}


def _numbers(*names: str) -> Attrs:
    """Some of the float attributes."""
    return lambda m: {n: m.pick([0.5, 1.0, 0.25, 1.5, -0.5, 2.0]) for n in names if m.bool()}


def unary(
    types: Sequence[str], attrs: Attrs = _none, loose: float = 1.0, sums: bool = False
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
    "Elu": unary(FLOATS, _numbers("alpha"), 4),
    "Celu": unary(FLOATS, lambda m: {"alpha": m.pick([0.5, 1.0, 2.0])}, 4, sums=True),
    "Selu": unary(FLOATS, _numbers("alpha", "gamma"), 4),
    "LeakyRelu": unary(FLOATS, _numbers("alpha")),
    "ThresholdedRelu": unary(FLOATS, _numbers("alpha")),
    "HardSigmoid": unary(FLOATS, _numbers("alpha", "beta")),
    "Shrink": unary(NUMBERS, _numbers("lambd", "bias")),
    "Swish": unary(FLOATS, _numbers("alpha"), 4),
    "Gelu": unary(FLOATS, lambda m: {"approximate": m.pick(["none", "tanh"])}, 4),
    "IsInf": unary(
        FLOATS, lambda m: {f"detect_{n}": m.int(0, 1) for n in ("negative", "positive")}
    ),
}


def binary(types: Sequence[str], attrs: Attrs = _none) -> Row:
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
    return Call(op, [m.tensor(ANY)], {"to": _number(m.pick(ANY))})


def _number(dtype: str) -> int:
    from onnx import helper

    return int(helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))


@row("CastLike")
def _cast_like(m: Maker, op: str) -> Call:
    return Call(op, [m.tensor(ANY), m.fresh(m.pick(ANY), (1,))])


@row("BitCast")
def _bit_cast(m: Maker, op: str) -> Call:
    x = m.tensor(INTS)
    size = m[x].dtype.itemsize
    return Call(op, [x], {"to": _number(m.pick([t for t in INTS if np.dtype(t).itemsize == size]))})


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
    attrs = {"size": m.pick([1, 3, 5]), **_numbers("bias")(m), "alpha": m.pick([1e-4, 0.5])}
    return Call(op, [x], attrs if attrs.get("bias", 1) > 0 else {"size": 3}, loose=16)


@row("MeanVarianceNormalization")
def _mean_variance(m: Maker, op: str) -> Call:
    x = m.tensor(FLOATS, rank=(4, 4), least=1, tame=True)
    return Call(op, [x], {"axes": m.pick([[0, 2, 3], [2, 3], [1]])}, sums=True, loose=400)


# products

PRODUCT = (*FLOATS, "int32", "int64", "uint32", "uint64")


@row("MatMul")
def _matmul(m: Maker, op: str) -> Call:
    a = m.tensor(PRODUCT, rank=(1, 4), tame=True)
    k = m[a].shape[-1]
    batch = [1 if m.bool() else n for n in m[a].shape[m.int(0, max(0, m[a].ndim - 2)) : -2]]
    shape = [k] if not m.int(0, 3) else [*batch, k, m.pick([1, 2, 9, 17, 0])]
    return Call(op, [a, m.like(a, shape, True)], sums=True)


@row("Gemm")
def _gemm(m: Maker, op: str) -> Call:
    a = m.tensor(FLOATS, rank=(2, 2), tame=True)
    turned, n = m.int(0, 1), m.pick([1, 2, 9, 17])
    rows, k = m[a].shape[::-1] if turned else m[a].shape
    attrs: dict[str, Any] = {
        "transA": turned,
        "transB": m.int(0, 1),
        **_numbers("alpha", "beta")(m),
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


# arrays


@row("Reshape")
def _reshape(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    size, shape = m[x].size, [1] * m.int(0, 2)
    if size == 0:
        return Call(op, [x, m.ints(*m[x].shape, 1)], {"allowzero": 1})
    for n in (2, 3, 5):
        while size % n == 0:
            shape, size = [*shape, n], size // n
            if len(shape) > 1 and m.bool():
                shape[-2:] = [shape[-1] * shape[-2]]
    shape = [*shape, size] if size > 1 else shape
    if shape and m.bool():
        shape[m.int(0, len(shape) - 1)] = -1
    return Call(op, [x, m.ints(*shape)])


@row("Flatten")
def _flatten(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    return Call(op, [x], {"axis": m.int(-m[x].ndim, m[x].ndim)})


@row("Squeeze")
def _squeeze(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    ones = [a for a, n in enumerate(m[x].shape) if n == 1 and m.bool()]
    return Call(op, [x, m.ints(*ones)] if ones or m.bool() else [x])


@row("Unsqueeze")
def _unsqueeze(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(0, 3))
    count = m.int(1, 2)
    rank = m[x].ndim + count
    axes = m.permutation(rank)[:count]
    return Call(op, [x, m.ints(*(a - rank if m.bool() else a for a in axes))])


@row("Transpose")
def _transpose(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    return Call(op, [x], {"perm": m.permutation(m[x].ndim)} if m[x].ndim and m.bool() else {})


@row("Expand")
def _expand(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    shape = [m.int(0, 3) if n == 1 else m.pick([n, 1]) for n in m[x].shape]
    shape = [m.int(1, 3), *shape] if len(shape) < 4 and m.bool() else shape[m.int(0, len(shape)) :]
    return Call(op, [x, m.ints(*shape)])


@row("Tile")
def _tile(m: Maker, op: str) -> Call:
    x = m.tensor(ANY)
    return Call(op, [x, m.ints(*(m.pick([1, 2, 3, 0]) for _ in range(m[x].ndim)))])


@row("Concat")
def _concat(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4))
    axis, parts = m.axis(x), [x]
    for _ in range(m.int(0, 3)):
        shape = list(m[x].shape)
        shape[axis] = m.int(0, 3)
        parts.insert(m.int(0, len(parts)), m.like(x, shape))
    return Call(op, parts, {"axis": axis})


@row("Split")
def _split(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    axis = m.axis(x)
    size, count = m[x].shape[axis], m.int(1, 3)
    if m.bool() and count <= size and (count - 1) * -(-size // count) <= size:
        return Call(op, [x], {"axis": axis, "num_outputs": count}, count)
    cuts = sorted(m.int(0, size) for _ in range(count - 1))
    sizes = np.diff([0, *cuts, size])
    return Call(op, [x, m.ints(*sizes)], {"axis": axis}, count)


@row("Slice")
def _slice(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4))
    axes = m.axes(x)
    columns = [[m.int(-8, 8) for _ in axes] for _ in range(2)]
    inputs = [x, *(m.ints(*c) for c in columns)]
    steps = m.ints(*(m.pick([1, 2, -1, -2, 3]) for _ in axes))
    return Call(op, [*inputs, m.ints(*axes), *([steps] if m.bool() else [])])


@row("Pad")
def _pad(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    mode = m.pick(["constant", "edge", "reflect", "wrap"])
    sizes = m[x].shape
    most = [3 if mode in ("constant", "edge") else max(0, n - 1) for n in sizes]
    low = 0 if mode == "reflect" else -1
    pads = [
        m.int(max(low, -(n // 2)), k) for _ in range(2) for n, k in zip(sizes, most, strict=True)
    ]
    inputs = [x, m.ints(*pads)]
    if mode == "constant" and m.bool():
        inputs.append(m.fresh(m[x].dtype.name, ()))
    return Call(op, inputs, {"mode": mode})


@row("ConstantOfShape")
def _constant_of_shape(m: Maker, op: str) -> Call:
    from onnx import numpy_helper

    value = numpy_helper.from_array(m.array(m.pick(ANY), [1]))
    return Call(op, [m.ints(*m.shape())], {"value": value} if m.bool() else {})


@row("Range")
def _range(m: Maker, op: str) -> Call:
    dtype = m.pick(("float32", "float64", "int32", "int64", "int16"))
    values = m.int(-5, 5), m.int(-9, 9), m.pick([1, 2, -1, 3, -2])
    return Call(op, [m.add(v, dtype) for v in values])


@row("OneHot")
def _one_hot(m: Maker, op: str) -> Call:
    depth = m.int(1, 5)
    index = m.add(m.indices(depth + 2, m.shape(1, 3)), m.pick(["int64", "int32", "float32"]))
    values = m.array(m.pick(("float32", "int64", "int32", "uint8")), [2])
    rank = m[index].ndim
    depth_name = m.add(np.array(depth, np.int64))
    return Call(op, [index, depth_name, m.add(values)], {"axis": m.int(-rank - 1, rank)})


@row("Trilu")
def _trilu(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(2, 4))
    inputs = [x, m.add(m.int(-4, 4), "int64")] if m.bool() else [x]
    return Call(op, inputs, {"upper": m.int(0, 1)})


@row("EyeLike")
def _eye_like(m: Maker, op: str) -> Call:
    attrs = {"dtype": _number(m.pick(("float32", "int64", "bool", "float64", "uint8")))}
    return Call(
        op, [m.tensor(ANY, rank=(2, 2))], {**(attrs if m.bool() else {}), "k": m.int(-3, 3)}
    )


@row("CenterCropPad")
def _center_crop_pad(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    axes = m.axes(x) or [0]
    sizes = m.ints(*(m.int(1, 6) for _ in axes))
    return Call(op, [x, sizes], {"axes": axes})


@row("DepthToSpace")
def _depth_to_space(m: Maker, op: str) -> Call:
    b = m.int(1, 3)
    n, c, h, w = m.shape(4, 4)
    x = m.fresh(m.pick(FLOATS + ("int64", "uint8")), [n, (c % 3 + 1) * b * b, h, w])
    return Call(op, [x], {"blocksize": b, "mode": m.pick(["DCR", "CRD"])})


@row("SpaceToDepth")
def _space_to_depth(m: Maker, op: str) -> Call:
    b = m.int(1, 3)
    n, c, h, w = m.shape(4, 4)
    x = m.fresh(m.pick(FLOATS + ("int64", "uint8")), [n, c, (h % 3 + 1) * b, (w % 3 + 1) * b])
    return Call(op, [x], {"blocksize": b})


# index


@row("Gather")
def _gather(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    axis = m.axis(x)
    index = m.indices(m[x].shape[axis], m.shape(0, 3))
    return Call(op, [x, m.add(index, m.pick(["int64", "int32"]))], {"axis": axis})


@row("GatherElements")
def _gather_elements(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    axis = m.axis(x)
    shape = [m.int(0, n) for n in m[x].shape]
    shape[axis] = m.int(0, 5)
    index = m.indices(m[x].shape[axis], shape)
    return Call(op, [x, m.add(index, m.pick(["int64", "int32"]))], {"axis": axis})


@row("GatherND")
def _gather_nd(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    batch = m.int(0, m[x].ndim - 1)
    depth = m.int(1, m[x].ndim - batch)
    shape = m[x].shape
    lead = (*shape[:batch], *m.shape(0, 2))
    columns = [m.indices(n, lead) for n in shape[batch : batch + depth]]
    return Call(op, [x, m.add(np.stack(columns, -1))], {"batch_dims": batch})


REDUCTIONS = ("none", "add", "mul", "max", "min")


@row("ScatterElements")
def _scatter_elements(m: Maker, op: str) -> Call:
    how = m.pick(REDUCTIONS)
    x = m.tensor(NUMBERS, rank=(1, 4), least=1, tame=how in ("add", "mul"))
    axis, shape = m.axis(x), [m.int(0, n) for n in m[x].shape]
    size = m[x].shape[axis]
    index = m.indices(size, shape, negative=how != "none")
    if how == "none":  # the order of repeated indices is undefined
        line = np.argsort(np.argsort(np.random.RandomState(m.int(0, 99)).rand(size)))
        cut = line[: shape[axis]]
        index = np.broadcast_to(
            cut.reshape([-1 if a == axis % len(shape) else 1 for a in range(len(shape))]), shape
        )
    updates = m.like(x, shape, how in ("add", "mul"))
    inputs = [x, m.add(index, m.pick(["int64", "int32"])), updates]
    return Call(op, inputs, {"axis": axis, "reduction": how}, sums=True)


@row("ScatterND")
def _scatter_nd(m: Maker, op: str) -> Call:
    how = m.pick(REDUCTIONS)
    x = m.tensor(NUMBERS, rank=(1, 4), least=1, tame=how in ("add", "mul"))
    depth, shape = m.int(1, m[x].ndim), m[x].shape
    if how == "none":
        count = m.int(0, int(np.prod(shape[:depth])))
        places = np.random.RandomState(m.int(0, 99)).permutation(int(np.prod(shape[:depth])))[
            :count
        ]
        index = np.stack(np.unravel_index(places, shape[:depth]), -1)
    else:
        lead = m.shape(0, 2)
        index = np.stack([m.indices(n, lead) for n in shape[:depth]], -1)
    updates = m.like(x, (*index.shape[:-1], *shape[depth:]), how in ("add", "mul"))
    return Call(op, [x, m.add(index, "int64"), updates], {"reduction": how}, sums=True)


@row("NonZero")
def _non_zero(m: Maker, op: str) -> Call:
    return Call(op, [m.tensor(ANY, rank=(1, 4))])


@row("TopK")
def _top_k(m: Maker, op: str) -> Call:
    x = m.tensor(NUMBERS, rank=(1, 4), least=1)
    axis = m.axis(x)
    k = m.ints(m.int(0, m[x].shape[axis]))
    return Call(op, [x, k], {"axis": axis, "largest": m.int(0, 1), "sorted": 1}, 2)


@row("Unique")
def _unique(m: Maker, op: str) -> Call:
    x = m.tensor(("float32", "float64", "int64", "int8"), rank=(1, 3), least=1)
    attrs = {"axis": m.axis(x)} if m.bool() else {}
    return Call(op, [x], {**attrs, "sorted": m.int(0, 1)}, 4)


@row("Compress")
def _compress(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(1, 4), least=1)
    axis = m.axis(x) if m.bool() else None
    most = m[x].size if axis is None else m[x].shape[axis]
    condition = m.fresh("bool", [m.int(0, most)])
    return Call(op, [x, condition], {} if axis is None else {"axis": axis})


@row("ReverseSequence")
def _reverse_sequence(m: Maker, op: str) -> Call:
    x = m.tensor(ANY, rank=(2, 4), least=1)
    batch = m.int(0, 1)
    time = m[x].shape[1 - batch]
    lengths = m.ints(*(m.int(1, time) for _ in range(m[x].shape[batch])))
    return Call(op, [x, lengths], {"batch_axis": batch, "time_axis": 1 - batch})


# windows


@dataclass(frozen=True)
class Window:
    """Attributes of a window over spatial axes."""

    sizes: list[int]
    kernel: list[int]
    attrs: dict[str, Any]


def window(m: Maker, most: int = 3, *, dilated: bool = True, auto: bool = True) -> Window:
    """Sizes of an image and a kernel that lies in it at least once."""
    axes = m.int(1, most)
    kernel = [m.int(1, 3) for _ in range(axes)]
    dilations = [m.int(1, 2) if dilated else 1 for _ in range(axes)]
    sizes = [(k - 1) * d + 1 + m.int(0, 5 - axes) for k, d in zip(kernel, dilations, strict=True)]
    attrs: dict[str, Any] = {"strides": [m.int(1, 3) for _ in range(axes)]}
    if dilated:
        attrs["dilations"] = dilations
    how = m.pick(["explicit", "none", "SAME_UPPER", "SAME_LOWER", "VALID"]) if auto else "explicit"
    if how == "explicit":
        attrs["pads"] = [m.int(0, kernel[i % axes] - 1) for i in range(2 * axes)]
    elif how != "none":
        attrs["auto_pad"] = how
        if how != "VALID" and dilated:
            attrs["dilations"] = [1] * axes
    return Window(sizes, kernel, attrs)


@row("Conv")
def _conv(m: Maker, op: str) -> Call:
    w, group, ins = window(m), m.pick([1, 2, 3]), m.int(1, 3)
    outs = m.pick([1, 2, 5])
    x = m.fresh(m.pick(FLOATS), [m.int(0, 2) or 1, group * ins, *w.sizes], True)
    inputs = [x, m.like(x, [group * outs, ins, *w.kernel], True)]
    inputs += [m.like(x, [group * outs], True)] if m.bool() else []
    return Call(op, inputs, {**w.attrs, "group": group}, sums=True)


@row("ConvTranspose")
def _conv_transpose(m: Maker, op: str) -> Call:
    w, group, ins = window(m, 2, auto=False), m.pick([1, 2, 3]), m.int(1, 3)
    attrs = dict(w.attrs)
    if m.bool():
        attrs["output_padding"] = [m.int(0, s - 1) for s in attrs["strides"]]
    x = m.fresh(m.pick(FLOATS), [m.int(1, 2), group * ins, *w.sizes], True)
    outs = m.int(1, 3)
    inputs = [x, m.like(x, [group * ins, outs, *w.kernel], True)]
    inputs += [m.like(x, [group * outs], True)] if m.bool() else []
    return Call(op, inputs, {**attrs, "group": group}, sums=True)


@row("ConvInteger")
def _conv_integer(m: Maker, op: str) -> Call:
    w = window(m, 2, auto=False)
    x = m.fresh("uint8", [m.int(1, 2), m.int(1, 3), *w.sizes])
    kernel = m.fresh(m.pick(["uint8", "int8"]), [m.int(1, 3), m[x].shape[1], *w.kernel])
    zeros = [m.add(m.int(0, 9), m[n].dtype) for n in (x, kernel)]
    return Call(op, [x, kernel, *zeros[: m.int(0, 2)]], w.attrs)


@row("MaxPool", "AveragePool", "LpPool")
def _pool(m: Maker, op: str) -> Call:
    w = window(m)
    types = (*FLOATS, "int8", "uint8") if op == "MaxPool" else FLOATS
    x = m.fresh(m.pick(types), [m.int(1, 2), m.int(1, 3), *w.sizes], op != "MaxPool")
    attrs: dict[str, Any] = {**w.attrs, "kernel_shape": w.kernel}
    if "auto_pad" not in attrs:
        attrs["ceil_mode"] = m.int(0, 1)
    if op == "AveragePool":
        attrs["count_include_pad"] = m.int(0, 1)
    if op == "LpPool":
        attrs["p"] = m.int(1, 3)
    outputs = 2 if op == "MaxPool" and "auto_pad" not in attrs and m.bool() else 1
    return Call(op, [x], attrs, outputs, sums=op != "MaxPool", loose=8)


@row("GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool")
def _global_pool(m: Maker, op: str) -> Call:
    x = m.tensor(FLOATS, rank=(3, 4), least=1, tame=op != "GlobalMaxPool")
    attrs = {"p": m.int(1, 3)} if op == "GlobalLpPool" else {}
    return Call(op, [x], attrs, sums=op != "GlobalMaxPool", loose=8)


@row("Col2Im")
def _col2im(m: Maker, op: str) -> Call:
    size, kernel, stride = [m.int(3, 5) for _ in "hw"], [m.int(1, 3) for _ in "hw"], m.int(1, 2)
    count = int(np.prod([(s - k) // stride + 1 for s, k in zip(size, kernel, strict=True)]))
    shape = [m.int(1, 2), m.int(1, 2) * int(np.prod(kernel)), count]
    x = m.fresh(m.pick(("float32", "float64")), shape, True)
    return Call(op, [x, m.ints(*size), m.ints(*kernel)], {"strides": [stride] * 2}, sums=True)


@row("Resize")
def _resize(m: Maker, op: str) -> Call:
    x = m.tensor(("float32", "float32", "uint8", "int32"), rank=(3, 4), least=1, tame=True)
    rank = m[x].ndim
    mode = m.pick(["nearest", "linear", "cubic"]) if rank == 4 else m.pick(["nearest", "linear"])
    attrs: dict[str, Any] = {"mode": mode}
    modes = ["half_pixel", "asymmetric", "align_corners", "pytorch_half_pixel"]
    attrs["coordinate_transformation_mode"] = m.pick(modes)
    if mode == "nearest":
        modes = ["round_prefer_floor", "round_prefer_ceil", "floor", "ceil"]
        attrs["nearest_mode"] = m.pick(modes)
    if mode == "cubic":
        attrs["cubic_coeff_a"], attrs["exclude_outside"] = m.pick([-0.75, -0.5]), m.int(0, 1)
    if m.bool():
        sizes = [*m[x].shape[:2], *(m.int(1, 7) for _ in range(rank - 2))]
        return Call(op, [x, "", "", m.ints(*sizes)], attrs, sums=True, loose=50, off_by=1)
    scales = [1.0, 1.0, *(m.pick([1.0, 2.0, 0.5, 1.5]) for _ in range(rank - 2))]
    scales = [1.0 if n == 1 and s < 1 else s for n, s in zip(m[x].shape, scales, strict=True)]
    return Call(op, [x, "", m.add(scales, "float32")], attrs, sums=True, loose=50, off_by=1)


@row("GridSample")
def _grid_sample(m: Maker, op: str) -> Call:
    sizes = [m.int(1, 4) for _ in range(m.pick([2, 2, 3]))]
    x = m.fresh(m.pick(["float32", "float64"]), [m.int(1, 2), m.int(1, 3), *sizes], True)
    places = [m.int(1, 4) for _ in sizes]
    grid = m.add(np.tanh(m.array(m[x].dtype.name, [m[x].shape[0], *places, len(sizes)], True)))
    attrs = {
        "mode": m.pick(
            ["linear", "nearest", "cubic"] if len(sizes) == 2 else ["linear", "nearest"]
        ),
        "padding_mode": m.pick(["zeros", "border", "reflection"]),
        "align_corners": m.int(0, 1),
    }
    return Call(op, [x, grid], attrs, sums=True, loose=50)


@row("RoiAlign")
def _roi_align(m: Maker, op: str) -> Call:
    x = m.fresh("float32", [m.int(1, 2), m.int(1, 3), m.int(2, 5), m.int(2, 5)], True)
    count = m.int(0, 3)
    corners = np.abs(m.array("float32", [count, 2], True))
    more = np.abs(m.array("float32", [count, 2], True)) + np.float32(0.5)
    boxes = m.add(np.concatenate([corners, corners + more], 1))
    images = m.add(m.indices(m[x].shape[0], [count], negative=False))
    attrs = {
        "mode": m.pick(["avg", "max"]),
        "output_height": m.int(1, 3),
        "output_width": m.int(1, 3),
        "sampling_ratio": m.int(0, 2),
        "coordinate_transformation_mode": m.pick(["half_pixel", "output_half_pixel"]),
    }
    return Call(op, [x, boxes, images], attrs, sums=True, loose=50)


@row("NonMaxSuppression")
def _non_max_suppression(m: Maker, op: str) -> Call:
    batch, count, classes = m.int(1, 2), m.int(1, 6), m.int(1, 3)
    boxes = m.fresh("float32", [batch, count, 4], True)
    scores = m.fresh("float32", [batch, classes, count], True)
    limits = [m.add(v, "float32") for v in (m.pick([0.5, 0.0, 0.3]), m.pick([0.0, -1.0, 0.5]))]
    inputs = [boxes, scores, m.add(m.int(0, 4), "int64"), *limits[: m.int(0, 2)]]
    return Call(op, inputs, {"center_point_box": m.int(0, 1)})


@row("MaxUnpool")
def _max_unpool(m: Maker, op: str) -> Call:
    sizes = [m.int(1, 3) for _ in range(m.int(1, 2))]
    x = m.fresh("float32", [1, m.int(1, 2), *sizes], True)
    total = m[x].size * 2 ** len(sizes)
    places = np.random.RandomState(m.int(0, 99)).permutation(total)[: m[x].size]
    indices = m.add(places.reshape(m[x].shape).astype(np.int64))
    ends = [2] * len(sizes)
    return Call(op, [x, indices], {"kernel_shape": ends, "strides": ends})


@row("QLinearConv")
def _qlinear_conv(m: Maker, op: str) -> Call:
    w, outs = window(m, 2, auto=False), m.int(1, 3)
    x = m.fresh("uint8", [m.int(1, 2), m.int(1, 3), *w.sizes])
    kernel = m.fresh(m.pick(["uint8", "int8"]), [outs, m[x].shape[1], *w.kernel])
    kind = m[kernel].dtype.name
    each = [outs] if kind == "int8" and m.bool() else []
    zeros = [m.fresh("uint8", []), m.add(np.zeros(each, kind)), m.fresh("uint8", [])]
    scales = [_scale(m, []), _scale(m, each), _scale(m, [])]
    inputs = [x, scales[0], zeros[0], kernel, scales[1], zeros[1], scales[2], zeros[2]]
    inputs += [m.fresh("int32", [outs], True)] if m.bool() else []
    return Call(op, inputs, w.attrs, off_by=1)


@row("DeformConv")
def _deform_conv(m: Maker, op: str) -> Call:
    w, ins, outs = window(m, 2, auto=False), m.int(1, 2), m.int(1, 3)
    if len(w.sizes) != 2:
        return _conv(m, "Conv")
    x = m.fresh("float32", [1, ins, *w.sizes], True)
    pads, k = w.attrs["pads"], w.kernel
    out = [
        (w.sizes[i] + pads[i] + pads[i + 2] - (k[i] - 1) * w.attrs["dilations"][i] - 1)
        // w.attrs["strides"][i]
        + 1
        for i in range(2)
    ]
    offsets = m.like(x, [1, 2 * k[0] * k[1], *out], True)
    return Call(op, [x, m.like(x, [outs, ins, *k], True), offsets], w.attrs, sums=True, loose=50)


# quantisation


def _scale(m: Maker, shape: Sequence[int], dtype: str = "float32") -> str:
    return m.add(np.abs(m.array(dtype, shape, True)) + np.asarray(0.25, dtype))


@row("QuantizeLinear")
def _quantize(m: Maker, op: str) -> Call:
    x = m.tensor(("float32", "float16", "int32"), rank=(1, 4), least=1)
    axis, kind = m.axis(x), m.pick(["uint8", "int8", "uint16", "int16"])
    shape = [m[x].shape[axis]] if m.bool() else []
    source = "float16" if m[x].dtype == np.float16 else "float32"
    inputs = [x, _scale(m, shape, source)]
    inputs += [m.fresh(kind, shape)] if m.bool() else []
    return Call(op, inputs, {"axis": axis})


@row("DequantizeLinear")
def _dequantize(m: Maker, op: str) -> Call:
    x = m.tensor(("uint8", "int8", "uint16", "int16", "int32"), rank=(1, 4), least=1)
    axis, kind = m.axis(x), m[x].dtype.name
    shape = [m[x].shape[axis]] if m.bool() else []
    inputs = [x, _scale(m, shape)]
    if m.bool():
        inputs.append(m.add(np.zeros(shape, kind)) if kind == "int32" else m.fresh(kind, shape))
    return Call(op, inputs, {"axis": axis}, sums=True)


@row("DynamicQuantizeLinear")
def _dynamic_quantize(m: Maker, op: str) -> Call:
    return Call(op, [m.tensor(("float32",), rank=(1, 4), least=1, tame=True)], {}, 3, off_by=1)


@row("MatMulInteger")
def _matmul_integer(m: Maker, op: str) -> Call:
    a = m.tensor(("uint8", "int8"), rank=(2, 3), least=1)
    b = m.fresh(m.pick(["uint8", "int8"]), [m[a].shape[-1], m.int(1, 9)])
    zeros = [m.add(m.int(0, 9), m[n].dtype) for n in (a, b)]
    return Call(op, [a, b, *zeros[: m.int(0, 2)]])


@row("QLinearMatMul")
def _qlinear_matmul(m: Maker, op: str) -> Call:
    kind = m.pick(["uint8", "int8"])
    rows, k, columns = (m.int(1, 5) for _ in range(3))
    inputs: list[str] = []
    for shape in ([rows, k], [k, columns]):
        inputs += [m.fresh(kind, shape), _scale(m, []), m.fresh(kind, [])]
    return Call(op, [*inputs, _scale(m, []), m.fresh(kind, [])], off_by=1)


# layers


@row("RNN", "GRU", "LSTM")
def _recurrent(m: Maker, op: str) -> Call:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    steps, batch, width, units = m.int(1, 4), m.int(1, 3), m.int(1, 4), m.int(1, 3)
    direction = m.pick(["forward", "reverse", "bidirectional"])
    n = 2 if direction == "bidirectional" else 1
    x = m.fresh(m.pick(["float32", "float32", "float64"]), [steps, batch, width], True)
    inputs = [
        x,
        m.like(x, [n, gates * units, width], True),
        m.like(x, [n, gates * units, units], True),
    ]
    optional = [
        lambda: m.like(x, [n, 2 * gates * units], True),
        lambda: m.add([m.int(1, steps) for _ in range(batch)], "int32"),
        lambda: m.like(x, [n, batch, units], True),
    ]
    if op == "LSTM":
        optional.append(lambda: m.like(x, [n, batch, units], True))
        optional.append(lambda: m.like(x, [n, 3 * units], True))
    inputs += [make() if m.bool() else "" for make in optional]
    attrs: dict[str, Any] = {"hidden_size": units, "direction": direction}
    if op == "GRU":
        attrs["linear_before_reset"] = m.int(0, 1)
    return Call(op, inputs, attrs, 3 if op == "LSTM" else 2, sums=True, loose=8)


@row("Attention")
def _attention(m: Maker, op: str) -> Call:
    batch, heads, q, k, size = (
        m.int(1, 2),
        m.pick([1, 2, 4]),
        m.int(1, 4),
        m.int(1, 5),
        m.pick([2, 4]),
    )
    kv = m.pick([h for h in (1, 2, 4) if heads % h == 0])
    x = m.fresh(m.pick(["float32", "float32", "float16"]), [batch, heads, q, size], True)
    inputs = [
        x,
        m.like(x, [batch, kv, k, size], True),
        m.like(x, [batch, kv, k, m.int(1, 3)], True),
    ]
    if m.bool():
        shape = m.pick([[q, k], [1, 1, q, k], [batch, 1, q, k]])
        inputs.append(m.fresh("bool", shape) if m.bool() else m.like(x, shape, True))
    attrs: dict[str, Any] = {"is_causal": 1} if m.bool() else {}
    attrs |= {"softcap": 2.0} if m.bool() else {}
    return Call(op, inputs, attrs, loose=16)


@row("RotaryEmbedding")
def _rotary(m: Maker, op: str) -> Call:
    batch, heads, steps, half = m.int(1, 2), m.int(1, 3), m.int(1, 3), m.int(1, 3)
    x = m.fresh(m.pick(["float32", "float16"]), [batch, heads, steps, 2 * half], True)
    caches = [m.like(x, [5, half], True) for _ in range(2)]
    positions = m.add(m.indices(5, [batch, steps], negative=False))
    return Call(op, [x, *caches, positions], {"interleaved": m.int(0, 1)}, sums=True)


@row("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def _loss(m: Maker, op: str) -> Call:
    batch, classes, more = m.int(1, 4), m.int(1, 4), m.shape(0, 2, least=1)
    x = m.fresh(m.pick(["float32", "float64"]), [batch, classes, *more], True)
    target = m.add(m.indices(classes, [batch, *more], negative=False))
    weight = [m.add(np.abs(m.array(m[x].dtype.name, [classes], True)) + 1)] if m.bool() else []
    attrs: dict[str, Any] = {"reduction": m.pick(["none", "mean", "sum"])}
    attrs |= {"ignore_index": m.int(0, 3)} if m.bool() else {}
    return Call(op, [x, target, *weight], attrs, sums=True, loose=8)
