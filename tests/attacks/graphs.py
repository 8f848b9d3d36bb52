"""Models whose graph, tables or tensors break a rule of schema/README.md; their bytes are right."""
# ruff: noqa: E501 - the tables have a row a line

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
from engines import Builder, tensor_type
from schema_samples import node as made_node

from attacks import wire
from attacks.named import Named, add
from attacks.scenes import SCENES
from graphio.schema import container
from graphio.schema.model_pb2 import AttributeValue, Function, Graph, Model, Node, Tensor, Type

Array = np.ndarray[Any, Any]
Change = Callable[[Model], object]


# ---- the sample: y = x + c, and what can be added to it ----


def changed(change: Change, made: Callable[[], Builder] = wire.builder) -> Callable[[], bytes]:
    """A model with right checksums after a change of its message."""

    def file() -> bytes:
        data = made().bytes()
        model = container.unpack(data)[0]
        change(model)
        length = int.from_bytes(data[16:24], "little")
        start = (64 + length + 63) // 64 * 64
        return wire.framed(model.SerializeToString(deterministic=True), data[start:])

    return file


def _node(model: Model, name: str = "y") -> Node:
    return next(node for node in model.graph.node if node.name == name)


def _attribute(model: Model, value: AttributeValue, key: str = "k") -> None:
    _node(model).attr.add(key=key, value=value)


def _append(model: Model, op: str, name: str, *inputs: str, **fields: Any) -> Node:
    model.graph.node.append(made_node(op, name, *inputs, **fields))
    return model.graph.node[-1]


def _two_cycle(model: Model) -> None:
    _append(model, "Add", "a", "b", "x", version=7)
    _append(model, "Add", "b", "a", "x", version=7)


def _backwards(model: Model) -> None:
    nodes = list(model.graph.node)[::-1]
    del model.graph.node[:]
    model.graph.node.extend(nodes)


