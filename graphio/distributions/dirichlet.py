"""The Dirichlet distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks, shapes
from graphio.distributions.distribution import Distribution
from graphio.distributions.divergence import RegisterKL
from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.assert_shapes import assert_rank_at_least
from graphio.ops.checks.asserts import assert_less, assert_near, assert_positive
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.linalg.matmul import matmul
from graphio.ops.linalg.matrices import matrix_set_diag
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.arithmetic import xlogy
from graphio.ops.math.special import digamma, lbeta
from graphio.ops.random.more import random_gamma

__all__ = ["Dirichlet", "outer_with_diagonal"]


class Dirichlet(Distribution):
    """The Dirichlet distribution of vectors of sum 1: density prod x_i^(concentration_i - 1),
    normalized.

    Args:
        concentration: floating tensor (..., k), above 0.
        validate_args: True: a run fails if a parameter is invalid, or a value is not positive or
            of another sum.
        allow_nan_stats: True: the mode is nan where a concentration is at most 1. False: its run
            fails.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        concentration: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Dirichlet",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[concentration]) as entered:
            given = convert_to_tensor(concentration, name="concentration")
            self._concentration = _valid_concentration(given) if validate_args else given
            self._total_concentration = reduction.reduce_sum(self._concentration, -1)
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._concentration, self._total_concentration],
            name=entered,
        )

    @property
    def concentration(self) -> Tensor:
        """The weights of the vector's numbers."""
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
        drawn = random_gamma([n], self.concentration, dtype=self.dtype, seed=seed)
        return drawn / reduction.reduce_sum(drawn, -1, keepdims=True)

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._valid(value)
        powers = reduction.reduce_sum(xlogy(self.concentration - 1.0, x), -1)
        return powers - lbeta(self.concentration)

    def _prob(self, value: Tensor) -> Tensor:
        return elementwise.exp(self._log_prob(value))

    def _entropy(self) -> Tensor:
        total = self.total_concentration
        parts = (self.concentration - 1.0) * digamma(self.concentration)
        rest = (total - self._numbers()) * digamma(total)
        return lbeta(self.concentration) + rest - reduction.reduce_sum(parts, -1)

    def _mean(self) -> Tensor:
        return self.concentration / shapes.with_last_axis(self.total_concentration)

    def _covariance(self) -> Tensor:
        return outer_with_diagonal(self._width() * self._mean(), self._variance())

    def _variance(self) -> Tensor:
        x = self._width() * self._mean()
        return x * (self._width() - x)

    def _width(self) -> Tensor:
        return elementwise.rsqrt(1.0 + shapes.with_last_axis(self.total_concentration))

    def _mode(self) -> Tensor:
        above = shapes.with_last_axis(self.total_concentration) - self._numbers()
        mode = (self.concentration - 1.0) / above
        words = "Mode undefined when any concentration <= 1"
        needs = (self.concentration, 1.0, words)
        return checks.defined(mode, self.allow_nan_stats, needs, last_axis=True)

    def _numbers(self) -> Tensor:
        """How many numbers a vector has."""
        return elementwise.cast(self.event_shape_tensor()[0], self.dtype)

    def _valid(self, value: Tensor) -> Tensor:
        if not self.validate_args:
            return value
        one, total = array.ones([], self.dtype), reduction.reduce_sum(value, -1)
        found: Tensor = with_dependencies(
            [
                assert_positive(value, message="samples must be positive"),
                assert_near(one, total, message="sample last-dimension must sum to `1`"),
            ],
            value,
        )
        return found


def _valid_concentration(x: Tensor) -> Tensor:
    words = "Concentration parameter must "
    found: Tensor = with_dependencies(
        [
            assert_positive(x, message=words + "be positive."),
            assert_rank_at_least(x, 1, message=words + "have >=1 dimensions."),
            assert_less(1, array.shape(x)[-1], message=words + "have event_size >= 2."),
        ],
        x,
    )
    return found


def outer_with_diagonal(x: Tensor, diagonal: Tensor, y: Tensor | None = None) -> Tensor:
    """The matrix -x y^T (y None: x), with another diagonal."""
    other = x if y is None else y
    outer = matmul(shapes.with_last_axis(x), array.expand_dims(other, -2))
    return matrix_set_diag(-outer, diagonal)


@RegisterKL(Dirichlet, Dirichlet)
def _divergence(a: Dirichlet, b: Dirichlet, name: str | None = None) -> Tensor:
    values = [a.concentration, b.concentration]
    with scopes.name_scope(name, "kl_dirichlet_dirichlet", values=values):
        total = shapes.with_last_axis(a.total_concentration)
        logarithms = digamma(a.concentration) - digamma(total)
        parts = reduction.reduce_sum((a.concentration - b.concentration) * logarithms, -1)
        return parts - lbeta(a.concentration) + lbeta(b.concentration)
