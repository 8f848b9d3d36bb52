"""Kinds of variables: of ops.resource_variable_ops."""

from __future__ import annotations

from typing import Any

from graphio.framework.variable import Variable
from graphio.support import api_guard

__all__ = ["is_resource_variable"]


@api_guard.unguarded
def is_resource_variable(var: Any) -> bool:
    """Whether var was made as a resource variable (use_resource=True)."""
    return isinstance(var, Variable) and bool(var.use_resource)
