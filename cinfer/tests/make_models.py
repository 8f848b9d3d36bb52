"""Writes models.h: small models for the C tests, as arrays.

python cinfer/tests/make_models.py [--check]
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from graphio.schema import container, dtypes, tensors
from graphio.schema.model_pb2 import Function, Graph, Model, Node, Type

TARGET = Path(__file__).with_name("models.h")
FLOAT, INT64, STRING, BOOL = 1, 7, 8, 9
Value = bool | int | float | str | np.ndarray | Graph | Type | list[int]


def tensor(dtype: int, *dims: int | None) -> Type:
    """The type of a tensor."""
    made = Type()
    made.tensor.dtype = dtype  # type: ignore[assignment]
    made.tensor.shape.SetInParent()
    for size in dims:
        dimension = made.tensor.shape.dim.add()
        if size is not None:
            dimension.size = size
    return made


def add(
    nodes: Graph | Function,
    name: str,
    op: str,
    inputs: Sequence[str] = (),
    outputs: Iterable[Type] = (),
    *,
    version: int = 1,
    after: Sequence[str] = (),
    **attrs: Value,
) -> None:
    """Adds a node; an op of ours is written "graphio.Variable"."""
    domain, _, op = op.rpartition(".")
    node = nodes.node.add(name=name, op=op, domain=domain, version=version, input=inputs)
    node.control_input.extend(after)
    node.output_type.extend(outputs)
    node.source.file, node.source.line, node.source.function = "make.py", len(nodes.node), "build"
    for key in sorted(attrs):
        set_value(node, key, attrs[key])


def set_value(node: Node, key: str, value: Value) -> None:
    """Adds an attribute."""
    slot = node.attr.add(key=key).value
    if isinstance(value, Graph):
        slot.g.CopyFrom(value)
    elif isinstance(value, Type):
        slot.type.CopyFrom(value)
    elif isinstance(value, np.ndarray):
        slot.t.CopyFrom(tensors.from_array(value))
    elif isinstance(value, float):
        slot.f = value
    elif isinstance(value, str):
        slot.s = value.encode()
    elif isinstance(value, list):
        slot.ints.i.extend(value)
    else:
        slot.i = int(value)


def constant(graph: Graph, name: str, value: object) -> None:
    """Adds an inline constant."""
    array = np.asarray(value)
    kind = tensor(dtypes.of_numpy(array.dtype).number, *array.shape)
    add(graph, name, "Constant", (), [kind], value=array)


def stored(graph: Graph, name: str, *dims: int) -> None:
    """Adds the constant that is the first array of the data section."""
    add(graph, name, "Constant", (), [tensor(FLOAT, *dims)])
    graph.node[-1].attr.add(key="value").value.tensor = 0


def placeholder(graph: Graph, name: str, kind: Type) -> None:
    """Adds a placeholder."""
    add(graph, name, "graphio.Placeholder", (), [kind], dtype=kind.tensor.dtype, shape=kind)


def signature(
    model: Model, name: str, inputs: Sequence[str], outputs: Sequence[str], *targets: str
) -> None:
    """Adds a signature whose keys are the values' names."""
    made = model.signature.add(name=name, target=targets)
    for value in inputs:
        made.input.add(key=value, value=value)
    for value in outputs:
        made.output.add(key=value, value=value)


def perceptron() -> bytes:
    """x (n, 4) -> relu(x w + b) (n, 3) -> softmax."""
    model, wide = Model(), tensor(FLOAT, None, 3)
    g = model.graph
    placeholder(g, "x", tensor(FLOAT, None, 4))
    stored(g, "w", 4, 3)
    constant(g, "b", np.array([0.5, -1, 2], np.float32))
    add(g, "product", "MatMul", ["x", "w"], [wide])
    add(g, "sum", "Add", ["product", "b"], [wide], version=7)
    add(g, "relu", "Relu", ["sum"], [wide], version=6)
    add(g, "y", "Softmax", ["relu"], [wide], version=13, axis=-1)
    signature(model, "predict", ["x"], ["y", "relu"])
    return container.pack(model, [np.arange(12, dtype=np.float32).reshape(4, 3) / 8 - 0.5])


