"""RNN, GRU and LSTM, against the equations of the standard written row by row."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from cases import FLOATS, bad, case, floats
from graphio.support import errors

INVALID = errors.InvalidArgumentError
Array = np.ndarray
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}
DEFAULTS = {"RNN": ["Tanh"], "GRU": ["Sigmoid", "Tanh"], "LSTM": ["Sigmoid", "Tanh", "Tanh"]}

#: name -> function of x, alpha, beta; how many numbers it takes; their defaults
FUNCTIONS: dict[str, tuple[Callable[[float, float, float], float], int, tuple[float, float]]] = {
    "Relu": (lambda x, a, b: max(x, 0.0), 0, (0, 0)),
    "Tanh": (lambda x, a, b: math.tanh(x), 0, (0, 0)),
    "Sigmoid": (lambda x, a, b: 1 / (1 + math.exp(-x)), 0, (0, 0)),
    "Softsign": (lambda x, a, b: x / (1 + abs(x)), 0, (0, 0)),
    "Softplus": (lambda x, a, b: float(np.logaddexp(0.0, x)), 0, (0, 0)),
    "Affine": (lambda x, a, b: a * x + b, 2, (1, 0)),
    "LeakyRelu": (lambda x, a, b: x if x >= 0 else a * x, 1, (0.01, 0)),
    "ThresholdedRelu": (lambda x, a, b: x if x > a else 0.0, 1, (1, 0)),
    "ScaledTanh": (lambda x, a, b: a * math.tanh(b * x), 2, (1, 1)),
    "HardSigmoid": (lambda x, a, b: min(max(a * x + b, 0.0), 1.0), 2, (0.2, 0.5)),
    "Elu": (lambda x, a, b: x if x >= 0 else a * (math.exp(x) - 1), 1, (1, 0)),
}


def activations(op: str, attrs: dict[str, Any], directions: int) -> list[Callable[[Array], Array]]:
    """The node's functions of vectors, clipping included."""
    alphas, betas = (list(attrs.get(f"activation_{k}", [])) for k in ("alpha", "beta"))
    clip = attrs.get("clip", math.inf)
    found = []
    for name in attrs.get("activations", DEFAULTS[op] * directions):
        function, numbers, (alpha, beta) = FUNCTIONS[name]
        alpha = alphas.pop(0) if numbers > 0 and alphas else alpha
        beta = betas.pop(0) if numbers > 1 and betas else beta
        bound = math.inf if len(found) % len(DEFAULTS[op]) == 2 else clip  # not LSTM's cell
        found.append(
            lambda v, f=function, a=alpha, b=beta, c=bound: np.array(
                [f(min(max(x, -c), c), a, b) for x in v]
            )
        )
    return found


def step(op: str, attrs: dict[str, Any], f: Any, x: Any, w: Any, r: Any, b: Any, p: Any) -> Any:
    """From state and cell of one row to the next ones."""
    n = r.shape[1]
    wb, rb = np.split(b, 2)
    gx = [x @ w[k * n : (k + 1) * n].T + wb[k * n : (k + 1) * n] for k in range(GATES[op])]

    def gh(k: int, h: Array) -> Array:
        return h @ r[k * n : (k + 1) * n].T + rb[k * n : (k + 1) * n]

    def rnn(h: Array, c: Array) -> tuple[Array, Array]:
        return f[0](gx[0] + gh(0, h)), c

    def gru(h: Array, c: Array) -> tuple[Array, Array]:
        z, reset = f[0](gx[0] + gh(0, h)), f[0](gx[1] + gh(1, h))
        late = attrs.get("linear_before_reset", 0)
        new = f[1](gx[2] + (reset * gh(2, h) if late else gh(2, reset * h)))
        return (1 - z) * new + z * h, c

    def lstm(h: Array, c: Array) -> tuple[Array, Array]:
        pi, po, pf = np.split(p, 3)
        i = f[0](gx[0] + gh(0, h) + pi * c)
        forget = f[0](gx[2] + gh(2, h) + pf * c)
        forget = 1 - i if attrs.get("input_forget", 0) else forget
        c = forget * c + i * f[1](gx[3] + gh(3, h))
        return f[0](gx[1] + gh(1, h) + po * c) * f[2](c), c

    return {"RNN": rnn, "GRU": gru, "LSTM": lstm}[op]


