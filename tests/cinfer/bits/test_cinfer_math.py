"""cinfer's element-wise operators, reductions and training steps: bits against docs/numerics.md.

Every check runs on each instruction set that the machine has, with one and with two threads.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numerics_emulator as emulator
import numpy as np
import pytest
from engines import Builder, instruction_sets, one_node, tensor_type

from graphio import runtime
from graphio.schema import dtypes, operators
from graphio.support import errors

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")
pytest.importorskip("graphio.cinfer._native", reason="the C library was not built")

Array = np.ndarray[Any, Any]
F = np.float32


WAYS = list(itertools.product(instruction_sets(), (1, 2)))


def bits(x: Array) -> bytes:
    """The bytes of an array, every NaN written alike."""
    if x.dtype.kind == "f":
        x = np.where(np.isnan(x), x.dtype.type(np.nan), x)
    return x.tobytes()


def outputs(
    op: str,
    inputs: Sequence[Array | None],
    attrs: Mapping[str, Any] | None = None,
    types: Sequence[Any] = (F,),
    *,
    domain: str = "",
    version: int = 18,
) -> list[Array]:
    """The operator's results, after checking that they are the same in every way to run it."""
    data, fed = one_node(op, inputs, attrs or {}, types, domain=domain, version=version)
    found = [cinfer.load(data, isa=isa, threads=n).signature().run(fed) for isa, n in WAYS]
    for (isa, n), other in zip(WAYS[1:], found[1:], strict=True):
        for a, b in zip(found[0], other, strict=True):
            assert bits(a) == bits(b), f"{op} on {isa} with {n} threads"
    return list(found[0])


def output(op: str, *inputs: Array | None, **attrs: Any) -> Array:
    return outputs(op, inputs, dict(sorted(attrs.items())))[0]


def numbers(*shape: int, seed: int = 0) -> Array:
    """Ordinary numbers with some zeros, denormals, infinities and NaN among them."""
    random = np.random.default_rng(seed)
    x = random.standard_normal(shape).astype(F)
    odd = np.array([0.0, -0.0, 1e-41, -3e-39, 1e30, -1e30, np.inf, -np.inf, np.nan], F)
    return np.where(random.random(shape) < 0.05, random.choice(odd, shape), x).astype(F)


def plain(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(F)


# ---- element by element ----

SHAPES = [
    ((), ()),
    ((5,), ()),
    ((), (33,)),
    ((3, 17), (17,)),
    ((3, 17), (3, 1)),
    ((2, 1, 5), (4, 1)),
    ((2, 3, 4, 5), (3, 1, 5)),
    ((1, 40), (40, 1)),
    ((300, 257), (300, 257)),
    ((300, 257), (257,)),
    ((0, 3), (1, 3)),
]


@pytest.mark.parametrize(("a", "b"), SHAPES, ids=str)
@pytest.mark.parametrize(
    ("op", "expect"),
    [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)],
)
def test_arithmetic_is_ieee_in_every_broadcast(op: str, expect: Any, a: Any, b: Any) -> None:
    x, y = numbers(*a), numbers(*b, seed=1)
    with np.errstate(all="ignore"):
        assert bits(output(op, x, y)) == bits(np.asarray(expect(x, y)))
        assert bits(output(op, y, x)) == bits(np.asarray(expect(y, x)))


@pytest.mark.parametrize("op", ["Max", "Min"])
def test_three_inputs_of_max_and_min_keep_nan_and_give_positive_zeros(op: str) -> None:
    x, y, z = numbers(4, 50), numbers(50, seed=1), numbers(4, 1, seed=2)
    expect = np.maximum if op == "Max" else np.minimum
    with np.errstate(all="ignore"):
        assert bits(output(op, x, y, z)) == bits(expect(expect(x, y), z) + F(0))
        assert bits(output(op, x, y, x)) == bits(expect(expect(x, y), x) + F(0))
    assert bits(output(op, x)) == bits(x + F(0))


def test_a_choice_broadcasts_all_three_inputs() -> None:
    c = np.arange(7) % 3 == 0
    for cs, xs, ys in [
        ((7,), (7,), (7,)),
        ((7, 1), (5,), ()),
        ((1,), (2, 7), (7,)),
        ((7,), (), (2, 7)),
    ]:
        condition = np.resize(c, cs)
        for dtype in (np.int8, np.int16, F, np.float64, np.complex128):
            x, y = plain(*xs).astype(dtype), plain(*ys, seed=1).astype(dtype)
            found = outputs("Where", [condition, x, y], types=[dtype])[0]
            assert bits(found) == bits(np.where(condition, x, y))


