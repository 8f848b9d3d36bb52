"""Every element type through files, feeds, movement, variables and checkpoints of both engines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import engines
import numpy as np
import pytest
from engines import BOTH, Builder, one_node, tensor_type

import graphio as tf
from graphio.schema import container, dtypes, small_types, tensors
from graphio.schema.crc32c import crc32c
from graphio.support import errors

ROWS = [row for row in dtypes.TABLE if row.number != dtypes.STRING]
SMALL = [row for row in ROWS if row.number in dtypes.ML_DTYPES]
PACKED = [row for row in ROWS if row.bits < 8]
EACH = pytest.mark.parametrize("row", ROWS, ids=lambda row: row.name)
EACH_SMALL = pytest.mark.parametrize("row", SMALL, ids=lambda row: row.name)


def sample(row: dtypes.ElementType, *shape: int, seed: int = 0) -> np.ndarray:
    """Random codes; every code in turn where there are few. No NaN, which has many codes."""
    kind, count = small_types.numpy_dtype(row), int(np.prod(shape))
    rng = np.random.RandomState(seed)
    if row.name == "bool":
        return rng.rand(*shape) < 0.5
    if row.bits < 8:
        codes = (np.arange(count) + seed) % (1 << row.bits)
        return codes.astype(np.uint8).view(kind).reshape(shape)
    values = rng.uniform(0.6, 99, count)
    return values.astype(np.float32).astype(kind).reshape(shape)


def codes(x: np.ndarray) -> bytes:
    return x.tobytes()


@BOTH
@EACH
@pytest.mark.parametrize("count", [0, 1, 2, 3, 4, 5, 9, 4101])
def test_a_constant_comes_out_as_it_went_into_the_file(
    row: dtypes.ElementType, count: int, engine: str
) -> None:
    x = sample(row, count)
    builder = Builder()
    builder.signature({}, {"out": builder.constant("c", x)})
    found = engines.run(engine, builder.bytes(), [])[0]
    assert found.dtype == x.dtype and found.shape == x.shape
    assert codes(found) == codes(x)


@BOTH
@EACH
def test_what_is_fed_is_fetched(row: dtypes.ElementType, engine: str) -> None:
    x = sample(row, 3, 5)
    data, inputs = one_node("Identity", [x], {}, [x.dtype])
    module = engines.module(engine).load(data)
    assert module.signature().inputs["in0"].dtype == x.dtype
    assert codes(module.signature().run(inputs)[0]) == codes(x)
    assert codes(module.signature()(in0=x)["out0"]) == codes(x)


@BOTH
@EACH
def test_a_tensor_attribute(row: dtypes.ElementType, engine: str) -> None:
    x = sample(row, 1)
    shape = np.array([2, 3], np.int64)
    data, inputs = one_node("ConstantOfShape", [shape], {"value": x}, [x.dtype], version=9)
    found = engines.run(engine, data, inputs)[0]
    assert found.shape == (2, 3) and codes(found) == codes(np.full((2, 3), x[0], x.dtype))


INDEX = np.array([2, 0, 2], np.int64)
MOVES: list[tuple[str, list[Any], dict[str, Any], Any]] = [
    ("Reshape", [np.array([5, 3], np.int64)], {}, lambda x: x.reshape(5, 3)),
    ("Transpose", [], {"perm": [1, 0]}, lambda x: x.T),
    ("Expand", [np.array([2, 3, 5], np.int64)], {}, lambda x: np.stack([x, x])),
    ("Tile", [np.array([2, 1], np.int64)], {}, lambda x: np.concatenate([x, x])),
    ("Gather", [INDEX], {"axis": 0}, lambda x: x[INDEX]),
    ("GatherND", [INDEX[:, None]], {}, lambda x: x[INDEX]),
    ("Slice", [[1], [5], [1], [2]], {}, lambda x: x[:, 1:5:2]),
    ("Unsqueeze", [np.array([0], np.int64)], {}, lambda x: x[None]),
]


@BOTH
@EACH_SMALL
@pytest.mark.parametrize(("op", "more", "attrs", "expected"), MOVES, ids=[m[0] for m in MOVES])
def test_movement(
    row: dtypes.ElementType, op: str, more: Any, attrs: Any, expected: Any, engine: str
) -> None:
    x = sample(row, 3, 5)
    inputs = [x, *(np.asarray(m, np.int64) for m in more)]
    data, fed = one_node(op, inputs, attrs, [x.dtype], version=13)
    found = engines.run(engine, data, fed)[0]
    assert found.dtype == x.dtype
    assert codes(found) == codes(np.ascontiguousarray(expected(x)))


@BOTH
@EACH_SMALL
def test_movement_of_two(row: dtypes.ElementType, engine: str) -> None:
    x, y = sample(row, 3, 5), sample(row, 3, 5, seed=7)
    chosen = np.arange(15).reshape(3, 5) % 2 == 0
    plain = (x.view(f"u{x.itemsize}"), y.view(f"u{x.itemsize}"))
    for op, inputs, attrs, expected in (
        ("Concat", [x, y], {"axis": 1}, np.concatenate(plain, 1)),
        ("Where", [chosen, x, y], {}, np.where(chosen, *plain)),
    ):
        data, fed = one_node(op, inputs, attrs, [x.dtype], version=16)
        assert codes(engines.run(engine, data, fed)[0]) == codes(expected)


def variable_model(x: np.ndarray) -> bytes:
    builder = Builder()
    declared = builder.model.variable.add(name="v", dtype=dtypes.of_numpy(x.dtype).number)
    declared.shape.CopyFrom(tensor_type(x.dtype, x.shape).tensor.shape)
    declared.value = len(builder.arrays)
    builder.arrays.append(x)
    kind = tensor_type(x.dtype, x.shape)
    attrs = {"variable": "v", "dtype": dtypes.of_numpy(x.dtype).number, "shape": kind}
    builder.node("read", "ReadVariable", [], [kind], attrs, domain="graphio")
    builder.signature({}, {"out": "read"})
    return builder.bytes()


@EACH
@pytest.mark.parametrize("writer", engines.NAMES)
@pytest.mark.parametrize("reader", engines.NAMES)
def test_variables_go_through_checkpoints(
    row: dtypes.ElementType, writer: str, reader: str, tmp_path: Path
) -> None:
    x, y = sample(row, 3, 3), sample(row, 3, 3, seed=5)
    one = engines.module(writer).load(variable_model(x))
    assert codes(one.signature().run([])[0]) == codes(x)
    one.state.set("v", y)
    assert codes(one.state.get("v")) == codes(y)
    one.state.save(tmp_path / "m")
    two = engines.module(reader).load(variable_model(x))
    two.state.restore(tmp_path / "m")
    assert codes(two.signature().run([])[0]) == codes(y)


@pytest.mark.parametrize("row", PACKED, ids=lambda row: row.name)
def test_the_engines_write_the_same_shards(row: dtypes.ElementType, tmp_path: Path) -> None:
    x = sample(row, 3 * 4097)
    tails = []
    for engine in engines.NAMES:
        engines.module(engine).load(variable_model(x)).state.save(tmp_path / engine)
        shard = next(tmp_path.glob(f"{engine}.data-*")).read_bytes()
        tails.append(shard[-len(bytes(tensors.encode(x))) :])
    assert tails[0] == tails[1] == bytes(tensors.encode(x))


@BOTH
@pytest.mark.parametrize("lazy", [False, True])
@pytest.mark.parametrize("row", PACKED, ids=lambda row: row.name)
def test_filling_bits_and_lengths_are_checked(
    row: dtypes.ElementType, lazy: bool, engine: str
) -> None:
    x = sample(row, 3)
    builder = Builder()
    builder.signature({}, {"out": builder.constant("c", x)})
    good = builder.bytes()
    load = engines.module(engine).load
    assert codes(load(good, lazy=lazy).signature().run([])[0]) == codes(x)
    model, _ = container.unpack(good)
    data = bytes(tensors.encode(x))
    filled = data[:-1] + bytes([data[-1] | 0x80])
    assert good.endswith(data)
    model.tensor[0].crc32c = crc32c(filled)
    with pytest.raises(errors.DataLossError, match="filling"):
        load(_with(good, model, filled), lazy=lazy).signature().run([])
    model.tensor[0].crc32c = crc32c(data)
    model.tensor[0].dims[0] += 8
    with pytest.raises(errors.DataLossError):
        load(_with(good, model, data), lazy=lazy).signature().run([])


def _with(good: bytes, model: Any, data: bytes) -> bytes:
    """The file of another message and data of the same length."""
    graph = model.SerializeToString(deterministic=True)
    start = 64 + len(graph) + -len(graph) % 64
    header = bytearray(good[:64])
    header[16:24] = len(graph).to_bytes(8, "little")
    header[24:32] = start.to_bytes(8, "little")
    header[40:44] = crc32c(graph).to_bytes(4, "little")
    header[60:64] = crc32c(bytes(header[:60])).to_bytes(4, "little")
    return bytes(header) + graph + bytes(start - 64 - len(graph)) + data


@BOTH
@EACH_SMALL
def test_kernels_that_compute_refuse_them_with_words(row: dtypes.ElementType, engine: str) -> None:
    x = sample(row, 4)
    if row.name == "bfloat16":
        pytest.skip("is computed with")
    data, inputs = one_node("Add", [x, x], {}, [x.dtype], version=14)
    with pytest.raises(errors.OpError, match=row.name):
        engines.run(engine, data, inputs)


@BOTH
@pytest.mark.parametrize("name", ["float16", "bfloat16"])
def test_a_refusal_names_the_type_that_was_given(name: str, engine: str) -> None:
    row = next(row for row in ROWS if row.name == name)
    x = sample(row, 2, 3)
    data, inputs = one_node("MatMul", [x, x], {}, [x.dtype], version=13)
    with pytest.raises(errors.InvalidArgumentError, match=rf"MatMul 'node'.*\b{name}\b"):
        engines.run(engine, data, inputs)


@EACH_SMALL
def test_a_session_feeds_and_fetches_them(row: dtypes.ElementType) -> None:
    dtype = tf.as_dtype(row.name)
    with tf.Graph().as_default(), tf.Session() as session:
        x = tf.placeholder(dtype, (4,))
        wide = tf.cast(tf.reshape(x, (2, 2)), tf.float32)
        value = sample(row, 4)
        found = session.run([tf.identity(x), wide], {x: value})
        assert found[0].dtype == value.dtype and codes(found[0]) == codes(value)
        np.testing.assert_array_equal(found[1], value.astype(np.float32).reshape(2, 2))
        one = session.run(tf.constant(1, dtype))
        assert one.dtype == value.dtype and float(one) == 1
    assert float(dtype.max) >= 1 and dtype.size == -(-row.bits // 8)
