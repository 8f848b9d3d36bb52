"""One row for each operator of quantization, recurrence and attention, and each loss."""

from __future__ import annotations

from typing import Any

import numpy as np
from differential_maker import (
    Call,
    Maker,
    positive_scale,
    row,
)

# quantisation


@row("QuantizeLinear")
def _quantize(m: Maker, op: str) -> Call:
    x = m.tensor(("float32", "float16", "int32"), rank=(1, 4), least=1)
    axis, kind = m.axis(x), m.pick(["uint8", "int8", "uint16", "int16"])
    shape = [m[x].shape[axis]] if m.bool() else []
    source = "float16" if m[x].dtype == np.float16 else "float32"
    inputs = [x, positive_scale(m, shape, source)]
    inputs += [m.fresh(kind, shape)] if m.bool() else []
    return Call(op, inputs, {"axis": axis})


@row("DequantizeLinear")
def _dequantize(m: Maker, op: str) -> Call:
    x = m.tensor(("uint8", "int8", "uint16", "int16", "int32"), rank=(1, 4), least=1)
    axis, kind = m.axis(x), m[x].dtype.name
    shape = [m[x].shape[axis]] if m.bool() else []
    inputs = [x, positive_scale(m, shape)]
    if m.bool():
        inputs.append(m.add(np.zeros(shape, kind)) if kind == "int32" else m.fresh(kind, shape))
    return Call(op, inputs, {"axis": axis}, sums=True)


@row("DynamicQuantizeLinear")
def _dynamic_quantize(m: Maker, op: str) -> Call:
    return Call(op, [m.tensor(("float32",), rank=(1, 4), least=1, tame=True)], {}, 3, off_by=1)


@row("MatMulInteger")
def _matmul_integer(m: Maker, op: str) -> Call:
    a = m.tensor(("uint8", "int8"), rank=(2, 3), least=1)
    b = m.fresh(m.pick(["uint8", "int8"]), [m[a].shape[-1], m.int(1, 9)])
    zeros = [m.add(m.int(0, 9), m[n].dtype) for n in (a, b)]
    return Call(op, [a, b, *zeros[: m.int(0, 2)]])


@row("QLinearMatMul")
def _qlinear_matmul(m: Maker, op: str) -> Call:
    kind = m.pick(["uint8", "int8"])
    rows, k, columns = (m.int(1, 5) for _ in range(3))
    inputs: list[str] = []
    for shape in ([rows, k], [k, columns]):
        inputs += [m.fresh(kind, shape), positive_scale(m, []), m.fresh(kind, [])]
    return Call(op, [*inputs, positive_scale(m, []), m.fresh(kind, [])], off_by=1)


# layers


@row("RNN", "GRU", "LSTM")
def _recurrent(m: Maker, op: str) -> Call:
    gates = {"RNN": 1, "GRU": 3, "LSTM": 4}[op]
    steps, batch, width, units = m.int(1, 4), m.int(1, 3), m.int(1, 4), m.int(1, 3)
    direction = m.pick(["forward", "reverse", "bidirectional"])
    n = 2 if direction == "bidirectional" else 1
    x = m.fresh(m.pick(["float32", "float32", "float64"]), [steps, batch, width], True)
    inputs = [
        x,
        m.like(x, [n, gates * units, width], True),
        m.like(x, [n, gates * units, units], True),
    ]
    optional = [
        lambda: m.like(x, [n, 2 * gates * units], True),
        lambda: m.add([m.int(1, steps) for _ in range(batch)], "int32"),
        lambda: m.like(x, [n, batch, units], True),
    ]
    if op == "LSTM":
        optional.append(lambda: m.like(x, [n, batch, units], True))
        optional.append(lambda: m.like(x, [n, 3 * units], True))
    inputs += [make() if m.bool() else "" for make in optional]
    attrs: dict[str, Any] = {"hidden_size": units, "direction": direction}
    if op == "GRU":
        attrs["linear_before_reset"] = m.int(0, 1)
    return Call(op, inputs, attrs, 3 if op == "LSTM" else 2, sums=True, loose=8)


@row("Attention")
def _attention(m: Maker, op: str) -> Call:
    batch, heads, q, k, size = (
        m.int(1, 2),
        m.pick([1, 2, 4]),
        m.int(1, 4),
        m.int(1, 5),
        m.pick([2, 4]),
    )
    kv = m.pick([h for h in (1, 2, 4) if heads % h == 0])
    x = m.fresh(m.pick(["float32", "float32", "float16"]), [batch, heads, q, size], True)
    inputs = [
        x,
        m.like(x, [batch, kv, k, size], True),
        m.like(x, [batch, kv, k, m.int(1, 3)], True),
    ]
    if m.bool():
        shape = m.pick([[q, k], [1, 1, q, k], [batch, 1, q, k]])
        inputs.append(m.fresh("bool", shape) if m.bool() else m.like(x, shape, True))
    attrs: dict[str, Any] = {"is_causal": 1} if m.bool() else {}
    attrs |= {"softcap": 2.0} if m.bool() else {}
    return Call(op, inputs, attrs, loose=16)


@row("RotaryEmbedding")
def _rotary(m: Maker, op: str) -> Call:
    batch, heads, steps, half = m.int(1, 2), m.int(1, 3), m.int(1, 3), m.int(1, 3)
    x = m.fresh(m.pick(["float32", "float16"]), [batch, heads, steps, 2 * half], True)
    caches = [m.like(x, [5, half], True) for _ in range(2)]
    positions = m.add(m.indices(5, [batch, steps], negative=False))
    return Call(op, [x, *caches, positions], {"interleaved": m.int(0, 1)}, sums=True)


@row("NegativeLogLikelihoodLoss", "SoftmaxCrossEntropyLoss")
def _loss(m: Maker, op: str) -> Call:
    batch, classes, more = m.int(1, 4), m.int(1, 4), m.shape(0, 2, least=1)
    x = m.fresh(m.pick(["float32", "float64"]), [batch, classes, *more], True)
    target = m.add(m.indices(classes, [batch, *more], negative=False))
    weight = [m.add(np.abs(m.array(m[x].dtype.name, [classes], True)) + 1)] if m.bool() else []
    attrs: dict[str, Any] = {"reduction": m.pick(["none", "mean", "sum"])}
    attrs |= {"ignore_index": m.int(0, 3)} if m.bool() else {}
    return Call(op, [x, target, *weight], attrs, sums=True, loose=8)
