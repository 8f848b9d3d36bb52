"""Optimizer steps. Each does what its body in schema/graphio_operators.json says, in that order."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.runtime.registry import function


def gradient_descent_step(parameter: Any, rate: Any, gradient: Any) -> Any:
    """parameter - rate * gradient."""
    step = rate * gradient
    return _subtract(parameter, step)


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


#: (operator, function, types)
_ROWS = (
    ("GradientDescentStep", gradient_descent_step, "FFF"),
    ("MomentumStep", momentum_step, "FFFFF"),
    ("NesterovMomentumStep", nesterov_momentum_step, "FFFFF"),
    ("AdamStep", adam_step, "FFFFFFFFFF"),
)
for _op, _function, _types in _ROWS:
    function(_op, 1, _function, _types, domain="graphio")
