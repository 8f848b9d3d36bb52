"""Shared by layers: collections and aliases of outputs, sizes, conditions that may be known."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple

from graphio.framework import scopes
from graphio.framework.collections import add_to_collections, get_collection
from graphio.framework.folding import constant_value as _constant_value
from graphio.framework.graph import Tensor
from graphio.framework.graph_state import attachments
from graphio.framework.graph_state.attachments import Attachment
from graphio.framework.tensor_shape import TensorShape
from graphio.framework.undo import Table
from graphio.framework.variable import Variable
from graphio.ops.control_flow.branches import cond
from graphio.support import api_guard

__all__ = [
    "NamedOutputs",
    "append_tensor_alias",
    "channel_dimension",
    "collect_named_outputs",
    "constant_value",
    "convert_collection_to_dict",
    "gather_tensors_aliases",
    "get_tensor_aliases",
    "get_variable_collections",
    "last_dimension",
    "n_positive_integers",
    "smart_cond",
    "static_cond",
    "two_element_tuple",
]

#: the aliases of a graph's tensors by the tensors' names
_ALIASES: Attachment[Table[str, tuple[str, ...]]] = attachments.table("tensor_aliases")


class NamedOutputs(NamedTuple):
    """A name with the outputs of a layer."""

    name: str
    outputs: Any


# ---- outputs ----


@api_guard.unguarded
def collect_named_outputs(collections: Any, alias: str, outputs: Any) -> Any:
    """outputs, added to collections under an alias; None: to none."""
    if collections:
        append_tensor_alias(outputs, alias)
        add_to_collections(collections, outputs)
    return outputs


@api_guard.unguarded
def append_tensor_alias(tensor: Tensor, alias: str) -> Tensor:
    """The tensor, which gets a further alias. A graph keeps them: see get_tensor_aliases."""
    table = _ALIASES.of(tensor.graph)
    table[tensor.name] = (*table.get(tensor.name, ()), alias.removesuffix("/"))
    return tensor


@api_guard.unguarded
def get_tensor_aliases(tensor: Any) -> list[str]:
    """The aliases of a tensor; without one its name, that of the operation for the first output."""
    found = _ALIASES.of(tensor.graph).get(tensor.name)
    return list(found) if found else [tensor.name.removesuffix(":0")]


@api_guard.unguarded
def gather_tensors_aliases(tensors: Iterable[Any]) -> list[str]:
    """The aliases of several tensors, in one list."""
    return [alias for tensor in tensors for alias in get_tensor_aliases(tensor)]


@api_guard.unguarded
def convert_collection_to_dict(
    collection: str, clear_collection: bool = False
) -> OrderedDict[str, Any]:
    """The tensors of a collection by their aliases."""
    output = OrderedDict(
        (alias, tensor)
        for tensor in get_collection(collection)
        for alias in get_tensor_aliases(tensor)
    )
    if clear_collection:
        scopes.get_default_graph().clear_collection(collection)
    return output


@api_guard.unguarded
def get_variable_collections(variables_collections: Any, name: str) -> Any:
    """The collections for the variable of a name: all, or those of the name in a dictionary."""
    if isinstance(variables_collections, Mapping):
        return variables_collections.get(name)
    return variables_collections


# ---- conditions ----


@api_guard.unguarded
def constant_value(value_or_tensor_or_var: Any, dtype: Any = None) -> Any:
    """The value of a tensor if it is known while the graph is built; of a variable None.

    Raises:
        ValueError: the argument is None, or a tensor of another dtype.
    """
    value = value_or_tensor_or_var
    if value is None:
        raise ValueError("value_or_tensor_or_var cannot be None")
    if not isinstance(value, (Tensor, Variable)):
        return value
    if dtype and value.dtype != dtype:
        raise ValueError(f"It has the wrong type {value.dtype} instead of {dtype}")
    return None if isinstance(value, Variable) else _constant_value(value)


@api_guard.guarded
def static_cond(pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any]) -> Any:
    """fn1() if pred holds, else fn2().

    Raises:
        TypeError: one is not callable.
    """
    for argument, function in (("fn1", fn1), ("fn2", fn2)):
        if not callable(function):
            raise TypeError(f"{argument} must be callable.")
    return fn1() if pred else fn2()


@api_guard.operator
def smart_cond(
    pred: Any, fn1: Callable[[], Any], fn2: Callable[[], Any], name: str | None = None
) -> Any:
    """static_cond where pred is known while the graph is built, else tf.cond."""
    known = constant_value(pred)
    return cond(pred, fn1, fn2, name=name) if known is None else static_cond(known, fn1, fn2)


# ---- sizes ----


@api_guard.unguarded
def channel_dimension(shape: TensorShape, data_format: str, min_rank: int = 1) -> int:
    """The size of the axis of channels.

    Raises:
        ValueError: it is not known, or the rank is smaller than min_rank.
    """
    return _size(shape, 1 if data_format == "channels_first" else -1, min_rank)


@api_guard.unguarded
def last_dimension(shape: TensorShape, min_rank: int = 1) -> int:
    """The size of the last axis.

    Raises:
        ValueError: it is not known, or the rank is smaller than min_rank.
    """
    return _size(shape, -1, min_rank)


def _size(shape: TensorShape, axis: int, min_rank: int) -> int:
    if shape.ndims is None:
        raise ValueError("dims of shape must be known but is None")
    if shape.ndims < min_rank:
        raise ValueError(f"rank of shape must be at least {min_rank} not: {shape.ndims}")
    value: int | None = shape.as_list()[axis]
    if value is None:
        raise ValueError(f"dimension {axis} of shape must be known but is None: {shape}")
    return value


@api_guard.unguarded
def two_element_tuple(int_or_tuple: Any) -> tuple[int, int]:
    """Two integers, from one for both, a list or tuple of two, or a TensorShape of two.

    Raises:
        ValueError: it is something else.
    """
    if isinstance(int_or_tuple, int):
        return int_or_tuple, int_or_tuple
    if isinstance(int_or_tuple, (list, tuple, TensorShape)) and len(int_or_tuple) == 2:
        return int(int_or_tuple[0]), int(int_or_tuple[1])
    raise ValueError(
        f"Must be an int, a list with 2 elements or a TensorShape of length 2: {int_or_tuple!r}"
    )


@api_guard.unguarded
def n_positive_integers(n: int, value: Any) -> tuple[int, ...]:
    """n positive integers, from one for all or a sequence of n.

    Raises:
        ValueError: n or a value is not a positive integer, or the sequence has another length.
    """
    if n < 1 or int(n) != n:
        raise ValueError(f"n must be a positive integer: {n!r}")
    try:
        given = list(value) if hasattr(value, "__len__") else [value] * int(n)
        found = tuple(int(x) for x in given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"Expected sequence of {n} positive integers, not {value!r}") from error
    if len(found) != n:
        raise ValueError(f"Expected sequence of {n} positive integers, but received {value!r}")
    for x in found:
        if x < 1:
            raise ValueError(f"expected positive integer, but received {x}")
    return found
