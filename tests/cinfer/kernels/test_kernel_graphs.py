"""S7, S8: bodies and sequences that do not fit their nodes, refused by both engines."""

from __future__ import annotations

from typing import Any

import engines
import numpy as np
import pytest
from engines import BOTH, Builder
from schema_samples import node

from graphio.schema import dtypes
from graphio.schema import model_pb2 as pb
from graphio.support import errors

Array = np.ndarray[Any, Any]
X = np.ones((3, 2), np.float32)
DEEP = np.ones([1] * 16, np.float32)
TRUE, TWO = np.array(True), np.array(2)


GIVES_SEQUENCE = {"SequenceInsert", "SequenceErase", "SplitToSequence"}


def body(inputs: str, outputs: str, *nodes: pb.Node, captures: str = "") -> dict[str, pb.Graph]:
    """A graph as an attribute; names are separated by blanks."""
    made = pb.Graph(node=nodes, output=outputs.split(), capture=captures.split())
    made.input.extend(pb.Argument(name=name) for name in inputs.split())
    return {"g": made}


def many(made: pb.Node, outputs: int) -> pb.Node:
    """The node with so many outputs."""
    del made.output_type[:]
    for _ in range(outputs):
        made.output_type.add()
    return made


def model(nodes: list[pb.Node], fed: dict[str, Array]) -> bytes:
    """A model of placeholders for `fed`, then the nodes; its output is the last one's value."""
    builder = Builder()
    for name, value in fed.items():
        builder.placeholder(name, value.dtype, None)
    builder.model.graph.node.extend(nodes)
    requested = builder.model.graph.node[-1]
    kind = requested.output_type[0]
    (kind.sequence if requested.op in GIVES_SEQUENCE else kind).tensor.dtype = 1
    builder.signature({name: name for name in fed}, {"y": nodes[-1].name})
    return builder.bytes()


def twice(name: str, value: str) -> pb.Node:
    return node("Concat", name, value, value, version=13, axis={"i": 0})


def loop(*inputs: str, of: dict[str, pb.Graph], outputs: int = 1) -> pb.Node:
    return many(node("Loop", "y", *inputs, version=16, body=of), outputs)


def scan(
    *inputs: str, of: dict[str, pb.Graph], outputs: int = 1, cut: int = 1, **more: Any
) -> pb.Node:
    return many(
        node("Scan", "y", *inputs, version=16, body=of, num_scan_inputs={"i": cut}, **more), outputs
    )


def chosen(name: str, value: str) -> pb.Node:
    """All of a vector of integers, of a length that is not known before the run."""
    made = node("Compress", name, value, "all", version=11)
    made.output_type[0].tensor.dtype = dtypes.of_numpy(np.dtype(np.int64)).number
    return made


SAME = body("", "x", captures="x")
CARRY, STACK = body("i go h", "go h"), body("i go h", "go h h")
ALL = {"all": np.array([True, True])}
FLOATS, HALVES = {"x": X, "z": np.ones(2, np.float32)}, {"x": X, "z": np.ones((3, 2), np.float16)}


def if_node(of: dict[str, pb.Graph]) -> pb.Node:
    return node("If", "y", "c", version=16, then_branch=of, else_branch=SAME)


def sequence(*inputs: str) -> pb.Node:
    return node("SequenceConstruct", "s", *inputs, version=11)


def joined(axis: int, fresh: int = 0) -> pb.Node:
    return node("ConcatFromSequence", "y", "s", version=11, axis={"i": axis}, new_axis={"i": fresh})


