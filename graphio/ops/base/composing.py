"""Operators that no kernel computes: other nodes replace them.

Complex numbers are the case. A builder or a gradient requests `Mul` of complex64 as of any
other dtype, and gets nodes that compute with the parts (graphio/ops/complex).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.ops.base import registered
from graphio.ops.base.shapes import Dims

__all__ = ["Request", "composed"]


class Request(NamedTuple):
    """A requested node.

    Attributes:
        op, domain: the operator.
        inputs: its inputs, None for those left out.
        dtype: of its output.
        dims: the static shape of its output.
        attrs: its attributes.
    """

    op: str
    domain: str
    inputs: Sequence[Tensor | None]
    dtype: DType
    dims: Dims
    attrs: Mapping[str, object]


def composed(
    op: str,
    domain: str,
    inputs: Sequence[Tensor | None],
    outputs: Sequence[tuple[DType, Dims]],
    attrs: Mapping[str, object],
    name: str | None,
) -> Tensor | None:
    """The nodes that replace one, the last of them under its name; None: nothing replaces it."""
    if not any(t is not None and t.dtype.is_complex for t in inputs):
        if op != "Cast" or not outputs[0][0].is_complex:
            return None
    if len(outputs) != 1:
        return None
    dtype, dims = outputs[0]
    return registered.composed(Request(op, domain, inputs, dtype.base_dtype, dims, attrs), name)