@pytest.mark.parametrize(
    ("op", "emulated"),
    [
        ("Exp", emulator.exp),
        ("Log", emulator.log),
        ("Tanh", emulator.tanh),
        ("Sigmoid", emulator.sigmoid),
        ("Erf", emulator.erf),
    ],
)
def test_elementary_functions_are_those_of_the_numerics_page(op: str, emulated: Any) -> None:
    x = np.concatenate([numbers(500), np.geomspace(1e-42, 3e38, 400).astype(F)])
    x = np.concatenate([x, -x, np.linspace(-110, 95, 700).astype(F)])
    with np.errstate(all="ignore"):
        assert bits(output(op, x)) == bits(np.asarray(emulated(x), F))


# ---- reductions ----

LENGTHS = [1, 7, 15, 16, 17, 33, 255, 256, 257, 1000, 65536, 65537, 70001]


def long_sum(x: Array) -> Array:
    """Over the last axis, pieces included."""
    n = x.shape[-1]
    if n > 65536:
        pieces = [emulator.last_sum(x[..., k : k + 4096]) for k in range(0, n, 4096)]
        return long_sum(np.stack(pieces, axis=-1))
    return np.asarray(emulator.last_sum(x))


@pytest.mark.parametrize("n", LENGTHS)
def test_a_sum_of_rows_has_lanes_and_a_tree(n: int) -> None:
    x = plain(3, n, seed=n)
    axis = np.array([1], np.int64)
    assert bits(output("ReduceSum", x, axis, keepdims=0)) == bits(long_sum(x))
    mean = np.divide(long_sum(x), F(n))
    assert bits(output("ReduceMean", x, axis, keepdims=0)) == bits(mean)


@pytest.mark.parametrize("inner", [2, 16, 17, 32, 33, 100])
@pytest.mark.parametrize("n", [1, 15, 33, 300, 1000])
def test_a_sum_of_columns_has_blocks(n: int, inner: int) -> None:
    x = plain(2, n, inner)
    axis = np.array([1], np.int64)
    assert bits(output("ReduceSum", x, axis, keepdims=0)) == bits(emulator.middle_sum(x))


def test_axes_that_are_no_neighbours_are_moved_behind_the_others() -> None:
    x = plain(4, 5, 6, 7)
    for axes in [(0, 2), (1, 3), (0, 2, 3), (0, 1, 3)]:
        kept = [i for i in range(4) if i not in axes]
        moved = np.transpose(x, (*kept, *axes)).reshape([*(x.shape[i] for i in kept), -1])
        found = output("ReduceSum", x, np.array(axes, np.int64), keepdims=0)
        assert bits(found) == bits(long_sum(np.ascontiguousarray(moved))), axes


@pytest.mark.parametrize("op", ["ReduceMax", "ReduceMin", "ReduceProd"])
def test_largest_smallest_and_reduce_prod(op: str) -> None:
    expect: Any = {"ReduceMax": np.max, "ReduceMin": np.min, "ReduceProd": np.prod}[op]
    for shape, axes in [((3, 40), (1,)), ((3, 40), (0,)), ((2, 30, 5), (1,)), ((2, 3, 4), (0, 2))]:
        x = numbers(*shape) if op != "ReduceProd" else plain(*shape)
        found = output(op, x, np.array(axes, np.int64), keepdims=1)
        expected_values = expect(x, axis=axes, keepdims=True)
        np.testing.assert_allclose(found, expected_values, rtol=1e-5 if op == "ReduceProd" else 0)


@pytest.mark.parametrize("shape", [(7, 300), (3, 70000), (2, 40, 33), (5, 1)], ids=str)
def test_norms_are_sums_of_rounded_parts(shape: tuple[int, ...]) -> None:
    x, axes = plain(*shape), np.array([1])
    squares = output("ReduceSum", (x * x).astype(F), axes)
    assert bits(output("ReduceSumSquare", x, axes)) == bits(squares)
    assert bits(output("ReduceL2", x, axes)) == bits(np.sqrt(squares))
    assert bits(output("ReduceL1", x, axes)) == bits(output("ReduceSum", np.abs(x), axes))
    total = output("ReduceSum", np.abs(x), axes)
    assert bits(output("ReduceLogSum", np.abs(x), axes)) == bits(emulator.log(total))


