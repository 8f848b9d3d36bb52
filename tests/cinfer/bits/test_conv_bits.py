"""ONNX's convolutions in the C library: how a result is computed does not show in its bits."""

from __future__ import annotations

from typing import Any

import engines
import numerics_emulator as emulator
import numpy as np
import pytest

from graphio.support import errors

cinfer = pytest.importorskip("graphio.cinfer")
WAYS = [(isa, threads) for isa in ("portable", "best") for threads in (1, 3)]

SHAPES: dict[str, tuple[str, list[tuple[int, ...]], dict[str, Any]]] = {
    "Conv": ("Conv", [(3, 20, 13, 11), (150, 20, 3, 3), (150,)], {"pads": [1, 1, 0, 1]}),
    "groups": ("Conv", [(3, 8, 9, 40), (6, 4, 2, 3)], {"group": 2, "strides": [2, 1]}),
    "depthwise": ("Conv", [(2, 5, 9, 19), (5, 1, 3, 3)], {"group": 5, "strides": [1, 2]}),
    "dots": ("Conv", [(2, 40, 3, 4), (5, 40, 3, 3)], {}),
    "1 x 1": ("Conv", [(2, 30, 7, 33), (9, 30, 1, 1)], {}),
    "3-D": ("Conv", [(2, 3, 5, 6, 7), (4, 3, 2, 3, 2)], {"pads": [1, 0, 1, 0, 1, 1]}),
    "transposed": ("ConvTranspose", [(3, 8, 5, 6), (8, 9, 3, 3), (9,)], {"strides": [2, 2]}),
    "transposed dots": ("ConvTranspose", [(2, 90, 1, 2), (90, 3, 3, 2)], {"group": 2}),
}


def run(op: str, values: Any, attrs: Any, isa: str, threads: int, domain: str = "") -> Any:
    b = engines.Builder()
    names = [b.placeholder(f"in{i}", v.dtype, None) for i, v in enumerate(values)]
    version = 1 if domain else 11
    kind = [engines.tensor_type(values[-1].dtype)]
    b.node("node", op, names, kind, attrs, domain=domain, version=version)
    b.signature(dict(zip(names, names, strict=True)), {"y": "node"})
    options = {} if isa == "best" else {"isa": isa}
    return cinfer.load(b.bytes(), threads=threads, **options).signature().run(list(values))[0]


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.RandomState(seed).randn(*shape).astype(np.float32)


@pytest.mark.parametrize("name", SHAPES)
def test_batch_threads_and_instruction_set_do_not_show(name: str) -> None:
    op, shapes, attrs = SHAPES[name]
    values = [numbers(*s, seed=i) for i, s in enumerate(shapes)]
    found = [run(op, values, attrs, *way) for way in WAYS]
    for y in found[1:]:
        assert y.tobytes() == found[0].tobytes()
    alone = [run(op, [x[None], *values[1:]], attrs, *WAYS[0])[0] for x in values[0]]
    assert np.stack(alone).tobytes() == found[0].tobytes()


@pytest.mark.parametrize("name", [n for n, row in SHAPES.items() if row[0] == "Conv"])
def test_gradients_do_not_show_how_they_were_computed(name: str) -> None:
    _, (x_dims, w_dims, *_), attrs = SHAPES[name]
    x, w = numbers(*x_dims), numbers(*w_dims, seed=1)
    dy = run("Conv", [x, w], attrs, *WAYS[0])
    for op, values in (
        ("ConvGradInput", [np.array(x_dims), w, dy]),
        ("ConvGradWeight", [x, np.array(w_dims), dy]),
    ):
        found = [run(op, values, attrs, *way, domain="graphio") for way in WAYS]
        assert len({y.tobytes() for y in found}) == 1


def more_ways() -> list[tuple[str, int]]:
    """The instruction sets that the best one hides."""
    try:
        run("Relu", [numbers(1)], {}, "avx2", 1)
    except errors.UnimplementedError:
        return []
    return [("avx2", 1)]


