"""Refusals of verify and their messages; bodies that are used instead of nodes."""
# ruff: noqa: E501 - the table of bad models has a row a line

from __future__ import annotations

from collections.abc import Callable

import damaged_models
import pytest
from schema_samples import model, node, pair, tensor_type

from graphio.schema import container, functions, verify
from graphio.schema import model_pb2 as pb
from graphio.support import errors

Change = Callable[[pb.Model], object]


def packed() -> pb.Model:
    """The sample as a reader sees it, with its tensors filled in."""
    return container.unpack(container.pack(*model()))[0]


def with_branches() -> pb.Model:
    """An If with a body that captures x and holds a body that captures it further in."""
    made = packed()
    inner = pb.Graph(node=[node("Relu", "deep", "x", version=6)], output=["deep"], capture=["x"])
    then = pb.Graph(output=["both"], capture=["cond", "x"])
    then.node.append(node("If", "both", "cond"))
    for key in ("else_branch", "then_branch"):
        branch = then.node[0].attr.add(key=key).value.g
        branch.CopyFrom(inner)
        branch.node[0].name = branch.output[0] = f"deep_{key}"
    other = pb.Graph(output=["x"], capture=["x"])
    made.graph.node.append(node("Constant", "cond", value={"t": {"dtype": 9, "data": b"\1"}}))
    made.graph.node.append(
        node("If", "if", "cond", else_branch={"g": other}, then_branch={"g": then})
    )
    return made


def with_loop() -> pb.Model:
    """A Loop that carries y."""
    made = packed()
    body = pb.Graph(
        input=[pb.Argument(name=n) for n in ("i", "go", "h")],
        node=[node("Tanh", "h2", "h", version=6)],
        output=["go", "h2"],
    )
    made.graph.node.append(node("Loop", "loop", "", "", "y", body={"g": body}))
    return made


def with_function() -> pb.Model:
    made = packed()
    made.function.append(pair())
    call = node("Pair", "pair", "y", "xw", domain="mine", k={"f": 2.0})
    call.output_type.add()
    made.graph.node.append(call)
    made.graph.node.append(node("Add", "z", "pair", "pair:1", version=7))
    made.graph.node[-1].control_input.append("pair")
    made.signature[0].output.add(key="s", value="pair:1", type=tensor_type(None, 20))
    return made


@pytest.mark.parametrize("make", [packed, with_branches, with_loop, with_function])
def test_good_models_pass(make: Callable[[], pb.Model]) -> None:
    assert verify.problems(make()) == []


def test_a_model_with_everything_passes() -> None:
    made = damaged_models.rich()
    assert verify.problems(made) == []
    made.variable[0].ClearField("shape")
    made.variable[0].ClearField("node")
    assert not any("'w'" in problem for problem in verify.problems(made))


def nodes(m: pb.Model) -> dict[str, pb.Node]:
    return {n.name: n for n in m.graph.node}


def body(m: pb.Model, name: str, key: str) -> pb.Graph:
    (found,) = (a.value.g for a in nodes(m)[name].attr if a.key == key)
    return found


def as_scan(m: pb.Model) -> None:
    """The Loop becomes a Scan, whose body takes another number of values."""
    loop = nodes(m)["loop"]
    loop.op = "Scan"
    loop.attr.add(key="num_scan_inputs", value=pb.AttributeValue(i=1))
    body(m, "loop", "body").input.add(name="more")


