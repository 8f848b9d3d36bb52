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
        outputs: the dtype and the static shape of each output.
        attrs: its attributes.
    """

    op: str
    domain: str
    inputs: Sequence[Tensor | None]
    outputs: Sequence[tuple[DType, Dims]]
    attrs: Mapping[str, object]

    @property
    def dtype(self) -> DType:
        """The dtype of its first output."""
        return self.outputs[0][0]

    @property
    def dims(self) -> Dims:
        """The static shape of its first output."""
        return self.outputs[0][1]


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
    kinds = [(dtype.base_dtype, dims) for dtype, dims in outputs]
    return registered.composed(Request(op, domain, inputs, kinds, attrs), name)