REFUSED: list[tuple[str, list[pb.Node], dict[str, Array], str]] = [
    (
        "a condition of floats",
        [if_node(SAME)],
        {"x": X, "c": np.float32(1) * X[0, :1]},
        "expected one bool",
    ),
    (
        "two conditions",
        [if_node(SAME)],
        {"x": X, "c": np.array([True, False])},
        "expected one bool",
    ),
    ("a branch with an input", [if_node(body("h", "h"))], {"x": X, "c": TRUE}, "has 1 inputs"),
    (
        "a branch that gives two",
        [if_node(body("", "x x", captures="x"))],
        {"x": X, "c": TRUE},
        "2 outputs",
    ),
    (
        "fewer outputs than values",
        [loop("n", "", "x", "x", of=CARRY)],
        {"n": TWO, "x": X},
        "the body needs",
    ),
    (
        "a body without the value",
        [loop("n", "", "x", of=body("i go", "go"))],
        {"n": TWO, "x": X},
        "the body needs",
    ),
    ("half a trip", [loop("n", "", "x", of=CARRY)], {"n": np.array([0.5]), "x": X}, "trip count"),
    (
        "two trip counts",
        [loop("n", "", "x", of=CARRY)],
        {"n": np.array([1, 2]), "x": X},
        "trip count",
    ),
    (
        "two trip counts that were chosen",
        [chosen("k", "n"), loop("k", "", "x", of=CARRY)],
        {"n": np.array([1, 2]), "x": X, **ALL},
        "trip count",
    ),
    (
        "a loop that goes on by floats",
        [loop("n", "c", "x", of=CARRY)],
        {"n": TWO, "x": X, "c": X[0, :1]},
        "the condition is",
    ),
    (
        "two values of going on",
        [loop("n", "c", "x", of=CARRY)],
        {"n": TWO, "x": X, "c": np.array([True, True])},
        "the condition is",
    ),
    (
        "a stack of the highest rank",
        [loop("n", "", "x", of=STACK, outputs=2)],
        {"n": TWO, "x": DEEP},
        "rank 17",
    ),
    (
        "a stack of what grows",
        [loop("n", "", "x", of=body("i go h", "go t t", twice("t", "h")), outputs=2)],
        {"n": TWO, "x": X},
        "another shape than before",
    ),
    (
        "a scan that stacks the highest rank",
        [scan("x", of=body("h", "z", captures="z"))],
        {"x": X, "z": DEEP},
        "rank 17",
    ),
    ("nothing to cut", [scan("x", of=body("h", "h"), cut=0)], {"x": X}, "num_scan_inputs is 0"),
    (
        "more to cut than there is",
        [scan("x", of=body("h", "h"), cut=2)],
        {"x": X},
        "num_scan_inputs is 2",
    ),
    (
        "a scan without inputs for its carried values",
        [scan("x", "x", "x", of=body("a b c", "a b"), cut=1)],
        {"x": X},
        "are carried",
    ),
    (
        "a scan whose body takes none",
        [scan("x", of=body("", "x", captures="x"))],
        {"x": X},
        "are carried",
    ),
    ("a scan whose body gives two", [scan("x", of=body("h", "h h"))], {"x": X}, "are carried"),
    (
        "steps of two numbers",
        [scan("x", "z", of=body("a b", "a"), cut=2)],
        {"x": X, "z": X[:2]},
        "2 steps, another one 3",
    ),
    (
        "an axis that is not there",
        [scan("x", of=body("h", "h"), scan_input_axes={"ints": {"i": [2]}})],
        {"x": X},
        "axis 2",
    ),
    (
        "an output's axis that is not there",
        [scan("x", of=body("h", "h"), scan_output_axes={"ints": {"i": [3]}})],
        {"x": X},
        "axis 3",
    ),
    (
        "directions of others",
        [scan("x", of=body("h", "h"), scan_input_directions={"ints": {"i": [1, 0]}})],
        {"x": X},
        "scan_input_directions",
    ),
    (
        "axes of others",
        [scan("x", of=body("h", "h"), scan_input_axes={"ints": {"i": [0, 0]}})],
        {"x": X},
        "scan_input_axes",
    ),
    (
        "a direction that is not there",
        [scan("x", of=body("h", "h"), scan_input_directions={"ints": {"i": [2]}})],
        {"x": X},
        "direction",
    ),
    (
        "a scan of sequences",
        [sequence("x"), scan("s", of=body("h", "h"))],
        {"x": X},
        "cannot be cut",
    ),
    ("a sequence of two types", [sequence("x", "z"), joined(0)], HALVES, "float16"),
    (
        "a sequence in a sequence",
        [sequence("x"), node("SequenceInsert", "y", "s", "s", version=11)],
        {"x": X},
        "SequenceInsert",
    ),
    (
        "a tensor as a sequence",
        [node("SequenceAt", "y", "x", "n", version=11)],
        {"x": X, "n": TWO},
        "SequenceAt",
    ),
    (
        "a position beyond the end",
        [sequence("x"), node("SequenceAt", "y", "s", "n", version=11)],
        {"x": X, "n": TWO},
        "SequenceAt",
    ),
    (
        "a position before the beginning",
        [sequence("x"), node("SequenceAt", "y", "s", "n", version=11)],
        {"x": X, "n": np.array(-2)},
        "SequenceAt",
    ),
    (
        "a position of floats",
        [sequence("x"), node("SequenceAt", "y", "s", "n", version=11)],
        {"x": X, "n": X},
        "one integer",
    ),
    (
        "no insertion so far away",
        [sequence("x"), node("SequenceInsert", "y", "s", "x", "n", version=11)],
        {"x": X, "n": TWO},
        "SequenceInsert",
    ),
    (
        "another type in a sequence",
        [sequence("x"), node("SequenceInsert", "y", "s", "z", version=11)],
        HALVES,
        "float16",
    ),
    (
        "nothing to take out",
        [node("SequenceEmpty", "s", version=11), node("SequenceErase", "y", "s", version=11)],
        {"x": X},
        "SequenceErase",
    ),
    (
        "a join of nothing",
        [node("SequenceEmpty", "s", version=11), joined(0)],
        {"x": X},
        "the sequence is empty",
    ),
    ("a join of two ranks", [sequence("x", "z"), joined(0)], FLOATS, "ConcatFromSequence"),
    ("a join along no axis", [sequence("x", "x"), joined(2)], {"x": X}, "axis 2"),
    (
        "a join of two shapes",
        [sequence("x", "z"), joined(1)],
        {"x": X, "z": X[:2]},
        "ConcatFromSequence",
    ),
    (
        "a stack of two shapes",
        [sequence("x", "z"), joined(0, 1)],
        {"x": X, "z": X[:2]},
        "ConcatFromSequence",
    ),
    (
        "a join of the highest rank",
        [sequence("x"), joined(0, 1)],
        {"x": DEEP},
        "ConcatFromSequence",
    ),
    (
        "pieces of -1",
        [node("SplitToSequence", "y", "x", "n", version=11)],
        {"x": X, "n": np.array([-1, 4])},
        "SplitToSequence",
    ),
    (
        "pieces of more than there is",
        [node("SplitToSequence", "y", "x", "n", version=11)],
        {"x": X, "n": np.array([2, 2])},
        "SplitToSequence",
    ),
    (
        "a table of pieces",
        [node("SplitToSequence", "y", "x", "n", version=11)],
        {"x": X, "n": np.array([[3]])},
        "SplitToSequence",
    ),
    (
        "pieces of none",
        [node("SplitToSequence", "y", "x", "n", version=11)],
        {"x": X, "n": np.array(0)},
        "SplitToSequence",
    ),
    (
        "pieces of floats",
        [node("SplitToSequence", "y", "x", "n", version=11)],
        {"x": X, "n": X[0]},
        "integers",
    ),
    (
        "the element of nothing",
        [node("Optional", "o", version=15), node("OptionalGetElement", "y", "o", version=18)],
        {"x": X},
        "OptionalGetElement",
    ),
    (
        "a sum of sequences",
        [sequence("x"), node("Add", "y", "s", "x", version=14)],
        {"x": X},
        "a sequence, expected a tensor",
    ),
    (
        "a sum of nothing",
        [node("Optional", "o", version=15), node("Add", "y", "o", "x", version=14)],
        {"x": X},
        "an empty optional, expected a tensor",
    ),
]


