"""TransformedDistribution: the distribution of a bijector of a random variable."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from graphio.contrib.distributions.bijectors.base import checked
from graphio.contrib.distributions.bijectors.elementwise import Identity
from graphio.contrib.distributions.wrappers.conditional import ConditionalDistribution
from graphio.distributions import shapes
from graphio.distributions.distribution import Distribution
from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import broadcast_static_shape
from graphio.ops.checks import assert_shapes, asserts
from graphio.ops.math import comparison, elementwise, reduction

__all__ = ["ConditionalTransformedDistribution", "TransformedDistribution"]

_NO_AXES = np.array([], np.int32)


class TransformedDistribution(Distribution):
    """The distribution of Y = g(X) for a bijector g and a distribution of X.

    Args:
        distribution: of X.
        bijector: g; None: the identity.
        batch_shape: shape of the batch instead of the distribution's, which must be that of one
            distribution; None: the distribution's.
        event_shape: shape of an X instead of the distribution's, which must be scalar; an X then
            has independent numbers. None: the distribution's.
        validate_args: whether runs check shapes that are not known before.
        name: of the scope of its operations; None: the names of both.

    Raises:
        ValueError: a shape is given although the distribution has a batch or an event,
            is not a vector, or has sizes that are not positive.
        TypeError: a shape has no ints.
    """

    def __init__(
        self,
        distribution: Distribution,
        bijector: Any = None,
        batch_shape: Any = None,
        event_shape: Any = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        parameters = dict(locals())
        name = name or ("" if bijector is None else bijector.name) + distribution.name
        if bijector is None:
            bijector = Identity(validate_args=validate_args)
        with scopes.name_scope(name, values=[event_shape, batch_shape]) as scope:
            self._new_batch = _override(
                batch_shape, distribution.is_scalar_batch(), validate_args, "batch_shape"
            )
            self._new_event = _override(
                event_shape, distribution.is_scalar_event(), validate_args, "event_shape"
            )
            self._has_new_event = _has_axes(self._new_event)
            self._has_new_batch = _has_axes(self._new_batch)
            # X with a new event, from a distribution with a batch: the event's axes come first
            self._rotates = _all(
                self._has_new_event,
                _not(self._has_new_batch),
                _not(distribution.is_scalar_batch()),
            )
        self._distribution = distribution
        self._bijector = bijector
        super().__init__(
            distribution.dtype,
            distribution.reparameterization_type,
            validate_args,
            distribution.allow_nan_stats,
            parameters,
            distribution._graph_parents + bijector.graph_parents,
            scope,
        )

    @property
    def distribution(self) -> Distribution:
        """The distribution of X."""
        return self._distribution

    @property
    def bijector(self) -> Any:
        """The bijector."""
        return self._bijector

    # ---- shapes ----

    def _event_shape_tensor(self) -> Tensor:
        inner = _chosen(self._has_new_event, self._new_event, self._distribution.event_shape_tensor)
        found: Tensor = self._bijector.forward_event_shape_tensor(inner)
        return found

    def _event_shape(self) -> Any:
        if self._has_new_event is False:
            return self._bijector.forward_event_shape(self._distribution.event_shape)
        return self._bijector.forward_event_shape(_static(self._new_event))

    def _batch_shape_tensor(self) -> Tensor:
        found: Tensor = convert_to_tensor(
            _chosen(self._has_new_batch, self._new_batch, self._distribution.batch_shape_tensor)
        )
        return found

    def _batch_shape(self) -> Any:
        if self._has_new_batch is False:
            return self._distribution.batch_shape
        return _static(self._new_batch)

    def _event_ndims(self) -> Any:
        """The number of axes of a Y; a tensor where it is not known."""
        known = self.event_shape.ndims
        return known if known is not None else array.size(self.event_shape_tensor())

    # ---- samples ----

    def _call_sample_n(
        self, sample_shape: Any, seed: int | None, name: str, **options: Any
    ) -> Tensor:
        with self._name_scope(name, values=[sample_shape]):
            shape = convert_to_tensor(sample_shape, dtypes.int32, name="sample_shape")
            shape, number = shapes.sample_vector(shape)
            x = self._sample_n(number, seed, **options)
            x = array.reshape(x, array.concat([shape, array.shape(x)[1:]], 0))
            # the bijector gets the reshaped tensor, and log_prob of the sample takes it from there
            y = self._bijector.forward(x, **_arguments(options)[0])
            return shapes.with_sample_shape(y, shape, self.batch_shape, self.event_shape)

    def _sample_n(self, n: Any, seed: int | None = None, **options: Any) -> Any:
        number = array.expand_dims(convert_to_tensor(n, dtypes.int32), 0)
        parts = [
            shapes.pick_vector(self._rotates, _NO_AXES, number),
            self._new_batch,
            self._new_event,
            shapes.pick_vector(self._rotates, number, _NO_AXES),
        ]
        shape = array.concat([convert_to_tensor(part, dtypes.int32) for part in parts], 0)
        x = self._distribution.sample(shape, seed=seed, **_arguments(options)[1])
        return self._rotated(x)

    def _rotated(self, x: Any, back: bool = False) -> Any:
        """x with the event's axes at the end, which were in front; back: the other way."""
        if self._rotates is False:
            return x
        rank = array.rank(x)
        axes = array.where(self._rotates, array.size(self._new_event), 0)
        first = rank - axes if back else axes
        order = array.concat([array.range(first, rank), array.range(0, first)], 0)
        rotated = array.transpose(x, order)
        known = _static(self._new_event).ndims
        if x.shape.ndims is not None and self._rotates is True and known is not None:
            cut = x.shape.ndims - known if back else known
            rotated.set_shape(x.shape[cut:].concatenate(x.shape[:cut]))
        return rotated

    # ---- probabilities ----

    def _log_prob(self, value: Any, **options: Any) -> Any:
        def of_one(x: Any, ildj: Any, given: Mapping[str, Any]) -> Any:
            found = self._summed(self._distribution.log_prob(x, **given), reduction.reduce_sum)
            return found + elementwise.cast(ildj, found.dtype)

        found = self._of_all(value, of_one, options)
        return found[0] if len(found) == 1 else reduction.reduce_logsumexp(array.stack(found), 0)

    def _prob(self, value: Any, **options: Any) -> Any:
        def of_one(x: Any, ildj: Any, given: Mapping[str, Any]) -> Any:
            found = self._summed(self._distribution.prob(x, **given), reduction.reduce_prod)
            return found * elementwise.exp(elementwise.cast(ildj, found.dtype))

        return sum(self._of_all(value, of_one, options))

    def _of_all(self, y: Any, of_one: Callable[..., Any], options: Mapping[str, Any]) -> list[Any]:
        """of_one(x, log-determinant, options) for all x of which the bijector makes y."""
        of_bijector, of_distribution = _arguments(options)
        axes = self._event_ndims()
        x = self._bijector.inverse(y, **of_bijector)
        ildj = self._bijector.inverse_log_det_jacobian(y, event_ndims=axes, **of_bijector)
        pairs = [(x, ildj)] if self._bijector._is_injective else zip(x, ildj, strict=True)
        found = []
        for part, log_det in pairs:
            one = of_one(self._rotated(part, back=True), log_det, of_distribution)
            if self._has_new_event is not False and isinstance(axes, int) and axes:
                lead = y.shape.with_rank_at_least(1)[:-axes]
                one.set_shape(broadcast_static_shape(lead, self.batch_shape))
            found.append(one)
        return found

    def _summed(self, x: Any, reduce: Callable[..., Any]) -> Any:
        """x, reduced over the axes of a new event: the last ones, or the first after a rotation."""
        if self._has_new_event is False:
            return x
        known = _static(self._new_event).ndims
        if isinstance(self._rotates, bool) and known is not None:
            first = 0 if self._rotates else -known
            return reduce(x, list(range(first, first + known)))
        size = array.size(self._new_event)
        begin = array.where(self._rotates, 0, -size)
        return reduce(x, array.range(begin, begin + size))

    def _one_x(self, word: str) -> None:
        if self._has_new_event is not False:
            raise NotImplementedError(f"{word} is not implemented when overriding event_shape")
        if not self._bijector._is_injective:
            raise NotImplementedError(f"{word} is not implemented when bijector is not injective.")

    def _of_x(self, word: str, y: Any, options: Mapping[str, Any]) -> Any:
        self._one_x(word)
        of_bijector, of_distribution = _arguments(options)
        x = self._bijector.inverse(y, **of_bijector)
        return getattr(self._distribution, word)(x, **of_distribution)

    def _log_cdf(self, value: Any, **options: Any) -> Any:
        return self._of_x("log_cdf", value, options)

    def _cdf(self, value: Any, **options: Any) -> Any:
        return self._of_x("cdf", value, options)

    def _log_survival_function(self, value: Any, **options: Any) -> Any:
        return self._of_x("log_survival_function", value, options)

    def _survival_function(self, value: Any, **options: Any) -> Any:
        return self._of_x("survival_function", value, options)

    def _quantile(self, value: Any, **options: Any) -> Any:
        self._one_x("quantile")
        of_bijector, of_distribution = _arguments(options)
        x = self._distribution.quantile(value, **of_distribution)
        return self._bijector.forward(x, **of_bijector)

    # ---- statistics ----

    def _entropy(self) -> Any:
        if not self._bijector.is_constant_jacobian:
            raise NotImplementedError("entropy is not implemented")
        if not self._bijector._is_injective:
            raise NotImplementedError("entropy is not implemented when bijector is not injective.")
        entropy = self._distribution.entropy()
        if self._has_new_event is not False:
            # the numbers of an event are independent
            count = reduction.reduce_prod(convert_to_tensor(self._new_event, dtypes.int32))
            entropy = entropy * elementwise.cast(count, entropy.dtype)
        if self._has_new_batch is not False:
            entropy = entropy + array.zeros(self._new_batch, entropy.dtype)
        sizes = array.concat([self.batch_shape_tensor(), self.event_shape_tensor()], 0)
        ildj = self._bijector.inverse_log_det_jacobian(
            array.zeros(sizes, self.dtype), event_ndims=self._event_ndims()
        )
        entropy = entropy - elementwise.cast(ildj, entropy.dtype)
        entropy.set_shape(self.batch_shape)
        return entropy


