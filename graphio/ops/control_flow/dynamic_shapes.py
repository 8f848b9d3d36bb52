"""Values of a Loop or Scan whose shape changes between iterations, kept for its gradient.

They cannot be stacked as they are. As many elements as the first iteration has are stacked, filled
up with zeros in an iteration that has fewer; of what broadcasting may make larger, as many as the
loop variable has after the first iteration. Elements beyond go to one vector that the Loop or
Scan carries. So the cost of values that keep their size is linear in the number of iterations;
what is carried may be copied in each. The shapes, and where each iteration begins in the vector,
are stacked. Shapes of unknown rank have no common length, so they are remembered in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from graphio.framework import dtypes, scopes
from graphio.framework.dtypes import DType
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.base import primitive as p
from graphio.ops.base.emit import node
from graphio.ops.base.shapes import dims_of

__all__ = ["Memory", "carried", "stack"]

#: the number of stacked elements before the first iteration determines it
_UNSET = -1


class Memory:
    """New outputs of a Loop or Scan from which a tensor of any of its iterations can be made again.

    Args:
        op: the Loop or Scan, which gets the outputs by `keep`.
        dtype: of the tensor of its body.
        rank: of that tensor, None if it is unknown.

    Attributes:
        rows: becomes, stacked, each iteration's first elements.
        capacity: becomes how many these are.
        joined: becomes the vector of the elements beyond them.
        begin: becomes, stacked, where each iteration begins in that vector.
        sizes: becomes, stacked, each iteration's shape; or a memory of the shapes.
    """

    def __init__(self, op: Operation, dtype: DType, rank: int | None) -> None:
        self._op = op
        self.rows = self._later(dtype, [None, None])
        self.capacity = self._later(dtypes.int64, [1])
        self.joined = self._later(dtype, [None])
        self.begin = self._later(dtypes.int64, [None, 1])
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
        return [self.rows, self.capacity, self.joined, self.begin, *sizes]

    def keep(self, tensor: Tensor, least: Sequence[Tensor] = ()) -> None:
        """Has the Loop or Scan give what the tensor of its body is in every iteration.

        Args:
            tensor: of the body.
            least: as many elements as the largest of these has in the first iteration are stacked,
                if the tensor has fewer.
        """
        op, body = self._op, self._op.attrs["body"]
        no_elements = np.zeros(0, tensor.dtype.as_numpy_dtype)
        with body.as_body(), scopes.control_dependencies(None), scopes.name_scope("remembered"):
            before = _carry(op, tensor.dtype, no_elements, self.joined, "elements")
            capacity = _carry(op, dtypes.int64, np.array([_UNSET]), self.capacity, "capacity")
            elements = p.reshape(tensor, [-1], (None,))
            row, beyond, width = _parted(elements, capacity, least)
            after = p.concat([before, beyond], 0)
            begin = p.shape_of(before)
            shape = _made_in(body, p.shape_of(tensor))
            shapes = [p.shape_of(other) for other in least]
        first = carried(op)[2]
        body.outputs[first + self.joined.value_index] = after
        body.outputs[first + self.capacity.value_index] = width
        given = [(self.rows, row), (self.begin, begin)]
        given += [] if isinstance(self.sizes, Memory) else [(self.sizes, shape)]
        for output, stacked in given:
            stack(op, stacked)
            op.adopt_output(output)
        if isinstance(self.sizes, Memory):
            self.sizes.keep(shape, shapes)

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
        first, start, axis = row(self.rows), row(self.begin), p.int_vector([0])
        size = node("ReduceProd", [shape], dtypes.int64, (1,), keepdims=1)
        more = p.binary("Max", p.binary("Sub", size, p.shape_of(first)), axis)
        end = p.binary("Add", start, more)
        head = node("Slice", [first, axis, size, axis], like.dtype, (None,))
        beyond = node("Slice", [self.joined, start, end, axis], like.dtype, (None,))
        return p.reshape(p.concat([head, beyond], 0), shape, dims_of(like))


def carried(op: Operation) -> tuple[int, int, int]:
    """How many values a Loop or Scan carries, and how many inputs and outputs of its body come
    before them."""
    if op.op == "Loop":
        return len(op.operands) - 2, 2, 1
    return len(op.operands) - int(op.attrs["num_scan_inputs"]), 0, 0


def stack(op: Operation, tensor: Tensor) -> None:
    """Has the body of a Loop or Scan give one more tensor, stacked along axis 0."""
    if op.op == "Scan":
        count = len(op.attrs["body"].outputs) - carried(op)[0]
        for key in ("scan_output_axes", "scan_output_directions"):
            op.attrs[key] = [*(op.attrs.get(key) or [0] * count), 0]
    op.attrs["body"].outputs.append(tensor)


def _parted(
    elements: Tensor, capacity: Tensor, least: Sequence[Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """The first elements, filled up with zeros, the others, and how many the first are: as many
    as the capacity says, which the first iteration sets."""
    here = size = p.shape_of(elements)
    for other in least:
        size = p.binary("Max", size, p.unsqueeze(p.count(other, dtypes.int64), [0]))
    known = p.compare("Less", p.int_vector([_UNSET]), capacity)
    width = p.select(known, capacity, size)
    fill = p.concat([p.int_vector([0]), p.binary("Sub", width, here)], 0)
    row = node("Pad", [elements, fill], elements.dtype, (None,))
    ends = [p.int_vector([p.last]), p.int_vector([0])]
    beyond = node("Slice", [elements, width, *ends], elements.dtype, (None,))
    return row, beyond, width


def _carry(op: Operation, dtype: DType, start: np.ndarray, end: Tensor, name: str) -> Tensor:
    """Has a Loop or Scan carry one more value, for now unchanged; that value in its body.

    Args:
        op: the Loop or Scan.
        dtype: of the value, a vector.
        start: what it is before the first iteration.
        end: becomes the output with what it is after the last.
        name: of the input of the body.
    """
    body: Graph = op.attrs["body"]
    count, before_in, before_out = carried(op)
    formal = body.add_input(dtype, TensorShape([None] if not len(start) else [len(start)]), name)
    body.inputs.insert(before_in + count, body.inputs.pop())
    body.outputs.insert(before_out + count, formal)
    op.insert_input(before_in + count, _constant_before(op, dtype, start))
    op.adopt_output(end, count)
    return formal


def _made_in(body: Graph, tensor: Tensor) -> Tensor:
    return tensor if tensor.graph is body else p.unary("Identity", tensor)


def _constant_before(op: Operation, dtype: DType, value: np.ndarray) -> Tensor:
    """A constant that is made right before an operation."""
    graph = op.graph
    with graph.as_default(), scopes.control_dependencies(None):
        made = graph.add_operation(
            "Constant",
            [],
            [(dtype, TensorShape(value.shape))],
            {"value": value},
            name="start",
            tf_type="Const",
        )
    graph.operations.remove(made)
    graph.operations.insert(graph.operations.index(op), made)
    made.order = op.order
    return made.outputs[0]
