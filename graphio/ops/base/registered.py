"""Functions of a family of operators that is built on the family that calls them.

See graphio.support.registration; graphio/__init__.py has the module of each name.
"""

from __future__ import annotations

from graphio.framework.tensor import Tensor
from graphio.support.registration import Registered

__all__ = ["transposed"]

#: a tensor with its axes in an order that only a run knows, by the name of the operation: it takes
#: sorting, arithmetic and gathers, and these transpose
transposed: Registered[[Tensor, Tensor, str], Tensor] = Registered("transposed")