NODES: dict[str, tuple[str, Change, str]] = {
    "a node without a name": ("missing parts", lambda m: setattr(_node(m), "name", ""), "name|node cannot be read"),
    "a node with a colon in its name": (
        "missing parts", lambda m: _append(m, "Abs", "a:1", "x", version=6), "a:1",
    ),
    "two nodes of one name": (
        "aliasing", lambda m: _append(m, "Abs", "y", "x", version=6), "two nodes .* 'y'",
    ),
    "a node named as what is fed": (
        "aliasing", lambda m: _append(m, "Abs", "x", "c", version=6), "two nodes .* 'x'",
    ),
    "a value that no node makes": (
        "missing parts", lambda m: _node(m).input.__setitem__(0, "zz"), "'zz'",
    ),
    "a node that reads itself": (
        "recursion", lambda m: _node(m).input.__setitem__(0, "y"), "'y'",
    ),
    "two nodes that read each other": ("recursion", _two_cycle, "'b'"),
    "nodes in the wrong order": ("recursion", _backwards, "'(x|c)'"),
    "an output that its node does not have": (
        "indices", lambda m: _node(m).input.__setitem__(0, "x:1"), "'x:1'",
    ),
    "output 2^31 of a node": (
        "indices", lambda m: _node(m).input.__setitem__(0, "x:2147483648"), "'x:2147483648'",
    ),
    "an output of twenty digits": (
        "indices", lambda m: _node(m).input.__setitem__(0, "x:" + "9" * 20), "'x:9+'",
    ),
    "output -1 of a node": ("indices", lambda m: _node(m).input.__setitem__(0, "x:-1"), "'x:-1'"),
    "output 0 by its number": ("indices", lambda m: _node(m).input.__setitem__(0, "x:0"), "'x:0'"),
    "an output with a zero in front": (
        "indices", lambda m: _node(m).input.__setitem__(0, "x:00"), "'x:00'",
    ),
    "a node that waits for itself": (
        "recursion", lambda m: _node(m).control_input.append("y"), "'y'",
    ),
    "a node that waits for a later one": (
        "recursion",
        lambda m: (_append(m, "Abs", "z", "x", version=6), _node(m).control_input.append("z")),
        "'z'",
    ),
    "a node that waits for an output": (
        "missing parts", lambda m: _node(m).control_input.append("x:0"), "'x:0'",
    ),
    "a root graph with an input": ("missing parts", lambda m: m.graph.input.add(name="i"), "root"),
    "a root graph with an output": ("missing parts", lambda m: m.graph.output.append("y"), "root"),
    "a root graph that captures": ("missing parts", lambda m: m.graph.capture.append("y"), "root"),
    "a graph of no nodes": ("missing parts", lambda m: m.graph.ClearField("node"), "'(x|y)'"),
    "no graph at all": ("missing parts", lambda m: m.ClearField("graph"), "'(x|y)'"),
    "an operator that is not registered": (
        "missing parts", lambda m: setattr(_node(m), "op", "Launch"), "Launch",
    ),
    "an operator without a name": ("missing parts", lambda m: setattr(_node(m), "op", ""), "'y'"),
    "an operator of a foreign domain": (
        "missing parts", lambda m: setattr(_node(m), "domain", "os.system"), "os.system",
    ),
    "version 0 of an operator": ("missing parts", lambda m: setattr(_node(m), "version", 0), "'y'"),
    "version 2^31 of an operator": (
        "missing parts", lambda m: setattr(_node(m), "version", 2**31), "'y'",
    ),
    "a version before the operator's first": (
        "missing parts",
        lambda m: (_append(m, "Gelu", "g", "x", version=3), m.signature[0].target.append("g")),
        "Gelu",
    ),
    "an input too few": ("missing parts", lambda m: _node(m).input.pop(), "'y'.* 1 input"),
    "an input too many": ("missing parts", lambda m: _node(m).input.append("x"), "'y'.* 3 input"),
    "no inputs": ("missing parts", lambda m: _node(m).ClearField("input"), "'y'.* 0 input"),
    "100000 inputs": ("counts", lambda m: _node(m).input.extend(["x"] * 100000), "'y'.* input"),
    "an absent input where one is needed": (
        "missing parts", lambda m: _node(m).input.__setitem__(0, ""), "'y'",
    ),
    "an output too many": (
        "missing parts", lambda m: _node(m).output_type.add(), "'y'.* 2 output",
    ),
    "attributes that are not sorted": (
        "missing parts",
        lambda m: (_attribute(m, AttributeValue(i=1), "k"), _attribute(m, AttributeValue(i=1), "a")),
        "sorted and unique.*'(k|a)'",
    ),
    "an attribute twice": (
        "aliasing",
        lambda m: [_attribute(m, AttributeValue(i=1)) for _ in range(2)],
        "sorted and unique.*'k'",
    ),
    "an attribute without a value": (
        "missing parts", lambda m: _attribute(m, AttributeValue()), "'k'",
    ),
    "an attribute of a tensor that is not there": (
        "indices", lambda m: _attribute(m, AttributeValue(tensor=1)), "'k'",
    ),
    "an attribute of tensor 2^32 - 1": (
        "indices", lambda m: _attribute(m, AttributeValue(tensor=2**32 - 1)), "'k'",
    ),
    "an attribute of an inline tensor that claims to be stored": (
        "aliasing", lambda m: _attribute(m, AttributeValue(t=Tensor(dtype=1, stored=True))),
        "stored",
    ),
    "an attribute that refers outside a function": (
        "missing parts", lambda m: _attribute(m, AttributeValue(reference="k")), "'k'",
    ),
    "an attribute that is a type of no element type": (
        "element types", lambda m: _attribute(m, AttributeValue(type=Type(tensor={}))),  # type: ignore[arg-type]
        "element type 0",
    ),
    "a constant without a value": (
        "missing parts", lambda m: _node(m, "c").ClearField("attr"), "'c'",
    ),
    "a constant of two values": (
        "aliasing", lambda m: _node(m, "c").attr.add(key="value_int").value.__setattr__("i", 1),
        "'c'",
    ),
    "an output type of element type 99": (
        "element types", lambda m: setattr(_node(m).output_type[0].tensor, "dtype", 99),
        "element type 99",
    ),
    "an output type of rank 17": (
        "size arithmetic",
        lambda m: _node(m).output_type[0].CopyFrom(tensor_type(np.float32, [1] * 17)), "rank",
    ),
    "an output type of a negative dimension": (
        "size arithmetic",
        lambda m: _node(m).output_type[0].CopyFrom(tensor_type(np.float32, [-5])), "dimension",
    ),
    "an output type of another shape than comes": (
        "size arithmetic",
        lambda m: _node(m).output_type[0].CopyFrom(tensor_type(np.float32, [2**40])), "",
    ),
    "a name that is a format": (
        "missing parts", lambda m: _node(m).input.__setitem__(0, "%n%s%s%s"), "'%n%s%s%s'",
    ),
    "a name that moves the cursor of a terminal": (
        "missing parts", lambda m: _node(m).input.__setitem__(0, "\x1b[2J"), r"\[2J",
    ),
    "a name of a megabyte": (
        "counts", lambda m: _node(m).input.__setitem__(0, "z" * 2**20), "zzzz",
    ),
}  # fmt: skip


