"""Loops of the C library over rows of any length, their tails, steps and indices, against numpy."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest

cinfer = pytest.importorskip("graphio.cinfer", reason="the C library was not built")

Array = np.ndarray[Any, Any]
F = np.float32
WAYS = [(isa, threads) for isa in engines.instruction_sets() for threads in (1, 2)]
LENGTHS = [1, 2, 15, 16, 17, 63, 64, 65, 255, 256, 257, 1000, 5000]
INTEGERS = [np.int8, np.uint8, np.int16, np.uint16, np.int32, np.uint32, np.int64, np.uint64]


def found(op: str, inputs: list[Any], attrs: dict[str, Any], to: Any, version: int = 21) -> Array:
    """The operator's result, the same in every way to run it."""
    dense = [np.array(v, order="C") for v in inputs]
    data, fed = engines.one_node(op, dense, dict(sorted(attrs.items())), [to], version=version)
    results = [cinfer.load(data, isa=isa, threads=n).signature().run(fed)[0] for isa, n in WAYS]
    for other in results[1:]:
        np.testing.assert_array_equal(other, results[0])
    return np.asarray(results[0])


def integers(dtype: Any, *shape: int) -> Array:
    low, high = np.iinfo(dtype).min, np.iinfo(dtype).max
    random = np.random.default_rng(shape[-1])
    return random.integers(low, high, shape, dtype=dtype, endpoint=True)


def floats(*shape: int) -> Array:
    return np.random.RandomState(shape[-1]).standard_normal(shape).astype(F)


@pytest.mark.parametrize("dtype", INTEGERS)
def test_integers_are_reduced_exactly(dtype: Any) -> None:
    for n in LENGTHS:
        x = integers(dtype, 3, n)
        axes = np.array([-1])
        np.testing.assert_array_equal(
            found("ReduceMax", [x, axes], {"keepdims": 0}, dtype), x.max(-1)
        )
        np.testing.assert_array_equal(
            found("ReduceMin", [x, axes], {"keepdims": 0}, dtype), x.min(-1)
        )
        total = found("ReduceSum", [x, axes], {"keepdims": 0}, dtype)
        np.testing.assert_array_equal(total, x.sum(-1, dtype=dtype))


@pytest.mark.parametrize("dtype", [F, np.int8, np.int16, np.int32, np.int64])
@pytest.mark.parametrize("last", [0, 1])
def test_the_best_of_a_row_is_the_first_or_last_of_equals(dtype: Any, last: int) -> None:
    for n in LENGTHS:
        x = np.random.RandomState(n).randint(-3, 4, (4, n)).astype(dtype)
        for op, best in (("ArgMax", np.argmax), ("ArgMin", np.argmin)):
            attrs = {"axis": 1, "keepdims": 0, "select_last_index": last}
            expected_values = n - 1 - best(x[:, ::-1], axis=1) if last else best(x, axis=1)
            np.testing.assert_array_equal(found(op, [x], attrs, np.int64), expected_values)


