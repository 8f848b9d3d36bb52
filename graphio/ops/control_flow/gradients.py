"""Gradients of If, Loop and Scan: a backward If, a Loop or Scan that runs in reverse.

What the backward pass needs of a forward body leaves it as a trailing output, the one change
that an existing operation may undergo: of an If as it is, of a Loop stacked over the
iterations. A body in a body is built twice: what it computes may have another shape in every
iteration around it, so it is computed again where the backward pass needs it, unless it draws
random numbers or has variables. The backward Loop is an ordinary Loop, so second-order gradients
need nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from graphio.framework import dtypes, gradient_registry, registered, scopes
from graphio.framework.constants import constant, constant_from, convert_to_tensor
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.graph_state import bodies
from graphio.framework.indexed_slices import IndexedSlices
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import index
from graphio.ops.array import surface as array
from graphio.ops.base import primitive as p
from graphio.ops.control_flow.copying import made_again
from graphio.ops.control_flow.dynamic_shapes import Memory, stack
from graphio.ops.control_flow.loops import scan_attributes
from graphio.ops.control_flow.varying import Varying
from graphio.ops.math import elementwise
from graphio.schema import operators

Gradients = list[Any]  # tensors, IndexedSlices or None


class _Intermediates:
    """Stands for a forward body inside its backward body.

    `resolve` turns a tensor of the forward body into one that the backward body can read:
    constants are made again, everything else leaves the forward body as a trailing output. With
    `repeats`, operations that have bodies are made again too, for their outputs may change shape.
    """

    def __init__(
        self,
        body: Graph,
        export: Callable[[Tensor], Tensor] | None = None,
        repeats: bool = False,
    ) -> None:
        self.body = body
        self.repeats = repeats
        self.backward: Graph | None = None
        self.export = export
        self._exports: list[tuple[list[Tensor], Callable[[], None]]] = []
        self._known: dict[Tensor, Tensor] = {}
        self._measured: dict[tuple[Tensor, str, str], Tensor] = {}

    def resolve(self, tensor: Tensor) -> Tensor | None:
        """None if the tensor is not of the forward body."""
        if tensor.graph is not self.body:
            return None
        if tensor not in self._known:
            assert self.backward is not None and self.export is not None
            with self.backward.as_default(), scopes.control_dependencies(None):
                remade = constant_from(tensor)
                if remade is not None:
                    self._known[tensor] = remade
                elif self.repeats and _repeatable(tensor.op) and _may_change(tensor):
                    again = made_again(tensor.op, {})
                    self._known.update(zip(tensor.op.outputs, again.outputs, strict=True))
                else:
                    self._known[tensor] = self.export(tensor)
        return self._known[tensor]

    def measure(self, tensor: Tensor, op: str, attrs: Mapping[str, object] | None) -> Tensor | None:
        """The shape or size of a tensor of a Loop's body, taken there, for that may differ between
        iterations where the tensor could not be stacked. Elsewhere engines know more of a shape
        before the run if it is taken of what leaves."""
        if tensor.graph is not self.body or tensor in self._known or tensor.value_index < 0:
            return None
        key = (tensor, op, repr(attrs))
        if key not in self._measured:
            shape = TensorShape([tensor.shape.ndims] if op == "Shape" else [])
            with self.body.as_default(), scopes.control_dependencies(None):
                made = self.body.add_operation(op, [tensor], [(dtypes.int64, shape)], attrs)
            self._measured[key] = made.outputs[0]
        return self._measured[key]

    def output_later(
        self, op: Operation, tensor: Tensor, shape: TensorShape, make: Callable[[], None]
    ) -> Tensor:
        """Stands for a new output of op until `settle` knows whether something reads it.

        Args:
            op: the operation of the forward body.
            tensor: of that body, which is to leave it.
            shape: of the output.
            make: gives the body, or both bodies of an If, the output, when it is needed.
        """
        found = Tensor(op.graph, op, -1, f"{op.name}:later", tensor.dtype, shape)

        def keep() -> None:
            make()
            op.adopt_output(found)

        self.outputs_later([found], keep)
        return found

    def outputs_later(self, outputs: Sequence[Tensor], keep: Callable[[], None]) -> None:
        """Notes what stands for outputs, and how to make them when something reads one."""
        self._exports.append((list(outputs), keep))

    def settle(self, cuts: Sequence[tuple[Tensor, Tensor]] = ()) -> set[Tensor]:
        """Takes out of the finished backward body what leads to none of its outputs, and makes the
        outputs that the rest reads of the forward body.

        Args:
            cuts: inputs of the backward body, and what they are pieces of.

        Returns:
            What the backward body reads.
        """
        assert self.backward is not None
        read = bodies.take_out_dead(self.backward)
        read.update(whole for piece, whole in cuts if piece in read)
        for outputs, keep in self._exports:
            if any(t in read or self._outside(t) in read for t in outputs):
                keep()
                continue
            for output in outputs:
                bodies.forget_capture(self.backward, output)
                bodies.forget_capture(self.backward, self._outside(output))
        self._exports.clear()
        return read

    def _outside(self, tensor: Tensor) -> Tensor:
        """The tensor of the outer graphs that replaces one of a forward body; others stay."""
        graph = None if self.backward is None else self.backward.outer
        while graph is not None:
            around = getattr(graph.access.resolve, "__self__", None)
            if isinstance(around, _Intermediates):
                tensor = around._known.get(tensor, tensor)
            graph = graph.outer
        return tensor


def _backward_body(outer: Graph, intermediates: _Intermediates) -> Graph:
    graph = Graph(outer=outer)
    graph.access.resolve = intermediates.resolve
    if intermediates.repeats:
        graph.access.lifted = ("Transpose",)
    intermediates.backward = graph
    return graph


def _differentiate(
    ys: Sequence[Tensor],
    xs: Sequence[Tensor],
    dys: Sequence[Tensor | None],
    rows_of: int | None = None,
) -> list[Any]:
    """Gradients inside a backward body; an empty list of ys gives None for all.

    They are dense, but for the xs from rows_of on: those of which rows were read get rows.
    """
    pairs = [(y, dy) for y, dy in zip(ys, dys, strict=True) if dy is not None]
    if not pairs or not xs:
        return [None] * len(xs)
    # One capture may depend on another; that way leads outside and is differentiated there.
    found = registered.gradients([y for y, _ in pairs], xs, [dy for _, dy in pairs], xs)
    kept = len(xs) if rows_of is None else rows_of
    return [dx if dx is None or i >= kept else convert_to_tensor(dx) for i, dx in enumerate(found)]


# ---- control flow inside of a body ----

ControlFlowGradient = Callable[..., Gradients]


def _in_reach(function: ControlFlowGradient) -> ControlFlowGradient:
    """For an operation in a body, whose gradient is taken in another body: there the operation is
    made again and that one is differentiated. What its own bodies compute may have another shape
    whenever they run, and so could not leave the iterations of a loop around it."""

    def differentiate(op: Operation, *dy: Tensor | None, requested: Sequence[bool]) -> Gradients:
        here = op.graph.outer is None or op.graph is scopes.get_default_graph()
        if here or _keeps_shapes(op) or not _repeatable(op):
            return function(op, *dy, requested=requested)
        sources = [*op.operands, *op.captures]
        known: dict[Tensor, Tensor] = {}
        for tensor in sources:
            if tensor is not None and tensor not in known:
                known[tensor] = array.identity(tensor)
        again = made_again(op, known)
        targets_of_copy = {
            known[t] for t, want in zip(sources, requested, strict=True) if want and t is not None
        }
        own = [*again.operands, *again.captures]
        found = function(again, *dy, requested=[t in targets_of_copy for t in own])
        by_copy: dict[Tensor, Any] = {}
        for copy, dx in zip(own, found, strict=True):
            if copy is not None and dx is not None:
                before = by_copy.get(copy)
                by_copy[copy] = dx if before is None else registered.sum_of_gradients([before, dx])
        return [None if t is None else by_copy.pop(known[t], None) for t in sources]

    return differentiate


def _may_change(tensor: Tensor) -> bool:
    return not tensor.shape.is_fully_defined()


def _keeps_shapes(op: Operation) -> bool:
    """Whether all that an If computes is of known shape; the others stack their iterations."""
    inner = (o for body in op.bodies() for o in body.operations)
    return op.op == "If" and not any(_may_change(t) for o in inner for t in o.outputs)


def _repeatable(op: Operation) -> bool:
    """Whether an operation has bodies, and a second run of them gives and changes the same."""
    return bool(op.bodies()) and not any(map(_has_state, op.bodies()))


def _has_state(body: Graph) -> bool:
    return any(
        not operators.is_pure(o.domain, o.op, o.version)
        or gradient_registry.region_of(o) is not None  # a copy would not have its gradient
        or any(map(_has_state, o.bodies()))
        for o in body.operations
    )


# ---- If ----


@gradient("If")
@_in_reach
def if_gradient(op: Operation, *dy: Tensor | None, requested: Sequence[bool]) -> Gradients:
    """dx = dx of the branch taken; a branch that ignores x gives zeros."""
    captures = op.captures
    targets = [t for t, want in zip(captures, requested[1:], strict=True) if want and _flows(t)]
    arriving = list(dy)
    branches = [op.attrs["then_branch"], op.attrs["else_branch"]]
    outer = scopes.get_default_graph()
    built, found, both = [], [], []
    for branch, name in enumerate(("true", "false")):
        forward: Graph = branches[branch]
        intermediates = _Intermediates(forward)
        intermediates.export = partial(_leave_if, intermediates, op, branch)
        graph = _backward_body(outer, intermediates)
        with graph.as_body(), scopes.name_scope(name):
            ys = forward.outputs[: len(arriving)]
            found.append(_differentiate(ys, targets, arriving, rows_of=0))
        built.append(graph)
        both.append(intermediates)
    used = [i for i in range(len(targets)) if any(part[i] is not None for part in found)]
    if not used:
        return [None] * (1 + len(captures))
    in_rows = [all(dx[i] is None or isinstance(dx[i], IndexedSlices) for dx in found) for i in used]
    for graph, part, intermediates in zip(built, found, both, strict=True):
        with graph.as_body():
            for i, rows in zip(used, in_rows, strict=True):
                graph.outputs.extend(_left(part[i], targets[i], rows))
        intermediates.settle()
    backward = outer.add_operation(
        "If",
        [op.operands[0]],
        [spec for i, rows in zip(used, in_rows, strict=True) for spec in _specs(targets[i], rows)],
        {"then_branch": built[0], "else_branch": built[1]},
        name="If",
    )
    outputs, results = iter(backward.outputs), {}
    for i, rows in zip(used, in_rows, strict=True):
        dx: Any = next(outputs)
        shape = array.shape(targets[i]) if rows else None
        results[targets[i]] = IndexedSlices(dx, next(outputs), shape) if rows else dx
    return [None, *(results.get(t) for t in captures)]


def _left(dx: Any, target: Tensor, rows: bool) -> list[Tensor]:
    """The outputs of a backward branch for the gradient by a target: the tensor, or values and
    indices of the rows."""
    if not rows:
        return [_inside(_zeros_like(target) if dx is None else convert_to_tensor(dx))]
    if dx is None:
        none = p.int_vector([0])
        rest = p.slice_axes(p.shape_of(target), [1], [p.last], [0])
        return [
            array.zeros(p.concat([none, rest], 0), target.dtype),
            array.zeros([0], dtypes.int64),
        ]
    return _parts(dx)


def _parts(rows: IndexedSlices) -> list[Tensor]:
    """Values and indices as a backward body gives them."""
    return [_inside(rows.values), _inside(elementwise.cast(rows.indices, dtypes.int64))]


def _specs(target: Tensor, rows: bool) -> list[tuple[Any, TensorShape]]:
    """Dtypes and shapes of what a backward branch gives."""
    if not rows:
        return [(target.dtype, target.shape)]
    rank = target.shape.ndims
    values = TensorShape(None if rank is None else [None, *target.shape.as_list()[1:]])
    return [(target.dtype, values), (dtypes.int64, TensorShape([None]))]


def _leave_if(intermediates: _Intermediates, op: Operation, branch: int, tensor: Tensor) -> Tensor:
    """A new output of op: the tensor in its branch, an empty one in the other."""
    graphs: list[Graph] = [op.attrs["then_branch"], op.attrs["else_branch"]]

    def make() -> None:
        other = graphs[1 - branch]
        with other.as_body():
            dims = [0] if tensor.shape.ndims is None else [n or 0 for n in tensor.shape.as_list()]
            other.outputs.append(array.zeros(dims, tensor.dtype))
        graphs[branch].outputs.append(tensor)

    return intermediates.output_later(op, tensor, tensor.shape, make)


# ---- Loop ----


@gradient("Loop")
@_in_reach
def loop_gradient(op: Operation, *dy: Tensor | None, requested: Sequence[bool]) -> Gradients:
    """The adjoint of v[i+1] = body(v[i], c): for i from last to first, dv and dc by the body's
    own gradient at the values of iteration i; dc sums over the iterations."""
    body: Graph = op.attrs["body"]
    count = len(op.operands) - 2
    captures = op.captures
    carried = [i for i in range(count) if dtypes.carries_gradient(body.inputs[2 + i].dtype)]
    sums = [
        t for t, want in zip(captures, requested[2 + count :], strict=True) if want and _flows(t)
    ]
    scans = [k for k in range(count, len(dy)) if dy[k] is not None]
    if not carried and not scans:
        return [None] * (len(op.operands) + len(captures))
    trips = _trip_count(op, body)
    outer = scopes.get_default_graph()
    initial = [_or_zeros(dy[i], op.outputs[i]) for i in carried]
    initial += [_zeros_like(t) for t in sums]

    intermediates = _Intermediates(body, repeats=True)
    backward = _backward_body(outer, intermediates)
    backward.access.measure = intermediates.measure
    with backward.as_body(), scopes.name_scope("body"):
        step = backward.add_input(dtypes.int64, TensorShape([]), "iteration")
        go_on = backward.add_input(dtypes.bool, TensorShape([]), "condition")
        position = elementwise.subtract(
            elementwise.subtract(trips, constant(1, dtypes.int64)), step
        )
        intermediates.export = partial(_leave_loop, intermediates, op, Varying(op), position)
        state = [
            backward.add_input(t.dtype, t.shape, f"gradient_{k}") for k, t in enumerate(initial)
        ]
        ys = [body.outputs[1 + i] for i in carried] + [body.outputs[1 + k] for k in scans]
        arriving = state[: len(carried)] + [_row(dy[k], position) for k in scans]
        xs = [body.inputs[2 + i] for i in carried] + sums
        found = _differentiate(ys, xs, arriving, rows_of=len(carried))
        following = [
            _zeros_like(s) if dx is None else _inside(dx)
            for s, dx in zip(state, found[: len(carried)], strict=False)
        ]
        rows = _Rows(backward, sums, found[len(carried) :], state[len(carried) :])
        following += rows.sums()
        backward.outputs.extend([array.identity(go_on), *following, *rows.stacked()])
    intermediates.settle()
    initial = [t for t, s in zip(initial, state, strict=True) if s in backward.inputs]
    operation = outer.add_operation(
        "Loop",
        [trips, None, *initial],
        [*((t.dtype, t.shape) for t in initial), *rows.specs()],
        {"body": backward},
        name="Loop",
        tf_type=op.tf_type,
    )
    by_input = dict(zip(carried, operation.outputs[: len(carried)], strict=True))
    by_capture = rows.gradients(operation.outputs[len(carried) :])
    return [
        None,
        None,
        *(by_input.get(i) for i in range(count)),
        *(by_capture.get(t) for t in captures),
    ]


def _trip_count(op: Operation, body: Graph) -> Tensor:
    """The number of iterations that ran: the length of the stacked numbers (int64 scalar)."""
    stacked = _stack_there(op, body.inputs[0])
    if stacked is None:
        body.outputs.append(body.inputs[0])
        (stacked,) = op.append_outputs([(dtypes.int64, TensorShape([None]))])
    return index.gather(array.shape(stacked, out_type=dtypes.int64), constant(0, dtypes.int64))


def _leave_loop(
    intermediates: _Intermediates,
    op: Operation,
    varying: Varying,
    position: Tensor,
    tensor: Tensor,
) -> Tensor:
    """The value of one iteration of a tensor of a Loop's body."""
    if tensor not in varying or tensor.dtype.inside is not None:
        return _row(_stacked(intermediates, op, tensor), position)
    memory = Memory(op, tensor.dtype, tensor.shape.ndims)
    intermediates.outputs_later(memory.outputs, lambda: memory.keep(tensor, varying.larger(tensor)))
    return memory.recall(lambda stacked: _row(stacked, position), tensor)


