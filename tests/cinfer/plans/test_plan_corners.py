"""Rare models whose plans are right: each gives in cinfer what it gives in the Python runtime, also
where a plan was fitted to other shapes (docs/security.md: S6, S7, S9)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import engines
import numpy as np
import pytest
from engines import Builder, tensor_type

from graphio.schema import model_pb2 as pb
from graphio.support import errors

cinfer = engines.module("cinfer")
from graphio.cinfer._native import ffi, lib  # noqa: E402

Array = np.ndarray[Any, Any]
F, H, D, I64, BOOL = np.float32, np.float16, np.float64, np.int64, np.bool_


def whole(*shape: int, dtype: Any = F) -> Array:
    """Small whole numbers, with which any order of computing is exact."""
    return (np.arange(np.prod(shape, dtype=int)) * 7 % 5 - 2).reshape(shape).astype(dtype)


class Plan(Builder):
    """A model whose nodes have one output of a type, and shapes that are known in the run."""

    def add(
        self, name: str, op: str, *inputs: str, dtype: Any = F, version: int = 24, **attrs: Any
    ) -> str:
        domain, _, short = op.rpartition(".")
        version = 1 if domain else version
        self.node(name, short, inputs, [tensor_type(dtype)], attrs, domain=domain, version=version)
        return name

    def fed(self, **shapes: Any) -> None:
        for name, (dtype, *shape) in shapes.items():
            self.placeholder(name, dtype, shape)

    def variable(self, name: str, value: Array, shape: Sequence[int | None] | None = None) -> str:
        """A variable, of a shape that may leave dimensions or all of it open."""
        made = self.model.variable.add(name=name, value=len(self.arrays))
        kind = tensor_type(value.dtype, value.shape if shape is None else shape).tensor
        made.dtype = kind.dtype
        made.shape.CopyFrom(kind.shape)
        self.arrays.append(value)
        return name

    def read(self, name: str, variable: str, dtype: Any = F) -> pb.Node:
        kind = tensor_type(dtype)
        (known,) = (v for v in self.model.variable if v.name == variable)
        kind.tensor.shape.CopyFrom(known.shape)
        attrs = {"dtype": kind.tensor.dtype, "shape": kind, "variable": variable}
        return self.node(name, "ReadVariable", [], [kind], attrs, domain="graphio")

    def assign(self, name: str, variable: str, value: str, dtype: Any = F) -> str:
        return self.add(name, "graphio.Assign", value, dtype=dtype, variable=variable)

    def look(self, *variables: str, dtype: Any = F) -> None:
        """A signature that gives the variables."""
        for name in variables:
            self.read(f"look_{name}", name, dtype)
        self.done("", " ".join(f"look_{name}" for name in variables), name="look")

    def branches(self, name: str, condition: str, yes: pb.Graph, no: pb.Graph, outputs: int) -> str:
        made = self.node(name, "If", [condition], [tensor_type(F)] * outputs, version=21)
        made.attr.add(key="else_branch").value.g.CopyFrom(no)
        made.attr.add(key="then_branch").value.g.CopyFrom(yes)
        return name

    def done(self, inputs: str, outputs: str, targets: str = "", name: str = "run") -> None:
        self.signature(
            {key: key for key in inputs.split()},
            {key.replace(":", "_"): key for key in outputs.split()},
            targets.split(),
            name,
        )


def graph(
    *nodes: pb.Node, inputs: str = "", outputs: str = "", capture: str = "", target: str = ""
) -> pb.Graph:
    made = pb.Graph(
        node=nodes, output=outputs.split(), capture=sorted(capture.split()), target=target.split()
    )
    for name in inputs.split():
        made.input.add(name=name, type=tensor_type(F))
    return made


def node(
    name: str, op: str, *inputs: str, version: int = 24, domain: str = "", **attrs: Any
) -> pb.Node:
    made = pb.Node(name=name, op=op, version=version, domain=domain, input=inputs)
    made.output_type.append(tensor_type(F))
    for key, value in sorted(attrs.items()):
        engines.set_attribute(made, key, value)
    return made


# ---- models that both engines run ----


def weights_of_two_ranks(p: Plan) -> None:
    p.fed(x=(F, None, 4), z=(F, None, 2, 4))
    p.constant("w", whole(4, 3))
    p.constant("zero", np.int64([0]))
    p.add("deep", "Unsqueeze", "w", "zero")
    p.add("a", "MatMul", "x", "w")
    p.add("b", "MatMul", "z", "deep")
    p.done("x z", "a b")


def weights_that_are_computed(p: Plan) -> None:
    p.fed(x=(F, None, 4))
    p.constant("w", whole(4, 3))
    p.add("twice", "Add", "w", "w")
    p.add("y", "MatMul", "x", "twice")
    p.done("x", "y")


def half_weights(p: Plan) -> None:
    p.fed(x=(H, None, 4))
    p.constant("w", whole(4, 3, dtype=H))
    p.add("y", "MatMul", "x", "w", dtype=H)
    p.done("x", "y")


def half_in_place(p: Plan) -> None:
    p.fed(x=(H, None, 2))
    for name in ("scale", "bias", "mean"):
        p.constant(name, whole(2, dtype=H))
    p.constant("variance", np.ones(2, H))
    p.add("n", "Neg", "x", dtype=H)
    moments = ["scale", "bias", "mean", "variance"]
    p.add("y", "BatchNormalization", "n", *moments, dtype=H, version=15, epsilon=0.0)
    p.done("x", "y")


def lists_of_nothing(p: Plan) -> None:
    p.fed(x=(F,))
    p.add("y", "Transpose", "x", perm=[])
    p.done("x", "y")


def strings_without_stopwords(p: Plan) -> None:
    p.constant("words", np.array(["one", "two"], object))
    text = tensor_type(object)
    made = p.node("y", "StringNormalizer", ["words"], [text], version=10)
    made.attr.add(key="stopwords").value.strings.SetInParent()
    p.done("", "y")


def absent_behind_what_is_written_over(p: Plan) -> None:
    p.fed(cache=(F, 1, 3, 2), update=(F, 1, 1, 2))
    p.add("n", "Neg", "cache")
    p.add("y", "TensorScatter", "n", "update", "")
    p.done("cache update", "y")


def carried_twice(p: Plan) -> None:
    p.fed(x=(F, 3))
    p.constant("trips", np.int64(3))
    p.add("n", "Neg", "x")
    body = graph(
        node("go", "Identity", "more"),
        node("sum", "Add", "a", "b"),
        inputs="i more a b",
        outputs="go b sum",
    )
    body.input[0].type.CopyFrom(tensor_type(I64, []))
    body.input[1].type.CopyFrom(tensor_type(BOOL, []))
    made = p.node("l", "Loop", ["trips", "", "n", "n"], [tensor_type(F)] * 2, version=21)
    made.attr.add(key="body").value.g.CopyFrom(body)
    p.done("x", "l l:1")


def momentum(p: Plan, second: str) -> None:
    p.fed(x=(F, None), g=(F, None))
    p.constant("rate", np.float32(0.5))
    p.constant("momentum", np.float32(2))
    p.add("n", "Neg", "x")
    p.add("m", "Neg", "g")
    kinds = [tensor_type(F)] * 2
    inputs = ["n", second, "rate", "g", "momentum"]
    p.node("s", "MomentumStep", inputs, kinds, domain="graphio")
    p.done("x g", "s s:1")


def waits_for_a_call_with_branches(p: Plan) -> None:
    p.fed(x=(F, None), yes=(BOOL,))
    p.variable("v", whole(2))
    call = p.node("call", "Choose", ["x", "yes"], [tensor_type(F)], domain="mine")
    p.read("after", "v").control_input.append(call.name)
    p.done("x yes", "after", "after")
    function = p.model.function.add(domain="mine", name="Choose", version=1)
    function.input.extend(["a", "c"])
    function.output.append("r")
    inner = function.node.add()
    inner.CopyFrom(node("r", "If", "c"))
    negative, twice = node("n", "Neg", "a"), node("d", "Add", "a", "a")
    inner.attr.add(key="else_branch").value.g.CopyFrom(graph(negative, outputs="n", capture="a"))
    inner.attr.add(key="then_branch").value.g.CopyFrom(graph(twice, outputs="d", capture="a"))


def an_open_variable_is_read(p: Plan) -> None:
    p.fed(x=(F, None))
    p.variable("v", whole(3, 2), [None, 2])
    p.read("r", "v")
    p.add("y", "ReduceSum", "r")
    p.add("z", "Add", "x", "y")
    p.done("x", "z r")


def one_variable_becomes_another(p: Plan) -> None:
    p.variable("a", whole(3))
    p.variable("b", whole(3) * 2)
    p.read("old", "b")
    p.assign("to_a", "a", "old")
    p.add("n", "Neg", "old")
    p.assign("to_b", "b", "n")
    p.done("", "", "to_a to_b")
    p.look("a", "b")


def a_double_is_trained(p: Plan) -> None:
    p.fed(x=(D, 3))
    p.variable("v", whole(3, dtype=D))
    p.read("r", "v", dtype=D)
    p.add("n", "Add", "r", "x", dtype=D)
    p.assign("new", "v", "n", dtype=D)
    p.done("x", "", "new")
    p.look("v", dtype=D)


def whole_numbers_are_counted(p: Plan) -> None:
    p.fed(x=(I64, 3))
    p.variable("v", whole(3, dtype=I64))
    p.read("r", "v", dtype=I64)
    p.add("n", "Add", "r", "x", dtype=I64)
    p.assign("new", "v", "n", dtype=I64)
    p.done("x", "", "new")
    p.look("v", dtype=I64)


def assigned_in_a_branch_too(p: Plan) -> None:
    p.fed(x=(F, 3), yes=(BOOL,))
    p.variable("v", whole(3))
    p.read("r", "v")
    negative, same = node("m", "Neg", "x"), node("k", "Identity", "x")
    inner = node("set", "Assign", "m", version=1, domain="graphio", variable="v")
    yes = graph(negative, inner, outputs="set", capture="x")
    p.branches("chosen", "yes", yes, graph(same, outputs="k", capture="x"), 1)
    p.add("n", "Add", "r", "x")
    p.assign("new", "v", "n")
    p.done("x yes", "chosen", "new")
    p.look("v")


def assigned_what_a_loop_gathers(p: Plan) -> None:
    p.fed(x=(F, 2))
    p.variable("v", whole(3, 2))
    p.constant("trips", np.int64(3))
    body = graph(
        node("go", "Identity", "more"),
        node("n", "Add", "a", "a"),
        inputs="i more a",
        outputs="go n n",
    )
    body.input[0].type.CopyFrom(tensor_type(I64, []))
    body.input[1].type.CopyFrom(tensor_type(BOOL, []))
    made = p.node("l", "Loop", ["trips", "", "x"], [tensor_type(F)] * 2, version=21)
    made.attr.add(key="body").value.g.CopyFrom(body)
    p.assign("new", "v", "l:1")
    p.done("x", "l", "new")
    p.look("v")


def a_convolution(p: Plan, *behind: Callable[[Plan], None], outputs: str = "y") -> None:
    """Of eight channels, large enough that the next step may run fused with it."""
    p.fed(x=(F, None, 3, None, None))
    p.constant("w", whole(8, 3, 3, 3))
    p.add("c", "Conv", "x", "w", pads=[1, 1, 1, 1])
    for more in behind:
        more(p)
    p.done("x", outputs)


def pool(name: str, of: str) -> Callable[[Plan], None]:
    sizes = {"kernel_shape": [2, 2], "strides": [2, 2]}
    return lambda p: void(p.add(name, "MaxPool", of, version=22, **sizes))


def depthwise(name: str, of: str, *more: str) -> Callable[[Plan], None]:
    def made(p: Plan) -> None:
        p.constant(f"{name}_w", whole(8, 1, 3, 3))
        p.add(name, "Conv", of, f"{name}_w", *more, version=22, group=8, pads=[1, 1, 1, 1])

    return made


def fused(name: str, of: str, filters: Array, **attrs: Any) -> Callable[[Plan], None]:
    """A convolution with its bias, which is then clamped."""

    def made(p: Plan) -> None:
        p.constant(f"{name}_w", filters)
        p.constant(f"{name}_b", whole(len(filters)))
        inputs = [of, f"{name}_w", f"{name}_b"]
        more = {**attrs, "ops": ["Relu"], "operands": [0]}
        p.node(name, "FusedConv", inputs, [tensor_type(F)], more, domain="graphio")

    return made


def a_pair(p: Plan, *behind: Callable[[Plan], None], output: str = "b") -> None:
    p.fed(x=(F, None, 5, None, None))
    fused("a", "x", whole(96, 5, 1, 1))(p)
    fused("b", "a", whole(96, 1, 3, 3), group=96, pads=[1, 1, 1, 1])(p)
    for more in behind:
        more(p)
    p.done("x", output)


def half_pooled(p: Plan) -> None:
    p.fed(x=(H, None, 3, 34, 66))
    p.constant("w", whole(8, 3, 1, 1, dtype=H))
    p.add("c", "Conv", "x", "w", dtype=H)
    p.add("y", "MaxPool", "c", dtype=H, version=22, kernel_shape=[2, 2], strides=[2, 2])
    p.done("x", "y")


def void(_: object) -> None:
    pass


def filters_of_itself(p: Plan) -> None:
    """The filters are what they filter."""
    p.fed(x=(F, None, 2, 5, 5))
    p.constant("w", whole(2, 2, 1, 1))
    p.add("c", "Conv", "x", "w")
    p.add("y", "Conv", "c", "c")
    p.done("x", "y")


def nothing_behind_a_convolution(p: Plan) -> None:
    p.variable("v", whole(2))
    a_convolution(p, lambda q: void(q.read("r", "v")), lambda q: void(q.assign("a", "v", "r")))
    p.model.signature[0].output.clear()
    p.model.signature[0].output.add(key="y", value="c")
    p.model.signature[0].target.append("a")


X, IMAGE = whole(2), whole(1, 3, 34, 66)
YES, NO = np.array(True), np.array(False)
MODELS: dict[str, tuple[Callable[[Plan], None], list[dict[str, Array]]]] = {
    "weights of two ranks": (
        weights_of_two_ranks,
        [{"x": whole(2, 4), "z": whole(1, 2, 4)}, {"x": whole(3, 4), "z": whole(2, 2, 4)}],
    ),
    "weights that are computed": (weights_that_are_computed, [{"x": whole(2, 4)}]),
    "half weights": (half_weights, [{"x": whole(2, 4, dtype=H)}]),
    "half in place": (half_in_place, [{"x": whole(3, 2, dtype=H)}]),
    "lists of nothing": (lists_of_nothing, [{"x": np.float32(3)}]),
    "strings without stopwords": (strings_without_stopwords, [{}]),
    "absent behind what is written over": (
        absent_behind_what_is_written_over,
        [{"cache": whole(1, 3, 2), "update": whole(1, 1, 2)}],
    ),
    "carried twice": (carried_twice, [{"x": whole(3)}]),
    "a parameter that is its momentum": (
        lambda p: momentum(p, "n"),
        [{"x": whole(3), "g": whole(3)}],
    ),
    "momentum": (lambda p: momentum(p, "m"), [{"x": whole(3), "g": whole(3)}]),
    "waits for a call with branches": (
        waits_for_a_call_with_branches,
        [{"x": X, "yes": YES}, {"x": X, "yes": NO}],
    ),
    "an open variable is read": (an_open_variable_is_read, [{"x": X}]),
    "one variable becomes another": (one_variable_becomes_another, [{}, {}]),
    "a double is trained": (a_double_is_trained, [{"x": whole(3, dtype=D)}] * 2),
    "whole numbers are counted": (whole_numbers_are_counted, [{"x": whole(3, dtype=I64)}] * 2),
    "assigned in a branch, too": (
        assigned_in_a_branch_too,
        [{"x": whole(3), "yes": YES}, {"x": whole(3), "yes": NO}],
    ),
    "assigned what a loop gathers": (assigned_what_a_loop_gathers, [{"x": X}] * 2),
    "pooled": (lambda p: a_convolution(p, pool("y", "c")), [{"x": IMAGE}]),
    "pooled twice": (
        lambda p: a_convolution(p, pool("y", "c"), pool("z", "c"), outputs="y z"),
        [{"x": IMAGE}],
    ),
    "filtered, then pooled": (
        lambda p: a_convolution(p, depthwise("d", "c"), pool("y", "d")),
        [{"x": IMAGE}],
    ),
    "filtered without a bias": (
        lambda p: a_convolution(p, depthwise("y", "c", "")),
        [{"x": IMAGE}],
    ),
    "three in a row": (
        lambda p: a_pair(p, pool("y", "b"), output="y"),
        [{"x": whole(1, 5, 64, 70)}],
    ),
    "filters of itself": (filters_of_itself, [{"x": whole(2, 2, 5, 5)}]),
    "half, pooled": (half_pooled, [{"x": whole(1, 3, 34, 66, dtype=H)}]),
    "nothing behind a convolution": (nothing_behind_a_convolution, [{"x": IMAGE}]),
}


def check(loaded: Any, expected: Any, signature: str, fed: dict[str, Any]) -> None:
    found, other = (model.signature(signature)(**fed) for model in (loaded, expected))
    assert list(found) == list(other)
    for key in found:
        np.testing.assert_array_equal(found[key], other[key])


@pytest.mark.parametrize("name", MODELS)
def test_rare_models_are_planned_as_others_are(name: str) -> None:
    make, feeds = MODELS[name]
    plan = Plan()
    make(plan)
    data = plan.bytes()
    loaded, expected = (engines.module(e).load(data) for e in ("cinfer", "runtime"))
    for fed in feeds:
        check(loaded, expected, "run", fed)
        if len(plan.model.signature) > 1:
            check(loaded, expected, "look", {})


# ---- plans that are fitted to other shapes ----


def stats(loaded: Any) -> Any:
    found = ffi.new("ci_stats *", {"size": ffi.sizeof("ci_stats")})
    lib.ci_session_stats(loaded._handles.session, found)
    return found


def resized(**sizes: Sequence[int]) -> list[dict[str, Array]]:
    """Feeds of as many vectors as each name has sizes."""
    rows = zip(*sizes.values(), strict=True)
    return [{name: whole(n) for name, n in zip(sizes, row, strict=True)} for row in rows]


def any_rank(p: Plan) -> None:
    p.placeholder("x", F, None)
    p.add("y", "Neg", "x")
    p.done("x", "y")


def a_shape_that_is_computed_and_stays(p: Plan) -> None:
    p.fed(x=(F, None))
    p.constant("four", whole(4))
    p.constant("zero", np.int64([0]))
    p.constant("size", np.int64([2, 2]))
    p.add("shape", "Shape", "x", dtype=I64)
    p.add("none", "Mul", "shape", "zero", dtype=I64)
    p.add("square", "Add", "none", "size", dtype=I64)
    p.add("y", "Reshape", "four", "square")
    p.add("z", "Neg", "y")
    p.add("sum", "ReduceSum", "x")
    p.done("x", "z sum")


def written_into_its_variable(p: Plan) -> None:
    p.fed(x=(F, None), z=(F, None))
    p.variable("v", whole(2))
    p.add("other", "Neg", "z")
    p.read("r", "v")
    p.add("n", "Add", "r", "x")
    p.assign("new", "v", "n")
    p.done("x z", "other", "new")
    p.look("v")


def nothing_comes_out(p: Plan) -> None:
    p.fed(x=(F, None))
    p.constant("true", np.array(True))
    p.node("check", "Assert", ["true", "x"], [], {"summarize": 3}, domain="graphio")
    p.add("y", "Neg", "x")
    p.done("x", "y", "check")


def nine_pieces(p: Plan) -> None:
    p.fed(x=(F, None))
    p.node("s", "Split", ["x"], [tensor_type(F)] * 9, {"num_outputs": 9}, version=18)
    p.done("x", "s s:8")


def without_a_lower_bound(p: Plan) -> None:
    p.fed(x=(F, None), z=(F, 3))
    p.constant("most", np.float32(1))
    p.add("y", "Clip", "x", "", "most")
    p.add("c", "Clip", "z", "", "most")
    p.done("x z", "y c")


def much_that_is_known(p: Plan) -> None:
    p.fed(x=(F, None))
    p.constant("one", np.float32([1]))
    p.add("shape", "Shape", "x", dtype=I64)
    for i in range(6):
        p.add(f"e{i}", "Expand", "one", "shape")
        p.add(f"n{i}", "Neg", f"e{i}")
    p.done("x", " ".join(f"n{i}" for i in range(6)))


def enlarged(p: Plan) -> None:
    p.fed(x=(F, 1, 1, None, None))
    p.constant("scales", np.float32([1, 1, 2, 2]))
    p.add("y", "Resize", "x", "", "scales", version=19, mode="linear")
    p.done("x", "y")


def averaged(p: Plan) -> None:
    p.fed(x=(F, 1, 2, None, None))
    more = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "count_include_pad": 0}
    p.add("y", "AveragePool", "x", version=22, **more)
    p.done("x", "y")


def many_steps(p: Plan) -> None:
    p.fed(x=(F, None))
    for i in range(40):
        p.add(f"n{i}", "Neg" if i % 3 else "Abs", f"n{i - 1}" if i else "x")
    p.done("x", "n39")


def an_unread_sequence(p: Plan) -> None:
    several = pb.Type()
    several.sequence.CopyFrom(tensor_type(F, [None]))
    attrs = {"dtype": 1, "shape": several}
    p.node("s", "Placeholder", [], [several], attrs, domain="graphio")
    p.fed(x=(F, None))
    p.add("y", "Neg", "x")
    p.done("s x", "y")


FITTED: dict[str, tuple[Callable[[Plan], None], list[dict[str, Any]], int]] = {
    "any rank": (
        any_rank,
        [
            {"x": whole(*shape)}
            for n in range(1, 7)
            for shape in ([n], [1, n], [n, 1], [n, 1, 2], [2, 1, n], [])
        ],
        8,
    ),
    "a computed shape stays": (
        a_shape_that_is_computed_and_stays,
        resized(x=range(1, 20)),
        8,
    ),
    "written into its variable": (
        written_into_its_variable,
        resized(x=[1] * 12 + [2] * 12, z=range(1, 25)),
        8,
    ),
    "momentum": (lambda p: momentum(p, "m"), resized(x=range(1, 20), g=range(1, 20)), 8),
    "nothing comes out": (nothing_comes_out, resized(x=range(1, 20)), 0),
    "nine pieces": (nine_pieces, resized(x=range(9, 180, 9)), 0),
    "without a lower bound": (without_a_lower_bound, resized(x=range(1, 20), z=[3] * 19), 8),
    "much that is known": (much_that_is_known, resized(x=range(250, 16000, 250)), 8),
    "many steps": (many_steps, resized(x=range(1, 80)), 8),
    "an unread sequence": (
        an_unread_sequence,
        [{"s": [whole(2)], "x": whole(n)} for n in range(1, 20)],
        0,
    ),
    "pooled": (
        lambda p: a_convolution(p, pool("y", "c")),
        [{"x": whole(n, 3, 34, 66)} for n in range(1, 14)],
        4,
    ),
    "filtered": (
        lambda p: a_convolution(p, depthwise("y", "c")),
        [{"x": whole(n, 3, 34, 66)} for n in range(1, 14)],
        4,
    ),
    "pooled, or too small or wide for it": (
        lambda p: a_convolution(p, pool("y", "c")),
        [{"x": whole(1, 3, 34, 66 + n)} for n in range(9)]
        + [{"x": whole(1, 3, *sizes)} for sizes in ((2, 2), (3, 9), (34, 300))],
        2,
    ),
    "enlarged": (enlarged, [{"x": whole(1, 1, n, n)} for n in range(1, 20)], 8),
    "turned": (any_rank, [{"x": whole(n, 60 // n)} for n in range(1, 61) if 60 % n == 0], 2),
    "a pair, or too small for it": (
        a_pair,
        [{"x": whole(1, 5, 64 + n, 70)} for n in range(9)]
        + [{"x": whole(1, 5, *sizes)} for sizes in ((3, 3), (30, 70))],
        0,
    ),
    "averaged": (averaged, [{"x": whole(1, 2, n, n)} for n in range(2, 22)], 8),
}


@pytest.mark.parametrize("name", FITTED)
def test_plans_that_are_fitted_to_other_shapes_are_right(name: str) -> None:
    make, feeds, least = FITTED[name]
    plan = Plan()
    make(plan)
    data = plan.bytes()
    loaded, expected = (engines.module(e).load(data) for e in ("cinfer", "runtime"))
    for fed in feeds:
        check(loaded, expected, "run", fed)
        if len(plan.model.signature) > 1:
            check(loaded, expected, "look", {})
    assert stats(loaded).refits >= least


def test_a_plan_is_not_fitted_when_its_variable_has_another_shape() -> None:
    p = Plan()
    p.fed(x=(F, None), z=(F, None))
    p.variable("v", whole(3), [None])
    p.read("r", "v")
    p.add("y", "Neg", "r")
    p.add("n", "Abs", "x")
    p.done("x", "y n")
    p.assign("new", "v", "z")
    p.done("z", "new", name="set")
    loaded, expected = (engines.module(e).load(p.bytes()) for e in ("cinfer", "runtime"))
    for size in range(1, 60):
        if size % 20 == 0:
            for engine in (loaded, expected):
                engine.signature("set")(z=whole(size))
        one, two = (e.signature("run")(x=whole(size)) for e in (loaded, expected))
        assert one["y"].tolist() == two["y"].tolist() and one["n"].tolist() == two["n"].tolist()
    assert stats(loaded).refits > 8


# ---- bodies that do not run ----


@pytest.mark.parametrize("shape", [[2], [None], None])
def test_an_assign_of_no_variable_matters_where_it_runs(shape: Sequence[int | None] | None) -> None:
    p = Plan()
    p.placeholder("x", F, shape)
    p.fed(yes=(BOOL,))
    inner = node("set", "Assign", "x", version=1, domain="graphio", variable="unknown")
    yes = graph(inner, outputs="set", capture="x")
    no = graph(node("t", "Add", "x", "x"), outputs="t", capture="x")
    p.branches("y", "yes", yes, no, 1)
    p.done("x yes", "y")
    run = cinfer.load(p.bytes()).signature("run")
    assert run(x=X, yes=NO)["y"].tolist() == (X + X).tolist()
    with pytest.raises(errors.NotFoundError, match="the state has no variable 'unknown'"):
        run(x=X, yes=YES)
    assert run(x=X, yes=NO)["y"].tolist() == (X + X).tolist()


# ---- files that crashed ----


@pytest.mark.parametrize("op", ["If", "HostCall"])
def test_a_step_without_outputs_may_stand_behind_a_convolution(op: str) -> None:
    """It reads what the convolution makes, so that the planner looked for its first output."""
    p = Plan()
    a_convolution(p, depthwise("y", "c"), outputs="")
    del p.model.graph.node[-1]
    if op == "If":
        p.branches("last", "c", graph(), graph(), 0)
    else:
        attrs = {"function": "f", "stateful": 1}
        p.node("last", "HostCall", ["c"], [], attrs, domain="graphio")
    p.model.signature[0].target.append("last")
    run = cinfer.load(p.bytes()).signature("run")
    with pytest.raises(errors.OpError, match="'last'"):
        run(x=IMAGE)