@pytest.mark.parametrize("axes", [[1], [0], [0, 2], [0, 1, 2]], ids=str)
def test_log_sum_exp_subtracts_the_largest(axes: list[int]) -> None:
    x, at = plain(6, 50, 20), np.array(axes)
    top = x.max(axis=tuple(axes), keepdims=True)
    total = output("ReduceSum", emulator.exp((x - top).astype(F)), at)
    expected = (emulator.log(total) + top).astype(F)
    assert bits(output("ReduceLogSumExp", x, at)) == bits(expected)


EINSUMS = [
    ("bij,bjk->bik", (3, 70, 40), (3, 40, 5)),
    ("bij,bjk->bik", (3, 70, 40), (3, 40, 50)),
    ("bij,bkj->bik", (2, 5, 300), (2, 3, 300)),
    ("bi,bi->b", (9, 400), (9, 400)),
    ("ji,jk->ik", (300, 5), (300, 33)),
]


@pytest.mark.parametrize(("equation", "a", "b"), EINSUMS, ids=[str(e) for e in EINSUMS])
def test_einsum_has_the_bits_of_matmuls(equation: str, a: Any, b: Any) -> None:
    x, y = plain(*a), plain(*b, seed=1)
    left = np.swapaxes(x, 0, 1)[None] if equation[:2] == "ji" else x
    right = np.swapaxes(y, 1, 2) if "bkj" in equation else y
    if "bi," in equation:
        left, right = x[:, None], y[:, :, None]
    if left.ndim > right.ndim:
        right = right[None]
    expected = np.stack([emulator.matmul(m, n) for m, n in zip(left, right, strict=True)])
    found = outputs("Einsum", [x, y], {"equation": equation})[0]
    assert bits(found) == bits(expected.reshape(found.shape))


@pytest.mark.parametrize("dtype", [F, np.float64, np.int8, np.uint16, np.int64])
@pytest.mark.parametrize("equation", ["ijk->k", "ij...,kj->k...i", "iij,j->ij", "ijk,jk,k->i"])
def test_einsum_gives_the_same_bits_on_every_machine(equation: str, dtype: Any) -> None:
    shapes = {"ijk->k": [(90, 41, 70)], "ij...,kj->k...i": [(40, 30, 20), (50, 30)]}
    shapes |= {"iij,j->ij": [(60, 60, 33), (33,)], "ijk,jk,k->i": [(70, 40, 30), (40, 30), (30,)]}
    xs = [(plain(*s, seed=i) * 3).astype(dtype) for i, s in enumerate(shapes[equation])]
    outputs("Einsum", xs, {"equation": equation}, [dtype])


@pytest.mark.parametrize("dtype", [F, np.float64])
def test_a_determinant_is_the_same_on_every_machine(dtype: Any) -> None:
    x = plain(300, 9, 9).astype(dtype)
    np.testing.assert_allclose(
        outputs("Det", [x], types=[dtype], version=22)[0], np.linalg.det(x), rtol=1e-3
    )


@pytest.mark.parametrize("n", [1, 3, 10, 16, 17, 100, 256, 1000])
def test_softmax_has_sixteen_lanes_wherever_its_axis_is(n: int) -> None:
    x = plain(5, n, seed=n) * F(4)
    x[0, 0] = -np.inf if n > 1 else 0
    expected_values = emulator.softmax(x)
    assert bits(output("Softmax", x, axis=-1)) == bits(expected_values)
    columns = np.ascontiguousarray(x.T)
    assert bits(output("Softmax", columns, axis=0)) == bits(np.ascontiguousarray(expected_values.T))


def test_nothing_to_reduce_gives_the_neutral_number() -> None:
    x, axis = np.zeros((2, 0, 3), F), np.array([1], np.int64)
    for op, expected_values in [
        ("Sum", 0),
        ("Prod", 1),
        ("Max", -np.inf),
        ("Min", np.inf),
        ("Mean", np.nan),
    ]:
        found = output(f"Reduce{op}", x, axis, keepdims=0)
        assert bits(found) == bits(np.full((2, 3), expected_values, F)), op
    assert output("Softmax", x, axis=1).shape == (2, 0, 3)