def _stack_there(op: Operation, tensor: Tensor) -> Tensor | None:
    """The output of a Loop that stacks the tensor already."""
    body: Graph = op.attrs["body"]
    for k in range(len(op.operands) - 2, len(op.outputs)):
        if body.outputs[1 + k] is tensor:
            return op.outputs[k]
    return None


def _stacked(intermediates: _Intermediates, op: Operation, tensor: Tensor) -> Tensor:
    """An output of a Loop that stacks the tensor over the iterations."""
    found = _stack_there(op, tensor)
    if found is not None:
        return found
    outputs: list[Tensor] = op.attrs["body"].outputs
    return intermediates.output_later(
        op, tensor, _one_more(tensor.shape), lambda: outputs.append(tensor)
    )


def _one_more(shape: TensorShape) -> TensorShape:
    """The shape of many, along a new first axis."""
    return TensorShape(None if shape.ndims is None else [None, *shape.as_list()])


def _row(stacked: Tensor | None, position: Tensor) -> Tensor:
    """The stacked value of one iteration."""
    assert stacked is not None
    return index.gather(stacked, position, validate_indices=False)


# ---- Scan ----


@gradient("Scan")
@_in_reach
def scan_gradient(op: Operation, *dy: Tensor | None, requested: Sequence[bool]) -> Gradients:
    """As Loop's, by a Scan that goes the other way: what arrives at the joined outputs and what
    the forward body leaves are cut, and the gradients of what was cut are joined."""
    body: Graph = op.attrs["body"]
    cuts, joins = _ways(op, "scan_input"), _ways(op, "scan_output")
    given_inputs = list(op.operands)  # before the Scan carries more for this gradient
    count = len(given_inputs) - len(cuts)
    captures = op.captures
    carried = [i for i in range(count) if _flows(body.inputs[i])]
    scans = [k for k in range(count, len(dy)) if dy[k] is not None]
    pieces = [
        i for i in range(len(cuts)) if requested[count + i] and _flows(body.inputs[count + i])
    ]
    inner = requested[len(given_inputs) :]
    sums = [t for t, want in zip(captures, inner, strict=True) if want and _flows(t)]
    if not carried and not scans:
        return [None] * (len(given_inputs) + len(captures))
    outer = scopes.get_default_graph()
    initial = [_or_zeros(dy[i], op.outputs[i]) for i in carried]
    initial += [_zeros_like(t) for t in sums]
    given: list[tuple[Tensor, tuple[int, bool]]] = []

    first_piece = body.inputs[count]
    intermediates = _Intermediates(body, repeats=True)
    backward = _backward_body(outer, intermediates)
    varying = Varying(op)
    backward.access.measure = lambda t, *how: (
        intermediates.measure(t, *how) if t in varying else None
    )

    def cut(whole: Tensor, way: tuple[int, bool], shape: TensorShape) -> Tensor:
        given.append((whole, (way[0], not way[1])))
        return backward.add_input(whole.dtype, shape, f"piece_{len(given)}")

    def row(stacked: Tensor) -> Tensor:
        return cut(stacked, (0, False), TensorShape(stacked.shape.as_list()[1:]))

    def leave(tensor: Tensor) -> Tensor:
        for i, way in enumerate(cuts):
            if body.inputs[count + i] is tensor:
                whole = given_inputs[count + i]
                assert whole is not None
                return cut(whole, way, tensor.shape)
        if tensor in varying and tensor.dtype.inside is None:
            memory = Memory(op, tensor.dtype, tensor.shape.ndims)
            intermediates.outputs_later(
                memory.outputs, lambda: memory.keep(tensor, varying.larger(tensor))
            )
            return memory.recall(row, tensor)
        return cut(_joined(intermediates, op, tensor), (0, False), tensor.shape)

    with backward.as_body(), scopes.name_scope("body"):
        state = [
            backward.add_input(t.dtype, t.shape, f"gradient_{k}") for k, t in enumerate(initial)
        ]
        arriving = state[: len(carried)]
        for k in scans:
            whole = dy[k]
            assert whole is not None
            arriving.append(cut(whole, joins[k - count], body.outputs[k].shape))
        intermediates.export = leave
        ys = [body.outputs[k] for k in (*carried, *scans)]
        xs = [body.inputs[i] for i in carried] + [body.inputs[count + i] for i in pieces] + sums
        first, last = len(carried), len(carried) + len(pieces)
        found = _differentiate(ys, xs, arriving, rows_of=last)
        following = [
            _zeros_like(s) if dx is None else _inside(dx)
            for s, dx in zip(state[:first], found[:first], strict=True)
        ]
        rows = _Rows(backward, sums, found[last:], state[first:])
        following += rows.sums()
        initial = [t for t, s in zip(initial, state, strict=True) if s in backward.inputs]
        cut_up = zip(pieces, found[first:last], strict=True)
        left = [(i, dx) for i, dx in cut_up if dx is not None]
        backward.outputs.extend([*following, *(_inside(dx) for _, dx in left), *rows.stacked()])
        formals = backward.inputs[len(initial) :]
        del backward.inputs[len(initial) :]
        wholes = [whole for whole, _ in given]
        read = intermediates.settle(list(zip(formals, wholes, strict=True)))
        kept = [pair for pair in zip(formals, given, strict=True) if pair[0] in read]
        backward.inputs.extend(formal for formal, _ in kept)
        given = [piece for _, piece in kept]
        if not given:  # the steps have to be counted by something
            whole = given_inputs[count]
            assert whole is not None
            cut(whole, cuts[0], first_piece.shape)
    ways = [(cuts[i][0], not cuts[i][1]) for i, _ in left]
    specs = [(t.dtype, t.shape) for t in initial]
    specs += [(dx.dtype, _shape(given_inputs[count + i])) for i, dx in left]
    specs += rows.specs()
    ways += [(0, False)] * len(rows.specs())
    operation = outer.add_operation(
        "Scan",
        [*initial, *(whole for whole, _ in given)],
        specs,
        scan_attributes(backward, [way for _, way in given], ways),
        name="Scan",
    )
    results = operation.outputs
    states = len(initial)
    by_input = dict(zip(carried, results[:first], strict=True))
    end = states + len(left)
    by_input.update(zip((count + i for i, _ in left), results[states:end], strict=True))
    by_capture = rows.gradients([*results[first:states], *results[end:]])
    return [
        *(by_input.get(i) for i in range(len(given_inputs))),
        *(by_capture.get(t) for t in captures),
    ]


