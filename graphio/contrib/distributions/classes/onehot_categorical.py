"""The categorical distribution of vectors of 0 and a 1."""

from __future__ import annotations

from typing import Any

from graphio.distributions.categorical import divergence_of_classes, drawn_classes
from graphio.distributions.dirichlet import outer_with_diagonal
from graphio.distributions.distribution import Distribution
from graphio.distributions.divergence import RegisterKL
from graphio.distributions.parameters import WithOdds, logits_and_probs
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.framework import dtypes, scopes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.array.index import one_hot
from graphio.ops.checks.asserts import assert_near, assert_non_positive
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn.core import log_softmax

__all__ = ["OneHotCategorical", "WithClasses", "log_probabilities"]


class WithClasses(WithOdds, Distribution):
    """A distribution of vectors with a number a class, by logits (..., classes)."""

    @property
    def event_size(self) -> Tensor:
        """The number of classes, int32."""
        return array.shape(self.logits)[-1]

    def _batch_shape_tensor(self) -> Tensor:
        return array.shape(self.logits)[:-1]

    def _batch_shape(self) -> Any:
        return self.logits.shape[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return array.shape(self.logits)[-1:]

    def _event_shape(self) -> Any:
        return self.logits.shape.with_rank_at_least(1)[-1:]


class OneHotCategorical(WithClasses):
    """A vector with a 1 for a class, which is drawn by probability softmax(logits).

    Args:
        logits: floating tensor (..., classes) of log-probabilities.
        probs: floating tensor (..., classes) of probabilities; instead of logits.
        dtype: of samples.
        validate_args: True: a run fails if probabilities are invalid. As in TensorFlow 1, the
            check of values is that of log-probabilities, which vectors of 0 and a 1 fail.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: logits and probs are given, or neither.
        TypeError: they are not floating.
    """

    def __init__(
        self,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = dtypes.int32,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "OneHotCategorical",
    ) -> None:
        parameters = dict(locals())
        given = [each for each in (logits, probs) if each is not None]
        with scopes.name_scope(name, values=given) as entered:
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args=validate_args, multidimensional=True, name=entered
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

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        drawn = drawn_classes(self.logits, self.event_size, n, seed)
        vectors = one_hot(drawn, self.event_size, dtype=self.dtype)
        return array.reshape(vectors, array.concat([[n], array.shape(self.logits)], 0))

    def _log_prob(self, value: Tensor) -> Tensor:
        x = log_probabilities(value, self.dtype) if self.validate_args else value
        parts = elementwise.cast(x, self.logits.dtype) * log_softmax(self.logits)
        return reduction.reduce_sum(parts, -1)

    def _entropy(self) -> Tensor:
        return -reduction.reduce_sum(log_softmax(self.logits) * self.probs, -1)

    def _mode(self) -> Tensor:
        return one_hot(reduction.argmax(self.logits, -1), self.event_size, dtype=self.dtype)

    def _covariance(self) -> Tensor:
        return outer_with_diagonal(self.probs, self._variance())

    def _variance(self) -> Tensor:
        return self.probs * (1.0 - self.probs)


RegisterKL(OneHotCategorical, OneHotCategorical)(divergence_of_classes)


def log_probabilities(x: Tensor, dtype: Any) -> Tensor:
    """x, whose numbers are to be logarithms of probabilities of sum 1 along the last axis."""
    total = reduction.reduce_logsumexp(x, -1)
    needed = [assert_non_positive(x), assert_near(array.zeros([], dtype), total)]
    found: Tensor = with_dependencies(needed, x)
    return found
