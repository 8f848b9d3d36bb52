"""Graph: operations in order of creation.

A graph only grows. Operations are in order of creation, which is the order in which a run
behaves as if it executed them. Tensors compare by identity. Names, contexts, collections, seeds
and the other state of a graph are objects of framework/graph_state.
"""

from __future__ import annotations

import contextlib
import threading
import weakref
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from graphio.engine.pickling import Unpicklable
from graphio.framework import registered, scopes, source
from graphio.framework.dtypes import DType
from graphio.framework.graph_state import bodies, control, names, rollback
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.graph_state.collections import Collections
from graphio.framework.graph_state.contexts import Contexts, NameScope
from graphio.framework.graph_state.gradient_overrides import GradientOverrides
from graphio.framework.graph_state.host_functions import HostFunctions
from graphio.framework.graph_state.names import Names
from graphio.framework.graph_state.seeds import Seeds
from graphio.framework.operation import Operation
from graphio.framework.tensor import Tensor, check_shape, refuse_dtype
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.undo import Journal, Table
from graphio.schema import operators
from graphio.schema.verify_graph import MAX_DEPTH

__all__ = ["Graph", "Operation", "Tensor"]

#: how many operations str() shows, the last ones
_SHOWN = 200
#: operators that read the shape of a tensor only
_MEASURES = ("Shape", "Size")


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
        self.access = bodies.OuterAccess()
        self.contexts = Contexts()
        self.assigned: set[str] = set()  # in here: variables that a body and those in it assign
        self.front_reads: dict[str, Tensor] = {}  # reads of variables outside, made for uses here
        #: tensors that may not be fed, operations that may not be fetched
        self._prevented: set[Tensor | Operation] = set()
        self.rolled_back = False  # whether it holds operations that a failed call had made
        if outer is None:
            self.version = 0
            self.shapes = 0  # how often a shape changed that others may have relied upon
            self.names = Names(self.journal)
            self.members = Collections(self.journal)
            self.seeds = Seeds()
            self.generators: Table[str, int | None] = Table(self.journal)
            self.host_functions = HostFunctions(self.journal)
            self.gradient_overrides = GradientOverrides()
            #: see Attachment
            self.attachments: Table[Attachment[Any], Any] = Table(self.journal)
            self._order = 0
            self.building = threading.RLock()  # held by a call that builds: others wait for it
            self._finalized = False
            self.sessions: weakref.WeakSet[Any] = weakref.WeakSet()  # those that run it
            self.has_devices = False  # whether some operation requests one

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
        if name is not None and name[-1:] != "/":
            names.check(name)
        for dtype, shape in outputs:
            check_shape(shape, name or tf_type or op)
            if not dtype.number:
                refuse_dtype(dtype, (name or tf_type or op).rstrip("/"))
        if op in _MEASURES and domain == "":
            measured = bodies.measured(self, inputs[0], op, attrs)
            if measured is not None:
                return self.add_operation("Identity", [measured], outputs, name=name)
        resolved = [t if t is None or t.graph is self else bodies.resolve(self, t) for t in inputs]
        if op in self.access.lifted and all(t is None or t.graph is not self for t in resolved):
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
        root, contexts, base = self.root, self.contexts, name or tf_type or op
        full = base[:-1] if base[-1:] == "/" else root.names.unique(contexts.scope + base)
        if full in root.names.operations:
            full = root.names.unique(full)
        held = dict(sorted(attrs.items())) if attrs else {}
        line = source.user_line() if at is None else at
        made = Operation.of_node(self, full, op, domain, version, held, resolved, tf_type, line)
        if contexts.control:
            made.awaited = control.awaited(contexts.control, resolved)
            if op != "Constant":  # engines do not wait for constants
                control.note(contexts.control, made)
        for i, (dtype, shape) in enumerate(outputs):
            made.outputs.append(Tensor(self, made, i, f"{full}:{i}", dtype.base_dtype, shape))
        if contexts.devices or contexts.colocated:
            root.has_devices |= contexts.assign_device(made)
        if self.outer is not None or (held and made.bodies()):
            bodies.record_captures(self, made)
        self._add(made)
        if op == "Assign" and self.outer is not None:
            self._note_assigned(str(held["variable"]))
        if root.gradient_overrides.by_type:
            root.gradient_overrides.record(made)
        return made

    def _add(self, made: Operation) -> None:
        root = self.root
        made.order = root._order
        root._order += 1
        root.names.operations[made.name] = made
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

    def unchanged_on_error(self) -> contextlib.AbstractContextManager[None]:
        """A context that rolls back what was added to the graph if it ends in an exception.

        Outputs that a gradient gave to an earlier operation stay: they have no reader.
        """
        return rollback.Unchanged(self)

    def _check_open(self) -> None:
        if self.root._finalized:
            raise RuntimeError("Graph is finalized and cannot be modified.")

    def encloses(self, tensor: Tensor) -> bool:
        """Whether the tensor is of this graph or of one around it."""
        return self.is_inside(tensor.graph)

    def is_inside(self, other: Graph) -> bool:
        """Whether this is the other graph or a body in it."""
        graph: Graph | None = self
        while graph is not None:
            if graph is other:
                return True
            graph = graph.outer
        return False

    def capture(self, tensor: Tensor) -> None:
        """Records, on every graph on the way, that a tensor of one around is read here."""
        graph = self
        while tensor.graph is not graph:
            graph.captures.setdefault(tensor)
            assert graph.outer is not None
            graph = graph.outer

    def add_input(self, dtype: DType, shape: TensorShape, name: str) -> Tensor:
        """A formal input of a body."""
        full = self.unique_name(name)
        made = Operation.of_node(self, full, "Argument", "graphio", 1, {}, [])
        made.order = self.root._order
        self.root._order += 1
        tensor = Tensor(self, made, 0, full, dtype, shape)
        made.outputs.append(tensor)
        self.inputs.append(tensor)
        return tensor

    # ---- names ----

    def unique_name(self, name: str, mark_as_used: bool = True) -> str:
        """name in the current scope with a suffix where it is taken, whatever its case."""
        return self.root.names.unique(f"{self.contexts.scope}{name}", mark_as_used)

    def reserve_name(self, full: str) -> None:
        """Has no new operation get a name, whatever the scope."""
        self.root.names.reserve(full)

    def name_scope(self, name: str | None) -> contextlib.AbstractContextManager[str]:
        """See graphio.name_scope."""
        return NameScope(self, name)

    def enter_scope(self, name: str | None) -> tuple[str, str]:
        """Opens a name scope in the current one.

        Returns:
            The scope before, for leave_scope, and the one that is open now.

        Raises:
            ValueError: the name is malformed.
        """
        before = self.contexts.scope
        scope = ""
        if name:
            names.check(name, inside_scope=bool(before))
            scope = name if name[-1] == "/" else self.root.names.unique(before + name) + "/"
        self.contexts.scope = scope
        return before, scope

    def leave_scope(self, before: str) -> None:
        """Ends a name scope: the one before it is open again."""
        self.contexts.scope = before

    def get_name_scope(self) -> str:
        """The current scope without its last "/"."""
        return self.contexts.scope[:-1]

    # ---- contexts ----

    def as_default(self) -> contextlib.AbstractContextManager[Graph]:
        """A context in which this is the thread's default graph."""
        return scopes.graph_as_default(self)

    @contextlib.contextmanager
    def as_body(self) -> Iterator[Graph]:
        """As as_default, for a body: names go on in the outer graph's scope."""
        assert self.outer is not None
        around = scopes.get_default_graph()
        with self.contexts.continued_from(around.contexts), scopes.graph_as_default(self):
            yield self

    def control_dependencies(self, control_inputs: Any) -> contextlib.AbstractContextManager[None]:
        """See graphio.control_dependencies. It holds in the thread that enters it."""
        return control.ControlDependencies(self, control_inputs)

    @property
    def waits(self) -> bool:
        """Whether a control dependency is open in this thread, also on what is outside."""
        return self.contexts.waits

    def device(self, name: Any) -> contextlib.AbstractContextManager[None]:
        """See graphio.device. It holds in the thread that enters it."""
        return self.contexts.device(name)

    def device_scopes_of(self, other: Graph) -> contextlib.AbstractContextManager[None]:
        """A context with the device scopes that are open for another graph; those of this one
        where there are none."""
        return self.contexts.devices_of(other.contexts)

    def colocate_with(
        self, op: Any, ignore_existing: bool = False
    ) -> contextlib.AbstractContextManager[None]:
        """See graphio.colocate_with. It holds in the thread that enters it."""
        return self.contexts.colocate_with(op, ignore_existing)

    def gradient_override_map(
        self, op_type_map: Mapping[str, str]
    ) -> contextlib.AbstractContextManager[None]:
        """A context whose new operations have gradients that tf.RegisterGradient gave a name.

        Args:
            op_type_map: TensorFlow's type (Operation.type) to the gradient's name.

        Raises:
            TypeError: it is not a dictionary of strings.
        """
        return self.root.gradient_overrides.mapped(op_type_map)

    def applied_as(self, tf_type: str) -> contextlib.AbstractContextManager[None]:
        """A context whose new assignments are an optimizer's, of a type of TensorFlow's."""
        return self.root.contexts.applied_as(tf_type)

    @property
    def applying(self) -> str | None:
        """The type that applied_as gives in this thread."""
        return self.root.contexts.applying

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
            return self.root.names.element(name, allow_tensor, allow_operation)
        kinds = (Tensor,) * allow_tensor + (Operation,) * allow_operation
        if not isinstance(element, (Tensor, Operation)) or not isinstance(element, kinds):
            expected = " or ".join(k.__name__ for k in kinds)
            raise TypeError(f"Can not convert a {type(obj).__name__} into a {expected}.")
        if element.graph.root is not self.root:
            raise ValueError(f"{element!r} is not an element of this graph.")
        return element

    def find_operation(self, name: str) -> Operation | None:
        """The operation of a name, in this graph or in a body; None if there is none."""
        return self.root.names.operations.get(name)

    def is_feedable(self, tensor: Tensor) -> bool:
        """Whether the tensor may be fed."""
        return not self._is_in_body(tensor) and tensor not in self._prevented

    def is_fetchable(self, element: Tensor | Operation) -> bool:
        """Whether the element may be fetched."""
        operation = element if isinstance(element, Operation) else element.op
        return not self._is_in_body(element) and operation not in self._prevented

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
        self._prevent(found)

    def prevent_fetching(self, op: Any) -> None:
        """Makes the operation and its outputs ones that may not be fetched, nor given by a
        signature.

        Raises:
            KeyError, TypeError, ValueError: it is neither an operation nor the name of one.
        """
        named = not isinstance(op, Operation)
        found = self.as_graph_element(op, allow_tensor=False) if named else op
        assert isinstance(found, Operation)
        self._prevent(found)

    def _prevent(self, element: Tensor | Operation) -> None:
        """Has the sessions check fetches and feeds again, which they do once a plan."""
        self._prevented.add(element)
        for session in list(self.root.sessions):
            session.forget_plans()

    @property
    def building_function(self) -> bool:
        """Whether it is the graph of a dataset's function; there are no others of TensorFlow's."""
        return self.root.access.around is not None or self._building_function

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
        self.root.members.reference(name).append(value)

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
        return self.root.members.matching(name, scope)

    def get_collection_ref(self, name: str) -> list[Any]:
        """The collection itself."""
        return self.root.members.reference(name)

    def get_all_collection_keys(self) -> list[str]:
        """Names of the collections that are not empty; keys other than strings are left out."""
        return self.root.members.filled()

    def clear_collection(self, name: str) -> None:
        """Empties a collection."""
        self.root.members.pop(name, None)

    @property
    def seed(self) -> int | None:
        """The seed that tf.set_random_seed gave the graph; None: none."""
        return self.root.seeds.graph_seed

    @seed.setter
    def seed(self, seed: int | None) -> None:
        self.root.seeds.graph_seed = seed

    def add_generator(self, name: str, op_seed: int | None) -> str:
        """Registers a random generator for a new random operation; returns its unique name.

        Args:
            name: made unique in the current name scope.
            op_seed: the operation's seed; see Seeds.key.
        """
        return self.adopt_generator(name, self.root.seeds.key(op_seed))

    def adopt_generator(self, name: str, key: int | None) -> str:
        """As add_generator, with a key instead of seeds; None: not seeded."""
        self._check_open()
        unique = names.free_name(f"{self.contexts.scope}{name}", self.root.generators)
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
        return self.root.host_functions.add(name, bind)

    def bind_host_function(self, name: str, bind: Callable[[Any], Callable[..., Any]]) -> None:
        """Gives a registered name its function, as a model that was read from a file needs it.

        Sessions that called the former function keep it.

        Args:
            name: as the HostCall has it.
            bind: see add_host_function.

        Raises:
            KeyError: no HostCall of the graph has the name.
        """
        self.root.host_functions.bind(name, bind)

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


registered.new_graph.register(Graph)
