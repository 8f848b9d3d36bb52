"""What a Loop or Scan remembers for its gradient of values whose shape changes between iterations.

They cannot be stacked. Their elements go to one vector that it carries and that grows in
every iteration; the shapes, and where each iteration begins, are stacked. Shapes of unknown rank
have no common length, so they are remembered in the same way.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from graphio import dtypes, scopes
from graphio.dtypes import DType
from graphio.graph import Graph, Operation, Tensor
from graphio.ops import primitive as p
from graphio.ops.emit import node
from graphio.ops.shapes import dims_of
from graphio.tensor_shape import TensorShape

__all__ = ["Memory", "carried", "stack"]


class Memory:
    """New outputs of a Loop or Scan from which a tensor of any of its iterations can be made again.

    Args:
        op: the Loop or Scan, which gets the outputs by `keep`.
        dtype: of the tensor of its body.
        rank: of that tensor, None if it is unknown.

    Attributes:
        joined: becomes the vector that it ends with.
        begin: becomes, stacked, where each iteration's elements begin.
        sizes: becomes, stacked, each iteration's shape; or a memory of the shapes.
    """

    def __init__(self, op: Operation, dtype: DType, rank: int | None) -> None:
        self._op = op
        self.joined = self._later(dtype, [None])
        self.begin = self._later(dtypes.int64, [None])
        self.sizes: Tensor | Memory = (
            Memory(op, dtypes.int64, 1) if rank is None else self._later(dtypes.int64, [None, rank])
        )

    def _later(self, dtype: DType, dims: list[int | None]) -> Tensor:
        return Tensor(self._op.graph, self._op, -1, f"{self._op.name}:later", dtype,
                      TensorShape(dims))  # fmt: skip

    @property
    def outputs(self) -> list[Tensor]:
        """All tensors that stand for new outputs of the Loop or Scan."""
        sizes = self.sizes.outputs if isinstance(self.sizes, Memory) else [self.sizes]
        return [self.joined, self.begin, *sizes]

    def keep(self, tensor: Tensor) -> None:
        """Has the Loop or Scan carry a vector of the elements of a tensor of its body."""
        op, body = self._op, self._op.attrs["body"]
        count, before_in, before_out = carried(op)
        with body.as_body(), scopes.control_dependencies(None), scopes.name_scope("remembered"):
            before = body.add_input(tensor.dtype, TensorShape([None]), "elements")
            body.inputs.insert(before_in + count, body.inputs.pop())
            length = _made_in(body, p.count(before, dtypes.int64))
            shape = _made_in(body, p.shape_of(tensor))
            after = p.concat([before, p.reshape(tensor, [-1], (None,))], 0)
        body.outputs.insert(before_out + count, after)
        op.insert_input(before_in + count, _nothing(op, tensor))
        op.adopt_output(self.joined, count)
        stack(op, length)
        op.adopt_output(self.begin)
        if isinstance(self.sizes, Memory):
            self.sizes.keep(shape)
        else:
            stack(op, shape)
            op.adopt_output(self.sizes)

    def recall(self, row: Callable[[Tensor], Tensor], like: Tensor) -> Tensor:
        """The tensor of one iteration.

        Args:
            row: from what is stacked to what is that iteration's.
            like: the tensor of the body.
        """
        if isinstance(self.sizes, Memory):
            shape = self.sizes.recall(row, p.int_vector([0]))
        else:
            shape = row(self.sizes)
        size = node("ReduceProd", [shape], dtypes.int64, (1,), keepdims=1)
        start = p.unsqueeze(row(self.begin), [0])
        end = p.binary("Add", start, size)
        flat = node("Slice", [self.joined, start, end, p.int_vector([0])], like.dtype, (None,))
        return p.reshape(flat, shape, dims_of(like))


def carried(op: Operation) -> tuple[int, int, int]:
    """How many values a Loop or Scan carries, and how many inputs and outputs of its body come
    before them."""
    if op.op == "Loop":
        return len(op.inputs) - 2, 2, 1
    return len(op.inputs) - int(op.attrs["num_scan_inputs"]), 0, 0


def stack(op: Operation, tensor: Tensor) -> None:
    """Has the body of a Loop or Scan give one more tensor, stacked along axis 0."""
    if op.op == "Scan":
        count = len(op.attrs["body"].outputs) - carried(op)[0]
        for key in ("scan_output_axes", "scan_output_directions"):
            op.attrs[key] = [*(op.attrs.get(key) or [0] * count), 0]
    op.attrs["body"].outputs.append(tensor)


def _made_in(body: Graph, tensor: Tensor) -> Tensor:
    return tensor if tensor.graph is body else p.unary("Identity", tensor)


def _nothing(op: Operation, like: Tensor) -> Tensor:
    """An empty vector, made right before an operation."""
    graph = op.graph
    with graph.as_default(), scopes.control_dependencies(None):
        made = graph.create_op(
            "Constant",
            [],
            [(like.dtype, TensorShape([0]))],
            {"value": np.zeros(0, like.dtype.as_numpy_dtype)},
            name="nothing",
            tf_type="Const",
        )
    graph.operations.remove(made)
    graph.operations.insert(graph.operations.index(op), made)
    made.order = op.order
    return made.outputs[0]
