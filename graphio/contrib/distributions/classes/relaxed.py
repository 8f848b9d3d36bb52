"""The concrete distribution (Maddison, Mnih and Teh 2016), in logarithms."""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.contrib.distributions.classes.onehot_categorical import (
    WithClasses,
    log_probabilities,
)
from graphio.distributions import shapes
from graphio.distributions.parameters import logits_and_probs
from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_positive
from graphio.ops.math import elementwise, reduction
from graphio.ops.math.special import lgamma
from graphio.ops.nn.core import log_softmax
from graphio.ops.random.core import random_uniform

__all__ = ["ExpRelaxedOneHotCategorical"]


class ExpRelaxedOneHotCategorical(WithClasses):
    """The logarithms of a vector of probabilities near a one of 0 and a 1.

    Args:
        temperature: floating tensor, above 0; the nearer to 0, the nearer to 0 and 1 are samples.
        logits: floating tensor (..., classes) of log-probabilities.
        probs: floating tensor (..., classes) of probabilities; instead of logits.
        dtype: of samples; None: that of logits.
        validate_args: True: a run fails if a parameter or a value is invalid.
        allow_nan_stats: without effect, it has no statistics.
        name: of the scope of its operations.

    Raises:
        ValueError: logits and probs are given, or neither.
        TypeError: they are not floating.
    """

    def __init__(
        self,
        temperature: Any,
        logits: Any = None,
        probs: Any = None,
        dtype: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExpRelaxedOneHotCategorical",
    ) -> None:
        parameters = dict(locals())
        given = [each for each in (logits, probs, temperature) if each is not None]
        with scopes.name_scope(name, values=given) as entered:
            self._logits, self._probs = logits_and_probs(
                logits, probs, validate_args=validate_args, multidimensional=True, name=entered
            )
            if dtype is None:
                dtype = self._logits.dtype
                if not validate_args:
                    temperature = elementwise.cast(temperature, dtype)
            needed = [assert_positive(temperature)] if validate_args else []
            with scopes.control_dependencies(needed):
                self._temperature = array.identity(temperature, name="temperature")
        super().__init__(
            dtype=dtype,
            reparameterization_type=FULLY_REPARAMETERIZED,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._logits, self._probs, self._temperature],
            name=entered,
        )

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self._temperature

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        shape = array.concat([[n], array.shape(self.logits)], 0)
        least = np.finfo(self.dtype.as_numpy_dtype).tiny  # the logarithm of 0 is infinite
        uniform = random_uniform(shape, minval=least, maxval=1.0, dtype=self.dtype, seed=seed)
        gumbel = -elementwise.log(-elementwise.log(uniform))
        return log_softmax((gumbel + self.logits) / self._by_class())

    def _log_prob(self, value: Tensor) -> Tensor:
        x = log_probabilities(value, self.dtype) if self.validate_args else value
        classes = elementwise.cast(self.event_size, x.dtype)
        constant = lgamma(classes) + (classes - 1.0) * elementwise.log(self.temperature)
        parts = log_softmax(self.logits - x * self._by_class())
        return constant + reduction.reduce_sum(parts, -1)

    def _by_class(self) -> Tensor:
        """The temperature with an axis for the classes."""
        return shapes.with_last_axis(self.temperature)
