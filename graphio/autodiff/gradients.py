"""Reverse-mode differentiation: `gradients` adds the backward pass to the graph.

The method is the chain rule over the operations between xs and ys in reverse order of
creation (Speelpenning 1980; Griewank and Walther 2008, chapter 3). What each operator
contributes is registered next to its builder, see graphio.framework.gradient_registry.
"""

from __future__ import annotations

import contextlib
import enum
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from graphio.framework import dtypes, gradient_registry, registered, scopes, variable_reads
from graphio.framework.constants import convert_to_tensor
from graphio.framework.indexed_slices import IndexedSlices
from graphio.ops.array import index_gradients  # noqa: F401 - registers gradients
from graphio.ops.array import surface as array
from graphio.ops.control_flow import sequence
from graphio.ops.control_flow.functional import map_fn
from graphio.ops.math import elementwise
from graphio.support import api_guard
from graphio.variables.variables import Variable, variables_of

if TYPE_CHECKING:
    from graphio.framework.gradient_registry import Region
    from graphio.framework.graph import Operation, Tensor

    Gradient = Tensor | IndexedSlices | None

__all__ = ["AggregationMethod", "UnconnectedGradients", "gradients", "hessians"]

CONTROL_FLOW = ("If", "Loop", "Scan")


class UnconnectedGradients(enum.Enum):
    """The gradient that tf.gradients gives for an x on which no y depends."""

    NONE = "none"
    ZERO = "zero"


class AggregationMethod:
    """How gradients of several uses are added; accepted for TensorFlow's sake: there is one way."""

    ADD_N = 0
    DEFAULT = ADD_N
    EXPERIMENTAL_TREE = 1
    EXPERIMENTAL_ACCUMULATE_N = 2


def _unconnected(given: Any) -> UnconnectedGradients:
    try:
        return UnconnectedGradients(given)
    except ValueError:
        raise ValueError(f"Unknown value for unconnected_gradients: {given!r}") from None


@api_guard.operator
def gradients(
    ys: Any,
    xs: Any,
    grad_ys: Any = None,
    name: str = "gradients",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
    stop_gradients: Any = None,
    unconnected_gradients: Any = UnconnectedGradients.NONE,
) -> list[Any]:
    """Symbolic derivatives of the sum of ys with respect to each x.

    Args:
        ys: a tensor or a list of them, any shapes, floating or complex.
        xs: a tensor, Variable or list of them.
        grad_ys: gradients arriving at ys, same structure; None means ones.
        name: name scope of the new operations.
        colocate_gradients_with_ops: True: the operations of a gradient request the device of the
            operation that is differentiated.
        gate_gradients: accepted for TensorFlow's sake; a run has no races.
        aggregation_method: a value of tf.AggregationMethod; gradients are added in one way.
        stop_gradients: tensors taken as constants.
        unconnected_gradients: tf.UnconnectedGradients.NONE or ZERO (or "none", "zero"): what is
            given for an x on which no y depends.

    Returns:
        A list, one entry an x: a tensor of x's shape and dtype, IndexedSlices where x was only
        gathered from, or None if no y depends on x or the dtype is neither floating nor complex.
        Of a complex x it is dL/dre + i dL/dim, as in TensorFlow.

    Raises:
        LookupError: an operator on the way has no registered gradient.
        ValueError: grad_ys and ys differ in length or shape; unknown aggregation_method or
            unconnected_gradients.
        TypeError: a complex y has no grad_ys.
    """
    unconnected = _unconnected(unconnected_gradients)
    if aggregation_method not in (None, 0, 1, 2):
        raise ValueError(f"Invalid aggregation_method specified {aggregation_method!r}.")
    with scopes.get_default_graph().unchanged_on_error():
        return _gradients(
            ys, xs, grad_ys, name, stop_gradients, unconnected, colocate_gradients_with_ops
        )


def _gradients(
    ys: Any, xs: Any, grad_ys: Any, name: str, stop_gradients: Any,
    unconnected: UnconnectedGradients, colocate: bool,
) -> list[Any]:  # fmt: skip
    outputs = [convert_to_tensor(y) for y in _as_list(ys)]
    targets = [_as_tensor(x) for x in _as_list(xs)]
    incoming = _as_list(grad_ys) if grad_ys is not None else [None] * len(outputs)
    if len(incoming) != len(outputs):
        raise ValueError(
            f"gradients: {len(outputs)} ys but {len(incoming)} grad_ys; give one gradient a y"
        )
    stopped = set() if stop_gradients is None else {_as_tensor(t) for t in _as_list(stop_gradients)}
    with scopes.name_scope(name, "gradients"):
        found = _Backward(outputs, targets, stopped, colocate).run(incoming)
        if unconnected is UnconnectedGradients.NONE:
            return list(found)
        return [
            array.zeros_like(x) if dx is None else dx for x, dx in zip(targets, found, strict=True)
        ]