def _ways(op: Operation, side: str) -> list[tuple[int, bool]]:
    """Axis and whether it runs backward, of each input that is cut or output that is joined."""
    sliced: int = op.attrs["num_scan_inputs"]
    count = sliced if side == "scan_input" else len(op.outputs) - (len(op.operands) - sliced)
    axes = op.attrs.get(f"{side}_axes") or [0] * count
    directions = op.attrs.get(f"{side}_directions") or [0] * count
    return [(axis, bool(direction)) for axis, direction in zip(axes, directions, strict=True)]


def _joined(intermediates: _Intermediates, op: Operation, tensor: Tensor) -> Tensor:
    """An output of a Scan that joins the tensor along axis 0."""
    body: Graph = op.attrs["body"]
    joins = _ways(op, "scan_output")
    first = len(op.outputs) - len(joins)
    for k, way in enumerate(joins):
        if body.outputs[first + k] is tensor and way == (0, False):
            return op.outputs[first + k]

    return intermediates.output_later(
        op, tensor, _one_more(tensor.shape), lambda: stack(op, tensor)
    )


def _shape(tensor: Tensor | None) -> TensorShape:
    assert tensor is not None
    return tensor.shape


# ---- shared ----


def _flows(tensor: Tensor) -> bool:
    return dtypes.carries_gradient(tensor.dtype)


