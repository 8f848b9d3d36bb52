"""The result of a restore of objects, and its execution in a session."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from google.protobuf.message import DecodeError

from graphio.execution.session import get_default_session
from graphio.schema.tensorflow_pb2 import CheckpointObjectGraph
from graphio.support import errors
from graphio.train.interop.source import Source
from graphio.train.optimizers.optimizer import Optimizer
from graphio.train.tracking.objects import OBJECT_GRAPH, children_of, slots_of, walk
from graphio.variables.variables import Variable

__all__ = ["InitializationOnlyStatus", "LoadStatus", "session_of"]

_SUFFIX = "/.ATTRIBUTES/VARIABLE_VALUE"


def session_of(session: Any, what: str) -> Any:
    """The session given, or the default one.

    Raises:
        RuntimeError: there is none.
    """
    found = get_default_session() if session is None else session
    if found is None:
        raise RuntimeError(f"{what} needs a session: give one, or call it in a session's context")
    return found


class _Status:
    """The methods of all statuses."""

    def __init__(self, root: Any) -> None:
        self._root = root

    def expect_partial(self) -> Any:
        """Accepted: values that are not used are not reported."""
        return self

    def _initialize(self, session: Any, but: set[int]) -> None:
        variables = [v for v in walk(self._root).values.values() if isinstance(v, Variable)]
        chosen = [v.initializer for v in variables if id(v) not in but]
        if chosen:
            session.run(chosen)


class InitializationOnlyStatus(_Status):
    """Of a restore without a path: variables are initialized."""

    def assert_consumed(self) -> Any:
        """Raises AssertionError."""
        raise AssertionError("No checkpoint specified (save_path=None); nothing is being restored.")

    assert_existing_objects_matched = assert_nontrivial_match = assert_consumed

    def run_restore_ops(self, session: Any = None) -> None:
        """Raises AssertionError."""
        self.assert_consumed()

    def initialize_or_restore(self, session: Any = None) -> None:
        """Initializes the variables that the objects lead to.

        Args:
            session: None: the default one.
        """
        self._initialize(session_of(session, "initialize_or_restore"), set())


class LoadStatus(_Status):
    """Of a restore from a path. Each method looks at the objects as they are then, so that those
    that were made after the restore count.

    Args:
        root: the Checkpoint.
        source: of the values. Without a graph of objects, variables go by their names.
    """

    def __init__(self, root: Any, source: Source) -> None:
        super().__init__(root)
        self._source = source
        # TensorFlow's files are shown with short names, and without their graph
        self._keys = {key.removesuffix(_SUFFIX): key for key in source.entries()}
        stored = getattr(source, "object_graph", None)
        if stored is None and OBJECT_GRAPH in source.entries():
            stored = np.asarray(source.array(OBJECT_GRAPH)).item()
        self._graph = None if stored is None else _parsed(stored, source.what)

    # ---- assertions ----

    def assert_consumed(self) -> Any:
        """This status, if every value of the checkpoint and every object has a partner.

        Raises:
            AssertionError: one has none.
        """
        matched = self.assert_existing_objects_matched()._matched()
        if self._graph is None:
            unused = sorted(set(self._keys) - {key.removesuffix(_SUFFIX) for key in matched})
        else:
            numbers = self._numbers()
            unused = [
                (node.attributes[0].checkpoint_key if node.attributes else f"object {number}")
                for number, node in enumerate(self._graph.nodes)
                if number not in numbers
            ]
        if unused:
            raise AssertionError(
                "Unresolved object in checkpoint: no Python object has "
                f"{', '.join(unused[:8])}{' ...' if len(unused) > 8 else ''}"
            )
        return self

    def assert_existing_objects_matched(self) -> Any:
        """This status, if every variable of the objects has a value.

        Raises:
            AssertionError: one has none.
        """
        found = {id(thing) for thing in self._matched().values()}
        missing = [k for k, v in walk(self._root).values.items() if id(v) not in found]
        missing = [key for key in missing if not key.startswith("save_counter/")]
        if missing:
            raise AssertionError(
                "Some Python objects were not bound to checkpointed values, likely due to changes "
                f"in the Python program: {', '.join(missing)}"
            )
        return self

    def assert_nontrivial_match(self) -> Any:
        """This status, if any object besides the root has a value.

        Raises:
            AssertionError: none has.
        """
        if not any(not key.startswith("save_counter/") for key in self._matched()):
            raise AssertionError(
                "Nothing except the root object matched a checkpointed value. Typically this means "
                "that the checkpoint does not match the Python program."
            )
        return self

    # ---- execution ----

    def run_restore_ops(self, session: Any = None) -> None:
        """Gives the objects their values.

        Args:
            session: None: the default one.

        Raises:
            ValueError: a value has another shape or dtype than its variable.
        """
        chosen = session_of(session, "run_restore_ops")
        values = {key: self._value(key) for key in self._matched()}
        for key, thing in self._matched().items():
            if isinstance(thing, Variable):
                _check(key, values[key], thing)
        for key, thing in self._matched().items():
            if isinstance(thing, Variable):
                thing.load(values[key], chosen)
            else:
                thing.deserialize(np.asarray(values[key]).item())

    def initialize_or_restore(self, session: Any = None) -> None:
        """Gives objects their values, and initializes the variables that have none.

        Args:
            session: None: the default one.
        """
        chosen = session_of(session, "initialize_or_restore")
        self._initialize(chosen, {id(thing) for thing in self._matched().values()})
        self.run_restore_ops(chosen)

    def _value(self, key: str) -> Any:
        return self._source.array(self._keys[key.removesuffix(_SUFFIX)])

    # ---- partners ----

    def _matched(self) -> dict[str, Any]:
        """From keys to the objects that get their values."""
        if self._graph is None:
            made = walk(self._root).values.values()
            named = {v.op.name: v for v in made if isinstance(v, Variable)}
            return {name: v for name, v in named.items() if name in self._keys}
        found = {}
        for number, thing in self._numbers().items():
            for attribute in self._graph.nodes[number].attributes:
                if attribute.checkpoint_key.removesuffix(_SUFFIX) in self._keys:
                    found[attribute.checkpoint_key] = thing
        return found

    def _numbers(self) -> dict[int, Any]:
        """The objects by the numbers of their partners in the checkpoint's graph."""
        assert self._graph is not None
        found: dict[int, Any] = {0: self._root}
        waiting = [0]
        for number in waiting:
            children = children_of(found[number])
            for child in self._graph.nodes[number].children:
                if child.local_name in children and child.node_id not in found:
                    found[child.node_id] = children[child.local_name]
                    waiting.append(child.node_id)
        found.update(self._slots(found))
        return found

    def _slots(self, found: dict[int, Any]) -> Iterator[tuple[int, Variable]]:
        assert self._graph is not None
        for number, thing in list(found.items()):
            if isinstance(thing, Optimizer):
                here = {(id(s.variable), s.name): s.value for s in slots_of(thing)}
                for slot in self._graph.nodes[number].slot_variables:
                    original = found.get(slot.original_variable_node_id)
                    value = here.get((id(original), slot.slot_name))
                    if value is not None:
                        yield slot.slot_variable_node_id, value


def _parsed(stored: Any, what: str) -> CheckpointObjectGraph:
    """The graph of objects of a file.

    Raises:
        DataLossError: it is damaged.
    """
    try:
        made = CheckpointObjectGraph.FromString(stored)
    except (DecodeError, TypeError):
        raise errors.DataLossError(message=f"{what}: its graph of objects is damaged") from None
    numbers = [child.node_id for node in made.nodes for child in node.children]
    for node in made.nodes:
        for slot in node.slot_variables:
            numbers += [slot.original_variable_node_id, slot.slot_variable_node_id]
    if not made.nodes or any(not 0 <= number < len(made.nodes) for number in numbers):
        raise errors.DataLossError(
            message=f"{what}: its graph of {len(made.nodes)} objects names one that it lacks"
        )
    return made


def _check(key: str, value: Any, variable: Variable) -> None:
    if value.dtype != variable.dtype.as_numpy_dtype or not variable.shape.is_compatible_with(
        value.shape
    ):
        raise ValueError(
            f"{key} of the checkpoint is {value.dtype}{list(value.shape)}, but variable "
            f"{variable.op.name} is {variable.dtype.name}{variable.shape}"
        )
