"""Gradients of RNN, GRU and LSTM: the layer again as a Scan over its steps, differentiated."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base import primitive as p
from graphio.ops.base.emit import node, scalar
from graphio.ops.base.recompute import by_parts
from graphio.ops.base.shapes import dims_of
from graphio.ops.control_flow.loops import scan_node

Activation = Callable[[Tensor], Tensor]
State = list[Tensor]
#: From what the input gives to a step's gates, and the state, to the next state.
Step = Callable[[Tensor, State], State]

GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ["tanh"], "GRU": ["sigmoid", "tanh"], "LSTM": ["sigmoid", "tanh", "tanh"]}


def _scaled(x: Tensor, alpha: float, beta: float) -> Tensor:
    """alpha * x + beta."""
    scaled = p.binary("Mul", scalar(alpha, x.dtype), x)
    return p.binary("Add", scaled, scalar(beta, x.dtype))


def _scaled_tanh(x: Tensor, alpha: float, beta: float) -> Tensor:
    inner = p.unary("Tanh", p.binary("Mul", scalar(beta, x.dtype), x))
    return p.binary("Mul", scalar(alpha, x.dtype), inner)


def _softsign(x: Tensor, alpha: float, beta: float) -> Tensor:
    size = p.binary("Add", scalar(1, x.dtype), p.unary("Abs", x))
    return p.binary("Div", x, size)


def _thresholded(x: Tensor, alpha: float, beta: float) -> Tensor:
    above = p.compare("Greater", x, scalar(alpha, x.dtype))
    return p.select(above, x, scalar(0, x.dtype))


def _clipped(x: Tensor, low: float, high: float) -> Tensor:
    bounds = [scalar(v, x.dtype) for v in (low, high)]
    return node("Clip", [x, *bounds], x.dtype, dims_of(x))


#: name -> (function, how many of alpha and beta it has, their defaults)
ACTIVATIONS: dict[str, tuple[Callable[..., Tensor], int, tuple[float, float]]] = {
    "relu": (lambda x, a, b: p.unary("Relu", x), 0, (0, 0)),
    "tanh": (lambda x, a, b: p.unary("Tanh", x), 0, (0, 0)),
    "sigmoid": (lambda x, a, b: p.unary("Sigmoid", x), 0, (0, 0)),
    "softsign": (_softsign, 0, (0, 0)),
    "softplus": (lambda x, a, b: p.unary("Softplus", x), 0, (0, 0)),
    "affine": (_scaled, 2, (1, 0)),
    "leakyrelu": (
        lambda x, a, b: node("LeakyRelu", [x], x.dtype, dims_of(x), alpha=float(a)),
        1,
        (0.01, 0),
    ),
    "thresholdedrelu": (_thresholded, 1, (1, 0)),
    "scaledtanh": (_scaled_tanh, 2, (1, 1)),
    "hardsigmoid": (lambda x, a, b: _clipped(_scaled(x, a, b), 0, 1), 2, (0.2, 0.5)),
    "elu": (lambda x, a, b: node("Elu", [x], x.dtype, dims_of(x), alpha=float(a)), 1, (1, 0)),
}


def _attribute(op: Operation, key: str, default: Any) -> Any:
    value = op.attrs.get(key, default)
    return value.decode() if isinstance(value, bytes) else value


def _activations(op: Operation, directions: int) -> Iterator[Activation]:
    """The node's functions; each list of numbers serves the functions that have one, in order."""
    alphas, betas = (iter(_attribute(op, f"activation_{k}", [])) for k in ("alpha", "beta"))
    clip = float(_attribute(op, "clip", 0.0))
    names = _attribute(op, "activations", DEFAULTS[op.op] * directions)
    for i, given in enumerate(names):
        name = given.decode() if isinstance(given, bytes) else given
        function, numbers, (alpha, beta) = ACTIVATIONS[name.lower()]
        alpha = next(alphas, alpha) if numbers > 0 else alpha
        beta = next(betas, beta) if numbers > 1 else beta

        # LSTM's cell is not clipped before the last function.
        bound = 0.0 if i % len(DEFAULTS[op.op]) == 2 else clip
        yield _activation(function, bound, alpha, beta)


def _activation(
    function: Callable[..., Tensor], clip: float, alpha: float, beta: float
) -> Activation:
    return lambda x: function(_clipped(x, -clip, clip) if clip else x, alpha, beta)