BAD: list[tuple[Callable[[], pb.Model], Change, str]] = [
    (packed, lambda m: setattr(m.graph.node[0], "name", ""), "impossible name ''"),
    (packed, lambda m: setattr(m.graph.node[0], "name", "a:1"), "impossible name 'a:1'"),
    (packed, lambda m: m.graph.node.append(m.graph.node[0]), "two nodes or inputs have the name 'x'"),
    (packed, lambda m: m.graph.node[2].input.reverse() or m.graph.node[2].input.append("w"), "3 inputs, expected 2"),
    (packed, lambda m: m.graph.node[2].input.pop(), "MatMul 'xw' (train.py:12) has 1 inputs, expected 2"),
    (packed, lambda m: m.graph.node[2].input.__setitem__(0, ""), "lacks its input 'A'"),
    (packed, lambda m: m.graph.node[2].input.__setitem__(0, "y"), "reads 'y', which nothing before it makes"),
    (packed, lambda m: m.graph.node[2].input.__setitem__(0, "x:1"), "reads 'x:1'"),
    (packed, lambda m: m.graph.node[2].input.__setitem__(0, "x:0"), "reads 'x:0'"),
    (packed, lambda m: m.graph.node[2].input.__setitem__(0, "x:01"), "reads 'x:01'"),
    (packed, lambda m: m.graph.node[2].input.__setitem__(0, "x:-1"), "reads 'x:-1'"),
    (packed, lambda m: m.graph.node[2].control_input.append("y"), "waits for 'y', which is not an earlier node"),
    (packed, lambda m: m.graph.node[2].control_input.append("xw"), "waits for 'xw'"),
    (packed, lambda m: m.graph.node[0].attr.reverse(), "attributes of Placeholder 'x' are not sorted"),
    (packed, lambda m: m.graph.node[0].attr.append(m.graph.node[0].attr[1]), "'shape' is before 'shape'"),
    (packed, lambda m: m.graph.node[0].attr.pop(), "lacks its attribute 'shape'"),
    (packed, lambda m: m.graph.node[0].attr[0].ClearField("value"), "has no value"),
    (packed, lambda m: setattr(m.graph.node[0].attr[0].value, "f", 1), "is of kind f, expected int"),
    (packed, lambda m: setattr(m.graph.node[3].attr[0].value, "tensor", 2), "refers to tensor 2 of 2"),
    (packed, lambda m: setattr(m.graph.node[0].attr[0].value, "reference", "k"), "no attribute of a function"),
    (packed, lambda m: setattr(m.graph.node[0], "version", 0), "has no version"),
    (packed, lambda m: m.graph.node[2].output_type.add(), "has 2 outputs, expected 1"),
    (packed, lambda m: setattr(m.graph.node[2].output_type[0].tensor, "dtype", 77), "unknown element type 77"),
    (packed, lambda m: m.graph.node[2].output_type[0].tensor.shape.dim.extend([pb.Dimension()] * 17), "rank above 16"),
    (packed, lambda m: m.graph.node[2].output_type[0].tensor.shape.dim.add(size=-2), "negative dimension"),
    (packed, lambda m: m.graph.output.append("y"), "root graph has inputs, outputs or captures"),
    (packed, lambda m: m.variable.append(m.variable[0]), "variables are not sorted and unique"),
    (packed, lambda m: m.signature.append(m.signature[0]), "signatures are not sorted"),
    (packed, lambda m: m.metadata.append(m.metadata[0]), "metadata are not sorted"),
    (packed, lambda m: setattr(m.variable[0], "node", "v"), "refers to the node 'v'"),
    (packed, lambda m: setattr(m.variable[0], "snapshot", "v/read"), "refers to 'v/read'"),
    (packed, lambda m: setattr(m.variable[0], "value", 9), "refers to tensor 9 of 2"),
    (packed, lambda m: setattr(m.variable[0], "value", 0), "value of variable 'w' has another dtype or shape"),
    (packed, lambda m: setattr(m.variable[0], "name", "u"), "refers to the variable 'w', which is not there"),
    (packed, lambda m: m.resource.add(name="g"), "resource 'g' has no kind"),
    (packed, lambda m: m.resource.add(name="g\0", blob={}), "resource 'g\\x00' has a zero byte"),
    (packed, lambda m: setattr(m.variable[0], "name", "w\0"), "variable 'w\\x00' has a zero byte"),
    (packed, lambda m: setattr(m.variable[0], "slot_of", "v\0"), "slot_of 'v\\x00' has a zero byte"),
    (packed, lambda m: setattr(m.variable[0], "slot", "\0m"), "slot '\\x00m' has a zero byte"),
    (packed, lambda m: setattr(m.metadata[0], "value", "\0"), "metadata '\\x00' has a zero byte"),
    (packed, lambda m: setattr(m.signature[0], "name", "\0"), "signature '\\x00' has a zero byte"),
    (packed, lambda m: setattr(m.signature[0].output[0], "key", "\0p"), "'\\x00p' has a zero byte"),
    (packed, lambda m: m.graph.node[2].output_type[0].tensor.shape.dim.add(symbol="n\0"), "symbol with a zero byte"),
    (packed, lambda m: m.signature[0].output.append(m.signature[0].output[0]), "outputs of the same name"),
    (packed, lambda m: m.signature[0].input.add(key="again", value="x"), "feeds a value twice"),
    (packed, lambda m: setattr(m.signature[0].output[0], "value", "zz"), "refers to 'zz'"),
    (packed, lambda m: m.signature[0].target.append("zz"), "has a target 'zz'"),
    (packed, lambda m: m.selftest.add(signature="p"), "self-test refers to the signature 'p'"),
    (packed, lambda m: m.selftest.add(signature="predict", input=[5]), "missing tensors"),
    (with_branches, lambda m: body(m, "if", "then_branch").capture.reverse(), "captures of attribute 'then_branch' of If 'if' are not sorted"),
    (with_branches, lambda m: body(m, "if", "then_branch").capture.pop(), "without listing it among the captures"),
    (with_branches, lambda m: body(m, "if", "then_branch").capture.append("z"), "captures 'z', which its surroundings do not have there"),
    (with_branches, lambda m: body(m, "if", "then_branch").output.append("both"), "has 1 outputs, its then_branch gives 2"),
    (with_branches, lambda m: body(m, "if", "then_branch").target.append("x"), "target 'x', which is not a node of it"),
    (with_branches, lambda m: setattr(body(m, "if", "then_branch").node[0], "name", "y"), "two nodes or inputs have the name 'y'"),
    (with_branches, lambda m: body(m, "if", "else_branch").input.add(name="arg"), "has a else_branch with inputs"),
    (with_loop, lambda m: body(m, "loop", "body").input.pop(), "carries 1 values, its body takes 0"),
    (with_loop, lambda m: body(m, "loop", "body").output.pop(), "its body gives 0"),
    (with_loop, lambda m: body(m, "loop", "body").node[0].input.__setitem__(0, "xw"), "without listing it"),
    (with_loop, lambda m: as_scan(m), "has 3 inputs, its body takes 4"),
    (with_loop, lambda m: as_scan(m), "has 1 outputs, its body gives 2"),
    (with_branches, lambda m: setattr(nodes(m)["cond"].attr[0].value.t, "stored", True), "is an inline tensor that claims to be stored"),
    (with_branches, lambda m: nodes(m)["if"].attr.pop(), "lacks its attribute 'then_branch'"),
    (packed, lambda m: setattr(m.variable[0], "dtype", 77), "has the unknown element type 77"),
    (packed, lambda m: setattr(m.variable[0], "dtype", 2), "value of variable 'w' has another dtype or shape"),
    (with_function, lambda m: m.function.append(m.function[0]), "functions are not sorted"),
    (with_function, lambda m: m.function[0].output.append("zz"), "function mine.Pair gives 'zz'"),
    (with_function, lambda m: m.function[0].attribute.pop(), "refers to 'k', no attribute of a function"),
]  # fmt: skip


