"""The gamma distribution and its inverse: two positive parameters, values above 0."""

from __future__ import annotations

from typing import Any

from graphio.distributions import checks
from graphio.distributions.reparameterization import ReparameterizationType
from graphio.distributions.scalar import ScalarDistribution, parameter_shapes, same_floats
from graphio.framework import scopes
from graphio.framework.graph import Tensor
from graphio.ops.checks.assert_types import assert_same_float_dtype
from graphio.ops.checks.asserts import assert_positive

__all__ = ["ConcentrationRate"]


class ConcentrationRate(ScalarDistribution):
    """A distribution of positive numbers with a concentration and a rate.

    Args:
        concentration: floating tensor, above 0.
        rate: floating tensor, above 0; broadcasts with concentration.
        reparameterization_type: whether gradients of samples reach the parameters.
        validate_args: True: a run fails if a parameter or a value is not above 0.
        allow_nan_stats: whether statistics that do not exist are nan.
        name: of the scope of its operations.

    Raises:
        ValueError: dtypes differ, or are not floating.
    """

    _PARAMETERS = ("concentration", "rate")

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        reparameterization_type: ReparameterizationType,
        validate_args: bool,
        allow_nan_stats: bool,
        name: str,
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[concentration, rate]) as entered:
            needed = [concentration, rate] if validate_args else []
            with scopes.control_dependencies([assert_positive(value) for value in needed]):
                self._concentration, self._rate = same_floats(
                    concentration=concentration, rate=rate
                )
        del parameters["reparameterization_type"]
        super().__init__(
            dtype=self._concentration.dtype,
            reparameterization_type=reparameterization_type,
            validate_args=validate_args,
            allow_nan_stats=allow_nan_stats,
            parameters=parameters,
            graph_parents=[self._concentration, self._rate],
            name=entered,
        )

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return parameter_shapes(sample_shape, "concentration", "rate")

    @property
    def concentration(self) -> Tensor:
        """The shapes."""
        return self._concentration

    @property
    def rate(self) -> Tensor:
        """The inverse scales; of InverseGamma, the scales."""
        return self._rate

    def _valid(self, value: Tensor) -> Tensor:
        assert_same_float_dtype([value], self.dtype)
        return checks.positive(value, self.validate_args)
