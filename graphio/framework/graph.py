"""Graph: operations, names and collections of what a program builds.

A graph only grows. Operations are in order of creation, which is the order in which a run
behaves as if it executed them. Tensors compare by identity.
"""

from __future__ import annotations

import contextlib
import operator
import re
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from graphio.engine.pickling import Unpicklable
from graphio.framework import devices, registered, scopes, source
from graphio.framework.dtypes import DType
from graphio.framework.operation import Operation
from graphio.framework.tensor import InaccessibleTensorError, Tensor, check_shape, refuse_dtype
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.undo import Journal, Table
from graphio.schema import operators
from graphio.schema.seeds import mix_seeds
from graphio.schema.verify_graph import MAX_DEPTH
from graphio.support import errors

__all__ = ["Graph", "Operation", "Tensor"]

_VALID_NAME = re.compile(r"^[A-Za-z0-9.][A-Za-z0-9_.\\/>-]*$")
_VALID_SCOPE = re.compile(r"^[A-Za-z0-9_.\\/>-]*$")

#: operators that read nothing of a tensor but its shape
#: how many operations str() shows, the last ones
_SHOWN = 200
_MEASURES = ("Shape", "Size")
_TENSOR_NAMES = 'Tensor names must be of the form "<op_name>:<output_index>".'


class _Awaited:
    """The operations that those made in a context wait for, and those that were made in it."""

    __slots__ = ("inside", "operations")

    def __init__(self, operations: Sequence[Operation]) -> None:
        self.operations = operations
        self.inside: set[Operation] = set()


class _Place(threading.local):
    """Where a thread builds.

    Attributes:
        scope: the name scope, with a "/" at its end.
        control: what new operations wait for, a group for each open context.
        waits: whether a control dependency is open, also on what is outside.
        applying: TensorFlow's type of assignments while an optimizer makes them.
        devices: names and functions of the open device scopes.
        colocated: operations on whose device new ones are placed.
    """

    scope = ""
    control: tuple[_Awaited, ...] = ()
    waits = False
    applying: str | None = None
    devices: tuple[Any, ...] = ()
    colocated: tuple[Operation, ...] = ()


