"""RNN, GRU and LSTM: one matmul for the inputs of all steps, then the steps one by one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from graphio.runtime.kernels.math import sigmoid, softplus
from graphio.runtime.registry import Array, Call, Function, kernel
from graphio.support import errors

Activation = Callable[[Any], Any]

#: name -> (function of x, alpha and beta, how many of the two it has, their defaults)
ACTIVATIONS: dict[str, tuple[Callable[..., Any], int, tuple[float, float]]] = {
    "relu": (lambda x, a, b: np.maximum(x, x.dtype.type(0)), 0, (0, 0)),
    "tanh": (lambda x, a, b: np.tanh(x), 0, (0, 0)),
    "sigmoid": (lambda x, a, b: sigmoid(x), 0, (0, 0)),
    "softsign": (lambda x, a, b: x / (1 + np.abs(x)), 0, (0, 0)),
    "softplus": (lambda x, a, b: softplus(x), 0, (0, 0)),
    "affine": (lambda x, a, b: a * x + b, 2, (1, 0)),
    "leakyrelu": (lambda x, a, b: np.where(x < 0, a * x, x), 1, (0.01, 0)),
    "thresholdedrelu": (lambda x, a, b: np.where(x <= a, x.dtype.type(0), x), 1, (1, 0)),
    "scaledtanh": (lambda x, a, b: a * np.tanh(b * x), 2, (1, 1)),
    "hardsigmoid": (lambda x, a, b: np.clip(a * x + b, 0, 1).astype(x.dtype), 2, (0.2, 0.5)),
    "elu": (lambda x, a, b: np.where(x > 0, x, a * np.expm1(np.minimum(x, 0))), 1, (1, 0)),
}


@dataclass(frozen=True)
class Layer:
    """Attributes of a node.

    Attributes:
        gates: 1 for RNN, 3 for GRU, 4 for LSTM.
        backward: of each direction.
        batch_first: layout 1.
        activations: of each direction.
        coupled: LSTM's input_forget.
        before_reset: GRU's linear_before_reset.
        hidden_size: None if it is not given.
    """

    gates: int
    backward: tuple[bool, ...]
    batch_first: bool
    activations: list[list[Activation]]
    coupled: bool
    before_reset: bool
    hidden_size: int | None


def _invalid(message: str) -> errors.OpError:
    return errors.InvalidArgumentError(message=message)


def _numbers(call: Call, key: str) -> Iterator[float]:
    value = call.attrs.get(key, [])
    if not isinstance(value, list) or not all(isinstance(v, float) for v in value):
        raise _invalid(f"attribute {key!r} is not a list of floats")
    return iter(value)


def _names(call: Call, defaults: Sequence[str], directions: int) -> list[str]:
    value = call.attrs.get("activations")
    if value is None:
        return [*defaults] * directions
    if not isinstance(value, list) or not all(isinstance(v, (bytes, str)) for v in value):
        raise _invalid("attribute 'activations' is not a list of strings")
    names = [v.decode("utf-8", "replace") if isinstance(v, bytes) else v for v in value]
    if len(names) != len(defaults) * directions:
        raise _invalid(
            f"attribute activations has {len(names)} names, expected {len(defaults) * directions}"
        )
    for name in names:
        if name.lower() not in ACTIVATIONS:
            raise _invalid(f"attribute activations names no activation of ONNX: '{name}'")
    return names


def _activations(
    call: Call, defaults: Sequence[str], directions: int, clip: float
) -> list[list[Activation]]:
    """The functions of each direction, clipping included."""
    alphas, betas = _numbers(call, "activation_alpha"), _numbers(call, "activation_beta")
    found: list[Activation] = []
    count = len(defaults)
    for name in _names(call, defaults, directions):
        function, numbers, (alpha, beta) = ACTIVATIONS[name.lower()]
        # Each list gives its next number to the next function that has one.
        alpha = next(alphas, alpha) if numbers > 0 else alpha
        beta = next(betas, beta) if numbers > 1 else beta
        # LSTM cells are not clipped before the last function.
        found.append(_clipped(function, 0.0 if len(found) % count == 2 else clip, alpha, beta))
    return [found[i * count : (i + 1) * count] for i in range(directions)]


def _clipped(function: Callable[..., Any], clip: float, alpha: float, beta: float) -> Activation:
    def activate(x: Any) -> Any:
        kind = x.dtype.type
        if clip:
            x = np.clip(x, kind(-clip), kind(clip))
        return function(x, kind(alpha), kind(beta))

    return activate


def _layer(call: Call, gates: int, defaults: Sequence[str]) -> Layer:
    direction = call.text("direction", "forward")
    ways = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}
    layout, clip = call.integer("layout", 0), call.number("clip", 0.0)
    if direction not in ways:
        raise _invalid(
            f"attribute direction is '{direction}', expected forward, reverse or bidirectional"
        )
    if layout not in (0, 1):
        raise _invalid(f"attribute layout is {layout}, expected 0 or 1")
    if not clip >= 0:
        raise _invalid(f"attribute clip is {clip:g}, expected more than 0")
    backward = ways[direction]
    return Layer(
        gates,
        backward,
        layout == 1,
        _activations(call, defaults, len(backward), clip),
        bool(call.integer("input_forget", 0)),
        bool(call.integer("linear_before_reset", 0)),
        call.integer("hidden_size", 0) if "hidden_size" in call.attrs else None,
    )


def _check(name: str, value: Any, *dims: int) -> None:
    if value is not None and value.shape != dims:
        raise _invalid(f"{name} is {value.dtype}{list(value.shape)}, expected {list(dims)}")


def _check_inputs(layer: Layer, x: Any, w: Any, r: Any, rest: Sequence[Any]) -> None:
    """Refuses shapes that do not go together; x is (steps, batch, width)."""
    b, lengths, h, c, p = rest
    steps, batch, width = x.shape
    directions, hidden = len(layer.backward), r.shape[2]
    if layer.hidden_size not in (None, hidden):
        raise _invalid(f"attribute hidden_size is {layer.hidden_size}, R has {hidden} columns")
    _check("W", w, directions, layer.gates * hidden, width)
    _check("R", r, directions, layer.gates * hidden, hidden)
    _check("B", b, directions, 2 * layer.gates * hidden)
    _check("sequence_lens", lengths, batch)
    state = (batch, directions, hidden) if layer.batch_first else (directions, batch, hidden)
    _check("initial_h", h, *state)
    _check("initial_c", c, *state)
    _check("P", p, directions, 3 * hidden)
    if lengths is None:
        return
    if lengths.dtype != np.int32:
        raise _invalid(f"sequence_lens is {lengths.dtype}, expected int32")
    wrong = (lengths < 0) | (lengths > steps)
    if wrong.any():
        at = int(np.argmax(wrong))
        raise _invalid(f"sequence_lens[{at}] is {lengths[at]}, outside [0, {steps}]")


@dataclass(frozen=True)
class _Direction:
    """The weights and functions that the steps of one direction need."""

    layer: Layer
    activations: list[Activation]
    recurrent: Array  # (hidden, gates * hidden)
    inner_bias: Array  # of GRU's last gate where it belongs inside the reset
    peephole: Sequence[Any]  # i, o, f; None: there is none

    def rnn(self, x: Array, h: Array, c: Any) -> tuple[Array, Any]:
        """The next state."""
        return self.activations[0](x + h @ self.recurrent), c

    def gru(self, x: Array, h: Array, c: Any) -> tuple[Array, Any]:
        """The next state."""
        n = h.shape[1]
        f, g = self.activations
        if self.layer.before_reset:
            sums = h @ self.recurrent
            gates = f(x[:, : 2 * n] + sums[:, : 2 * n])
            inner = gates[:, n:] * (sums[:, 2 * n :] + self.inner_bias)
        else:
            gates = f(x[:, : 2 * n] + h @ self.recurrent[:, : 2 * n])
            inner = (gates[:, n:] * h) @ self.recurrent[:, 2 * n :]
        z = gates[:, :n]
        return (1 - z) * g(x[:, 2 * n :] + inner) + z * h, c

    def lstm(self, x: Array, h: Array, c: Array) -> tuple[Array, Array]:
        """The next state and, of an LSTM, c."""
        n = h.shape[1]
        f, g, last = self.activations
        sums = x + h @ self.recurrent
        i, o, forget, candidate = (sums[:, k * n : (k + 1) * n] for k in range(4))
        peep_i, peep_o, peep_f = self.peephole
        i = f(i if peep_i is None else i + peep_i * c)
        if self.layer.coupled:
            forget = 1 - i
        else:
            forget = f(forget if peep_f is None else forget + peep_f * c)
        c = forget * c + i * g(candidate)
        o = f(o if peep_o is None else o + peep_o * c)
        return o * last(c), c


def _sequences(lengths: Any, steps: int, batch: int, backward: bool) -> Iterator[tuple[Any, Any]]:
    """For each step the rows that still run, None for all, and where each one is."""
    if lengths is None or (lengths == steps).all():
        for s in range(steps):
            yield None, steps - 1 - s if backward else s
        return
    for s in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > s)
        yield rows, lengths[rows] - 1 - s if backward else np.full(len(rows), s)


def _run(step: Any, x: Array, y: Array, state: list[Any], ways: Any) -> tuple[Any, Any]:
    """Goes through the steps; x, y: (steps, batch, ...). Returns the last state and c."""
    h, c = state
    for rows, at in ways:
        if rows is None:
            h, c = step(x[at], h, c)
            y[at] = h
            continue
        new_h, new_c = step(x[at, rows], h[rows], None if c is None else c[rows])
        h[rows] = y[at, rows] = new_h
        if c is not None:
            c[rows] = new_c
    return h, c


def _biases(layer: Layer, b: Any, hidden: int) -> tuple[Any, Any]:
    """The bias of the projected inputs, and the bias that stays inside GRU's reset."""
    size = layer.gates * hidden
    outer = b[:size] + b[size:]
    if layer.gates == 3 and layer.before_reset:
        outer[2 * hidden :] = b[2 * hidden : size]
    return outer, b[size + 2 * hidden :]


