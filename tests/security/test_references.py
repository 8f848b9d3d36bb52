"""Objects that are read again for each reference: files that multiply a little by that."""

from __future__ import annotations

import re
from pathlib import Path

import engines
import numpy as np
import pytest

from graphio import cinfer
from graphio.runtime import registry
from graphio.schema import checkpoint_index, functions, verify
from graphio.schema import model_pb2 as pb
from graphio.schema.checkpoint_pb2 import CheckpointIndex
from graphio.support import errors

TOO_MUCH = "calls of functions stand for more than 64 times the model of"
MANY = 3000


def calling(inner: pb.Node, calls: int, call: pb.Node) -> pb.Model:
    """A model that calls a function of MANY nodes like `inner`."""
    model = pb.Model()
    function = model.function.add(domain="mine", name="f", version=1, attribute=["k"])
    for number in range(MANY):
        function.node.add().CopyFrom(inner)
        function.node[-1].name = f"n{number}"
    for number in range(calls):
        model.graph.node.add().CopyFrom(call)
        model.graph.node[-1].name += f"{number}"
    return model


def a_call(name: str = "call") -> pb.Node:
    return pb.Node(name=name, op="f", domain="mine", version=1)


def plain() -> pb.Node:
    return pb.Node(op="NoOp", domain="graphio", version=1)


def referring() -> pb.Node:
    node = plain()
    node.attr.add(key="k").value.reference = "k"
    return node


def test_bodies_that_a_call_gives_to_many_nodes_are_counted() -> None:
    call = a_call()
    for number in range(MANY):
        call.attr[0].value.g.node.add(name=f"g{number}") if call.attr else call.attr.add(key="k")
    with pytest.raises(errors.ResourceExhaustedError, match=r"unfold to more than 1048576 nodes"):
        functions.inline(calling(referring(), 1, call), registry.known)


def test_lists_that_a_call_gives_to_many_nodes_are_counted() -> None:
    call = a_call()
    call.attr.add(key="k").value.ints.i.extend([1] * 100_000)
    with pytest.raises(errors.ResourceExhaustedError, match=TOO_MUCH):
        functions.inline(calling(referring(), 1, call), registry.known)


@pytest.mark.parametrize("part", ["name", "device", "source"])
def test_a_long_text_of_a_call_is_counted_for_each_node(part: str) -> None:
    call = a_call("n" * 100_000 if part == "name" else "call")
    call.device = "d" * 100_000 * (part == "device")
    call.source.file = "s" * 100_000 * (part == "source")
    with pytest.raises(errors.ResourceExhaustedError, match=TOO_MUCH):
        functions.inline(calling(plain(), 1, call), registry.known)


def test_what_a_call_waits_for_is_counted_for_each_node() -> None:
    call = a_call()
    call.control_input.extend(["w" * 10] * 10_000)
    with pytest.raises(errors.ResourceExhaustedError, match=TOO_MUCH):
        functions.inline(calling(plain(), 1, call), registry.known)


def test_a_function_may_be_called_a_few_times() -> None:
    made = functions.inline(calling(plain(), 4, a_call()), registry.known)
    assert len(made.graph.node) == 4 * MANY


def test_a_long_name_stands_cut_in_each_of_many_problems() -> None:
    node = pb.Node(name="n" * 100_000, op="NoOp", domain="graphio", version=1)
    node.input.extend(f"missing{number}" for number in range(MANY))
    found = verify.problems(pb.Model(graph=pb.Graph(node=[node])))
    assert len(found) >= MANY and max(map(len, found)) < 1000


# ---- checkpoints ----


def saved(folder: Path) -> str:
    state = cinfer.new_state()
    for name in ("a", "b", "c"):
        state.declare(name, 1, (1000,))
        state.set(name, np.ones(1000, np.float32))
    state.save(str(folder / "model-1"), step=1)
    return str(folder / "model-1")


def changed(prefix: str, row: int, offset: int) -> None:
    """Moves a variable within its shard."""
    path = Path(prefix + ".index")
    index = CheckpointIndex.FromString(checkpoint_index.unwrap(path.read_bytes()))
    index.variable[row].offset += offset
    path.write_bytes(checkpoint_index.wrap(index.SerializeToString(deterministic=True)))


@pytest.mark.parametrize(("row", "offset"), [(1, -4000), (2, -8000), (0, 4000)])
def test_neither_engine_takes_variables_that_share_bytes(
    tmp_path: Path, row: int, offset: int
) -> None:
    prefix = saved(tmp_path)
    assert engines is not None
    cinfer.new_state().restore(prefix)
    changed(prefix, row, offset)
    with pytest.raises(errors.DataLossError, match=re.escape("overlap")):
        cinfer.new_state().restore(prefix)
    with pytest.raises(errors.DataLossError, match=re.escape("overlap")):
        checkpoint_index.read_index(prefix)
