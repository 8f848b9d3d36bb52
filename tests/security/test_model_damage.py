"""Model files with right checksums and wrong content are refused by the C library, and each refusal
says what is wrong (docs/security.md: S1, S3, S6)."""
# ruff: noqa: E501 - the table of bad models has a row a line

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import damaged_models as damage
import engines
import numpy as np
import pytest
from failing_memory import Memory
from schema_samples import node, tensor_type

from graphio import runtime
from graphio.schema import container
from graphio.schema import model_pb2 as pb
from graphio.support import errors

cinfer = engines.module("cinfer")
from graphio.cinfer import status  # noqa: E402
from graphio.cinfer._native import ffi, lib  # noqa: E402

Array = np.ndarray[Any, Any]

# Fields that only people and the host language read.
NOT_READ = (
    "Model.opset",
    "Model.collection",
    "Model.selftest",
    "Model.resource.blob",
)


def test_the_model_that_is_damaged_is_whole() -> None:
    assert cinfer.load(damage.packed(damage.rich())).signature("predict") is not None


def test_a_message_that_cannot_be_read_is_refused_wherever_it_stands() -> None:
    made = damage.rich()
    data = damage.packed(made)
    start = int.from_bytes(data[24:32], "little")
    message = made.SerializeToString(deterministic=True)
    refused, loaded = set(), set()
    for path, bad in damage.changed(message, pb.Model.DESCRIPTOR, damage.unreadable):
        try:
            cinfer.load(damage.file(bad, data[start:]))
        except errors.DataLossError:
            refused.add(path)
            with pytest.raises(errors.DataLossError):
                container.unpack(damage.file(bad, data[start:]))
        else:
            loaded.add(path)
    assert len(refused) > 50
    assert not {path for path in refused if path.startswith(NOT_READ)}
    assert not {path for path in loaded if not path.startswith(NOT_READ)}


# ---- the container ----

MESSAGE = damage.rich().SerializeToString(deterministic=True)
CONTAINERS: list[tuple[Callable[[], bytes], str]] = [
    (lambda: damage.file(MESSAGE)[:63], "it has 63 bytes, the header alone has 64"),
    (lambda: b"x" + damage.file(MESSAGE)[1:], "does not begin as one"),
    (lambda: damage.file(MESSAGE)[:63] + b"xx", "the header's checksum does not match"),
    (lambda: damage.file(MESSAGE, reserved=1), "reserved bytes are not zero"),
    (lambda: damage.file(MESSAGE, length=2**63), "its sections do not fit its length"),
    (lambda: damage.file(MESSAGE, length=2**31 - 1), "its sections do not fit its length"),
    (lambda: damage.file(MESSAGE, start=2**63), "its sections do not fit its length"),
    (lambda: damage.file(MESSAGE, size=1), "its sections do not fit its length"),
    (lambda: damage.file(b"", b"1" * 64, start=128, size=0), "its sections do not fit its length"),
    (lambda: damage.file(MESSAGE, crc=0), "the graph section's checksum does not match"),
    (lambda: damage.file(b"", padding=b"") + b"x", "its sections do not fit its length"),
    (lambda: damage.file(b"\x58\x00", padding=bytes(61) + b"x"), "padding is not zero"),
    (lambda: damage.file(b"", b"x"), "the data section is longer than its tensors"),
]


@pytest.mark.parametrize(("make", "text"), CONTAINERS)
def test_containers_that_do_not_fit_are_refused(make: Callable[[], bytes], text: str) -> None:
    with pytest.raises(errors.DataLossError, match=text):
        cinfer.load(make())
    with pytest.raises(errors.DataLossError):
        container.unpack(make())


@pytest.mark.parametrize("newer", [{"major": 2}, {"flags": 8}])
def test_files_of_the_future_are_not_implemented(newer: dict[str, int]) -> None:
    with pytest.raises(errors.UnimplementedError, match="a newer one is needed"):
        cinfer.load(damage.file(MESSAGE, **newer))
    with pytest.raises(errors.UnimplementedError, match="written by a newer graphio"):
        container.unpack(damage.file(MESSAGE, **newer))


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda data: data[:80], "outside of its range"),
        (lambda data: data[:100] + b"x" + data[101:], "padding is not zero"),
        (lambda data: data[:200] + b"xx" + data[202:], "checksum of a tensor does not match"),
        (lambda data: data + b"x", "longer than its tensors"),
    ],
)
def test_data_sections_that_do_not_fit_are_refused(
    change: Callable[[bytes], bytes], text: str
) -> None:
    data = damage.packed(damage.rich())[int.from_bytes(damage.file(MESSAGE)[24:32], "little") :]
    with pytest.raises(errors.DataLossError, match=text):
        cinfer.load(damage.file(MESSAGE, change(data)))
    with pytest.raises(errors.DataLossError):
        container.unpack(damage.file(MESSAGE, change(data)))


# ---- the messages ----

Change = Callable[[pb.Model], object]
LONG = "n" * 300


def nodes(m: pb.Model) -> dict[str, pb.Node]:
    return {n.name: n for n in m.graph.node}