# ---- tables next to the graph ----


def _variable(model: Model, name: str = "v", **fields: Any) -> Any:
    made = model.variable.add(name=name, dtype=1, **fields)
    made.shape.CopyFrom(tensor_type(np.float32, (4,)).tensor.shape)
    return made


def _reads_variable(model: Model, **attrs: Any) -> None:
    made = _append(model, "IsInitialized", "r", domain="graphio")
    made.output_type[0].CopyFrom(tensor_type(np.bool_))
    made.attr.add(key="variable", value=AttributeValue(**attrs))
    model.signature[0].output.add(key="r", value="r")


TABLES: dict[str, tuple[str, Change, str]] = {
    "variables that are not sorted": (
        "missing parts", lambda m: (_variable(m, "w"), _variable(m, "v")), "sorted",
    ),
    "a variable twice": ("aliasing", lambda m: (_variable(m), _variable(m)), "sorted and unique"),
    "a variable whose value is not there": (
        "indices", lambda m: _variable(m, value=1), "variable",
    ),
    "a variable whose value has another shape": (
        "element types", lambda m: (_variable(m, value=0), m.variable[0].shape.dim.pop()), "'v'",
    ),
    "a variable whose value has another type": (
        "element types", lambda m: setattr(_variable(m, value=0), "dtype", 11), "'v'",
    ),
    "a variable of element type 99": (
        "element types", lambda m: setattr(_variable(m), "dtype", 99), "variable",
    ),
    "a variable of a negative size": (
        "size arithmetic", lambda m: setattr(_variable(m).shape.dim[0], "size", -4), "dimension",
    ),
    "a variable of rank 17": (
        "size arithmetic",
        lambda m: _variable(m).shape.CopyFrom(tensor_type(np.float32, [1] * 17).tensor.shape),
        "rank",
    ),
    "a node of a variable that is not there": (
        "missing parts", lambda m: _reads_variable(m, s=b"nobody"), "'nobody'",
    ),
    "a node of a variable that is a number": (
        "element types", lambda m: _reads_variable(m, i=5), "variable",
    ),
    "a resource of no kind": ("missing parts", lambda m: m.resource.add(name="r"), "resource"),
    "a resource without a name": (
        "missing parts", lambda m: m.resource.add().generator.SetInParent(), "resource|table",
    ),
    "resources that are not sorted": (
        "missing parts",
        lambda m: [m.resource.add(name=n).generator.SetInParent() for n in "ba"], "sorted",
    ),
    "a signature twice": ("aliasing", lambda m: m.signature.append(m.signature[0]), "sorted"),
    "signatures that are not sorted": ("missing parts", lambda m: m.signature.add(name="a"), "sorted"),
    "a signature that feeds a value twice": (
        "aliasing", lambda m: m.signature[0].input.add(key="again", value="x"), "'run'|signature",
    ),
    "a signature with two inputs of one name": (
        "aliasing", lambda m: m.signature[0].input.add(key="x", value="c"), "'run'|signature",
    ),
    "a signature with two outputs of one name": (
        "aliasing", lambda m: m.signature[0].output.add(key="y", value="c"), "'run'|signature",
    ),
    "a signature with an input of no name": (
        "missing parts", lambda m: setattr(m.signature[0].input[0], "key", ""), "'run'|signature",
    ),
    "a signature whose name has a zero byte": (
        "aliasing", lambda m: setattr(m.signature[0], "name", "run\0"), "zero byte",
    ),
    "an input whose name begins with a zero byte": (
        "aliasing", lambda m: setattr(m.signature[0].input[0], "key", "\0x"), "zero byte",
    ),
    "metadata with a zero byte": (
        "aliasing", lambda m: m.metadata.add(key="a", value="b\0c"), "zero byte",
    ),
    "a symbol with a zero byte": (
        "aliasing",
        lambda m: m.graph.node[0].output_type[0].tensor.shape.dim.add(symbol="\0"),
        "zero byte|type cannot be read",
    ),
    "a signature of a value that is not there": (
        "missing parts", lambda m: setattr(m.signature[0].output[0], "value", "zz"), "'zz'",
    ),
    "a signature that feeds a value that is not there": (
        "missing parts", lambda m: setattr(m.signature[0].input[0], "value", "zz"), "'zz'",
    ),
    "a signature with a target that is not there": (
        "missing parts", lambda m: m.signature[0].target.append("zz"), "'zz'",
    ),
    "a signature of an input of element type 99": (
        "element types",
        lambda m: setattr(m.signature[0].input[0].type.tensor, "dtype", 99), "element type",
    ),
    "collections that are not sorted": (
        "missing parts", lambda m: [m.collection.add(name=n) for n in "ba"], "sorted",
    ),
    "metadata that are not sorted": (
        "missing parts", lambda m: [m.metadata.add(key=n) for n in "ba"], "sorted",
    ),
    "a tensor that is an output and is fed": (
        "aliasing", lambda m: m.signature[0].output.add(key="x", value="x"), "",
    ),
    "a constant that is an output": (
        "aliasing", lambda m: m.signature[0].output.add(key="c", value="c"), "",
    ),
    "one value as ten outputs": (
        "aliasing",
        lambda m: [m.signature[0].output.add(key=f"y{i}", value="y") for i in range(10)], "",
    ),
}  # fmt: skip


