"""Steps of optimizers, and scattered updates of variables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import graphio as tf
from graphio.tensorflow_files.calls import Call, Row

__all__ = ["ROWS"]

#: from the values of the variables, the numbers and the gradient: their new values, in the order
#: in which they are assigned
Rule = Callable[[list[Any], list[Any], Any, Call], list[Any]]


def _descent(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    return [v[0] - n[0] * g]


def _momentum(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    rate, factor = n
    speed = v[1] * factor + g
    step = g + speed * factor if c.flag("use_nesterov") else speed
    return [v[0] - rate * step, speed]


def _keras_momentum(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    rate, factor = n
    speed = v[1] * factor - rate * g
    step = speed * factor - rate * g if c.flag("use_nesterov") else speed
    return [v[0] + step, speed]


def _adagrad(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    squares = v[1] + g * g if c.flag("update_slots", True) else v[1]
    return [v[0] - n[0] * g * tf.rsqrt(squares), squares]


def _adagrad_v2(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    squares = v[1] + g * g if c.flag("update_slots", True) else v[1]
    return [v[0] - n[0] * g / (tf.sqrt(squares) + n[1]), squares]


def _adadelta(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    rate, rho, epsilon = n
    squares = v[1] * rho + g * g * (1 - rho)
    step = tf.sqrt(v[2] + epsilon) * tf.rsqrt(squares + epsilon) * g
    return [v[0] - step * rate, squares, v[2] * rho + step * step * (1 - rho)]


def _adam(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    power1, power2, rate, beta1, beta2, epsilon = n
    rate = rate * tf.sqrt(1 - power2) / (1 - power1)
    first = v[1] + (g - v[1]) * (1 - beta1)
    second = v[2] + (g * g - v[2]) * (1 - beta2)
    ahead = g * (1 - beta1) + beta1 * first if c.flag("use_nesterov") else first
    return [v[0] - ahead * rate / (tf.sqrt(second) + epsilon), first, second]


def _amsgrad(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    power1, power2, rate, beta1, beta2, epsilon = n
    rate = rate * tf.sqrt(1 - power2) / (1 - power1)
    first = v[1] + (g - v[1]) * (1 - beta1)
    second = v[2] + (g * g - v[2]) * (1 - beta2)
    largest = tf.maximum(v[3], second)
    return [v[0] - first * rate / (tf.sqrt(largest) + epsilon), first, second, largest]


def _adamax(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    power1, rate, beta1, beta2, epsilon = n
    first = v[1] + (g - v[1]) * (1 - beta1)
    largest = tf.maximum(beta2 * v[2], tf.abs(g))
    return [v[0] - rate / (1 - power1) * (first / (largest + epsilon)), first, largest]


def _rmsprop(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    rate, rho, factor, epsilon = n
    squares = v[1] + (g * g - v[1]) * (1 - rho)
    speed = v[2] * factor + g * rate * tf.rsqrt(squares + epsilon)
    return [v[0] - speed, squares, speed]


def _centered_rmsprop(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    rate, rho, factor, epsilon = n
    mean = v[1] + (g - v[1]) * (1 - rho)
    squares = v[2] + (g * g - v[2]) * (1 - rho)
    speed = v[3] * factor + g * rate * tf.rsqrt(squares - mean * mean + epsilon)
    return [v[0] - speed, mean, squares, speed]


def _shrunk(x: Any, rate: Any, l1: Any, l2: Any) -> Any:
    """The proximal step of the penalties."""
    return tf.sign(x) * tf.maximum(tf.abs(x) - rate * l1, 0) / (1 + l2 * rate)


def _proximal_descent(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    rate, l1, l2 = n
    return [_shrunk(v[0] - rate * g, rate, l1, l2)]


def _proximal_adagrad(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    rate, l1, l2 = n
    squares = v[1] + g * g
    rates = rate * tf.rsqrt(squares)
    return [_shrunk(v[0] - g * rates, rates, l1, l2), squares]


def _adagrad_da(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    rate, l1, l2, step = n
    total, squares = v[1] + g, v[2] + g * g
    step = tf.cast(step, total.dtype)
    shrunk = tf.sign(total) * tf.maximum(tf.abs(total) - l1 * step, 0)
    return [-rate * shrunk / (l2 * step * rate + tf.sqrt(squares)), total, squares]


def _ftrl(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    """Its numbers have the shrinkage of the second version, or not."""
    rate, l1, l2, *shrinkage, power = n
    change = g + 2 * shrinkage[0] * v[0] if shrinkage else g
    squares = v[1] + g * g
    slope = (tf.pow(squares, -power) - tf.pow(v[1], -power)) / rate
    linear = v[2] + change - slope * v[0]
    quadratic = tf.pow(squares, -power) / rate + 2 * l2
    shrunk = (tf.sign(linear) * l1 - linear) / quadratic
    new = tf.where(tf.abs(linear) > l1, shrunk, tf.zeros_like(shrunk))
    return [new, squares, linear]


def _add_sign(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    rate, alpha, decay, beta = n
    first = v[1] * beta + g * (1 - beta)
    return [v[0] - rate * (alpha + decay * tf.sign(g) * tf.sign(first)) * g, first]


def _power_sign(v: list[Any], n: list[Any], g: Any, c: Call) -> list[Any]:
    rate, base, decay, beta = n
    first = v[1] * beta + g * (1 - beta)
    return [v[0] - rate * tf.exp(base * decay * tf.sign(g) * tf.sign(first)) * g, first]


#: by type without its prefix: number of variables, position of the gradient among the inputs after
#: them (-1: the last), rule
_RULES: dict[str, tuple[int, int, Rule]] = {
    "AdaMax": (3, -1, _adamax),
    "Adadelta": (3, -1, _adadelta),
    "Adagrad": (2, -1, _adagrad),
    "AdagradDA": (3, 0, _adagrad_da),
    "AdagradV2": (2, -1, _adagrad_v2),
    "Adam": (3, -1, _adam),
    "AdamWithAmsgrad": (4, -1, _amsgrad),
    "AddSign": (2, -1, _add_sign),
    "CenteredRMSProp": (4, -1, _centered_rmsprop),
    "Ftrl": (3, 0, _ftrl),
    "FtrlV2": (3, 0, _ftrl),
    "GradientDescent": (1, -1, _descent),
    "KerasMomentum": (2, 1, _keras_momentum),
    "Momentum": (2, 1, _momentum),
    "PowerSign": (2, -1, _power_sign),
    "ProximalAdagrad": (2, -1, _proximal_adagrad),
    "ProximalGradientDescent": (1, -1, _proximal_descent),
    "RMSProp": (3, -1, _rmsprop),
}
#: those without a form on the first kind of variables
_ON_RESOURCES_ONLY = ("AdamWithAmsgrad", "KerasMomentum")
#: by type: the position of the gradient in the form of rows, with the indices after it
_ON_ROWS = {
    "Adadelta": -2, "Adagrad": 1, "AdagradDA": 0, "AdagradV2": 2, "CenteredRMSProp": -2, "Ftrl": 0,
    "FtrlV2": 0, "Momentum": 1, "ProximalAdagrad": -2, "ProximalGradientDescent": -2,
    "RMSProp": -2, "KerasMomentum": 1,
}  # fmt: skip


def _parts(count: int, at: int, c: Call) -> tuple[list[Any], list[Any], Any]:
    """The variables, the numbers, and the gradient."""
    variables = [c.handle(i).variable for i in range(count)]
    rest = c.tensors[count:]
    gradient = rest.pop(at)
    return variables, rest, gradient


def _apply(name: str, is_resource: bool, c: Call) -> Any:
    """One step; gives the first variable's new value, or the operation."""
    count, at, rule = _RULES[name]
    variables, numbers, gradient = _parts(count, at, c)
    values = rule([variable.value() for variable in variables], numbers, gradient, c)
    with tf.control_dependencies(values):
        made = [v.assign(new).op for v, new in zip(variables, values, strict=True)]
    if is_resource:
        return tf.group(*made, name=c.name)
    with tf.control_dependencies(made):
        return tf.identity(variables[0].read_value(), name=c.name)


