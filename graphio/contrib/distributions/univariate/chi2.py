"""The chi-squared distribution."""

from __future__ import annotations

from typing import Any

from graphio.distributions.gamma import Gamma
from graphio.distributions.scalar import parameter_shapes
from graphio.framework import scopes
from graphio.framework.constants import constant
from graphio.framework.graph import Tensor
from graphio.ops.array import surface as array
from graphio.ops.checks.asserts import assert_positive
from graphio.ops.math import elementwise

__all__ = ["Chi2", "Chi2WithAbsDf"]


class Chi2(Gamma):
    """The distribution of the sum of df squares of standard normal numbers.

    Args:
        df: floating tensor, the degrees of freedom, above 0.
        validate_args: True: a run fails if df or a value is not above 0.
        allow_nan_stats: as that of Gamma.
        name: of the scope of its operations.

    Raises:
        ValueError: df is not floating.
    """

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[df]) as entered:
            needed = [assert_positive(df)] if validate_args else []
            with scopes.control_dependencies(needed):
                self._df = array.identity(df, name="df")
            super().__init__(
                concentration=0.5 * self._df,
                rate=constant(0.5, self._df.dtype),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                name=entered,
            )
        self._parameters = parameters

    @staticmethod
    def _param_shapes(sample_shape: Any) -> dict[str, Tensor]:
        return parameter_shapes(sample_shape, "df")

    @property
    def df(self) -> Tensor:
        """The degrees of freedom."""
        return self._df


class Chi2WithAbsDf(Chi2):
    """Chi2 with floor(abs(df)) degrees of freedom."""

    def __init__(
        self,
        df: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Chi2WithAbsDf",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[df]) as entered:
            number = elementwise.floor(elementwise.abs(df, name="abs_df"), name="floor_abs_df")
            super().__init__(number, validate_args, allow_nan_stats, name=entered)
        self._parameters = parameters
