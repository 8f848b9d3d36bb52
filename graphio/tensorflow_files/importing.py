"""From TensorFlow's nodes to a graph of graphio's: the requested values, and all that they need."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.framework import scopes
from graphio.framework.graph import Operation, Tensor
from graphio.ops.array import surface as array
from graphio.ops.control_flow import branches
from graphio.schema import tensorflow_pb2 as pb
from graphio.support import errors, progress
from graphio.support.problems import Problems
from graphio.tensorflow_files import control, operators
from graphio.tensorflow_files.bodies import (
    Body,
    Node,
    function_body,
    functions_called,
    graph_body,
    in_order,
)
from graphio.tensorflow_files.calls import Call, Handle
from graphio.tensorflow_files.frames import Frames
from graphio.tensorflow_files.missing import DEEPEST
from graphio.tensorflow_files.names import valid_name
from graphio.tensorflow_files.regions import Broken, Region
from graphio.tensorflow_files.values import array_of

__all__ = ["Importer"]

Array = np.ndarray[Any, Any]
_SHOWN = 4  # problems of a function in a message
_MANY = 16  # nodes that a group of nodes waits for

#: Operators that change something: they run where control inputs ask for them.
_EFFECTS = (
    "Assert", "Assign", "AssignAdd", "AssignAddVariableOp", "AssignSub", "AssignSubVariableOp",
    "AssignVariableOp",
)  # fmt: skip
VARIABLES = ("VarHandleOp", "Variable", "VariableV2")
_VIEWS = ("Identity", "IdentityN", "RefIdentity")


class Importer:
    """One import of a GraphDef.

    Args:
        graph: the message.
        source: what messages call it.
        weight: from the name of a constant in the main graph and its value to whether it becomes
            a variable: trainable (True), not trainable (False) or none (None).
        stored: from the name of a variable's node to its value, or None, whether it is trainable,
            and what it is called, or "".
    """

    def __init__(
        self,
        graph: pb.GraphDef,
        source: str,
        weight: Callable[[str, Array], bool | None] = lambda name, value: None,
        stored: Callable[[str], tuple[Array | None, bool, str]] = lambda name: (None, True, ""),
    ) -> None:
        self.problems = Problems(source)
        self.weight, self.stored = weight, stored
        self.variables: dict[str, Any] = {}
        self._shared: dict[str, Any] = {}
        functions = graph.library.function
        self.library = {f.signature.name: f for f in functions if f.signature.name}
        self._bodies: dict[str, Body] = {}
        self._effectful_functions: dict[str, bool] = {}
        self._frames: dict[str, Frames] = {}
        self._waits: dict[str, dict[str, list[str]]] = {}
        self.main = graph_body(graph, self.problems.add)
        self.problems.raise_if_any()
        #: assignments that give variables their first values, by variable
        self.initial: dict[str, Node] = {}
        for node in self.main.nodes.values():
            if node.op in ("Assign", "AssignVariableOp") and len(node.inputs) == 2:
                target = self.main.nodes.get(node.inputs[0][0])
                if target is not None and target.op in VARIABLES:
                    self.initial.setdefault(target.name, node)
                    if node.name == f"{target.name}/Assign":
                        self.initial[target.name] = node
        self._depth = 0
        self._open_frames: set[tuple[str, str]] = set()
        #: how many nodes may still be built: see check
        self.nodes_left = 0
        with self.noting():
            self.region = Region(self.main, self.frames(self.main))

    @contextlib.contextmanager
    def noting(self) -> Iterator[None]:
        """Raises what is noted, and a ValueError inside as one more problem of the graph."""
        try:
            yield
        except ValueError as error:
            if isinstance(error, errors.OpError):
                raise
            self.problems.add(str(error))
        self.problems.raise_if_any()

    # ---- bodies ----

    def body(self, name: str) -> Body:
        """A function. Raises ValueError where there is none, or where it contradicts itself."""
        if name not in self._bodies:
            if name not in self.library:
                raise ValueError(f"calls the function '{name}', which is not in the library")
            wrong: list[str] = []
            self._bodies[name] = function_body(self.library[name], wrong.append)
            if wrong:
                del self._bodies[name]
                raise ValueError("; ".join(wrong[:_SHOWN]))
        return self._bodies[name]

    def frames(self, body: Body) -> Frames:
        """The loops and branches of a body."""
        if body.name not in self._frames:
            self._frames[body.name] = Frames(body)
        return self._frames[body.name]

    @contextlib.contextmanager
    def building(self, frame: str, body: Body) -> Iterator[None]:
        """While a loop is built. Raises ValueError where it is part of itself."""
        key = (body.name, frame)
        if key in self._open_frames:
            raise ValueError(f"the loop '{frame}' needs what comes out of it")
        self._open_frames.add(key)
        try:
            yield
        finally:
            self._open_frames.discard(key)

    # ---- look-ups ----

    def knows(self, node: Node) -> bool:
        """Whether there is a way to build a node."""
        return (
            node.op in operators.ROWS
            or node.op in control.ROWS
            or node.op in self.library
            or node.op in (*VARIABLES, *_VIEWS, "NoOp")
        )

    def called(self, node: Node) -> list[str]:
        """Names of the functions that a node calls."""
        if node.op in self.library:
            return [node.op]
        if node.op not in control.CALLING:
            return []
        return [name for _, name in functions_called(node)]

    # ---- building ----

    def build(self, names: Iterable[str], region: Region | None = None) -> None:
        """Builds nodes of a region and all that they need.

        An error of a node is noted, and its outputs are None.
        """
        region = self.region if region is None else region

        def needs(name: str) -> Sequence[str]:
            node = region.body.nodes[name]
            if region.predicate is not None and region.frames.switches(node, region.predicate):
                return [node.inputs[0][0]]
            found = [k[0] for k in region.frames.needs(node)]
            if node.op in VARIABLES and node.name in self.initial and region.body is self.main:
                if self.stored(node.name)[0] is None:
                    found.append(self.initial[node.name].inputs[1][0])
            return [*found, *self._waits_for(node, region)]

        try:
            with progress.task(
                "import TensorFlow nodes", len(region.body.nodes), "node"
            ) as advance:
                for name in in_order(names, needs, region.__contains__):
                    region.values[name] = self._outputs(region.body.nodes[name], region)
                    advance(1)
        except ValueError as error:
            self.problems.add(str(error))
            raise Broken from None

    def _waits_for(self, node: Node, region: Region) -> list[str]:
        """Nodes with effects that a node's control inputs ask for."""
        nodes, known = region.body.nodes, self._waits.setdefault(region.body.name, {})
        stack = [(node, False)]
        while stack:
            each, ready = stack.pop()
            if ready:
                found: dict[str, None] = {}
                for name in each.controls:
                    if name in nodes and self._has_effect(nodes[name]):
                        found[name] = None
                    elif name in nodes:
                        joined = _is_group(nodes[name], known)
                        found.update(dict.fromkeys([name] if joined else known[name]))
                known[each.name] = list(found)
            elif each.name not in known:
                known[each.name] = []  # for a node that waits for itself
                stack.append((each, True))
                others = (nodes[name] for name in each.controls if name in nodes)
                stack += [(other, False) for other in others if not self._has_effect(other)]
        return known[node.name]

    def _has_effect(self, node: Node) -> bool:
        return node.op in _EFFECTS or any(self._effectful(name) for name in self.called(node))

    def _effectful(self, name: str) -> bool:
        """Whether a function, or one that it calls, has a node with an effect."""
        known = self._effectful_functions
        if name not in known:
            known[name] = False
            if name in self.library:
                nodes = self.body(name).nodes.values()
                known[name] = any(self._has_effect(node) for node in nodes)
        return known[name]

    def _outputs(self, node: Node, region: Region) -> list[Any]:
        """A node's outputs, None for what could not be made."""
        self.nodes_left -= 1
        if self.nodes_left < 0:
            raise errors.ResourceExhaustedError(
                message=f"{self.problems.source}: its loops, branches and functions are built over "
                "and over again; TensorFlow writes no such graph"
            )
        try:
            waits = [
                operation
                for name in self._waits_for(node, region)
                for operation in region.effects.get(name, ())
            ]
            with scopes.control_dependencies(waits) if waits else contextlib.nullcontext():
                made = self._made(node, region)
        except Broken:
            return [None]
        except (
            ValueError, TypeError, LookupError, NotImplementedError, OverflowError, MemoryError
        ) as error:  # fmt: skip
            text = error.message if isinstance(error, errors.OpError) else str(error)
            unknown = isinstance(error, (NotImplementedError, errors.UnimplementedError))
            self.problems.add(
                f"{node.op} '{node.name}'{region.body.title}: {text}", unknown=unknown
            )
            return [None]
        if isinstance(made, Operation):
            region.effects[node.name] = [made]
            return []
        outputs = made if isinstance(made, list) else [made]
        if self._has_effect(node):
            found = [x.op for x in outputs if isinstance(x, Tensor)]
            region.effects.setdefault(node.name, found[:1])
        return outputs

    def _made(self, node: Node, region: Region) -> Any:
        name = valid_name(node.name)
        if node.op in control.ROWS:
            return control.ROWS[node.op](self, node, region)
        values = [region.find(key) for key in node.inputs]
        if any(value is None for value in values):
            raise Broken
        if node.op in self.library:
            return self.call(self.body(node.op), values, name, node, region)
        if node.op == "NoOp":
            return self._group(node, region, name)
        if node.op in VARIABLES:
            return self._variable(node)
        if node.op in _VIEWS:
            return self._passed_on(node, values, name, region)
        if node.op == "Const" and region is self.region:
            return self._constant(node, name)
        return operators.ROWS[node.op](Call(node, values, name))

    def _group(self, node: Node, region: Region, name: str) -> Any:
        """A node that waits for many others is one in the graph, too: see _is_group."""
        self._waits_for(node, region)
        joined = _is_group(node, self._waits[region.body.name])
        return branches.no_op(name or None) if joined else []

    def _passed_on(self, node: Node, values: list[Any], name: str, region: Region) -> Any:
        """Handles of variables and lists of tensors are passed on as they are.

        So are those of variables that are values, where the node waits for nothing: who reads the
        node reads the variable.
        """
        if len(values) == 1 and _is_read(values[0]) and not self._waits_for(node, region):
            return self._alias(values[0], name)
        if all(isinstance(value, Tensor) or _is_read(value) for value in values):
            call = Call(node, values, name)
            row = operators.ROWS["IdentityN" if node.op == "IdentityN" else "Snapshot"]
            return row(call)
        return list(values)

    # ---- variables ----

    def _alias(self, handle: Handle, name: str) -> Handle:
        """The variable under the name of an identity of it; `v/read` is there already."""
        shown = handle.variable.value()
        if name != f"{handle.name}/read":
            shown = array.identity(shown, name=name or None)
        return Handle(handle.name, handle.variable, True, shown)

    def _variable(self, node: Node) -> Handle:
        call = Call(node, [], valid_name(node.name))
        key = node.name
        if node.op == "VarHandleOp":
            key = call.text("shared_name", "") or node.name
        if key not in self._shared:
            made = self._shared[key] = self._new_variable(node, call, key)
            self.variables[made.op.name] = made
        return Handle(key, self._shared[key], node.op != "VarHandleOp")

    def _new_variable(self, node: Node, call: Call, key: str) -> Any:
        import graphio as tf

        value, trainable, label = self.stored(node.name)
        first = self.initial.get(node.name)
        dtype, shape = call.dtype("dtype"), call.shape("shape")
        initial: Any = value
        if value is not None and (
            tf.as_dtype(value.dtype) != dtype or not shape.is_compatible_with(value.shape)
        ):
            raise ValueError(
                f"its value in the checkpoint is {value.dtype}{list(value.shape)}, "
                f"the graph has {dtype.name}{shape}"
            )
        if value is None and first is not None:
            initial = self.region.find(first.inputs[1])
            if initial is None:
                raise Broken
        if initial is None:
            raise ValueError(
                "the variable has no value: it is in no checkpoint and no node initializes it; "
                "read the SavedModel folder, or freeze the graph"
            )
        return tf.Variable(
            initial,
            trainable=trainable,
            name=valid_name(label or key),
            use_resource=node.op == "VarHandleOp",
        )

    def _constant(self, node: Node, name: str) -> Tensor:
        """A constant of the main graph, or the variable that it becomes."""
        import graphio as tf

        array = array_of(Call(node, [], name).attr("value").tensor)
        kind = self.weight(node.name, array)
        if kind is None:
            fixed: Tensor = tf.constant(array, name=name)
            return fixed
        made = tf.Variable(array, trainable=kind, name=name)
        self.variables[made.op.name] = made
        value: Tensor = made.value()
        return value

    # ---- functions ----

    def call(
        self, body: Body, values: Sequence[Any], name: str, node: Node, region: Region
    ) -> list[Any]:
        """The results of a function, whose nodes are written out under a name scope.

        Raises:
            ValueError: the number of arguments differs, or functions call each other too deeply.
            Broken: something in it could not be built.
        """
        with self._deeper(), scopes.name_scope(name or None):
            results, effects = self.inside(body, values)
        region.effects[node.name] = effects
        return results

    def inside(self, body: Body, values: Sequence[Any]) -> tuple[list[Any], list[Operation]]:
        """The results of a function in the current scope, and the operations that must have run."""
        if len(values) != len(body.args):
            raise ValueError(
                f"gives {len(values)} arguments to function '{body.name}', which has "
                f"{len(body.args)}"
            )
        region = Region(body, self.frames(body))
        region.values = {arg: [value] for arg, value in zip(body.args, values, strict=True)}
        last = self.last(body)
        self.build([*(k[0] for k in body.results), *last], region)
        results = [region.find(key) for key in body.results]
        if any(result is None for result in results):
            raise Broken
        return results, [op for name in last for op in region.effects.get(name, ())]

    def last(self, body: Body) -> list[str]:
        """Nodes of a function that change something although nothing reads them."""
        return [name for name in body.finally_ if self._has_effect(body.nodes[name])]

    @contextlib.contextmanager
    def _deeper(self) -> Iterator[None]:
        if self._depth >= DEEPEST:
            raise ValueError(f"functions call each other deeper than {DEEPEST}")
        self._depth += 1
        try:
            yield
        finally:
            self._depth -= 1


def _is_group(node: Node, waits: Mapping[str, Sequence[str]]) -> bool:
    """Whether others wait for a node itself, and not for each that it waits for."""
    return node.op == "NoOp" and len(waits[node.name]) > _MANY


def _is_read(value: Any) -> bool:
    return isinstance(value, Handle) and value.is_read