def test_the_first_nan_is_the_best() -> None:
    for n in (1, 64, 65, 300):
        x = floats(3, n)
        x[0, n // 2 :: 7] = np.nan
        x[1, -1] = np.nan
        for op in ("ArgMax", "ArgMin"):
            for last in (0, 1):
                at = found(op, [x], {"axis": 1, "keepdims": 0, "select_last_index": last}, np.int64)
                assert list(at[:2]) == [n // 2, n - 1]
        hard = found("Hardmax", [x], {"axis": 1}, F)
        np.testing.assert_array_equal(hard.argmax(1)[:2], [n // 2, n - 1])
        np.testing.assert_array_equal(hard.sum(1), np.ones(3))


@pytest.mark.parametrize("dtype", [np.bool_, np.int16, F, np.float64, np.complex128])
def test_where_takes_numbers_and_tensors(dtype: Any) -> None:
    for n in LENGTHS:
        c = np.random.RandomState(n).randint(0, 2, (2, n)).astype(bool)
        a, b = (floats(2, n) * 9).astype(dtype), (floats(2, n) * 5 + 1).astype(dtype)
        for left in (a, a[:1, :1], a[:, :1], a[:1]):
            for right in (b, b[:1, :1]):
                for choice in (c, c[:, :1]):
                    y = found("Where", [choice, left, right], {}, dtype)
                    np.testing.assert_array_equal(y, np.where(choice, left, right))


@pytest.mark.parametrize("to", [np.int8, np.uint8, np.int16, np.uint16])
@pytest.mark.parametrize("each", ["one scale", "rows", "columns", "images"])
def test_quantisation_rounds_half_to_even(to: Any, each: str) -> None:
    limits = np.iinfo(to)
    for n in LENGTHS[:-1]:
        x = np.round(floats(3, n) * 200, 1) * F(0.25)
        x[0, 0] = np.nan if n > 1 else 3
        x[1, -1] = np.inf
        if each == "images":
            x = x.reshape(1, 3, n)
        scales, axis = {
            "one scale": (np.array(0.25, F), 0),
            "rows": (np.array([0.25, 0.5, 3.0], F), 0),
            "columns": (np.linspace(0.25, 9, n).astype(F), 1),
            "images": (np.array([0.25, 0.5, 3.0], F), 1),
        }[each]
        zeros = np.full(scales.shape, limits.max // 2, to)
        shape = [1] * x.ndim
        if scales.ndim:
            shape[axis] = scales.size
        by, zero = scales.reshape(shape), zeros.reshape(shape).astype(np.float64)
        quotient = np.nan_to_num(x / by, nan=0.0, posinf=1e9, neginf=-1e9).astype(np.float64)
        expected_values = np.clip(np.rint(quotient) + zero, limits.min, limits.max).astype(to)
        y = found("QuantizeLinear", [x, scales, zeros], {"axis": axis}, to)
        np.testing.assert_array_equal(y, expected_values)
        back = found("DequantizeLinear", [y, scales, zeros], {"axis": axis}, F)
        np.testing.assert_array_equal(back, ((y.astype(F) - zero.astype(F)) * by).astype(F))


@pytest.mark.parametrize(
    "repeats",
    [(1, 1, 1), (3, 1, 1), (1, 4, 1), (1, 1, 5), (2, 3, 4), (7, 1, 9), (2, 0, 3), (40, 30, 20)],
)
def test_tiles_repeat_every_axis(repeats: tuple[int, ...]) -> None:
    for shape in ((1, 1, 1), (2, 3, 4), (3, 1, 5), (1, 6, 1), (2, 0, 3)):
        for dtype in (np.uint8, F, np.float64):
            x = (np.arange(np.prod(shape)) % 251).reshape(shape).astype(dtype)
            y = found("Tile", [x, np.array(repeats)], {}, dtype)
            np.testing.assert_array_equal(y, np.tile(x, repeats))


@pytest.mark.parametrize("item", [np.uint8, np.int16, F, np.int64, np.complex128])
@pytest.mark.parametrize("positions", [np.int32, np.int64])
def test_elements_are_gathered_along_any_axis(item: Any, positions: Any) -> None:
    random = np.random.RandomState(0)
    x = (random.standard_normal((6, 5, 70)) * 50).astype(item)
    for axis in (-3, -2, -1, 0, 1, 2):
        size = x.shape[axis]
        indices = random.randint(-size, size, (4, 3, 65)).astype(positions)
        y = found("GatherElements", [x, indices], {"axis": axis}, item)
        kept = [slice(None) if i == axis % 3 else slice(n) for i, n in enumerate((4, 3, 65))]
        np.testing.assert_array_equal(y, np.take_along_axis(x[tuple(kept)], indices % size, axis))


def test_every_form_of_slice_and_transpose_moves_whole_tensors() -> None:
    for shape in ((3, 5, 7), (2, 40, 130), (64, 3, 90), (1, 200, 3)):
        for dtype in (np.uint8, np.float16, F, np.int64):
            x = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
            for perm in ((0, 2, 1), (2, 1, 0), (1, 0, 2), (2, 0, 1), (1, 2, 0)):
                y = found("Transpose", [x], {"perm": list(perm)}, dtype)
                np.testing.assert_array_equal(y, x.transpose(perm))
            for cut in (np.s_[:, 1:, ::-1], np.s_[::-1, ::2, 1:], np.s_[:1, -1:, :2]):
                first, last, step = ([], [], [])
                for s, n in zip(cut, shape, strict=True):
                    a, b, c = s.indices(n)
                    first.append(a), last.append(b if b >= 0 else -n - 1), step.append(c)
                rest = [np.array(v) for v in (first, last, [0, 1, 2], step)]
                np.testing.assert_array_equal(found("Slice", [x, *rest], {}, dtype), x[cut])


def with_strange_nan(x: Array) -> Array:
    """A copy with NaN of both signs and of a payload."""
    bits = x.astype(F).view(np.uint32).copy()
    bits.flat[:: max(1, bits.size // 3)] = 0xFFC12345
    bits.flat[-1] = 0x7F800001
    return bits.view(F)


def is_one_nan(y: Array) -> bool:
    return bool((y.view(np.uint32)[np.isnan(y)] == 0x7FC00000).all())


@pytest.mark.parametrize("dtype", [np.bool_, np.int16, F, np.int64, np.complex128])
def test_what_is_repeated_is_the_same_everywhere(dtype: Any) -> None:
    for n in (*LENGTHS[:-1], 31, 33, 130):
        x = (np.arange(3 * n) % 113).reshape(3, n).astype(dtype)
        y = found("Tile", [x, np.array([2, 3])], {}, dtype)
        np.testing.assert_array_equal(y, np.tile(x, (2, 3)))
        y = found("Expand", [x[:, :1], np.array([3, n])], {}, dtype)
        np.testing.assert_array_equal(y, np.broadcast_to(x[:, :1], (3, n)))
        y = found("Expand", [x[:1], np.array([5, 1, n])], {}, dtype)
        np.testing.assert_array_equal(y, np.broadcast_to(x[:1], (5, 1, n)))


def test_repeated_nan_leave_the_library_as_one() -> None:
    for n in (1, 17, 300):
        x = with_strange_nan(floats(40, n))
        scales = np.array([1, 1, 2, 3], F)
        near = {"mode": "nearest", "coordinate_transformation_mode": "asymmetric"}
        for op, inputs, attrs in (
            ("Tile", [x, np.array([2, 5])], {}),
            ("Expand", [x[:, -1:], np.array([40, 100])], {}),
            ("Resize", [x[None, None], np.array([], F), scales], near),
        ):
            y = found(op, inputs, attrs, F)
            assert np.isnan(y).any() and is_one_nan(y)


@pytest.mark.parametrize("dtype", [np.uint8, np.int16, F, np.float64])
def test_nearest_takes_elements_along_every_axis(dtype: Any) -> None:
    near = {
        "mode": "nearest",
        "coordinate_transformation_mode": "asymmetric",
        "nearest_mode": "floor",
    }
    for shape in ((2, 3, 5, 7), (1, 1, 6, 34), (3, 4, 9, 1), (1, 2, 70, 65)):
        x = (np.arange(np.prod(shape)) % 241).reshape(shape).astype(dtype)
        for scales in (
            (1, 1, 2, 2), (1, 1, 3, 1), (1, 1, 1, 2), (2, 1, 1, 1), (2, 1, 2, 4), (1, 3, 1, 2),
            (1, 1, 0.5, 2), (1, 1, 2, 0.5), (1, 1, 2.5, 1.5), (2, 2, 2, 2), (1, 1, 1, 1),
        ):  # fmt: skip
            if 0 in np.floor(np.multiply(shape, scales)):
                continue
            expected_values = x
            for axis, scale in enumerate(scales):
                size = int(shape[axis] * scale)
                positions = np.minimum(np.arange(size) // scale, shape[axis] - 1).astype(int)
                expected_values = expected_values.take(positions, axis)
            y = found("Resize", [x, np.array([], F), np.array(scales, F)], near, dtype)
            np.testing.assert_array_equal(y, expected_values)


def test_float16_of_any_length_rounds_half_to_even() -> None:
    halves = np.arange(1 << 16, dtype=np.uint16).view(np.float16)
    exact = halves.astype(F)
    with np.errstate(invalid="ignore", over="ignore"):
        above = np.nextafter(exact, F(np.inf))
        middle = ((exact + np.roll(exact, -1)) / 2).astype(F)
        x = np.concatenate([exact, above, middle, np.nextafter(middle, F(0)), floats(77)])
        expected_values = x.astype(np.float16)
    y = found("Cast", [x], {"to": 10}, np.float16)
    np.testing.assert_array_equal(
        y.view(np.uint16)[~np.isnan(x)], expected_values.view(np.uint16)[~np.isnan(x)]
    )
    assert (y.view(np.uint16)[np.isnan(x)] == 0x7E00).all()
    for n in LENGTHS:
        np.testing.assert_array_equal(
            found("Cast", [x[-n:]], {"to": 10}, np.float16), expected_values[-n:]
        )
        back = found("Cast", [halves[:n]], {"to": 1}, F)
        np.testing.assert_array_equal(back, exact[:n])
    back = found("Cast", [halves], {"to": 1}, F)
    np.testing.assert_array_equal(back, exact)
    assert is_one_nan(back)


def averages(x: Array, pads: int, stride: int, all_count: bool) -> Array:
    """Chains of sums in double over 3 x 3 windows, divided once and rounded once."""
    height, width = x.shape[2] + 2 * pads, x.shape[3] + 2 * pads
    padded = np.zeros((*x.shape[:2], height, width))
    counts = np.full((height, width), float(all_count))
    inside = (slice(pads, height - pads), slice(pads, width - pads))
    padded[:, :, inside[0], inside[1]] = x
    counts[inside] = 1.0
    total: Any = 0.0
    count: Any = 0.0
    for top in range(3):
        for left in range(3):
            positions = (
                slice(top, height - 2 + top, stride),
                slice(left, width - 2 + left, stride),
            )
            total = total + padded[:, :, positions[0], positions[1]]
            count = count + counts[positions]
    return np.asarray((total / count).astype(F))


@pytest.mark.parametrize("kind", ["plain", "wide", "denormal", "not finite"])
def test_averages_of_nine_round_twice(kind: str) -> None:
    for height, width in ((3, 3), (1, 1), (4, 7), (9, 8), (5, 15), (7, 16), (4, 17), (6, 34)):
        x = floats(2, 3, height, width)
        random = np.random.RandomState(width)
        if kind == "wide":  # sums in double are rounded, and cancel
            x = (x * 10.0 ** random.randint(-30, 30, x.shape)).astype(F)
            x[:, :, 1::2] = -x[:, :, : x.shape[2] // 2 * 2 : 2]
        elif kind == "denormal":
            x = (x * F(1e-44)).astype(F)
            x[0] = F(-0.0)
        elif kind == "not finite":
            x.flat[:: 1 + x.size // 9] = np.array([np.inf, np.nan, -np.inf, 3e38], F)[width % 4]
            x.flat[-1] = 3e38
        for pads, stride, all_count in ((1, 1, 0), (1, 1, 1), (0, 1, 0), (1, 2, 0)):
            if min(height, width) + 2 * pads < 3:
                continue
            attrs = {
                "kernel_shape": [3, 3],
                "pads": [pads] * 4,
                "strides": [stride] * 2,
                "count_include_pad": all_count,
            }
            with np.errstate(invalid="ignore", over="ignore"):
                expected_values = averages(x, pads, stride, bool(all_count))
            y = found("AveragePool", [x], attrs, F)
            np.testing.assert_array_equal(np.isnan(y), np.isnan(expected_values))
            same = (y.view(np.uint32) == expected_values.view(np.uint32)) | np.isnan(
                expected_values
            )
            assert same.all()


@pytest.mark.parametrize("largest", [0, 1])
@pytest.mark.parametrize("kind", ["numbers", "few", "nan", "all nan", "rising", "falling"])
def test_the_best_of_many_floats_come_in_order(kind: str, largest: int) -> None:
    for n in (1, 16, 17, 33, 64, 100, 257, 1000):
        x = floats(3, n)
        if kind == "few":
            x = np.round(x) * F(0.5)  # zeros of both signs and equals
        elif kind == "nan":
            x[:, n // 2 :: 5] = np.nan
            x[0, -1] = F(np.inf)
            x[1, 0] = F(-np.inf)
        elif kind == "all nan":
            x[:] = np.nan
        elif kind in ("rising", "falling"):
            x = np.sort(x) if kind == "rising" else -np.sort(-x)
        rank = np.where(np.isnan(x), np.inf, x).astype(np.float64)
        rank[np.isinf(x)] = np.where(x[np.isinf(x)] > 0, 1e300, -1e300)
        order = np.argsort(-rank if largest else rank, axis=1, kind="stable")
        for most in {1, min(5, n), max(1, n // 16), n // 16 + 1, n} - {n + 1}:
            attrs = {"axis": -1, "largest": largest}
            data, fed = engines.one_node(
                "TopK", [x, np.array([most])], attrs, [F, np.int64], version=11
            )
            for isa, threads in WAYS:
                run = cinfer.load(data, isa=isa, threads=threads).signature().run
                values, positions = run(fed)
                np.testing.assert_array_equal(positions, order[:, :most])
                np.testing.assert_array_equal(values, np.take_along_axis(x, positions, 1))


@pytest.mark.parametrize("largest", [0, 1])
def test_the_best_of_columns_come_in_order(largest: int) -> None:
    for n, columns in ((16, 1), (33, 3), (64, 16), (100, 17), (257, 40), (4096, 19), (4097, 3)):
        x = np.round(floats(2, n, columns) * F(3)) * F(0.5)  # zeros of both signs and equals
        x[:, n // 2 :: 7] = np.inf
        order = np.argsort(-x if largest else x, axis=1, kind="stable")
        for most in (1, n // 16, n // 16 + 1):
            attrs = {"axis": 1, "largest": largest}
            data, fed = engines.one_node(
                "TopK", [x, np.array([most])], attrs, [F, np.int64], version=11
            )
            for isa, threads in WAYS:
                values, positions = cinfer.load(data, isa=isa, threads=threads).signature().run(fed)
                np.testing.assert_array_equal(positions, order[:, :most])
                np.testing.assert_array_equal(values, np.take_along_axis(x, positions, 1))


def mean_of_samples(image: Any, box: Any, bins: int, ratio: int) -> Any:
    """RoiAlign's avg of one channel, in the order of docs/numerics.md."""
    left, top, right, bottom = (float(v) - 0.5 for v in box)
    height, width = (bottom - top) / bins, (right - left) / bins
    y = np.zeros((bins, bins))
    for i, j in np.ndindex(bins, bins):
        for row, column in np.ndindex(ratio, ratio):
            v = top + i * height + (row + 0.5) * height / ratio
            u = left + j * width + (column + 0.5) * width / ratio
            if not (-1 <= v <= image.shape[0] and -1 <= u <= image.shape[1]):
                continue
            v, u = (min(max(at, 0.0), n - 1.0) for at, n in zip((v, u), image.shape, strict=True))
            for a, p in ((int(v), 1 - v % 1), (int(v) + 1, v % 1)):
                for b, q in ((int(u), 1 - u % 1), (int(u) + 1, u % 1)):
                    if a < image.shape[0] and b < image.shape[1]:
                        y[i, j] += p * q * float(image[a, b])
    return (y / ratio**2).astype(F)


def test_regions_of_many_samples_have_the_means_of_their_bins() -> None:
    x, boxes, image = floats(2, 3, 9, 7), floats(4, 4) * F(4), np.array([0, 1, 1, 0])
    boxes[:, 2:] = boxes[:, :2] + np.abs(boxes[:, 2:]) + F(1)
    for bins, ratio in ((1, 1), (3, 2), (7, 2), (5, 3), (2, 8), (2, 9)):
        attrs = {"output_height": bins, "output_width": bins, "sampling_ratio": ratio}
        data, fed = engines.one_node("RoiAlign", [x, boxes, image], attrs, [F], version=16)
        expected = [
            [mean_of_samples(channel, box, bins, ratio) for channel in x[i]]
            for box, i in zip(boxes, image, strict=True)
        ]
        for isa, threads in WAYS:
            found = cinfer.load(data, isa=isa, threads=threads).signature().run(fed)[0]
            np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("dtype", [F, np.float64, np.int64, np.bool_])
def test_elements_that_are_not_0_are_found_in_rows_of_any_length(dtype: Any) -> None:
    for shape in ((1,), (255,), (256,), (257,), (3, 1000), (1000, 3), (5, 1, 60), (16, 16, 2, 1)):
        x = np.round(floats(*shape) * F(0.7)).astype(dtype)
        x.reshape(-1)[::50] = 1 if dtype in (np.int64, np.bool_) else np.nan
        data, fed = engines.one_node("NonZero", [x], {}, [np.int64], version=13)
        for isa, threads in WAYS:
            found = cinfer.load(data, isa=isa, threads=threads).signature().run(fed)[0]
            np.testing.assert_array_equal(found, np.nonzero(x))


@pytest.mark.parametrize("positions", [np.int32, np.int64])
def test_each_position_of_a_line_of_indices_is_checked(positions: Any) -> None:
    x = floats(2, 9)
    for bad in (9, -10):
        for at in range(11):
            indices = np.arange(22).reshape(2, 11).astype(positions) % 18 - 9
            indices[1, at] = bad
            data, fed = engines.one_node(
                "GatherElements", [x, indices], {"axis": 1}, [F], version=13
            )
            for isa in engines.instruction_sets():
                with pytest.raises(Exception, match=rf"indices\[1, {at}\] = {bad} "):
                    cinfer.load(data, isa=isa).signature().run(fed)


def test_bytes_of_any_two_sizes_are_transposed() -> None:
    for rows in (1, 15, 16, 17, 33, 64, 79):
        for columns in (3, 4, 16, 31, 32, 65, 100):
            x = (np.arange(2 * rows * columns) % 251).reshape(2, rows, columns).astype(np.uint8)
            y = found("Transpose", [x], {"perm": [0, 2, 1]}, np.uint8)
            np.testing.assert_array_equal(y, x.transpose(0, 2, 1))