def packed_tiles() -> bytes:
    """Weights in packed tiles: x (n, 4) -> x w (n, 32), and w itself."""
    model, wide = Model(), tensor(FLOAT, None, 32)
    g = model.graph
    placeholder(g, "x", tensor(FLOAT, None, 4))
    stored(g, "w", 4, 32)
    add(g, "y", "MatMul", ["x", "w"], [wide])
    add(g, "sum", "Add", ["w", "w"], [tensor(FLOAT, 4, 32)], version=7)
    signature(model, "predict", ["x"], ["y"])
    signature(model, "weights", [], ["w", "sum"])
    return container.pack(model, [np.arange(128, dtype=np.float32).reshape(4, 32) / 8], {0: 1})


def branch(name: str, op: str) -> Graph:
    """A branch of If: op(x, x)."""
    made = Graph(output=[name], capture=["x"])
    add(made, name, op, ["x", "x"], [tensor(FLOAT, None)], version=7)
    return made


def doubling() -> Graph:
    """A body of Loop whose value doubles its length each time, and which gives back its sizes."""
    made = Graph(output=["go", "longer", "size"])
    for name, kind in (
        ("i", tensor(INT64)),
        ("more", tensor(BOOL)),
        ("so_far", tensor(FLOAT, None)),
    ):
        made.input.add(name=name, type=kind)
    add(made, "go", "Identity", ["more"], [tensor(BOOL)])
    add(made, "longer", "Concat", ["so_far", "so_far"], [tensor(FLOAT, None)], version=4, axis=0)
    add(made, "size", "Size", ["longer"], [tensor(INT64)])
    return made


def swapping() -> Graph:
    """A body of Loop: (a, b) becomes (b, a + b)."""
    made = Graph(output=["kept", "b", "both"])
    pair = tensor(FLOAT, 2)
    for name, kind in (("j", tensor(INT64)), ("kept_in", tensor(BOOL)), ("a", pair), ("b", pair)):
        made.input.add(name=name, type=kind)
    add(made, "kept", "Identity", ["kept_in"], [tensor(BOOL)])
    add(made, "both", "Add", ["a", "b"], [pair], version=7)
    return made


def everything() -> bytes:
    """One of each mechanism: control flow, state, random numbers, text, functions, fed shapes."""
    model, line, pair = Model(), tensor(FLOAT, None), tensor(FLOAT, 2)
    g = model.graph
    placeholder(g, "x", line)
    placeholder(g, "yes", tensor(BOOL))
    placeholder(g, "shape", tensor(INT64, None))
    add(
        g,
        "chosen",
        "If",
        ["yes"],
        [line],
        then_branch=branch("twice", "Add"),
        else_branch=branch("square", "Mul"),
    )
    constant(g, "three", np.int64(3))
    add(g, "grown", "Loop", ["three", "", "x"], [line, tensor(INT64, None)], body=doubling())
    constant(g, "one", np.array([1, 1], np.float32))
    constant(g, "zero", np.array([0, 0], np.float32))
    add(g, "fib", "Loop", ["three", "", "zero", "one"], [pair, pair], body=swapping())
    add(g, "table", "Reshape", ["x", "shape"], [tensor(FLOAT, None, None)], version=5)
    add(g, "flat", "Shape", ["x"], [tensor(INT64, 1)])
    add(g, "again", "Reshape", ["table", "flat"], [line], version=5)
    add(g, "tripled", "user.Triple", ["x"], [line], factor=3.0)
    constant(g, "text", np.array([b"ab", b"", b"cde"], dtype=object))
    state(model, pair)
    outputs = ["chosen", "grown", "grown:1", "fib", "fib:1", "table", "again", "tripled", "text"]
    signature(model, "all", ["x", "yes", "shape"], outputs)
    triple = model.function.add(
        domain="user", name="Triple", version=1, input=["v"], output=["r"], attribute=["factor"]
    )
    add(triple, "c", "Constant")
    triple.node[-1].attr.add(key="value_float").value.reference = "factor"
    add(triple, "r", "Mul", ["v", "c"], version=7)
    for table in (model.signature, model.variable, model.resource):
        table.sort(key=lambda entry: entry.name)
    return container.pack(model, [np.array([1, 2], np.float32)])


