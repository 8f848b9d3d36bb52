"""Gradients of If and Loop: a backward If, and a Loop that runs the iterations in reverse.

What the backward pass needs of a forward body leaves it as a trailing output, the one change
that an existing operation may undergo: of an If as it is, of a Loop stacked over the
iterations. A body is never built twice. The backward Loop is an ordinary Loop, so second-order
gradients need nothing more.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from graphio import dtypes, scopes
from graphio.constants import constant, constant_from
from graphio.gradient_registry import gradient
from graphio.graph import Graph, Operation, Tensor
from graphio.ops import array, index, math
from graphio.tensor_shape import TensorShape

Gradients = list[Tensor | None]


class _Intermediates:
    """Stands for a forward body inside its backward body.

    `resolve` turns a tensor of the forward body into one that the backward body can read:
    constants are made again, everything else leaves the forward body as a trailing output.
    """

    def __init__(self, body: Graph, export: Callable[[Tensor], Tensor] | None = None) -> None:
        self.body = body
        self.backward: Graph | None = None
        self.export = export
        self._known: dict[Tensor, Tensor] = {}

    def resolve(self, tensor: Tensor) -> Tensor | None:
        """None if the tensor is not of the forward body."""
        if tensor.graph is not self.body:
            return None
        if tensor not in self._known:
            assert self.backward is not None and self.export is not None
            with self.backward.as_default(), scopes.control_dependencies(None):
                remade = constant_from(tensor)
                self._known[tensor] = self.export(tensor) if remade is None else remade
        return self._known[tensor]


def _backward_body(outer: Graph, intermediates: _Intermediates) -> Graph:
    graph = Graph(outer=outer)
    graph.resolver = intermediates.resolve
    intermediates.backward = graph
    return graph


def _differentiate(
    ys: Sequence[Tensor], xs: Sequence[Tensor], dys: Sequence[Tensor | None]
) -> Gradients:
    """Dense gradients inside a backward body; an empty list of ys gives None for all."""
    from graphio.constants import convert_to_tensor
    from graphio.gradients import gradients

    pairs = [(y, dy) for y, dy in zip(ys, dys, strict=True) if dy is not None]
    if not pairs or not xs:
        return [None] * len(xs)
    # One capture may depend on another; that way leads outside and is differentiated there.
    found = gradients(
        [y for y, _ in pairs], list(xs), [dy for _, dy in pairs], stop_gradients=list(xs)
    )
    return [None if dx is None else convert_to_tensor(dx) for dx in found]


# ---- If ----


@gradient("If")
def if_gradient(op: Operation, *dy: Tensor | None, wanted: Sequence[bool]) -> Gradients:
    """dx = dx of the branch taken; a branch that ignores x gives zeros."""
    captures = op.captures
    targets = [t for t, want in zip(captures, wanted[1:], strict=True) if want and _flows(t)]
    arriving = list(dy)
    branches = [op.attrs["then_branch"], op.attrs["else_branch"]]
    outer = scopes.get_default_graph()
    built, found = [], []
    for branch, name in enumerate(("true", "false")):
        forward: Graph = branches[branch]
        intermediates = _Intermediates(forward, partial(_leave_if, op, branch))
        graph = _backward_body(outer, intermediates)
        with graph.as_body(), scopes.name_scope(name):
            ys = forward.outputs[: len(arriving)]
            found.append(_differentiate(ys, targets, arriving))
        built.append(graph)
    used = [i for i in range(len(targets)) if any(part[i] is not None for part in found)]
    if not used:
        return [None] * (1 + len(captures))
    for graph, part in zip(built, found, strict=True):
        with graph.as_body():
            graph.outputs.extend(_inside(_or_zeros(part[i], targets[i])) for i in used)
    backward = outer.create_op(
        "If",
        [op.inputs[0]],
        [(targets[i].dtype, targets[i].shape) for i in used],
        {"then_branch": built[0], "else_branch": built[1]},
        name="If",
    )
    results = dict(zip([targets[i] for i in used], backward.outputs, strict=True))
    return [None, *(results.get(t) for t in captures)]


def _leave_if(op: Operation, branch: int, tensor: Tensor) -> Tensor:
    """A new output of op: the tensor in its branch, an empty one in the other."""
    graphs: list[Graph] = [op.attrs["then_branch"], op.attrs["else_branch"]]
    other = graphs[1 - branch]
    with other.as_body():
        dims = [0] if tensor.shape.ndims is None else [n or 0 for n in tensor.shape.as_list()]
        other.outputs.append(array.zeros(dims, tensor.dtype))
    graphs[branch].outputs.append(tensor)
    (output,) = op.append_outputs([(tensor.dtype, tensor.shape)])
    return output


# ---- Loop ----


@gradient("Loop")
def loop_gradient(op: Operation, *dy: Tensor | None, wanted: Sequence[bool]) -> Gradients:
    """The adjoint of v[i+1] = body(v[i], c): for i from last to first, dv and dc by the body's
    own gradient at the values of iteration i; dc sums over the iterations."""
    body: Graph = op.attrs["body"]
    count = len(op.inputs) - 2
    captures = op.captures
    carried = [i for i in range(count) if body.inputs[2 + i].dtype.is_floating]
    sums = [t for t, want in zip(captures, wanted[2 + count :], strict=True) if want and _flows(t)]
    scans = [k for k in range(count, len(dy)) if dy[k] is not None]
    if not carried and not scans:
        return [None] * (len(op.inputs) + len(captures))
    trips = _trip_count(op, body)
    outer = scopes.get_default_graph()
    initial = [_or_zeros(dy[i], op.outputs[i]) for i in carried]
    initial += [_zeros_like(t) for t in sums]

    intermediates = _Intermediates(body)
    backward = _backward_body(outer, intermediates)
    with backward.as_body(), scopes.name_scope("body"):
        step = backward.add_input(dtypes.int64, TensorShape([]), "iteration")
        go_on = backward.add_input(dtypes.bool, TensorShape([]), "condition")
        position = math.subtract(math.subtract(trips, constant(1, dtypes.int64)), step)
        intermediates.export = lambda t: _row(_stack(op, body, t), position)
        state = [
            backward.add_input(t.dtype, t.shape, f"gradient_{k}") for k, t in enumerate(initial)
        ]
        ys = [body.outputs[1 + i] for i in carried] + [body.outputs[1 + k] for k in scans]
        arriving = state[: len(carried)] + [_row(dy[k], position) for k in scans]
        xs = [body.inputs[2 + i] for i in carried] + sums
        found = _differentiate(ys, xs, arriving)
        following = [
            _zeros_like(s) if dx is None else _inside(dx)
            for s, dx in zip(state, found[: len(carried)], strict=False)
        ]
        following += [
            s if dx is None else math.add(s, dx)
            for s, dx in zip(state[len(carried) :], found[len(carried) :], strict=True)
        ]
        backward.outputs.extend([array.identity(go_on), *following])
    operation = outer.create_op(
        "Loop",
        [trips, None, *initial],
        [(t.dtype, t.shape) for t in initial],
        {"body": backward},
        name="Loop",
        tf_type="While",
    )
    by_input = dict(zip(carried, operation.outputs[: len(carried)], strict=True))
    by_capture = dict(zip(sums, operation.outputs[len(carried) :], strict=True))
    return [
        None,
        None,
        *(by_input.get(i) for i in range(count)),
        *(by_capture.get(t) for t in captures),
    ]


def _trip_count(op: Operation, body: Graph) -> Tensor:
    """How many iterations ran: the length of the stacked iteration numbers (int64 scalar)."""
    stacked = _stack(op, body, body.inputs[0])
    return index.gather(array.shape(stacked, out_type=dtypes.int64), constant(0, dtypes.int64))


def _stack(op: Operation, body: Graph, tensor: Tensor) -> Tensor:
    """A scan output of op that stacks the tensor, made once."""
    first_scan = len(op.inputs) - 2
    for k in range(first_scan, len(op.outputs)):
        if body.outputs[1 + k] is tensor:
            return op.outputs[k]
    body.outputs.append(tensor)
    shape = TensorShape(None)
    if tensor.shape.ndims is not None:
        shape = TensorShape([None, *tensor.shape.as_list()])
    (output,) = op.append_outputs([(tensor.dtype, shape)])
    return output


def _row(stacked: Tensor | None, position: Tensor) -> Tensor:
    """The stacked value of one iteration."""
    assert stacked is not None
    return index.gather(stacked, position)


# ---- shared ----


def _flows(tensor: Tensor) -> bool:
    return bool(tensor.dtype.is_floating)


def _zeros_like(tensor: Tensor) -> Tensor:
    zeros: Tensor = array.zeros_like(tensor)
    return zeros


def _or_zeros(dy: Tensor | None, like: Tensor) -> Tensor:
    return _zeros_like(like) if dy is None else dy


def _inside(tensor: Tensor) -> Tensor:
    """An output of a body is made in that body."""
    return tensor if tensor.graph is scopes.get_default_graph() else array.identity(tensor)
