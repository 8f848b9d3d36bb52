"""tf.import_graph_def: the nodes of a GraphDef into the default graph."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from typing import Any

from google.protobuf.message import DecodeError, Message

from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Operation, Tensor
from graphio.model import registered
from graphio.model.importing import Imported, Importer
from graphio.protos.graph_def import GraphDef, foreign_of, functions_of, graph_def_of
from graphio.schema import tensorflow_pb2
from graphio.support import api_guard, errors

__all__ = ["element_of", "import_graph_def"]


@api_guard.guarded
def import_graph_def(
    graph_def: Any,
    input_map: Mapping[str, Any] | None = None,
    return_elements: Sequence[str] | None = None,
    name: str | None = None,
    op_dict: Any = None,
    producer_op_list: Any = None,
) -> Any:
    """Adds the nodes of a GraphDef to the default graph; its variables have no value.

    Args:
        graph_def: what Graph.as_graph_def gives, or TensorFlow's own: its bytes or the message of
            them. Its nodes may be in any order.
        input_map: names of values in it ("x:0" or "x") to tensors that are read instead.
        return_elements: names of what to return: "y:0" a tensor, "y" an operation.
        name: prefix of the names, made unique; None: "import"; "": none.
        op_dict: accepted, must be None in TensorFlow, too.
        producer_op_list: accepted.

    Returns:
        The requested elements; None if return_elements is None. Collections are not touched.

    Raises:
        TypeError: graph_def is none, or an argument is of another type.
        ValueError: a node reads what is not there, a name of input_map or return_elements is not
            in graph_def, or a replacement is of another dtype.
        NotFoundError: a type of operation that there is not.
        UnimplementedError, InvalidArgumentError: TensorFlow's own graph has operators that graphio
            lacks, or contradicts itself; all problems are listed.
    """
    _check_arguments(input_map, return_elements)
    foreign = _tensorflow_graph(graph_def)
    if foreign is not None:
        return _import_foreign(foreign, input_map or {}, return_elements, name)
    model = graph_def_of(graph_def)
    graph = scopes.get_default_graph()
    with graph.unchanged_on_error(), scopes.name_scope("import" if name is None else name):
        replaced = _replacements(input_map or {}, name)
        importer = Importer(graph.root, [], replaced, functions=functions_of(graph_def))
        importer.graph_and_state(model, graph)
        _check_replaced(replaced, importer.found)
        found = [
            element_of(element, importer.found.operations, replaced)
            for element in return_elements or ()
        ]
    return None if return_elements is None else found


def _tensorflow_graph(graph_def: Any) -> Any:
    """The message of TensorFlow's that graph_def is; None where it is one of ours."""
    found = foreign_of(graph_def)
    if found is not None:
        return found
    is_message = isinstance(graph_def, Message)
    if is_message and graph_def.DESCRIPTOR.full_name == "tensorflow.GraphDef":
        return tensorflow_pb2.GraphDef.FromString(graph_def.SerializeToString())
    if isinstance(graph_def, bytes):
        parsed = GraphDef()
        try:
            parsed.ParseFromString(graph_def)
        except DecodeError as error:
            raise errors.DataLossError(
                message=f"the {len(graph_def)} bytes given as graph_def are not a GraphDef, or "
                f"are damaged or cut off ({error})"
            ) from None
        return foreign_of(parsed)
    return None


def _import_foreign(
    graph_def: tensorflow_pb2.GraphDef,
    input_map: Mapping[str, Any],
    return_elements: Sequence[str] | None,
    name: str | None,
) -> list[Tensor | Operation] | None:
    """import_graph_def of TensorFlow's own message."""
    graph = scopes.get_default_graph()
    with graph.unchanged_on_error(), scopes.name_scope("import" if name is None else name):
        replaced = _replacements(input_map, name)
        found = registered.import_tensorflow_nodes(graph_def, replaced, return_elements or ())
        elements = [
            _foreign_element(element, found.values, found.operations)
            for element in return_elements or ()
        ]
    return None if return_elements is None else elements


def _foreign_element(
    name: str, values: Mapping[str, Tensor], operations: Mapping[str, Operation]
) -> Tensor | Operation:
    table: Mapping[str, Tensor | Operation] = values if ":" in name else operations
    if name not in table:
        raise ValueError(f"Requested return_element '{name}' not found in graph_def.")
    return table[name]


def _check_replaced(replaced: Mapping[str, Tensor], found: Imported) -> None:
    missing = [key if ":" in key else f"{key}:0" for key in replaced if key not in found.values]
    if missing:
        raise ValueError(
            f"Attempted to map inputs that were not found in graph_def: [{', '.join(missing)}]"
        )


def _check_arguments(input_map: Any, return_elements: Any) -> None:
    if input_map is not None and not (
        isinstance(input_map, Mapping) and all(isinstance(k, str) for k in input_map)
    ):
        raise TypeError(
            "Argument `input_map` must be a dictionary mapping strings to Tensor objects. "
            f"Received: {input_map!r}."
        )
    if return_elements is not None and (
        isinstance(return_elements, str)
        or not isinstance(return_elements, Sequence)
        or not all(isinstance(name, str) for name in return_elements)
    ):
        raise TypeError(
            f"Argument `return_elements` must be a list of strings. Received: {return_elements!r}."
        )


def _replacements(input_map: Mapping[str, Any], name: str | None) -> dict[str, Tensor]:
    """Tensors by the value that they replace: "x:0" is the value "x" of a message."""
    if name == "" and not all(isinstance(v, Tensor) for v in input_map.values()):
        raise ValueError(
            "tf.import_graph_def() requires a non-empty `name` if `input_map` contains non-Tensor "
            "values. Try calling tf.convert_to_tensor() on `input_map` values before calling "
            "tf.import_graph_def()."
        )
    made = {}
    for key, value in input_map.items():
        is_tensor = isinstance(value, Tensor)
        with contextlib.nullcontext() if is_tensor else scopes.name_scope("_inputs"):
            made[key.removesuffix(":0")] = convert_to_tensor(value)
    return made


def element_of(
    name: str, operations: Mapping[str, Operation], replaced: Mapping[str, Tensor]
) -> Tensor | Operation:
    """Resolves a name in the message: an operation, or with an index a tensor."""
    node, colon, index = name.partition(":")
    operation = operations.get(node)
    if operation is None or (
        colon and not (index.isdigit() and int(index) < len(operation.outputs))
    ):
        raise ValueError(f"Requested return_element '{name}' not found in graph_def.")
    if not colon:
        return operation
    return replaced.get(name.removesuffix(":0"), operation.outputs[int(index)])