def state(model: Model, pair: Type) -> None:
    """Adds a variable with a value, one without, a generator, and signatures that use them."""
    g = model.graph
    model.variable.add(name="v", dtype=FLOAT, value=0, shape=pair.tensor.shape)
    model.variable.add(name="free", dtype=FLOAT)
    resource = model.resource.add(name="dice")
    resource.generator.seeded, resource.generator.key = True, 42
    add(g, "v", "graphio.Variable", (), [pair], variable="v", dtype=FLOAT, shape=pair)
    constant(g, "two", np.array([2]))
    add(g, "noise", "graphio.RandomUniform", ["two"], [pair], generator="dice", dtype=FLOAT)
    add(g, "moved", "Add", ["v", "one"], [pair], version=7)
    add(g, "step", "graphio.Assign", ["moved"], [pair], variable="v")
    add(
        g,
        "now",
        "graphio.ReadVariable",
        (),
        [pair],
        variable="v",
        dtype=FLOAT,
        shape=pair,
        after=["step"],
    )
    add(g, "keep", "graphio.Assign", ["x"], [tensor(FLOAT, None)], variable="free")
    add(
        g,
        "free",
        "graphio.ReadVariable",
        (),
        [tensor(FLOAT, None)],
        variable="free",
        dtype=FLOAT,
        after=["keep"],
    )
    constant(g, "third", np.array([2]))
    add(g, "picked", "Gather", ["free", "third"], [tensor(FLOAT, 1)])
    add(g, "alone", "graphio.Variable", (), [tensor(FLOAT, None)], variable="free", dtype=FLOAT)
    signature(model, "step", [], ["v", "now", "noise"], "step")
    signature(model, "keep", ["x"], ["free", "picked"], "keep")
    signature(model, "alone", [], ["alone"])
    signature(model, "read", [], ["alone"])


def sequence_of(kind: Type) -> Type:
    """The type of a sequence."""
    made = Type()
    made.sequence.CopyFrom(kind)
    return made


def optional_of(kind: Type) -> Type:
    """The type of an optional value."""
    made = Type()
    made.optional.CopyFrom(kind)
    return made


def leaf(name: str, op: str, inputs: Sequence[str], kind: Type, **attrs: Value) -> Graph:
    """A branch of If: one node."""
    made = Graph(output=[name], capture=sorted(inputs))
    add(made, name, op, inputs, [kind], version=18, **attrs)
    return made


def trading(kind: Type) -> Graph:
    """A body of Loop: (a, b) becomes (b, a with x at the end)."""
    made = Graph(output=["kept", "b", "more"], capture=["x"])
    for name, one in (("j", tensor(INT64)), ("kept", tensor(BOOL)), ("a", kind), ("b", kind)):
        made.input.add(name=name, type=one)
    add(made, "more", "SequenceInsert", ["a", "x"], [kind], version=11)
    return made