@api_guard.operator
def hessians(
    ys: Any,
    xs: Any,
    name: str = "hessians",
    colocate_gradients_with_ops: bool = False,
    gate_gradients: bool = False,
    aggregation_method: int | None = None,
) -> list[Any]:
    """Second derivatives of the sum of ys by each x.

    Args:
        ys: a tensor or list of them.
        xs: a tensor or a list of them, of any shape.
        name: name scope of the new operations.
        colocate_gradients_with_ops: as for gradients.
        gate_gradients, aggregation_method: accepted, as for gradients.

    Returns:
        A list of tensors of x's shape twice: (n, n) for a vector of n.

    Raises:
        ValueError: no y depends on an x, or ys are linear in it.
    """
    unchanged = scopes.get_default_graph().unchanged_on_error()
    with unchanged, scopes.name_scope(name, "hessians"):
        return [
            _hessian(ys, _as_tensor(x), colocate_gradients_with_ops, aggregation_method)
            for x in _as_list(xs)
        ]


def _hessian(ys: Any, x: Tensor, colocate: bool, aggregation_method: int | None) -> Tensor:
    options: dict[str, Any] = {
        "colocate_gradients_with_ops": colocate,
        "aggregation_method": aggregation_method,
    }
    (first,) = gradients(ys, x, **options)
    if first is None:
        raise ValueError(f"hessians: no y depends on '{x.name}'")
    flat: Any = array.reshape(first, [-1])

    def row(i: Tensor) -> Tensor:
        (second,) = gradients(flat[i], x, **options)
        if second is None:
            raise ValueError(
                f"hessians: the gradient does not depend on '{x.name}', in which ys are linear; "
                "a Hessian of zeros is tf.zeros"
            )
        return convert_to_tensor(second)

    rows = map_fn(row, array.range(array.size(flat)), dtype=x.dtype.base_dtype)
    shape = array.shape(x)
    squared = array.reshape(rows, array.concat([shape, shape], 0))
    if x.shape.ndims is not None:
        squared.set_shape(x.shape.as_list() * 2)
    return squared


