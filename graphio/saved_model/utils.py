"""TensorInfo of a tensor, and back."""

from __future__ import annotations

from typing import Any

from graphio.framework import scopes
from graphio.framework.graph import Graph, Tensor
from graphio.framework.sparse_tensor import SparseTensor
from graphio.protos.signature_def import TensorInfo
from graphio.support import api_guard

__all__ = ["build_tensor_info", "get_tensor_from_tensor_info"]


@api_guard.guarded
def build_tensor_info(tensor: Any) -> TensorInfo:
    """The description of a tensor for a signature: its name, dtype and static shape.

    Args:
        tensor: a tensor, a SparseTensor, or a variable, which stands for its value.

    Raises:
        TypeError: it is neither.
    """
    if isinstance(tensor, SparseTensor):
        return TensorInfo.of_sparse(tensor)
    convert = getattr(tensor, "_as_graph_element", None)
    element = convert() if convert is not None else tensor
    if not isinstance(element, Tensor):
        raise TypeError(f"a signature describes tensors, not {type(tensor).__name__}")
    return TensorInfo.of_tensor(element)


@api_guard.guarded
def get_tensor_from_tensor_info(
    tensor_info: TensorInfo, graph: Graph | None = None, import_scope: str | None = None
) -> Tensor | SparseTensor:
    """The tensor that a description names.

    Args:
        tensor_info: what build_tensor_info gave.
        graph: to look in; None: the default graph.
        import_scope: the name scope that the graph was imported into.

    Raises:
        KeyError: there is no such tensor. ValueError: the description names none.
    """
    encoding = tensor_info.WhichOneof("encoding")
    if encoding is None:
        raise ValueError(f"Invalid TensorInfo.encoding: {tensor_info!r}")
    chosen = scopes.get_default_graph() if graph is None else graph
    prefix = f"{import_scope}/" if import_scope else ""
    if encoding == "name":
        return chosen.get_tensor_by_name(prefix + tensor_info.name)
    names = tensor_info.coo_sparse
    indices, values, dense_shape = (
        chosen.get_tensor_by_name(prefix + name)
        for name in (
            names.indices_tensor_name,
            names.values_tensor_name,
            names.dense_shape_tensor_name,
        )
    )
    return SparseTensor(indices, values, dense_shape)
