"""The assignment by which a variable follows values."""

from __future__ import annotations

from typing import Any

from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise
from graphio.variables.initializers import zeros_initializer
from graphio.variables.variable_scope import get_variable, get_variable_scope, variable_scope

__all__ = ["assign_moving_average"]


def assign_moving_average(
    variable: Any, value: Tensor, decay: Any, zero_debias: bool = False, name: str | None = None
) -> Tensor:
    """variable = variable * decay + value * (1 - decay); the result is its new value.

    Args:
        decay: what the variable keeps of itself.
        zero_debias: whether the variable is the average divided by 1 - decay^t after t updates,
            which takes away the weight of the zeros that it begins with. The average itself and t
            are then the variables `biased` and `local_step` in a scope of the variable's name.
    """
    with scopes.name_scope(name, "AssignMovingAvg"):
        kind = variable.dtype.base_dtype
        rate = elementwise.subtract(1.0, convert_to_tensor(decay, kind))
        if not zero_debias:
            change = elementwise.multiply(elementwise.subtract(variable.read_value(), value), rate)
            return _value_of(variable.assign_sub(change))
        return _debiased(variable, value, rate)


def _debiased(variable: Any, value: Tensor, rate: Tensor) -> Tensor:
    with variable_scope(variable.op.name, values=[variable, value]):
        biased = get_variable(
            _unused("biased"),
            initializer=zeros_initializer()(variable.get_shape(), dtype=variable.dtype.base_dtype),
            trainable=False,
        )
        step = get_variable(
            _unused("local_step"),
            shape=[],
            dtype=variable.dtype.base_dtype,
            initializer=zeros_initializer(),
            trainable=False,
        )
    change = elementwise.multiply(elementwise.subtract(biased.read_value(), value), rate)
    average = _value_of(biased.assign_sub(change))
    count = _value_of(step.assign_add(1.0))
    weight = elementwise.subtract(1.0, elementwise.pow(elementwise.subtract(1.0, rate), count))
    return _value_of(variable.assign(elementwise.truediv(average, weight)))


def _unused(name: str) -> str:
    """The name, with a number where the scope has such a variable and does not share it."""
    scope = get_variable_scope()
    if scope.reuse:
        return name
    taken = {v.op.name for v in scope.global_variables()}
    found, number = name, 0
    while f"{scope.name}/{found}" in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def _value_of(assigned: Any) -> Tensor:
    return convert_to_tensor(assigned)
