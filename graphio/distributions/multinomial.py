"""The multinomial distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks, counting, shapes
from graphio.distributions.dirichlet import outer_with_diagonal
from graphio.distributions.distribution import Distribution
from graphio.distributions.parameters import WithOdds, logits_and_probs
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.math import reduction
from graphio.ops.nn.core import log_softmax

__all__ = ["Multinomial"]


class Multinomial(WithOdds, Distribution):
    """How often each class is among total_count draws of a categorical distribution.

    Args:
        total_count: floating tensor of integers.
        logits: floating tensor (..., classes) of log-probabilities.
        probs: floating tensor (..., classes) of probabilities; instead of logits.
        validate_args: True: a run fails if a parameter is invalid, or a value's counts are not
            integers, negative, or of another sum.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: logits and probs are given, or neither.
        TypeError: they are not floating.
    """

    def __init__(
        self,
        total_count: Any,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Multinomial",
    ) -> None:
        parameters = dict(locals())
        given = [each for each in (total_count, logits, probs) if each is not None]
        with scopes.name_scope(name, values=given) as entered:
            total = convert_to_tensor(total_count, name="total_count")
            self._total_count = checks.counts(total) if validate_args else total
            self._logits, self._probs = logits_and_probs(
                logits, probs, multidimensional=True, validate_args=validate_args, name=entered
            )
            self._mean_value = shapes.with_last_axis(self._total_count) * self._probs
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._logits, self._probs],
            name=entered,
        )

    @property
    def total_count(self) -> Tensor:
        """The numbers of draws."""
        return self._total_count

    def _batch_shape_tensor(self) -> Tensor:
        return array.shape(self._mean_value)[:-1]

    def _batch_shape(self) -> Any:
        return self._mean_value.shape.with_rank_at_least(1)[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return array.shape(self._mean_value)[-1:]

    def _event_shape(self) -> Any:
        return self._mean_value.shape.with_rank_at_least(1)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        classes = self.event_shape_tensor()[0]
        shape = array.concat([[n], array.shape(self._mean_value)], 0)
        logits = array.reshape(array.broadcast_to(self.logits, shape), [-1, classes])
        total = array.reshape(array.broadcast_to(self.total_count, shape[:-1]), [-1])
        drawn = counting.drawn_counts(total, logits, classes, seed, self.dtype)
        return array.reshape(drawn, shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        counts = value
        if self.validate_args:
            words = "counts must sum to `self.total_count`"
            counts = counting.summing_to(self.total_count, counts, words)
        powers = reduction.reduce_sum(counts * log_softmax(self.logits), -1)
        return powers + counting.log_combinations(self.total_count, counts)

    def _mean(self) -> Tensor:
        return array.identity(self._mean_value)

    def _covariance(self) -> Tensor:
        return outer_with_diagonal(self._mean_value, self._variance(), self._all_probs())

    def _variance(self) -> Tensor:
        return self._mean_value - self._mean_value * self._all_probs()

    def _all_probs(self) -> Tensor:
        """The probabilities of each distribution of the batch."""
        return self.probs * shapes.with_last_axis(array.ones_like(self.total_count))
