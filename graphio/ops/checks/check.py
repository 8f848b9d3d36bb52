"""check_numerics and what uses it: operators that give an error or nothing."""

from __future__ import annotations

from typing import Any

from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.ops.array import surface as array
from graphio.ops.base.emit import FLOATING, node, require, scope
from graphio.ops.base.shapes import dims_of
from graphio.ops.control_flow import branches
from graphio.support import api_guard

__all__ = ["add_check_numerics_ops", "check_numerics", "verify_tensor_all_finite"]


@api_guard.operator
def check_numerics(tensor: Any, message: str, name: str | None = None) -> Tensor:
    """The tensor, if all of it is finite; a run in which it is not fails.

    Args:
        tensor: floating tensor.
        message: the beginning of the error, "message : Tensor had NaN values".
        name: of the operation.

    Raises:
        TypeError: tensor is not floating.
    """
    with scope(name, "CheckNumerics") as at:
        x = convert_to_tensor(tensor, name="tensor")
        require(x, FLOATING, "CheckNumerics", "tensor")
        return node(
            "CheckNumerics", [x], x.dtype, dims_of(x), name=at, domain="graphio", message=message
        )


@gradient("CheckNumerics", "graphio")
def _check_numerics_gradient(op: Operation, grad: Tensor) -> list[Tensor]:
    words = "Not a number (NaN) or infinity (Inf) values detected in gradient."
    return [check_numerics(grad, f"{words} {op.attrs['message']}")]


@api_guard.operator
def verify_tensor_all_finite(
    t: Any = None,
    msg: str | None = None,
    name: str | None = None,
    x: Any = None,
    message: str | None = None,
) -> Tensor:
    """The tensor, if all of it is finite; a run in which it is not fails with the message.

    Args:
        t: floating tensor.
        msg: the beginning of the error.
        name: of the operation.
        x, message: the new names of t and msg.

    Raises:
        TypeError: there is no tensor or no message, or the tensor is not floating.
    """
    tensor, text = (t if x is None else x), (msg if message is None else message)
    if tensor is None or text is None:
        raise TypeError("verify_tensor_all_finite: give a tensor and a message")
    with scope(name, "VerifyFinite") as at:
        return array.identity(check_numerics(tensor, text), name=at)


def _is_program_s(operation: Operation) -> bool:
    """Whether it is a branch or loop of the program's, not one in the place of a kernel."""
    return operation.op in ("If", "Scan") or operation.type == "While"


def _computes(operation: Operation) -> bool:
    """Whether a body of it, or one in that, has a floating tensor."""
    return any(
        any(t.dtype.is_floating for t in inner.outputs) or _computes(inner)
        for body in operation.bodies()
        for inner in body.operations
    )


@api_guard.operator
def add_check_numerics_ops() -> Operation:
    """An operation that checks every floating tensor that the graph has by now, in their order.

    Run it with a training step: `session.run([step, check])` fails at the first value that is
    not finite, naming its operation. It computes everything in the graph, so everything must be
    fed that any part needs.

    Raises:
        ValueError: a loop or branch is being built, or the graph has one with floating tensors.
    """
    graph: Graph = scopes.get_default_graph()
    around = next((op for op in graph.operations if _is_program_s(op) and _computes(op)), None)
    if graph.outer is not None or around is not None:
        where = "" if around is None else f": '{around.name}' is one{around.where}"
        raise ValueError(
            "`tf.add_check_numerics_ops() is not compatible with TensorFlow control flow "
            f"operations such as `tf.cond()` or `tf.while_loop()`{where}. Put tf.check_numerics "
            "around what you suspect, or step through a run with tf.debug.DebugSession"
        )
    checks: list[Tensor] = []
    for made in list(graph.operations):
        for tensor in made.outputs:
            if tensor.dtype.is_floating:
                with scopes.control_dependencies(checks[-1:]):
                    checks.append(check_numerics(tensor, f"{made.name}:{tensor.value_index}"))
    return branches.group(*checks)