#: parts of a model that cinfer does not read
SELF_TESTS: dict[str, tuple[str, Change, str]] = {
    "a self-test of a signature that is not there": (
        "missing parts", lambda m: m.selftest.add(signature="zz"), "'zz'",
    ),
    "a self-test of tensors that are not there": (
        "indices", lambda m: m.selftest.add(signature="run", input=[7]), "self-test",
    ),
}  # fmt: skip


# ---- tensors ----


def _stored(**fields: Any) -> Change:
    """Other fields of the entry of c in the table of tensors."""

    def change(model: Model) -> None:
        for name, value in fields.items():
            if name == "dims":
                model.tensor[0].dims[:] = value
            else:
                setattr(model.tensor[0], name, value)

    return change


def _second(offset: int, nbytes: int) -> Change:
    """A tensor more."""
    return lambda model: model.tensor.add(
        dtype=2, dims=[nbytes], offset=offset, nbytes=nbytes, stored=True
    )


def _inline(dtype: int, dims: list[int], data: bytes) -> Change:
    """An attribute with its tensor in the message; the output is that constant."""

    def change(model: Model) -> None:
        value = AttributeValue(t=Tensor(dtype=dtype, dims=dims, data=data))  # type: ignore[arg-type]
        made = _append(model, "Constant", "t")
        made.attr.add(key="value", value=value)
        made.output_type[0].tensor.dtype = value.t.dtype
        model.signature[0].output.add(key="t", value="t")

    return change


