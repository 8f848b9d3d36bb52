"""tf.autograph.experimental: settings of conversions."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

__all__ = ["do_not_convert", "set_loop_options"]


def do_not_convert(func: Callable[..., Any] | None = None) -> Any:
    """A decorator that leaves a function unconverted, as all are: a function that calls it.

    Args:
        func: the function; None: returns the decorator.
    """
    if func is None:
        return do_not_convert

    @functools.wraps(func)
    def call(*arguments: Any, **options: Any) -> Any:
        return func(*arguments, **options)

    return call


def set_loop_options(
    parallel_iterations: Any = None,
    back_prop: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
) -> None:
    """Accepted: options of the loop around that was converted to a tf.while_loop. None is: give
    them to tf.while_loop."""
