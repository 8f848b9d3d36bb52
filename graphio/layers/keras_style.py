"""tf.layers.experimental: layers that make their variables as those of Keras, outside of scopes.

A layer made in this style has its own variables always: no variable scope shares them, names them
or gives them defaults. Their names come from the name scope of the layer's first call.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.layers.configs import named
from graphio.support import api_guard
from graphio.variables import initializers
from graphio.variables.variables import Variable

__all__ = [
    "check_no_sharing",
    "is_on",
    "keras_style_scope",
    "new_weight",
    "regularized",
    "set_keras_style",
]


class _Style:
    """Whether new layers, of any thread, have the style."""

    on = False


@api_guard.unguarded
@contextlib.contextmanager
def keras_style_scope() -> Iterator[None]:
    """Layers and cells that are made inside have their own variables.

    Scopes and `reuse` then have no effect on the variables, and `scope` and `reuse` are refused.

    Raises:
        ValueError: a layer is made or called with one of them, when that happens.

    Example:
        >>> with tf.layers.experimental.keras_style_scope():
        ...     first, second = tf.layers.Dense(3, name="d"), tf.layers.Dense(3, name="d")
        >>> x = tf.zeros([1, 2])
        >>> _ = first(x), second(x)
        >>> first.kernel is second.kernel
        False
    """
    before, _Style.on = _Style.on, True
    try:
        yield
    finally:
        _Style.on = before


@api_guard.unguarded
def set_keras_style() -> None:
    """All layers and cells that the program makes from now on are as in keras_style_scope."""
    _Style.on = True


def is_on() -> bool:
    """Whether a layer that is made now has the style."""
    return _Style.on


def check_no_sharing(**given: Any) -> None:
    """Raises ValueError for an argument, which could share variables, that is not None."""
    for name, value in given.items():
        if value is not None:
            raise ValueError(
                f"{name} argument not allowed when keras style layers are enabled, but saw: "
                f"{value}; leave it out"
            )


def new_weight(
    name: str,
    shape: Any,
    dtype: dtypes.DType,
    initializer: Any,
    trainable: bool,
    constraint: Callable[[Any], Any] | None,
) -> Variable:
    """A variable named in the current name scope.

    initializer: None: Glorot's uniform one, zeros of other than floating-point dtypes.
    """
    start = named("initializer", initializer)
    if start is None and dtype.is_floating:
        start = initializers.glorot_uniform_initializer()
    start = start or initializers.zeros_initializer()
    return Variable(
        lambda: start(shape, dtype=dtype),
        trainable=trainable,
        name=name,
        dtype=dtype,
        constraint=constraint,
    )


def regularized(weight: Variable, name: str, regularizer: Callable[[Any], Any]) -> Any:
    """The loss of a variable."""
    with scopes.name_scope(name + "/Regularizer"):
        return regularizer(weight)