def _strings(*lengths: int, dims: list[int] | None = None) -> Change:
    data = b"".join(n.to_bytes(8, "little") for n in lengths) + b"ab"
    return _inline(8, [len(lengths)] if dims is None else dims, data)


TENSORS: dict[str, tuple[str, Change, str]] = {
    "a tensor of 2^31 x 2^31 elements": ("size arithmetic", _stored(dims=[2**31, 2**31]), "tensor"),
    "a tensor of 2^32 elements": ("size arithmetic", _stored(dims=[2**32]), "tensor"),
    "a tensor whose number of elements wraps to four": (
        "size arithmetic", _stored(dims=[2**62 + 1, 4]), "tensor",
    ),
    "a tensor whose number of bytes wraps to sixteen": (
        "size arithmetic", _stored(dims=[2**62 + 4]), "tensor",
    ),
    "a tensor of eight dimensions of 2^62": ("size arithmetic", _stored(dims=[2**62] * 8), "tensor"),
    "a tensor of -4 elements": ("size arithmetic", _stored(dims=[-4]), "tensor"),
    "a tensor of -2 x -2 elements": ("size arithmetic", _stored(dims=[-2, -2]), "tensor"),
    "a tensor of INT64_MIN elements": ("size arithmetic", _stored(dims=[-(2**63)]), "tensor"),
    "a tensor of rank 17": ("counts", _stored(dims=[4] + [1] * 16), "tensor"),
    "a tensor of fewer elements than bytes": ("counts", _stored(dims=[3]), "tensor"),
    "a tensor of more elements than bytes": ("counts", _stored(dims=[5]), "tensor"),
    "a tensor of no elements with bytes": ("counts", _stored(dims=[0]), "tensor"),
    "a tensor of 2^62 x 0 elements with bytes": (
        "size arithmetic", _stored(dims=[2**62, 2**62, 0]), "tensor",
    ),
    "a tensor of 2^64 - 1 bytes": ("size arithmetic", _stored(nbytes=2**64 - 1), "tensor"),
    "a tensor of 2^63 bytes": ("size arithmetic", _stored(nbytes=2**63), "tensor"),
    "a tensor of a byte less than the data": ("counts", _stored(nbytes=15), "tensor|data section"),
    "a tensor at 2^64 - 64": ("size arithmetic", _stored(offset=2**64 - 64), "tensor"),
    "a tensor off its alignment": ("size arithmetic", _stored(offset=1), "tensor"),
    "a tensor after a gap": ("aliasing", _stored(offset=64), "tensor"),
    "two tensors at one offset": ("aliasing", _second(0, 16), "tensor"),
    "two tensors that overlap by a byte": ("aliasing", _second(15, 1), "tensor"),
    "a tensor beyond the data": ("counts", _second(64, 1), "tensor"),
    "a tensor without bytes where there are none": ("counts", _second(64, 0), "tensor|data section|"),
    "a tensor that is stored and inline": ("aliasing", _stored(data=b"1234"), "tensor"),
    "a tensor of the table that is inline": (
        "aliasing", _stored(stored=False, data=bytes(16)), "tensor",
    ),
    "no tensors and data": ("counts", lambda m: m.ClearField("tensor"), "tensor|data section"),
    "a tensor of element type 0": ("element types", _stored(dtype=0), "tensor|element type"),
    "a tensor of element type 27": ("element types", _stored(dtype=27), "tensor|element type"),
    "a tensor of element type -1": ("element types", _stored(dtype=-1), "tensor|element type"),
    "a float32 tensor that says float64": ("element types", _stored(dtype=11), "tensor"),
    "a float32 tensor that says int8": ("element types", _stored(dtype=3), "tensor"),
    "a float32 tensor that says int32": ("element types", _stored(dtype=6), "Add 'y'"),
    "a float32 tensor that says text": ("element types", _stored(dtype=8), "tensor"),
    "a float32 tensor that says bool": ("element types", _stored(dtype=9), "bool|tensor"),
    "a float32 tensor that says int4": ("element types", _stored(dtype=22), "tensor"),
    "a bool that is 2": ("element types", _inline(9, [1], b"\2"), "bool"),
    "a bool that is 255": ("element types", _inline(9, [2], b"\0\xff"), "bool"),
    "an int4 tensor with bits left over": ("element types", _inline(22, [1], b"\x12"), "packed|bits"),
    "an int4 tensor of a byte too many": ("counts", _inline(22, [1], b"\1\0"), "packed|bytes"),
    "a uint2 tensor of 2^63 elements": (
        "size arithmetic", _inline(25, [2**62, 2], b""), "tensor|shape",
    ),
    "a string longer than its bytes": ("counts", _strings(3), "string|text"),
    "a string of 2^64 - 1 bytes": ("size arithmetic", _strings(2**64 - 1), "string|text"),
    "strings whose lengths wrap to what is there": (
        "size arithmetic", _strings(2**64 - 1, 3), "string|text",
    ),
    "strings with bytes left over": ("counts", _strings(1), "string|text"),
    "2^61 strings": ("size arithmetic", _strings(2, dims=[2**61]), "string|shape"),
    "2^61 + 1 strings, whose lengths take 8 bytes": (
        "size arithmetic", _strings(2, dims=[2**61 + 1]), "string|shape",
    ),
    "a string of two bytes": ("counts", _strings(2), ""),
    "numbers that are NaN, infinite and denormal": (
        "element types",
        _inline(1, [4], np.array([np.nan, np.inf, -np.inf, 1e-45], "<f4").tobytes()), "",
    ),
    "a tensor of 2^40 x 0 elements": ("size arithmetic", _inline(1, [2**40, 0], b""), ""),
    "a scalar with the bytes of two": ("element types", _inline(1, [], bytes(8)), "tensor"),
    "a complex number of half its bytes": ("element types", _inline(14, [1], bytes(4)), "tensor"),
}  # fmt: skip


