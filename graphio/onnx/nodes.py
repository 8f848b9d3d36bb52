"""One node of ONNX's vocabulary in the default graph, with inferred types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import helper

from graphio.framework import dtypes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.onnx.attributes import DTYPE_KEYS, to_protos
from graphio.onnx.inference import infer
from graphio.ops.base.emit import operation
from graphio.schema import operators
from graphio.support import api_guard

__all__ = ["call"]


@api_guard.guarded
def call(
    op: str,
    *inputs: Any,
    outputs: int = 1,
    name: str | None = None,
    version: int | None = None,
    **attrs: Any,
) -> Any:
    """Adds one node of an ONNX operator to the default graph.

    Args:
        op: the operator's name in the domain ai.onnx, such as "LayerNormalization".
        inputs: tensors, variables or what converts to a tensor, in the operator's order; None
            for an absent optional one. Python's integers become int64.
        outputs: how many of its outputs are required.
        name: of the operation; None: the operator's.
        version: the opset that the node is written for; None: the oldest that expresses it.
        attrs: its attributes: int, float, str, lists of them, arrays; a DType for `to`, `dtype`.

    Returns:
        The output, or a list of them where several are required, with static types as the standard
        infers them.

    Raises:
        UnimplementedError: there is no such operator.
        ValueError: the inputs contradict the operator.
    """
    tensors = [None if x is None else _tensor(x) for x in inputs]
    given = {k: dtypes.as_dtype(v) if k in DTYPE_KEYS else v for k, v in attrs.items()}
    if version is None:
        numbers = [t.dtype.number for t in tensors if t is not None]
        version = operators.version_for(op, "", numbers, attributes=given, inputs=len(tensors))
    operators.lookup("", op, version)
    types = infer(node_proto(op, tensors, given, outputs), version, tensors)
    made = operation(op, tensors, types, name=name, version=version, attrs=given)
    return made.outputs[0] if outputs == 1 else list(made.outputs)


def _tensor(value: Any) -> Tensor:
    """Python's integers are int64, as ONNX has them for shapes, axes and indices."""
    if isinstance(value, (int, list, tuple)) and not isinstance(value, bool):
        array = np.asarray(value)
        if array.dtype.kind == "i" or not array.size:
            return convert_to_tensor(array.astype(np.int64))
    return convert_to_tensor(value)


def node_proto(
    op: str, inputs: Sequence[Tensor | None], attrs: dict[str, Any], outputs: int, domain: str = ""
) -> onnx.NodeProto:
    """The node as ONNX writes it, its values named by their positions."""
    node = helper.make_node(
        op,
        [f"x{i}" if t is not None else "" for i, t in enumerate(inputs)],
        [f"y{i}" for i in range(outputs)],
        domain=domain,
    )
    node.attribute.extend(to_protos(attrs))
    return node
