"""VectorDiffeomixture: vectors between two affine functions of one vector (Dillon and Langmore,
2018)."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from graphio.contrib.distributions import scales
from graphio.contrib.distributions.bijectors.affine import AffineLinearOperator
from graphio.contrib.distributions.bijectors.base import checked
from graphio.contrib.distributions.bijectors.vector import SoftmaxCentered
from graphio.contrib.distributions.transformed.sinh_arcsinh import scalar_assertions
from graphio.distributions.categorical import Categorical
from graphio.distributions.distribution import Distribution
from graphio.distributions.normal import Normal
from graphio.distributions.parameters import another_seed
from graphio.distributions.reparameterization import FULLY_REPARAMETERIZED
from graphio.framework import scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.linear_operators import (
    LinearOperator,
    LinearOperatorDiag,
    LinearOperatorIdentity,
    LinearOperatorLowerTriangular,
    LinearOperatorScaledIdentity,
)
from graphio.ops.array import shaping
from graphio.ops.array import surface as array
from graphio.ops.array.index import one_hot
from graphio.ops.checks import asserts
from graphio.ops.linalg import matrices
from graphio.ops.math import elementwise, reduction
from graphio.ops.nn.core import softmax
from graphio.support import api_guard

__all__ = [
    "VectorDiffeomixture",
    "quadrature_scheme_softmaxnormal_gauss_hermite",
    "quadrature_scheme_softmaxnormal_quantiles",
]

_BIMIXTURE = "Currently only bimixtures are supported"


def _parameter(value: Any, dtype: Any, name: str, validate_args: bool) -> Any:
    """A (batch of) vector of one number."""
    found = convert_to_tensor(value, dtype, name=name)
    if found.shape.ndims == 0:
        raise ValueError(
            f"Mixing params must be a (batch of) vector; {name}.rank=0 is not at least one."
        )
    size = scales.last_axis(found)
    if isinstance(size, int) and size != 1:
        raise NotImplementedError(f"{_BIMIXTURE}; {name}.shape[-1]={size} is not 1.")
    if not isinstance(size, int) and validate_args:
        message = f"{_BIMIXTURE}; {name}.shape[-1] is not 1."
        found = checked(found, [asserts.assert_equal(size, 1, message=message)])
    return found


def _rank(x: Any) -> int:
    if x.shape.ndims is None:
        raise ValueError(f"the rank of '{x.name}' is not known; give it by set_shape")
    return int(x.shape.ndims)


@api_guard.operator
def quadrature_scheme_softmaxnormal_gauss_hermite(
    normal_loc: Any,
    normal_scale: Any,
    quadrature_size: int,
    validate_args: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Points and weights of Gauss and Hermite for softmax of a normal number and 0.

    Args:
        normal_loc: floating tensor (..., 1), the means.
        normal_scale: tensor (..., 1), the standard deviations.
        quadrature_size: number of points.
        validate_args: whether runs check shapes that are not known before.
        name: of the operations.

    Returns:
        The points (..., 2, quadrature_size), and their weights (quadrature_size).
    """
    with scopes.name_scope(
        name, "quadrature_scheme_softmaxnormal_gauss_hermite", values=[normal_loc, normal_scale]
    ):
        loc = convert_to_tensor(normal_loc, name="normal_loc")
        scale = _parameter(normal_scale, loc.dtype, "normal_scale", validate_args)
        nodes, weights = np.polynomial.hermite.hermgauss(deg=quadrature_size)
        numpy_dtype = loc.dtype.as_numpy_dtype
        weights = weights.astype(numpy_dtype)
        points = array.expand_dims(loc, -1) + np.sqrt(2.0).astype(numpy_dtype) * array.expand_dims(
            scale, -1
        ) * nodes.astype(numpy_dtype)
        padded = array.concat([array.zeros_like(points[..., :1, :]), points], -2)
        grid = softmax(-padded, axis=_rank(padded) - 2)
        return grid, convert_to_tensor(weights / np.abs(weights).sum(), name="probs")


