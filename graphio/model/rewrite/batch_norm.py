"""Batch normalisation outside of training, with numbers that no run changes."""

from __future__ import annotations

import numpy as np

from graphio.model.rewrite.work import Array, Work, attributes
from graphio.schema import operators
from graphio.schema.nodes import Form, PlainNode

__all__ = ["fold", "spread"]

_OPERATOR = (("", "BatchNormalization"),)


def spread(work: Work) -> int:
    """Exact: the three elementwise steps that the operator is (docs/numerics.md, "Normalizations"),
    so that they can be fused with what is around them. Returns how many nodes were spread."""
    count = 0
    for node in work.having(_OPERATOR):
        found = _numbers(work, node)
        shape = work.shape(node.input[0]) if found is not None else None
        if found is None or shape is None or len(shape) < 2 or shape[1] != found[0].size:
            continue  # the operator itself checks shapes that do not fit or are unknown
        mean, factor, bias = (v.reshape(-1, *[1] * (len(shape) - 2)) for v in found)
        centred = _step(work, "Sub", f"{node.name}/centred", node.input[0], mean, node)
        scaled = _step(work, "Mul", f"{node.name}/scaled", centred, factor, node)
        constant = work.constant_node(f"{node.name}/bias", bias, node)
        form = node.form.like("Add", "", operators.version_for("Add", dtypes=[1]))
        work.put(PlainNode(node.name, form, [scaled, constant], node.control_input), node)
        count += 1
    return count


def fold(work: Work) -> int:
    """Approximate: into the weights and the bias of the convolution before it, with one rounding
    of each weight. Returns how many nodes went."""
    count = 0
    for node in work.having(_OPERATOR):
        found = _numbers(work, node)
        conv = work.of(node.input[0]) if node.input else None
        if found is None or conv is None or conv.domain or conv.op != "Conv":
            continue
        if work.only_reader(conv.name) is not node or not work.is_free(conv):
            continue
        weights = work.constant(conv.input[1])
        given = conv.input[2] if len(conv.input) > 2 else ""
        old = work.constant(given) if given else None
        if weights is None or (given and old is None):
            continue
        mean, factor, bias = (v.astype(np.float64) for v in found)
        if len(weights) != mean.size:
            continue
        start = 0.0 if old is None else old.astype(np.float64)
        new = weights * factor.reshape(-1, *[1] * (weights.ndim - 1))
        inputs = [
            conv.input[0],
            work.constant_node(f"{node.name}/weights", new.astype(np.float32), node),
            work.constant_node(
                f"{node.name}/bias", ((start - mean) * factor + bias).astype(np.float32), node
            ),
        ]
        form = node.form.like("Conv", "", operators.version_for("Conv", dtypes=[1], inputs=3))
        work.remove(conv)
        work.put(PlainNode(node.name, form, inputs, node.control_input, conv.attr), node)
        count += 1
    return count


def _numbers(work: Work, node: PlainNode) -> tuple[Array, Array, Array] | None:
    """Mean, factor and bias of a batch normalisation that does not train, as cinfer has them."""
    if node.domain or node.op != "BatchNormalization" or len(node.form.types) != 1:
        return None
    attrs = attributes(node)
    if attrs.get("training_mode", 0) or work.dtype(node.name) != 1:
        return None
    found = [work.constant(value) for value in node.input[1:5]]
    if any(a is None or a.dtype != np.float32 or a.ndim != 1 for a in found):
        return None
    scale, bias, mean, variance = (np.asarray(a) for a in found)
    if not scale.size == bias.size == mean.size == variance.size:
        return None
    one, epsilon = np.float32(1), np.float32(attrs.get("epsilon", 1e-5))
    with np.errstate(all="ignore"):
        factor = (one / np.sqrt(variance + epsilon)) * scale
    return mean, factor, bias


def _step(work: Work, op: str, name: str, x: str, number: Array, beside: PlainNode) -> str:
    constant = work.constant_node(f"{name}/with", number, beside)
    like = beside.form
    version = operators.version_for(op, dtypes=[1])
    form = Form(op, "", version, like.types, like.device, source=like.source)
    made = PlainNode(work.shared.new_name(name), form, [x, constant])
    work.add(made, beside)
    return made.name
