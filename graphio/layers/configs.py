"""Activations and initializers by name, and the descriptions of them that configurations hold."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from graphio.framework.graph import Tensor
from graphio.ops.math import elementwise
from graphio.ops.nn import core as nn
from graphio.variables import initializers

__all__ = ["activation_of_cell", "described", "named"]

#: activations and initializers that may be given by name
_ACTIVATIONS: dict[str, Callable[..., Tensor]] = {
    "elu": nn.elu, "exponential": elementwise.exp, "relu": nn.relu, "selu": nn.selu,
    "sigmoid": elementwise.sigmoid, "softmax": nn.softmax, "softplus": nn.softplus,
    "softsign": nn.softsign, "tanh": elementwise.tanh,
}  # fmt: skip
_INITIALIZERS: dict[str, Callable[..., Any]] = {
    "glorot_normal": initializers.glorot_normal_initializer,
    "glorot_uniform": initializers.glorot_uniform_initializer,
    "he_normal": initializers.he_normal, "he_uniform": initializers.he_uniform,
    "identity": initializers.identity_initializer, "lecun_normal": initializers.lecun_normal,
    "lecun_uniform": initializers.lecun_uniform, "ones": initializers.ones_initializer,
    "orthogonal": initializers.orthogonal_initializer,
    "truncated_normal": initializers.truncated_normal_initializer,
    "zeros": initializers.zeros_initializer,
}  # fmt: skip
#: TensorFlow's name of a class of initializers -> the class
_CLASSES: dict[str, type[initializers.Initializer]] = {
    "Constant": initializers.constant_initializer,
    "GlorotNormal": initializers.glorot_normal_initializer,
    "GlorotUniform": initializers.glorot_uniform_initializer,
    "Identity": initializers.identity_initializer,
    "Ones": initializers.ones_initializer,
    "Orthogonal": initializers.orthogonal_initializer,
    "RandomNormal": initializers.random_normal_initializer,
    "RandomUniform": initializers.random_uniform_initializer,
    "TruncatedNormal": initializers.truncated_normal_initializer,
    "UniformUnitScaling": initializers.uniform_unit_scaling_initializer,
    "VarianceScaling": initializers.variance_scaling_initializer,
    "Zeros": initializers.zeros_initializer,
}


def named(kind: str, given: Any) -> Any:
    """An activation or initializer that may be given by its name; "linear" and None are None.

    An initializer may also be given as its class, or as `described` describes it.

    Raises:
        ValueError: there is none of the name.
    """
    if isinstance(given, dict) and kind == "initializer":
        return _configured(given)
    if isinstance(given, type) and issubclass(given, initializers.Initializer):
        return given()
    if given is None or not isinstance(given, str):
        return given
    table: dict[str, Any] = _ACTIVATIONS if kind == "activation" else _INITIALIZERS
    if given == "linear" and kind == "activation":
        return None
    if given not in table:
        raise ValueError(f"Unknown {kind}: {given!r}; there are {', '.join(sorted(table))}")
    return table[given] if kind == "activation" else table[given]()


def activation_of_cell(given: Any) -> Callable[[Any], Any]:
    """A cell's activation, a function or its name; None: tanh."""
    return elementwise.tanh if given is None else named("activation", given) or linear


def linear(x: Any) -> Any:
    """The identity, by the name that configurations have for it."""
    return x


def _configured(description: dict[str, Any]) -> Any:
    name = description.get("class_name")
    if name not in _CLASSES:
        raise ValueError(f"Unknown initializer: {name!r}; there are {', '.join(_CLASSES)}")
    return _CLASSES[name].from_config(description.get("config", {}))


def described(value: Any) -> Any:
    """An argument as a configuration holds it.

    An initializer is {"class_name": its class, "config": its arguments}, a function its name; all
    others are themselves.
    """
    if hasattr(value, "get_config"):
        kind = type(value)
        name = next((n for n, known in _CLASSES.items() if known is kind), kind.__name__)
        return {"class_name": name, "config": value.get_config()}
    return getattr(value, "__name__", value) if callable(value) else value