class _Backward:
    """One backward pass: what depends on xs, what leads to ys, and the gradients so far."""

    def __init__(
        self, ys: Sequence[Tensor], xs: Sequence[Tensor], stopped: set[Tensor], colocate: bool
    ) -> None:
        self.ys = list(ys)
        self.xs = list(xs)
        self.stopped = stopped
        self.colocate = colocate
        self.arrived: dict[Tensor, list[Tensor | IndexedSlices]] = {}
        self.done: set[Operation] = set()  # of regions with several
        self.requested = _depending(_leading_to(ys, stopped), xs, stopped)

    def run(self, incoming: Sequence[Any]) -> list[Gradient]:
        for y, dy in zip(self.ys, incoming, strict=True):
            self._add(y, _initial(y, dy))
        operations = {t.op for t in self.requested if any(self.requested_inputs(t.op))}
        for operation in sorted(operations, key=lambda op: op.order, reverse=True):
            self._differentiate(operation)
        return [
            self._of_itself(x, incoming) if x.dtype.is_integer else self._total(x) for x in self.xs
        ]

    def _of_itself(self, x: Tensor, incoming: Sequence[Any]) -> Gradient:
        """The gradient of an integer x: only of a y that it is itself."""
        parts = [
            array.ones_like(y) if dy is None else _initial(y, dy)
            for y, dy in zip(self.ys, incoming, strict=True)
            if y is x
        ]
        return total([dy for dy in parts if dy is not None]) if parts else self._total(x)

    def requested_inputs(self, operation: Operation) -> list[bool]:
        return [t is not None and t in self.requested for t in sources(operation)]

    def _through(self, region: Region, operation: Operation) -> None:
        """Asks the program for the gradient of a part of its graph, when all has arrived there."""
        if operation in self.done:
            return
        self.done.update(region.operations)
        arriving = [None if t in self.stopped else self._total(t) for t in region.outputs]
        if all(dy is None for dy in arriving):
            return
        name = operation.name.rsplit("/", 1)[-1] + "_grad"
        with self._beside(operation), scopes.name_scope(name):
            dense = [
                (array.zeros_like(t) if dtypes.carries_gradient(t.dtype) else None)
                if dy is None
                else _dense(dy)
                for t, dy in zip(region.outputs, arriving, strict=True)
            ]
            found = region.function(dense)
        for tensor, gradient in zip(region.inputs, found, strict=True):
            if tensor is not None and tensor in self.requested and gradient is not None:
                self._add(tensor, gradient)

    def _differentiate(self, operation: Operation) -> None:
        region = gradient_registry.region_of(operation)
        if region is not None:
            self._through(region, operation)
            return
        # An output in stop_gradients is a constant to the operations before it.
        arriving = [None if t in self.stopped else self._total(t) for t in operation.outputs]
        if all(dy is None for dy in arriving):
            return
        function = gradient_registry.lookup(operation)
        if function is None:
            return
        keep_sparse = gradient_registry.takes_slices(function)
        dense = arriving if keep_sparse else [_dense(dy) for dy in arriving]
        requested, targets = self.requested_inputs(operation), sources(operation)
        name = operation.name.rsplit("/", 1)[-1] + "_grad"
        with self._beside(operation), scopes.name_scope(name):
            if operation.op in CONTROL_FLOW and operation.domain == "":
                self._check_held(operation, arriving, requested)
                found = function(operation, *dense, requested=requested)
            else:
                found = function(operation, *dense)
        if len(found) != len(targets):
            raise ValueError(
                f"the gradient of {operation.op} gave {len(found)} gradients for "
                f"{len(targets)} inputs ('{operation.name}'); return one an input, None for none"
            )
        for tensor, needed, gradient in zip(targets, requested, found, strict=True):
            if tensor is not None and needed and gradient is not None:
                self._add(tensor, gradient)

    def _check_held(
        self, operation: Operation, arriving: Sequence[Gradient], requested: Sequence[bool]
    ) -> None:
        read = [t for t, want in zip(sources(operation), requested, strict=True) if want]
        made = [t for t, dy in zip(operation.outputs, arriving, strict=True) if dy is not None]
        held = next(
            (
                t
                for t in (*made, *read)
                if t is not None and t.dtype.inside is not None and _carries(t)
            ),
            None,
        )
        if held is not None:
            raise LookupError(
                f"{operation.op} '{operation.name}'{operation.where}: no gradient passes through "
                f"it by '{held.name}', a {held.dtype.name}; cut the path with stop_gradient"
            )

    def _add(self, tensor: Tensor, gradient: Gradient) -> None:
        if gradient is not None and _carries(tensor):
            self.arrived.setdefault(tensor, []).append(gradient)

    def _total(self, tensor: Tensor) -> Gradient:
        parts = self.arrived.get(tensor)
        if not parts:
            return None
        if len(parts) > 1:
            one_device = len({part.device for part in parts}) == 1
            with self._beside(parts[-1].op if one_device else tensor.op):
                parts[:] = [total(parts)]
        return parts[0]

    def _beside(self, operation: Operation | None) -> contextlib.AbstractContextManager[None]:
        """A context whose operations request the operation's device, if colocation is on."""
        if not self.colocate or operation is None:
            return contextlib.nullcontext()
        return scopes.colocate_with(operation, ignore_existing=True)


def _carries(tensor: Tensor) -> bool:
    """Whether a gradient may arrive: quantised tensors take one in the dtype of the floats."""
    if tensor.dtype.inside is not None:
        innermost = tensor.dtype.inside
        return dtypes.carries_gradient(innermost.inside or innermost)
    small_float = tensor.dtype.name.startswith(("float8", "float4"))
    if dtypes.carries_gradient(tensor.dtype) or small_float:
        return True
    return tensor.op is not None and tensor.op.op == "QuantizeLinear"


def sources(operation: Operation) -> list[Tensor | None]:
    """All values that an operation reads, its inputs, then what its bodies capture; or those of
    the region that it ends; or the variable."""
    region = gradient_registry.region_of(operation)
    if region is not None:
        return region.inputs
    if operation.op == "ReadVariable" and operation.domain == "graphio":
        return [_variable_read(operation)]
    return [*operation.operands, *operation.captures]