def sequences() -> bytes:
    """Sequences and optional values: fed, made, edited, carried, chosen, folded."""
    model, line = Model(), tensor(FLOAT, None)
    several, perhaps = sequence_of(line), optional_of(line)
    g = model.graph
    for name, kind, dtype in (("s", several, FLOAT), ("o", perhaps, FLOAT), ("x", line, FLOAT)):
        add(g, name, "graphio.Placeholder", (), [kind], dtype=dtype, shape=kind)
    constant(g, "three", np.int64(3))
    constant(g, "zero", np.int64(0))
    constant(g, "one", np.array([1], np.float32))
    add(g, "empty", "SequenceEmpty", (), [several], version=11)
    add(g, "traded", "Loop", ["three", "", "s", "empty"], [several] * 2, body=trading(several))
    add(g, "longer", "SequenceInsert", ["s", "x", "zero"], [several], version=11)
    add(g, "shorter", "SequenceErase", ["longer"], [several], version=11)
    add(g, "first", "SequenceAt", ["longer", "zero"], [line], version=11)
    add(g, "count", "SequenceLength", ["longer"], [tensor(INT64)], version=11)
    add(g, "joined", "ConcatFromSequence", ["longer"], [line], version=11, axis=0)
    add(g, "made", "SequenceConstruct", ["x", "one", "x"], [several], version=11)
    add(g, "fixed", "SequenceConstruct", ["one", "one"], [several], version=11)
    add(g, "cut", "SplitToSequence", ["x"], [several], version=11, axis=0)
    add(g, "has", "OptionalHasElement", ["o"], [tensor(BOOL)], version=18)
    yes, no = leaf("got", "OptionalGetElement", ["o"], line), leaf("had", "Identity", ["x"], line)
    add(g, "chosen", "If", ["has"], [line], then_branch=yes, else_branch=no)
    yes = leaf("none", "Optional", [], optional_of(several), type=several)
    no = leaf("some", "Optional", ["made"], optional_of(several))
    add(g, "maybe", "If", ["has"], [optional_of(several)], then_branch=yes, else_branch=no)
    outputs = ["s", "o", "empty", "traded", "traded:1", "shorter", "first", "count", "joined"]
    outputs += ["made", "fixed", "cut", "has", "chosen", "maybe"]
    signature(model, "all", ["s", "o", "x"], outputs)
    return container.pack(model, [])


def called() -> bytes:
    """Calls of the host's functions: at the root, of known shape, text, in a branch."""
    model, line, text = Model(), tensor(FLOAT, None), tensor(STRING, None)
    g = model.graph
    placeholder(g, "x", line)
    placeholder(g, "yes", tensor(BOOL))
    add(g, "call", "graphio.HostCall", ["x"], [line, tensor(FLOAT), text], function="f", stateful=1)
    add(g, "twice", "Add", ["call", "call:1"], [line], version=7)
    yes = leaf("inner", "graphio.HostCall", ["x"], line, function="g", stateful=1)
    yes.node[0].version = 1
    no = leaf("other", "Identity", ["x"], line)
    add(g, "chosen", "If", ["yes"], [line], then_branch=yes, else_branch=no)
    signature(model, "all", ["x", "yes"], ["call", "call:1", "call:2", "twice", "chosen"])
    return container.pack(model, [])


def found() -> bytes:
    """Results in a plan's own memory: known while planning, and of a shape that is not."""
    model, line = Model(), tensor(FLOAT, None)
    placeholder(model.graph, "x", line)
    add(model.graph, "size", "Shape", ["x"], [tensor(INT64, 1)], version=15)
    add(model.graph, "places", "NonZero", ["x"], [tensor(INT64, 1, None)], version=13)
    signature(model, "all", ["x"], ["size", "places"])
    return container.pack(model, [])


def lent() -> bytes:
    """Outputs in the memory of inputs: strings, numbers; two calls that may begin together."""
    model, line, text = Model(), tensor(FLOAT, None), tensor(STRING, None)
    g = model.graph
    placeholder(g, "t", text)
    placeholder(g, "x", line)
    placeholder(g, "z", line)
    add(g, "kept", "Identity", ["t"], [text])
    add(g, "parts", "StringSplit", ["t"], [tensor(STRING, None, None)], version=20)
    add(g, "several", "SequenceConstruct", ["t", "kept"], [sequence_of(text)], version=11)
    add(g, "twice", "Add", ["x", "x"], [line], version=7)
    add(g, "same", "Identity", ["x"], [line])
    add(g, "other", "Identity", ["z"], [line])
    add(g, "product", "Mul", ["x", "z"], [line], version=7)
    add(g, "places", "NonZero", ["x"], [tensor(INT64, 1, None)], version=13)
    add(g, "table", "Cast", ["places"], [tensor(FLOAT, 1, None)], version=13, to=FLOAT)
    for name in ("f", "g"):
        attrs = {"function": name, "stateful": 1}
        add(g, name, "graphio.HostCall", ["x"], [tensor(FLOAT, 4)], **attrs)
    add(g, "sum", "Add", ["f", "g"], [tensor(FLOAT, 4)], version=7)
    signature(model, "calls", ["x"], ["sum"])
    signature(model, "counted", ["x"], ["table"])
    signature(model, "numbers", ["x", "z"], ["twice", "same", "other", "product"])
    signature(model, "texts", ["t"], ["kept", "parts", "several"])
    return container.pack(model, [])