@api_guard.operator
def quadrature_scheme_softmaxnormal_quantiles(
    normal_loc: Any,
    normal_scale: Any,
    quadrature_size: int,
    validate_args: bool = False,
    name: str | None = None,
) -> tuple[Any, Any]:
    """Points between quantiles, of equal weights, for softmax of a normal number and 0; see
    quadrature_scheme_softmaxnormal_gauss_hermite."""
    with scopes.name_scope(
        name, "softmax_normal_grid_and_probs", values=[normal_loc, normal_scale]
    ):
        loc = convert_to_tensor(normal_loc, name="normal_loc")
        scale = _parameter(normal_scale, loc.dtype, "normal_scale", validate_args)
        numpy_dtype = loc.dtype.as_numpy_dtype
        edges = np.linspace(0.0, 1.0, quadrature_size + 3).astype(numpy_dtype)[1:-1]
        normal = Normal(array.expand_dims(loc, -1), array.expand_dims(scale, -1))
        quantiles = normal.quantile(convert_to_tensor(edges) + array.zeros_like(normal.mean()))
        rank = _rank(quantiles)
        swapped = [*range(rank - 2), rank - 1, rank - 2]
        vectors = SoftmaxCentered().forward(array.transpose(quantiles, swapped))
        vectors = array.transpose(vectors, swapped)
        grid = (vectors[..., :-1] + vectors[..., 1:]) / 2.0
        weights = np.full([quadrature_size], 1.0 / quadrature_size, numpy_dtype)
        return grid, convert_to_tensor(weights)