class Graph(Unpicklable):
    """Operations in order of creation, with the names, collections and seed of a model.

    Args:
        outer: the enclosing graph, when this is the body of an If or a Loop.

    Raises:
        ValueError: it is in more bodies than a model may have around one.
    """

    _building_function = False  # programs that build graphs of functions set it
    pickling_hint = (
        "send graph.as_graph_def(), which tf.import_graph_def takes, or the function that builds it"
    )

    def __init__(self, outer: Graph | None = None) -> None:
        self.outer = outer
        self._depth: int = 0 if outer is None else outer._depth + 1
        if self._depth > MAX_DEPTH:
            raise ValueError(
                f"branches and loops are nested deeper than {MAX_DEPTH}, more than a model can "
                "have; compute the inner ones before the outer ones, or turn them into one loop"
            )
        self.root: Graph = outer.root if outer is not None else self
        self.operations: list[Operation] = []
        self.inputs: list[Tensor] = []
        self.outputs: list[Tensor] = []
        self.targets: list[Operation] = []
        self.journal: Journal = Journal() if outer is None else outer.journal
        self.captures: Table[Tensor, None] = Table(self.journal)
        #: operations outside that nodes in here wait for
        self.outer_control: Table[Operation, None] = Table(self.journal)
        self.resolver: Callable[[Tensor], Tensor | None] | None = None
        self.measurer: Callable[[Tensor, str, Any], Tensor | None] | None = None
        #: of a branch: from a tensor in here to what stands for it outside
        self.leave: Callable[[Tensor], Tensor | None] | None = None
        self.lifted: tuple[str, ...] = ()  # operations made outside if all their inputs are outside
        self._at = _Place()  # each thread has its name scopes and control dependencies
        self.assigned: set[str] = set()  # in here: variables that a body and those in it assign
        self.front_reads: dict[str, Tensor] = {}  # reads of variables outside, made for uses here
        self._unfeedable: set[Tensor] = set()
        self._unfetchable: set[Operation] = set()
        self.rolled_back = False  # whether it holds what a failed call had made
        #: the root graph around that of a dataset's function
        self.around: Graph | None = None
        if outer is None:
            self.version = 0
            self.shapes = 0  # how often a shape changed that others may have relied upon
            self.seed: int | None = None
            self.members: Table[str, list[Any]] = Table(self.journal)
            self.generators: Table[str, int | None] = Table(self.journal)
            self.host_functions: Table[str, Callable[..., Any] | None] = Table(self.journal)
            #: objects that other modules keep with a graph
            self.state_attributes: Table[str, Any] = Table(self.journal)
            self._names: Table[str, int] = Table(self.journal)
            self._by_name: Table[str, Operation] = Table(self.journal)
            self._order = 0
            self.building = threading.RLock()  # held by a call that builds: others wait for it
            self._seeds_given = 0
            self._finalized = False
            self.sessions: weakref.WeakSet[Any] = weakref.WeakSet()  # those that run it
            self.has_devices = False  # whether some operation wishes for one
            self._gradient_overrides: dict[str, str] = {}

    def __repr__(self) -> str:
        kind = "tf.Graph" if self.outer is None else "body of a tf.Graph"
        variables = sum(1 for op in self.operations if op.op == "Variable")
        ending = ", finalized" if self.root._finalized else ""
        return f"<{kind}: {len(self.operations)} operations, {variables} of them variables{ending}>"

    # ---- making operations ----

    def create_op(
        self,
        op_type: str,
        inputs: Sequence[Any],
        dtypes: Sequence[Any] | None = None,
        input_types: Sequence[Any] | None = None,
        name: str | None = None,
        attrs: Mapping[str, Any] | None = None,
        op_def: Any = None,
        compute_shapes: bool = True,
        compute_device: bool = True,
    ) -> Operation:
        """Adds an operation of one of TensorFlow's types, in the current scopes.

        An operator that graphio does not have becomes a node that no session runs, unless the
        program registers it: `tf.register_operator("tensorflow", op_type, ...)`.

        Args:
            op_type: TensorFlow's type: "MatMul".
            inputs: tensors.
            dtypes: of the outputs of an operator that graphio does not have, None: it has none;
                others know theirs.
            input_types: accepted: there are no reference types.
            name: of the operation, made unique in the current name scope; None: the type. One that
                ends in "/" is taken as it is.
            attrs: AttrValue by name.
            op_def, compute_shapes, compute_device: accepted.

        Raises:
            RuntimeError: the graph is finalized.
            TypeError: an input is not a tensor, or an attribute not an AttrValue.
            ValueError: an input is of another graph, the name is malformed, or inputs or attributes
                do not fit the type.
            UnimplementedError: the type is a variable's, or that of a part of a loop or branch.
        """
        self._check_open()
        return registered.create_by_type(self, op_type, inputs, dtypes, name, attrs)

    def add_operation(
        self,
        op: str,
        inputs: Sequence[Tensor | None],
        outputs: Sequence[tuple[DType, TensorShape]],
        attrs: Mapping[str, object] | None = None,
        *,
        domain: str = "",
        version: int | None = None,
        name: str | None = None,
        tf_type: str | None = None,
        at: source.Source | None = None,
    ) -> Operation:
        """Adds an operation; the graph is unchanged if that fails.

        Args:
            op: the operator.
            inputs: tensors of this graph or one that encloses it; None: an absent optional one.
            outputs: dtype and static shape of each output.
            attrs: attributes: int, float, str, bytes, lists of these, arrays, DTypes, bodies.
            domain: "" for ONNX's operators, "graphio" for ours.
            version: of the operator; None: the oldest that expresses the node.
            name: made unique in the current name scope; one that ends in "/" is taken as it is.
            tf_type: TensorFlow's type where it is another than op.
            at: the line that made it; None: the user's at the moment.

        Raises:
            RuntimeError: the graph is finalized.
            ValueError: an input is of another graph, or the name is malformed.
            UnimplementedError: an output's dtype is one that no tensor has, as qint8.
        """
        self._check_open()
        if name is not None and name[-1:] != "/" and not _VALID_NAME.match(name):
            raise ValueError(errors.printable(f"'{name}' is not a valid scope name"))
        for dtype, shape in outputs:
            check_shape(shape, name or tf_type or op)
            if not dtype.number:
                refuse_dtype(dtype, (name or tf_type or op).rstrip("/"))
        if op in _MEASURES and domain == "":
            measured = self._measured(inputs[0], op, attrs)
            if measured is not None:
                return self.add_operation("Identity", [measured], outputs, name=name)
        resolved = [t if t is None or t.graph is self else self._resolve(t) for t in inputs]
        if op in self.lifted and all(t is None or t.graph is not self for t in resolved):
            assert self.outer is not None
            return self.outer.add_operation(
                op, resolved, outputs, attrs, domain=domain, version=version, name=name,
                tf_type=tf_type, at=at,
            )  # fmt: skip
        if version is None:
            version = operators.version_for(
                op,
                domain,
                [t.dtype.number for t in resolved if t is not None],
                attributes=attrs or (),
                inputs=len(resolved),
            )
        root, place, base = self.root, self._at, name or tf_type or op
        full = base[:-1] if base[-1:] == "/" else root._unique(place.scope + base)
        if full in root._by_name:
            full = root._unique(full)
        held = dict(sorted(attrs.items())) if attrs else {}
        line = source.user_line() if at is None else at
        made = Operation(self, full, op, domain, version, held, resolved, tf_type, line)
        if place.control:
            made.awaited = self._current_control(resolved)
            if op != "Constant":  # engines do not wait for constants
                for group in place.control:
                    group.inside.add(made)
        for i, (dtype, shape) in enumerate(outputs):
            made.outputs.append(Tensor(self, made, i, f"{full}:{i}", dtype.base_dtype, shape))
        if place.devices:
            root.has_devices |= bool(devices.merged(place.devices, made))
        if place.colocated:
            self._colocate(made)
        if self.outer is not None or (held and made.bodies()):
            self._capture(made)
        self._add(made)
        if op == "Assign" and self.outer is not None:
            self._note_assigned(str(held["variable"]))
        if root._gradient_overrides:
            self._override_gradient(made)
        return made

    def _colocate(self, made: Operation) -> None:
        """Puts a new operation into the groups of operations with one device."""
        groups: set[bytes] = set()
        for operation in self._at.colocated:
            groups.update(operation.colocation_groups())
            made.device = operation.device or made.device
        self.table("colocation_groups")[made] = sorted(groups)
        self.root.has_devices |= bool(made.device)

    def _override_gradient(self, made: Operation) -> None:
        override = self.root._gradient_overrides.get(made.type)
        if override is not None:
            self.table("gradient_overrides")[made] = override

    def _add(self, made: Operation) -> None:
        root = self.root
        made.order = root._order
        root._order += 1
        root._by_name[made.name] = made
        self.operations.append(made)
        for tensor in set(made.operands) if len(made.operands) > 1 else made.operands:
            if tensor is not None:
                tensor.add_consumer(made)
        root.changed()

    def _note_assigned(self, variable: str) -> None:
        """Notes on all bodies around that a variable is assigned in them."""
        graph = self
        while graph.outer is not None and variable not in graph.assigned:
            graph.assigned.add(variable)
            graph = graph.outer

    def changed(self) -> None:
        """Notes that a message of the graph would be another one now."""
        self.root.version += 1

    def mark(self) -> tuple[int, int]:
        """The facts about the graph as it is now that roll_back needs."""
        return len(self.operations), len(self.root.state_attributes.get("variables", ()))

    def roll_back(self, mark: tuple[int, int]) -> None:
        """Removes the operations added since a mark; their names stay taken, as TensorFlow's do.

        Where a variable was made meanwhile nothing is removed, for collections hold it.
        """
        count, variables = mark
        if len(self.root.state_attributes.get("variables", ())) != variables:
            return
        if len(self.operations) <= count:
            return
        nowhere = Graph()
        nowhere.rolled_back = True
        for made in reversed(self.operations[count:]):
            self.root._by_name.pop(made.name, None)
            made._let_go(nowhere)
        del self.operations[count:]
        self.root.changed()

    def unchanged_on_error(self) -> contextlib.AbstractContextManager[None]:
        """A context that rolls back what was added to the graph if it ends in an exception.

        Outputs that a gradient gave to an earlier operation stay: they have no reader.
        """
        return _Unchanged(self)

    def table(self, key: str) -> Table[Any, Any]:
        """An object that another module keeps with the root graph under a key."""
        found: Table[Any, Any] | None = self.root.state_attributes.get(key)
        if found is None:
            found = self.root.state_attributes[key] = Table(self.journal)
        return found

    def take_out_dead(self) -> set[Tensor]:
        """Takes out of a finished body what leads to none of its outputs and targets.

        Values of outside that only this read needed are removed from the captures.

        Returns:
            What is read by the operations left, or is an output.
        """
        read = set(self.outputs)
        live: set[Operation] = set()
        pending = [*(t.op for t in self.outputs), *self.targets]
        while pending:
            operation = pending.pop()
            if operation in live or operation.graph is not self:
                continue
            live.add(operation)
            sources = [t for t in (*operation.operands, *operation.captures) if t is not None]
            read.update(sources)
            pending += [*(t.op for t in sources), *operation.awaited]
        nowhere = Graph()
        for operation in reversed(self.operations):
            if operation not in live:
                self.root._by_name.pop(operation.name, None)
                operation._let_go(nowhere)
        self.operations[:] = [operation for operation in self.operations if operation in live]
        for tensor in [tensor for tensor in self.captures if tensor not in read]:
            del self.captures[tensor]
        return read

    def forget_capture(self, tensor: Tensor) -> None:
        """Notes that neither this body nor those around it read the tensor after all."""
        graph: Graph | None = self
        while graph is not None and graph is not tensor.graph:
            graph.captures.pop(tensor, None)
            graph = graph.outer

    def _check_open(self) -> None:
        if self.root._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def _resolve(self, tensor: Tensor) -> Tensor:
        """The tensor as this graph may read it; bodies of gradients have resolvers."""
        graph: Graph | None = self
        while graph is not None and not self.encloses(tensor):
            found = graph.resolver(tensor) if graph.resolver is not None else None
            tensor = tensor if found is None else found
            graph = graph.outer
        while not self.encloses(tensor) and tensor.graph.leave is not None:
            found = tensor.graph.leave(tensor)
            if found is None:
                break
            tensor = found
        if not self.encloses(tensor):
            hint = (
                "all tensors of an operation belong to one graph, and this one's graph is not the "
                "default graph here; build inside `with tensor.graph.as_default():`"
            )
            if tensor.graph.root is self.root:
                raise InaccessibleTensorError(
                    f"{tensor!r} must be from the same graph as the operation: it belongs to the "
                    "body of a tf.cond or tf.while_loop; return it from there"
                )
            if tensor.graph.rolled_back:
                hint = "it was made by a call that failed, and was rolled back; make it again"
            raise ValueError(f"{tensor!r} must be from the same graph as the operation: {hint}")
        return tensor

    def _measured(
        self, tensor: Tensor | None, op: str, attrs: Mapping[str, object] | None
    ) -> Tensor | None:
        """The shape or size of a tensor that only resolvers reach, taken where the tensor is."""
        graph: Graph | None = self
        while graph is not None and tensor is not None and not self.encloses(tensor):
            found = None if graph.measurer is None else graph.measurer(tensor, op, attrs)
            if found is not None:
                return found
            graph = graph.outer
        return None

    def encloses(self, tensor: Tensor) -> bool:
        """Whether the tensor is of this graph or of one around it."""
        return self.encloses_graph(tensor.graph)

    def encloses_graph(self, other: Graph) -> bool:
        """Whether other is this graph or one around it."""
        graph: Graph | None = self
        while graph is not None:
            if graph is other:
                return True
            graph = graph.outer
        return False

    def is_inside(self, other: Graph) -> bool:
        """Whether this is the other graph or a body in it."""
        return self.encloses_graph(other)

    def _capture(self, made: Operation) -> None:
        """Records what comes from outside, on every graph on the way."""
        bodies = made.bodies()
        read = [t for t in made.operands if t is not None]
        for body in bodies:
            self._wait_outside(made, body)
            body.outputs[:] = [body._resolve(tensor) for tensor in body.outputs]
            for tensor in body.outputs:
                if tensor.graph is not body:
                    body.captures.setdefault(tensor)
            read.extend(body.captures)
        for tensor in read:
            self.capture(tensor)

    def capture(self, tensor: Tensor) -> None:
        """Records, on every graph on the way, that a tensor of one around is read here."""
        graph = self
        while tensor.graph is not graph:
            graph.captures.setdefault(tensor)
            assert graph.outer is not None
            graph = graph.outer

    def _wait_outside(self, made: Operation, body: Graph) -> None:
        """Control edges stop at a body's border: its If or Loop waits instead of its nodes."""
        waited_for = set(made.awaited) if body.outer_control else set()
        for operation in body.outer_control:
            if operation.graph is not self:
                self.outer_control.setdefault(operation)
            elif operation not in waited_for:
                made.awaited.append(operation)

    def add_input(self, dtype: DType, shape: TensorShape, name: str) -> Tensor:
        """A formal input of a body."""
        full = self.unique_name(name)
        made = Operation(self, full, "Argument", "graphio", 1, {}, [])
        made.order = self.root._order
        self.root._order += 1
        tensor = Tensor(self, made, 0, full, dtype, shape)
        made.outputs.append(tensor)
        self.inputs.append(tensor)
        return tensor

    # ---- names ----

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """name in the current scope with a suffix where it is taken, whatever its case."""
        full = f"{self._at.scope}{name}"
        return self.root._unique(full, mark_as_used)

    def _unique(self, name: str, mark_as_used: bool = True) -> str:
        key = name.lower()
        count = self._names.get(key, 0)
        if mark_as_used:
            self._names[key] = count + 1
        if count == 0:
            return name
        candidate = name
        while candidate.lower() in self._names:
            candidate = f"{name}_{count}"
            count += 1
        if mark_as_used:
            self._names[key] = count
            self._names[candidate.lower()] = 1
        return candidate

    def reserve_name(self, full: str) -> None:
        """Has no new operation get a name, whatever the scope."""
        self.root._names.setdefault(full.lower(), 1)

    def name_scope(self, name: str | None) -> contextlib.AbstractContextManager[str]:
        """See graphio.name_scope."""
        return _NameScope(self, name)

    def enter_scope(self, name: str | None) -> tuple[str, str]:
        """Opens a name scope in the current one.

        Returns:
            The scope before, for leave_scope, and the one that is open now.

        Raises:
            ValueError: the name is malformed.
        """
        at = self._at
        before = at.scope
        scope = ""
        if name:
            if not (_VALID_SCOPE if before else _VALID_NAME).match(name):
                raise ValueError(errors.printable(f"'{name}' is not a valid scope name"))
            scope = name if name[-1] == "/" else self.root._unique(before + name) + "/"
        at.scope = scope
        return before, scope

    def leave_scope(self, before: str) -> None:
        """Ends a name scope: the one before it is open again."""
        self._at.scope = before

    @property
    def _scope(self) -> str:
        return self._at.scope

    @_scope.setter
    def _scope(self, scope: str) -> None:
        self._at.scope = scope

    def get_name_scope(self) -> str:
        """The current scope without its last "/"."""
        return self._scope[:-1]

    # ---- contexts ----

    def as_default(self) -> contextlib.AbstractContextManager[Graph]:
        """A context in which this is the thread's default graph."""
        return scopes.graph_as_default(self)

    @contextlib.contextmanager
    def as_body(self) -> Iterator[Graph]:
        """As as_default, for a body: names go on in the outer graph's scope."""
        assert self.outer is not None
        around = scopes.get_default_graph()
        at, there = self._at, around._at
        before = at.scope, at.devices, at.colocated
        at.scope, at.devices, at.colocated = there.scope, there.devices, there.colocated
        try:
            with scopes.graph_as_default(self):
                yield self
        finally:
            at.scope, at.devices, at.colocated = before

    def control_dependencies(self, control_inputs: Any) -> contextlib.AbstractContextManager[None]:
        """See graphio.control_dependencies. It holds in the thread that enters it."""
        return _Controlled(self, control_inputs)

    @property
    def waits(self) -> bool:
        """Whether a control dependency is open in this thread, also on what is outside."""
        return self._at.waits

    def _control_operation(self, value: Any) -> Operation | None:
        """The operation to wait for; None if it is outside this body or no work at all."""
        if isinstance(value, str) or hasattr(value, "_as_graph_element"):
            value = self.as_graph_element(value)
        operation = value if isinstance(value, Operation) else None
        for attribute in ("values", "op"):
            if (
                operation is None
                and hasattr(value, attribute)
                and not callable(getattr(value, attribute))
            ):
                inner = getattr(value, attribute)
                operation = inner if isinstance(inner, Operation) else inner.op
        if operation is None:
            raise TypeError(
                f"control input {value!r} is {type(value).__name__}, expected an Operation, a "
                "Tensor or a Variable"
            )
        if operation.graph.root is not self.root:
            raise ValueError(f"control input '{operation.name}' is from another graph")
        if operation.op == "Argument":
            return None
        if operation.graph is self:
            return operation
        if not self.encloses_graph(operation.graph):
            raise ValueError(
                f"control input '{operation.name}' is inside a loop or branch; wait for the "
                "operation around it, or for what it returns"
            )
        self.outer_control.setdefault(operation)
        return None

    def _current_control(self, inputs: Sequence[Tensor | None]) -> list[Operation]:
        data = {t.op for t in inputs if t is not None}
        wanted: dict[Operation, None] = {}
        for group in self._at.control:
            if group.inside.isdisjoint(data):  # else an input waits for the same
                wanted.update(dict.fromkeys(op for op in group.operations if op not in data))
        return list(wanted)

    @contextlib.contextmanager
    def device(self, name: Any) -> Iterator[None]:
        """See graphio.device. It holds in the thread that enters it."""
        at = self._at
        before = at.devices
        inside = at.devices = (*before, devices.checked_scope(name))
        try:
            yield
        finally:
            if at.devices is not inside:
                raise RuntimeError("Exiting device scope without proper scope nesting.")
            at.devices = before

    @contextlib.contextmanager
    def device_scopes_of(self, other: Graph) -> Iterator[None]:
        """A context with the device scopes that are open for another graph; those of this one
        where there are none."""
        at = self._at
        before = at.devices
        at.devices = other._at.devices or before
        try:
            yield
        finally:
            at.devices = before

    @contextlib.contextmanager
    def colocate_with(self, op: Any, ignore_existing: bool = False) -> Iterator[None]:
        """See graphio.colocate_with. It holds in the thread that enters it."""
        if op is None and not ignore_existing:
            raise ValueError("op is None; only ignore_existing=True may go without an operation")
        if op is not None and not isinstance(getattr(op, "device", None), str):
            raise TypeError(
                f"op is {type(op).__name__}, expected an operation, a tensor or a variable"
            )
        at = self._at
        before = at.devices, at.colocated
        beside = () if op is None else (op if isinstance(op, Operation) else op.op,)
        at.devices, at.colocated = (), (*(() if ignore_existing else at.colocated), *beside)
        try:
            yield
        finally:
            at.devices, at.colocated = before

    @contextlib.contextmanager
    def gradient_override_map(self, op_type_map: Mapping[str, str]) -> Iterator[None]:
        """A context whose new operations have gradients that tf.RegisterGradient gave a name.

        Args:
            op_type_map: TensorFlow's type (Operation.type) to the gradient's name.

        Raises:
            TypeError: it is not a dictionary of strings.
        """
        if not isinstance(op_type_map, Mapping) or not all(
            isinstance(word, str) for pair in op_type_map.items() for word in pair
        ):
            raise TypeError("op_type_map must be a dictionary mapping strings to strings")
        before = self.root._gradient_overrides
        self.root._gradient_overrides = {**before, **op_type_map}
        try:
            yield
        finally:
            self.root._gradient_overrides = before

    @contextlib.contextmanager
    def applied_as(self, tf_type: str) -> Iterator[None]:
        """A context whose new assignments are an optimizer's, of a type of TensorFlow's."""
        at = self.root._at
        before = at.applying
        at.applying = tf_type
        try:
            yield
        finally:
            at.applying = before

    @property
    def applying(self) -> str | None:
        """The type that applied_as gives in this thread."""
        return self.root._at.applying

    # ---- look-up ----

    def get_operations(self) -> list[Operation]:
        """All operations in order of creation; those of bodies belong to their If or Loop."""
        return list(self.operations)

    def get_operation_by_name(self, name: str) -> Operation:
        """The operation of a name.

        Raises:
            KeyError: there is none. ValueError: it is a tensor's name. TypeError: no string.
        """
        found = self.as_graph_element(name, allow_tensor=False, allow_operation=True)
        assert isinstance(found, Operation)
        return found

    def get_tensor_by_name(self, name: str) -> Tensor:
        """The tensor of a name such as "add:0".

        Raises:
            KeyError: there is none. ValueError: it is an operation's name. TypeError: no string.
        """
        found = self.as_graph_element(name, allow_tensor=True, allow_operation=False)
        assert isinstance(found, Tensor)
        return found

    def as_graph_element(
        self, obj: Any, allow_tensor: bool = True, allow_operation: bool = True
    ) -> Tensor | Operation:
        """The tensor or operation that obj is, names or stands for (as a Variable does).

        Raises:
            KeyError: the name is unknown. ValueError: another graph's, or of the wrong kind.
            TypeError: obj is not an element of a graph.
        """
        convert = getattr(obj, "_as_graph_element", None)
        element = convert() if convert is not None else obj
        if isinstance(element, (str, bytes)):
            name = element.decode() if isinstance(element, bytes) else element
            return self._by_given_name(name, allow_tensor, allow_operation)
        kinds = (Tensor,) * allow_tensor + (Operation,) * allow_operation
        if not isinstance(element, (Tensor, Operation)) or not isinstance(element, kinds):
            expected = " or ".join(k.__name__ for k in kinds)
            raise TypeError(f"Can not convert a {type(obj).__name__} into a {expected}.")
        if element.graph.root is not self.root:
            raise ValueError(f"{element!r} is not an element of this graph.")
        return element

    def _by_given_name(
        self, name: str, allow_tensor: bool, allow_operation: bool
    ) -> Tensor | Operation:
        operation_name, colon, index = name.partition(":")
        operation = self.root._by_name.get(operation_name)
        if colon and not allow_tensor:
            raise ValueError(f"Name '{name}' appears to refer to a Tensor, not a Operation.")
        if not colon and not allow_operation:
            found = "refers to an" if operation is not None else "looks like an (invalid)"
            kind = "Operation" if operation is not None else "Operation name"
            raise ValueError(f"The name '{name}' {found} {kind}, not a Tensor. {_TENSOR_NAMES}")
        if not colon:
            if operation is None:
                raise KeyError(f"The name '{name}' refers to an Operation not in the graph.")
            return operation
        if not index.isdigit():
            raise ValueError(
                f"The name '{name}' looks a like a Tensor name, but is not a valid one. "
                f"{_TENSOR_NAMES}"
            )
        if operation is None:
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                f"'{operation_name}', does not exist in the graph."
            )
        if int(index) >= len(operation.outputs):
            raise KeyError(
                f"The name '{name}' refers to a Tensor which does not exist. The operation, "
                f"'{operation_name}', exists but only has {len(operation.outputs)} outputs."
            )
        return operation.outputs[int(index)]

    def find_operation(self, name: str) -> Operation | None:
        """The operation of a name, in this graph or in a body; None if there is none."""
        return self.root._by_name.get(name)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether the tensor may be fed."""
        return not self._is_in_body(tensor) and tensor not in self._unfeedable

    def is_fetchable(self, element: Tensor | Operation) -> bool:
        """Whether the element may be fetched."""
        operation = element if isinstance(element, Operation) else element.op
        return not self._is_in_body(element) and operation not in self._unfetchable

    def _is_in_body(self, element: Tensor | Operation) -> bool:
        """Whether an element is in another of this graph and its bodies; those of other graphs are
        refused elsewhere."""
        return element.graph is not self and element.graph.root is self.root

    def prevent_feeding(self, tensor: Any) -> None:
        """Makes the tensor one that may not be fed, and no input of a signature.

        Raises:
            KeyError, TypeError, ValueError: it is neither a tensor nor the name of one.
        """
        named = not isinstance(tensor, Tensor)
        found = self.as_graph_element(tensor, allow_operation=False) if named else tensor
        assert isinstance(found, Tensor)
        self._unfeedable.add(found)
        self._forget_plans()

    def prevent_fetching(self, op: Any) -> None:
        """Makes the operation and its outputs ones that may not be fetched, nor given by a
        signature.

        Raises:
            KeyError, TypeError, ValueError: it is neither an operation nor the name of one.
        """
        named = not isinstance(op, Operation)
        found = self.as_graph_element(op, allow_tensor=False) if named else op
        assert isinstance(found, Operation)
        self._unfetchable.add(found)
        self._forget_plans()

    def _forget_plans(self) -> None:
        """Has the sessions check fetches and feeds again, which they do once a plan."""
        for session in list(self.root.sessions):
            session.forget_plans()

    @property
    def building_function(self) -> bool:
        """Whether it is the graph of a dataset's function; there are no others of TensorFlow's."""
        return self.root.around is not None or self._building_function

    # ---- state of the graph ----

    def finalize(self) -> None:
        """Makes the graph read-only."""
        self.root._finalized = True

    def _unsafe_unfinalize(self) -> None:
        """Makes a finalized graph writable again; programs know the name."""
        self.root._finalized = False

    @property
    def finalized(self) -> bool:
        """Whether the graph is read-only."""
        return self.root._finalized

    def add_to_collection(self, name: str, value: Any) -> None:
        """Adds a value to a collection."""
        self._check_open()
        values = self.root.members.setdefault(name, [])
        self.journal.note(values)
        values.append(value)

    @property
    def collections(self) -> list[Any]:
        """The names of all collections."""
        return list(self.root.members)

    def add_to_collections(self, names: Any, value: Any) -> None:
        """Adds a value to several collections, once to each."""
        for name in dict.fromkeys([names] if isinstance(names, str) else names):
            self.add_to_collection(name, value)

    def get_collection(self, name: str, scope: str | None = None) -> list[Any]:
        """The values of a collection; scope: a regular expression that names must match."""
        values = self.root.members.get(name, [])
        if scope is None:
            return list(values)
        pattern = re.compile(scope)
        return [v for v in values if hasattr(v, "name") and pattern.match(v.name)]

    def get_collection_ref(self, name: str) -> list[Any]:
        """The collection itself."""
        values = self.root.members.setdefault(name, [])
        self.journal.note(values)
        return values

    def get_all_collection_keys(self) -> list[str]:
        """Names of the collections that are not empty; keys other than strings are left out."""
        found = self.root.members.items()
        return [name for name, values in found if values and isinstance(name, str)]

    def clear_collection(self, name: str) -> None:
        """Empties a collection."""
        self.root.members.pop(name, None)

    def add_generator(self, name: str, op_seed: int | None) -> str:
        """Registers a random generator for a new random operation; returns its unique name.

        Seeds combine as TensorFlow's do: with a graph seed only, the operation's is a counter;
        with an operation's only, the graph's is 87654321; with neither it is not seeded.
        """
        return self.adopt_generator(name, self.seed_key(op_seed))

    def seed_key(self, op_seed: int | None) -> int | None:
        """The key of both seeds; None: not seeded. See add_generator.

        Raises:
            TypeError: op_seed is not an integer.
        """
        root, op_seed = self.root, as_seed(op_seed)
        if root.seed is None and op_seed is None:
            return None
        if op_seed is None:
            op_seed = root._seeds_given
            root._seeds_given += 1
        graph_seed = 87654321 if root.seed is None else root.seed
        return mix_seeds(graph_seed, op_seed)

    def adopt_generator(self, name: str, key: int | None) -> str:
        """As add_generator, with a key instead of seeds; None: not seeded."""
        self._check_open()
        unique = free_name(f"{self._scope}{name}", self.root.generators)
        self.root.generators[unique] = key
        return unique

    def add_host_function(self, name: str, bind: Callable[[Any], Callable[..., Any]] | None) -> str:
        """Registers what a HostCall calls; returns its unique name.

        Args:
            name: made unique in the graph, whatever the scope.
            bind: called once a session, at the function's first use, with the session; returns the
                function, which takes a list of arrays and gives a list of arrays. None: a name
                without a function, to be given by bind_host_function.

        Raises:
            RuntimeError: the graph is finalized.
        """
        self._check_open()
        unique = free_name(name, self.root.host_functions)
        self.root.host_functions[unique] = bind
        return unique

    def bind_host_function(self, name: str, bind: Callable[[Any], Callable[..., Any]]) -> None:
        """Gives a registered name its function, as a model that was read from a file needs it.

        Sessions that called the former function keep it.

        Args:
            name: as the HostCall has it.
            bind: see add_host_function.

        Raises:
            KeyError: no HostCall of the graph has the name.
        """
        if name not in self.root.host_functions:
            known = ", ".join(sorted(self.root.host_functions)) or "none"
            raise KeyError(f"the graph has no host function {name!r}; it has: {known}")
        self.root.host_functions[name] = bind

    @property
    def graph_def_versions(self) -> Any:
        """Versions of the GraphDef format: `producer`, `min_consumer`."""
        return registered.graph_def_versions()

    def as_graph_def(self, from_version: int | None = None, add_shapes: bool = False) -> Any:
        """The graph as a GraphDef, which import_graph_def takes.

        Args:
            from_version: accepted; the message has all nodes.
            add_shapes: True gives each node an attribute "_output_shapes".
        """
        return registered.graph_def(self, add_shapes)

    @contextlib.contextmanager
    def container(self, container_name: str) -> Iterator[str]:
        """Accepted: a session keeps its own state."""
        yield container_name

    def switch_to_thread_local(self) -> None:
        """Accepted: name scopes and control dependencies hold in the thread that enters them."""

    def __str__(self) -> str:
        return registered.graph_text(self, _SHOWN)

    def _repr_html_(self) -> str:
        return registered.graph_html(self)


class _NameScope(contextlib.ContextDecorator, contextlib.AbstractContextManager[str]):
    """A context in which names of a graph begin with a scope's."""

    __slots__ = ("_before", "_graph", "_name")

    def __init__(self, graph: Graph, name: str | None) -> None:
        self._graph, self._name = graph, name

    def _recreate_cm(self) -> _NameScope:
        return _NameScope(self._graph, self._name)  # a decorated function may call itself

    def __enter__(self) -> str:
        self._before, scope = self._graph.enter_scope(self._name)
        return scope

    def __exit__(self, *details: object) -> None:
        self._graph.leave_scope(self._before)


