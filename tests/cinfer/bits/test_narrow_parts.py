"""Moves of parts one element wide, fills of long ones, sums: numpy's results, in every way."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")

Array = np.ndarray[Any, Any]
WAYS = [(isa, threads) for isa in engines.instruction_sets() for threads in (1, 2)]
TYPES = (np.bool_, np.int16, np.float32, np.float64, np.complex128)


def found(
    op: str, inputs: list[Array], outputs: list[Any], attrs: dict[str, Any], constants: int = 0
) -> list[Array]:
    """Outputs of these types in every way; the last `constants` inputs are of the model."""
    b = engines.Builder()
    names, fed = [], []
    for i, value in enumerate(inputs):
        if i >= len(inputs) - constants:
            names.append(b.constant(f"in{i}", value))
        else:
            names.append(b.placeholder(f"in{i}", value.dtype, None))
            fed.append((names[-1], value))
    kinds = [engines.tensor_type(t) for t in outputs]
    b.node("y", op, names, kinds, dict(sorted(attrs.items())), version=18)
    results = {f"y{i}": "y" if i == 0 else f"y:{i}" for i in range(len(outputs))}
    b.signature({n: n for n, _ in fed}, results)
    every = [
        cinfer.load(b.bytes(), isa=isa, threads=threads).signature().run([v for _, v in fed])
        for isa, threads in WAYS
    ]
    for other in every[1:]:
        for one, first in zip(other, every[0], strict=True):
            np.testing.assert_array_equal(one, first)
    return [np.asarray(y) for y in every[0]]


def drawn(random: np.random.RandomState, dtype: Any, *shape: int) -> Array:
    return (random.standard_normal(shape) * 50).astype(dtype)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("parts", [1, 2, 3, 5])
def test_columns_are_split_and_put_together_again(dtype: Any, parts: int) -> None:
    x = drawn(np.random.RandomState(parts), dtype, 301, parts)
    columns = found("Split", [x], [dtype] * parts, {"axis": -1, "num_outputs": parts})
    for i, column in enumerate(columns):
        np.testing.assert_array_equal(column, x[:, i : i + 1])
    np.testing.assert_array_equal(found("Concat", columns, [dtype], {"axis": 1})[0], x)


@pytest.mark.parametrize("mode", ["reflect", "edge", "wrap"])
@pytest.mark.parametrize("dtype", TYPES)
def test_rows_are_padded_on_several_threads(mode: str, dtype: Any) -> None:
    random = np.random.RandomState(1)
    for shape in ((3, 5, 60, 70), (40, 1000), (7,)):
        x = drawn(random, dtype, *shape)
        pads = random.randint(0, min(shape), (len(shape), 2))
        expected: Array = np.pad(x, pads, mode=mode)  # type: ignore[call-overload]
        given = np.concatenate([pads[:, 0], pads[:, 1]]).astype(np.int64)
        np.testing.assert_array_equal(
            found("Pad", [x, given], [dtype], {"mode": mode}, 1)[0], expected
        )


def test_a_nan_that_is_moved_to_a_result_is_the_one_nan() -> None:
    x = np.full((40, 300), 0x7FC01234, np.uint32).view(np.float32)
    pads = np.array([0, 3, 0, 4], np.int64)
    y = found("Pad", [x, pads], [np.float32], {"mode": "edge"}, 1)[0]
    for part in [y, *found("Split", [x], [np.float32] * 2, {"axis": 0, "num_outputs": 2})]:
        assert (part.view(np.uint32) == 0x7FC00000).all()


@pytest.mark.parametrize("size", [1, 100, 10000])
def test_one_element_fills_a_result_of_any_length(size: int) -> None:
    for value in (np.float32(0), np.float32(1.5), np.float64(-0.0), np.int64(-1), np.uint8(7)):
        one = np.array([value])
        shape = np.array([3, size], np.int64)
        y = found("Expand", [one, shape], [one.dtype], {}, 1)[0]
        np.testing.assert_array_equal(y.view(np.uint8), np.full((3, size), value).view(np.uint8))


@pytest.mark.parametrize("diagonal", [0, 3, -40, 500])
@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int64, np.uint8])
def test_ones_lie_on_a_diagonal(diagonal: int, dtype: Any) -> None:
    y = found("EyeLike", [np.zeros((70, 300), dtype)], [dtype], {"k": diagonal})[0]
    np.testing.assert_array_equal(y, np.eye(70, 300, diagonal, dtype))


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("width", [1, 3, 17, 130, 5000])
def test_one_number_takes_the_place_of_what_a_mask_leaves_out(dtype: Any, width: int) -> None:
    random = np.random.RandomState(width)
    mask = random.rand(2, 1, width) > 0.5
    x, one = drawn(random, dtype, 2, 3, width), drawn(random, dtype, 1)
    narrow = mask[:, :, :1].copy()
    for given in ([mask, x, one], [mask, one, x], [mask, one, one + one], [narrow, one, x]):
        expected = np.where(*given)
        np.testing.assert_array_equal(found("Where", given, [dtype], {})[0], expected)


def test_a_mean_of_tensors_is_their_sum_divided_by_their_number() -> None:
    random = np.random.RandomState(2)
    x = [drawn(random, np.float32, 33, 47) for _ in range(5)]
    for n in (2, 3, 5):
        total = x[0]
        for one in x[1:n]:
            total = total + one
        np.testing.assert_array_equal(
            found("Mean", x[:n], [np.float32], {})[0], total / np.float32(n)
        )


def test_sums_of_doubles_are_those_of_the_document() -> None:
    random = np.random.RandomState(4)
    for n in (1, 15, 16, 33, 255, 256, 300, 1000):
        x = random.standard_normal((3, n))
        lanes = np.zeros((3, 64))
        wide = n // 64 * 64 if n >= 256 else 0
        for i in range(n):
            lane = i % 64 if i < wide else i % 16
            lanes[:, lane] = lanes[:, lane] + x[:, i]
        rest = (lanes[:, :16] + lanes[:, 16:32]) + (lanes[:, 32:48] + lanes[:, 48:])
        while rest.shape[1] > 1:
            rest = rest[:, : rest.shape[1] // 2] + rest[:, rest.shape[1] // 2 :]
        axes = np.array([1], np.int64)
        y = found("ReduceSum", [x, axes], [np.float64], {"keepdims": 1}, 1)[0]
        np.testing.assert_array_equal(y, rest)