# ---- bodies and functions ----


def _body(key: str = "body") -> Callable[[Model], Graph]:
    return lambda model: next(a.value.g for a in _node(model, "node").attr if a.key == key)


def _inside(change: Callable[[Graph], object], key: str = "body") -> Change:
    return lambda model: change(_body(key)(model))


def _without(key: str) -> Change:
    def change(model: Model) -> None:
        kept = [a for a in _node(model, "node").attr if a.key != key]
        del _node(model, "node").attr[:]
        _node(model, "node").attr.extend(kept)

    return change


def _nested(depth: int) -> Change:
    """The If again and again in its own branch, under other names."""

    def change(model: Model) -> None:
        inner = copy.deepcopy(_node(model, "node"))
        for level in range(depth):
            inner.name = f"level{level}"
            outer = copy.deepcopy(_node(model, "node"))
            outer.attr[0].value.g.node[0].name = f"else{level}"
            outer.attr[0].value.g.output[0] = f"else{level}"
            outer.attr[1].value.g.CopyFrom(Graph(node=[inner], output=[inner.name]))
            outer.attr[1].value.g.capture.extend(["cond", "x"])
            inner = outer
        inner.name = "node"
        _node(model, "node").CopyFrom(inner)

    return change


IF, LOOP, SCAN = (
    "an if whose branches read x", "a loop that carries x and stacks it",
    "a scan over the rows of x with a sum",
)  # fmt: skip


