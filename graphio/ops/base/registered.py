"""Functions of a family of operators that is built on the family that calls them.

See graphio.support.registration; graphio/__init__.py has the module of each name.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework.tensor import Tensor
from graphio.support.registration import Registered

if TYPE_CHECKING:
    from graphio.ops.base.composing import Request

__all__ = ["composed", "transposed"]

#: the nodes of an operator on complex numbers; None: its kernel takes them
composed: Registered[[Request, str | None], Tensor | None] = Registered("composed")

#: a tensor with its axes in an order that only a run knows, by the name of the operation: it takes
#: sorting, arithmetic and gathers, and these transpose
transposed: Registered[[Tensor, Tensor, str], Tensor] = Registered("transposed")
