"""Packed weights in files: their order, the files that have them, the arrays that are packed."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import damaged_models as damage
import numpy as np
import onnx
import pytest
import second_reader
from hypothesis import given
from hypothesis import strategies as st
from onnx import helper, numpy_helper
from schema_samples import model, node, same

import graphio as tf
import graphio.onnx as tfonnx
from graphio import cinfer, runtime
from graphio.model.rewrite import with_packed_weights
from graphio.model.size_reduction import reduced
from graphio.schema import container, tensors
from graphio.schema import model_pb2 as pb
from graphio.schema.packed_weights import TILE_WIDTH, Packing, order, restore
from graphio.support import errors

Array = np.ndarray[Any, Any]


def numbers(*shape: int) -> Array:
    """Of one seed, all different."""
    return np.random.RandomState(0).permutation(math.prod(shape)).astype(np.float32).reshape(shape)


# ---- the order ----


def by_hand(array: Array, width: int, axis: int) -> list[Any]:
    """The order as schema/README.md tells it."""
    if not array.size:
        return []
    matrix = np.moveaxis(array, axis, 0).reshape(array.shape[axis], -1)
    return [
        matrix[row, column]
        for first in range(0, len(matrix), width)
        for column in range(matrix.shape[1])
        for row in range(first, min(first + width, len(matrix)))
    ]


@given(
    st.lists(st.integers(0, 9), min_size=2, max_size=4),
    st.integers(1, 12),
    st.sampled_from(["first", "last", "-1"]),
)
def test_what_is_put_into_packed_tiles_is_restored(dims: list[int], width: int, where: str) -> None:
    array = numbers(*dims)
    axis = {"first": 0, "last": len(dims) - 1, "-1": -1}[where]
    elements = order(array, width, axis)
    assert elements.shape == (array.size,) and elements.flags.c_contiguous
    assert elements.tolist() == by_hand(array, width, axis)
    again = restore(elements, dims, width, axis)
    assert same(again, array) and again.flags.c_contiguous


def test_the_order_is_that_of_the_documentation() -> None:
    array = np.array([[10 * row + column for column in range(3)] for row in range(5)])
    expected = [0, 10, 1, 11, 2, 12, 20, 30, 21, 31, 22, 32, 40, 41, 42]
    assert order(array, 2, 0).tolist() == order(array.T, 2, 1).tolist() == expected


def test_arrays_of_any_memory_are_put_into_packed_tiles() -> None:
    array = numbers(6, 10)[::2, ::-1]
    for axis in (0, 1):
        assert order(array, 4, axis).tolist() == order(array.copy(), 4, axis).tolist()


@pytest.mark.parametrize(
    ("dims", "width", "axis"), [((4,), 2, 0), ((), 2, 0), ((2, 3, 4), 2, 1), ((2, 3), 0, 0)]
)
def test_packed_tiles_that_there_are_not_are_refused(
    dims: tuple[int, ...], width: int, axis: int
) -> None:
    for call in (
        lambda: order(np.zeros(dims), width, axis),
        lambda: restore(np.zeros(24)[: math.prod(dims)], dims, width, axis),
    ):
        with pytest.raises(ValueError, match="along the first or the last axis"):
            call()


# ---- files ----


def with_weights() -> tuple[pb.Model, list[Array]]:
    """The small model with three arrays that may be packed; nodes read the last two."""
    made, arrays = model()
    for k, array in enumerate((numbers(3, 50), numbers(40, 2, 3)), len(arrays)):
        made.graph.node.append(node("Constant", f"weights_{k}", value={"tensor": k}))
        arrays.append(array)
    return made, arrays


PACKED_TILES = {1: 0, 2: -1, 3: 0}


def flags_of(data: bytes) -> int:
    return int(struct.unpack_from("<I", data, 12)[0])


@pytest.mark.parametrize("lazy", [False, True])
def test_arrays_in_packed_tiles_are_read_row_major(lazy: bool, tmp_path: Path) -> None:
    made, arrays = with_weights()
    data = container.pack(made, arrays, PACKED_TILES)
    assert flags_of(data) == 1
    container.write(tmp_path / "m.gio", made, arrays, PACKED_TILES)
    assert (tmp_path / "m.gio").read_bytes() == data
    for message, found in (
        container.unpack(data, lazy),
        container.read(tmp_path / "m.gio", lazy),
    ):
        assert [t.packed_tile_width for t in message.tensor] == [
            0,
            TILE_WIDTH,
            TILE_WIDTH,
            TILE_WIDTH,
        ]
        assert [t.packed_tile_axis for t in message.tensor] == [0, 0, 1, 0]
        assert all(map(same, found, arrays)) and all(map(same, found[:], arrays))
        assert all(array.flags.c_contiguous for array in found)
        assert not any(array.flags.writeable for array in found)
        assert found[2] is found[2]


def _start(data: bytes) -> int:
    return int(struct.unpack_from("<Q", data, 24)[0])


def test_the_bytes_of_a_file_are_those_of_the_order() -> None:
    made, arrays = with_weights()
    data = container.pack(made, arrays, PACKED_TILES)
    message, _ = container.unpack(data)
    for i, axis in PACKED_TILES.items():
        at = _start(data) + message.tensor[i].offset
        assert data[at : at + arrays[i].nbytes] == order(arrays[i], 32, axis).tobytes()


def test_what_was_read_is_written_row_major_again() -> None:
    made, arrays = with_weights()
    found = container.unpack(container.pack(made, arrays, PACKED_TILES))
    assert container.pack(*found) == container.pack(made, arrays)
    assert container.pack(*found, {2: 1}) == container.pack(made, arrays, {2: -1})
    assert flags_of(container.pack(*found)) == 0


def test_empty_arrays_lie_in_packed_tiles() -> None:
    arrays = [np.zeros(dims, np.float32) for dims in ((0, 3), (3, 0), (0, 1 << 50))]
    for axis in (0, -1):
        _, found = container.unpack(
            container.pack(pb.Model(), arrays, dict.fromkeys(range(3), axis))
        )
        assert all(map(same, found, arrays))


@pytest.mark.parametrize(
    ("array", "packed_tiles", "text"),
    [
        (np.zeros((4, 4)), {0: 0}, "array 0 is float64, expected float32"),
        (np.zeros(4, np.float32), {0: 0}, "two or more"),
        (np.zeros((2, 3, 4), np.float32), {0: 1}, "the first or the last axis"),
        (np.zeros((4, 4), np.float32), {1: 0}, "packed names array 1 of 1"),
        (np.zeros((4, 4), np.float32), {-1: 0}, "packed names array -1 of 1"),
    ],
)
def test_arrays_that_may_not_lie_in_packed_tiles_are_not_written(
    array: Array, packed_tiles: dict[int, int], text: str, tmp_path: Path
) -> None:
    with pytest.raises(ValueError, match=text):
        container.pack(pb.Model(), [array], packed_tiles)
    with pytest.raises(ValueError, match=text):
        container.write(tmp_path / "m.gio", pb.Model(), [array], packed_tiles)
    assert not list(tmp_path.iterdir())


def test_stored_arrays_in_packed_tiles_take_another_shape() -> None:
    array = numbers(6, 10)
    data = memoryview(order(array, 4, 1).tobytes())
    stored = tensors.Stored(1, (6, 10), data, None, "w", packing=Packing((6, 10), 4, 1))
    assert stored.dtype == np.float32 and same(stored.array(), array)
    transposed = stored.reshape((4, 15))
    assert transposed.shape == (4, 15) and same(transposed.array(), array.reshape(4, 15))
    assert not transposed.array().flags.writeable


def test_the_second_reader_reads_packed_tiles(tmp_path: Path) -> None:
    made, arrays = with_weights()
    container.write(tmp_path / "m.gio", made, arrays, PACKED_TILES)
    assert all(map(same, second_reader.read_model(str(tmp_path / "m.gio"))["tensors"], arrays))


# ---- damage ----


def changed(change: Callable[[Any], object], flags: int = 1) -> bytes:
    """A file whose third array is packed, with its entry changed."""
    made, arrays = with_weights()
    data = container.pack(made, arrays, {3: 0})
    message, _ = container.unpack(data)
    change(message.tensor)
    return damage.file(
        message.SerializeToString(deterministic=True), data[_start(data) :], flags=flags
    )


def test_the_helper_of_these_tests_makes_files_that_are_read() -> None:
    assert same(container.unpack(changed(lambda t: None))[1][3], with_weights()[1][3])
    widest = container.unpack(changed(lambda t: setattr(t[3], "packed_tile_width", 4096)))[1][3]
    assert widest.shape == (40, 2, 3)


@pytest.mark.parametrize(
    ("change", "flags", "text"),
    [
        (
            lambda t: setattr(t[3], "packed_tile_width", 4097),
            1,
            "packed tiles of 4097 along axis 0",
        ),
        (lambda t: setattr(t[3], "packed_tile_width", 2**32 - 1), 1, "packed tiles of 4294967295"),
        (lambda t: setattr(t[3], "packed_tile_axis", 1), 1, "tensor 3 of rank 3 .* along axis 1"),
        (lambda t: setattr(t[3], "packed_tile_axis", 3), 1, "along axis 3"),
        (lambda t: setattr(t[2], "packed_tile_axis", 1), 1, "packed tiles of 0 along axis 1"),
        (lambda t: setattr(t[0], "packed_tile_width", 32), 1, "tensor 0 of rank 1"),
        (lambda t: setattr(t[3], "dtype", 6), 1, "expected a float32 one"),
        (lambda t: setattr(t[3], "dtype", 99), 1, "expected a float32 one"),
        (lambda t: t[3].dims.append(2), 1, "has 960 bytes, expected 1920"),
        (lambda t: t[3].dims.extend([0, 1 << 60]), 1, "impossible"),
        (lambda t: None, 0, "its flags do not match the tensors"),
        (lambda t: t[3].ClearField("packed_tile_width"), 1, "its flags do not match"),
    ],
)
def test_packed_tiles_that_cannot_be_are_damage(
    change: Callable[[Any], object], flags: int, text: str, tmp_path: Path
) -> None:
    data = changed(change, flags)
    with pytest.raises(errors.DataLossError, match=text):
        container.unpack(data)
    (tmp_path / "m.gio").write_bytes(data)
    with pytest.raises(errors.DataLossError, match=text):
        container.read(tmp_path / "m.gio")
    with pytest.raises((ValueError, KeyError)):
        second_reader.read_model(str(tmp_path / "m.gio"))
    for lazy in (False, True):
        with pytest.raises(errors.DataLossError, match="tensor|shape|panels"):
            cinfer.load(data, lazy=lazy)


@pytest.mark.parametrize("flags", [2, 3, 1 << 31])
def test_flags_that_nobody_knows_need_a_newer_reader(flags: int) -> None:
    data = changed(lambda t: None, flags)
    with pytest.raises(errors.UnimplementedError, match="no flag but 0x1"):
        container.unpack(data)
    with pytest.raises(errors.UnimplementedError, match=f"flags {flags:#x}.*no flag but 0x1"):
        cinfer.load(data)


@pytest.mark.parametrize("field", ["packed_tile_width", "packed_tile_axis"])
def test_inline_tensors_do_not_lie_in_packed_tiles(field: str) -> None:
    inline = tensors.from_array(numbers(2, 2))
    setattr(inline, field, 1)
    with pytest.raises(errors.DataLossError, match="an inline tensor claims to be packed"):
        tensors.to_array(inline)
    made, arrays = model()
    made.graph.node.append(node("Constant", "inline"))
    made.graph.node[-1].attr.add(key="value").value.t.CopyFrom(inline)
    with pytest.raises(errors.DataLossError, match="an inline tensor claims to be packed"):
        runtime.load(container.pack(made, arrays))


def test_every_flipped_bit_of_a_tensor_in_packed_tiles_is_refused() -> None:
    made, arrays = with_weights()
    data = container.pack(made, arrays, PACKED_TILES)
    message, _ = container.unpack(data)
    first = _start(data) + message.tensor[2].offset
    for at in (*range(64), *range(first, first + message.tensor[2].nbytes)):
        broken = bytearray(data)
        broken[at] ^= 1
        with pytest.raises((errors.DataLossError, errors.UnimplementedError)):
            container.unpack(bytes(broken))
    _, found = container.unpack(bytes(broken), lazy=True)
    assert same(found[3], arrays[3])
    with pytest.raises(errors.DataLossError, match="tensor 2"):
        found[2]


# ---- which weights ----

Nodes = Sequence[onnx.NodeProto]
made_node = helper.make_node


def graph_of(
    nodes: Nodes, x: Sequence[Any], weights: dict[str, Array], outputs: Sequence[str] = ("y",)
) -> onnx.ModelProto:
    """An ONNX model of "x"; its weights have the names that nodes read."""
    graph = helper.make_graph(
        nodes,
        "test",
        [helper.make_tensor_value_info("x", 1, x)],
        [onnx.ValueInfoProto(name=name) for name in outputs],
        [numpy_helper.from_array(a, n) for n, a in weights.items()],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


def axes(data: bytes) -> dict[tuple[int, ...], int]:
    """The shapes of the packed arrays of a file, each with its axis."""
    message, arrays = container.unpack(data)
    assert with_packed_weights(message, arrays) == {
        i: t.packed_tile_axis for i, t in enumerate(message.tensor) if t.packed_tile_width
    }
    return {tuple(t.dims): t.packed_tile_axis for t in message.tensor if t.packed_tile_width}


def converted(nodes: Nodes, x: Sequence[Any], weights: dict[str, Array], **more: Any) -> bytes:
    data = tfonnx.convert(graph_of(nodes, x, weights, **more))
    assert data is not None
    return data


def conv_of(w: Array, x: Sequence[Any], **attributes: Any) -> dict[tuple[int, ...], int]:
    """The packed arrays of a convolution alone; those of one fused with Relu are the same."""
    nodes = [made_node("Conv", ["x", "w"], ["c"], **attributes)]
    one = axes(converted(nodes, x, {"w": w}, outputs=["c"]))
    data = converted([*nodes, made_node("Relu", ["c"], ["y"])], x, {"w": w})
    assert "FusedConv" in {n.op for n in container.unpack(data)[0].graph.node}
    assert axes(data) == one
    return one


IMAGE = ["n", 64, 12, 12]


@pytest.mark.parametrize(
    ("shape", "expected_values"),
    [
        ((3, 3, 64, 64), {(3, 3, 64, 64): 3}),
        ((1, 1, 128, 144), {(1, 1, 128, 144): 3}),
        ((3, 3, 64, 60), {}),
    ],
)
@pytest.mark.parametrize("relu", [False, True])
def test_weights_of_convolutions_of_tensorflow_lie_in_packed_tiles(
    shape: tuple[int, ...], expected_values: dict[Any, int], relu: bool, tmp_path: Path
) -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 30, 30, shape[2]], name="x")
        y = tf.nn.conv2d(x, tf.constant(numbers(*shape)), [1, 1, 1, 1], "SAME")
        y = tf.nn.relu(y) if relu else y
        with tf.Session("runtime", graph=graph) as session:
            tf.saved_model.save(tmp_path / "m.gio", session, {"run": ({"x": x}, {"y": y})})
    assert axes((tmp_path / "m.gio").read_bytes()) == expected_values


@pytest.mark.parametrize(
    ("shape", "x", "attributes"),
    [
        ((64, 64, 3, 3), IMAGE, {"pads": [1, 1, 1, 1]}),
        ((48, 64, 3, 3), IMAGE, {}),
        ((64, 64, 3, 3), IMAGE, {"strides": [2, 2], "dilations": [2, 2]}),
        ((128, 4, 5, 7), ["n", 4, 12, 12], {}),
        ((64, 128, 3), ["n", 128, 50], {}),
        ((128, 512, 1, 1), ["n", 512, 40, 40], {}),
        ((128, 128, 1, 1), ["n", 128, 19, 21], {}),
        ((128, 128, 1, 1), ["n", 128, "h", "w"], {}),
        ((128, 128, 1, 1), ["n", 128, 40, 40], {"strides": [2, 2]}),
        ((128, 128, 1, 1), ["n", 128, 40, 40], {"pads": [0, 1, 0, 1]}),
    ],
)
def test_weights_of_convolutions_lie_in_packed_tiles_of_outputs(
    shape: tuple[int, ...], x: list[Any], attributes: dict[str, Any]
) -> None:
    assert conv_of(numbers(*shape), x, **attributes) == {shape: 0}


@pytest.mark.parametrize(
    ("shape", "x", "attributes"),
    [
        ((40, 64, 3, 3), IMAGE, {}),
        ((64, 32, 3, 3), IMAGE, {"group": 2}),
        ((64, 1, 20, 20), ["n", 64, 24, 24], {"group": 64}),
        ((1024, 28, 3, 3), ["n", 28, 12, 12], {"pads": [1, 1, 1, 1]}),
        ((128, 128, 1, 1), ["n", 128, 20, 20], {"pads": [0, 0, 0, 0], "strides": [1, 1]}),
        ((128, 128, 1), ["n", 128, 400], {}),
        ((64, 16, 5, 5, 5), ["n", 16, 8, 8, 8], {}),
    ],
)
def test_weights_of_other_forms_of_convolutions_lie_row_major(
    shape: tuple[int, ...], x: list[Any], attributes: dict[str, Any]
) -> None:
    assert conv_of(numbers(*shape), x, **attributes) == {}


@pytest.mark.parametrize(
    ("op", "shape", "attributes", "axis"),
    [
        ("MatMul", (128, 128), {}, 1),
        ("Gemm", (128, 128), {}, 1),
        ("Gemm", (128, 200), {"transB": 1}, 0),
        ("Gemm", (200, 128), {"transB": 0, "alpha": 2.0}, 1),
        ("MatMul", (500, 36), {}, 1),
        ("MatMul", (500, 40), {}, 1),
        ("MatMul", (500, 48), {}, 1),
        ("MatMul", (500, 44), {}, None),
        ("MatMul", (500, 47), {}, None),
        ("MatMul", (16384, 1), {}, None),
        ("MatMul", (4096, 4), {}, None),
        ("MatMul", (4096, 8), {}, 1),
        ("Gemm", (200, 127), {"transB": 1}, 0),
        ("Gemm", (127, 200), {"transB": 1}, None),
        ("MatMul", (4, 64, 64), {}, None),
        ("MatMul", (128, 127), {}, None),
        ("MatMul", (127, 128), {}, None),
    ],
)
def test_weights_of_matmuls_lie_in_packed_tiles_of_columns(
    op: str, shape: tuple[int, ...], attributes: dict[str, Any], axis: int | None
) -> None:
    terms = shape[-1] if attributes.get("transB") else shape[-2]
    x = [4, "n", terms] if len(shape) == 3 else ["n", terms]
    nodes = [made_node(op, ["x", "w"], ["p"], **attributes)]
    expected = {} if axis is None else {shape: axis}
    weights = {"w": numbers(*shape)}
    assert axes(converted(nodes, x, weights, outputs=["p"])) == expected
    fused = converted([*nodes, made_node("Tanh", ["p"], ["y"])], x, weights)
    assert f"Fused{op}" in {n.op for n in container.unpack(fused)[0].graph.node}
    assert axes(fused) == expected


W = numbers(128, 128)
MATMUL = made_node("MatMul", ["x", "w"], ["y"])
SQUARE = {(128, 128): 1}


def test_several_matmuls_share_weights_in_packed_tiles() -> None:
    nodes = [MATMUL, made_node("MatMul", ["y", "w"], ["z"])]
    assert axes(converted(nodes, ["n", 128], {"w": W}, outputs=["z"])) == SQUARE
    nodes.append(made_node("Gemm", ["z", "w"], ["g"]))
    assert axes(converted(nodes, ["n", 128], {"w": W}, outputs=["g"])) == SQUARE


@pytest.mark.parametrize(
    "other",
    [
        made_node("Gemm", ["x", "w"], ["z"], transB=1),
        made_node("Gemm", ["x", "x", "w"], ["z"]),
        made_node("MatMul", ["w", "x"], ["z"]),
        made_node("Add", ["x", "w"], ["z"]),
    ],
    ids=lambda n: f"{n.op_type} {' '.join(n.input)}",
)
def test_weights_that_are_read_in_another_way_too_lie_row_major(other: onnx.NodeProto) -> None:
    assert axes(converted([other], [128, 128], {"w": W}, outputs=["z"])) != SQUARE
    data = converted([MATMUL, other], [128, 128], {"w": W}, outputs=["y", "z"])
    assert axes(data) == {}


def test_weights_that_are_an_output_lie_row_major() -> None:
    assert axes(converted([MATMUL], ["n", 128], {"w": W}, outputs=["y", "w"])) == {}


def test_weights_that_a_body_reads_lie_row_major() -> None:
    branches = {
        name: helper.make_graph(
            [made_node("MatMul", ["x", "w"], [name])],
            name,
            [],
            [helper.make_tensor_value_info(name, 1, None)],
        )
        for name in ("then_branch", "else_branch")
    }
    nodes = [
        MATMUL,
        made_node("ReduceSum", ["x"], ["s"], keepdims=0),
        made_node("Cast", ["s"], ["cond"], to=9),
        made_node("If", ["cond"], ["z"], **branches),
    ]
    assert axes(converted(nodes, ["n", 128], {"w": W}, outputs=["y", "z"])) == {}
    assert axes(converted(nodes[:1], ["n", 128], {"w": W})) == SQUARE


@pytest.mark.parametrize(
    "refer",
    [
        lambda m: m.graph.node.append(node("Constant", "again", value={"tensor": 0})),
        lambda m: m.variable.add(name="v", dtype=1, value=0),
        lambda m: m.selftest.add(signature="predict", input=[0]),
        lambda m: m.selftest.add(signature="predict", output=[0]),
        lambda m: m.function.add(domain="d", name="F", version=1).node.append(
            node("Constant", "inside", value={"tensor": 0})
        ),
        lambda m: m.graph.node.append(
            node(
                "If",
                "if",
                "x",
                then_branch={"g": pb.Graph(node=[node("Constant", "deep", value={"tensor": 0})])},
            )
        ),
        lambda m: m.graph.node.append(node("MatMul", "z", "w", "w")),
        lambda m: m.graph.node.append(node("Gemm", "z", "x", "w", "w")),
        lambda m: m.graph.node.append(node("Identity", "z", "w")),
        lambda m: m.graph.node.append(node("MatMul", "z", "x", "w", domain="mine")),
        lambda m: m.signature[0].input.add(key="w", value="w"),
        lambda m: m.signature[0].output.add(key="w", value="w"),
        lambda m: m.collection.add(name="c").item.add(tensor="w:0"),
    ],
)
def test_arrays_that_something_else_refers_to_lie_row_major(
    refer: Callable[[pb.Model], object],
) -> None:
    made = pb.Model()
    made.graph.node.append(node("Placeholder", "x", domain="graphio"))
    made.graph.node.append(node("Constant", "w", value={"tensor": 0}))
    made.graph.node.append(node("MatMul", "y", "x", "w"))
    made.signature.add(name="predict").output.add(key="y", value="y")
    assert with_packed_weights(made, [W]) == {0: 1}
    refer(made)
    assert with_packed_weights(made, [W]) == {}


@pytest.mark.parametrize("array", [W[:127], W.astype(np.float64), W.astype(np.float16)])
def test_small_weights_and_those_of_other_types_lie_row_major(array: Array) -> None:
    made = pb.Model()
    made.graph.node.append(node("Constant", "w", value={"tensor": 0}))
    made.graph.node.append(node("MatMul", "y", "x", "w"))
    assert with_packed_weights(made, [array]) == {}


# ---- who writes them ----

LAYERS = {"w": numbers(64, 32, 3, 3), "g": numbers(128, 256), "m": numbers(6400, 128)}


def network() -> onnx.ModelProto:
    scaled = {name: array / array.size - np.float32(0.5) for name, array in LAYERS.items()}
    nodes = [
        made_node("Conv", ["x", "w"], ["c"], pads=[1, 1, 1, 1]),
        made_node("Relu", ["c"], ["r"]),
        made_node("Flatten", ["r"], ["f"]),
        made_node("MatMul", ["f", "m"], ["p"]),
        made_node("Gemm", ["p", "g"], ["y"]),
    ]
    return graph_of(nodes, ["n", 32, 10, 10], scaled)


def test_the_runtime_gives_the_same_bits_with_packed_tiles_and_without(tmp_path: Path) -> None:
    data, again, _ = (tfonnx.convert(network(), path) for path in (None, None, tmp_path / "m.gio"))
    assert data is not None and data == again == (tmp_path / "m.gio").read_bytes()
    assert axes(data) == {(64, 32, 3, 3): 0, (128, 256): 1, (6400, 128): 1}
    plain = container.pack(*container.unpack(data))
    assert not flags_of(plain)
    x = np.random.RandomState(1).randn(3, 32, 10, 10).astype(np.float32)
    found = [
        runtime.load(source, lazy=lazy).signature()(x=x)["y"].tobytes()
        for source in (data, plain, tmp_path / "m.gio")
        for lazy in (False, True)
    ]
    assert len(set(found)) == 1


def test_onnx_out_of_a_file_with_packed_tiles_has_the_weights() -> None:
    data = tfonnx.convert(network())
    assert data is not None
    again = tfonnx.convert(tfonnx.from_model(data))
    assert again is not None
    before, after = (sorted(a.tobytes() for a in container.unpack(d)[1]) for d in (data, again))
    assert before == after


def test_saved_models_have_their_constants_in_packed_tiles_and_their_variables_not(
    tmp_path: Path,
) -> None:
    with tf.Graph().as_default():
        x = tf.placeholder(tf.float32, [None, 128], name="x")
        v = tf.Variable(W, name="v")
        y = tf.matmul(tf.matmul(x, tf.constant(W[:, ::-1].copy(), name="c")), v)
        with tf.Session() as session:
            session.run(v.initializer)
            tf.saved_model.save(tmp_path / "m.gio", session, {"predict": ({"x": x}, {"y": y})})
            tf.saved_model.simple_save(session, str(tmp_path / "folder"), {"x": x}, {"y": y})
            saved = tf.train.Saver().save(session, str(tmp_path / "model"))
    for path in (tmp_path / "m.gio", tmp_path / "folder" / "saved_model.gio"):
        message, arrays = container.read(path)
        lying = [i for i, t in enumerate(message.tensor) if t.packed_tile_width]
        assert len(lying) == 1 and same(arrays[lying[0]], W[:, ::-1])
        assert lying[0] not in {variable.value for variable in message.variable}
        again = runtime.load(path).signature()(x=W[:2])["y"]
        assert same(again, W[:2] @ W[:, ::-1].copy() @ W)
    assert flags_of(Path(f"{saved}.meta").read_bytes()) == 0
    frozen = reduced((tmp_path / "m.gio").read_bytes(), freeze=True)
    assert [t.packed_tile_width for t in container.unpack(frozen)[0].tensor] == [32, 32]
    narrow = reduced((tmp_path / "m.gio").read_bytes(), weights="float16")
    assert flags_of(narrow) == 0
