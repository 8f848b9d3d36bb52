"""The Dirichlet-multinomial distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks, counting, shapes
from graphio.distributions.dirichlet import outer_with_diagonal
from graphio.distributions.distribution import Distribution
from graphio.distributions.parameters import another_seed
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.special import lbeta
from graphio.ops.random.more import random_gamma

__all__ = ["DirichletMultinomial"]


class DirichletMultinomial(Distribution):
    """The multinomial distribution whose probabilities are drawn from a Dirichlet distribution.

    Args:
        total_count: floating tensor of integers, of concentration's dtype.
        concentration: floating tensor (..., classes), above 0.
        validate_args: True: a run fails if a parameter is invalid, or a value's counts are not
            integers, negative, or of another sum.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        total_count: Any,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "DirichletMultinomial",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[total_count, concentration]) as entered:
            total = convert_to_tensor(total_count, name="total_count")
            weights = convert_to_tensor(concentration, name="concentration")
            if validate_args:
                total, weights = checks.counts(total), checks.classes(weights)
                words = "Concentration parameter must be positive."
                weights = checks.positive(weights, validate_args, words)
            self._total_count, self._concentration = total, weights
            self._total_concentration = reduction.reduce_sum(weights, -1)
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._total_count, self._concentration],
            name=entered,
        )

    @property
    def total_count(self) -> Tensor:
        """The numbers of draws."""
        return self._total_count

    @property
    def concentration(self) -> Tensor:
        """The weights of the classes."""
        return self._concentration

    @property
    def total_concentration(self) -> Tensor:
        """The sums of the weights."""
        return self._total_concentration

    def _batch_shape_tensor(self) -> Tensor:
        return array.shape(self.total_concentration)

    def _batch_shape(self) -> Any:
        return self.total_concentration.shape

    def _event_shape_tensor(self) -> Tensor:
        return array.shape(self.concentration)[-1:]

    def _event_shape(self) -> Any:
        return self.concentration.shape.with_rank_at_least(1)[-1:]

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        classes = self.event_shape_tensor()[0]
        weights = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        shape = array.shape(weights)
        logits = array.reshape(elementwise.log(weights), [-1, classes])
        ones = array.concat([shape[:-1], [1]], 0)
        total = array.reshape(array.broadcast_to(self._counts(), ones), [-1])
        other = another_seed(seed, "dirichlet_multinomial")
        drawn = counting.drawn_counts(total, logits, classes, other, self.dtype)
        return array.reshape(drawn, shape)

    def _log_prob(self, value: Tensor) -> Tensor:
        counts = value
        if self.validate_args:
            words = "counts last-dimension must sum to `self.total_count`"
            counts = counting.summing_to(self.total_count, counts, words)
        ordered = lbeta(self.concentration + counts) - lbeta(self.concentration)
        return ordered + counting.log_combinations(self.total_count, counts)

    def _prob(self, value: Tensor) -> Tensor:
        return elementwise.exp(self._log_prob(value))

    def _mean(self) -> Tensor:
        shares = self.concentration / shapes.with_last_axis(self.total_concentration)
        return self._counts() * shares

    def _covariance(self) -> Tensor:
        return outer_with_diagonal(self._width() * self._mean(), self._variance())

    def _variance(self) -> Tensor:
        x = self._width() * self._mean()
        return x * (self._counts() * self._width() - x)

    def _width(self) -> Tensor:
        total = shapes.with_last_axis(self.total_concentration)
        return elementwise.sqrt((1.0 + total / self._counts()) / (1.0 + total))

    def _counts(self) -> Tensor:
        """total_count with an axis for the classes, which the program may have given it."""
        count, batch = self.total_count.shape.ndims, self.batch_shape.ndims
        if count is not None and batch is not None and count > batch:
            return self.total_count
        return shapes.with_last_axis(self.total_count)
