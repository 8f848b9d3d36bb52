"""The objects that a root leads to, and their names in a checkpoint, which are TensorFlow's."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from graphio.layers.base import Layer
from graphio.schema.tensorflow_pb2 import CheckpointObjectGraph
from graphio.train.optimizers.optimizer import Optimizer
from graphio.train.tracking.python_state import PythonState
from graphio.variables.variables import Variable

__all__ = ["OBJECT_GRAPH", "Slot", "Walked", "check_tracked", "children_of", "slots_of", "walk"]

#: the key of the graph in a checkpoint
OBJECT_GRAPH = "_CHECKPOINTABLE_OBJECT_GRAPH"
_ATTRIBUTES = "/.ATTRIBUTES/"
#: names of values
_VARIABLE, _STRING = "VARIABLE_VALUE", "py_state"


class Slot(NamedTuple):
    """A slot of an optimizer's."""

    optimizer: Any
    variable: Variable
    name: str
    value: Variable


class Walked(NamedTuple):
    """The objects below a root.

    Attributes:
        graph: the objects as a message.
        values: from keys in the checkpoint to variables and PythonStates.
        objects: by their numbers in graph.
    """

    graph: CheckpointObjectGraph
    values: dict[str, Any]
    objects: list[Any]


def children_of(thing: Any) -> dict[str, Any]:
    """The objects that are saved with one, by the names that lead to them."""
    if isinstance(thing, (Variable, PythonState)):
        return {}
    if hasattr(thing, "_tracked_children"):  # says itself what is saved with it
        found: dict[str, Any] = thing._tracked_children()
        return found
    if isinstance(thing, Optimizer):
        return {v.op.name.rsplit("/", 1)[-1]: v for v in thing._other_variables()}
    if isinstance(thing, Mapping):
        return {str(key): value for key, value in thing.items() if _is_tracked(value)}
    if isinstance(thing, (list, tuple)):
        return {str(n): value for n, value in enumerate(thing) if _is_tracked(value)}
    return {k: v for k, v in vars(thing).items() if not k.startswith("_") and _is_tracked(v)}


def _is_tracked(value: Any) -> bool:
    """Whether a value is saved: it is a variable, leads to one, or may do so later."""
    kinds = (Variable, PythonState, Optimizer, Layer)
    if isinstance(value, kinds) or getattr(value, "_tracks_attributes", False):
        return True
    if isinstance(value, Mapping):
        return any(_is_tracked(one) for one in value.values())
    return isinstance(value, (list, tuple)) and any(_is_tracked(one) for one in value)


def check_tracked(name: str, value: Any) -> None:
    """Raises ValueError for a value that no checkpoint of objects can hold."""
    if not _is_tracked(value) and not isinstance(value, (list, tuple, Mapping)):
        raise ValueError(
            "`Checkpoint` was expecting a trackable object (a variable, an optimizer, a layer, a "
            f"Checkpoint, a PythonState, or a list or dictionary of them), got {value!r} for {name}"
        )


def slots_of(optimizer: Optimizer) -> Iterator[Slot]:
    """The slots of an optimizer, sorted by their names."""
    for (name, variable), value in sorted(
        optimizer._slot_variables.items(), key=lambda item: item[0][0]
    ):
        yield Slot(optimizer, variable, name, value)


def walk(root: Any) -> Walked:
    """The objects, breadth first."""
    objects: list[Any] = [root]
    paths, numbers = [""], {id(root): 0}
    made = Walked(CheckpointObjectGraph(), {}, objects)
    at = 0
    while at < len(objects):
        thing, path = objects[at], paths[at]
        node = made.graph.nodes.add()
        for name, child in children_of(thing).items():
            if id(child) not in numbers:
                numbers[id(child)] = len(objects)
                objects.append(child)
                paths.append(f"{path}/{_escaped(name)}".lstrip("/"))
            node.children.add(node_id=numbers[id(child)], local_name=name)
        _add_value(made, node, thing, path)
        at += 1
    for number, thing in enumerate(list(objects)):
        if isinstance(thing, Optimizer):
            for slot in slots_of(thing):
                _add_slot(made, number, slot, paths, numbers)
    return made


def _add_value(made: Walked, node: Any, thing: Any, path: str) -> None:
    """Gives a node the key of its value."""
    if isinstance(thing, Variable):
        kind, full = _VARIABLE, thing.op.name
    elif isinstance(thing, PythonState):
        kind, full = _STRING, ""
    else:
        return
    key = f"{path}{_ATTRIBUTES}{kind}"
    node.attributes.add(name=kind, full_name=full, checkpoint_key=key)
    made.values[key] = thing


def _add_slot(
    made: Walked, optimizer: int, slot: Slot, paths: list[str], numbers: dict[int, int]
) -> None:
    if id(slot.variable) not in numbers:  # of a variable that is not saved
        return
    original = numbers[id(slot.variable)]
    path = f"{paths[original]}/.OPTIMIZER_SLOT/{paths[optimizer]}/{_escaped(slot.name)}"
    number = numbers.setdefault(id(slot.value), len(made.objects))
    if number == len(made.objects):
        made.objects.append(slot.value)
        paths.append(path)
        _add_value(made, made.graph.nodes.add(), slot.value, path)
    made.graph.nodes[optimizer].slot_variables.add(
        original_variable_node_id=original, slot_name=slot.name, slot_variable_node_id=number
    )


def _escaped(name: str) -> str:
    """A name as a part of a key."""
    return name.replace(".", "..").replace("/", ".S")