def value(m: pb.Model, name: str, key: str) -> pb.AttributeValue:
    (found,) = (a.value for a in nodes(m)[name].attr if a.key == key)
    return found


def constant(m: pb.Model, dtype: int, dims: list[int], data: bytes) -> None:
    """Makes the inline tensor another one."""
    value(m, "cond", "value").t.CopyFrom(pb.Tensor(dtype=dtype, dims=dims, data=data))  # type: ignore[arg-type]


def body(m: pb.Model, name: str, key: str) -> pb.Graph:
    return value(m, name, key).g


def call(m: pb.Model, **fields: Any) -> pb.Node:
    """One more call of mine.Pair."""
    made = node("Pair", "call", "y", "xw", domain="mine")
    made.output_type.add()
    made.MergeFrom(pb.Node(**fields))
    m.graph.node.append(made)
    return made


def in_function(m: pb.Model, *made: pb.Node, output: str | None = None) -> None:
    """Nodes at the end of mine.Pair, which then gives one of their values."""
    m.function[0].node.extend(made)
    if output is not None:
        m.function[0].output[0] = output


def nested(m: pb.Model, depth: int) -> None:
    graph = pb.Graph(node=[node("NoOp", "innermost", domain="graphio")])
    for level in range(depth):
        graph = pb.Graph(node=[node("Nest", f"n{level}", domain="mine", body={"g": graph})])
    m.graph.MergeFrom(graph)


def branch(name: str) -> pb.Node:
    """An If inside of mine.Pair whose branches give a value of the function."""
    graph = pb.Graph(output=[name], capture=[name])
    return node("If", "branch", "a", else_branch={"g": graph}, then_branch={"g": graph})


def absent(m: pb.Model, *made: pb.Node, output: str | None = None) -> None:
    """The call of mine.Pair without its second input, and what the function does with it then."""
    del nodes(m)["pair"].input[1]
    del m.function[0].node[:]
    m.function[0].node.extend(made)
    m.function[0].output[:] = ["a", output or "a"]


