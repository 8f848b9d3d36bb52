"""Operations by TensorFlow's type, as Graph.create_op makes them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from graphio.engine import custom
from graphio.framework import registered, scopes
from graphio.framework.dtypes import as_dtype
from graphio.framework.graph import Graph
from graphio.framework.graph_state import names
from graphio.framework.graph_state.attachments import VARIABLES
from graphio.framework.operation import Operation
from graphio.framework.tensor import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.protos.node_def import AttrValue, NodeDef, make_ndarray
from graphio.schema import tensorflow_pb2
from graphio.support import errors

__all__ = ["DOMAIN", "built", "create", "fill_shape", "message", "of_node_def", "operation_of"]

#: domain of the types that graphio does not build, under which a program may register them
DOMAIN = "tensorflow"
_NEWEST = (1 << 31) - 1  # version of a registered operator
#: attributes that TensorFlow takes from the element type of the first input
_OF_FIRST_INPUT = ("T", "SrcT")


@registered.create_by_type.register
def create(
    graph: Graph,
    op_type: str,
    inputs: Sequence[Any],
    dtypes: Sequence[Any] | None,
    name: str | None,
    attrs: Mapping[str, Any] | None,
) -> Operation:
    """See Graph.create_op."""
    # The builders of all types are loaded for programs that create operations by type only.
    from graphio.ops.state.custom_operators import CustomOperator
    from graphio.tensorflow_files import control, importing

    for i, value in enumerate(inputs):
        if not isinstance(value, Tensor):
            raise TypeError(f"Input #{i} is not a tensor: {value!r}")
    if op_type in importing.VARIABLES or op_type in control.ROWS:
        raise errors.UnimplementedError(
            message=f"create_op makes no {op_type}: graphio makes variables, loops and branches by "
            "functions; use tf.Variable, tf.cond or tf.while_loop"
        )
    with graph.as_default():
        if _builder(op_type) is not None:
            given = {key: message(value) for key, value in (attrs or {}).items()}
            return operation_of(built(graph, op_type, inputs, name or op_type, given))
        plain = {key: _plain(value) for key, value in (attrs or {}).items()}
        registered = custom.find(DOMAIN, op_type, _NEWEST)
        if registered is not None:
            made = CustomOperator(registered)(*inputs, name=name or op_type, **plain)
            return operation_of(made)
        kinds = [as_dtype(kind).base_dtype for kind in dtypes or ()]
        return graph.add_operation(
            op_type,
            inputs,
            [(kind, TensorShape(None)) for kind in kinds],
            plain,
            domain=DOMAIN,
            version=1,
            name=name or op_type,
        )


@registered.operation_of_node_def.register
def of_node_def(
    node_def: Any,
    graph: Graph,
    inputs: Sequence[Any],
    dtypes: Sequence[Any] | None,
    control_inputs: Sequence[Any],
) -> Operation:
    """See graphio.Operation."""
    if not isinstance(node_def, NodeDef):
        raise TypeError(f"node_def needs to be a NodeDef: {node_def!r}")
    if not isinstance(graph, Graph):
        raise TypeError(f"g needs to be a Graph: {graph!r}")
    if not isinstance(inputs, (list, tuple)):
        raise TypeError(f"inputs needs to be a list of Tensors: {inputs!r}")
    for value in control_inputs:
        if not isinstance(value, (Operation, Tensor)):
            raise TypeError(f"Control input must be an Operation or a Tensor: {value!r}")
    name, device = node_def.name, node_def.device
    try:
        names.check(name)
    except ValueError:
        raise ValueError(f"'{name}' is not a valid node name") from None
    if graph.find_operation(name) is not None:
        raise ValueError(f"Duplicate node name in graph: '{name}'")
    with graph.as_default(), scopes.control_dependencies(None):  # not those of open contexts
        with scopes.control_dependencies(control_inputs), scopes.device(device or None):
            return graph.create_op(
                node_def.op, inputs, dtypes, name=f"{name}/", attrs=dict(node_def.attr)
            )


def _builder(op_type: str) -> Callable[[Any], Any] | None:
    """The builder of a type; None where graphio has no such operator."""
    from graphio.ops.array import surface as array
    from graphio.ops.control_flow import branches
    from graphio.tensorflow_files import operators

    if op_type == "Identity":
        return lambda call: array.identity(call[0], name=call.name)
    if op_type == "NoOp":
        return lambda call: branches.no_op(call.name)
    return operators.ROWS.get(op_type)


def built(
    graph: Graph, op_type: str, inputs: Sequence[Any], name: str, given: dict[str, Any]
) -> Any:
    """The result of the builder of a type, as nodes of TensorFlow's graphs are read.

    Args:
        graph: the default graph.
        op_type: a type that graphio builds.
        inputs: tensors and variables.
        name: of the operation.
        given: attributes as messages.
    """
    from graphio.tensorflow_files.bodies import Node
    from graphio.tensorflow_files.calls import Call, Handle

    for key in _OF_FIRST_INPUT if inputs else ():
        kind = tensorflow_pb2.AttrValue()
        kind.type = inputs[0].dtype.base_dtype.as_datatype_enum
        given.setdefault(key, kind)
    variables = VARIABLES.of(graph)
    values = [
        Handle(t.op.name, variables[t.op.name], True) if t.op.name in variables else t
        for t in inputs
    ]
    build = _builder(op_type)
    assert build is not None
    try:
        return build(Call(Node(name, op_type, (), (), given), values, name))
    except ValueError as error:
        raise ValueError(f"{op_type} '{name}': {error}") from None


def operation_of(made: Any) -> Operation:
    """The operation of what a builder gives: it, its output, or its outputs."""
    first = made[0] if isinstance(made, (list, tuple)) else made
    operation = first if isinstance(first, Operation) else first.op
    assert isinstance(operation, Operation)
    return operation


def message(value: Any) -> Any:
    """An attribute as TensorFlow's message."""
    if not hasattr(value, "SerializeToString"):
        raise TypeError(f"an attribute is {value!r}, expected a tf.AttrValue")
    if not isinstance(value, AttrValue):
        return tensorflow_pb2.AttrValue.FromString(value.SerializeToString())
    made, kind = tensorflow_pb2.AttrValue(), value.WhichOneof()
    if kind == "tensor":
        from graphio.summary.encoding import tensor_of

        content = tensor_of(make_ndarray(value.tensor)).SerializeToString()
        made.tensor.ParseFromString(content)
    elif kind == "shape":
        fill_shape(made.shape, value.shape.shape())
    elif kind == "list":
        for field in ("i", "f", "s"):
            getattr(made.list, field).extend(getattr(value.list, field))
    elif kind is not None:
        setattr(made, kind, getattr(value, kind))
    return made


def fill_shape(message: Any, shape: TensorShape) -> None:
    """Writes a shape into TensorFlow's message."""
    message.unknown_rank = shape.ndims is None
    for size in shape.sizes or ():
        message.dim.add(size=-1 if size is None else size)


def _plain(value: Any) -> Any:
    """An attribute's value as operations of ours have it."""
    held = message(value)
    kind = held.WhichOneof("value")
    if kind == "type":
        return as_dtype(held.type)
    if kind == "list":
        lists = [list(values) for _, values in held.list.ListFields()]
        return lists[0] if lists else []
    if kind not in ("i", "b", "f", "s"):
        raise ValueError(
            f"an attribute is a {kind}, expected a number, bool, text, dtype or a list of numbers "
            f"or strings of an operator that graphio does not have"
        )
    return getattr(held, kind)
