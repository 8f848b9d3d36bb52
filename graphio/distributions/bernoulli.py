"""The Bernoulli distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks
from graphio.distributions.divergence import RegisterKL
from graphio.distributions.parameters import WithOdds, logits_and_probs
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.distributions.scalar import ScalarDistribution, parameter_shapes
from graphio.framework import dtypes, scopes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.math import elementwise
from graphio.ops.nn.core import softplus
from graphio.ops.nn.crossentropy import sigmoid_cross_entropy_with_logits
from graphio.ops.random.core import random_uniform

__all__ = ["Bernoulli"]


class Bernoulli(WithOdds, ScalarDistribution):
    """1 with a probability, else 0.

    Args:
        logits: floating tensor, log(p / (1 - p)).
        probs: floating tensor, p; instead of logits.
        dtype: of samples.
        validate_args: True: a run fails if a probability is outside [0, 1], or a value is neither
            0 nor 1.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: logits and probs are given, or neither.
        TypeError: they are not floating.
    """

    _PARAMETERS = ("logits",)

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Bernoulli",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name) as entered:
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args=validate_args, name=entered
            )
        super().__init__(
            dtype=dtype,
            reparameterization_type=NOT_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs],
            name=entered,
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return parameter_shapes(sample_shape, "logits")

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        uniform = random_uniform(self._drawn_shape(n), seed=seed, dtype=self.probs.dtype)
        return elementwise.cast(uniform < self.probs, self.dtype)

    def _log_prob(self, value: Tensor) -> Tensor:
        if self.validate_args:
            value = checks.casts_unchanged(value, dtypes.bool)
        event = elementwise.cast(value, self.logits.dtype)
        labels = event * array.ones_like(self.logits)
        logits = self.logits * array.ones_like(event)
        return -sigmoid_cross_entropy_with_logits(labels=labels, logits=logits)

    def _entropy(self) -> Tensor:
        other = elementwise.sigmoid(self.logits) - 1.0
        return -self.logits * other + softplus(-self.logits)

    def _mean(self) -> Tensor:
        return array.identity(self.probs)

    def _variance(self) -> Tensor:
        return self._mean() * (1.0 - self.probs)

    def _mode(self) -> Tensor:
        return elementwise.cast(self.probs > 0.5, self.dtype)


@RegisterKL(Bernoulli, Bernoulli)
def _divergence(a: Bernoulli, b: Bernoulli, name: str | None = None) -> Tensor:
    with scopes.name_scope(name, "kl_bernoulli_bernoulli", values=[a.logits, b.logits]):
        of_1 = softplus(-b.logits) - softplus(-a.logits)
        of_0 = softplus(b.logits) - softplus(a.logits)
        return elementwise.sigmoid(a.logits) * of_1 + elementwise.sigmoid(-a.logits) * of_0