def _zeros_like(tensor: Tensor) -> Tensor:
    zeros: Tensor = array.zeros_like(tensor)
    return zeros


def _or_zeros(dy: Tensor | None, like: Tensor) -> Tensor:
    return _zeros_like(like) if dy is None else dy


class _Rows:
    """Gradients by what a Loop or Scan captures: sums over the iterations, or the rows of all of
    them, where every iteration has as many.

    Args:
        backward: the backward body, from which the inputs of those that are not sums are removed.
        targets: what is captured.
        found: the gradients of one iteration.
        sums: the inputs of the backward body with the sums so far.
    """

    def __init__(
        self, backward: Graph, targets: list[Tensor], found: list[Any], sums: list[Tensor]
    ) -> None:
        every = list(zip(targets, found, sums, strict=True))
        self._rows = [(t, dx) for t, dx, _ in every if _is_of_known_rows(dx)]
        self._sums = [(t, dx, s) for t, dx, s in every if not _is_of_known_rows(dx)]
        gone = {s for _, dx, s in every if _is_of_known_rows(dx)}
        backward.inputs[:] = [t for t in backward.inputs if t not in gone]

    def sums(self) -> list[Tensor]:
        """The sums after an iteration."""
        return [_added(s, dx) for _, dx, s in self._sums]

    def stacked(self) -> list[Tensor]:
        """The outputs of an iteration that are stacked: values and indices of rows."""
        return [part for _, dx in self._rows for part in _parts(dx)]

    def specs(self) -> list[tuple[Any, TensorShape]]:
        """Dtypes and shapes of what is stacked."""
        return [
            (dtype, _one_more(t.shape))
            for target, dx in self._rows
            for dtype, t in ((target.dtype, dx.values), (dtypes.int64, dx.indices))
        ]

    def gradients(self, outputs: Sequence[Tensor]) -> dict[Tensor, Any]:
        """By what is captured, from the sums and what was stacked."""
        remaining = iter(outputs)
        found: dict[Tensor, Any] = {t: next(remaining) for t, _, _ in self._sums}
        for target, dx in self._rows:
            values = p.reshape(next(remaining), [-1, *dx.values.shape.as_list()[1:]])
            indices = p.reshape(next(remaining), [-1])
            found[target] = IndexedSlices(values, indices, array.shape(target))
        return found


def _is_of_known_rows(dx: Any) -> bool:
    """Whether a gradient is some rows, at least one, of a known number and size."""
    if not isinstance(dx, IndexedSlices) or not dx.values.shape.is_fully_defined():
        return False
    return dx.indices.shape.is_fully_defined() and 0 not in dx.values.shape.as_list()


def _added(total: Tensor, dx: Any) -> Tensor:
    """A sum over the iterations with that of one more; of rows, only those are touched."""
    if dx is None:
        same: Tensor = array.identity(total)
        return same
    if isinstance(dx, IndexedSlices):
        rows = array.expand_dims(elementwise.cast(dx.indices, dtypes.int64), -1)
        return index.add_at(total, rows, dx.values)
    return elementwise.add(total, dx)


def _inside(tensor: Tensor) -> Tensor:
    """An output of a body is made in that body."""
    return tensor if tensor.graph is scopes.get_default_graph() else array.identity(tensor)