class _Unchanged(contextlib.AbstractContextManager[None]):
    """A context that rolls back what was added to a graph if it ends in an exception."""

    __slots__ = ("_graph", "_lengths", "_mark", "_order", "_seeds")

    def __init__(self, graph: Graph) -> None:
        self._graph = graph

    def __enter__(self) -> None:
        root = self._graph.root
        self._order, self._seeds = root._order, root._seeds_given
        self._lengths = [(values, len(values)) for values in self._lists()]
        self._mark = root.journal.open()

    def _lists(self) -> list[list[Any]]:
        """The operations of the body and those around it, and the collections: a program may have
        a reference to one of these."""
        found: list[list[Any]] = list(self._graph.root.members.values())
        graph: Graph | None = self._graph
        while graph is not None:
            found += (graph.operations, graph.inputs, graph.outputs, graph.targets)
            graph = graph.outer
        return found

    def __exit__(self, kind: object, error: object, traceback: object) -> None:
        root = self._graph.root
        if kind is not None:
            self._roll_back(root)
        root.journal.close()

    def _roll_back(self, root: Graph) -> None:
        nowhere = Graph()
        nowhere.rolled_back = True

        def let_go(table: object, _: object, value: Any) -> None:
            if table is root._by_name:
                value._let_go(nowhere)

        root.journal.undo(self._mark, let_go)
        for values, length in self._lengths:
            del values[length:]
        root._order, root._seeds_given = self._order, self._seeds
        root.changed()


