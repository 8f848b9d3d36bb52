"""Names of what has no value yet, as a string vector."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

from graphio.framework import scopes
from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.framework.variable import Variable, is_variable_initialized
from graphio.ops.array import surface as array
from graphio.ops.control_flow import branches


def names_where_not(names: Sequence[str], variables: Sequence[Variable], name: str) -> Tensor:
    """The names of those variables that are not initialised, in order (string vector)."""
    nobody = np.empty(0, object)
    with scopes.name_scope(name, "report_uninitialized_variables"):
        parts = [
            branches.cond(
                is_variable_initialized(variable),
                partial(constant, nobody),
                partial(constant, [text]),
            )
            for text, variable in zip(names, variables, strict=True)
        ]
        return array.concat([constant(nobody), *parts], 0)