def _compute(layer: Layer, inputs: Sequence[Any]) -> tuple[Array, Array, Any]:
    """Y, Y_h and Y_c in the node's layout."""
    x, w, r, *rest = inputs
    if x.ndim != 3 or r.ndim != 3:
        raise _invalid(
            f"X is {x.dtype}{list(x.shape)} and R is {r.dtype}{list(r.shape)}, expected rank 3"
        )
    x = x.swapaxes(0, 1) if layer.batch_first else x
    _check_inputs(layer, x, w, r, rest)
    b, lengths, first_h, first_c, p = rest
    steps, batch, width = x.shape
    hidden, count = r.shape[2], len(layer.backward)
    y = np.zeros((steps, count, batch, hidden), x.dtype)
    finals = []
    for d, backward in enumerate(layer.backward):
        projected = (x.reshape(steps * batch, width) @ w[d].T).reshape(steps, batch, len(w[d]))
        bias = np.zeros(2 * len(w[d]), x.dtype) if b is None else b[d]
        outer, inner = _biases(layer, bias, hidden)
        peephole = [None] * 3 if p is None else p[d].reshape(3, hidden)
        direction = _Direction(layer, layer.activations[d], r[d].T, inner, peephole)
        step = {1: direction.rnn, 3: direction.gru, 4: direction.lstm}[layer.gates]
        h = _first(layer, first_h, d, (batch, hidden), x.dtype)
        c = _first(layer, first_c, d, (batch, hidden), x.dtype) if layer.gates == 4 else None
        ways = _sequences(lengths, steps, batch, backward)
        finals.append(_run(step, projected + outer, y[:, d], [h, c], ways))
    axis = 1 if layer.batch_first else 0
    last_h = np.stack([h for h, _ in finals], axis)
    last_c = np.stack([c for _, c in finals], axis) if layer.gates == 4 else None
    return y.transpose(2, 0, 1, 3) if layer.batch_first else y, last_h, last_c


def _first(layer: Layer, value: Any, d: int, shape: tuple[int, int], dtype: Any) -> Array:
    """The state before the first step, which the steps may change."""
    if value is None:
        return np.zeros(shape, dtype)
    return np.array(value[:, d] if layer.batch_first else value[d])


def _register(op: str, gates: int, defaults: Sequence[str]) -> None:
    @kernel(op, since=7, types="FFFFIFFF", fresh=True)
    def make(call: Call) -> Function:
        layer = _layer(call, gates, defaults)
        count = len(call.outputs)

        def run(*inputs: Any) -> Any:
            padded = [*inputs, *[None] * (8 - len(inputs))]
            found = _compute(layer, padded)[:count]
            return found[0] if count == 1 else found

        return run


_register("RNN", 1, ("tanh",))
_register("GRU", 3, ("sigmoid", "tanh"))
_register("LSTM", 4, ("sigmoid", "tanh", "tanh"))
