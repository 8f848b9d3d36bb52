"""A distribution with another shape of its batch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.distributions.distribution import Distribution
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks.asserts import assert_equal, assert_less_equal, assert_positive
from graphio.ops.math import comparison, elementwise, reduction

__all__ = ["BatchReshape"]


class BatchReshape(Distribution):
    """A distribution whose batch has another shape of as many distributions.

    Args:
        distribution: a distribution.
        batch_shape: int32 vector; a size may be -1: what remains.
        validate_args: True: a run fails if the sizes do not match, or a value has another shape.
        allow_nan_stats: as that of the distribution.
        name: of the scope of its operations; None: from the distribution's.

    Raises:
        ValueError: batch_shape is not a vector, has sizes below -1, or is known to have another
            number of distributions.
    """

    def __init__(
        self,
        distribution: Distribution,
        batch_shape: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(
            name or "BatchReshape" + distribution.name, values=[batch_shape]
        ) as entered:
            given = convert_to_tensor(batch_shape, dtypes.int32, name="batch_shape")
            self._distribution, self._given = distribution, given
            self._static = _static_shape(distribution, given)
            self._sizes = given
            self._checks: list[Any] = []
            if not self._static.is_fully_defined():
                self._sizes, self._checks = _sizes(distribution, given, validate_args)
            super().__init__(
                dtype=distribution.dtype,
                reparameterization_type=distribution.reparameterization_type,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                parameters=parameters,
                graph_parents=[given, *distribution._graph_parents],
                name=entered,
            )

    @property
    def distribution(self) -> Distribution:
        """The distribution with its own batch."""
        return self._distribution

    def _batch_shape_tensor(self) -> Tensor:
        with scopes.control_dependencies(self._checks):
            return array.identity(self._sizes)

    def _batch_shape(self) -> Any:
        return self._static

    def _event_shape_tensor(self) -> Tensor:
        with scopes.control_dependencies(self._checks):
            return array.identity(self.distribution.event_shape_tensor())

    def _event_shape(self) -> Any:
        return self.distribution.event_shape

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        with scopes.control_dependencies(self._checks):
            drawn = self.distribution.sample(n, seed=seed)
            parts = [[n], self._given, self.event_shape_tensor()]
            return array.reshape(drawn, array.concat(parts, 0))

    def _log_prob(self, value: Tensor) -> Tensor:
        return self._of_value(self.distribution.log_prob, value)

    def _prob(self, value: Tensor) -> Tensor:
        return self._of_value(self.distribution.prob, value)

    def _log_cdf(self, value: Tensor) -> Tensor:
        return self._of_value(self.distribution.log_cdf, value)

    def _cdf(self, value: Tensor) -> Tensor:
        return self._of_value(self.distribution.cdf, value)

    def _log_survival_function(self, value: Tensor) -> Tensor:
        return self._of_value(self.distribution.log_survival_function, value)

    def _survival_function(self, value: Tensor) -> Tensor:
        return self._of_value(self.distribution.survival_function, value)

    def _entropy(self) -> Tensor:
        return self._statistic(self.distribution.entropy, 0)

    def _mean(self) -> Tensor:
        return self._statistic(self.distribution.mean, 1)

    def _mode(self) -> Tensor:
        return self._statistic(self.distribution.mode, 1)

    def _stddev(self) -> Tensor:
        return self._statistic(self.distribution.stddev, 1)

    def _variance(self) -> Tensor:
        return self._statistic(self.distribution.variance, 1)

    def _covariance(self) -> Tensor:
        return self._statistic(self.distribution.covariance, 2)

    def _statistic(self, method: Callable[[], Tensor], events: int) -> Tensor:
        """A statistic, whose shape ends with so many event shapes."""
        with scopes.control_dependencies(self._checks):
            parts = [self._given, *[self.event_shape_tensor()] * events]
            found = array.reshape(method(), array.concat(parts, 0))
            known = self._static
            for _ in range(events):
                known = known.concatenate(self.event_shape)
            found.set_shape(known)
            return found

    def _of_value(self, method: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
        """A method at a value, which gets the distribution's own shape and back."""
        with scopes.control_dependencies([*self._checks, *self._value_checks(x)]):
            event, size = self.event_shape_tensor(), array.size(self._given)
            front = array.shape(x)[: array.rank(x) - size - array.size(event)]
            inner = array.concat([front, self.distribution.batch_shape_tensor(), event], 0)
            found = method(array.reshape(x, inner))
            found = array.reshape(found, array.concat([front, self._given], 0))
            axes, of_event = self._static.ndims, self.event_shape.ndims
            if x.shape.ndims is not None and axes is not None and of_event is not None:
                found.set_shape(
                    x.shape[: x.shape.ndims - axes - of_event].concatenate(self._static)
                )
            return found

    def _value_checks(self, x: Tensor) -> Sequence[Any]:
        known = self._static.concatenate(self.event_shape)
        if known.ndims is not None and x.shape.ndims is not None:
            if x.shape.ndims < known.ndims:
                raise NotImplementedError(
                    "Broadcasting is not supported; too few batch and event dims (expected at "
                    f"least {known.ndims}, saw {x.shape.ndims})."
                )
            last = x.shape[x.shape.ndims - known.ndims :]
            if known.is_fully_defined() and last.is_fully_defined():
                if known != last:
                    raise NotImplementedError(
                        "Broadcasting is not supported; unexpected batch and event shape "
                        f"(expected {known.as_list()}, saw {last.as_list()})."
                    )
                return ()
        if not self.validate_args:
            return ()
        expected = array.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        first = elementwise.maximum(array.rank(x) - array.size(expected), 0)
        words = "Broadcasting is not supported; unexpected batch and event shape."
        return (assert_equal(expected, array.shape(x)[first:], message=words),)


def _static_shape(distribution: Distribution, given: Tensor) -> TensorShape:
    """The shape of the batch as far as it is known."""
    if given.shape.ndims not in (None, 1):
        raise ValueError(f"`batch_shape` must be a vector (saw rank: {given.shape.ndims}).")
    sizes = constant_value(given)
    if sizes is None:
        length = None if given.shape.ndims is None else given.shape[0].value
        return TensorShape(None if length is None else [None] * length)
    if any(size < -1 or size == 0 for size in sizes):
        raise ValueError("`batch_shape` elements must be >=-1.")
    known = TensorShape([None if size == -1 else int(size) for size in sizes])
    mine, its = known.num_elements(), distribution.batch_shape.num_elements()
    if mine is not None and its is not None and mine != its:
        raise ValueError(
            f"`batch_shape` size ({mine}) must match `distribution.batch_shape` size ({its})."
        )
    return known


def _sizes(
    distribution: Distribution, given: Tensor, validate_args: bool
) -> tuple[Tensor, list[Any]]:
    """The batch's sizes, and what a run must check of them."""
    number = reduction.reduce_prod(distribution.batch_shape_tensor())
    left = comparison.equal(given, -1)
    rest = elementwise.floordiv(number, elementwise.maximum(1, -reduction.reduce_prod(given)))
    sizes = where_v2(left, rest, given)
    if not validate_args:
        return sizes, []
    unknown = reduction.reduce_sum(elementwise.cast(left, dtypes.int32))
    return sizes, [
        assert_less_equal(unknown, 1, message="At most one dimension can be unknown."),
        assert_positive(sizes, message="Shape elements must be >=-1."),
        assert_equal(reduction.reduce_prod(sizes), number, message="Shape sizes do not match."),
    ]
