"""The gradient of DeformConv, through an equal composition."""

from __future__ import annotations

from graphio.framework.gradient_registry import gradient
from graphio.framework.graph import Operation, Tensor
from graphio.ops.base.recompute import by_parts
from graphio.ops.image.sampling import deform_conv


@gradient("DeformConv")
def _deform_conv(op: Operation, dy: Tensor) -> list[Tensor | None]:
    def parts(
        x: Tensor, w: Tensor, offset: Tensor, b: Tensor | None = None, mask: Tensor | None = None
    ) -> Tensor:
        return deform_conv(x, w, offset, b, mask, op.attrs)

    return by_parts(op, [dy], parts)