def _variable_read(operation: Operation) -> Tensor | None:
    """The tensor that represents the variable among xs."""
    around = variable_reads.outermost(operation.graph.root)
    variable = variables_of(around).get(operation.attrs["variable"])
    return None if variable is None else variable.snapshot


def _leading_to(ys: Iterable[Tensor], stopped: set[Tensor]) -> set[Tensor]:
    """Tensors from which a y can be reached."""
    found: set[Tensor] = set()
    pending = list(ys)
    while pending:
        tensor = pending.pop()
        if tensor in found:
            continue
        found.add(tensor)
        if tensor not in stopped and tensor.op is not None:
            pending.extend(t for t in sources(tensor.op) if t is not None)
    return found


def _depending(candidates: set[Tensor], xs: Iterable[Tensor], stopped: set[Tensor]) -> set[Tensor]:
    """The candidates that depend on an x; operations come in order of creation."""
    found = {x for x in xs if x in candidates}
    operations = {t.op for t in candidates}
    for operation in sorted(operations, key=lambda op: op.order):
        if any(t in found for t in sources(operation) if t is not None):
            found.update(t for t in operation.outputs if t in candidates and t not in stopped)
    return found


#: operations whose gradient has the input's shape whatever the shape of the output's is
_RESHAPING = frozenset({"ExpandDims", "Reshape", "Squeeze"})


def _initial(y: Tensor, dy: Any) -> Gradient:
    if dy is None:
        if y.dtype.is_complex:
            raise TypeError(
                f"Gradients of complex tensors ({y}) must set grad_ys (y.dtype = {y.dtype.name})"
            )
        return array.ones_like(y) if y.dtype.is_floating else None
    if isinstance(dy, IndexedSlices):
        return dy
    gradient = convert_to_tensor(dy, dtype=y.dtype)
    if y.shape.ndims == 0 and gradient.shape.num_elements() == 1:
        return array.reshape(gradient, [])  # a number alone, whatever its axes
    if y.op is not None and y.op.type in _RESHAPING:
        known = y.shape.num_elements()
        if known is not None and gradient.shape.num_elements() == known:
            return array.reshape(gradient, y.shape)
    if not y.shape.is_compatible_with(gradient.shape):
        raise ValueError(
            f"gradients: grad_ys for '{y.name}' has shape {gradient.shape}, expected {y.shape}"
        )
    return gradient


def _zeros(tensor: Tensor) -> Tensor | None:
    """The gradient of a tensor at which none arrived, None where none can."""
    return array.zeros_like(tensor) if dtypes.carries_gradient(tensor.dtype) else None


def _dense(gradient: Gradient) -> Tensor | None:
    return convert_to_tensor(gradient) if isinstance(gradient, IndexedSlices) else gradient


@registered.sum_of_gradients.register
def total(parts: Sequence[Tensor | IndexedSlices]) -> Tensor | IndexedSlices:
    """The sum of gradients of one tensor: rows, if all of them are."""
    slices = [p for p in parts if isinstance(p, IndexedSlices)]
    if len(slices) == len(parts):
        return IndexedSlices(
            array.concat([s.values for s in slices], 0),
            array.concat([elementwise.cast(s.indices, dtypes.int64) for s in slices], 0),
            slices[0].dense_shape,
        )
    added = convert_to_tensor(parts[0])
    if added.dtype.kind == "sequence":
        return sequence.add([convert_to_tensor(part) for part in parts])
    for part in parts[1:]:
        added = elementwise.add(added, convert_to_tensor(part))
    return added


def _as_list(values: Any) -> list[Any]:
    return list(values) if isinstance(values, (list, tuple)) else [values]


def _as_tensor(value: Any) -> Tensor:
    """The tensor; of a variable, and of a read that a plain use made, `v/read`: it stands for all
    reads of the variable."""
    if isinstance(value, Variable):
        return value.snapshot
    tensor: Tensor = convert_to_tensor(value)
    if variable_reads.is_plain(tensor.op):
        shared = _variable_read(tensor.op)
        return tensor if shared is None else shared
    return tensor


@registered.gradients.register
def _derivatives(
    ys: Sequence[Tensor], xs: Sequence[Tensor], arriving: Sequence[Any], stops: Sequence[Tensor]
) -> list[Any]:
    return gradients(list(ys), list(xs), list(arriving), stop_gradients=list(stops))
