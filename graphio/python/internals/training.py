"""Moving averages and slots as variables: of training.moving_averages and training.slot_creator."""

from __future__ import annotations

from typing import Any

from graphio.framework.constants import convert_to_tensor
from graphio.framework.scopes import name_scope
from graphio.framework.tensor import Tensor
from graphio.framework.variable import Variable
from graphio.ops.math import elementwise
from graphio.support import api_guard
from graphio.train.checkpoints.slices import info_of_slot
from graphio.variables import initializers
from graphio.variables.variable_scope import get_variable, get_variable_scope, variable_scope

__all__ = [
    "assign_moving_average",
    "create_slot",
    "create_slot_with_initializer",
    "create_zeros_slot",
    "weighted_moving_average",
]


@api_guard.makes_variables
def assign_moving_average(
    variable: Any, value: Any, decay: Any, zero_debias: bool = True, name: str | None = None
) -> Tensor:
    """Assigns variable * decay + value * (1 - decay).

    Args:
        variable: of a floating dtype.
        value: of its shape and dtype.
        decay: a number, or a scalar tensor.
        zero_debias: the variable began at 0: the average is divided by 1 - decay ** updates. Two
            variables, `biased` and `local_step`, are made in a scope of the variable's name.
        name: of the operation; None: AssignMovingAvg.

    Returns:
        The variable's new value.
    """
    with name_scope(name, "AssignMovingAvg", [variable, value, decay]) as scope:
        dtype = variable.dtype.base_dtype
        fresh = elementwise.cast(convert_to_tensor(1.0 - decay, name="decay"), dtype)
        if not zero_debias:
            lowered: Tensor = variable.assign_sub((variable - value) * fresh, name=scope)
            return lowered
        biased, steps = _shadow(variable, value, fresh)
        total = biased.assign_sub((biased - value) * fresh)
        share = 1 - elementwise.pow(1.0 - fresh, steps.assign_add(1))
        assigned: Tensor = variable.assign(total / share, name=scope)
        return assigned


def _shadow(variable: Any, value: Any, decay: Tensor) -> tuple[Variable, Variable]:
    """The variables of an average that began at 0."""
    options: dict[str, Any] = {
        "dtype": variable.dtype.base_dtype,
        "initializer": initializers.zeros_initializer(),
        "trainable": False,
    }
    with variable_scope(variable.op.name, values=[variable, value, decay]):
        return (
            get_variable(_unused("biased"), shape=variable.get_shape(), **options),
            get_variable(_unused("local_step"), shape=[], **options),
        )


def _unused(name: str) -> str:
    """The name, with a number if the current variable scope has such a variable."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    present = {v.op.name for v in scope.global_variables()}
    full, number = f"{scope.name}/{name}", 1
    if full not in present:
        return name
    while f"{full}_{number}" in present:
        number += 1
    return f"{name}_{number}"


@api_guard.makes_variables
def weighted_moving_average(
    value: Any,
    decay: Any,
    weight: Any,
    truediv: bool = True,
    collections: Any = None,
    name: str | None = None,
) -> Tensor:
    """The moving average of value * weight over the moving average of weight.

    Args:
        value: a tensor of a floating dtype.
        decay: a number, or a scalar tensor.
        weight: of value's shape, or one that multiplies it.
        truediv: whether the quotient of integers has a fraction.
        collections: of the two variables; None: GLOBAL_VARIABLES.
        name: of the variable scope; None: WeightedMovingAvg.
    """
    options: dict[str, Any] = {
        "initializer": initializers.zeros_initializer(),
        "trainable": False,
        "collections": collections,
    }
    with variable_scope(name, "WeightedMovingAvg", [value, weight, decay]) as scope:
        sums = get_variable("value_x_weight", shape=value.get_shape(), dtype=value.dtype, **options)
        weights = get_variable("weight", shape=weight.get_shape(), dtype=weight.dtype, **options)
        above = assign_moving_average(sums, value * weight, decay, zero_debias=False)
        below = assign_moving_average(weights, weight, decay, zero_debias=False)
        divide = elementwise.truediv if truediv else elementwise.div
        return divide(above, below, name=scope.name)


@api_guard.makes_variables
def create_slot(
    primary: Any, val: Tensor, name: str, colocate_with_primary: bool = True
) -> Variable:
    """A variable that is not trained, named primary's name/name.

    Args:
        primary: a variable or tensor.
        val: the initial value.
        colocate_with_primary: has no effect: there is one device.
    """
    return _slot(primary, val, name, None, None)


@api_guard.makes_variables
def create_slot_with_initializer(
    primary: Any,
    initializer: Any,
    shape: Any,
    dtype: Any,
    name: str,
    colocate_with_primary: bool = True,
) -> Variable:
    """As create_slot, with an initializer for a shape and a dtype."""
    return _slot(primary, initializer, name, shape, dtype)


@api_guard.makes_variables
def create_zeros_slot(
    primary: Any, name: str, dtype: Any = None, colocate_with_primary: bool = True
) -> Variable:
    """As create_slot, of zeros of primary's shape.

    Args:
        dtype: None: primary's.
    """
    zeros = initializers.zeros_initializer()
    own = primary.dtype.base_dtype if dtype is None else dtype
    return _slot(primary, zeros, name, primary.get_shape(), own)


def _slot(primary: Any, value: Any, name: str, shape: Any, dtype: Any) -> Variable:
    with variable_scope(None, f"{primary.op.name}/{name}"):
        scope = get_variable_scope()
        partitioner = scope.partitioner
        scope.set_partitioner(None)
        slot: Variable = get_variable(
            "", initializer=value, trainable=False, shape=shape, dtype=dtype
        )
        scope.set_partitioner(partitioner)
    if isinstance(primary, Variable):
        slot._set_save_slice_info(info_of_slot(primary, slot))
    return slot
