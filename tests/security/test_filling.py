"""S2 for writers: a file that was written with default options opens with default limits."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import onnx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from onnx import TensorProto, helper

import graphio as tf
from graphio import cinfer, runtime
from graphio.model import size_reduction
from graphio.model.export import build_model
from graphio.schema import container, model_pb2
from graphio.support import errors

Add = Callable[[model_pb2.Model, Iterator[str]], None]
MANY = 3000


def names() -> Iterator[str]:
    """The shortest names that there are, none twice."""
    letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for length in itertools.count(1):
        yield from map("".join, itertools.product(letters, repeat=length))


def node(model: model_pb2.Model, name: str, op: str, *inputs: str) -> model_pb2.Node:
    made = model.graph.node.add(name=name, op=op, version=13, input=inputs)
    made.output_type.add()
    return made


def model_of(*parts: tuple[Add, int]) -> model_pb2.Model:
    """A model with one placeholder, "0", and so many of each part."""
    model = model_pb2.Model()
    first = model.graph.node.add(name="0", op="Placeholder", domain="graphio", version=1)
    first.output_type.add().tensor.dtype = model_pb2.BOOL
    first.attr.add(key="dtype").value.i = model_pb2.BOOL
    first.attr.add(key="shape").value.type.tensor.dtype = model_pb2.BOOL
    fresh = names()
    for add, count in parts:
        for _ in range(count):
            add(model, fresh)
    for rows in (model.signature, model.variable):
        rows.sort(key=lambda row: row.name)
    model.metadata.sort(key=lambda row: row.key)
    return model


# ---- parts that are small in a file and large in memory ----


def chained(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    node(model, next(fresh), "Neg", model.graph.node[-1].name)


def fanned(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    node(model, next(fresh), "Neg", "0")


def waiting(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    before = model.graph.node[-1].name
    node(model, next(fresh), "Neg", "0").control_input.append(before)


def summed(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    """Of many inputs."""
    node(model, next(fresh), "Sum", *["0"] * 50)


def constant(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    value = node(model, next(fresh), "Constant").attr.add(key="value").value.t
    value.dtype, value.data = model_pb2.FLOAT, bytes(4)


def bits(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    """Four elements in a byte."""
    value = node(model, next(fresh), "Constant").attr.add(key="value").value.t
    value.dtype, value.data = model_pb2.UINT2, bytes(100)
    value.dims.append(400)


def integers(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    value = node(model, next(fresh), "Constant").attr.add(key="value_ints").value
    value.ints.i.extend([1] * 100)


def string_values(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    value = node(model, next(fresh), "Constant").attr.add(key="value_strings").value
    value.strings.s.extend([b""] * 100)


def branches(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    """Bodies in a body, which give back what is around them."""
    made = inner = node(model, next(fresh), "If", "0")
    for depth in range(3):
        for key in ("else_branch", "then_branch"):
            body = inner.attr.add(key=key).value.g
            body.capture.append("0")
            body.output.append("0")
        if depth < 2:
            inner = body.node.add(name=next(fresh), op="If", version=13, input=["0"])
            inner.output_type.add()
    assert len(made.attr) == 2


def variable(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    model.variable.add(name=next(fresh), dtype=model_pb2.FLOAT)


def signature(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    made = model.signature.add(name=next(fresh), target=["0"])
    for bindings in (made.input, made.output):
        binding = bindings.add(key="x", value="0")
        binding.type.tensor.dtype = model_pb2.BOOL
        binding.type.tensor.shape.dim.add(symbol="n")


def metadata(model: model_pb2.Model, fresh: Iterator[str]) -> None:
    model.metadata.add(key=next(fresh))


PARTS: tuple[Add, ...] = (
    chained, fanned, waiting, summed, constant, bits, integers, string_values, branches, variable,
    signature, metadata,
)  # fmt: skip


def opens(data: bytes | Path) -> None:
    for engine in (cinfer, runtime):
        engine.load(data)


@pytest.mark.parametrize("part", PARTS)
def test_many_of_one_small_thing_are_filled_up_so_that_they_open(part: Add) -> None:
    model = model_of((part, MANY))
    opens(container.pack(model, []))


@settings(max_examples=25, deadline=None)
@given(st.lists(st.tuples(st.sampled_from(PARTS), st.integers(1, MANY // 3)), max_size=4))
def test_any_of_them_together_open(parts: list[tuple[Add, int]]) -> None:
    cinfer.load(container.pack(model_of(*parts), []))


def test_without_the_filling_some_of_them_would_be_refused() -> None:
    data = container.pack(model_of((variable, MANY)), [], filled=False)
    with pytest.raises(errors.ResourceExhaustedError, match="max_load"):
        cinfer.load(data)


def test_a_file_of_usual_nodes_is_not_filled() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [None, 4])
        for _ in range(1000):
            x = tf.nn.relu(x)
    model, arrays = build_model(graph, [], prune=False)
    assert container.pack(model, arrays) == container.pack(model, arrays, filled=False)


def test_the_filling_is_no_part_of_the_model_that_is_read() -> None:
    model = model_of((variable, MANY))
    read, _ = container.unpack(container.pack(model, []))
    assert read == model


def test_vocabularies_of_short_words_open(tmp_path: Path) -> None:
    words = np.array([b""] * 20_000, object)
    with tf.Graph().as_default(), tf.Session() as session:
        index = tf.placeholder(tf.int32, [])
        y = tf.gather(tf.constant(words), index)
        tf.saved_model.save(tmp_path / "m.gio", session, {"f": ({"i": index}, {"y": y})})
    opens(tmp_path / "m.gio")


# ---- on every way to a file ----


def chain_of_onnx(length: int) -> onnx.ModelProto:
    nodes = [helper.make_node("Neg", [f"{i}"], [f"{i + 1}"]) for i in range(length)]
    ends = [helper.make_tensor_value_info(f"{i}", TensorProto.FLOAT, [1]) for i in (0, length)]
    graph = helper.make_graph(nodes, "g", ends[:1], ends[1:])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)


def test_a_long_chain_opens_as_it_is_converted_stripped_and_run(tmp_path: Path) -> None:
    converted = tf.onnx.convert(chain_of_onnx(4000))
    opens(converted)
    opens(size_reduction.reduced(converted, strip=True, optimize="none"))


def test_a_session_takes_its_own_bytes_whatever_they_want_of_memory() -> None:
    with tf.Graph().as_default() as graph:
        x = tf.placeholder(tf.float32, [])
        for i in range(3000):
            tf.Variable(0.0, name=f"{i}")
        with tf.Session("cinfer") as session:
            session.run(tf.global_variables_initializer())
            assert session.run(-x, {x: 1.0}) == -1.0
    assert len(graph.get_collection(tf.GraphKeys.GLOBAL_VARIABLES)) == 3000


def functions(depth: int, calls: int, length: int) -> model_pb2.Model:
    """Functions in each other, each of which calls the next several times; the last has a chain."""
    model = model_of()
    for level in range(depth):
        body = model.function.add(domain="own", name=f"f{level:02}", version=1, input=["x"])
        value = "x"
        for i in range(length if level == 0 else calls):
            op, domain = ("Neg", "") if level == 0 else (f"f{level - 1:02}", "own")
            made = body.node.add(name=f"n{i}", op=op, domain=domain, input=[value])
            made.version = 1 if domain else 13
            made.output_type.add()
            value = made.name
        body.output.append(value)
    call = model.graph.node.add(name="y", op=f"f{depth - 1:02}", domain="own", version=1)
    call.input.append("0")
    call.output_type.add().tensor.dtype = model_pb2.BOOL
    return model


@pytest.mark.parametrize(
    ("depth", "calls", "length"), [(1, 1, 2000), (15, 1, 300), (11, 2, 3), (6, 4, 4), (3, 30, 5)]
)
def test_functions_in_each_other_open(depth: int, calls: int, length: int) -> None:
    opens(container.pack(functions(depth, calls, length), []))


def test_functions_that_stand_for_more_than_any_file_should_have_are_refused() -> None:
    model = functions(15, 8, 8)
    with pytest.raises(errors.ResourceExhaustedError, match="call fewer functions in each other"):
        container.pack(model, [])
    assert len(container.pack(model, [], filled=False)) < 10000
