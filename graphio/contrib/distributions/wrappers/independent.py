"""Batch axes of a distribution as axes of its event."""

from __future__ import annotations

from typing import Any

from graphio.distributions import shapes
from graphio.distributions.distribution import Distribution
from graphio.distributions.divergence import RegisterKL, kl_divergence
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_equal, assert_less_equal
from graphio.ops.math import elementwise, reduction

__all__ = ["Independent"]


class Independent(Distribution):
    """A distribution whose last batch axes are the first axes of its event.

    Args:
        distribution: a distribution.
        reinterpreted_batch_ndims: how many axes; None: all but the first.
        validate_args: True: a run fails if the batch has fewer axes.
        name: of the scope of its operations; None: from the distribution's.

    Raises:
        ValueError: the batch is known to have fewer axes.
    """

    def __init__(
        self,
        distribution: Distribution,
        reinterpreted_batch_ndims: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        self._distribution = distribution
        with scopes.name_scope(name or "Independent" + distribution.name) as entered:
            if reinterpreted_batch_ndims is None:
                reinterpreted_batch_ndims = _all_but_first(distribution)
            number = convert_to_tensor(
                reinterpreted_batch_ndims, dtypes.int32, name="reinterpreted_batch_ndims"
            )
            self._axes = shapes.prefer_static_value(number)
            super().__init__(
                dtype=distribution.dtype,
                reparameterization_type=distribution.reparameterization_type,
                validate_args=validate_args,
                allow_nan_stats=distribution.allow_nan_stats,
                parameters=parameters,
                graph_parents=[number, *distribution._graph_parents],
                name=entered,
            )
            self._checks = self._needed()

    @property
    def distribution(self) -> Distribution:
        """The distribution with these axes in its batch."""
        return self._distribution

    @property
    def reinterpreted_batch_ndims(self) -> Any:
        """How many axes, a number if it is known."""
        return self._axes

    def _batch_shape_tensor(self) -> Tensor:
        with scopes.control_dependencies(self._checks):
            batch = self.distribution.batch_shape_tensor()
            return batch[: array.size(batch) - self._axes]

    def _batch_shape(self) -> Any:
        return self._split()[0]

    def _event_shape_tensor(self) -> Tensor:
        with scopes.control_dependencies(self._checks):
            batch = self.distribution.batch_shape_tensor()
            moved = batch[array.size(batch) - self._axes :]
            return array.concat([moved, self.distribution.event_shape_tensor()], 0)

    def _event_shape(self) -> Any:
        return self._split()[1].concatenate(self.distribution.event_shape)

    def _split(self) -> tuple[Any, Any]:
        """The batch's own axes, and those of the event."""
        batch = self.distribution.batch_shape
        if isinstance(self._axes, Tensor) or batch.ndims is None:
            return TensorShape(None), TensorShape(None)
        first = batch.ndims - int(self._axes)
        return batch[:first], batch[first:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        with scopes.control_dependencies(self._checks):
            found: Tensor = self.distribution.sample(sample_shape=n, seed=seed)
            return found

    def _log_prob(self, value: Tensor) -> Tensor:
        with scopes.control_dependencies(self._checks):
            return self._summed(self.distribution.log_prob(value))

    def _entropy(self) -> Tensor:
        with scopes.control_dependencies(self._checks):
            return self._summed(self.distribution.entropy())

    def _mean(self) -> Tensor:
        with scopes.control_dependencies(self._checks):
            return self.distribution.mean()

    def _variance(self) -> Tensor:
        with scopes.control_dependencies(self._checks):
            return self.distribution.variance()

    def _stddev(self) -> Tensor:
        with scopes.control_dependencies(self._checks):
            return self.distribution.stddev()

    def _mode(self) -> Tensor:
        with scopes.control_dependencies(self._checks):
            return self.distribution.mode()

    def _summed(self, x: Tensor) -> Tensor:
        if isinstance(self._axes, Tensor):
            return reduction.reduce_sum(x, -1 - array.range(self._axes))
        return reduction.reduce_sum(x, [-1 - i for i in range(int(self._axes))])

    def _needed(self) -> list[Any]:
        batch, known = self.distribution.batch_shape.ndims, not isinstance(self._axes, Tensor)
        if batch is not None and known:
            if int(self._axes) > batch:
                raise ValueError(
                    f"reinterpreted_batch_ndims({self._axes}) cannot exceed "
                    f"distribution.batch_ndims({batch})"
                )
            return []
        if not self.validate_args:
            return []
        axes = array.size(self.distribution.batch_shape_tensor())
        words = "reinterpreted_batch_ndims cannot exceed distribution.batch_ndims"
        return [assert_less_equal(self._axes, axes, message=words)]


def _all_but_first(distribution: Distribution) -> Any:
    axes = distribution.batch_shape.ndims
    if axes is not None:
        return max(0, axes - 1)
    return elementwise.maximum(0, array.size(distribution.batch_shape_tensor()) - 1)


@RegisterKL(Independent, Independent)
def _divergence(a: Independent, b: Independent, name: str | None = "kl_independent") -> Tensor:
    p, q = a.distribution, b.distribution
    if a.event_shape.is_fully_defined() and b.event_shape.is_fully_defined():
        if a.event_shape != b.event_shape:
            raise ValueError("Event shapes do not match.")
        if p.event_shape != q.event_shape:
            raise NotImplementedError(
                "KL between Independents with different event shapes not supported."
            )
        axes = range(len(a.event_shape.as_list()) - len(p.event_shape.as_list()))
        return reduction.reduce_sum(kl_divergence(p, q, name=name), [-1 - i for i in axes])
    equal = [
        assert_equal(a.event_shape_tensor(), b.event_shape_tensor()),
        assert_equal(p.event_shape_tensor(), q.event_shape_tensor()),
    ]
    with scopes.control_dependencies(equal):
        moved = array.size(a.event_shape_tensor()) - array.size(p.event_shape_tensor())
        return reduction.reduce_sum(kl_divergence(p, q, name=name), -1 - array.range(moved))