def reference(op: str, attrs: dict[str, Any], outputs: int) -> Callable[..., tuple[Array, ...]]:
    """The node's outputs, computed step by step."""

    def compute(x: Any, w: Any, r: Any, *rest: Any) -> tuple[Array, ...]:
        b, lengths, h0, c0, p = [*rest, *[None] * (5 - len(rest))]
        transposed = attrs.get("layout", 0)
        x, h0, c0 = (
            v if v is None or not transposed else np.swapaxes(v, 0, 1) for v in (x, h0, c0)
        )
        (steps, batch, _), (d, _, n) = x.shape, r.shape
        lengths = np.full(batch, steps) if lengths is None else lengths
        b = np.zeros((d, 2 * GATES[op] * n)) if b is None else b
        p = np.zeros((d, 3 * n)) if p is None else p
        y, last = np.zeros((steps, d, batch, n)), np.zeros((2, d, batch, n))
        functions = activations(op, attrs, d)
        for k in range(d):
            f = functions[k * len(DEFAULTS[op]) :]
            for row in range(batch):
                h = np.zeros(n) if h0 is None else h0[k, row]
                c = np.zeros(n) if c0 is None else c0[k, row]
                order = list(range(lengths[row]))
                if k == 1 or attrs.get("direction") == "reverse":
                    order.reverse()
                for t in order:
                    h, c = step(op, attrs, f, x[t, row], w[k], r[k], b[k], p[k])(h, c)
                    y[t, k, row] = h
                last[:, k, row] = h, c
        if transposed:
            y, last = y.transpose(2, 0, 1, 3), last.swapaxes(1, 2)
        return (y, last[0], last[1])[:outputs]

    return compute


def inputs(
    op: str, dims: Sequence[int], given: str = "", directions: int = 1, layout: int = 0
) -> list[Any]:
    """X, W, R and what `given` names: b, l (lengths), h, c, p."""
    steps, batch, width, n = dims
    size = GATES[op] * n
    state = (batch, directions, n) if layout else (directions, batch, n)
    shape = (batch, steps, width) if layout else (steps, batch, width)
    made = {
        "b": floats(directions, 2 * size, seed=4, low=-1, high=1),
        "l": np.array([(steps - i) % (steps + 1) for i in range(batch)], np.int32),
        "h": floats(*state, seed=5),
        "c": floats(*state, seed=6),
        "p": floats(directions, 3 * n, seed=7),
    }
    first = [
        floats(*shape, seed=1),
        floats(directions, size, width, seed=2, low=-1, high=1),
        floats(directions, size, n, seed=3, low=-1, high=1),
    ]
    keys = "blhcp" if op == "LSTM" else "blh"
    rest = [made[key] if key in given else None for key in keys]
    while rest and rest[-1] is None:
        rest.pop()
    return [*first, *rest]


def add(
    op: str, label: str, attrs: dict[str, Any], dims: Sequence[int] = (4, 3, 5, 4), given: str = "b"
) -> None:
    directions = 2 if attrs.get("direction") == "bidirectional" else 1
    outputs = 3 if op == "LSTM" else 2
    case(
        op,
        inputs(op, dims, given, directions, attrs.get("layout", 0)),
        {"hidden_size": dims[3], **attrs},
        expect=reference(op, attrs, outputs),
        types=FLOATS,
        version=22,
        rtol=2e-5,
        atol=2e-5,
        label=label,
    )