class VectorDiffeomixture(Distribution):
    """w A + (1 - w) B for two affine functions A and B of a vector of independent numbers, where w
    comes from softmax of a normal number, of which a quadrature takes some points.

    Args:
        mix_loc: floating tensor (..., 1), the mean of the normal number, before the temperature.
        temperature: tensor (..., 1), by which mix_loc and the standard deviation 1 are divided.
        distribution: of a number, scalar.
        loc: the shifts of A and B, tensors (..., n) or None; None: both are 0.
        scale: the LinearOperators of A and B: unit matrices and their multiples, diagonals or
            lower triangles.
        quadrature_size: number of points.
        quadrature_fn: from (loc, scale, size, validate_args) to points and weights.
        validate_args: whether runs check values; scales must be marked as positive definite.
        allow_nan_stats: see Distribution.
        name: of the scope of its operations.

    Raises:
        ValueError: loc and scale are not lists of one length, or a scale is not marked.
        TypeError: dtypes differ.
        NotImplementedError: there are more than two functions, or a scale of another class.
    """

    def __init__(
        self,
        mix_loc: Any,
        temperature: Any,
        distribution: Distribution,
        loc: Sequence[Any] | None = None,
        scale: Sequence[LinearOperator] | None = None,
        quadrature_size: int = 8,
        quadrature_fn: Callable[..., Any] = quadrature_scheme_softmaxnormal_quantiles,
        validate_args: bool = False,
        allow_nan_stats: bool = True,
        name: str = "VectorDiffeomixture",
    ) -> None:
        parameters = dict(locals())
        if not scale or len(scale) < 2:
            raise ValueError(
                "Must specify list (or list-like object) of scale LinearOperators, one for each "
                "component with num_component >= 2."
            )
        loc = [None] * len(scale) if loc is None else loc
        if len(loc) != len(scale):
            raise ValueError(
                "loc/scale must be same-length lists (or same-length list-like objects)."
            )
        dtype = scale[0].dtype
        for k, operator in enumerate(scale):
            if validate_args and not operator.is_positive_definite:
                raise ValueError(
                    f"scale[{k}].is_positive_definite = {operator.is_positive_definite} != True"
                )
            if operator.dtype != dtype:
                raise TypeError(
                    f'dtype mismatch; scale[{k}].base_dtype="{operator.dtype.name}" != '
                    f'"{dtype.name}"'
                )
        with scopes.name_scope(name, values=[mix_loc, temperature]) as scope:
            shifts = [
                None if shift is None else convert_to_tensor(shift, dtype, name=f"loc{k}")
                for k, shift in enumerate(loc)
            ]
            affine = functools.partial(AffineLinearOperator, validate_args=validate_args)
            self._endpoint_affine = [
                affine(shift, operator, name=f"endpoint_affine_{k}")
                for k, (shift, operator) in enumerate(zip(shifts, scale, strict=True))
            ]
            if len(scale) != 2:
                raise NotImplementedError(f"{_BIMIXTURE}; len(scale)={len(scale)} is not 2.")
            mix_loc = convert_to_tensor(mix_loc, dtype, name="mix_loc")
            temperature = convert_to_tensor(temperature, dtype, name="temperature")
            grid, probs = quadrature_fn(
                mix_loc / temperature, 1.0 / temperature, quadrature_size, validate_args
            )
            self._mixture_distribution = Categorical(
                elementwise.log(probs),
                validate_args=validate_args,
                allow_nan_stats=allow_nan_stats,
            )
            self._grid = checked(grid, scalar_assertions(distribution, dtype, validate_args))
            self._interpolated_affine = [
                affine(
                    _between(self._grid[..., q], shifts),
                    _operator_between(self._grid[..., q], scale),
                    name=f"interpolated_affine_{q}",
                )
                for q in range(int(grid.shape[-1]))
            ]
        self._distribution = distribution
        super().__init__(
            dtype,
            FULLY_REPARAMETERIZED,
            validate_args,
            allow_nan_stats,
            parameters,
            [
                *distribution._graph_parents,
                *(shift for shift in shifts if shift is not None),
                *(parent for operator in scale for parent in operator.graph_parents),
            ],
            scope,
        )

    @property
    def mixture_distribution(self) -> Categorical:
        """The distribution over the points."""
        return self._mixture_distribution

    @property
    def distribution(self) -> Distribution:
        """The distribution of a number."""
        return self._distribution

    @property
    def grid(self) -> Any:
        """The points: weights of A and B, (..., 2, quadrature_size)."""
        return self._grid

    @property
    def endpoint_affine(self) -> list[Any]:
        """A and B."""
        return self._endpoint_affine

    @property
    def interpolated_affine(self) -> list[Any]:
        """The affine function of each point."""
        return self._interpolated_affine

    # ---- shapes ----

    def _batch_shapes(self) -> list[Any]:
        shifts = [a.shift.shape[:-1] for a in self._endpoint_affine if a.shift is not None]
        operators = [a.scale.batch_shape for a in self._endpoint_affine]
        return [self._grid.shape[:-2], *operators, *shifts]

    def _batch_shape(self) -> Any:
        return functools.reduce(shaping.broadcast_static_shape, self._batch_shapes())

    def _batch_shape_tensor(self) -> Any:
        sizes = [array.shape(self._grid)[:-2]]
        for affine in self._endpoint_affine:
            sizes.append(affine.scale.batch_shape_tensor())
            if affine.shift is not None:
                sizes.append(array.shape(affine.shift)[:-1])
        return functools.reduce(shaping.broadcast_dynamic_shape, sizes)

    def _event_shape(self) -> Any:
        return TensorShape([self._endpoint_affine[0].scale.range_dimension])

    def _event_shape_tensor(self) -> Any:
        return array.expand_dims(self._endpoint_affine[0].scale.range_dimension_tensor(), 0)

    def _shape_of_one(self) -> Any:
        return array.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)

    # ---- samples and densities ----

    def _sample_n(self, n: Any, seed: int | None = None) -> Any:
        x = self._distribution.sample(array.concat([[n], self._shape_of_one()], 0), seed=seed)
        ends = [affine.forward(x) for affine in self._endpoint_affine]
        ids = self._mixture_distribution.sample(
            array.concat([[n], self.batch_shape_tensor()], 0),
            seed=another_seed(seed, "vector_diffeomixture"),
        )
        chosen = one_hot(ids, self._grid.shape[-1].value, dtype=self.dtype)
        weight = reduction.reduce_sum(chosen * self._grid[..., 0, :], -1, keepdims=True)
        return weight * (ends[0] - ends[1]) + ends[1]

    def _log_prob(self, value: Any) -> Any:
        found = []
        for affine in self._interpolated_affine:
            numbers = self._distribution.log_prob(affine.inverse(value))
            log_det = affine.forward_log_det_jacobian(value, event_ndims=1)
            found.append(reduction.reduce_sum(numbers, -1) - log_det)
        logits = self._mixture_distribution.logits
        return reduction.reduce_logsumexp(array.stack(found, -1) + logits, -1)

    # ---- statistics ----

    def _means(self) -> list[Any]:
        """The mean at each point."""
        ones = array.ones(self._shape_of_one(), self.dtype)
        inner = ones * self._distribution.mean()
        inner.set_shape(self.batch_shape.concatenate(self.event_shape))
        return [affine.forward(inner) for affine in self._interpolated_affine]

    def _weighted(self, values: Sequence[Any], axes: int) -> Any:
        """The mean over the points, of tensors with a number of axes after the batch's."""
        probs = self._mixture_distribution.probs
        total: Any = None
        for k, value in enumerate(values):
            weight = probs[..., k]
            for _ in range(axes):
                weight = array.expand_dims(weight, -1)
            total = weight * value if total is None else total + weight * value
        return total

    def _mean(self) -> Any:
        return self._weighted(self._means(), 1)

    def _spread(self, diagonal: bool) -> Any:
        """The mean of the covariances at the points, and the covariance of their means."""
        means, own = self._means(), self._distribution.variance()
        mean = self._weighted(means, 1)
        found = []
        for affine, point in zip(self._interpolated_affine, means, strict=True):
            square = affine.scale.matmul(affine.scale.to_dense(), adjoint_arg=True)
            apart = point - mean
            if diagonal:
                square, outer = matrices.matrix_diag_part(square), elementwise.square(apart)
            else:
                outer = array.expand_dims(apart, -1) * array.expand_dims(apart, -2)
            found.append(own * square + outer)
        return self._weighted(found, 1 if diagonal else 2)

    def _covariance(self) -> Any:
        return self._spread(False)

    def _variance(self) -> Any:
        return self._spread(True)


