"""Distributions whose parameters are made positive by softplus."""

from __future__ import annotations

from typing import Any

from graphio.contrib.distributions.univariate.inverse_gamma import InverseGamma
from graphio.distributions.beta import Beta
from graphio.distributions.exponential import Exponential
from graphio.distributions.gamma import Gamma
from graphio.distributions.laplace import Laplace
from graphio.distributions.normal import Normal
from graphio.distributions.student_t import StudentT
from graphio.framework import scopes
from graphio.ops.math import elementwise
from graphio.ops.nn.core import softplus

__all__ = [
    "BetaWithSoftplusConcentration",
    "ExponentialWithSoftplusRate",
    "GammaWithSoftplusConcentrationRate",
    "InverseGammaWithSoftplusConcentrationRate",
    "LaplaceWithSoftplusScale",
    "NormalWithSoftplusScale",
    "StudentTWithAbsDfSoftplusScale",
]


class NormalWithSoftplusScale(Normal):
    """Normal with softplus(scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "NormalWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[scale]) as entered:
            positive = softplus(scale, name="softplus_scale")
            super().__init__(loc, positive, validate_args, allow_nan_stats, entered)
        self._parameters = parameters


class LaplaceWithSoftplusScale(Laplace):
    """Laplace with softplus(scale)."""

    def __init__(
        self,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "LaplaceWithSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[loc, scale]) as entered:
            positive = softplus(scale, name="softplus_scale")
            super().__init__(loc, positive, validate_args, allow_nan_stats, entered)
        self._parameters = parameters


class StudentTWithAbsDfSoftplusScale(StudentT):
    """StudentT with floor(abs(df)) and softplus(scale)."""

    def __init__(
        self,
        df: Any,
        loc: Any,
        scale: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "StudentTWithAbsDfSoftplusScale",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[df, scale]) as entered:
            number = elementwise.floor(elementwise.abs(df))
            positive = softplus(scale, name="softplus_scale")
            super().__init__(number, loc, positive, validate_args, allow_nan_stats, entered)
        self._parameters = parameters


class ExponentialWithSoftplusRate(Exponential):
    """Exponential with softplus(rate)."""

    def __init__(
        self,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "ExponentialWithSoftplusRate",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[rate]) as entered:
            positive = softplus(rate, name="softplus_rate")
            super().__init__(positive, validate_args, allow_nan_stats, entered)
        self._parameters = parameters


class BetaWithSoftplusConcentration(Beta):
    """Beta with softplus of both concentrations."""

    def __init__(
        self,
        concentration1: Any,
        concentration0: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "BetaWithSoftplusConcentration",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[concentration1, concentration0]) as entered:
            one = softplus(concentration1, name="softplus_concentration1")
            zero = softplus(concentration0, name="softplus_concentration0")
            super().__init__(one, zero, validate_args, allow_nan_stats, entered)
        self._parameters = parameters


class GammaWithSoftplusConcentrationRate(Gamma):
    """Gamma with softplus(concentration) and softplus(rate)."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "GammaWithSoftplusConcentrationRate",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[concentration, rate]) as entered:
            form = softplus(concentration, name="softplus_concentration")
            positive = softplus(rate, name="softplus_rate")
            super().__init__(form, positive, validate_args, allow_nan_stats, entered)
        self._parameters = parameters


class InverseGammaWithSoftplusConcentrationRate(InverseGamma):
    """InverseGamma with softplus(concentration) and softplus(rate)."""

    def __init__(
        self,
        concentration: Any,
        rate: Any,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "InverseGammaWithSoftplusConcentrationRate",
    ) -> None:
        parameters = dict(locals())
        with scopes.name_scope(name, values=[concentration, rate]) as entered:
            form = softplus(concentration, name="softplus_concentration")
            positive = softplus(rate, name="softplus_rate")
            super().__init__(form, positive, validate_args, allow_nan_stats, entered)
        self._parameters = parameters
