"""The concrete distribution (Maddison, Mnih and Teh 2016): continuous numbers near 0 and 1."""

from __future__ import annotations

from typing import Any

from graphio.contrib.distributions.bijectors.elementwise import Exp, Sigmoid
from graphio.contrib.distributions.classes.relaxed import ExpRelaxedOneHotCategorical
from graphio.contrib.distributions.transformed.transformed import TransformedDistribution
from graphio.contrib.distributions.univariate.logistic import Logistic
from graphio.distributions.parameters import WithOdds, logits_and_probs
from graphio.distributions.scalar import parameter_shapes
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_positive

__all__ = ["RelaxedBernoulli", "RelaxedOneHotCategorical"]


class RelaxedBernoulli(WithOdds, TransformedDistribution):
    """A number between 0 and 1, near 1 with a probability and else near 0.

    Args:
        temperature: floating tensor, above 0; the nearer to 0, the nearer to 0 and 1 are samples.
        logits: floating tensor, log(p / (1 - p)); broadcasts with temperature.
        probs: floating tensor, p; instead of logits.
        validate_args: True: a run fails if a parameter is invalid.
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
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "RelaxedBernoulli",
    ) -> None:
        parameters = dict(locals())
        given = [each for each in (logits, probs, temperature) if each is not None]
        with scopes.name_scope(name, values=given) as entered:
            needed = [assert_positive(temperature)] if validate_args else []
            with scopes.control_dependencies(needed):
                self._temperature = array.identity(temperature, name="temperature")
            self._logits, self._probs = logits_and_probs(logits, probs, validate_args=validate_args)
            super().__init__(
                Logistic(
                    self._logits / self._temperature,
                    1.0 / self._temperature,
                    validate_args=validate_args,
                    allow_nan_stats=allow_nan_stats,
                    name=entered + "Logistic",
                ),
                Sigmoid(validate_args=validate_args),
                validate_args=validate_args,
                name=entered,
            )
        self._parameters = parameters

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return parameter_shapes(sample_shape, "logits")

    @property
    def temperature(self) -> Tensor:
        """The temperature."""
        return self._temperature


class RelaxedOneHotCategorical(TransformedDistribution):
    """A vector of probabilities near one of 0 and a 1; see ExpRelaxedOneHotCategorical, whose
    exponential function it is.

    As in TensorFlow 1, `copy` and `parameters` are those of a TransformedDistribution.

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
        name: str = "RelaxedOneHotCategorical",
    ) -> None:
        logarithms = ExpRelaxedOneHotCategorical(
            temperature,
            logits=logits,
            probs=probs,
            dtype=dtype,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
        )
        super().__init__(logarithms, Exp(), name=name)