#: x (n, c, h, w), w (m, c / group, kh, kw), attributes: each way in which an image can be read
IMAGES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "padded": ((2, 5, 9, 20), (17, 5, 3, 3), {"pads": [1, 1, 1, 1]}),
    "not padded": ((1, 3, 8, 19), (40, 3, 3, 2), {}),
    "longer than a block": ((1, 37, 6, 7), (9, 37, 3, 3), {"pads": [1, 1, 1, 1]}),
    "narrow rows, two in a tile": ((2, 4, 7, 7), (33, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
    "several strips": ((1, 2, 30, 61), (16, 2, 3, 3), {"pads": [2, 0, 1, 1]}),
    "strides": ((1, 4, 23, 17), (24, 4, 7, 5), {"strides": [2, 3], "pads": [3, 2, 1, 0]}),
    "dilations": ((1, 4, 14, 15), (8, 4, 3, 3), {"dilations": [2, 3], "pads": [2, 1, 0, 3]}),
    "groups": ((2, 6, 8, 10), (30, 2, 3, 3), {"group": 3, "pads": [0, 1, 1, 0]}),
    "1 x 1": ((1, 300, 5, 13), (35, 300, 1, 1), {}),
    "1 x 1, long rows": ((1, 3, 31, 33), (12, 3, 1, 1), {}),
    "1 x 1, many pixels": ((2, 6, 20, 21), (34, 3, 1, 1), {"group": 2}),
    "1 x 1 with strides": ((2, 9, 15, 13), (50, 9, 1, 1), {"strides": [2, 2]}),
    "1 x 1 with other strides": ((1, 9, 7, 40), (8, 9, 1, 1), {"strides": [1, 3]}),
    "1 x 1 with padding": ((1, 9, 7, 8), (8, 9, 1, 1), {"pads": [1, 0, 0, 2]}),
    "few outputs": ((1, 4, 7, 9), (3, 4, 3, 3), {"pads": [1, 1, 1, 1]}),
    "depthwise 3 x 3": ((1, 3, 12, 21), (3, 1, 3, 3), {"group": 3, "pads": [1, 1, 1, 1]}),
    "depthwise, strides": (
        (1, 3, 12, 41),
        (3, 1, 3, 3),
        {"group": 3, "strides": [2, 2], "pads": [0, 0, 1, 1]},
    ),
    "depthwise, narrow": ((2, 3, 7, 7), (3, 1, 3, 3), {"group": 3, "pads": [2, 1, 0, 2]}),
    "depthwise, two columns": ((1, 2, 5, 2), (2, 1, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
    "depthwise, in blocks of rows": (
        (1, 2, 90, 50),
        (2, 1, 3, 3),
        {"group": 2, "strides": [2, 2], "pads": [1, 1, 1, 1]},
    ),
    "depthwise, far padding": (
        (1, 2, 4, 18),
        (2, 1, 3, 3),
        {"group": 2, "strides": [2, 2], "pads": [3, 0, 2, 5]},
    ),
    "depthwise 5 x 5": (
        (1, 2, 9, 20),
        (2, 1, 5, 5),
        {"group": 2, "strides": [1, 3], "pads": [2, 2, 2, 2]},
    ),
    "one output": ((2, 40, 9, 21), (1, 40, 3, 3), {"pads": [1, 1, 1, 1]}),
    "few outputs of groups": (
        (2, 12, 13, 20),
        (16, 3, 3, 3),
        {"group": 4, "strides": [2, 1], "pads": [1, 1, 1, 1]},
    ),
    "one output, 1 x 1, strides": ((1, 70, 9, 20), (1, 70, 1, 1), {"strides": [2, 2]}),
    "one output, 1 x 1": ((1, 300, 20, 21), (1, 300, 1, 1), {}),
    "depthwise 7 x 7, rows and columns left over": (
        (1, 2, 11, 45),
        (2, 1, 7, 7),
        {"group": 2, "pads": [3, 3, 3, 3]},
    ),
    "depthwise 5 x 5, strides": (
        (1, 2, 15, 77),
        (2, 1, 5, 5),
        {"group": 2, "strides": [2, 2], "pads": [2, 1, 2, 2]},
    ),
    "depthwise 5 x 5, narrow": (
        (1, 2, 9, 9),
        (2, 1, 5, 5),
        {"group": 2, "strides": [2, 2], "pads": [2, 2, 2, 2]},
    ),
    "depthwise, one column of a wide stride": (
        (1, 18, 5, 9),
        (18, 1, 3, 5),
        {"group": 18, "strides": [2, 50], "pads": [1, 2, 1, 2]},
    ),
    "depthwise, few columns of a wide stride": (
        (2, 3, 5, 9),
        (3, 1, 2, 4),
        {"group": 3, "strides": [1, 4], "pads": [0, 1, 1, 1]},
    ),
    "depthwise, a long row in parts": (
        (1, 9, 1, 9001),
        (9, 1, 1, 5),
        {"group": 9, "strides": [1, 1], "dilations": [1, 3], "pads": [0, 7, 0, 4]},
    ),
    "depthwise, long rows in parts": (
        (1, 8, 3, 3000),
        (8, 1, 3, 2),
        {"group": 8, "strides": [1, 2], "pads": [1, 0, 2, 3]},
    ),
    "depthwise in strips": (
        (1, 17, 70, 41),
        (17, 1, 5, 3),
        {"group": 17, "strides": [1, 1], "dilations": [3, 2], "pads": [6, 2, 5, 2]},
    ),
    "depthwise, few long rows": (
        (1, 2, 5, 150),
        (2, 1, 3, 5),
        {"group": 2, "dilations": [1, 2], "pads": [0, 2, 0, 1]},
    ),
}


@pytest.mark.parametrize("name", IMAGES)
def test_sums_have_the_order_of_the_page(name: str) -> None:
    x_dims, w_dims, attrs = IMAGES[name]
    x, w, bias = numbers(*x_dims), numbers(*w_dims, seed=1), numbers(w_dims[0], seed=2)
    window = {k: tuple(v) if isinstance(v, list) else v for k, v in attrs.items()}
    expected = emulator.conv(x, w, bias, **window)
    for way in (*WAYS, *more_ways()):
        assert run("Conv", [x, w, bias], attrs, *way).tobytes() == expected.tobytes(), way
    transposed = [np.ascontiguousarray(x.transpose(0, 2, 3, 1)), w.transpose(2, 3, 1, 0).copy()]
    last = emulator.conv2d(*transposed, **window)
    for way in WAYS:
        assert (
            run("Conv2D", transposed, attrs, *way, domain="graphio").tobytes() == last.tobytes()
        ), way


VOLUMES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, list[int]]]] = {
    "padded": ((2, 3, 5, 6, 20), (33, 3, 3, 3, 3), {"pads": [1, 1, 1, 1, 1, 1]}),
    "slices apart": ((1, 4, 7, 9, 8), (9, 4, 1, 3, 3), {"strides": [2, 1, 1]}),
    "few outputs, far padding": ((1, 2, 3, 9, 17), (3, 2, 2, 2, 3), {"pads": [3, 0, 1, 2, 1, 0]}),
    "a slice of padding alone": (
        (1, 2, 1, 11, 9),
        (8, 2, 1, 2, 2),
        {"pads": [1, 2, 1, 0, 2, 3], "strides": [5, 1, 1]},
    ),
    "several blocks": ((1, 20, 4, 5, 6), (40, 20, 3, 3, 3), {"pads": [1, 0, 1, 0, 1, 1]}),
    "strides, dilations": (
        (1, 3, 9, 11, 19),
        (17, 3, 3, 2, 3),
        {"strides": [2, 3, 2], "dilations": [2, 1, 2], "pads": [2, 1, 0, 1, 1, 3]},
    ),
}


