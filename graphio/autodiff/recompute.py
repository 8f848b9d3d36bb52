"""Functions whose values would be computed again for the gradient in TensorFlow."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from graphio.support import api_guard

__all__ = ["recompute_grad"]


@api_guard.unguarded
def recompute_grad(f: Callable[..., Any]) -> Callable[..., Any]:
    """The function, with the same values and gradients. TensorFlow computes what f needs again for
    the gradient, to save memory; here the values of the forward pass are kept.

    Args:
        f: a function of tensors.
    """

    @functools.wraps(f)
    def inner(*arguments: Any, **options: Any) -> Any:
        return f(*arguments, **options)

    return inner