def _apply_rows(name: str, is_resource: bool, c: Call) -> Any:
    """One step of the rows that the indices name, one after the other: a row may come twice."""
    count, _, rule = _RULES[name]
    at = _ON_ROWS[name]
    variables = [c.handle(i).variable for i in range(count)]
    rest = c.tensors[count:]
    at = at if at >= 0 else len(rest) + at
    gradient, indices = rest.pop(at), rest.pop(at)

    def step(i: Any) -> Any:
        row = indices[i]
        now = [tf.gather(variable.read_value(), row) for variable in variables]
        new = rule(now, rest, gradient[i], c)
        with tf.control_dependencies(new):
            made = [
                tf.scatter_update(v, tf.expand_dims(row, 0), tf.expand_dims(value, 0)).op
                for v, value in zip(variables, new, strict=True)
            ]
        with tf.control_dependencies(made):
            return i + 1

    last = tf.while_loop(lambda i: i < tf.size(indices), step, [tf.constant(0)])
    with tf.control_dependencies([last]):
        if is_resource:
            return tf.no_op(name=c.name)
        return tf.identity(variables[0].read_value(), name=c.name)


def _scatter(function: str, is_resource: bool, c: Call) -> Any:
    made = getattr(tf, function)(c.handle(0).variable, c[1], c[2])
    return made.op if is_resource else tf.identity(made, name=c.name)


def _count(c: Call) -> Any:
    return tf.count_up_to(c.handle(0).variable, c.integer("limit"), name=c.name)


def _scattered(kinds: tuple[str, ...], nd: bool) -> dict[str, Row]:
    """The rows of scattered updates."""
    middle, word = ("Nd", "nd_") if nd else ("", "")
    return {
        f"{prefix}Scatter{middle}{kind}": partial(
            _scatter, f"scatter_{word}{kind.lower()}", bool(prefix)
        )
        for kind in kinds
        for prefix in ("", "Resource")
    }


ROWS: dict[str, Row] = {
    **{f"ResourceApply{name}": partial(_apply, name, True) for name in _RULES},
    **{
        f"Apply{name}": partial(_apply, name, False)
        for name in _RULES
        if name not in _ON_RESOURCES_ONLY
    },
    **{f"ResourceSparseApply{name}": partial(_apply_rows, name, True) for name in _ON_ROWS},
    **{
        f"SparseApply{name}": partial(_apply_rows, name, False)
        for name in _ON_ROWS
        if name not in _ON_RESOURCES_ONLY
    },
    **_scattered(("Add", "Div", "Max", "Min", "Mul", "Sub", "Update"), False),
    **_scattered(("Add", "Sub", "Update"), True),
    "CountUpTo": _count,
    "ResourceCountUpTo": _count,
    "VariableShape": lambda c: tf.shape(
        c.handle(0).variable, out_type=c.dtype("out_type", tf.int32), name=c.name
    ),
}