class ConditionalTransformedDistribution(TransformedDistribution, ConditionalDistribution):
    """A TransformedDistribution whose methods take `bijector_kwargs` and `distribution_kwargs`,
    further arguments of the methods of the bijector and of the distribution."""


def _arguments(options: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The further arguments of a bijector's methods, and of a distribution's."""
    names = ("bijector_kwargs", "distribution_kwargs")
    for name in options:
        if name not in names:
            raise TypeError(f"an argument {name!r} is not known; there are {', '.join(names)}")
    return [dict(options.get(name) or {}) for name in names]


# ---- conditions and shapes that may be known or not ----


def _known(value: Any) -> Any:
    """A bool where it is known, else the tensor."""
    if isinstance(value, bool):
        return value
    found = constant_value(convert_to_tensor(value))
    return value if found is None else bool(found)


def _not(value: Any) -> Any:
    value = _known(value)
    return not value if isinstance(value, bool) else comparison.logical_not(value)


def _all(*values: Any) -> Any:
    found = [_known(value) for value in values]
    if False in [value for value in found if isinstance(value, bool)]:
        return False
    tensors = [value for value in found if not isinstance(value, bool)]
    return reduction.reduce_all(array.stack(tensors)) if tensors else True


def _has_axes(shape: Any) -> Any:
    """Whether a vector has elements."""
    if isinstance(shape, np.ndarray):
        return shape.size > 0
    known = shape.shape[0].value if shape.shape.ndims is not None else None
    return array.size(shape) > 0 if known is None else known > 0


def _chosen(condition: Any, shape: Any, otherwise: Callable[[], Any]) -> Any:
    if condition is False:
        return otherwise()
    return shape if condition is True else shapes.pick_vector(condition, shape, otherwise())


def _static(shape: Any) -> TensorShape:
    """A shape as far as it is known."""
    if isinstance(shape, np.ndarray):
        return TensorShape(shape.tolist())
    known = shape.shape[0].value if shape.shape.ndims is not None else None
    return TensorShape(None if known is None else [None] * known)


def _override(shape: Any, base_is_scalar: Any, validate_args: bool, name: str) -> Any:
    """A shape that is given instead of a distribution's: an array where it is known."""
    if shape is None:
        return _NO_AXES
    if isinstance(shape, TensorShape):
        shape = shape.as_list()
    empty = isinstance(shape, (list, tuple)) and not shape
    vector = convert_to_tensor(shape, dtypes.int32 if empty else None, name=name)
    if not vector.dtype.is_integer:
        raise TypeError("shape override must be an integer")
    vector = elementwise.cast(vector, dtypes.int32)
    known = constant_value(vector)
    if known is not None and known.ndim == 1 and known.size == 0:
        return _NO_AXES
    needed: list[Any] = []
    if vector.shape.ndims not in (None, 1):
        raise ValueError("shape override must be a vector")
    if vector.shape.ndims is None and validate_args:
        needed.append(
            assert_shapes.assert_rank(vector, 1, message="shape override must be a vector")
        )
    words = "shape override must have positive elements"
    if known is not None and np.any(known <= 0):
        raise ValueError(words)
    if known is None and validate_args:
        needed.append(asserts.assert_positive(vector, message=words))
    both = _all(_not(base_is_scalar), _has_axes(vector))
    if both is True:
        raise ValueError("base distribution not scalar")
    if both is not False and validate_args:
        needed.append(asserts.assert_equal(both, False, message="base distribution not scalar"))
    if known is not None and not needed:
        return known
    return checked(vector, needed)