def _capture_twice(graph: Graph) -> None:
    graph.capture.append("x")


def _body_is_condition(graph: Graph) -> None:
    """Makes the value that the body carries its condition, too."""
    graph.output[0] = "next"


BODIES: dict[str, tuple[str, str, Change, str]] = {
    "an If without its else": ("missing parts", IF, _without("else_branch"), "else_branch"),
    "an If whose branch is a number": (
        "element types", IF,
        lambda m: _node(m, "node").attr[0].value.__setattr__("i", 1), "else_branch|branch",
    ),
    "a branch that takes an input": (
        "missing parts", IF, _inside(lambda g: g.input.add(name="i"), "then_branch"), "then_branch",
    ),
    "a branch that gives nothing": (
        "missing parts", IF, _inside(lambda g: g.ClearField("output"), "then_branch"),
        "then_branch",
    ),
    "a branch that gives a value that no node makes": (
        "missing parts", IF, _inside(lambda g: g.output.__setitem__(0, "zz"), "then_branch"),
        "'zz'",
    ),
    "a branch that reads what it does not list": (
        "missing parts", IF, _inside(lambda g: g.ClearField("capture"), "then_branch"), "'x'",
    ),
    "a branch that captures a value twice": (
        "aliasing", IF, _inside(_capture_twice, "then_branch"), "'x'",
    ),
    "a branch that captures nothing by name": (
        "missing parts", IF, _inside(lambda g: g.capture.insert(0, ""), "then_branch"), "captures?",
    ),
    "a branch that captures what comes later": (
        "recursion", IF, _inside(lambda g: g.capture.__setitem__(0, "node"), "then_branch"),
        "'node'",
    ),
    "a branch that reads the If itself": (
        "recursion", IF,
        _inside(lambda g: g.node[0].input.__setitem__(0, "node"), "then_branch"), "'node'",
    ),
    "a branch with a node of the other's name": (
        "aliasing", IF,
        _inside(lambda g: (setattr(g.node[0], "name", "else_branch"),
                           g.output.__setitem__(0, "else_branch")), "then_branch"),
        "'else_branch'",
    ),
    "a branch with a target that is not there": (
        "missing parts", IF, _inside(lambda g: g.target.append("zz"), "then_branch"), "'zz'",
    ),
    "an If in an If, 17 deep": ("recursion", IF, _nested(17), "nested deeper"),
    "an If in an If, 5 deep": ("recursion", IF, _nested(5), ""),
    "a Loop without a body": ("missing parts", LOOP, _without("body"), "body"),
    "a Loop whose body takes too little": (
        "missing parts", LOOP, _inside(lambda g: g.input.pop()), "body|'h'",
    ),
    "a Loop whose body takes too much": (
        "missing parts", LOOP, _inside(lambda g: g.input.add(name="more")), "body",
    ),
    "a Loop whose body gives no condition": (
        "missing parts", LOOP, _inside(lambda g: g.ClearField("output")), "body",
    ),
    "a Loop whose body gives a value as its condition": (
        "element types", LOOP, _inside(_body_is_condition), "condition",
    ),
    "a Loop that carries more than it has": (
        "missing parts", LOOP, lambda m: _node(m, "node").input.append("x"), "body|carries",
    ),
    "a Scan whose body takes too little": (
        "missing parts", SCAN, _inside(lambda g: g.input.pop()), "body|'row'",
    ),
    "a Scan of -1 scan inputs": (
        "counts", SCAN, lambda m: setattr(_node(m, "node").attr[1].value, "i", -1),
        "num_scan_inputs",
    ),
    "a Scan of 2^63 - 1 scan inputs": (
        "counts", SCAN, lambda m: setattr(_node(m, "node").attr[1].value, "i", 2**63 - 1),
        "num_scan_inputs",
    ),
    "a Scan of no scan inputs": (
        "counts", SCAN, lambda m: setattr(_node(m, "node").attr[1].value, "i", 0),
        "num_scan_inputs",
    ),
}  # fmt: skip


