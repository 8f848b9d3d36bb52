"""TensorArray: rows that are written one by one, kept in one dense tensor.

Elements that may differ in shape are kept each by itself, as long as the indices at which they are
written are known while the graph is built: see Cells. Elsewhere they may differ in their first
size: see ragged_rows.

The rows are a tensor (n, element...), and `free` says for each row where a write goes: to itself,
or, once it was written, beyond the end, which the scatter refuses. Both go through loops and
branches as loop variables, and gradients go through the rows like any tensor's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from graphio.framework import api_boundary, carrying, dtypes, scopes
from graphio.framework.carrying import Late, Part
from graphio.framework.constants import constant, convert_to_tensor
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.graph import Operation, Tensor
from graphio.framework.tensor_shape import TensorShape, as_shape
from graphio.ops.array import surface as array
from graphio.ops.array.index import add_at
from graphio.ops.base import primitive as p
from graphio.ops.base.emit import INTEGER, node, require, scalar
from graphio.ops.base.shapes import dims_of
from graphio.ops.checks.assertion import never
from graphio.ops.control_flow import ragged_rows, read_once
from graphio.ops.control_flow.array_cells import Cells
from graphio.ops.control_flow.branches import no_op
from graphio.ops.control_flow.ragged_rows import TAKEN
from graphio.ops.control_flow.tensor_array_grad import TensorArrayGradient
from graphio.support import errors

__all__ = ["TensorArray"]


class TensorArray:
    """An array of tensors of one shape, which grows by write and is read by index.

    Every write gives a new TensorArray; the one before stays as it was. A row that was never
    written reads as zeros.

    Args:
        dtype: of the elements.
        size: how many there are; int or int scalar tensor.
        dynamic_size: True lets writes beyond the end add rows.
        clear_after_read: unless it is False, a run refuses to read an element twice, where both
            reads are outside of loops at an index that is known while the graph is built.
        tensor_array_name: name scope of the first operations.
        handle, flow: not supported.
        infer_shape: True: the first write fixes the shape of all elements; else element_shape
            alone does, where it is known. Elements of different shapes can then be read and joined
            by concat where all writes are outside of loops, at indices that are known while the
            graph is built; elsewhere they can differ in their first size, where the graph does
            not know it.
        element_shape: what is known of the elements' shape.
        colocate_with_first_write_call: accepted.
        name: name scope of the first operations.

    Raises:
        ValueError: no size.
    """

    @api_boundary.rolling_back_operator
    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if handle is not None or flow is not None:
            raise ValueError("TensorArray: there are no handles; give size, and use write's result")
        if size is None:
            raise ValueError("Size must be provided if handle is not provided")
        self._dtype = dtypes.as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._infer = infer_shape
        self._shape = as_shape(element_shape)
        self._rows: Tensor | None = None
        self._cells: Cells | None = None
        #: shared by all arrays that writes make of this one; None: elements are read repeatedly
        self._read_once = None if clear_after_read is False else object()
        #: by source; shared with all that writes make of this array
        self._gradients: dict[str, TensorArrayGradient] = {}
        with scopes.operation_scope(name or tensor_array_name, "TensorArray"):
            count = convert_to_tensor(size, preferred_dtype=dtypes.int32, name="size")
            require(count, INTEGER, "TensorArray", "size")
            self._free = _numbers(scalar(0, dtypes.int64), p.cast(count, dtypes.int64))

    # ---- properties ----

    @property
    def dtype(self) -> DType:
        """The dtype of the elements."""
        return self._dtype

    @property
    def element_shape(self) -> TensorShape:
        """The shape of the elements as far as it is known."""
        return self._shape

    @property
    def dynamic_size(self) -> bool:
        """Whether writes beyond the end add rows."""
        return self._dynamic

    @property
    def flow(self) -> Tensor:
        """A tensor that waits for all writes."""
        if self._cells is not None:
            with scopes.control_dependencies([cell.op for cell in self._cells.elements.values()]):
                made: Tensor = array.identity(self._free)
                return made
        return self._free if self._rows is None else self._rows

    @property
    def handle(self) -> Tensor:
        """The same as flow: there are no handles."""
        return self.flow

    @property
    def op(self) -> Operation:
        """The operation of the last write."""
        operation: Operation = self.flow.op
        return operation

    @property
    def graph(self) -> Any:
        """The graph of the last write."""
        return self.flow.graph

    def size(self, name: str | None = None) -> Tensor:
        """The number of elements, written or not: int32 scalar."""
        with scopes.operation_scope(name, "TensorArraySize"):
            return p.count(self._free, dtypes.int32)

    def identity(self) -> TensorArray:
        """The same, after the control dependencies around."""
        rows = None if self._rows is None else array.identity(self._rows)
        if self._cells is not None:
            return self._next(self._free, None, cells=self._cells.identity())
        return self._next(array.identity(self._free), rows)

    def close(self, name: str | None = None) -> Operation:
        """Nothing: memory is given back with the run."""
        return no_op(name or "TensorArrayClose")

    def grad(self, source: Any, flow: Any = None, name: str | None = None) -> TensorArrayGradient:
        """An array of gradients, in which what is written at an index adds up.

        tf.gradients needs none: it goes through reads and writes.

        Args:
            source: a string that distinguishes the gradients of several ys; the same gives the same
                one.
            flow: accepted.
            name: name scope of the operations.
        """
        key = source.decode() if isinstance(source, bytes) else str(source)
        if key not in self._gradients:
            with scopes.operation_scope(name, "TensorArrayGrad"):
                self._gradients[key] = TensorArrayGradient(self)
        return self._gradients[key]

    # ---- reading ----

    @api_boundary.rolling_back_operator
    def read(self, index: Any, name: str | None = None) -> Tensor:
        """The element at an index, an int scalar; the run refuses one beyond the end."""
        with scopes.operation_scope(name, "TensorArrayRead") as scope:
            at = convert_to_tensor(index, name="index")
            cell = None if self._cells is None else self._cells.at(at)
            if cell is not None:
                made: Tensor = array.identity(cell, name=scope)
            else:
                made = self._taken(_position(at), scope)
            position = None if self._read_once is None else constant_value(at)
            if position is not None:
                read_once.note(made.op, self._read_once, int(position))
            return made

    @api_boundary.rolling_back_operator
    def gather(self, indices: Any, name: str | None = None) -> Tensor:
        """The elements at indices (k), int, stacked to (k, element...)."""
        with scopes.operation_scope(name, "TensorArrayGather") as scope:
            return self._taken(_positions(indices), scope)

    @api_boundary.rolling_back_operator
    def stack(self, name: str | None = None) -> Tensor:
        """All elements, stacked to (n, element...)."""
        with scopes.operation_scope(name, "TensorArrayStack"):
            rows = self._known("stack")
            if self._differ(rows):
                rows = ragged_rows.cut(rows, rows, self._free)
            made: Tensor = array.identity(rows)
            return made

    @api_boundary.rolling_back_operator
    def concat(self, name: str | None = None) -> Tensor:
        """All elements (k, rest...), joined along their first axis to (n * k, rest...)."""
        with scopes.operation_scope(name, "TensorArrayConcat"):
            if self._cells is not None and self._cells.complete:
                return self._cells.concat()
            rows = self._known("concat")
            dims = dims_of(rows)
            if dims is not None and len(dims) == 1:
                raise ValueError(
                    "TensorArray: concat joins elements of rank 1 or more, not scalars"
                )
            if self._differ(rows):
                return ragged_rows.joined(rows, self._free)
            shape = p.shape_of(rows)
            first = node("ReduceProd", [p.slice_axes(shape, [0], [2], [0])], shape.dtype, (1,))
            merged = p.concat([first, p.slice_axes(shape, [2], [p.last], [0])], 0)
            if dims is None:
                return p.reshape(rows, merged)
            both = None if None in dims[:2] else int(np.prod([d or 0 for d in dims[:2]]))
            return p.reshape(rows, merged, (both, *dims[2:]))

    # ---- writing ----

    @api_boundary.rolling_back_operator
    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with an element at an index, an int scalar.

        Raises:
            ValueError: the value's shape is not that of the other elements.
            InvalidArgumentError: another dtype; by the run: a second write, or beyond the end.
        """
        with scopes.operation_scope(name, "TensorArrayWrite"):
            tensor = self.as_element(value)
            shape = self._merged(tensor.shape)
            cells = self._with_cell(index, tensor)
            if cells is not None:
                same = cells.size == _length(self._free)
                free = self._free if same else _numbers_upto(cells.size)
                return self._next(free, None, shape, cells)
            return self._written(
                p.unsqueeze(_position(index), [0]), p.unsqueeze(tensor, [0]), shape
            )

    def rewritable(self) -> TensorArray:
        """The array, whose elements may all be written again."""
        if self._cells is not None:
            return self._dense().rewritable()
        count = p.squeeze(p.shape_of(self._free), [0])
        free = _numbers(scalar(0, dtypes.int64), count)
        free.set_shape(self._free.shape)
        return self._next(free, self._rows)

    @api_boundary.rolling_back_operator
    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of value (k, element...) at indices (k), int."""
        with scopes.operation_scope(name, "TensorArrayScatter"):
            tensor = self.as_element(value)
            return self._written(_positions(indices), tensor, self._merged(_rest(tensor)))

    @api_boundary.rolling_back_operator
    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """The array with the rows of value (n, element...) as its first n elements."""
        if self._cells is not None:
            return self._dense().unstack(value, name)
        with scopes.operation_scope(name, "TensorArrayUnstack"):
            tensor = self.as_element(value)
            shape = self._merged(_rest(tensor))
            count = p.squeeze(p.slice_axes(p.shape_of(tensor), [0], [1], [0]), [0])
            if self._rows is None and _length(tensor) not in (None, _length(self._free)):
                return self._written(_numbers(scalar(0, dtypes.int64), count), tensor, shape)
            if self._rows is None and _length(tensor) is not None:
                taken = constant(np.full(_length(tensor), TAKEN, np.int64))
                return self._next(taken, tensor, shape)
            return self._written(_numbers(scalar(0, dtypes.int64), count), tensor, shape)

    @api_boundary.rolling_back_operator
    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """The array with value (n, rest...) cut along its first axis into elements.

        Args:
            value: of rank 1 or more.
            lengths: of the elements, integers (k); if they are not known while the graph is built,
                they are equal.
            name: name scope of the operations.

        Raises:
            InvalidArgumentError: value is a scalar; in a run, the lengths do not sum up to n, or
                there is another number of them than the array has elements.
        """
        with scopes.operation_scope(name, "TensorArraySplit"):
            tensor, sizes = self.as_element(value), _positions(lengths)
            known = constant_value(sizes)
            if known is not None:
                tensor = self._checked_split(tensor, known.tolist())
                if len(set(known.tolist())) > 1 and _length(tensor) in (None, int(known.sum())):
                    pieces = array.split(tensor, known.tolist(), 0)
                    cells = Cells(dict(enumerate(pieces)), len(pieces), self._dtype)
                    return self._next(_numbers_upto(len(pieces)), None, None, cells)
            one = p.slice_axes(sizes, [0], [1], [0])
            rest = p.slice_axes(p.shape_of(tensor), [1], [p.last], [0])
            shape = p.concat([p.shape_of(sizes), one, rest], 0)
            dims, k = dims_of(tensor), None if known is None else int(known[0])
            static = None if dims is None else (_length(sizes), k, *dims[1:])
            rows = p.reshape(tensor, shape, static)
        return self.unstack(rows, name=name)

    # ---- used by its gradients ----

    def cell(self, index: Any) -> Tensor | None:
        """The element at an index that is known while the graph is built, if it is not a row."""
        return None if self._cells is None else self._cells.at(index)

    def takes_cell(self, index: Any) -> bool:
        """Whether an element at an index would be one that `cell` gives."""
        position = constant_value(convert_to_tensor(index, name="index"))
        return self._rows is None and _length(self._free) is not None and position is not None

    def with_cell(self, index: Any, value: Tensor) -> TensorArray:
        """The array with another element in the place of one that `cell` has given."""
        assert self._cells is not None
        return self._next(self._free, None, cells=self._cells.replaced(index, value))

    def with_added(self, indices: Any, values: Tensor) -> TensorArray:
        """The array with the rows of values added to the elements at indices (k), int."""
        if self._cells is not None:
            return self._dense().with_added(indices, values)
        positions = _positions(indices)
        rows, free = self._ready_for(values, positions)
        rows = add_at(rows, p.unsqueeze(positions, [1]), values, name="add")
        return self._next(free, rows)

    # ---- the rows ----

    def _checked_split(self, tensor: Tensor, lengths: list[int]) -> Tensor:
        """The tensor to split; a run fails where the lengths do not fit it or the array."""
        _rest(tensor)
        length, size = _length(tensor), _length(self._free)
        if length is not None and sum(lengths) != length:
            words = (
                f"TensorArray: split into the lengths {lengths}, expected that they sum up to the "
                f"value's first size, {length}"
            )
            return never(tensor, words)
        if size is not None and size != len(lengths) and not self._dynamic:
            words = (
                f"TensorArray: split into {len(lengths)} elements, but the array has {size} and is "
                "not of dynamic size"
            )
            return never(tensor, words)
        return tensor

    def _with_cell(self, index: Any, tensor: Tensor) -> Cells | None:
        """The cells with one more; None: the element is to be a row."""
        size = _length(self._free)
        if self._rows is not None or size is None:
            return None
        if self._cells is None and self._infer and tensor.shape.ndims is not None:
            return None
        cells = self._cells or Cells({}, size, self._dtype)
        return cells.with_one(index, tensor, self._dynamic)

    def _dense(self) -> TensorArray:
        """The array with its elements as rows."""
        if self._cells is None or not self._cells.elements:
            return self
        taken = [TAKEN if i in self._cells.elements else i for i in range(self._cells.size)]
        rows = self._cells.stack()
        return self._next(constant(np.asarray(taken, np.int64)), rows, self._shape)

    def _next(
        self,
        free: Tensor,
        rows: Tensor | None,
        shape: TensorShape | None = None,
        cells: Cells | None = None,
    ) -> TensorArray:
        made = TensorArray.__new__(TensorArray)
        made._cells = cells
        made._dtype, made._dynamic, made._infer = self._dtype, self._dynamic, self._infer
        made._shape = self._shape if shape is None else shape
        made._free, made._rows = free, rows
        made._gradients, made._read_once = self._gradients, self._read_once
        return made

    def as_element(self, value: Any) -> Tensor:
        """A value to write as a tensor."""
        tensor = convert_to_tensor(value, preferred_dtype=self._dtype, name="value")
        if tensor.dtype.base_dtype != self._dtype.base_dtype:
            raise errors.InvalidArgumentError(
                message=f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                f"{tensor.dtype.name} ('{tensor.name}'); cast it"
            )
        return tensor

    def _merged(self, shape: TensorShape) -> TensorShape:
        """The elements' shape after a write of an element of a shape."""
        if not self._shape.is_compatible_with(shape):
            raise ValueError(
                f"Inconsistent shapes: saw {shape} but expected {self._shape} (and "
                f"infer_shape={self._infer}); the elements of a TensorArray have one shape"
            )
        return self._shape.merge_with(shape) if self._infer else self._shape

    def _unwritten(self) -> bool:
        """Whether the rows are none yet, or a loop variable that waits for its shape."""
        rows = self._rows
        while rows is not None and rows.op.op == "Identity":
            (rows,) = rows.op.operands
        return rows is None or (rows.op.op == "Argument" and rows.shape.ndims is None)

    def _settle(self, shape: TensorShape) -> Tensor:
        """The rows, of elements of a shape; new ones are zeros."""
        if self._rows is None:
            with scopes.name_scope("rows"):
                # empty rows of an unknown rank have one axis more than the number of rows
                dims = [0] if shape.ndims is None else [d or 0 for d in shape.as_list()]
                free = p.shape_of(self._free)
                whole = p.concat([free, p.int_vector(dims)], 0) if dims else free
                rows: Tensor = array.zeros(whole, self._dtype)
                static = TensorShape([_length(self._free), *dims])
                rows.set_shape(static)
                return rows if shape.ndims is not None else _of_any_rank(rows)
        if shape.ndims is not None and self._unwritten():
            sizes = shape.as_list() if shape.is_fully_defined() else [None] * shape.ndims
            self._rows.set_shape(TensorShape([None, *sizes]))
        return self._rows

    def _known(self, what: str) -> Tensor:
        if self._cells is not None and self._cells.elements:
            return self._cells.stack()
        if self._rows is None and self._shape.ndims is None:
            raise errors.InvalidArgumentError(
                message=f"TensorArray: {what} before anything was written, and the rank of its "
                "elements is not known; give element_shape"
            )
        rows, nothing = self._settle(self._shape), self._rows is None
        if nothing and not self._shape.is_fully_defined():  # the graph is not to take 0 for a size
            count = None if self._dynamic else _length(self._free)
            return node("Identity", [rows], self._dtype, (count, *self._shape.as_list()))
        return rows

    def _taken(self, positions: Tensor, scope: str) -> Tensor:
        if self._cells is not None:
            return self._dense()._taken(positions, scope)
        rows = self._known("read") if self._rows is None else self._rows
        if self._differ(rows):
            found = p.gather(rows, positions, 0)
            marks = p.gather(self._free, positions, 0)
            found = array.identity(ragged_rows.cut(rows, found, marks), name=scope)
        else:
            found = p.gather(rows, positions, 0, scope)
        if self._shape.ndims is not None:
            kept = found.shape.as_list()[: positions.shape.ndims] if positions.shape.ndims else []
            found.set_shape(TensorShape([*kept, *self._shape.as_list()]))
        return found

    def _written(self, positions: Tensor, values: Tensor, shape: TensorShape) -> TensorArray:
        """The array with rows of values at positions (k)."""
        if self._cells is not None:
            return self._dense()._written(positions, values, shape)
        element = _rest(values)
        rows, free = self._ready_for(values, positions)
        slots = p.unsqueeze(p.gather(free, positions, 0, "position"), [1])
        mark: Tensor = constant(np.int64(TAKEN))
        # in a loop, rows of a known size keep it: the next iteration takes no others
        inside = scopes.get_default_graph().outer is not None
        if self._differ(rows) if inside else self._differ(rows, values):
            mark = ragged_rows.mark(values)
            before = rows if self._rows is None or self._rows.shape.ndims is None else self._rows
            rows, free, values = ragged_rows.fitted(rows, free, values, before)
            element = _rest(values)
        inputs = [rows, slots, values]
        element = element.merge_with(_rest(rows))
        dims = None if element.ndims is None else (_length(free), *element.as_list())
        made = node("ScatterND", inputs, self._dtype, dims, name="write_once")
        taken = p.expand(mark, p.shape_of(positions), dims_of(positions))
        marked = [free, p.unsqueeze(positions, [1]), taken]
        left = node("ScatterND", marked, dtypes.int64, dims_of(free), name="written")
        return self._next(left, made, shape)

    def _differ(self, *stacked: Tensor) -> bool:
        """Whether elements may differ in their first size, so that rows have ends."""
        dims = [dims_of(rows) for rows in stacked]
        known = [d for d in dims if d is not None and len(d) > 1]
        return not self._infer and len(known) == len(dims) and any(d[1] is None for d in known)

    def _ready_for(self, values: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
        """The rows, and where writes to them go, of a number and size that takes the values."""
        element, fresh, free = _rest(values), self._rows is None, self._free
        rows = self._settle(element)
        if rows.shape.ndims is None:
            if self._dynamic:
                count = p.count(free, dtypes.int64)
                more = _numbers(count, _count_with(count, positions))
                free = p.concat([free, more], 0)
            return _shaped(rows, free, values), free
        if self._dynamic:
            rows, free = _longer(rows, free, positions)
        if not element.is_fully_defined() or not _rest(rows).is_fully_defined():
            rows = _wider(rows, values, fresh, self._infer)
        return rows, free


def _of_any_rank(rows: Tensor) -> Tensor:
    """The rows, of which the graph knows no shape."""
    return node("Identity", [rows], rows.dtype, None)


def _shaped(rows: Tensor, free: Tensor, values: Tensor) -> Tensor:
    """As many rows as `free` has; empty ones, which nothing was written to, get the values' shape,
    of which not even the rank is known."""
    start, end, axis = p.int_vector([0]), p.int_vector([p.last]), p.int_vector([0])
    have, size = p.shape_of(rows), node("Size", [rows], dtypes.int64, ())
    both = p.concat([p.shape_of(values), have], 0)
    empty = p.compare("Equal", size, scalar(0, dtypes.int64))
    rank = p.shape_of(p.shape_of(values))
    first = p.select(empty, start, rank)
    last = p.select(empty, rank, end)
    chosen = node("Slice", [both, first, last, axis], dtypes.int64, (None,))
    rest = p.slice_axes(chosen, [1], [p.last], [0])
    target = p.concat([p.shape_of(free), rest], 0)
    requested = node("ReduceProd", [target], dtypes.int64, (1,), keepdims=1)
    more = p.binary("Sub", requested, p.unsqueeze(size, [0]))
    pads = p.concat([start, more], 0)
    flat = node("Pad", [p.reshape(rows, [-1], (None,)), pads], rows.dtype, (None,))
    return p.reshape_to(flat, target, None)


def _longer(rows: Tensor, free: Tensor, positions: Tensor) -> tuple[Tensor, Tensor]:
    """Rows up to the largest of the positions, where it is beyond the end."""
    count = p.count(free, dtypes.int64)
    requested = _count_with(count, positions)
    more = p.unsqueeze(p.binary("Sub", requested, count), [0])
    rank = rows.shape.ndims
    assert rank is not None
    pads = p.concat([p.int_vector([0] * rank), more, p.int_vector([0] * (rank - 1))], 0)
    dims = dims_of(rows)
    grown = node("Pad", [rows, pads], rows.dtype, None if dims is None else (None, *dims[1:]))
    return grown, p.concat([free, _numbers(count, requested)], 0)


def _count_with(count: Tensor, positions: Tensor) -> Tensor:
    """The number of rows required, so that none of the positions is beyond the end."""
    largest = node("ReduceMax", [positions], dtypes.int64, (), keepdims=0)
    after = p.binary("Add", largest, scalar(1, dtypes.int64))
    return node("Max", [count, after], dtypes.int64, ())


def _wider(rows: Tensor, values: Tensor, fresh: bool, alike: bool) -> Tensor:
    """Rows of the values' size, of which none may have been known when they were made; alike:
    whether those that were written have their size, too."""
    dims = dims_of(values)
    assert dims is not None
    if fresh:
        size = p.slice_axes(p.shape_of(values), [1], [p.last], [0])
        whole = p.concat([p.slice_axes(p.shape_of(rows), [0], [1], [0]), size], 0)
        made: Tensor = array.zeros(whole, rows.dtype)
        made.set_shape(TensorShape([_length(rows), *dims[1:]]))
        return made
    size, have = p.shape_of(values), p.shape_of(rows)
    empty = p.compare("Equal", have, constant(np.int64(0)))
    missing = p.select(empty, size, constant(np.int64(0)))
    pads = p.concat([p.int_vector([0] * (len(dims) + 1)),
                     p.slice_axes(missing, [1], [p.last], [0])], 0)  # fmt: skip
    kept = dims_of(rows)
    assert kept is not None
    merged = [a if not b else b for a, b in zip(dims[1:], kept[1:], strict=True)]
    if merged and kept[1] is None and not alike:
        merged[0] = None
    return node("Pad", [rows, pads], rows.dtype, (kept[0], *merged))


def _numbers(first: Tensor, limit: Tensor) -> Tensor:
    """first, first + 1, … up to limit: int64."""
    ends = [constant_value(first), constant_value(limit)]
    if ends[0] is not None and ends[1] is not None and ends[1] - ends[0] < p.WRITTEN_OUT:
        return constant(np.arange(int(ends[0]), int(ends[1]), dtype=np.int64))
    return node("Range", [first, limit, scalar(1, dtypes.int64)], dtypes.int64, (None,))


def _numbers_upto(count: int) -> Tensor:
    ends = [scalar(n, dtypes.int64) for n in (0, count, 1)]
    return node("Range", ends, dtypes.int64, (count,))


def _position(index: Any) -> Tensor:
    tensor = convert_to_tensor(index, name="index")
    require(tensor, INTEGER, "TensorArray", "index")
    tensor = p.cast(tensor, dtypes.int64)
    if tensor.shape.ndims not in (None, 0):
        raise ValueError(f"TensorArray: index has shape {tensor.shape}, expected a scalar")
    return _not_negative(tensor)


def _positions(indices: Any) -> Tensor:
    tensor = p.cast(convert_to_tensor(indices, dtype=None, name="indices"), dtypes.int64)
    if tensor.shape.ndims not in (None, 1):
        raise ValueError(f"TensorArray: indices have shape {tensor.shape}, expected a vector")
    return _not_negative(tensor)


def _not_negative(positions: Tensor) -> Tensor:
    """The positions; a negative one, which ONNX counts from the end, becomes one beyond it."""
    known = constant_value(positions)
    if known is not None and (known >= 0).all():
        return positions
    below = p.compare("Less", positions, scalar(0, dtypes.int64))
    return p.select(below, scalar(TAKEN, dtypes.int64), positions)


def _rest(tensor: Tensor) -> TensorShape:
    """The static shape of the rows of a tensor."""
    if tensor.shape.ndims is None:
        return TensorShape(None)
    if tensor.shape.ndims == 0:
        raise errors.InvalidArgumentError(
            message=f"TensorArray: '{tensor.name}' is a scalar, expected rows to take apart"
        )
    return TensorShape(tensor.shape.as_list()[1:])


def _length(tensor: Tensor) -> int | None:
    if tensor.shape.ndims is None:
        return None
    length: int | None = tensor.shape.as_list()[0]
    return length


# ---- as a loop variable ----


def _apart(value: TensorArray) -> list[Part]:
    here = scopes.get_default_graph().root
    if here.access.around is not None and value._free.graph.root is not here:
        raise NotImplementedError(
            "a TensorArray made outside of a dataset's function goes through no branch or loop in "
            "it, as in TensorFlow. Instead, construct a new TensorArray inside the function"
        )
    value = value._dense()
    if value._rows is None and value._shape.is_fully_defined():
        return [value._free, value._settle(value._shape)]
    if value._rows is not None and not value._unwritten():
        return [value._free, value._rows]
    make = lambda shape: value._settle(_without_first(shape))  # noqa: E731
    return [value._free, Late(value.dtype, make, value)]


def _without_first(shape: TensorShape) -> TensorShape:
    return TensorShape(None) if shape.ndims is None else TensorShape(shape.as_list()[1:])


def _together(like: TensorArray, tensors: Sequence[Any]) -> TensorArray:
    free, rows = tensors
    if isinstance(rows, Late):  # nothing was written yet
        return like._next(free, rows.owner._rows)
    shape = like._shape
    if like._infer and rows.shape.ndims is not None:
        shape = shape.merge_with(_rest(rows))
    return like._next(free, rows, shape)


def _kept(
    value: TensorArray, tensors: Sequence[Part], given: TensorShape | None
) -> list[TensorShape]:
    free, rows = (t.shape for t in tensors)
    if not value.dynamic_size:
        return [free, rows]
    whole = rows if rows.ndims is None else TensorShape([None, *rows.as_list()[1:]])
    return [TensorShape([None]), whole]


carrying.register(TensorArray, _apart, _together, _kept)