def _between(weights: Any, shifts: Sequence[Any]) -> Any:
    """The sum of two shifts by weights (..., 2); None where there are none."""
    a, b = (weights[..., k : k + 1] for k in range(2))
    if shifts[0] is None:
        return None if shifts[1] is None else b * shifts[1]
    return a * shifts[0] if shifts[1] is None else a * (shifts[0] - shifts[1]) + shifts[1]


def _multiple(weight: Any, operator: Any) -> Any:
    """weight times the factor of a multiple of the unit matrix, times a diagonal, or times
    triangles."""
    if isinstance(operator, LinearOperatorIdentity):
        return weight
    if isinstance(operator, LinearOperatorScaledIdentity):
        return weight * operator.multiplier
    if isinstance(operator, LinearOperatorDiag):
        return array.expand_dims(weight, -1) * operator.diag_part()
    if isinstance(operator, LinearOperatorLowerTriangular):
        return array.expand_dims(array.expand_dims(weight, -1), -1) * operator.to_dense()
    raise NotImplementedError(f"Unsupported Linop type ({type(operator).__name__})")


def _operator_between(weights: Any, operators: Sequence[Any]) -> LinearOperator:
    """The sum of two operators by weights (..., 2), of the most special class."""
    parts = [_multiple(weights[..., k], operator) for k, operator in enumerate(operators)]
    hints: dict[str, Any] = {
        name: all(getattr(operator, name) for operator in operators) or None
        for name in ("is_positive_definite", "is_self_adjoint")
    }
    kinds = [
        isinstance(o, (LinearOperatorIdentity, LinearOperatorScaledIdentity)) for o in operators
    ]
    if all(kinds):
        rows = operators[0].range_dimension_tensor()
        return LinearOperatorScaledIdentity(rows, parts[0] + parts[1], **hints)
    if not any(isinstance(o, LinearOperatorLowerTriangular) for o in operators):
        wide = [array.expand_dims(x, -1) if k else x for x, k in zip(parts, kinds, strict=True)]
        return LinearOperatorDiag(wide[0] + wide[1], **hints)
    dense: Any = None
    for part, operator, kind in zip(parts, operators, kinds, strict=True):
        if kind:
            rows = operator.range_dimension_tensor()
            part = LinearOperatorScaledIdentity(rows, part).to_dense()
        elif isinstance(operator, LinearOperatorDiag):
            part = matrices.matrix_diag(part)
        dense = part if dense is None else dense + part
    return LinearOperatorLowerTriangular(dense, **hints)