LOST, BAD, MUCH = (
    errors.DataLossError,
    errors.InvalidArgumentError,
    errors.ResourceExhaustedError,
)
# fmt: off
REFUSED: list[tuple[Change, type[errors.OpError], str]] = [
    # tensors
    (lambda m: setattr(m.tensor[0], "dtype", 0), LOST, "no element type"),
    (lambda m: setattr(m.tensor[0], "dtype", 27), LOST, "no element type"),
    (lambda m: m.tensor[0].dims.__setitem__(0, -1), LOST, "the shape of a tensor is impossible"),
    (lambda m: m.tensor[0].dims.extend([2**31, 2**31]), LOST, "the shape of a tensor is impossible"),
    (lambda m: m.tensor[0].dims.extend([1] * 16), LOST, "the dims of a tensor cannot be read"),
    (lambda m: constant(m, 9, [2**62], b""), LOST, "the shape of a tensor is impossible"),
    (lambda m: m.tensor[0].dims.append(2), LOST, "a float32 tensor of 40 elements has 80 bytes"),
    (lambda m: constant(m, 14, [2**61 - 1], b""), LOST, "a complex64 tensor of 2305843009213693951"),
    (lambda m: constant(m, 15, [2**61], b"") , LOST, "a complex128 tensor of 2305843009213693952"),
    (lambda m: setattr(m.tensor[0], "stored", False), LOST, "not stored where it belongs"),
    (lambda m: setattr(m.tensor[0], "data", b"x"), LOST, "not stored where it belongs"),
    (lambda m: setattr(value(m, "cond", "value").t, "stored", True), LOST, "not stored where it belongs"),
    (lambda m: setattr(m.tensor[1], "offset", 64), LOST, "outside of its range"),
    (lambda m: setattr(m.tensor[1], "nbytes", 3201), LOST, "outside of its range"),
    (lambda m: setattr(m.tensor[1], "nbytes", 2**64 - 1), LOST, "outside of its range"),
    (lambda m: setattr(m.tensor[1], "crc32c", 1), LOST, "the checksum of a tensor does not match"),
    (lambda m: m.tensor.pop(), LOST, "the data section is longer than its tensors"),
    # Where addresses have 32 bits, counts must not be cut to them.
    (lambda m: constant(m, 1, [2**32 + 1], bytes(4)), LOST, "a float32 tensor of 4294967297 elements has 4"),
    (lambda m: constant(m, 8, [2**32 + 1], bytes(8)), LOST, "a string tensor is shorter than its shape says"),
    (lambda m: constant(m, 9, [2], b"\1\2"), LOST, "a bool is neither 0 nor 1"),
    (lambda m: constant(m, 8, [2**61], b""), LOST, "a string tensor is shorter than its shape says"),
    (lambda m: constant(m, 8, [2], bytes(15)), LOST, "a string tensor is shorter than its shape says"),
    (lambda m: constant(m, 8, [1], b"\2" + bytes(8)), LOST, "the lengths of a string tensor exceed its bytes"),
    (lambda m: constant(m, 8, [1], bytes(9)), LOST, "a string tensor has bytes left over"),
    (lambda m: constant(m, 22, [3], b"\1"), LOST, "a packed tensor has another length"),
    (lambda m: constant(m, 22, [3], b"\1\x11"), LOST, "the filling bits of a packed tensor are not zero"),
    # types
    (lambda m: m.variable[0].shape.dim.add(size=-2), LOST, "a dimension is -2"),
    (lambda m: m.variable[0].shape.dim.extend([pb.Dimension()] * 15), LOST, "a rank is above 16"),
    (lambda m: setattr(nodes(m)["xw"].output_type[0].tensor, "dtype", 27), LOST, "no element type 27"),
    # nodes
    (lambda m: setattr(nodes(m)["xw"], "version", 0), LOST, "no operator version in node 'xw'"),
    (lambda m: setattr(nodes(m)["xw"], "version", 2**31), LOST, "no operator version in node 'xw'"),
    (lambda m: setattr(nodes(m)["xw"], "name", ""), LOST, "a node cannot be read"),
    (lambda m: setattr(nodes(m)["xw"], "name", "x"), LOST, "two nodes or inputs have the name 'x'"),
    (lambda m: nodes(m)["xw"].input.append("w"), BAD, "MatMul 'xw' (train.py:12): 3 inputs, expected 2 to 2"),
    (lambda m: m.graph.node.append(node("Concat", "none", version=13, axis={"i": 0})), BAD, "0 inputs, expected 1 to 2147483647"),
    (lambda m: (setattr(nodes(m)["xw"].source, "function", LONG), setattr(nodes(m)["xw"].source, "file", LONG), nodes(m)["xw"].input.append("w")), BAD, "n): 3 inputs"),
    (lambda m: m.graph.node.append(node("MatMul", LONG, "x", version=13)), BAD, "MatMul '" + 127 * "n" + "': 1 inputs"),
    (lambda m: nodes(m)["xw"].input.__setitem__(0, ""), BAD, "input 0 is absent"),
    (lambda m: nodes(m)["xw"].output_type.add(), BAD, "2 outputs, expected 1 to 1"),
    (lambda m: m.graph.node.append(node("StringSplit", "split", "x", domain="graphio")), BAD, "1 outputs, expected 3 to 3"),
    (lambda m: nodes(m)["xw"].input.__setitem__(0, "y"), LOST, "reads a value that no earlier node produces: 'y'"),
    (lambda m: nodes(m)["xw"].input.__setitem__(0, "x:1"), LOST, "no earlier node produces: 'x:1'"),
    (lambda m: nodes(m)["xw"].input.__setitem__(0, "x:123456789"), LOST, "no earlier node produces"),
    (lambda m: nodes(m)["xw"].input.__setitem__(0, ":1"), LOST, "no earlier node produces"),
    (lambda m: nodes(m)["xw"].input.__setitem__(0, LONG), LOST, "'" + 200 * "n" + "'"),
    (lambda m: nodes(m)["xw"].control_input.append("y"), LOST, "no earlier node of this graph 'y'"),
    (lambda m: body(m, "if", "then_branch").node[0].control_input.append("c"), LOST, "no earlier node of this graph 'c'"),
    (lambda m: body(m, "loop", "body").node[0].control_input.append("h"), LOST, "no earlier node of this graph 'h'"),
    (lambda m: nodes(m)["if"].attr.reverse(), LOST, "attributes are not sorted and unique at 'else_branch'"),
    (lambda m: nodes(m)["c"].attr[0].ClearField("key"), LOST, "an attribute cannot be read in node 'c'"),
    (lambda m: nodes(m)["c"].attr[0].ClearField("value"), LOST, "no value in attribute 'value'"),
    (lambda m: nodes(m)["c"].attr[0].value.graphs.g.add(), LOST, "no value in attribute 'value'"),
    (lambda m: setattr(value(m, "c", "value"), "tensor", 2), LOST, "no such tensor in attribute 'value'"),
    (lambda m: [m.graph.node.insert(0, node("Constant", "inline", value={"t": {"dtype": 9, "data": b"\1"}})),
                setattr(value(m, "c", "value"), "tensor", 2)], LOST, "no such tensor in attribute 'value'"),
    # graphs
    (lambda m: m.graph.capture.append("x"), LOST, "or belong to the root"),
    (lambda m: m.graph.input.add(name="x"), LOST, "the root has a formal input"),
    (lambda m: body(m, "if", "then_branch").capture.reverse(), LOST, "captures are not sorted and unique"),
    (lambda m: body(m, "if", "then_branch").capture.insert(0, ""), LOST, "captures are not sorted and unique"),
    (lambda m: body(m, "if", "then_branch").capture.append("z"), LOST, "no earlier node produces: 'z'"),
    (lambda m: body(m, "if", "then_branch").capture.remove("x"), LOST, "a subgraph does not list a value that it captures: 'x'"),
    (lambda m: body(m, "if", "then_branch").output.append("zz"), LOST, "no earlier node produces: 'zz'"),
    (lambda m: body(m, "if", "then_branch").output.append(""), LOST, "an output of a graph is absent"),
    (lambda m: body(m, "if", "then_branch").target.append("x"), LOST, "no earlier node of this graph 'x'"),
    (lambda m: body(m, "loop", "body").input.add(name=""), LOST, "a node or input has no name"),
    (lambda m: body(m, "loop", "body").input.add(name="y"), LOST, "two nodes or inputs have the name 'y'"),
    (lambda m: nested(m, 17), MUCH, "subgraphs are nested deeper than the limit of 16"),
    # functions
    (lambda m: m.function.append(m.function[0]), LOST, "functions are not sorted and unique at 'Pair'"),
    (lambda m: m.function.add(domain="a", name="Pair", version=1), LOST, "functions are not sorted"),
    (lambda m: m.function.add(domain="mine", name="A", version=9), LOST, "functions are not sorted"),
    (lambda m: m.function[0].node[0].input.__setitem__(0, LONG), LOST, "no earlier node produces"),
    (lambda m: m.function[0].node[0].control_input.append(""), LOST, "no earlier node of this graph ''"),
    (lambda m: m.function[0].input.append("a"), LOST, "two nodes or inputs have the name 'a'"),
    (lambda m: m.function[0].output.__setitem__(0, "zz"), LOST, "no earlier node produces: 'zz'"),
    (lambda m: nodes(m)["pair"].input.append("x"), LOST, "more inputs than its function has: 'pair'"),
    (lambda m: m.function[0].output.pop(), LOST, "more outputs than its function has: 'pair'"),
    (lambda m: absent(m, output="b"), LOST, "an output is absent in the function of 'pair'"),
    (lambda m: absent(m, branch("b")), LOST, "an output of a graph is absent"),
    (lambda m: in_function(m, node("Pair", "again", "a", "b", domain="mine")), MUCH, "functions call each other deeper than 16"),
    (lambda m: [setattr(nodes(m)["pair"], "name", LONG), setattr(m.signature[0].output[1], "value", LONG),
                in_function(m, node("Pair", "again", "a", "b", domain="mine"))], MUCH, "deeper than 16 at '" + (200 - 16 * 6) * "n" + 16 * "/again" + "'"),
    (lambda m: in_function(m, node("Split", "parts", "a", version=18, num_outputs={"i": 3}), output="parts:3"), LOST, "no earlier node produces: 'parts:3'"),
    (lambda m: in_function(m, node("Relu", LONG, "a", version=0)), LOST, "no operator version in node '" + 200 * "n" + "'"),
    (lambda m: [setattr(nodes(m)["pair"].source, "file", "train.py"), setattr(nodes(m)["pair"].source, "line", 7),
                in_function(m, node("Relu", "bad", "a", "b", version=6))], BAD, "Relu 'pair/bad' (train.py:7): 2 inputs"),
    # variables, resources, signatures
    (lambda m: setattr(m.variable[0], "dtype", 27), LOST, "a variable cannot be read"),
    (lambda m: setattr(m.variable[0], "dtype", 0), LOST, "a variable cannot be read"),
    (lambda m: setattr(m.variable[0], "name", ""), LOST, "a variable cannot be read"),
    (lambda m: setattr(m.variable[0], "value", 2), LOST, "a variable's value is not a tensor"),
    (lambda m: m.variable.append(m.variable[0]), LOST, "a table is not sorted and unique at 'w'"),
    (lambda m: [m.variable.add(name=LONG, dtype=1, value=0) for _ in range(2)], LOST, "not sorted and unique at '" + 200 * "n" + "'"),
    (lambda m: [m.signature.add(name="s\0" + c) for c in "ab"], LOST, "has a zero byte"),
    (lambda m: setattr(m.variable[0], "slot_of", "w\0abc"), LOST, "has a zero byte"),
    (lambda m: setattr(m.variable[0], "slot", "m\0"), LOST, "has a zero byte"),
    (lambda m: setattr(m.resource[1], "name", ""), LOST, "a table is not sorted and unique at ''"),
    (lambda m: m.signature.append(m.signature[0]), LOST, "a table is not sorted and unique at 'predict'"),
    (lambda m: m.signature[0].input.add(key="again", value="x", type=tensor_type()), LOST, "two inputs of a signature are the same"),
    (lambda m: m.signature[0].input.add(key="x", value="c", type=tensor_type()), LOST, "two inputs of a signature are the same"),
    (lambda m: [m.signature[0].input.add() for i in range(20000)], MUCH, "needs more than 4 times its size of memory"),
    (lambda m: [m.graph.node.append(node("Identity", "untyped", "x")), m.signature[0].input.add(key="u", value="untyped")], LOST, "an input has no element type"),
    (lambda m: m.signature[0].output.add(key="q", value=LONG), LOST, "is not a value of its root graph"),
    (lambda m: m.signature[0].output.add(key="q", value="h2"), LOST, "'h2' is not a value of its root graph"),
    (lambda m: m.signature[0].target.append("x:0"), LOST, "a signature's target 'x:0' is not a node"),
    (lambda m: m.signature[0].target.append("h"), LOST, "'h' is not a node of its root graph"),
    (lambda m: m.signature[0].target.append("h2"), LOST, "'h2' is not a node of its root graph"),
    (lambda m: m.signature[0].target.append(LONG), LOST, "is not a node of its root graph"),
]
# fmt: on