for op, states in (("RNN", "h"), ("GRU", "h"), ("LSTM", "hc")):
    add(op, "plain", {}, given="")
    for way in ("forward", "reverse", "bidirectional"):
        for layout in (0, 1):
            add(
                op,
                f"{way} layout {layout} lengths",
                {"direction": way, "layout": layout},
                given=f"bl{states}",
            )
    add(op, "one unit", {}, dims=(3, 2, 4, 1))
    add(op, "long rows", {}, dims=(2, 3, 300, 20), given=f"b{states}")
    add(op, "clip", {"clip": 0.5}, given=f"b{states}")
    add(op, "no step", {}, dims=(0, 2, 3, 4), given=f"b{states}")
    add(op, "no row", {}, dims=(2, 0, 3, 4), given="b")
    add(op, "no feature", {}, dims=(2, 3, 0, 4), given=f"b{states}")
    add(op, "no unit", {}, dims=(2, 3, 4, 0), given="b")
    for name in FUNCTIONS:  # two steps: some functions have no bound
        count = len(DEFAULTS[op])
        add(
            op,
            f"{name} with numbers",
            dims=(2, 3, 5, 4),
            attrs={
                "activations": [name] * count,
                "activation_alpha": [0.25, 0.5, 0.75][:count],
                "activation_beta": [0.5, 0.75, 0.125][:count],
            },
            given=f"b{states}",
        )
add(
    "RNN",
    "names of both directions",
    {"direction": "bidirectional", "activations": ["Relu", "Tanh"]},
)
add("RNN", "default numbers", {"activations": ["LeakyRelu"]}, given="bh")
add("GRU", "default numbers", {"activations": ["HardSigmoid", "Elu"]}, given="bh")
for way in ("forward", "bidirectional"):
    add("GRU", f"late reset {way}", {"linear_before_reset": 1, "direction": way}, given="blh")
add("LSTM", "peepholes", {}, given="bhcp")
add("LSTM", "peepholes both ways", {"direction": "bidirectional", "clip": 1.5}, given="bhcp")
add("LSTM", "coupled", {"input_forget": 1}, given="bhcp")

X, W, R = inputs("LSTM", (2, 3, 4, 5))


def refuse(label: str, given: Sequence[Any], words: Sequence[str], **attrs: Any) -> None:
    bad(
        "LSTM",
        [None if x is None else x.astype("float32") if x.dtype == np.float64 else x for x in given],
        attrs,
        error=INVALID,
        words=["LSTM 'node'", *words],
        version=22,
        label=label,
    )


refuse("rank", [X[0], W, R], ["rank 3"])
refuse("rows of W", [X, W[:, 1:], R], ["W is"])
refuse("columns of W", [X[:, :, 1:], W, R], ["W is"])
refuse("directions", [X, W, R], ["W is"], direction="bidirectional")
refuse("columns of R", [X, W, R[:, :, 1:]], ["W is"])
refuse("bias", [X, W, R, np.zeros((1, 4))], ["B is"])
refuse("lengths", [X, W, R, None, np.zeros(2, np.int32)], ["sequence_lens is"])
refuse("a length", [X, W, R, None, np.int32([1, 3, 0])], ["sequence_lens[1] is 3", "[0, 2]"])
refuse("negative length", [X, W, R, None, np.int32([1, 2, -1])], ["sequence_lens[2] is -1"])
refuse("state", [X, W, R, None, None, np.zeros((3, 1, 5))], ["initial_h is"])
refuse("cell", [X, W, R, None, None, None, np.zeros((1, 3, 4))], ["initial_c is"])
refuse("peepholes", [X, W, R, None, None, None, None, np.zeros((1, 20))], ["P is"])
refuse("direction", [X, W, R], ["direction", "sideways"], direction="sideways")
refuse("layout", [X, W, R], ["layout is 2"], layout=2)
refuse("hidden size", [X, W, R], ["hidden_size is 6"], hidden_size=6)
refuse("clip", [X, W, R], ["clip"], clip=-1.0)
refuse("count of names", [X, W, R], ["activations"], activations=["Tanh"])
refuse("name", [X, W, R], ["activations", "Tan"], activations=["Tanh", "Tan", "Tanh"])
