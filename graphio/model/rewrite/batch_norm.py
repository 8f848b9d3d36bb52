"""Batch normalisation outside of training, with numbers that no run changes."""

from __future__ import annotations

import numpy as np

from graphio.model.rewrite.work import Array, Work, attributes
from graphio.schema import operators
from graphio.schema.model_pb2 import Node

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
        last = _node("Add", node.name, scaled, work.constant_node(f"{node.name}/bias", bias, node))
        _like(last, node)
        last.tf_type = node.tf_type or node.op
        work.put(last, node)
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
        made = Node()
        made.CopyFrom(conv)
        made.name = node.name
        made.input[:] = [
            conv.input[0],
            work.constant_node(f"{node.name}/weights", new.astype(np.float32), node),
            work.constant_node(
                f"{node.name}/bias", ((start - mean) * factor + bias).astype(np.float32), node
            ),
        ]
        made.version = operators.version_for("Conv", dtypes=[1], inputs=3)
        _like(made, node)
        made.tf_type = node.tf_type or node.op
        work.remove(conv)
        work.put(made, node)
        count += 1
    return count


def _numbers(work: Work, node: Node) -> tuple[Array, Array, Array] | None:
    """Mean, factor and bias of a batch normalisation that does not train, as cinfer has them."""
    if node.domain or node.op != "BatchNormalization" or len(node.output_type) != 1:
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


def _step(work: Work, op: str, name: str, x: str, number: Array, beside: Node) -> str:
    constant = work.constant_node(f"{name}/with", number, beside)
    made = _node(op, work.shared.new_name(name), x, constant)
    _like(made, beside)
    del made.control_input[:]
    work.add(made, beside)
    return made.name


def _node(op: str, name: str, x: str, y: str) -> Node:
    return Node(name=name, op=op, version=operators.version_for(op, dtypes=[1]), input=[x, y])


def _like(made: Node, node: Node) -> None:
    """Gives a node the device, source, control inputs and types of another one."""
    made.device = node.device
    made.source.CopyFrom(node.source)
    made.control_input[:] = node.control_input
    del made.output_type[:]
    made.output_type.extend(node.output_type)
