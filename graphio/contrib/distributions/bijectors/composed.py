"""Bijectors that are made of others or of functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from graphio.contrib.distributions.bijectors.base import ConditionalBijector
from graphio.framework.constants import convert_to_tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array

__all__ = ["Chain", "Inline", "Invert"]


def _require_injective(bijector: Any, what: str) -> None:
    if not bijector._is_injective:
        raise NotImplementedError(f"Invert is not implemented for non-injective bijector{what}")


def _least_axes(bijectors: Sequence[Any], forward: bool) -> int:
    """The minimum number of axes of what enters a chain, from either end.

    `inner` is the number of axes that a value has after the bijectors so far.
    """
    least = inner = 0
    for bijector in reversed(bijectors) if forward else bijectors:
        ends = bijector.forward_min_event_ndims, bijector.inverse_min_event_ndims
        enters, leaves = ends if forward else ends[::-1]
        if inner < enters:
            least += enters - inner
        inner = max(enters, inner) - (enters - leaves)
    return least


class Chain(ConditionalBijector):
    """Bijectors one after another, the last of them first: Y = g1(g2(...(X))).

    Args:
        bijectors: the bijectors; none: the identity.
        validate_args: without an effect.
        name: of the scope of its operations; None: by the bijectors' names.

    Raises:
        ValueError: the bijectors' dtypes differ.
        NotImplementedError: several x of a bijector have a y.
    """

    def __init__(
        self,
        bijectors: Sequence[Any] | None = None,
        validate_args: bool = False,
        name: str | None = None,
    ) -> None:
        bijectors = () if bijectors is None else bijectors
        for bijector in bijectors:
            _require_injective(bijector, f" ({bijector.name})")
        found = {bijector.dtype for bijector in bijectors} - {None}
        if len(found) > 1:
            raise ValueError(f"incompatible dtypes: {sorted(map(str, found))}")
        self._bijectors = bijectors
        default = "_of_".join(["chain", *(b.name for b in bijectors)]) if bijectors else "identity"
        super().__init__(
            [parent for bijector in bijectors for parent in bijector.graph_parents],
            is_constant_jacobian=all(b.is_constant_jacobian for b in bijectors),
            validate_args=validate_args,
            dtype=next(iter(found), None),
            forward_min_event_ndims=_least_axes(bijectors, True),
            inverse_min_event_ndims=_least_axes(bijectors, False),
            name=name or default,
        )

    @property
    def bijectors(self) -> Sequence[Any]:
        """The bijectors."""
        return self._bijectors

    def _through(self, method: str, shape: Any, forward: bool) -> Any:
        for bijector in reversed(self._bijectors) if forward else self._bijectors:
            shape = getattr(bijector, method)(shape)
        return shape

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return self._through("forward_event_shape", input_shape, True)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return self._through("forward_event_shape_tensor", input_shape, True)

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return self._through("inverse_event_shape", output_shape, False)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return self._through("inverse_event_shape_tensor", output_shape, False)

    def _forward(self, x: Any, **kwargs: Any) -> Any:
        for bijector in reversed(self._bijectors):
            x = bijector.forward(x, **kwargs.get(bijector.name, {}))
        return x

    def _inverse(self, y: Any, **kwargs: Any) -> Any:
        for bijector in self._bijectors:
            y = bijector.inverse(y, **kwargs.get(bijector.name, {}))
        return y

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Any:
        return self._log_det("forward", self.forward_min_event_ndims, x, kwargs)

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Any:
        return self._log_det("inverse", self.inverse_min_event_ndims, y, kwargs)

    def _log_det(self, way: str, axes: int, value: Any, kwargs: dict[str, Any]) -> Any:
        """The sum of the bijectors' log-determinants, each for the number of axes that an event
        has when it comes there."""
        value = convert_to_tensor(value)
        ndims = value.shape.ndims
        shape: Any = TensorShape(None) if ndims is None else value.shape[ndims - axes :]
        total: Any = array.zeros([], value.dtype)
        for bijector in reversed(self._bijectors) if way == "forward" else self._bijectors:
            given = kwargs.get(bijector.name, {})
            log_det = getattr(bijector, f"{way}_log_det_jacobian")
            total = total + log_det(value, event_ndims=axes, **given)
            if shape.ndims is not None:
                shape = getattr(bijector, f"{way}_event_shape")(shape)
            more = bijector.inverse_min_event_ndims - bijector.forward_min_event_ndims
            axes = axes + (more if way == "forward" else -more)
            axes = axes if shape.ndims is None else shape.ndims
            value = getattr(bijector, way)(value, **given)
        return total


class Invert(ConditionalBijector):
    """The inverse of a bijector.

    Args:
        bijector: the bijector.
        validate_args: without an effect.
        name: of the scope of its operations; None: `invert_` and the bijector's name.

    Raises:
        NotImplementedError: several x of the bijector have a y.
    """

    def __init__(self, bijector: Any, validate_args: bool = False, name: str | None = None) -> None:
        _require_injective(bijector, "s.")
        self._bijector = bijector
        super().__init__(
            bijector.graph_parents,
            is_constant_jacobian=bijector.is_constant_jacobian,
            validate_args=validate_args,
            dtype=bijector.dtype,
            forward_min_event_ndims=bijector.inverse_min_event_ndims,
            inverse_min_event_ndims=bijector.forward_min_event_ndims,
            name=name or f"invert_{bijector.name}",
        )

    @property
    def bijector(self) -> Any:
        """The bijector."""
        return self._bijector

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return self._bijector._inverse_event_shape(input_shape)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return self._bijector._inverse_event_shape_tensor(input_shape)

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return self._bijector._forward_event_shape(output_shape)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return self._bijector._forward_event_shape_tensor(output_shape)

    def _forward(self, x: Any, **kwargs: Any) -> Any:
        return self._bijector._inverse(x, **kwargs)

    def _inverse(self, y: Any, **kwargs: Any) -> Any:
        return self._bijector._forward(y, **kwargs)

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Any:
        return self._bijector._forward_log_det_jacobian(y, **kwargs)

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Any:
        return self._bijector._inverse_log_det_jacobian(x, **kwargs)


def _same(shape: Any) -> Any:
    return shape


def _required(function: Any, word: str) -> Callable[..., Any]:
    if not callable(function):
        raise NotImplementedError(f"{word} is not a callable function.")
    found: Callable[..., Any] = function
    return found


class Inline(ConditionalBijector):
    """A bijector of functions.

    Args:
        forward_fn: the function.
        inverse_fn: its inverse.
        inverse_log_det_jacobian_fn: see Bijector.inverse_log_det_jacobian.
        forward_log_det_jacobian_fn: see Bijector.forward_log_det_jacobian.
        forward_event_shape_fn: see Bijector.forward_event_shape; None: the shape stays.
        forward_event_shape_tensor_fn: likewise.
        inverse_event_shape_fn: likewise.
        inverse_event_shape_tensor_fn: likewise.
        is_constant_jacobian: whether the log-determinants don't depend on x.
        validate_args: without an effect.
        forward_min_event_ndims: see Bijector.
        inverse_min_event_ndims: see Bijector.
        name: of the scope of its operations.
    """

    def __init__(
        self,
        forward_fn: Callable[..., Any] | None = None,
        inverse_fn: Callable[..., Any] | None = None,
        inverse_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_log_det_jacobian_fn: Callable[..., Any] | None = None,
        forward_event_shape_fn: Callable[..., Any] | None = None,
        forward_event_shape_tensor_fn: Callable[..., Any] | None = None,
        inverse_event_shape_fn: Callable[..., Any] | None = None,
        inverse_event_shape_tensor_fn: Callable[..., Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str = "inline",
    ) -> None:
        super().__init__(
            is_constant_jacobian=is_constant_jacobian,
            validate_args=validate_args,
            forward_min_event_ndims=forward_min_event_ndims,
            inverse_min_event_ndims=inverse_min_event_ndims,
            name=name,
        )
        self._forward_fn = forward_fn
        self._inverse_fn = inverse_fn
        self._inverse_log_det_jacobian_fn = inverse_log_det_jacobian_fn
        self._forward_log_det_jacobian_fn = forward_log_det_jacobian_fn
        self._forward_event_shape_fn = forward_event_shape_fn or _same
        self._forward_event_shape_tensor_fn = forward_event_shape_tensor_fn or _same
        self._inverse_event_shape_fn = inverse_event_shape_fn or _same
        self._inverse_event_shape_tensor_fn = inverse_event_shape_tensor_fn or _same

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return self._forward_event_shape_fn(input_shape)

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return self._forward_event_shape_tensor_fn(input_shape)

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return self._inverse_event_shape_fn(output_shape)

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return self._inverse_event_shape_tensor_fn(output_shape)

    def _forward(self, x: Any, **kwargs: Any) -> Any:
        return _required(self._forward_fn, "forward_fn")(x, **kwargs)

    def _inverse(self, y: Any, **kwargs: Any) -> Any:
        return _required(self._inverse_fn, "inverse_fn")(y, **kwargs)

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Any:
        found = _required(self._inverse_log_det_jacobian_fn, "inverse_log_det_jacobian_fn")
        return found(y, **kwargs)

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Any:
        found = _required(self._forward_log_det_jacobian_fn, "forward_log_det_jacobian_fn")
        return found(x, **kwargs)