@pytest.mark.parametrize(("change", "error", "text"), REFUSED)
def test_messages_that_break_a_rule_are_refused(
    change: Change, error: type[errors.OpError], text: str
) -> None:
    made = damage.rich()
    change(made)
    with pytest.raises(error) as raised:
        cinfer.load(damage.packed(made))
    assert text in str(raised.value)


def held(number: int, content: bytes) -> bytes:
    """A field of bytes, or of a message."""
    return damage.varint(number << 3 | damage.BYTES) + damage.varint(len(content)) + content


def test_a_node_that_is_named_twice_is_refused() -> None:
    """Other readers take the last name; here it would be found by the first."""
    twice = node("NoOp", "a", domain="graphio").SerializeToString() + held(1, b"b")
    graph = held(pb.Graph.NODE_FIELD_NUMBER, twice)
    with pytest.raises(LOST, match="a node has two names, one is 'b'"):
        cinfer.load(damage.file(held(pb.Model.GRAPH_FIELD_NUMBER, graph)))


def test_a_function_whose_node_has_neither_name_nor_source_is_refused() -> None:
    made = damage.rich()
    inner = held(pb.Node.SOURCE_FIELD_NUMBER, held(1, b"")[:-1])
    function = made.function.pop().SerializeToString() + held(pb.Function.NODE_FIELD_NUMBER, inner)
    message = made.SerializeToString(deterministic=True)
    with pytest.raises(LOST, match="the source cannot be read of node 'pair/'"):
        cinfer.load(
            damage.file(
                message + held(pb.Model.FUNCTION_FIELD_NUMBER, function), damage.stored(made)
            )
        )