# ---- fused operators give the bits of their bodies ----


def run_body(name: str, inputs: Sequence[Array], types: Sequence[Any]) -> list[Array]:
    """Runs the operator's body instead of its kernel, under a name that no kernel has."""
    body = operators.body("graphio", name, 1)
    assert body is not None
    body.domain, body.name = "test", f"{name}Body"
    data, fed = one_node(body.name, inputs, {}, types, domain="test", version=1, functions=[body])
    found: list[Array] = cinfer.load(data).signature().run(fed)
    return found


def scalars(*values: float, dtype: Any = F) -> list[Array]:
    return [np.array(value, dtype) for value in values]


def fused_cases(dtype: Any) -> Iterator[tuple[str, list[Array]]]:
    p, a, g, v = (plain(7, 37, seed=s).astype(dtype) for s in range(4))
    rate, momentum = scalars(0.1, 0.9, dtype=dtype)
    adam = scalars(0.9, 0.999, 0.01, 0.9, 0.999, 1e-8, dtype=dtype)
    yield "GradientDescentStep", [p, rate, g]
    yield "MomentumStep", [p, a, rate, g, momentum]
    yield "NesterovMomentumStep", [p, a, rate, g, momentum]
    yield "AdamStep", [p, a, np.abs(v), *adam, g]
    yield "ReluGrad", [p, g]
    for n in (1, 10, 100, 256, 1000):
        logits = (plain(6, n, seed=n) * 5).astype(dtype)
        yield "SoftmaxCrossEntropy", [logits, np.abs(plain(6, n, seed=1)).astype(dtype)]
        labels = np.arange(6, dtype=np.int64) % n
        yield "SparseSoftmaxCrossEntropy", [logits, labels]


@pytest.mark.parametrize("dtype", [F, np.float64])
def test_fused_operators_give_the_bits_of_their_bodies(dtype: Any) -> None:
    for name, inputs in fused_cases(dtype):
        types = [dtype] * {"AdamStep": 3, "GradientDescentStep": 1, "ReluGrad": 1}.get(name, 2)
        expected_values = run_body(name, inputs, types)
        found = outputs(name, inputs, {}, types, domain="graphio", version=1)
        for a, b in zip(found, expected_values, strict=True):
            assert bits(a) == bits(b), name


def test_a_label_out_of_range_says_which() -> None:
    with pytest.raises(errors.InvalidArgumentError, match=r"label 3 of row 1 is outside \[0, 3\)"):
        labels = np.array([0, 3], np.int32)
        outputs(
            "SparseSoftmaxCrossEntropy",
            [plain(2, 3), labels],
            {},
            [F, F],
            domain="graphio",
            version=1,
        )


# ---- random numbers: the same words in both engines ----

DRAWS = [
    ("RandomUniform", F, []),
    ("RandomUniform", np.float64, []),
    ("RandomNormal", F, []),
    ("RandomNormal", np.float64, []),
    ("RandomTruncatedNormal", F, []),
    ("RandomTruncatedNormal", np.float64, []),
    ("RandomInteger", np.int32, [-(2**31), 2**31 - 1]),
    ("RandomInteger", np.int32, [5, 6]),
    ("RandomInteger", np.int64, [-(2**63), 2**63 - 1]),
]


DRAWS += [(f"Stateless{op}", dtype, limits) for op, dtype, limits in DRAWS]
DRAWS += [("StatelessRandomInteger", t, []) for t in (np.int32, np.int64, np.uint32, np.uint64)]