def hollow() -> bytes:
    """Operators that reckon with the sizes of axes, where there may be no elements."""
    model, matrix, stack = Model(), tensor(FLOAT, None, None), tensor(FLOAT, None, None, None)
    g = model.graph
    placeholder(g, "rows", matrix)
    placeholder(g, "a", stack)
    placeholder(g, "b", stack)
    add(g, "hard", "Hardmax", ["rows"], [matrix], version=13)
    add(g, "wave", "DFT", ["a"], [stack], version=20, inverse=1, onesided=1)
    constant(g, "three", np.ones(3, np.float32))
    add(g, "even", "BatchNormalization", ["a", *["three"] * 4], [stack], version=15)
    add(g, "solved", "graphio.MatrixSolve", ["a", "b"], [stack])
    signature(model, "hardmax", ["rows"], ["hard"])
    signature(model, "normalize", ["a"], ["even"])
    signature(model, "solve", ["a", "b"], ["solved"])
    signature(model, "wave", ["a"], ["wave"])
    return container.pack(model, [])


def own() -> bytes:
    """Custom operators: one with attributes, one whose shape is the value of an input."""
    model, line = Model(), tensor(FLOAT, None)
    g = model.graph
    placeholder(g, "x", line)
    placeholder(g, "n", tensor(INT64))
    add(g, "scaled", "com.example.Scale", ["x"], [line], version=3, by=2.0, axes=[1, 2], how="up")
    add(g, "first", "com.example.First", ["scaled", "n"], [line], version=1)
    add(g, "sum", "Add", ["first", "first"], [line], version=7)
    signature(model, "all", ["x", "n"], ["scaled", "first", "sum"])
    return container.pack(model, [])


def chain() -> bytes:
    """Two custom operators, one after the other."""
    model, line = Model(), tensor(FLOAT, None)
    placeholder(model.graph, "x", line)
    for name, read in (("scaled", "x"), ("again", "scaled")):
        attrs = {"by": 2.0, "axes": [1, 2], "how": "up"}
        add(model.graph, name, "com.example.Scale", [read], [Type()], version=3, **attrs)
    signature(model, "all", ["x"], ["scaled", "again"])
    return container.pack(model, [])


def array(name: str, data: bytes) -> str:
    """A model as a C array."""
    rows = (", ".join(f"{b}" for b in data[i : i + 24]) for i in range(0, len(data), 24))
    body = ",\n  ".join(rows)
    return f"static _Alignas(64) const unsigned char {name}[] = {{\n  {body}}};\n"


def header() -> str:
    """The complete header file."""
    return (
        "/* models.h - models for the tests. Generated by make_models.py: do not edit. */\n"
        "#ifndef CI_TEST_MODELS_H\n#define CI_TEST_MODELS_H\n"
        "/* clang-format off */\n"
        f"{array('model_perceptron', perceptron())}"
        f"{array('model_packed_tiles', packed_tiles())}"
        f"{array('model_everything', everything())}"
        f"{array('model_sequences', sequences())}"
        f"{array('model_called', called())}"
        f"{array('model_found', found())}"
        f"{array('model_lent', lent())}"
        f"{array('model_hollow', hollow())}"
        f"{array('model_own', own())}"
        f"{array('model_chain', chain())}#endif\n"
    )


def main() -> None:
    """Writes the file, or with --check fails if it is not what would be written."""
    if "--check" not in sys.argv[1:]:
        TARGET.write_text(header())
    elif TARGET.read_text() != header():
        sys.exit(f"{TARGET} is stale: run {Path(__file__).name}")


if __name__ == "__main__":
    main()