class _Controlled(contextlib.ContextDecorator, contextlib.AbstractContextManager[None]):
    """A context in which operations of a graph wait for others."""

    __slots__ = ("_before", "_graph", "_inputs")

    def __init__(self, graph: Graph, control_inputs: Any) -> None:
        self._graph, self._inputs = graph, control_inputs

    def _recreate_cm(self) -> _Controlled:
        return _Controlled(self._graph, self._inputs)  # as _NameScope's

    def __enter__(self) -> None:
        at = self._graph._at
        self._before = at.control, at.waits
        if self._inputs is None:
            at.control, at.waits = (), False
        else:
            found = [self._graph._control_operation(c) for c in self._inputs]
            at.control = (*at.control, _Awaited([op for op in found if op is not None]))
            at.waits = at.waits or bool(found)

    def __exit__(self, *details: object) -> None:
        at = self._graph._at
        at.control, at.waits = self._before


def free_name(name: str, taken: Mapping[str, object]) -> str:
    """The name, or the name with the number after those in a row that are taken."""
    if name not in taken:
        return name
    low, high = 0, 1
    while f"{name}_{high}" in taken:
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if f"{name}_{middle}" in taken else (low, middle)
    return f"{name}_{high}"


def as_seed(seed: Any) -> int | None:
    """A seed as Python's integer, or None.

    Raises:
        TypeError: it is not an integer.
    """
    if seed is None:
        return None
    try:
        return operator.index(seed)
    except TypeError:
        raise TypeError(f"seed is {seed!r}, expected an integer or None") from None


registered.new_graph.register(Graph)
