"""Divergences of pairs of distributions, by functions that are registered for their classes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.assertion import Assert
from graphio.ops.math import comparison, elementwise, reduction
from graphio.support import api_guard

if TYPE_CHECKING:
    from graphio.distributions.distribution import Distribution

__all__ = ["RegisterKL", "cross_entropy", "kl_divergence"]

#: by the classes of the two distributions
_DIVERGENCES: dict[tuple[type, type], Callable[..., Any]] = {}


class RegisterKL:
    """A decorator that registers a function for the divergence of two classes.

    The function takes a distribution of each class, and name.

    Args:
        dist_cls_a: class of the first distribution.
        dist_cls_b: class of the second.
    """

    def __init__(self, dist_cls_a: type, dist_cls_b: type) -> None:
        self._key = (dist_cls_a, dist_cls_b)

    def __call__(self, kl_fn: Any) -> Any:
        """Registers kl_fn, and returns it.

        Raises:
            TypeError: kl_fn cannot be called.
            ValueError: the classes have a function already.
        """
        if not callable(kl_fn):
            raise TypeError(f"kl_fn must be callable, received: {kl_fn}")
        if self._key in _DIVERGENCES:
            first, second = (each.__name__ for each in self._key)
            raise ValueError(
                f"KL({first} || {second}) has already been registered to: {_DIVERGENCES[self._key]}"
            )
        _DIVERGENCES[self._key] = kl_fn
        return kl_fn


def _registered(type_a: type, type_b: type) -> Callable[..., Any] | None:
    """The function of the nearest base classes; of several, that nearest to type_a."""
    steps = [
        (i + j, i, _DIVERGENCES[first, second])
        for i, first in enumerate(type_a.__mro__)
        for j, second in enumerate(type_b.__mro__)
        if (first, second) in _DIVERGENCES
    ]
    return min(steps, key=lambda step: step[:2])[2] if steps else None


@api_guard.operator
def kl_divergence(
    distribution_a: Distribution,
    distribution_b: Distribution,
    allow_nan_stats: bool = True,
    name: str | None = None,
) -> Tensor:
    """The Kullback-Leibler divergence of distribution_b from distribution_a: the mean of
    log(a(x) / b(x)) for x drawn from a.

    Args:
        distribution_a: a distribution.
        distribution_b: a distribution with the same support.
        allow_nan_stats: False: a run in which a divergence is nan fails.
        name: of the operations.

    Returns:
        A tensor of the batch shapes' broadcast shape.

    Raises:
        NotImplementedError: no function is registered for the classes or for base classes of them.

    Example:
        >>> p, q = tf.distributions.Normal(0., 1.), tf.distributions.Normal(1., 1.)
        >>> tf.Session().run(tf.distributions.kl_divergence(p, q))
        np.float32(0.5)
    """
    divergence = _registered(type(distribution_a), type(distribution_b))
    if divergence is None:
        raise NotImplementedError(
            "No KL(distribution_a || distribution_b) registered for distribution_a type "
            f"{type(distribution_a).__name__} and distribution_b type "
            f"{type(distribution_b).__name__}"
        )
    with scopes.name_scope("KullbackLeibler"):
        found: Tensor = divergence(distribution_a, distribution_b, name=name)
        if allow_nan_stats:
            return found
        found = array.identity(found, name="kl")
        words = (
            f"KL calculation between {distribution_a.name} and {distribution_b.name} returned NaN "
            "values (and was called with allow_nan_stats=False). Values:"
        )
        numbers = comparison.logical_not(reduction.reduce_any(elementwise.is_nan(found)))
        with scopes.control_dependencies([Assert(numbers, [words, found])]):
            return array.identity(found, name="checked_kl")


@api_guard.operator
def cross_entropy(
    ref: Distribution, other: Distribution, allow_nan_stats: bool = True, name: str | None = None
) -> Tensor:
    """The mean of -log(other(x)) for x drawn from ref; see kl_divergence."""
    with scopes.name_scope(name, "cross_entropy"):
        return ref.entropy() + kl_divergence(ref, other, allow_nan_stats=allow_nan_stats)
