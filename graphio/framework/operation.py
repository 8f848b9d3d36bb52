"""Operation: a node of a graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from graphio.engine.pickling import Handle
from graphio.framework import registered, tracebacks
from graphio.framework.dtypes import DType
from graphio.framework.graph_state import attachments
from graphio.framework.graph_state.attachments import COLOCATION_GROUPS, Attachment
from graphio.framework.source import NOWHERE, Source
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.undo import Table

if TYPE_CHECKING:
    from graphio.framework.graph import Graph


#: attributes that TensorFlow's operation has where ours are several nodes
TENSORFLOW_ATTRIBUTES: Attachment[Table[Operation, dict[str, Any]]] = attachments.table(
    "tensorflow_attributes"
)
#: operators of ours that name in an attribute the variable that they concern
_OF_VARIABLES = frozenset({"Assign", "IsInitialized", "ReadVariable"})


class OpDef(NamedTuple):
    """The description of a type of operations.

    Attributes:
        name: of the type, as TensorFlow calls it.
    """

    name: str


class Operation(Handle):
    """A node of a graph. Called, the class adds one of TensorFlow's types, as Graph.create_op does.

    Args:
        node_def: a NodeDef: the name, which is made unique, the type, the device and attributes.
        g: the graph.
        inputs: tensors of it; None: none.
        output_types: dtypes of the outputs of a type that graphio does not have; None: it has none.
        control_inputs: operations, or tensors, that the new one waits for; None: none.
        input_types, original_op, op_def: accepted: inputs are never references, and types describe
            themselves.

    Attributes:
        name: unique in the root graph and all its bodies.
        op: the operator, domain: its domain, version: the operator's version.
        attrs: attributes by name.
        operands: what the node of a file reads: tensors, None where an optional one is absent.
        outputs: tensors.
        awaited: operations that the node of a file waits for.
        order: grows with creation, across a root graph and its bodies.
        source: the user's line.

    Raises:
        TypeError: an argument is of another type.
        ValueError: the name is malformed, an input is of another graph, or inputs or attributes do
            not fit the type.
    """

    __slots__ = (
        "__dict__",  # of what a program sets
        "attrs",
        "awaited",
        "device",
        "domain",
        "graph",
        "name",
        "op",
        "operands",
        "order",
        "outputs",
        "source",
        "tf_type",
        "version",
    )

    graph: Graph
    name: str
    op: str
    domain: str
    version: int
    attrs: dict[str, Any]
    operands: list[Any]
    outputs: list[Tensor]
    awaited: list[Operation]
    device: str
    tf_type: str | None
    order: float
    source: Source

    def __new__(
        cls,
        node_def: Any,
        g: Graph,
        inputs: Sequence[Tensor] | None = None,
        output_types: Sequence[Any] | None = None,
        control_inputs: Sequence[Any] | None = None,
        input_types: Any = None,
        original_op: Operation | None = None,
        op_def: Any = None,
    ) -> Operation:
        return registered.operation_of_node_def(
            node_def, g, inputs or (), output_types, control_inputs or ()
        )

    @classmethod
    def of_node(
        cls,
        graph: Graph,
        name: str,
        op: str,
        domain: str,
        version: int,
        attrs: dict[str, Any],
        inputs: list[Any],
        tf_type: str | None = None,
        at: Source = NOWHERE,
    ) -> Operation:
        """An operation that no graph lists yet, without outputs; see the attributes."""
        self = object.__new__(cls)
        self.graph = graph
        self.name = name
        self.op = op
        self.domain = domain
        self.version = version
        self.attrs = attrs
        self.operands = inputs
        self.outputs = []
        self.awaited = []
        self.device = ""
        self.tf_type = tf_type
        self.order = 0
        self.source = at
        return self

    @property
    def inputs(self) -> tuple[Any, ...]:
        """The tensors that it reads, None where an optional one is absent, but of a loop those that
        there are; of what assigns or reads a variable by its name, that variable's tensor comes
        first, as in TensorFlow."""
        if self.op == "Loop":
            return tuple(tensor for tensor in self.operands if tensor is not None)
        if self.domain == "graphio" and self.op in _OF_VARIABLES:
            variable = self.graph.find_operation(self.attrs["variable"])
            if variable is not None:
                return (variable.outputs[0], *self.operands)
        return tuple(self.operands)

    @property
    def control_inputs(self) -> list[Operation]:
        """The operations that it waits for, but not those that a constant which it reads waits for
        already; to be sure, the node of a file waits for them, too."""
        if not self.awaited:
            return []
        constants = [t.op for t in self.operands if t is not None and t.op.op == "Constant"]
        before = {operation for constant in constants for operation in constant.awaited}
        return [operation for operation in self.awaited if operation not in before]

    @property
    def type(self) -> str:
        """TensorFlow's type."""
        return self.tf_type or self.op

    @property
    def where(self) -> str:
        """The user's line as errors write it: " (train.py:88 in build)" or ""."""
        return f" ({self.source})" if self.source.file else ""

    def colocation_groups(self) -> list[bytes]:
        """TensorFlow's groups of operations on one device: those of the operations that
        colocate_with named for it; else of an assignment its variable's, else its own."""
        given: list[bytes] | None = COLOCATION_GROUPS.of(self.graph).get(self)
        if given is not None:
            return list(given)
        assigns = self.op == "Assign" and self.domain == "graphio"
        name = self.attrs["variable"] if assigns else self.name
        return [b"loc:@" + name.encode()]

    @property
    def traceback(self) -> list[tuple[str, int, str, str]]:
        """The user's line: one (file, line, function, text), the text empty; none if unknown."""
        at = self.source
        return [(at.file, at.line, at.function, "")] if at.file else []

    @property
    def traceback_with_start_lines(self) -> list[tuple[str, int, str, str, int]]:
        """As traceback, with the line where the function begins at the end of each."""
        at = self.source
        return [(*frame, at.start) for frame in self.traceback]

    @property
    def captures(self) -> list[Tensor]:
        """The values that the operation's bodies read from outside, each once."""
        found: dict[Tensor, None] = {}
        for body in self.bodies():
            found.update(dict.fromkeys(t for t in body.captures if t.graph is not body))
        return list(found)

    def bodies(self) -> list[Graph]:
        """The subgraphs among the attributes."""
        kind, found = type(self.graph), []
        for value in self.attrs.values():
            if isinstance(value, kind):
                found.append(value)
        return found

    def append_outputs(self, specs: Sequence[tuple[DType, TensorShape]]) -> list[Tensor]:
        """Trailing outputs for an If, Loop or Scan: the one change an operation may undergo."""
        added = []
        for dtype, shape in specs:
            index = len(self.outputs)
            tensor = Tensor(self.graph, self, index, f"{self.name}:{index}", dtype, shape)
            self.outputs.append(tensor)
            added.append(tensor)
        self.graph.root.changed()
        return added

    def adopt_output(self, tensor: Tensor, at: int | None = None) -> None:
        """As append_outputs, of a tensor that has stood for the output so far; at: before which
        output of a Loop it comes, None: after all."""
        self.outputs.insert(len(self.outputs) if at is None else at, tensor)
        for index, output in enumerate(self.outputs):
            output.value_index = index
            output.name = f"{self.name}:{index}"
        self.graph.root.changed()

    def insert_input(self, at: int, tensor: Tensor) -> None:
        """One more initial value for a Loop or Scan whose gradient carries one more."""
        self.operands.insert(at, tensor)
        tensor.add_consumer(self)

    def _let_go(self, nowhere: Graph) -> None:
        """Takes the operation out of its inputs' consumers and into a graph that has no user.

        The last operation of a graph goes first, so it is the last consumer, too.
        """
        for tensor in self.operands:
            if tensor is not None:
                tensor.drop_consumer(self)
        self.graph = nowhere
        for output in self.outputs:
            output.graph = nowhere

    @tracebacks.shortening
    def run(self, feed_dict: Any = None, session: Any = None) -> None:
        """Runs the operation by the default session or the one given; see Session.run."""
        registered.session_of(self.graph, session, "run").run(self, feed_dict)

    def get_attr(self, name: str) -> Any:
        """An attribute as TensorFlow gives it: a DType, number, bytes, TensorShapeProto,
        TensorProto or a list of these.

        Raises:
            ValueError: there is none of the name.
        """
        return registered.attribute_of(self, name)

    def values(self) -> tuple[Tensor, ...]:
        """The outputs."""
        return tuple(self.outputs)

    @property
    def node_def(self) -> Any:
        """The operation as a NodeDef, a view of a Node message."""
        return registered.node_def(self)

    @property
    def op_def(self) -> OpDef:
        """The description of the operation's type: its name."""
        return OpDef(self.type)

    def __str__(self) -> str:
        return registered.operation_text(self)

    def __repr__(self) -> str:
        return f"<tf.Operation '{self.name}' type={self.type}>"