@pytest.mark.parametrize(
    ("what", "most"), [("attributes", {"attr": 65536}), ("outputs", {"output_type": 65536})]
)
def test_a_node_has_65535_attributes_and_outputs_at_most(what: str, most: dict[str, int]) -> None:
    made = pb.Model()
    many = made.graph.node.add(name="many", op="Unknown", version=1)
    ((field, count),) = most.items()
    for number in range(count - 1):
        getattr(many, field).add(
            **({"key": f"{number:05}", "value": {"i": 1}} if what == "attributes" else {})
        )
    data = container.pack(made, [])
    opened(data, max_load=20)
    getattr(many, field).add(**({"key": "x", "value": {"i": 1}} if what == "attributes" else {}))
    with pytest.raises(LOST, match="more than 65535 attributes or outputs in node 'many'"):
        opened(container.pack(made, []), max_load=20)


# ---- limits ----


def opened(data: bytes, **limits: int) -> None:
    """Opens and closes a model in C."""
    options = ffi.new("ci_options *", lib.ci_defaults())
    for name, most in limits.items():
        setattr(options.limits, name, most)
    handle, error = ffi.new("ci_model **"), status.new_error()
    status.check(lib.ci_open_memory(data, len(data), options, handle, error), error)
    lib.ci_close(handle[0])


def test_a_model_may_have_so_many_nodes_and_bytes_and_no_more() -> None:
    data = damage.packed(damage.rich())
    count = 17
    opened(data, max_nodes=count, max_bytes=len(data))
    with pytest.raises(MUCH, match=f"the model has more than {count - 1} nodes"):
        opened(data, max_nodes=count - 1)
    with pytest.raises(MUCH, match=f"the limit is {len(data) - 1}"):
        opened(data, max_bytes=len(data) - 1)


def test_calls_of_functions_without_nodes_are_counted_too() -> None:
    made = pb.Model()
    made.graph.node.append(node("Constant", "x", value={"t": {"dtype": 9, "data": b"\1"}}))
    made.function.add(domain="mine", name="Same", version=1, input=["a"], output=["a"])
    for number in range(3):
        made.graph.node.append(node("Same", f"n{number}", "x", domain="mine"))
    data = damage.file(made.SerializeToString(deterministic=True))
    opened(data, max_nodes=3)
    with pytest.raises(MUCH, match="the model has more than 2 nodes"):
        opened(data, max_nodes=2)


@pytest.mark.parametrize(
    ("calls", "max_load", "times"), [(12, 4, 0), (20, 4, 16), (50, 20, 0), (90, 1000, 64)]
)
def test_calls_of_functions_stand_for_so_many_bytes_of_their_file(
    calls: int, max_load: int, times: int
) -> None:
    made = pb.Model()
    made.graph.node.append(node("Constant", "x", value={"t": {"dtype": 9, "data": b"\1"}}))
    made.function.add(domain="mine", name="Same", version=1, input=["a"], output=["a"])
    made.function[0].node.add(
        name="n", op="NoOp", domain="graphio", version=1, device="d" * 200_000
    )
    for number in range(calls):
        made.graph.node.append(node("Same", f"n{number}", "x", domain="mine"))
    data = damage.file(made.SerializeToString(deterministic=True))
    if times == 0:
        opened(data, max_load=max_load)
        return
    with pytest.raises(MUCH, match=f"references stand for more than {times} times the file"):
        opened(data, max_load=max_load)


