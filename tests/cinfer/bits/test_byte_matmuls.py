"""Matrix multiplications of bytes in the C library: numpy's exact int64 sums on every path."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")

Array = np.ndarray[Any, Any]
WAYS = [(isa, threads) for isa in engines.instruction_sets() for threads in (1, 2)]
Drawn = np.random.RandomState


def found(
    op: str, inputs: list[Array | None], constant: int, attrs: dict[str, Any], to: Any
) -> Array:
    """The operator's result, equal on every path; input `constant` is the model's (-1: none)."""
    b = engines.Builder()
    names, fed = [], []
    for i, value in enumerate(inputs):
        if value is None:
            names.append("")
        elif i == constant:
            names.append(b.constant(f"in{i}", value))
        else:
            names.append(b.placeholder(f"in{i}", value.dtype, None))
            fed.append((names[-1], value))
    b.node("y", op, names, [engines.tensor_type(to)], dict(sorted(attrs.items())), version=21)
    b.signature({n: n for n, _ in fed}, {"y": "y"})
    values = [v for _, v in fed]
    results = []
    for isa, threads in WAYS:
        signature = cinfer.load(b.bytes(), isa=isa, threads=threads).signature()
        results += [signature.run(values)[0] for _ in range(2)]
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
    return np.asarray(results[0])


def drawn(random: Drawn, dtype: Any, *shape: int) -> Array:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max + 1
    return np.asarray(random.randint(low, high, shape)).astype(dtype)


def byte_type(random: Drawn) -> Any:
    return (np.int8, np.uint8)[random.randint(2)]


def less(v: Array, zero: Array | None, axis: int) -> Array:
    wide = v.astype(np.int64)
    if zero is None:
        return wide
    shape = [1] * v.ndim
    if zero.ndim == 1 and zero.size > 1:
        shape[axis] = zero.size
    return wide - zero.astype(np.int64).reshape(shape)


def some_zero(random: Drawn, dtype: Any, each: int) -> Array | None:
    """No zero point, 0, one, one for each row, or the same for each."""
    kind = random.randint(5)
    if kind == 0:
        return None
    if kind == 4:
        return np.full(each, drawn(random, dtype))
    return (
        np.zeros((), dtype) if kind == 1 else drawn(random, dtype, *([each] if kind == 3 else []))
    )


@pytest.mark.parametrize("seed", range(24))
def test_integer_matmuls_are_exact(seed: int) -> None:
    random = Drawn(seed)
    m, k, n = (int(random.randint(1, most)) for most in (30, 70, 80))
    batch = ([], [], [3], [2, 2])[random.randint(4)]
    right = ([], batch, [1] * len(batch))[random.randint(3)]
    types = byte_type(random), byte_type(random)
    a, b = drawn(random, types[0], *batch, m, k), drawn(random, types[1], *right, k, n)
    za, zb = some_zero(random, types[0], m), some_zero(random, types[1], n)
    y = found("MatMulInteger", [a, b, za, zb], 1 if seed % 2 else -1, {}, np.int32)
    np.testing.assert_array_equal(y, less(a, za, -2) @ less(b, zb, -1))


@pytest.mark.parametrize("columns", [32, 1000])
@pytest.mark.parametrize("rows", [1, 8, 37, 64])
@pytest.mark.parametrize("zeros", ["no", "one", "each"])
def test_large_integer_matmuls_are_exact(rows: int, columns: int, zeros: str) -> None:
    random = Drawn(rows + columns)
    a, b = drawn(random, np.uint8, rows, 300), drawn(random, np.int8, 300, columns)
    za = zb = None
    if zeros != "no":
        za, zb = drawn(random, np.uint8), drawn(random, np.int8)
    if zeros == "each":
        za, zb = drawn(random, np.uint8, rows), drawn(random, np.int8, columns)
    y = found("MatMulInteger", [a, b, za, zb], 1, {}, np.int32)
    np.testing.assert_array_equal(y, less(a, za, -2) @ less(b, zb, -1))


@pytest.mark.parametrize("each_row", [False, True])
@pytest.mark.parametrize("each_column", [False, True])
@pytest.mark.parametrize("largest", [0.1, np.inf])
def test_quantised_matmuls_round_the_exact_sums(
    each_row: bool, each_column: bool, largest: float
) -> None:
    random = Drawn(3)
    a, b = drawn(random, np.uint8, 2, 11, 70), drawn(random, np.int8, 70, 45)
    za, zb, zy = drawn(random, np.uint8), np.zeros(45, np.int8), drawn(random, np.int8)
    a_scale = random.uniform(0.001, 0.1, 11 if each_row else ()).astype(np.float32)
    b_scale = random.uniform(0.001, 0.1, 45 if each_column else ()).astype(np.float32)
    b_scale.flat[-1] = largest
    y_scale = np.float32(2.5)
    if each_row:  # one for each row of each matrix
        a_scale = np.stack([a_scale, 2 * a_scale])[:, :, None]
    inputs = [np.asarray(v) for v in (a, a_scale, za, b, b_scale, zb, y_scale, zy)]
    y = found("QLinearMatMul", [*inputs], 3, {}, np.int8)
    sums = less(a, za, -2) @ b.astype(np.int64)
    with np.errstate(invalid="ignore"):
        matmul = sums * ((a_scale * b_scale) / y_scale).astype(np.float64)
    whole = np.rint(np.nan_to_num(matmul, nan=0.0, posinf=1e9, neginf=-1e9)) + float(zy)
    np.testing.assert_array_equal(y, np.clip(whole, -128, 127).astype(np.int8))


def window_sums(x: Array, w: Array, groups: int, attrs: dict[str, list[int]]) -> Array:
    """The convolution of int64 images that are padded already."""
    taps, strides, dilations = w.shape[2:], attrs["strides"], attrs["dilations"]
    out = [
        (size - (tap - 1) * d - 1) // s + 1
        for size, tap, s, d in zip(x.shape[2:], taps, strides, dilations, strict=True)
    ]
    y = np.zeros((len(x), len(w), *out), np.int64)
    each, channels = len(w) // groups, w.shape[1]
    for at in np.ndindex(*taps):
        part = tuple(
            slice(t * d, t * d + (o - 1) * s + 1, s)
            for t, d, o, s in zip(at, dilations, out, strides, strict=True)
        )
        seen = x[(slice(None), slice(None), *part)]
        for g in range(groups):
            own = slice(g * each, (g + 1) * each)
            mine = seen[:, g * channels : (g + 1) * channels]
            y[:, own] += np.einsum("nc...,oc->no...", mine, w[(own, slice(None), *at)])
    return y


@pytest.mark.parametrize("seed", range(40))
def test_integer_convolutions_are_exact(seed: int) -> None:
    random = Drawn(seed)
    rank, groups = (1, 2, 2, 2, 3)[random.randint(5)], (1, 1, 2, 3, 4, 8)[random.randint(6)]
    channels = int(random.randint(1, 3 if groups > 2 else 8))
    outputs = groups * int(random.randint(1, 11))
    taps = [int(random.randint(1, 4)) for _ in range(rank)]
    attrs: dict[str, list[int]] = {
        "dilations": [int(random.randint(1, 3)) for _ in range(rank)],
        "strides": [int(random.randint(1, 4)) if seed % 2 else 1 for _ in range(rank)],
        "pads": [int(random.randint(0, 3)) for _ in range(2 * rank)],
    }
    most = 40 if rank < 3 else 5
    sizes = [
        (t - 1) * d + 1 + int(random.randint(0, most))
        for t, d in zip(taps, attrs["dilations"], strict=True)
    ]
    types = byte_type(random), byte_type(random)
    x = drawn(random, types[0], 2, groups * channels, *sizes)
    w = drawn(random, types[1], outputs, channels, *taps)
    zx, zw = drawn(random, types[0]), some_zero(random, types[1], outputs)
    y = found("ConvInteger", [x, w, zx, zw], seed % 3, {**attrs, "group": groups}, np.int32)
    pads = attrs["pads"]
    around = [(0, 0), (0, 0), *zip(pads[:rank], pads[rank:], strict=True)]
    padded = np.pad(less(x, zx, 0), around)
    np.testing.assert_array_equal(y, window_sums(padded, less(w, zw, 0), groups, attrs))


@pytest.mark.parametrize("seed", range(12))
def test_quantised_convolutions_round_the_exact_sums(seed: int) -> None:
    random = Drawn(seed)
    types = byte_type(random), byte_type(random), byte_type(random)
    x, w = drawn(random, types[0], 1, 6, 9, 21), drawn(random, types[1], 5, 6, 3, 3)
    zx, zy = drawn(random, types[0]), drawn(random, types[2])
    zw = np.zeros(5, types[1])
    bias = random.randint(-5000, 5000, 5).astype(np.int32)
    x_scale, y_scale = np.float32(0.02), np.float32(1.5)
    w_scale = random.uniform(0.001, 0.1, 5).astype(np.float32)
    attrs: dict[str, list[int]] = {"strides": [1, 1 + seed % 2], "dilations": [1, 1]}
    inputs = [np.asarray(v) for v in (x, x_scale, zx, w, w_scale, zw, y_scale, zy, bias)]
    y = found("QLinearConv", [*inputs], 3, attrs, types[2])
    sums = window_sums(less(x, zx, 0), less(w, zw, 0), 1, attrs) + bias[:, None, None]
    factor = (x_scale * w_scale / y_scale).astype(np.float32)[:, None, None]
    limits = np.iinfo(types[2])
    whole = np.rint(sums.astype(np.float32) * factor).astype(np.float64) + float(zy)
    np.testing.assert_array_equal(y, np.clip(whole, limits.min, limits.max).astype(types[2]))
