"""Making operations and bodies again, of other tensors."""

from __future__ import annotations

from collections.abc import Sequence

from graphio.framework import scopes
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.variable_reads import is_plain
from graphio.ops.array import surface as array

__all__ = ["inlined", "made_again"]

Operations = dict[Operation, Operation]


def made_again(
    op: Operation, known: dict[Tensor, Tensor], made: Operations | None = None
) -> Operation:
    """The operation once more in the current graph.

    Args:
        op: the operation.
        known: what stands for its tensors; others are read as they are.
        made: what stands for the operations that it waits for.
    """
    done = {} if made is None else made
    attrs = {
        key: _body_again(value, known) if isinstance(value, Graph) else value
        for key, value in op.attrs.items()
    }
    with scopes.control_dependencies([done[c] for c in op.awaited if c in done]):
        return scopes.get_default_graph().add_operation(
            op.op,
            [None if t is None else known.get(t, t) for t in op.operands],
            [(t.dtype, t.shape) for t in op.outputs],
            attrs,
            domain=op.domain,
            version=op.version,
            name=_name(op),
            tf_type=op.tf_type,
        )


def _name(op: Operation) -> str:
    if is_plain(op):
        return f"{op.attrs['variable']}/read/"  # which is made unique
    return op.name.rsplit("/", 1)[-1]


def _all_again(body: Graph, known: dict[Tensor, Tensor]) -> Operations:
    """A body's operations in the current graph; known learns what stands for their outputs."""
    made: Operations = {}
    with scopes.control_dependencies(list(body.outer_control)):
        for operation in body.operations:
            made[operation] = again = made_again(operation, known, made)
            known.update(zip(operation.outputs, again.outputs, strict=True))
    return made


def _body_again(body: Graph, known: dict[Tensor, Tensor]) -> Graph:
    copy = Graph(outer=scopes.get_default_graph())
    with copy.as_body():
        for t in body.inputs:
            known[t] = copy.add_input(t.dtype, t.shape, t.op.name.rsplit("/", 1)[-1])
        made = _all_again(body, known)
        outputs = [known.get(t, t) for t in body.outputs]
        copy.outputs.extend(t if t.graph is copy else array.identity(t) for t in outputs)
        copy.targets.extend(made[t] for t in body.targets)
    return copy


def inlined(body: Graph, arguments: Sequence[Tensor]) -> list[Tensor]:
    """A body's outputs in the current graph, for arguments in the place of its inputs."""
    known = dict(zip(body.inputs, arguments, strict=True))
    _all_again(body, known)
    return [known.get(t, t) for t in body.outputs]