def failed(memory: Memory, data: bytes) -> bool:
    """Whether a call failed while the model was opened, which then says so and keeps nothing."""
    options = ffi.new("ci_options *", lib.ci_defaults())
    memory.serve(options)
    options.borrow = 1
    handle, error = ffi.new("ci_model **"), status.new_error()
    code = lib.ci_open_memory(data, len(data), options, handle, error)
    assert code == (lib.CI_RESOURCE_EXHAUSTED if memory.failed else lib.CI_OK)
    lib.ci_close(handle[0])
    assert not memory.held
    return memory.failed


def test_every_allocation_of_a_load_may_fail() -> None:
    data = damage.packed(damage.rich())
    failing = 1
    while failed(Memory(failing), data):
        failing += 1
    assert failing > 20


def many() -> pb.Node:
    """A node with lists and a body: in a function their number is not known beforehand."""
    body = pb.Graph(input=[pb.Argument(name="i")], output=["deep", "i"], capture=["a"])
    body.node.append(node("Relu", "deep", "a", version=6))
    body.target.append("deep")
    lists: dict[str, Any] = {"ints": {"i": range(9)}, "floats": {"f": [1.0] * 9}}
    lists["strings"] = {"s": [b"s"] * 9}
    attrs = {kind: {kind: value} for kind, value in lists.items()}
    return node("Unknown", "many", "a", domain="theirs", g={"g": body}, **attrs)


def crowded(count: int) -> pb.Model:
    """Many things of each kind: where one of the lists is full depends on how many."""
    made = damage.rich()
    made.graph.node[8].control_input.extend(["c"] * count)
    for number in range(count):
        made.graph.node.insert(1, node("Identity", f"more{number}", "x", version=1))
    captures = body(made, "if", "then_branch").capture
    captures[:] = sorted([*captures, *(f"more{number}" for number in range(count))])
    call(made, control_input=["c"] * 3)
    for number in range(3):
        call(made, name=f"again{number}")
    in_function(made, node("Constant", "inline", value={"t": {"dtype": 9, "data": b"\1"}}))
    in_function(made, many())
    in_function(made, node("Identity", LONG, "a", version=1))
    in_function(made, node("Identity", "after", LONG, version=1), output="after")
    made.function[0].node[-1].control_input.append(LONG)
    split(num_outputs={"i": 40})(made)
    made.signature[0].target.extend(["if"] * count)
    return made


def test_every_list_may_be_the_last_that_grows() -> None:
    for count in range(24):
        data, failing = damage.packed(crowded(count)), 1
        while failed(Memory(failing), data):
            failing += 1
        assert failing > 30


def longer(made: pb.Model, least: int) -> None:
    """Makes each string so long that no block's end misses it: after an array pieces move by 64."""
    made.resource[1].name += "r" * least
    made.metadata[0].key += "k" * least
    made.metadata[0].value += "v" * least
    signature = made.signature[0]
    signature.name += "n" * least
    for binding in (*signature.input, *signature.output):
        binding.key += "k" * least
    signature.input[0].type.tensor.shape.dim[0].symbol += "s" * least


@pytest.mark.parametrize("make", [damage.rich, lambda: crowded(3)])
def test_every_block_of_small_pieces_may_be_the_last(make: Callable[[], pb.Model]) -> None:
    """Most pieces are in blocks of four kilobytes: wherever one ends, the next allocation may fail."""
    steps, failures = 16, 0
    for more in range(0, 4096, steps):
        made = make()
        longer(made, 64)
        made.variable.insert(0, pb.Variable(name="a" * (more + 1), dtype=1))  # type: ignore[arg-type]
        data, failing = damage.packed(made), 1
        while failed(Memory(failing, least=4096), data):
            failing += 1
        failures += failing - 1
    assert failures > 4096 // steps


def hashes(strings: Array) -> Array:
    """The hashes of rows of letters in the table of names: FNV-1a, then the upper half of a multiply."""
    found = np.full(len(strings), 14695981039346656037, np.uint64)
    for column in strings.T:
        found = (found ^ column.astype(np.uint64)) * np.uint64(1099511628211)
    mixed = (found ^ (found >> np.uint64(32))) * np.uint64(0x9E3779B97F4A7C15)
    return (mixed >> np.uint64(32)).astype(np.uint32)