@pytest.mark.parametrize(("make", "change", "text"), BAD, ids=[text for _, _, text in BAD])
def test_bad_models_are_refused_with_a_reason(
    make: Callable[[], pb.Model], change: Change, text: str
) -> None:
    made = make()
    change(made)
    with pytest.raises(errors.InvalidArgumentError) as raised:
        verify.verify(made)
    assert text in str(raised.value)


def test_all_problems_are_named() -> None:
    made = packed()
    made.graph.node[2].input[0] = "no"
    made.signature[0].target.append("never")
    with pytest.raises(errors.InvalidArgumentError, match=r"2 problem\(s\)"):
        verify.verify(made)


def test_a_problem_that_several_nodes_have_is_named_once() -> None:
    model = pb.Model()
    for _ in range(3):
        model.graph.node.append(node("Relu", "twice", "nowhere"))
    found = verify.problems(model)
    assert found and len(found) == len(set(found))


def test_too_deep_graphs_are_refused() -> None:
    graph = pb.Graph(node=[node("NoOp", "innermost", domain="graphio")])
    for depth in range(17):
        outer = node("Nest", f"n{depth}", domain="mine", body={"g": graph})
        graph = pb.Graph(node=[outer])
    assert any("nested deeper than 16" in p for p in verify.problems(pb.Model(graph=graph)))


# ---- functions ----


def only_standard(domain: str, op: str, version: int) -> bool:
    return domain != "mine"


def test_a_body_takes_the_place_of_its_node() -> None:
    whole = with_function()
    before = whole.SerializeToString(deterministic=True)
    made = functions.inline(whole, only_standard)
    assert whole.SerializeToString(deterministic=True) == before
    assert verify.problems(made) == []
    found = nodes(made)
    assert list(found)[5:] == ["pair/d", "pair/k", "pair/q", "pair/s", "pair", "pair/output_1", "z"]
    assert list(found["pair/d"].input) == ["y", "xw"]
    assert found["pair/k"].attr[0].value.f == 2.0
    assert list(found["z"].input) == ["pair", "pair/output_1"]
    assert made.signature[0].output[1].value == "pair/output_1"
    assert functions.inline(made, only_standard) is made


def test_an_absent_attribute_is_absent_inside() -> None:
    whole = with_function()
    del nodes(whole)["pair"].attr[:]
    assert not nodes(functions.inline(whole, only_standard))["pair/k"].attr


def test_bodies_in_subgraphs_and_of_the_table() -> None:
    made = with_branches()
    branch = body(made, "if", "else_branch")
    branch.node.append(node("ReluGrad", "rg", "x", "x", domain="graphio"))
    branch.output[0] = "rg"
    inlined = functions.inline(made, lambda domain, op, version: op != "ReluGrad")
    assert verify.problems(inlined) == []
    names = [n.name for n in body(inlined, "if", "else_branch").node]
    assert names == ["rg/nought", "rg/cast", "rg/on", "rg/dx", "rg"]


def test_bodies_that_call_themselves_are_refused() -> None:
    made = with_function()
    call = node("Pair", "again", "a", "b", domain="mine")
    call.output_type.add()
    made.function[0].node.insert(0, call)
    with pytest.raises(errors.InvalidArgumentError, match="deeper than 16"):
        functions.inline(made, only_standard)


def test_operators_without_kernel_and_body_are_listed() -> None:
    made = with_branches()
    body(made, "if", "else_branch").node.append(node("Strange", "s", "x", domain="mine"))
    found = functions.unknown_operators(made, only_standard)
    assert [n.name for n in found] == ["s"]
