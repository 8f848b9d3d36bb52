"""Optimizer steps. Each does what its body in schema/graphio_operators.json says, in that order."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from graphio.runtime.registry import can_hold, function
from graphio.support import errors


def gradient_descent_step(parameter: Any, rate: Any, gradient: Any) -> Any:
    """parameter - rate * gradient."""
    return _subtract(parameter, rate * gradient)


def _gradient_descent_in_place(parameter: Any, rate: Any, gradient: Any) -> Any:
    """The same in the gradient's memory."""
    if not can_hold(gradient, parameter.shape) or rate.size != 1:
        plain = gradient.shape == parameter.shape and not rate.ndim
        return (gradient_descent_step if plain else _descent)(parameter, rate, gradient)
    step = np.multiply(rate.reshape(()), gradient, out=gradient)
    return np.subtract(parameter, step, out=step)


def _subtract(parameter: Any, step: Any) -> Any:
    """parameter - step, in step's memory."""
    if step.__class__ is np.ndarray and step.shape == parameter.shape:
        return np.subtract(parameter, step, out=step)
    return np.asarray(parameter - step)


def momentum_step(
    parameter: Any, accumulator: Any, rate: Any, gradient: Any, momentum: Any
) -> tuple[Any, Any]:
    """a = momentum * accumulator + gradient; parameter - rate * a."""
    total = momentum * accumulator + gradient
    return _subtract(parameter, rate * total), total


def nesterov_momentum_step(
    parameter: Any, accumulator: Any, rate: Any, gradient: Any, momentum: Any
) -> tuple[Any, Any]:
    """a = momentum * accumulator + gradient; parameter - rate * (gradient + momentum * a)."""
    total = momentum * accumulator + gradient
    return _subtract(parameter, rate * (gradient + momentum * total)), total


def adam_step(
    parameter: Any,
    m: Any,
    v: Any,
    beta1_power: Any,
    beta2_power: Any,
    learning_rate: Any,
    beta1: Any,
    beta2: Any,
    epsilon: Any,
    gradient: Any,
) -> tuple[Any, Any, Any]:
    """Kingma and Ba 2015 in TensorFlow's form."""
    one = parameter.dtype.type(1)
    rate = learning_rate * (np.sqrt(one - beta2_power) / (one - beta1_power))
    new_m = m + (gradient - m) * (one - beta1)
    new_v = v + (gradient * gradient - v) * (one - beta2)
    step = rate * new_m / (np.sqrt(new_v) + epsilon)
    return _subtract(parameter, step), new_m, new_v


def _checked(step: Callable[..., Any], numbers: frozenset[int]) -> Callable[..., Any]:
    """A step whose inputs have the parameter's shape, but for some that are single numbers."""

    def run(parameter: Any, *rest: Any) -> Any:
        inputs = []
        for i, x in enumerate(rest, 1):
            if x.size != 1 if i in numbers else x.shape != parameter.shape:
                expected = "one number" if i in numbers else f"{list(parameter.shape)}"
                raise errors.InvalidArgumentError(
                    message=f"input {i} has shape {list(x.shape)}, expected {expected}"
                )
            inputs.append(x.reshape(()) if i in numbers and x.ndim else x)
        return step(parameter, *inputs)

    return run


#: (operator, function, its inputs that are single numbers, types)
_ROWS = (
    ("GradientDescentStep", gradient_descent_step, {1}, "FFF"),
    ("MomentumStep", momentum_step, {2, 4}, "FFFFF"),
    ("NesterovMomentumStep", nesterov_momentum_step, {2, 4}, "FFFFF"),
    ("AdamStep", adam_step, {3, 4, 5, 6, 7, 8}, "FFFFFFFFFF"),
)
_descent = _checked(gradient_descent_step, frozenset({1}))
_IN_PLACE = {"GradientDescentStep": {2: _gradient_descent_in_place}}
for _op, _function, _numbers, _types in _ROWS:
    _step = _checked(_function, frozenset(_numbers))
    function(_op, 1, _step, _types, domain="graphio", reuse=_IN_PLACE.get(_op))
