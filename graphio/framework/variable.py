"""Variables: state that a graph reads and assigns.

A variable `v` is four operations: `v/initial_value` (where the value came from Python), `v`, which
gives its value at this position of the order, `v/Assign`, its initializer, and `v/read`, which
plain uses share.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from graphio.engine.pickling import Handle
from graphio.framework import (
    api_boundary,
    behavior,
    dtypes,
    registered,
    scopes,
    tracebacks,
    variable_creators,
    variable_reads,
)
from graphio.framework.collections import GraphKeys
from graphio.framework.constants import convert_to_tensor
from graphio.framework.conversions import of_dtype, register_tensor_conversion_function
from graphio.framework.dtypes import DType
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.graph_state.attachments import COLOCATION_GROUPS, VARIABLES
from graphio.framework.handle_reads import by_handle
from graphio.framework.modes import VariableAggregation, VariableSynchronization, init_scope
from graphio.framework.save_slice_info import SaveSliceInfo as Part
from graphio.framework.source import Source
from graphio.framework.tensor import Operators
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.framework.tensor_shape import text as shape_text
from graphio.schema import operators
from graphio.support import api_guard

__all__ = [
    "Variable",
    "initialized",
    "is_trainable",
    "is_variable_initialized",
    "variable_behind",
    "variables_of",
]


#: TensorFlow's type of variables that are not references
_RESOURCE = "VarHandleOp"


class _Making(type):
    """The metaclass of Variable: the functions of tf.variable_creator_scope make its objects."""

    def __call__(cls, *arguments: Any, **options: Any) -> Any:
        graph = scopes.get_default_graph()
        if cls is not Variable or not graph.root.contexts.creators:
            return super().__call__(*arguments, **options)
        given = _SIGNATURE.bind(None, *arguments, **options)
        given.apply_defaults()
        by_name = given.arguments
        del by_name["self"]
        for key, default in _MODES.items():
            by_name[key] = default if by_name[key] is None else by_name[key]
        for key in ("slot", "slot_of"):  # creators know TensorFlow's arguments
            if not by_name[key]:
                del by_name[key]
        return variable_creators.created(graph, super().__call__, by_name)


#: the modes that a variable has where none are given
_MODES = {
    "synchronization": VariableSynchronization.AUTO,
    "aggregation": VariableAggregation.NONE,
}


class Variable(Handle, Operators, metaclass=_Making):
    """State with a name, a dtype and a shape, kept by a session.

    Args:
        initial_value: tensor, array, number, list, or a callable that gives one of these.
        trainable: whether optimizers change it; None: unless synchronization is ON_READ.
        collections: names of collections to join; None: the global variables.
        validate_shape: False takes an initial value of unknown shape; any shape may be assigned.
        caching_device: name of the device, or a function that gives it, on which plain uses read
            the variable; None: where the variable is.
        name: made unique in the name scope; None: "Variable".
        variable_def: what to_proto gave: the variable of nodes that are in the graph already; it
            joins no collection, and the other arguments do not count.
        dtype: of the value; None: the initial value's.
        expected_shape: accepted.
        import_scope: the name scope that variable_def was imported into.
        constraint: a function from the value after an update to the value to keep.
        use_resource: True: fetched in a run that assigns it, it gives the value at the start, as
            TensorFlow's resource variables do; otherwise the one at the end. Nothing races. None:
            as the variable scope says, or else tf.enable_resource_variables.
        synchronization: ON_READ makes a variable that is not trainable, unless trainable says
            so; all else is kept for who asks, for there is one copy.
        aggregation: kept for who asks.
        shape: what is known of the shape for good, such as tf.TensorShape(None) for a variable
            that may be assigned values of any shape; None: the initial value's.
        slot_of: for an optimizer's slot, the name of the variable that it belongs to.
        slot: for an optimizer's slot, which it is.

    Raises:
        ValueError: no initial value, one of unknown shape, one that does not have `shape`, a
            constraint that cannot be called, or trainable with synchronization ON_READ.
        TypeError: the initial value does not fit dtype.
    """

    __array_priority__ = 100
    SaveSliceInfo = Part
    #: of a part of a partitioned variable: which part it is
    _save_slice_info: Part | None = None

    if TYPE_CHECKING:
        # Methods that graphio.ops.state.assigning adds to variables.
        def sparse_read(self, indices: Any, name: str | None = None) -> Tensor: ...
        def gather_nd(self, indices: Any, name: str | None = None) -> Tensor: ...
        def count_up_to(self, limit: int, name: str | None = None) -> Tensor: ...
        def scatter_add(
            self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
        ) -> Tensor: ...
        def scatter_div(
            self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
        ) -> Tensor: ...
        def scatter_max(
            self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
        ) -> Tensor: ...
        def scatter_min(
            self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
        ) -> Tensor: ...
        def scatter_mul(
            self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
        ) -> Tensor: ...
        def scatter_sub(
            self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
        ) -> Tensor: ...
        def scatter_update(
            self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
        ) -> Tensor: ...
        def batch_scatter_update(
            self, sparse_delta: Any, use_locking: bool = False, name: str | None = None
        ) -> Tensor: ...
        def scatter_nd_add(self, indices: Any, updates: Any, name: str | None = None) -> Tensor: ...
        def scatter_nd_sub(self, indices: Any, updates: Any, name: str | None = None) -> Tensor: ...
        def scatter_nd_update(
            self, indices: Any, updates: Any, name: str | None = None
        ) -> Tensor: ...

    trainable: bool
    constraint: Callable[[Tensor], Tensor] | None
    synchronization: VariableSynchronization = VariableSynchronization.AUTO
    aggregation: VariableAggregation = VariableAggregation.NONE

    @api_boundary.rolling_back
    def __init__(
        self,
        initial_value: Any = None,
        trainable: Any = None,
        collections: Sequence[str] | None = None,
        validate_shape: bool = True,
        caching_device: Any = None,
        name: str | None = None,
        variable_def: Any = None,
        dtype: Any = None,
        expected_shape: Any = None,
        import_scope: str | None = None,
        constraint: Callable[[Tensor], Tensor] | None = None,
        use_resource: Any = None,
        synchronization: Any = None,
        aggregation: Any = None,
        shape: Any = None,
        *,
        slot_of: str = "",
        slot: str = "",
    ) -> None:
        if variable_def is not None:
            vars(self).update(vars(Variable.from_proto(variable_def, import_scope)))
            variables_of(self.graph)[self._state_name] = self
            return
        if initial_value is None:
            raise ValueError("initial_value must be specified.")
        if constraint is not None and not callable(constraint):
            raise ValueError(f"The `constraint` argument must be a callable, got {constraint!r}")
        self.trainable = is_trainable(trainable, synchronization)
        self.constraint = constraint
        if synchronization is not None:
            self.synchronization = synchronization
        if aggregation is not None:
            self.aggregation = aggregation
        self.use_resource = _use_resource(use_resource)
        self.slot_of, self.slot = slot_of, slot
        self._caching_device = caching_device
        # None: the initial value's shape.
        known = None if shape is None and validate_shape else as_shape(shape)
        current = scopes.get_default_graph()
        graph, around = variable_reads.outermost(current.root), current.get_name_scope()
        if current is graph:
            self._build(graph, name, initial_value, dtype, known)
        else:  # made in a body or a dataset's function, it is lifted out of it: it is there once
            with graph.as_default(), scopes.name_scope(around + "/" if around else None):
                self._build(graph, name, initial_value, dtype, known)
        collection_keys = [GraphKeys.GLOBAL_VARIABLES] if collections is None else list(collections)
        if self.trainable and GraphKeys.TRAINABLE_VARIABLES not in collection_keys:
            collection_keys.append(GraphKeys.TRAINABLE_VARIABLES)
        graph.add_to_collections(collection_keys, self)
        variables_of(graph)[self._state_name] = self

    def _build(
        self,
        graph: Graph,
        name: str | None,
        initial_value: Any,
        dtype: Any,
        known: TensorShape | None,
    ) -> None:
        with (
            scopes.control_dependencies(None),
            scopes.operation_scope(name, "Variable") as scope,
        ):
            self._make_nodes(graph, scope, initial_value, dtype, known)

    def _make_nodes(
        self, graph: Graph, scope: str, initial_value: Any, dtype: Any, known: TensorShape | None
    ) -> None:
        base_dtype = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
        before = len(graph.operations)
        if callable(initial_value):
            with scopes.name_scope("Initializer"):
                value = convert_to_tensor(initial_value(), base_dtype, name="initial_value")
        else:
            value = convert_to_tensor(initial_value, base_dtype, name="initial_value")
        if value.graph is not graph:
            raise ValueError(
                f"the initial value '{value.name}' is inside a loop or branch, or a function "
                "of a dataset, but variables are made outside; give a callable that builds the "
                "initial value"
            )
        if known is None and not value.shape.is_fully_defined():
            raise ValueError(
                f"initial_value must have a shape specified: '{value.name}' has {value.shape}; "
                "give a value of known shape or validate_shape=False"
            )
        self._initial_value: Tensor | None = value
        if known is not None and not known.is_compatible_with(value.shape):
            raise ValueError(
                f"The initial value '{value.name}' of shape {value.shape} is not compatible with "
                f"the shape {known} that the variable is given"
            )
        self._shape = value.shape if known is None else known
        kind = value.dtype
        attrs = {"variable": scope[:-1], "dtype": kind, "shape": (kind, self._shape)}
        made = graph.add_operation(
            "Variable", [], [(kind, self._shape)], attrs,
            domain="graphio", name=scope, tf_type=_RESOURCE if self.use_resource else "VariableV2",
        )  # fmt: skip
        made.attrs["variable"] = made.name  # another than the scope's if that was re-entered
        self._variable = made.outputs[0]
        if callable(initial_value):
            _stand_beside(made, graph.operations[before:-1])
        with scopes.name_scope("Initializer"):
            first = initialized(value)
        line = made.source
        self._initializer: Operation | None = self._assign(first, "Assign", at=line).op
        cached = self._caching_device is not None
        with self._caching() if cached else contextlib.nullcontext():
            read = graph.add_operation(
                "Identity", [self._variable], [(kind, self._shape)], name="read", at=line
            )
        self._snapshot = read.outputs[0]
        if not (self.use_resource or cached):
            _stand_beside(made, [read])

    @contextlib.contextmanager
    def _caching(self) -> Iterator[None]:
        """Where a read on the caching device is: of a variable with use_resource there alone, of
        another one merged with the devices and colocations around it, as TensorFlow's."""
        alone = scopes.colocate_with(None, ignore_existing=True)
        with alone if self.use_resource else contextlib.nullcontext():
            with scopes.device(self._caching_device):
                yield

    @classmethod
    def of_nodes(
        cls,
        value: Tensor,
        initializer: Operation | None,
        initial_value: Tensor | None,
        snapshot: Tensor | None,
        trainable: bool,
        slot_of: str = "",
        slot: str = "",
        part: Part | None = None,
        modes: tuple[int, int] = (0, 0),
    ) -> Variable:
        """The variable of nodes that are there already; it joins no collection.

        Args:
            value: of the Variable node.
            initializer: the Assign node that gives the first value; None: the model has none.
            initial_value: what that assigns.
            snapshot: what plain uses read; None: value itself.
            trainable, slot_of, slot: as the constructor's.
            part: which part of a partitioned variable it is; None: it is not partitioned.
            modes: numbers of synchronization and aggregation; a mode of 0 (none) is left out.
        """
        made = cls.__new__(cls)
        made.trainable, made.constraint = trainable, None
        made.use_resource = value.op.tf_type == _RESOURCE
        made.slot_of, made.slot = slot_of, slot
        made._save_slice_info = part
        with contextlib.suppress(ValueError):
            made.synchronization = VariableSynchronization(modes[0])
        with contextlib.suppress(ValueError):
            made.aggregation = VariableAggregation(modes[1])
        made._variable, made._shape = value, value.shape
        made._initializer, made._initial_value = initializer, initial_value
        made._snapshot = value if snapshot is None else snapshot
        variables_of(value.graph)[value.op.name] = made
        return made

    # ---- properties ----

    @property
    def name(self) -> str:
        """The name of its value, "v:0"."""
        return self._variable.name

    @property
    def op(self) -> Operation:
        """Its operation, whose name is the variable's in state and checkpoints."""
        return self._variable.op  # type: ignore[no-any-return]

    @property
    def _state_name(self) -> str:
        """The variable's name in state and checkpoints."""
        return str(self._variable.op.name)

    @property
    def dtype(self) -> DType:
        """The element type."""
        return self._variable.dtype

    @property
    def shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    def get_shape(self) -> TensorShape:
        """The static shape."""
        return self._shape

    def set_shape(self, shape: Any) -> None:
        """Adds what the program knows of the shape."""
        self._shape = self._shape.merge_with(shape)
        self._variable.set_shape(shape)
        self._snapshot.set_shape(shape)

    @property
    def graph(self) -> Graph:
        """Its graph."""
        return self._variable.graph

    @property
    def device(self) -> str:
        """The requested device."""
        return self._variable.device

    @property
    def initializer(self) -> Operation:
        """The operation that gives the initial value.

        Raises:
            ValueError: the variable is of a model that has no initializer for it.
        """
        if self._initializer is None:
            raise ValueError(
                f"'{self._state_name}' was loaded from a model without its initializer; restore "
                "its value or load() one"
            )
        return self._initializer

    @property
    def initializer_or_none(self) -> Operation | None:
        """The initializer; None if the variable is of a model that has none for it."""
        return self._initializer

    @property
    def initial_value(self) -> Tensor | None:
        """The tensor or value given as the initial value, as a tensor."""
        return self._initial_value

    def start_from(self, value: Tensor) -> None:
        """Makes a tensor of the root graph the initial value, with an initializer for it."""
        graph = self.graph
        with graph.as_default(), scopes.control_dependencies(None), scopes.name_scope(None):
            self._initializer = self._assign(value, f"{self._state_name}/Assign").op
        self._initial_value = value

    def to_proto(self, export_scope: str | None = None) -> Any:
        """The names of its nodes, a VariableDef; None if it is outside the scope export_scope."""
        return registered.variable_def(self, export_scope)

    @staticmethod
    def from_proto(variable_def: Any, import_scope: str | None = None) -> Variable:
        """The variable of nodes of the default graph that to_proto described.

        Args:
            variable_def: the description.
            import_scope: the name scope that the nodes were imported into.

        Raises:
            KeyError: a node is not there. TypeError: it is not a VariableDef.
        """
        return Variable.of_nodes(**registered.variable_parts(variable_def, import_scope))

    @property
    def modes(self) -> tuple[int, int]:
        """The numbers of synchronization and aggregation."""
        return self.synchronization.value, self.aggregation.value

    def _set_save_slice_info(self, save_slice_info: Part | None) -> None:
        """Makes it a part of a partitioned variable."""
        self._save_slice_info = save_slice_info

    def _get_save_slice_info(self) -> Part | None:
        """The part of a partitioned variable that it is; None: it is not partitioned."""
        return self._save_slice_info

    # ---- reading ----

    @property
    def snapshot(self) -> Tensor:
        """`v/read`, which plain uses share: the value at the start of a run."""
        return self._snapshot

    def value(self) -> Tensor:
        """The tensor that a plain use reads here: the value at the start of the run; under a
        control dependency, and in a branch or loop that assigns the variable, the present one."""
        return variable_reads.read_here(self)

    def read_value(self) -> Tensor:
        """The value at this position of the order: it sees assignments made before."""
        return self._placed("read", scopes.get_default_graph())

    def new_read(self, graph: Graph) -> Tensor:
        """A read for a plain use that does not share `v/read`, at the end of a graph or body."""
        return self._placed(f"{self._state_name}/read/", graph, variable_reads.PLAIN)

    def _placed(self, name: str, graph: Graph, tf_type: str = "Identity") -> Tensor:
        if graph.encloses(self._snapshot):
            graph.capture(self._snapshot)  # by which a branch or loop has a gradient
        else:  # a function's model has a node of this name for the variable
            graph.reserve_name(self._snapshot.op.name)
        return self._read(name, graph, tf_type)

    def _read(self, name: str, graph: Graph, tf_type: str = "Identity") -> Tensor:
        made = graph.add_operation(
            "ReadVariable",
            [],
            [(self.dtype, self._shape)],
            self._attributes(),
            domain="graphio",
            name=name,
            tf_type=tf_type,
        )
        return made.outputs[0]

    def _attributes(self) -> dict[str, Any]:
        """Those of the operations that give its value."""
        kind = self.dtype
        return {"variable": self._state_name, "dtype": kind, "shape": (kind, self._shape)}

    def read_of_a_run(self, name: str) -> Tensor:
        """A read that a run's model has and the graph has not."""
        version = operators.version_for("ReadVariable", "graphio", [])
        made = Operation.of_node(
            self.graph, name, "ReadVariable", "graphio", version, self._attributes(), [],
            "Identity", self.op.source,
        )  # fmt: skip
        made.device = self.device
        made.outputs.append(Tensor(self.graph, made, 0, f"{name}:0", self.dtype, self._shape))
        return made.outputs[0]

    def initialized_value(self) -> Tensor:
        """The value if there is one, else the initial value; outside of branches and loops."""
        with init_scope():
            result: Tensor = registered.cond(
                is_variable_initialized(self),
                self.read_value,
                lambda: self.initializer.operands[0],
            )
            result.set_shape(self._shape)
            return result

    @tracebacks.shortening
    def eval(self, session: Any = None) -> Any:
        """The value in a session, the default one if None."""
        return self._variable.eval(session=session)

    def load(self, value: Any, session: Any = None) -> None:
        """Gives it a value in a session, without adding to the graph."""
        chosen = registered.session_of(self.graph, session, "load")
        chosen.run(self.initializer, {self.initializer.operands[0]: value})

    # ---- assigning ----

    def assign(
        self,
        value: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
        *,
        validate_shape: bool = True,
    ) -> Tensor | Any:
        """A tensor that gives the variable a new value when it is run, and is that value.

        Args:
            value: of the variable's dtype and shape; nothing is broadcast.
            use_locking: accepted; a run has no races.
            name: of the operation.
            read_value: False gives the operation in place of the tensor.
            validate_shape: False takes a value of any shape.

        Returns:
            The tensor; of a variable with use_resource, what acts as the variable after the
            assignment, so that its assign_add comes after it, and as the tensor.

        Raises:
            ValueError: the shape differs; with use_resource, also that a tensor's dtype does.
            TypeError: the dtype differs.
        """
        with scopes.operation_scope(name, "Assign") as scope:
            tensor = self._of_own_dtype(value, "Assign")
            if validate_shape:
                return self.after(self._assign(tensor, scope), read_value)
            made = self._assign_unchecked(tensor, tensor.shape, scope, "Assign")
            if not tensor.shape.is_fully_defined() or tensor.shape != self._shape:
                self._take_any_shape()
            return self.after(made, read_value)

    def after(self, assigned: Tensor, read_value: bool = True) -> Any:
        """The result of an assignment for the program: the tensor; of a variable with use_resource,
        the variable after it; the operation where the value is not to be read."""
        if not read_value:
            return assigned.op
        return AssignedVariable(self, assigned) if self.use_resource else assigned

    def _take_any_shape(self) -> None:
        """Forgets the static shape, in what reads the variable already, too."""
        if self._shape.ndims is None:
            return
        self._shape = self._variable._shape = self._snapshot._shape = TensorShape(None)
        pending = [self.graph]
        while pending:
            for operation in pending.pop().operations:
                pending += operation.bodies()
                if (
                    operation.attrs.get("variable") == self._state_name
                    and "shape" in operation.attrs
                ):
                    operation.attrs["shape"] = (self.dtype, self._shape)
        self.graph.changed()
        self.graph.root.shapes += 1

    def assign_add(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor | Any:
        """A tensor that adds delta to the variable when it is run, and is the new value; see
        assign."""
        return self.after(self._update("Add", delta, name, "AssignAdd"), read_value)

    def assign_sub(
        self,
        delta: Any,
        use_locking: bool = False,
        name: str | None = None,
        read_value: bool = True,
    ) -> Tensor | Any:
        """A tensor that subtracts delta from the variable when it is run, and is the new value; see
        assign."""
        return self.after(self._update("Sub", delta, name, "AssignSub"), read_value)

    def _assign(
        self, tensor: Tensor, name: str, tf_type: str = "Assign", at: Source | None = None
    ) -> Tensor:
        self._check_shape(tensor, tf_type)
        shape = self._shape.merge_with(tensor.shape)
        return self._assign_unchecked(tensor, shape, name, tf_type, at)

    def _assign_unchecked(
        self,
        tensor: Tensor,
        shape: TensorShape,
        name: str,
        tf_type: str,
        at: Source | None = None,
    ) -> Tensor:
        graph = scopes.get_default_graph()
        with graph.colocate_with(self._variable.op):
            made = graph.add_operation(
                "Assign",
                [tensor],
                [(tensor.dtype, shape)],
                {"variable": self._state_name},
                domain="graphio",
                name=name,
                tf_type=graph.applying or tf_type,
                at=at,
            )
        return made.outputs[0]

    def _update(self, op: str, delta: Any, name: str | None, tf_type: str) -> Tensor:
        with scopes.operation_scope(name, tf_type) as scope:
            tensor = self._of_own_dtype(delta, tf_type)
            self._check_shape(tensor, tf_type)
            graph = scopes.get_default_graph()
            read = by_handle(self._read("ReadVariable", graph), self.use_resource)
            dims = None if self._shape.ndims is None else tuple(self._shape.as_list())
            return self._assign(
                registered.node(op, [read, tensor], self.dtype, dims), scope, tf_type
            )

    def _of_own_dtype(self, value: Any, tf_type: str) -> Tensor:
        if not self.use_resource and isinstance(value, Tensor) and value.dtype != self.dtype:
            raise TypeError(
                f"Input 'value' of '{tf_type}' Op has type {value.dtype.name} that does not match "
                f"type {self.dtype.name} of argument 'ref', '{self.name}'; cast it"
            )
        return convert_to_tensor(value, dtype=self.dtype, name="value")

    def _check_shape(self, tensor: Tensor, tf_type: str) -> None:
        if not self._shape.is_compatible_with(tensor.shape):
            raise ValueError(
                f"{tf_type} to '{self._state_name}': {_difference(self._shape, tensor.shape)} "
                f"Shapes are {shape_text(self._shape)} and {shape_text(tensor.shape)}."
            )

    # ---- Python's protocols ----

    def _as_graph_element(self) -> Tensor:
        return self._variable

    def __iter__(self) -> Any:
        raise TypeError("'Variable' object is not iterable.")

    def __hash__(self) -> int:
        return id(self)

    def __eq__(self, other: object) -> bool:
        return self is other

    def __str__(self) -> str:
        return repr(self)

    def __repr__(self) -> str:
        ref = "" if self.use_resource else "_ref"  # as TensorFlow shows the two kinds
        return f"<tf.Variable '{self.name}' shape={self._shape} dtype={self.dtype.name}{ref}>"


_SIGNATURE = inspect.signature(Variable.__init__)


def _difference(one: TensorShape, two: TensorShape) -> str:
    if one.ndims != two.ndims:
        return f"Shapes must be equal rank, but are {one.ndims} and {two.ndims}."
    pairs = zip(one.as_list(), two.as_list(), strict=True)
    i, (a, b) = next((i, p) for i, p in enumerate(pairs) if None not in p and p[0] != p[1])
    return f"Dimension {i} in both shapes must be equal, but are {a} and {b}."


class AssignedVariable(Variable):
    """A variable as it is after an assignment: reading it reads what was assigned, and assigning
    to it comes after the assignment."""

    def __init__(self, variable: Variable, assigned: Tensor) -> None:
        vars(self).update(vars(variable))
        self._assigned = assigned

    @property
    def op(self) -> Operation:
        """The assignment."""
        return self._assigned.op  # type: ignore[no-any-return]

    @property
    def name(self) -> str:
        """The assignment's."""
        return self.op.name

    def value(self) -> Tensor:
        """The value that was assigned."""
        return self._assigned

    def eval(self, session: Any = None) -> Any:
        """Assigns, and gives what was assigned."""
        return self._assigned.eval(session=session)

    def _as_graph_element(self) -> Tensor:
        return self._assigned

    def _read(self, name: str, graph: Graph, tf_type: str = "Identity") -> Tensor:
        with scopes.control_dependencies([self._assigned.op]):
            return super()._read(name, graph, tf_type)


Tensor.share_operators(Variable)


def initialized(tensor: Tensor) -> Tensor:
    """The tensor with initialized_value() in the place of every variable that it depends on.

    So one run may initialise variables of which one's initial value depends on another's.
    """
    graph = tensor.graph
    if tensor.op.op == "Constant":
        return tensor
    operations = _made_again(tensor)
    if not any(operation.op == "Variable" for operation in operations):
        return tensor
    made: dict[Tensor, Tensor] = {}
    for operation in sorted(operations, key=lambda op: op.order):
        variable = variables_of(graph).get(operation.name)
        if operation.op == "Variable" and variable is not None:
            made[operation.outputs[0]] = made[variable.snapshot] = variable.initialized_value()
        elif operation.outputs[0] not in made and any(t in made for t in operation.operands):
            again = graph.add_operation(
                operation.op,
                [made.get(t, t) for t in operation.operands],
                [(t.dtype, t.shape) for t in operation.outputs],
                operation.attrs,
                domain=operation.domain,
                version=operation.version,
                name=operation.name.rsplit("/", 1)[-1],
                tf_type=operation.tf_type,
            )
            made.update(zip(operation.outputs, again.outputs, strict=True))
    return made[tensor]


def _made_again(tensor: Tensor) -> set[Operation]:
    """Operations a tensor depends on; empty if any has bodies or effects, which are made once."""
    found: set[Operation] = set()
    pending = [tensor.op]
    while pending:
        operation = pending.pop()
        if operation.op == "Assign" or operation.bodies():
            return set()
        if operation not in found:
            found.add(operation)
            pending.extend(t.op for t in operation.operands if t is not None)
    return found


def _convert(
    value: Variable, dtype: Any = None, name: str | None = None, as_ref: bool = False
) -> Tensor:
    return of_dtype(value.value(), dtype)


register_tensor_conversion_function(Variable, _convert)


def variables_of(graph: Graph) -> dict[str, Variable]:
    """All variables ever made in a graph, by name."""
    return VARIABLES.of(graph)


@api_guard.guarded
@scopes.in_graph_of_inputs
def is_variable_initialized(variable: Variable, name: str | None = None) -> Tensor:
    """A bool scalar: whether the variable has a value."""
    made = scopes.get_default_graph().add_operation(
        "IsInitialized",
        [],
        [(dtypes.bool, TensorShape([]))],
        {"variable": variable.op.name},
        domain="graphio",
        name=name or "IsVariableInitialized",
        tf_type="IsVariableInitialized",
    )
    return made.outputs[0]


def _stand_beside(variable: Operation, operations: Sequence[Operation]) -> None:
    """Tells colocation_groups that operations, if of no other group, are in the variable's."""
    groups, beside = COLOCATION_GROUPS.of(variable.graph), variable.colocation_groups()
    for operation in operations:
        groups.setdefault(operation, beside)


def _use_resource(given: bool | None) -> bool:
    """The given value, or else the variable scope's, or else the program's default."""
    if given is None:
        given = registered.scope_uses_resource()
    return behavior.resource_variables_enabled() if given is None else bool(given)


def is_trainable(trainable: Any, synchronization: Any) -> bool:
    """Whether optimizers change a variable made with these arguments."""
    if trainable is None:
        return bool(synchronization != VariableSynchronization.ON_READ)
    return bool(trainable)


def variable_behind(ref: Any) -> Any:
    """The variable whose own tensor ("v:0") ref is; ref itself if it is something else."""
    if isinstance(ref, Tensor) and ref.op.op == "Variable":
        return variables_of(ref.graph).get(ref.op.name, ref)
    return ref