@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 9001])
@pytest.mark.parametrize(("op", "dtype", "limits"), DRAWS)
def test_both_engines_draw_the_same(op: str, dtype: Any, limits: list[int], count: int) -> None:
    builder = Builder()
    builder.model.resource.add(name="g").generator.seeded = True
    sizes = builder.constant("sizes", np.array([count], np.int64))
    more = [builder.constant(f"limit{i}", np.array(x, dtype)) for i, x in enumerate(limits)]
    attrs: dict[str, Any] = {"dtype": dtypes.of_numpy(np.dtype(dtype)).number}
    if op.startswith("Stateless"):
        more.insert(0, builder.constant("seed", np.array([-5, 1 << 40])))
    else:
        attrs["generator"] = "g"
    builder.node("y", op, [sizes, *more], [tensor_type(dtype)], attrs, domain="graphio")
    builder.signature({}, {"y": "y"})
    found, after = [], []
    ways: list[Any] = [partial(cinfer.load, isa=isa, threads=n) for isa, n in WAYS]
    for load in (runtime.load, *ways):
        model = load(builder.bytes())
        model.state.set_generator("g", 0x0123456789ABCDEF, 2**64 - 2)
        found.append(model.signature().run([])[0])
        after.append(model.state.generators()["g"])
    assert len(set(after)) == 1
    assert len({x.tobytes() for x in found[1:]}) == 1
    exact = op.endswith(("RandomUniform", "RandomInteger"))
    np.testing.assert_allclose(
        found[1], found[0], rtol=0 if exact else 1e-6, atol=0 if exact else 1e-12
    )


def any_floats(count: int, seed: int = 0) -> Array:
    """All kinds of float32: any bits, small numbers, those near multiples of pi / 2, and edges."""
    random = np.random.RandomState(seed)
    edges = [0.0, -0.0, 1, -1, 0.5, -0.5, np.inf, -np.inf, np.nan, 1e-45, -1e-45, 3.4e38, 2.0**20]
    parts = [
        random.randint(0, 2**32, count, np.uint32).view(F),
        random.uniform(-3, 3, count),
        random.randint(-(2**22), 2**22, count) * (np.pi / 2),
        np.array(edges),
    ]
    with np.errstate(over="ignore"):
        return np.concatenate([part.astype(F) for part in parts])


@pytest.mark.parametrize("count", [1, 20, 3001])
@pytest.mark.parametrize(
    ("op", "expected"),
    [
        ("Sin", np.sin),
        ("Cos", np.cos),
        ("Asin", np.arcsin),
        ("Acos", np.arccos),
        ("Atan", np.arctan),
    ],
)
def test_sines_and_arcs_of_vectors_are_those_of_one_number(
    op: str, expected: np.ufunc, count: int
) -> None:
    x = any_floats(count)
    with np.errstate(invalid="ignore"):
        y = expected(x.astype(float)).astype(F)
    np.testing.assert_allclose(output(op, x), y, rtol=2.0**-23, atol=1e-45)
    np.testing.assert_array_equal(
        np.signbit(output(op, F([0.0, -0.0] * 9))), np.signbit(expected(F([0.0, -0.0] * 9)))
    )


@pytest.mark.parametrize(
    "exponent",
    [3, -1, 0.5, -0.5, 1, 2, 4, -2, -3, 8, -8, 9, 0, -0.0, 1.5, 0.7, 1e30, np.inf, -np.inf, np.nan],
)
def test_powers_of_vectors_are_those_of_one_number(exponent: float) -> None:
    x = any_floats(3001)
    with np.errstate(all="ignore"):
        y = np.power(x.astype(float), np.full(x.size, F(exponent).astype(float))).astype(F)
    found = output("Pow", x, np.asarray(exponent, F))
    np.testing.assert_allclose(found, y, rtol=2.0**-23, atol=1e-45)
    zero = found == 0
    np.testing.assert_array_equal(np.signbit(found[zero]), np.signbit(y[zero]))
    each = output("Pow", x, np.full_like(x, exponent))
    assert bits(each) == bits(found)


def test_powers_of_one_number_and_of_few_are_those_of_many() -> None:
    exponents = any_floats(500, seed=1)
    bases = F([2.5, -2.5, 0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.3])
    for base in bases:
        y = output("Pow", np.asarray(base), exponents)
        assert bits(y) == bits(output("Pow", np.full_like(exponents, base), exponents))
        few = [output("Pow", np.asarray(base), exponents[i : i + 1])[0] for i in range(20)]
        assert bits(F(few)) == bits(y[:20])


def test_infinities_of_either_sign_are_reported() -> None:
    x = any_floats(3001)
    for minus, plus in itertools.product((0, 1), repeat=2):
        found = outputs("IsInf", [x], {"detect_negative": minus, "detect_positive": plus}, [bool])
        want = (np.isposinf(x) & bool(plus)) | (np.isneginf(x) & bool(minus))
        np.testing.assert_array_equal(found[0], want)
