"""Rows of tables by numbers of any shape."""

from __future__ import annotations

from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.scopes import name_scope
from graphio.ops.array import surface as array
from graphio.ops.nn.statistics import embedding_lookup as lookup
from graphio.support import api_guard
from graphio.variables.variable_scope import get_variable, variable_scope

__all__ = ["categorical_variable", "embedding_lookup"]


@api_guard.operator
def embedding_lookup(params: Any, ids: Any, name: str = "embedding_lookup") -> Tensor:
    """The rows of a table.

    Args:
        params: [n, ...].
        ids: integers of any shape.

    Returns:
        the shape of ids, and that of a row.
    """
    with name_scope(name, "embedding_lookup", [params, ids]):
        table, numbers = convert_to_tensor(params), convert_to_tensor(ids)
        shape = array.shape(numbers)
        rows = lookup(table, array.reshape(numbers, [-1]), name=name)
        found: Tensor = array.reshape(rows, array.concat([shape, array.shape(table)[1:]], 0))
        found.set_shape(numbers.shape.concatenate(table.shape[1:]))
        return found


@api_guard.makes_variables
def categorical_variable(tensor_in: Any, n_classes: int, embedding_size: int, name: str) -> Tensor:
    """A trained vector for each class.

    Args:
        tensor_in: integers of any shape.
        name: the scope; the variable is <name>/<name>_embeddings, [n_classes, embedding_size].

    Returns:
        the shape of tensor_in, and embedding_size.
    """
    with variable_scope(name):
        table = get_variable(f"{name}_embeddings", [n_classes, embedding_size])
        return embedding_lookup(table, tensor_in)
