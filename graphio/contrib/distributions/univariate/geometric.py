"""The geometric distribution."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.distributions import checks
from graphio.distributions.parameters import WithOdds, logits_and_probs
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.distributions.scalar import ScalarDistribution
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import where_v2
from graphio.ops.checks.asserts import assert_less, assert_positive
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import comparison, elementwise
from graphio.ops.nn.core import softplus
from graphio.ops.random.core import random_uniform

__all__ = ["Geometric"]


class Geometric(WithOdds, ScalarDistribution):
    """How many draws of a Bernoulli distribution are 0 before the first 1.

    Args:
        logits: floating tensor, log(p / (1 - p)).
        probs: floating tensor, p, above 0; instead of logits.
        validate_args: True: a run fails if a probability is invalid, or a value negative or not
            an integer. False: values are rounded down.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: logits and probs are given, or neither.
        TypeError: they are not floating.
    """

    _PARAMETERS = ("probs",)

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Geometric",
    ) -> None:
        parameters = dict(locals())
        given = [each for each in (logits, probs) if each is not None]
        with scopes.name_scope(name, values=given) as entered:
            self._logits, shares = logits_and_probs(
                logits, probs, validate_args=validate_args, name=entered
            )
            needed = [assert_positive(shares)] if validate_args else []
            with scopes.control_dependencies(needed):
                self._probs = array.identity(shares, name="probs")
        super().__init__(
            dtype=self._probs.dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._probs, self._logits],
            name=entered,
        )

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        least = np.finfo(self.dtype.as_numpy_dtype).tiny  # the logarithm of 0 is infinite
        uniform = random_uniform(
            self._drawn_shape(n), minval=least, maxval=1.0, seed=seed, dtype=self.dtype
        )
        return elementwise.floor(elementwise.log(uniform) / elementwise.log1p(-self.probs))

    def _cdf(self, value: Tensor) -> Tensor:
        x = self._valid(value) * array.ones_like(self.probs)
        share = -elementwise.expm1((1.0 + x) * elementwise.log1p(-self.probs))
        return where_v2(x < 0.0, array.zeros_like(x), share)

    def _log_prob(self, value: Tensor) -> Tensor:
        x = self._valid(value) * array.ones_like(self.probs)
        probs = self.probs * array.ones_like(x)
        # where no 0 was drawn, log(1 - p) has no part, also for p of 1
        safe = where_v2(comparison.equal(x, 0.0), array.zeros_like(probs), probs)
        return x * elementwise.log1p(-safe) + elementwise.log(probs)

    def _entropy(self) -> Tensor:
        probs = self.probs
        if self.validate_args:
            words = "Entropy is undefined when logits = inf or probs = 1."
            below = assert_less(probs, array.ones([], probs.dtype), message=words)
            probs = with_dependencies([below], probs)
        return softplus(self.logits) / probs - self.logits

    def _mean(self) -> Tensor:
        return elementwise.exp(-self.logits)

    def _variance(self) -> Tensor:
        return self._mean() / self.probs

    def _mode(self) -> Tensor:
        return self._everywhere(0.0)

    def _valid(self, value: Tensor) -> Tensor:
        return checks.counts(value) if self.validate_args else elementwise.floor(value)
