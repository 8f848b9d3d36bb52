"""HostCall: what only the program around an engine can do, in the graph by its name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.framework import scopes
from graphio.framework.dtypes import DType
from graphio.framework.gradient_registry import not_differentiable
from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import TensorShape

__all__: list[str] = []

Bind = Callable[[Any], Callable[..., Any]]


def host_call(
    bind: Bind,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[DType, TensorShape]],
    *,
    function: str,
    stateful: bool = True,
    name: str | None = None,
    tf_type: str | None = None,
) -> Operation:
    """An operation that calls a function of this program.

    Args:
        bind: a session to the function; see Graph.add_host_function.
        inputs: what the function gets as a list of arrays, copies that it may change.
        outputs: dtype and static shape of what it gives; a run checks them.
        function: its name in files, made unique.
        stateful: False says that equal inputs give equal outputs.
        name, tf_type: of the operation.
    """
    graph = scopes.get_default_graph()
    registered = graph.add_host_function(function, bind)
    try:
        return host_call_to(registered, inputs, outputs, stateful, name, tf_type)
    except BaseException:
        del graph.root.host_functions[registered]
        raise


def host_call_to(
    function: str,
    inputs: Sequence[Tensor],
    outputs: Sequence[tuple[DType, TensorShape]],
    stateful: bool = True,
    name: str | None = None,
    tf_type: str | None = None,
) -> Operation:
    """As host_call, for a function that Graph.add_host_function registered under this name."""
    return scopes.get_default_graph().add_operation(
        "HostCall",
        inputs,
        outputs,
        {"function": function, "stateful": int(stateful)},
        domain="graphio",
        name=name,
        tf_type=tf_type,
    )


not_differentiable("HostCall", domain="graphio")
