"""VariableDef: which nodes a variable is, a view of a Variable message."""

from __future__ import annotations

from typing import Any

from graphio.framework import registered, scopes
from graphio.framework.save_slice_info import read_part, write_part
from graphio.model.node_writer import set_shape, value_name
from graphio.protos.node_def import View, message_of
from graphio.schema import model_pb2

__all__ = ["VariableDef", "describe", "parts"]

#: TensorFlow's names of the fields that name tensors
_TENSORS = {
    "variable_name": "node",
    "initial_value_name": "initial_value",
    "snapshot_name": "snapshot",
}
_FIELDS = {**_TENSORS, "initializer_name": "initializer"}


class VariableDef(View):
    """The nodes of a variable.

    Attributes:
        variable_name, initial_value_name, snapshot_name: names of tensors, "v:0".
        initializer_name: name of an operation.
        trainable: whether optimizers change it.
    """

    def __init__(self) -> None:
        self._message = model_pb2.Variable()

    @property
    def initializer_name(self) -> str:
        """The operation that gives the initial value."""
        return str(self._message.initializer)

    def ClearField(self, field_name: str) -> None:
        """Clears a field."""
        self._message.ClearField(_FIELDS.get(field_name, field_name))

    def __getattr__(self, name: str) -> Any:
        if name not in _TENSORS:
            return super().__getattr__(name)
        value = getattr(self._message, _TENSORS[name])
        return f"{value}:0" if value and ":" not in value else value


@registered.variable_def.register
def describe(variable: Any, export_scope: str | None) -> VariableDef | None:
    """The description of a variable; names lose export_scope, outside it there is none."""
    prefix = f"{export_scope}/" if export_scope else ""
    if not variable.name.startswith(prefix):
        return None
    made = VariableDef()
    message = made._message
    message.name = message.node = variable.op.name
    message.dtype, message.trainable = variable.dtype.number, variable.trainable
    message.slot_of, message.slot = variable.slot_of, variable.slot
    if variable.shape.ndims is not None:
        set_shape(message.shape, variable.shape)
    message.snapshot = value_name(variable.snapshot)
    if variable.initializer_or_none is not None:
        message.initializer = variable.initializer.name
        if variable.initial_value is not None:
            message.initial_value = value_name(variable.initializer.operands[0])
    for field in ("name", "node", "slot_of", "snapshot", "initializer", "initial_value"):
        setattr(message, field, getattr(message, field).removeprefix(prefix))
    write_part(variable._save_slice_info, message, prefix)
    message.synchronization, message.aggregation = variable.modes
    return made


@registered.variable_parts.register
def parts(variable_def: Any, import_scope: str | None) -> dict[str, Any]:
    """The arguments of Variable.of_nodes for nodes of the default graph.

    Raises:
        TypeError: variable_def is none. KeyError: a node is not in the graph.
    """
    message = message_of(variable_def)
    if not isinstance(message, model_pb2.Variable):
        raise TypeError(f"variable_def must be a VariableDef, not {type(variable_def).__name__}")
    graph = scopes.get_default_graph().root
    prefix = f"{import_scope}/" if import_scope else ""

    def tensor(field: str) -> Any:
        name = getattr(variable_def, field)
        return graph.get_tensor_by_name(prefix + name) if name else None

    initializer, value = message.initializer, tensor("variable_name")
    return {
        "value": value,
        "initializer": graph.get_operation_by_name(prefix + initializer) if initializer else None,
        "initial_value": tensor("initial_value_name"),
        "snapshot": tensor("snapshot_name"),
        "trainable": message.trainable,
        "slot_of": prefix + message.slot_of if message.slot_of else "",
        "slot": message.slot,
        "part": None if value is None else read_part(message, value.shape, prefix),
        "modes": (message.synchronization, message.aggregation),
    }
