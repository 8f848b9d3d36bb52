"""TensorInfo of a tensor, and back."""

from __future__ import annotations

from typing import Any

from graphio import scopes
from graphio.graph import Graph, Tensor
from graphio.signature_def import TensorInfo

__all__ = ["build_tensor_info", "get_tensor_from_tensor_info"]


def build_tensor_info(tensor: Any) -> TensorInfo:
    """The description of a tensor for a signature: its name, dtype and static shape.

    Args:
        tensor: a tensor, or a variable, which stands for its value.

    Raises:
        TypeError: it is neither.
    """
    convert = getattr(tensor, "_as_graph_element", None)
    element = convert() if convert is not None else tensor
    if not isinstance(element, Tensor):
        parts = " (give its parts, each with a key)" if hasattr(tensor, "indices") else ""
        raise TypeError(f"a signature describes tensors, not {type(tensor).__name__}{parts}")
    return TensorInfo.of_tensor(element)


def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: Graph | None = None, import_scope: str | None = None
) -> Tensor:
    """The tensor that a description names.

    Args:
        tensor_info: what build_tensor_info gave.
        graph: to look in; None: the default graph.
        import_scope: the name scope that the graph was imported into.

    Raises:
        KeyError: there is no such tensor. ValueError: the description names none.
    """
    if not tensor_info.name:
        raise ValueError(f"Invalid TensorInfo.encoding: {tensor_info!r}")
    chosen = scopes.get_default_graph() if graph is None else graph
    prefix = f"{import_scope}/" if import_scope else ""
    return chosen.get_tensor_by_name(prefix + tensor_info.name)
