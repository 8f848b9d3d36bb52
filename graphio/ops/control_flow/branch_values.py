"""Values of a branch that are read outside of it: there only in runs that take the branch."""

from __future__ import annotations

from graphio.framework import scopes
from graphio.framework.constants import constant_from
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.assertion import once
from graphio.ops.math import comparison

__all__ = ["BranchValues"]


class BranchValues:
    """Stands for the values of both branches of an If where they are read outside of them.

    A constant is made again. Another value leaves the If, once that is built, as a new output; a
    run that reads it and takes the other branch fails.

    Attributes:
        op: the If; None: it is not built yet.
    """

    def __init__(self) -> None:
        self.op: Operation | None = None
        self._branches: list[Graph] = []
        self._known: dict[Tensor, Tensor] = {}

    def add(self, branch: Graph) -> None:
        """Adds a branch: first the one of a true pred, then that of a false one."""
        self._branches.append(branch)
        branch.access.leave = self.leave

    def leave(self, tensor: Tensor) -> Tensor | None:
        """The tensor outside of a branch that replaces one of the branch; None: impossible."""
        with scopes.control_dependencies(None):
            remade = constant_from(tensor)
        if remade is not None:
            return remade
        if self.op is None or tensor.dtype.inside is not None:
            return None
        if tensor not in self._known:
            self._known[tensor] = self._output(self.op, tensor)
        return self._known[tensor]

    def _output(self, op: Operation, tensor: Tensor) -> Tensor:
        branch = self._branches.index(tensor.graph)
        other = self._branches[1 - branch]
        with other.as_body(), scopes.control_dependencies(None):
            dims = [] if tensor.shape.ndims is None else [n or 0 for n in tensor.shape.as_list()]
            other.outputs.append(array.zeros(dims, tensor.dtype))
        tensor.graph.outputs.append(tensor)
        (output,) = op.append_outputs([(tensor.dtype, tensor.shape)])
        pred = op.operands[0]
        assert pred is not None
        words = f"'{tensor.name}' of a branch is read outside of it, but the run took the other one"
        with op.graph.as_default(), scopes.control_dependencies(None):
            return once(output, comparison.logical_not(pred) if branch else pred, words)