def _matmul_transposed(x: Tensor, w: Tensor) -> Tensor:
    """x (..., k) times w (n, k), transposed."""
    left, right = dims_of(x), dims_of(w)
    dims = None if left is None or right is None else (*left[:-1], right[0])
    return node("MatMul", [x, p.transpose(w, [1, 0])], x.dtype, dims)


def _complement(x: Tensor) -> Tensor:
    return p.binary("Sub", scalar(1, x.dtype), x)


@dataclass(frozen=True)
class _Direction:
    """Weights of one direction; `hidden` is the size of its state."""

    op: Operation
    hidden: int
    activations: Sequence[Activation]
    recurrent: Tensor  # (gates * hidden, hidden)
    inner_bias: Tensor | None  # of GRU's last gate where it belongs inside the reset
    peephole: Tensor | None

    def _part(self, x: Tensor, first: int, last: int, axis: int = 1) -> Tensor:
        """The gates from first on and before last."""
        return p.slice_axes(x, [first * self.hidden], [last * self.hidden], [axis])

    def rnn(self, x: Tensor, state: State) -> State:
        return [
            self.activations[0](p.binary("Add", x, _matmul_transposed(state[0], self.recurrent)))
        ]

    def gru(self, x: Tensor, state: State) -> State:
        (h,) = state
        f, g = self.activations
        early = _matmul_transposed(h, self._part(self.recurrent, 0, 2, 0))
        gates = f(p.binary("Add", self._part(x, 0, 2), early))
        z, r = self._part(gates, 0, 1), self._part(gates, 1, 2)
        last = self._part(self.recurrent, 2, 3, 0)
        if _attribute(self.op, "linear_before_reset", 0):
            inner = _matmul_transposed(h, last)
            if self.inner_bias is not None:
                inner = p.binary("Add", inner, self.inner_bias)
            inner = p.binary("Mul", r, inner)
        else:
            inner = _matmul_transposed(p.binary("Mul", r, h), last)
        new = g(p.binary("Add", self._part(x, 2, 3), inner))
        kept = p.binary("Mul", z, h)
        return [p.binary("Add", p.binary("Mul", _complement(z), new), kept)]

    def lstm(self, x: Tensor, state: State) -> State:
        h, c = state
        f, g, last = self.activations
        sums = p.binary("Add", x, _matmul_transposed(h, self.recurrent))
        i = f(self._peep(sums, 0, 0, c))
        forget = (
            _complement(i)
            if _attribute(self.op, "input_forget", 0)
            else f(self._peep(sums, 2, 2, c))
        )
        new = p.binary("Mul", i, g(self._part(sums, 3, 4)))
        c = p.binary("Add", p.binary("Mul", forget, c), new)
        o = f(self._peep(sums, 1, 1, c))
        return [p.binary("Mul", o, last(c)), c]

    def _peep(self, sums: Tensor, gate: int, weight: int, c: Tensor) -> Tensor:
        found = self._part(sums, gate, gate + 1)
        if self.peephole is None:
            return found
        weights = self._part(self.peephole, weight, weight + 1, 0)
        return p.binary("Add", found, p.binary("Mul", weights, c))


# ---- the steps ----


def _at(x: Tensor, position: Tensor) -> Tensor:
    return p.gather(x, position, 0)


def _walk(
    step: Step, x: Tensor, state: State, backward: bool, lengths: Tensor | None
) -> tuple[Tensor, State]:
    """All outputs (steps, batch, hidden) and the last state.

    After the end of its sequence a row keeps its state and gives 0, so that a backward pass starts
    at its end.
    """
    inputs = [x] if lengths is None else [x, _runs(x, lengths)]

    def body(before: State, pieces: list[Tensor]) -> tuple[State, State]:
        after = step(pieces[0], before)
        if lengths is None:
            return after, [p.unary("Identity", after[0])]
        y = p.select(pieces[1], after[0], scalar(0, x.dtype))
        kept = [p.select(pieces[1], n, s) for n, s in zip(after, before, strict=True)]
        return kept, [y]

    ways = [(0, backward)] * len(inputs)
    *last, y = scan_node(body, state, inputs, ways, ways[:1])
    return y, last


def _runs(x: Tensor, lengths: Tensor) -> Tensor:
    """(steps, batch, 1): whether a row has not ended yet."""
    dims = dims_of(x)
    zero, one = (constant(v, dtypes.int64) for v in (0, 1))
    count = p.gather(p.shape_of(x), zero, 0)
    steps = node("Range", [zero, count, one], dtypes.int64, (None if dims is None else dims[0],))
    return p.compare("Less", p.unsqueeze(steps, [1, 2]), lengths)


