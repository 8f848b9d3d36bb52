"""Distributions of one value."""

from __future__ import annotations

from typing import Any

from graphio.distributions import shapes
from graphio.distributions.distribution import Distribution
from graphio.distributions.reparameterization import NOT_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.checks.assert_shapes import assert_rank_at_least
from graphio.ops.checks.asserts import assert_equal, assert_non_negative
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import elementwise, reduction

__all__ = ["Deterministic", "VectorDeterministic"]


class _Constant(Distribution):
    """Draws are loc; probabilities count what is within atol + rtol |loc| of it."""

    def __init__(
        self, loc: Any, atol: Any, rtol: Any, validate_args: bool, allow_nan_stats: bool, name: str
    ) -> None:
        parameters = dict(locals())
        given = [each for each in (loc, atol, rtol) if each is not None]
        with scopes.name_scope(name, values=given) as entered:
            self._loc = self._valid_loc(convert_to_tensor(loc, name="loc"), validate_args)
            super().__init__(
                dtype=self._loc.dtype,
                reparameterization_type=NOT_REPARAMETERIZED,
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
                parameters=parameters,
                graph_parents=[self._loc],
                name=entered,
            )
            self._atol, self._rtol = self._tolerance(atol), self._tolerance(rtol)
            self._slack = self._atol
            if rtol is not None:
                self._slack = self._atol + self._rtol * elementwise.abs(self._loc)

    def _valid_loc(self, loc: Tensor, validate_args: bool) -> Tensor:
        return loc

    def _tolerance(self, value: Any) -> Tensor:
        found = convert_to_tensor(0 if value is None else value, self._loc.dtype)
        if value is not None and self.validate_args:
            words = "Argument 'tol' must be non-negative"
            found = with_dependencies([assert_non_negative(found, message=words)], found)
        return found

    @property
    def loc(self) -> Tensor:
        """The value."""
        return self._loc

    @property
    def atol(self) -> Tensor:
        """How far a value may be from loc."""
        return self._atol

    @property
    def rtol(self) -> Tensor:
        """How far it may be in parts of loc."""
        return self._rtol

    def _entropy(self) -> Tensor:
        return array.zeros(self.batch_shape_tensor(), self.dtype)

    def _mean(self) -> Tensor:
        return array.identity(self.loc)

    def _variance(self) -> Tensor:
        return array.zeros_like(self.loc)

    def _mode(self) -> Tensor:
        return array.identity(self.loc)

    def _sample_n(self, n: Any, seed: int | None = None) -> Tensor:
        return array.broadcast_to(self.loc, array.concat([[n], array.shape(self.loc)], 0))


class Deterministic(_Constant):
    """A distribution of one number.

    Args:
        loc: tensor of numbers.
        atol: how far a value may be from loc and count as it; None: 0.
        rtol: the same in parts of loc; None: 0.
        validate_args: True: a run fails if atol or rtol is negative.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "Deterministic",
    ) -> None:
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name)

    def _batch_shape_tensor(self) -> Tensor:
        return array.shape(self.loc)

    def _batch_shape(self) -> Any:
        return self.loc.shape

    def _event_shape_tensor(self) -> Tensor:
        return shapes.no_axes()

    def _event_shape(self) -> Any:
        return TensorShape([])

    def _prob(self, value: Tensor) -> Tensor:
        return elementwise.cast(elementwise.abs(value - self.loc) <= self._slack, self.dtype)

    def _cdf(self, value: Tensor) -> Tensor:
        return elementwise.cast(value >= self.loc - self._slack, self.dtype)


class VectorDeterministic(_Constant):
    """A distribution of one vector.

    Args:
        loc: tensor (..., k) of vectors.
        atol: how far each number of a value may be from loc's and count as it; None: 0.
        rtol: the same in parts of loc; None: 0.
        validate_args: True: a run fails if atol or rtol is negative, or a value has another size.
        allow_nan_stats: without effect, all statistics exist.
        name: of the scope of its operations.

    Raises:
        ValueError: validate_args, and loc is a scalar.
    """

    def __init__(
        self,
        loc: Any,
        atol: Any = None,
        rtol: Any = None,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDeterministic",
    ) -> None:
        super().__init__(loc, atol, rtol, validate_args, allow_nan_stats, name)

    def _valid_loc(self, loc: Tensor, validate_args: bool) -> Tensor:
        words = "Argument loc must be at least rank 1."
        if not validate_args or (loc.shape.ndims or 0) >= 1:
            return loc
        if loc.shape.ndims == 0:
            raise ValueError(words)
        found: Tensor = with_dependencies([assert_rank_at_least(loc, 1, message=words)], loc)
        return found

    def _batch_shape_tensor(self) -> Tensor:
        return array.shape(self.loc)[:-1]

    def _batch_shape(self) -> Any:
        return self.loc.shape[:-1]

    def _event_shape_tensor(self) -> Tensor:
        return array.shape(self.loc)[-1:]

    def _event_shape(self) -> Any:
        return self.loc.shape[-1:]

    def _prob(self, value: Tensor) -> Tensor:
        if self.validate_args:
            words = "Argument 'x' not defined in the same space R^k as this distribution"
            size = array.shape(value)[-1:]
            needed = [
                assert_rank_at_least(value, 1),
                assert_equal(self.event_shape_tensor(), size, message=words),
            ]
            value = with_dependencies(needed, value)
        near = elementwise.abs(value - self.loc) <= self._slack
        return elementwise.cast(reduction.reduce_all(near, -1), self.dtype)