#: graphs that only cinfer refuses
BORNE = {
    "a scan that stacks the highest rank",
    "a stack of the highest rank",
    "a sequence in a sequence",
    "a join of the highest rank",
}


@BOTH
@pytest.mark.parametrize("row", REFUSED, ids=[row[0] for row in REFUSED])
def test_a_body_or_a_sequence_that_does_not_fit_is_refused(row: Any, engine: str) -> None:
    name, nodes, fed, words = row
    data = model(nodes, fed)
    if engine == "runtime" and name in BORNE:
        engines.run(engine, data, list(fed.values()))
        return
    with pytest.raises(errors.InvalidArgumentError) as caught:
        engines.run(engine, data, list(fed.values()))
    assert engine == "runtime" or words in str(caught.value)


@pytest.mark.parametrize("nodes", [[loop("n", "", "x", of=CARRY)], [scan("x", of=body("h", "h"))]])
def test_no_more_steps_are_taken_than_the_session_allows(
    nodes: list[pb.Node], monkeypatch: pytest.MonkeyPatch
) -> None:
    from graphio.cinfer import model as loading

    class Limited:
        """The C library, whose sessions take one step of a loop."""

        def __getattr__(self, name: str) -> Any:
            return getattr(lib, name)

        def ci_session_defaults(self) -> Any:
            options = lib.ci_session_defaults()
            options.limits.max_loop_steps = 1
            return options

    lib = loading.lib
    monkeypatch.setattr(loading, "lib", Limited())
    fed = {"x": X, "n": TWO} if nodes[-1].op == "Loop" else {"x": X}
    with pytest.raises(errors.ResourceExhaustedError) as caught:
        engines.run("cinfer", model(nodes, fed), list(fed.values()))
    assert "limit" in str(caught.value)
