"""tf.strings.join: strings joined elementwise."""

from __future__ import annotations

from typing import Any

from graphio.framework import dtypes
from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.ops.base import shapes
from graphio.ops.base.emit import describe, node, scope
from graphio.ops.base.shapes import Dims, dims_of
from graphio.ops.strings.python_strings import as_bytes, as_text
from graphio.support import api_guard

__all__ = ["string_join"]


@api_guard.operator
def string_join(inputs: Any, separator: str = "", name: str | None = None) -> Tensor:
    """Strings joined elementwise.

    Args:
        inputs: list of string tensors of one shape; scalars are joined with every element. No list
            gives "".
        separator: put between the strings.
        name: of the operation.

    Raises:
        ValueError: the shapes differ.
    """
    if not inputs:
        return constant("", name=name or "StringJoin")
    with scope(name, "StringJoin") as at:
        string_values = [as_text(t, f"inputs_{i}") for i, t in enumerate(inputs)]
        dims: Dims = ()
        for text in string_values:
            if text.shape.ndims != 0:
                own = dims_of(text)
                dims = own if dims == () else shapes.merge(dims, own, describe(at, "StringJoin"))
        return node("StringJoin", string_values, dtypes.string, dims, name=at, domain="graphio",
                    separator=as_bytes(separator))  # fmt: skip