def test_names_that_collide_are_refused_before_they_cost_time() -> None:
    """Of so many names each would have to be compared with all before it."""
    steps = (
        512  # NAMES_MOST_STEPS; a table for them has fewer than 1024 slots, so all belong to one
    )
    letters = np.random.RandomState(0).randint(97, 123, (1_500_000, 8)).astype(np.uint8)
    first = letters[hashes(letters) >> 22 == 0]
    near = [bytes(row).decode() for row in np.unique(first, axis=0)]
    made = pb.Model()
    for name in near[:steps]:
        made.graph.node.add(name=name, op="NoOp", domain="graphio", version=1)
    cinfer.load(damage.file(made.SerializeToString(deterministic=True)))
    last = made.graph.node.add(name="last", op="NoOp", domain="graphio", version=1)
    last.control_input.append(near[steps])
    with pytest.raises(LOST, match=f"no earlier node of this graph '{near[steps]}'"):
        cinfer.load(damage.file(made.SerializeToString(deterministic=True)))
    last.control_input[0] = near[steps - 1]
    cinfer.load(damage.file(made.SerializeToString(deterministic=True)))
    made.graph.node.add(name=near[steps], op="NoOp", domain="graphio", version=1)
    with pytest.raises(LOST, match="too many names collide"):
        cinfer.load(damage.file(made.SerializeToString(deterministic=True)))


def test_names_with_one_hash_are_different_names() -> None:
    found: dict[int, bytes] = {}
    pairs = []
    for length in (8, 8, 9):
        letters = np.random.RandomState(len(found)).randint(97, 123, (150_000, length))
        for code, row in zip(hashes(letters).tolist(), letters.astype(np.uint8), strict=True):
            if found.setdefault(code, bytes(row)) != bytes(row):
                pairs.append((found[code].decode(), bytes(row).decode()))
    assert {len(b) - len(a) for a, b in pairs} == {0, 1}
    for a, b in pairs:
        made = pb.Model()
        for name in (a, b):
            made.graph.node.add(name=name, op="NoOp", domain="graphio", version=1)
        made.graph.node[1].control_input.append(a)
        cinfer.load(damage.file(made.SerializeToString(deterministic=True)))


def test_metadata_is_found_by_its_key() -> None:
    made = damage.rich()
    made.metadata.add(key="year", value="1")
    data = damage.packed(made)
    handle, error = ffi.new("ci_model **"), status.new_error()
    assert lib.ci_open_memory(data, len(data), ffi.NULL, handle, error) == lib.CI_OK
    found = [ffi.string(lib.ci_metadata(handle[0], key)) for key in (b"author", b"year")]
    assert found == [b"nobody", b"1"]
    assert lib.ci_metadata(handle[0], b"month") == ffi.NULL
    assert ffi.string(lib.ci_metadata_key(handle[0], 1)) == b"year"
    assert lib.ci_metadata_key(handle[0], 2) == ffi.NULL
    lib.ci_close(handle[0])


# ---- unusual and valid models ----


LOOSE = {
    "ints": b"\x08\x01\x08\xac\x02",
    "floats": b"\x0d\0\0\x80\x3f\x0d\0\0\0\x40",
    "strings": b"\x0a\x01a\x0a\x01b",
}


def test_lists_may_be_written_one_number_after_the_other() -> None:
    """As protobuf allows; and a field of the future may stand between them."""
    made = damage.rich()
    data = damage.packed(made)[int.from_bytes(damage.file(MESSAGE)[24:32], "little") :]
    paths = []

    def loose(path: str, field: Any, content: bytes) -> bytes | None:
        kind = path.rsplit(".", 1)[-1]
        return b"\x78\x01" + LOOSE[kind] if kind in LOOSE else None

    for path, message in damage.changed(MESSAGE, pb.Model.DESCRIPTOR, loose):
        read = pb.Model.FromString(message)
        read.DiscardUnknownFields()
        assert read == made
        cinfer.load(damage.file(message, data))
        paths.append(path.rsplit(".", 1)[-1])
    assert sorted(paths) == sorted(LOOSE)


def test_fields_of_the_future_are_skipped_wherever_they_stand() -> None:
    data = damage.packed(damage.rich())[int.from_bytes(damage.file(MESSAGE)[24:32], "little") :]
    count = 0

    def future(path: str, field: Any, content: bytes) -> bytes | None:
        return content + b"\xf8\x3f\x01" if field is None else None

    for _, message in damage.changed(MESSAGE, pb.Model.DESCRIPTOR, future):
        cinfer.load(damage.file(message, data))
        count += 1
    assert count > 50


def test_a_dims_entry_may_stand_alone() -> None:
    """Seventeen of them are too many, as they are in a packed list."""
    tensor = b"\x08\x09\x1a\x01\x01"
    for count, good in ((16, True), (17, False)):
        value = b"\x0a\x05value\x12" + damage.varint(len(tensor) + 2 * count + 2)
        value += b"\x2a" + damage.varint(len(tensor) + 2 * count) + tensor + b"\x10\x01" * count
        made = node("Constant", "c", version=13).SerializeToString()
        made += b"\x2a" + damage.varint(len(value)) + value
        graph = b"\x12" + damage.varint(len(made)) + made
        data = damage.file(b"\x12" + damage.varint(len(graph)) + graph)
        if good:
            cinfer.load(data)
        else:
            with pytest.raises(LOST, match="the dims of a tensor cannot be read"):
                cinfer.load(data)