@pytest.mark.parametrize("name", VOLUMES)
def test_a_slice_of_a_volume_is_an_image_of_the_slices_that_it_reads(name: str) -> None:
    x_dims, w_dims, attrs = VOLUMES[name]
    x, w, bias = numbers(*x_dims), numbers(*w_dims, seed=1), numbers(w_dims[0], seed=2)
    pads = attrs.get("pads", [0] * 6)
    step, apart = attrs.get("strides", [1])[0], attrs.get("dilations", [1])[0]
    padded = np.pad(x, [(0, 0), (0, 0), (pads[0], pads[3]), (0, 0), (0, 0)])
    flat = {k: (*v[1:3], *v[4:6]) if k == "pads" else tuple(v[1:]) for k, v in attrs.items()}
    reach = (w_dims[2] - 1) * apart + 1
    expected = [
        emulator.conv(
            padded[:, :, z : z + reach : apart].reshape(x_dims[0], -1, *x_dims[3:]),
            w.reshape(w_dims[0], -1, *w_dims[3:]),
            bias,
            **flat,
        )
        for z in range(0, padded.shape[2] - reach + 1, step)
    ]
    for way in (*WAYS, *more_ways()):
        y = run("Conv", [x, w, bias], attrs, *way)
        assert y.tobytes() == np.stack(expected, axis=2).tobytes(), way