# ---- the layer ----


def _hidden(op: Operation) -> int:
    """The size of the state, which must be known while the graph is built."""
    r = op.inputs[2]
    assert r is not None
    dims = dims_of(r)
    if dims is not None and dims[2] is not None:
        return dims[2]
    size = _attribute(op, "hidden_size", None)
    if size is None:
        raise ValueError(
            f"{op.op} '{op.name}': its gradient needs hidden_size, and neither the attribute nor "
            "the shape of R says it"
        )
    return int(size)


def _transposed(x: Tensor | None) -> Tensor | None:
    """x with its first two axes exchanged."""
    if x is None:
        return None
    rank = len(dims_of(x) or ()) or 3
    return p.transpose(x, [1, 0, *range(2, rank)])


def _first(x: Tensor, given: Tensor | None, d: int, hidden: int) -> Tensor:
    """The state before the first step (batch, hidden)."""
    if given is not None:
        return _at(given, constant(d, dtypes.int64))
    dims = dims_of(x)
    batch = p.gather(p.shape_of(x), p.int_vector([1]), 0)
    target = p.concat([batch, p.int_vector([hidden])], 0)
    return p.expand(scalar(0, x.dtype), target, (None if dims is None else dims[1], hidden))


def _biases(op: Operation, b: Tensor | None, d: int, hidden: int) -> tuple[Any, Any]:
    """The biases added to the inputs' MatMul, and those inside GRU's reset."""
    if b is None:
        return None, None
    size = GATES[op.op] * hidden
    one = _at(b, constant(d, dtypes.int64))
    w, r = p.slice_axes(one, [0], [size], [0]), p.slice_axes(one, [size], [2 * size], [0])
    if op.op != "GRU" or not _attribute(op, "linear_before_reset", 0):
        return p.binary("Add", w, r), None
    parts = [p.slice_axes(v, [0], [2 * hidden], [0]) for v in (w, r)]
    rest = [p.slice_axes(v, [2 * hidden], [size], [0]) for v in (w, r)]
    return p.concat([p.binary("Add", parts[0], parts[1]), rest[0]], 0), rest[1]


def _direction(
    op: Operation, inputs: Sequence[Any], d: int, backward: bool, activations: Sequence[Activation]
) -> tuple[Tensor, State]:
    x, w, r, b, lengths, h0, c0, peephole = inputs
    hidden = _hidden(op)
    here = constant(d, dtypes.int64)
    outer, inner = _biases(op, b, d, hidden)
    sums = _matmul_transposed(x, _at(w, here))
    sums = sums if outer is None else p.binary("Add", sums, outer)
    peep = None if peephole is None else _at(peephole, here)
    one = _Direction(op, hidden, activations, _at(r, here), inner, peep)
    state = [_first(x, h0, d, hidden)]
    if op.op == "LSTM":
        state.append(_first(x, c0, d, hidden))
    step = {"RNN": one.rnn, "GRU": one.gru, "LSTM": one.lstm}[op.op]
    return _walk(step, sums, state, backward, lengths)


def _layer(op: Operation, *inputs: Tensor | None) -> list[Tensor | None]:
    """The outputs of the node as a composition."""
    given = [*inputs, *[None] * (8 - len(inputs))]
    batch_first = bool(_attribute(op, "layout", 0))
    if batch_first:
        given = [_transposed(v) if i in (0, 5, 6) else v for i, v in enumerate(given)]
    if given[4] is not None:
        given[4] = p.unsqueeze(p.cast(given[4], dtypes.int64), [1])
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}
    backward = ways[_attribute(op, "direction", "forward")]
    functions = list(_activations(op, len(backward)))
    count = len(DEFAULTS[op.op])
    found = [
        _direction(op, given, d, way, functions[d * count : (d + 1) * count])
        for d, way in enumerate(backward)
    ]
    y = p.concat([p.unsqueeze(rows, [1]) for rows, _ in found], 1)
    states = [
        p.concat(
            [p.unsqueeze(s, [1 if batch_first else 0]) for s in parts], 1 if batch_first else 0
        )
        for parts in zip(*(state for _, state in found), strict=True)
    ]
    return [p.transpose(y, [2, 0, 1, 3]) if batch_first else y, *states]


def _gradient(op: Operation, *dys: Tensor | None) -> list[Tensor | None]:
    return by_parts(op, dys, lambda *inputs: _layer(op, *inputs))


for _op in GATES:
    gradient(_op)(_gradient)
