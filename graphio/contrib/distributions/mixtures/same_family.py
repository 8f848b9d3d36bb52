"""MixtureSameFamily: a mixture of the distributions of a batch."""

from __future__ import annotations

from typing import Any

from graphio.contrib.distributions.mixtures.padding import pad_mixture_dimensions
from graphio.distributions import shapes
from graphio.distributions.distribution import Distribution
from graphio.distributions.parameters import another_seed
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.framework import scopes
from graphio.ops.array import surface as array
from graphio.ops.array.index import one_hot
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks import assert_shapes, asserts
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn.core import log_softmax

__all__ = ["MixtureSameFamily"]


class MixtureSameFamily(Distribution):
    """A mixture of the distributions along the last axis of a batch.

    Args:
        mixture_distribution: Categorical over the components, of one distribution or of the
            components' batch without its last axis.
        components_distribution: the distributions; the last axis of their batch has one a class.
        validate_args: whether runs check shapes that are not known before.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.

    Raises:
        ValueError: mixture_distribution is not over integers or not over numbers, or the shapes
            don't fit.
    """

    def __init__(
        self,
        mixture_distribution: Any,
        components_distribution: Distribution,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "MixtureSameFamily",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name) as scope:
            self._mixture_distribution = mixture_distribution
            self._components_distribution = components_distribution
            known = components_distribution.event_shape.ndims
            self._event_ndims: Any = (
                array.size(components_distribution.event_shape_tensor()) if known is None else known
            )
            self._checks = _assertions(mixture_distribution, components_distribution, validate_args)
            logits = mixture_distribution.logits
            count = logits.shape.with_rank_at_least(1)[-1].value
            self._num_components: Any = array.shape(logits)[-1] if count is None else count
        super().__init__(
            components_distribution.dtype,
            NOT_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            mixture_distribution._graph_parents + components_distribution._graph_parents,
            scope,
        )

    @property
    def mixture_distribution(self) -> Any:
        """The distribution over the components."""
        return self._mixture_distribution

    @property
    def components_distribution(self) -> Distribution:
        """The components."""
        return self._components_distribution

    def _batch_shape_tensor(self) -> Any:
        with scopes.control_dependencies(self._checks):
            return self._components_distribution.batch_shape_tensor()[:-1]

    def _batch_shape(self) -> Any:
        return self._components_distribution.batch_shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> Any:
        with scopes.control_dependencies(self._checks):
            return self._components_distribution.event_shape_tensor()

    def _event_shape(self) -> Any:
        return self._components_distribution.event_shape

    def _padded(self, x: Any, more: int = 0) -> Any:
        """Numbers of classes with axes for the events, and more."""
        axes = self._event_ndims
        return pad_mixture_dimensions(x, self, self._mixture_distribution, axes + more)

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        with scopes.control_dependencies(self._checks):
            samples = self._components_distribution.sample(n, seed=seed)
            chosen = self._mixture_distribution.sample(
                n, seed=another_seed(seed, "MixtureSameFamily")
            )
            mask = self._padded(one_hot(chosen, self._num_components, True, False))
            kept = where_v2(mask, samples, array.zeros_like(samples))
            return reduction.reduce_sum(kept, -1 - self._event_ndims)

    def _with_classes(self, x: Any) -> Any:
        """x with an axis of 1 for the components before the events' axes."""
        ndims = x.shape.ndims if x.shape.ndims is not None else array.rank(x)
        sizes, at = array.shape(x), ndims - self._event_ndims
        return array.reshape(x, array.concat([sizes[:at], [1], sizes[at:]], 0))

    def _log_sum(self, what: str, x: Any) -> Any:
        with scopes.control_dependencies(self._checks):
            found = getattr(self._components_distribution, what)(self._with_classes(x))
            logs = log_softmax(self._mixture_distribution.logits)
            return reduction.reduce_logsumexp(found + logs, -1)

    def _log_prob(self, value: Any) -> Any:
        return self._log_sum("log_prob", value)

    def _log_cdf(self, value: Any) -> Any:
        return self._log_sum("log_cdf", value)

    def _mean(self) -> Any:
        with scopes.control_dependencies(self._checks):
            probs = self._padded(self._mixture_distribution.probs)
            means = self._components_distribution.mean()
            return reduction.reduce_sum(probs * means, -1 - self._event_ndims)

    def _variance(self) -> Any:
        """The mean of the variances and the variance of the means."""
        with scopes.control_dependencies(self._checks):
            probs = self._padded(self._mixture_distribution.probs)
            apart = self._components_distribution.mean() - self._with_classes(self._mean())
            total = self._components_distribution.variance() + elementwise.square(apart)
            return reduction.reduce_sum(probs * total, -1 - self._event_ndims)

    def _covariance(self) -> Any:
        if self.event_shape.ndims != 1:
            raise NotImplementedError("covariance is not implemented")
        with scopes.control_dependencies(self._checks):
            probs = self._padded(self._mixture_distribution.probs, 1)
            apart = self._components_distribution.mean() - self._with_classes(self._mean())
            outer = array.expand_dims(apart, -1) * array.expand_dims(apart, -2)
            total = self._components_distribution.covariance() + outer
            return reduction.reduce_sum(probs * total, -3)


def _assertions(mixture: Any, components: Distribution, validate_args: bool) -> list[Any]:
    """Raises where shapes are known not to fit; else their checks in the run."""
    needed: list[Any] = []
    if not mixture.dtype.is_integer:
        raise ValueError(
            f"`mixture_distribution.dtype` ({mixture.dtype.name}) is not over integers"
        )
    if mixture.event_shape.ndims not in (None, 0):
        raise ValueError("`mixture_distribution` must have scalar `event_dim`s")
    if mixture.event_shape.ndims is None and validate_args:
        needed.append(
            assert_shapes.assert_rank(
                mixture.event_shape_tensor(),
                0,
                message="`mixture_distribution` must have scalar `event_dim`s",
            )
        )
    own, batch = mixture.batch_shape, components.batch_shape.with_rank_at_least(1)[:-1]
    words = "is not compatible with `components_distribution.batch_shape`"
    if own.is_fully_defined() and batch.is_fully_defined():
        if own.ndims != 0 and own.as_list() != batch.as_list():
            raise ValueError(
                f"`mixture_distribution.batch_shape` (`{own.as_list()}`) {words} "
                f"(`{batch.as_list()}`)"
            )
    elif validate_args:
        lead = components.batch_shape_tensor()[:-1]
        given = shapes.pick_vector(mixture.is_scalar_batch(), lead, mixture.batch_shape_tensor())
        message = f"`mixture_distribution.batch_shape` {words}"
        needed.append(asserts.assert_equal(given, lead, message=message))
    counts = [
        shape.with_rank_at_least(1)[-1].value
        for shape in (mixture.logits.shape, components.batch_shape)
    ]
    if None not in counts and counts[0] != counts[1]:
        raise ValueError(
            f"`mixture_distribution components` ({counts[0]}) does not equal "
            f"`components_distribution.batch_shape[-1]` ({counts[1]})"
        )
    if None in counts and validate_args:
        needed.append(
            asserts.assert_equal(
                array.shape(mixture.logits)[-1],
                components.batch_shape_tensor()[-1],
                message="`mixture_distribution components` does not equal "
                "`components_distribution.batch_shape[-1:]`",
            )
        )
    return needed