@pytest.mark.parametrize(
    "dims, attrs",
    [
        ((2, 3, 8, 8), {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ((1, 3, 9, 40), {"kernel_shape": [2, 2], "strides": [2, 2]}),
        ((1, 2, 13, 37), {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ((1, 2, 9, 18), {"kernel_shape": [3, 2], "pads": [1, 1, 0, 0], "dilations": [1, 2]}),
        ((2, 2, 50), {"kernel_shape": [4], "strides": [3], "pads": [2, 1]}),
        ((2, 2, 20, 21), {"kernel_shape": [5, 5], "pads": [2, 2, 2, 2]}),
        ((1, 2, 90, 35), {"kernel_shape": [3, 3], "pads": [1, 0, 1, 2]}),
        ((1, 2, 70, 5), {"kernel_shape": [4, 1], "strides": [3, 1]}),
        ((1, 1, 75, 19), {"kernel_shape": [64, 2], "dilations": [1, 3]}),
        ((1, 1, 75, 19), {"kernel_shape": [65, 2]}),
        ((1, 2, 30, 19), {"kernel_shape": [3, 3], "strides": [2, 1], "dilations": [2, 2]}),
        ((2, 3, 4, 6, 8), {"kernel_shape": [2, 2, 2], "strides": [2, 2, 2]}),
        ((1, 2, 5, 9, 20), {"kernel_shape": [3, 3, 3], "pads": [1, 1, 1, 1, 1, 1]}),
        (
            (1, 2, 7, 9, 4),
            {"kernel_shape": [2, 3, 1], "dilations": [3, 2, 1], "strides": [1, 2, 1]},
        ),
        ((1, 1, 6, 5, 19), {"kernel_shape": [1, 3, 3], "strides": [1, 2, 2]}),
        ((2, 1, 3, 4, 5), {"kernel_shape": [2, 2, 2], "pads": [2, 0, 2, 2, 1, 0]}),
        ((1, 2, 0, 3, 3), {"kernel_shape": [1, 2, 2], "pads": [1, 0, 0, 1, 0, 0]}),
    ],
)
@pytest.mark.parametrize("most, nans", [(2, 0.05), (0, 0.05), (2, 0.0), (0, 0.0)])
def test_the_largest_is_the_first_one_and_nan_wins(
    dims: tuple[int, ...], attrs: Any, most: int, nans: float
) -> None:
    x = np.random.RandomState(0).randint(-2, most + 1, dims).astype(np.float32)
    x[np.random.RandomState(1).rand(*dims) < 0.2] = -0.0
    x[np.random.RandomState(2).rand(*dims) < nans] = np.nan
    x[np.random.RandomState(3).rand(*dims) < 0.2] = -np.inf
    wide = run("MaxPool", [x.astype(np.float64)], attrs, *WAYS[0])  # computed window by window
    for way in (*WAYS, *more_ways()):
        y = run("MaxPool", [x], attrs, *way)
        assert y.tobytes() == wide.astype(np.float32).tobytes()


@pytest.mark.parametrize("dims", [(2, 3, 1), (2, 3, 5, 7), (3, 2, 4, 9, 11)])
@pytest.mark.parametrize("most, nans", [(2, 0.02), (0, 0.0)])
def test_the_largest_of_a_whole_plane_is_the_first_one(
    dims: tuple[int, ...], most: int, nans: float
) -> None:
    x = np.random.RandomState(0).randint(-2, most + 1, dims).astype(np.float32)
    x[np.random.RandomState(1).rand(*dims) < 0.4] = -0.0
    x[np.random.RandomState(2).rand(*dims) < nans] = np.nan
    x[0, 0] = -np.inf
    wide = run("GlobalMaxPool", [x.astype(np.float64)], {}, *WAYS[0])  # element by element
    for way in (*WAYS, *more_ways()):
        y = run("GlobalMaxPool", [x], {}, *way)
        assert y.tobytes() == wide.astype(np.float32).tobytes()


@pytest.mark.parametrize(
    "dims, attrs",
    [
        ((2, 8, 14, 15), {"kernel_shape": [7, 7], "strides": [7, 7]}),
        ((1, 3, 9, 20), {"kernel_shape": [2, 3], "strides": [1, 3], "pads": [1, 2, 1, 0]}),
        ((2, 17, 11), {"kernel_shape": [4], "strides": [5], "pads": [3, 3]}),
        ((1, 5, 9, 9), {"kernel_shape": [3, 3], "strides": [4, 4], "ceil_mode": 1}),
        ((1, 33, 4, 5, 6), {"kernel_shape": [3, 3, 3], "pads": [1, 1, 1, 1, 1, 1]}),
        (
            (3, 2, 6, 5, 7),
            {"kernel_shape": [2, 2, 2], "strides": [2, 1, 2], "pads": [1, 0, 0, 1, 1, 1]},
        ),
        ((1, 2, 3, 4, 3, 4), {"kernel_shape": [2, 2, 2, 3], "dilations": [1, 3, 2, 1]}),
    ],
)
@pytest.mark.parametrize("padded", [0, 1])
def test_averages_are_those_of_window_after_window(
    dims: tuple[int, ...], attrs: Any, padded: int
) -> None:
    x = numbers(*dims) * np.float32(10.0) ** np.random.RandomState(1).randint(-9, 9, dims)
    x = x.astype(np.float32)
    x[np.random.RandomState(2).rand(*dims) < 0.1] = -0.0
    x[0, 0] = -0.0
    attrs = attrs | {"count_include_pad": padded}
    wide = run("AveragePool", [x.astype(np.float64)], attrs, *WAYS[0])  # one window at a time
    for way in (*WAYS, *more_ways()):
        y = run("AveragePool", [x], attrs, *way)
        assert y.tobytes() == wide.astype(np.float32).tobytes()


RELU = {"ops": ["Relu"], "operands": [0]}


def followed(values: Any, attrs: Any, pool: Any, isa: str, threads: int, both: bool = False) -> Any:
    """FusedConv with relu, then MaxPool; `both` results are outputs, or the last alone."""
    b = engines.Builder()
    names = [b.placeholder(f"in{i}", v.dtype, None) for i, v in enumerate(values)]
    kind = [engines.tensor_type(np.float32)]
    b.node("conv", "FusedConv", names, kind, {**attrs, **RELU}, domain="graphio")
    b.node("pool", "MaxPool", ["conv"], kind, pool, version=12)
    results = {"conv": "conv", "pool": "pool"} if both else {"pool": "pool"}
    b.signature(dict(zip(names, names, strict=True)), results)
    options = {} if isa == "best" else {"isa": isa}
    return cinfer.load(b.bytes(), threads=threads, **options).signature()(
        **dict(zip(names, values, strict=True))
    )


def same(a: Any, b: Any) -> bool:
    """Whether all bits are, but for those of NaN."""
    nan = np.isnan(a)
    return bool(
        np.array_equal(nan, np.isnan(b)) and np.array_equal(a[~nan].view("i4"), b[~nan].view("i4"))
    )


def special(x: Any, seed: int) -> Any:
    """The same with zeros of both signs and numbers that multiplied are nearly zero."""
    random = np.random.RandomState(seed)
    for chance, number in ((0.1, -0.0), (0.1, 0.0), (0.2, 1e-30), (0.2, -1e-30)):
        x[random.rand(*x.shape) < chance] = number
    return x


@pytest.mark.parametrize("strange", [None, np.inf, np.nan])
@pytest.mark.parametrize("name", IMAGES)
def test_what_padding_does_to_a_sum_stays_where_it_is_not_computed(name: str, strange: Any) -> None:
    x_dims, w_dims, attrs = IMAGES[name]
    values = [special(numbers(*x_dims), 3), special(numbers(*w_dims, seed=1), 4)]
    values.append(special(numbers(w_dims[0], seed=2), 5))
    values[0][0, 0, 0, :2] = np.nan, np.inf
    if strange is not None:
        values[1][0, 0, 0, 0] = strange  # only the border shows it if it is NaN times padding
    pool = {"kernel_shape": [1, 1]}
    plain = run("Conv", values, attrs, *WAYS[0])
    expected = np.where(np.isnan(plain), plain, np.maximum(plain, 0) + 0)
    for way in (*WAYS, *more_ways()):
        assert same(followed(values, attrs, pool, *way, both=True)["conv"], expected), way


POOLS: dict[str, dict[str, Any]] = {
    "2 x 2": {"kernel_shape": [2, 2], "strides": [2, 2]},
    "apart": {"kernel_shape": [1, 2], "strides": [3, 2]},
    "in rows": {"kernel_shape": [1, 3], "strides": [1, 3]},
    "meeting": {"kernel_shape": [3, 3], "strides": [2, 2]},
    "padded": {"kernel_shape": [2, 2], "strides": [2, 2], "pads": [1, 0, 0, 1]},
    "to the end": {"kernel_shape": [2, 2], "strides": [2, 2], "ceil_mode": 1},
}


@pytest.mark.parametrize("name", POOLS)
@pytest.mark.parametrize(
    "image", ["padded", "several strips", "strides", "groups", "1 x 1", "few outputs"]
)
def test_the_largest_of_a_convolution_is_the_same_whoever_makes_it(image: str, name: str) -> None:
    x_dims, w_dims, attrs = IMAGES[image]
    values = [special(numbers(*x_dims), 3), numbers(*w_dims, seed=1), numbers(w_dims[0], seed=2)]
    values[0][0, 0, 1, :2] = np.nan, np.inf
    values[2][1] = np.inf
    expected = None
    for way in (*WAYS, *more_ways()):
        for both in (True, False):
            y = followed(values, attrs, POOLS[name], *way, both=both)["pool"]
            expected = y if expected is None else expected
            assert same(y, expected), (way, both)


@pytest.mark.parametrize("name", ["1 x 1", "1 x 1, many pixels", "padded", "depthwise 3 x 3"])
def test_what_is_added_to_a_convolution_is_added_once(name: str) -> None:
    x_dims, w_dims, attrs = IMAGES[name]
    values = [numbers(*x_dims), numbers(*w_dims, seed=1), numbers(w_dims[0], seed=2)]
    plain = run("Conv", values, attrs, *WAYS[0])
    values.append(numbers(*plain.shape, seed=3))
    program = {"ops": ["Add", "Relu"], "operands": [0, 1, 2]}
    for way in (*WAYS, *more_ways()):
        y = run("FusedConv", values, {**attrs, **program}, *way, domain="graphio")
        assert y.tobytes() == (np.maximum(plain + values[3], 0) + 0).tobytes(), way