def split(**attrs: Any) -> Change:
    """A node of a function without types: it has as many outputs as its attribute says."""

    def change(m: pb.Model) -> None:
        made = node("Split", "parts", "a", version=18, **attrs)
        del made.output_type[:]
        in_function(m, made, output="parts:1" if attrs.get("num_outputs") == {"i": 2} else "parts")

    return change


RIGHT: list[Change] = [
    lambda m: m.function.add(domain="mine", name="Pair", version=2),
    lambda m: setattr(call(m, control_input=["c"]), "name", "again"),
    lambda m: absent(
        m,
        node(
            "If",
            "branch",
            "a",
            else_branch={"g": pb.Graph(output=["a"], capture=["a", "b"])},
            then_branch={"g": pb.Graph(output=["a"], capture=["a"])},
        ),
    ),
    lambda m: in_function(
        m, node("Identity", "inner" + LONG, "a", version=1), output="inner" + LONG
    ),
    lambda m: m.graph.node.append(node("Pair", "few", "y", "xw", domain="mine")),
    lambda m: m.function[0].attribute.append(m.function[0].attribute[0]),
    lambda m: m.function[0].attribute.extend(["", "a:0"]),
    split(num_outputs={"i": 2}),
    split(num_outputs={"i": -1}),
    split(num_outputs={"i": 1024}),
    split(num_outputs={"f": 2.0}),
    split(),
    lambda m: constant(m, 22, [2], b"\x11"),
    lambda m: constant(m, 8, [0], b""),
    lambda m: setattr(m.resource[0].iterator, "source", "rows"),
    lambda m: constant(m, 15, [0, 2**62], b""),
    lambda m: constant(m, 14, [1], bytes(8)),
    lambda m: constant(m, 9, [0], b""),
]


@pytest.mark.parametrize("change", RIGHT)
def test_what_is_unusual_and_right_loads(change: Change) -> None:
    made = damage.rich()
    change(made)
    cinfer.load(damage.packed(made))


@pytest.mark.parametrize(
    ("dtype", "data", "late"),
    [(11, bytes(8), True), (8, bytes(8), False), (9, bytes(1), False), (22, bytes(1), False)],
)
def test_a_lazy_load_looks_at_what_it_cannot_wait_with(dtype: int, data: bytes, late: bool) -> None:
    """Text, truth values and packed numbers are checked at once, others when they are used."""
    stored = pb.Tensor(dtype=dtype, dims=[1], nbytes=len(data), crc32c=1, stored=True)  # type: ignore[arg-type]
    damaged = damage.file(pb.Model(tensor=[stored]).SerializeToString(), data)
    with pytest.raises(LOST, match="the checksum of a tensor does not match"):
        cinfer.load(damaged)
    if late:
        cinfer.load(damaged, lazy=True)
    else:
        with pytest.raises(LOST, match="the checksum of a tensor does not match"):
            cinfer.load(damaged, lazy=True)


# ---- operators that are not there ----


def lacking(*names: str, domains: Sequence[str] = ("mine",)) -> str:
    """The message about a model whose signature needs nodes of unregistered operators."""
    made = pb.Model()
    for number, name in enumerate(names):
        domain = domains[number % len(domains)]
        made.graph.node.append(node(name, f"n{number}", domain=domain))
        made.graph.node[-1].name += "x" * (300 if name.startswith("Long") else 0)
    made.signature.add(name="predict", target=[n.name for n in made.graph.node])
    with pytest.raises(errors.UnimplementedError) as raised:
        cinfer.load(damage.file(made.SerializeToString(deterministic=True)))
    return str(raised.value)


def test_operators_that_are_not_there_are_listed_once() -> None:
    assert lacking("A", "B", "A").endswith(
        "mine.A version 1 (node 'n0'), mine.B version 1 (node 'n1')"
    )


def test_the_python_runtime_lists_an_operator_once_with_its_nodes() -> None:
    made = pb.Model()
    for number in range(7):
        made.graph.node.append(node("AB"[number // 6], f"n{number}", domain="mine"))
    made.signature.add(name="predict", target=[n.name for n in made.graph.node])
    with pytest.raises(errors.UnimplementedError) as raised:
        runtime.load(damage.file(made.SerializeToString(deterministic=True)))
    assert raised.value.message.startswith(
        "the model needs operators that are not there: mine A version 1 "
        "('n0', 'n1', 'n2', 'n3' and 2 more), mine B version 1 ('n6'); those of mine are"
    )


def test_operators_of_other_domains_are_others() -> None:
    assert lacking("A", "A", domains=("mine", "yours")).count("(node 'n") == 2
    assert "operators of the model: " + 200 * "d" + ".A" in lacking("A", domains=("d" * 300,))


def test_as_many_are_listed_as_there_is_capacity_for() -> None:
    reported = lacking(*(f"Operator{i}" for i in range(99)))
    listed = reported.count("mine.Operator")
    assert 9 < listed < 30 and reported.endswith(f" and for {99 - listed} more")
    assert lacking("L" * 400, "Long").count("mine.") == 2
    assert lacking("Long" * 100, "A").endswith(": mine.A version 1 (node 'n1') and for 1 more")
    assert "Z" in lacking(*["A"] * 1500, "Z")