def _call(model: Model, op: str) -> None:
    made = _append(model, op, "call", "x", domain="mine")
    made.output_type[0].CopyFrom(tensor_type(np.float32))
    model.signature[0].output.add(key="z", value="call")


def _function(name: str, *nodes: Node) -> Function:
    made = Function(domain="mine", name=name, version=1, input=["a"], output=["b"])
    made.node.extend(nodes)
    return made


def _functions(*functions: Function) -> Change:
    """A node calls the first of them."""

    def change(model: Model) -> None:
        model.function.extend(functions)
        _call(model, functions[0].name)

    return change


def _bomb(levels: int, each: int) -> list[Function]:
    """Functions of which each calls the next some times."""
    made = []
    for level in range(levels):
        op, domain = (f"F{level + 1:02}", "mine") if level < levels - 1 else ("Abs", "")
        version = 1 if domain else 6
        names = ["a", *(f"n{i}" for i in range(each - 1)), "b"]
        pairs = zip(names, names[1:], strict=False)
        nodes = [made_node(op, new, old, domain=domain, version=version) for old, new in pairs]
        made.append(_function(f"F{level:02}", *nodes))
    return made


ABS = made_node("Abs", "b", "a", version=6)
FUNCTIONS: dict[str, tuple[str, Change, str]] = {
    "a function that calls itself": (
        "recursion", _functions(_function("F", made_node("F", "b", "a", domain="mine"))),
        "deep|call",
    ),
    "two functions that call each other": (
        "recursion",
        _functions(_function("F", made_node("G", "b", "a", domain="mine")),
                   _function("G", made_node("F", "b", "a", domain="mine"))),
        "deep|call",
    ),
    "functions that unfold to 10^8 nodes": (
        "resource exhaustion", _functions(*_bomb(4, 101)), "nodes|deep|bytes",
    ),
    "functions that unfold to 216 nodes": (
        "resource exhaustion", _functions(*_bomb(3, 6)), "",
    ),
    "functions that are not sorted": (
        "missing parts", _functions(_function("G", ABS), _function("F", ABS)), "sorted",
    ),
    "a function twice": (
        "aliasing", _functions(_function("F", ABS), _function("F", ABS)), "sorted",
    ),
    "a function that gives a value that no node makes": (
        "missing parts", _functions(_function("F", made_node("Abs", "z", "a", version=6))), "'b'",
    ),
    "a function that reads a value that no node makes": (
        "missing parts", _functions(_function("F", made_node("Abs", "b", "zz", version=6))), "'zz'",
    ),
    "a function that reads the graph around its call": (
        "missing parts", _functions(_function("F", made_node("Abs", "b", "x", version=6))), "'x'",
    ),
    "a function whose attribute refers to itself": (
        "recursion",
        _functions(_function("F", made_node("Gelu", "b", "a", version=20,
                                            approximate={"reference": "approximate"}))),
        "'approximate'",
    ),
    "a function that is called with more than it takes": (
        "counts",
        lambda m: (_functions(_function("F", ABS))(m), _node(m, "call").input.append("x")),
        "'call'",
    ),
}  # fmt: skip

for _name, (_section, _change, _words) in {**NODES, **TABLES, **TENSORS, **FUNCTIONS}.items():
    add(Named(_section, _name, changed(_change), wire.FEEDS, _words))
for _name, (_section, _change, _words) in SELF_TESTS.items():
    add(Named(_section, _name, changed(_change), wire.FEEDS, _words, ("runtime",)))
for _name, (_section, _scene, _change, _words) in BODIES.items():
    _feeds = SCENES[_scene]()[1]
    _file = changed(_change, lambda scene=_scene: SCENES[scene]()[0])  # type: ignore[misc]
    add(Named(_section, _name, _file, _feeds, _words))
