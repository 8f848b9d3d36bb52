"""Bijector: a function with its inverse and the logarithms of its Jacobian determinants."""

from __future__ import annotations

import abc
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from graphio.framework import dtypes, scopes
from graphio.framework.constants import convert_to_tensor
from graphio.framework.folding import constant_value
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import TensorShape
from graphio.ops.array import surface as array
from graphio.ops.array.shaping import broadcast_static_shape
from graphio.ops.checks import asserts
from graphio.ops.control_flow.branches import with_dependencies
from graphio.ops.math import reduction

__all__ = ["Bijector", "ConditionalBijector", "checked"]


def checked(x: Any, assertions: Sequence[Any]) -> Any:
    """x, after assertions if there are any."""
    return with_dependencies(list(assertions), x) if assertions else x


def _snake(name: str) -> str:
    words = re.sub("(.)([A-Z][a-z]+)", r"\1_\2", name.lstrip("_"))
    return re.sub("([a-z0-9])([A-Z])", r"\1_\2", words).lower()


def _minima(forward: int | None, inverse: int | None) -> list[int]:
    """Both least numbers of event axes, of which one may be None."""
    if forward is None and inverse is None:
        raise ValueError(
            "Must specify at least one of `forward_min_event_ndims` and `inverse_min_event_ndims`."
        )
    found = [inverse if forward is None else forward, forward if inverse is None else inverse]
    for word, number in zip(("forward", "inverse"), found, strict=True):
        if not isinstance(number, int):
            raise TypeError(
                f"Expected {word}_min_event_ndims to be of type int, got {type(number).__name__}"
            )
        if number < 0:
            raise ValueError(f"{word}_min_event_ndims must be a non-negative integer.")
    return [number for number in found if number is not None]


class _Known:
    """The known parts of a pair x, y = forward(x): tensors, and the log-determinants of the inverse
    by the number of axes that are summed."""

    def __init__(self) -> None:
        self.x: Any = None
        self.y: Any = None
        self.ildj: dict[Any, Any] = {}


def _hashable(value: Any) -> Any:
    if isinstance(value, dict):
        return tuple((key, _hashable(part)) for key, part in sorted(value.items()))
    return tuple(map(_hashable, value)) if isinstance(value, (list, tuple)) else value


class Bijector(abc.ABC):
    """A differentiable function Y = g(X) with an inverse, for changes of variables.

    A subclass gives `_forward(x)`, `_inverse(y)` and one of `_forward_log_det_jacobian(x)` and
    `_inverse_log_det_jacobian(y)`; and, where shapes change, `_forward_event_shape` and its kin.
    Results are kept: `inverse(forward(x))` is x itself.

    Args:
        graph_parents: the tensors that it depends upon.
        is_constant_jacobian: whether the log-determinants don't depend on x.
        validate_args: whether runs check values.
        dtype: of x; None: any.
        forward_min_event_ndims: the minimum number of axes of an x; None: as the inverse's.
        inverse_min_event_ndims: the minimum number of axes of a y; None: as the forward's.
        name: of the scope of its operations; None: by the class.

    Raises:
        ValueError: both numbers of axes are None, one is negative, or a parent is not a tensor.
        TypeError: a number of axes is not an int.
    """

    @abc.abstractmethod
    def __init__(
        self,
        graph_parents: Sequence[Any] | None = None,
        is_constant_jacobian: bool = False,
        validate_args: bool = False,
        dtype: Any = None,
        forward_min_event_ndims: int | None = None,
        inverse_min_event_ndims: int | None = None,
        name: str | None = None,
    ) -> None:
        self._graph_parents = list(graph_parents or ())
        self._minima = _minima(forward_min_event_ndims, inverse_min_event_ndims)
        self._is_constant_jacobian = is_constant_jacobian
        self._validate_args = validate_args
        self._dtype = dtype
        self._name = name or _snake(type(self).__name__)
        self._constant_ildj: dict[Any, Any] = {}
        self._from_x: dict[Any, _Known] = {}
        self._from_y: dict[Any, _Known] = {}
        for i, parent in enumerate(self._graph_parents):
            if parent is None or not Tensor.is_like(parent):
                raise ValueError(f"Graph parent item {i} is not a Tensor; {parent}.")

    # ---- properties ----

    @property
    def graph_parents(self) -> list[Any]:
        """The tensors that it depends upon."""
        return self._graph_parents

    @property
    def forward_min_event_ndims(self) -> int:
        """The minimum number of axes of an x."""
        return self._minima[0]

    @property
    def inverse_min_event_ndims(self) -> int:
        """The minimum number of axes of a y."""
        return self._minima[1]

    @property
    def is_constant_jacobian(self) -> bool:
        """Whether the log-determinants don't depend on x."""
        return self._is_constant_jacobian

    @property
    def _is_injective(self) -> bool:
        """False: `_inverse` returns a tuple of all x with a y."""
        return True

    @property
    def validate_args(self) -> bool:
        """Whether runs check values."""
        return self._validate_args

    @property
    def dtype(self) -> Any:
        """The dtype of x, or None."""
        return self._dtype

    @property
    def name(self) -> str:
        """The name of the scope of its operations."""
        return self._name

    # ---- shapes ----

    def _forward_event_shape(self, input_shape: Any) -> Any:
        return input_shape

    def _forward_event_shape_tensor(self, input_shape: Any) -> Any:
        return input_shape

    def _inverse_event_shape(self, output_shape: Any) -> Any:
        return output_shape

    def _inverse_event_shape_tensor(self, output_shape: Any) -> Any:
        return output_shape

    def forward_event_shape(self, input_shape: Any) -> Any:
        """The shape of y for the shape of an x."""
        return self._forward_event_shape(TensorShape(input_shape))

    def forward_event_shape_tensor(
        self, input_shape: Any, name: str = "forward_event_shape_tensor"
    ) -> Any:
        """The shape of y for the shape of an x, as int32 vectors."""
        with self._name_scope(name, [input_shape]):
            return self._forward_event_shape_tensor(
                convert_to_tensor(input_shape, dtypes.int32, name="input_shape")
            )

    def inverse_event_shape(self, output_shape: Any) -> Any:
        """The shape of x for the shape of a y."""
        return self._inverse_event_shape(TensorShape(output_shape))

    def inverse_event_shape_tensor(
        self, output_shape: Any, name: str = "inverse_event_shape_tensor"
    ) -> Any:
        """The shape of x for the shape of a y, as int32 vectors."""
        with self._name_scope(name, [output_shape]):
            return self._inverse_event_shape_tensor(
                convert_to_tensor(output_shape, dtypes.int32, name="output_shape")
            )

    # ---- the function and its inverse ----

    def _forward(self, x: Any) -> Any:
        raise NotImplementedError("forward not implemented.")

    def _inverse(self, y: Any) -> Any:
        raise NotImplementedError("inverse not implemented")

    def _inverse_log_det_jacobian(self, y: Any) -> Any:
        raise NotImplementedError("inverse_log_det_jacobian not implemented.")

    def _forward_log_det_jacobian(self, x: Any) -> Any:
        raise NotImplementedError("forward_log_det_jacobian not implemented.")

    def forward(self, x: Any, name: str = "forward") -> Any:
        """g(x).

        Raises:
            TypeError: x has another dtype than the bijector.
            NotImplementedError: the class has no such method.
        """
        return self._call_forward(x, name)

    def inverse(self, y: Any, name: str = "inverse") -> Any:
        """The x with g(x) = y; a tuple of all where there are several. Errors: see forward."""
        return self._call_inverse(y, name)

    def inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any, name: str = "inverse_log_det_jacobian"
    ) -> Any:
        """The logarithm of the absolute determinant of the inverse's Jacobian at y.

        Args:
            y: tensor.
            event_ndims: the number of axes of one y; those beyond the minimum number are summed.
            name: of the operations.

        Returns:
            A tensor with one number for each y, or one that broadcasts to it; a tuple where
            several x have a y.

        Raises:
            ValueError: event_ndims is below inverse_min_event_ndims, or is not an integer scalar.
            TypeError: y has another dtype than the bijector.
            NotImplementedError: the class has neither log-determinant.
        """
        return self._call_inverse_log_det_jacobian(y, event_ndims, name)

    def forward_log_det_jacobian(
        self, x: Any, event_ndims: Any, name: str = "forward_log_det_jacobian"
    ) -> Any:
        """The logarithm of the absolute determinant of the Jacobian at x.

        Args:
            x: tensor.
            event_ndims: the number of axes of one x; those beyond the minimum number are summed.
            name: of the operations.

        Returns:
            A tensor with one number for each x, or one that broadcasts to it.

        Raises:
            ValueError: event_ndims is below forward_min_event_ndims, or is not an integer scalar.
            TypeError: x has another dtype than the bijector.
            NotImplementedError: several x have a y, or the class has neither log-determinant.
        """
        return self._call_forward_log_det_jacobian(x, event_ndims, name)

    def _call_forward(self, x: Any, name: str, **kwargs: Any) -> Any:
        with self._name_scope(name, [x]):
            x = self._tensor(x, "x")
            if not self._is_injective:
                return self._forward(x, **kwargs)
            known = self._lookup(self._from_x, x, kwargs)
            known.x = x
            return self._y_of(known, kwargs)

    def _call_inverse(self, y: Any, name: str, **kwargs: Any) -> Any:
        with self._name_scope(name, [y]):
            y = self._tensor(y, "y")
            if not self._is_injective:
                return self._inverse(y, **kwargs)
            known = self._lookup(self._from_y, y, kwargs)
            known.y = y
            return self._x_of(known, kwargs)

    def _call_inverse_log_det_jacobian(
        self, y: Any, event_ndims: Any, name: str, **kwargs: Any
    ) -> Any:
        with self._name_scope(name, [y]):
            checks = self._checked_event_ndims(self.inverse_min_event_ndims, event_ndims)
            key = self._summed_axes(event_ndims, self.inverse_min_event_ndims)
            if key in self._constant_ildj:
                return self._constant_ildj[key]
            y = self._tensor(y, "y")
            with scopes.control_dependencies(checks):
                if not self._is_injective:
                    return self._several_ildj(y, event_ndims, kwargs)
                known = self._lookup(self._from_y, y, kwargs)
                known.y = y
                return self._ildj(known, key, kwargs, (self._by_inverse, self._by_forward))

    def _call_forward_log_det_jacobian(
        self, x: Any, event_ndims: Any, name: str, **kwargs: Any
    ) -> Any:
        if not self._is_injective:
            raise NotImplementedError(
                "forward_log_det_jacobian cannot be implemented for non-injective transforms."
            )
        with (
            self._name_scope(name, [x]),
            scopes.control_dependencies(
                self._checked_event_ndims(self.forward_min_event_ndims, event_ndims)
            ),
        ):
            key = self._summed_axes(event_ndims, self.forward_min_event_ndims)
            if key in self._constant_ildj:
                return -self._constant_ildj[key]
            x = self._tensor(x, "x")
            known = self._lookup(self._from_x, x, kwargs)
            known.x = x
            return -self._ildj(known, key, kwargs, (self._by_forward, self._by_inverse))

    # ---- known pairs ----

    def _lookup(self, table: dict[Any, _Known], value: Any, kwargs: dict[str, Any]) -> _Known:
        return table.setdefault(self._key(value, kwargs), _Known())

    @staticmethod
    def _key(value: Any, kwargs: dict[str, Any]) -> Any:
        return value, _hashable(sorted(kwargs.items()))

    def _y_of(self, known: _Known, kwargs: dict[str, Any]) -> Any:
        if known.y is None:
            known.y = self._forward(known.x, **kwargs)
            self._from_y[self._key(known.y, kwargs)] = known
        return known.y

    def _x_of(self, known: _Known, kwargs: dict[str, Any]) -> Any:
        if known.x is None:
            known.x = self._inverse(known.y, **kwargs)
            self._from_x[self._key(known.x, kwargs)] = known
        return known.x

    @staticmethod
    def _summed_axes(event_ndims: Any, least: int) -> Any:
        """The number of axes that are summed, a tensor where it is not known."""
        if isinstance(event_ndims, Tensor):
            known = constant_value(event_ndims)
            return event_ndims - least if known is None else int(known) - least
        return event_ndims - least

    def _ildj(
        self, known: _Known, axes: Any, kwargs: dict[str, Any], ways: Sequence[Callable[..., Any]]
    ) -> Any:
        if axes not in known.ildj:
            try:
                found = ways[0](known, axes, kwargs)
            except NotImplementedError as error:
                try:
                    found = ways[1](known, axes, kwargs)
                except NotImplementedError:
                    raise error from None
            known.ildj[axes] = found
            if self.is_constant_jacobian:
                self._constant_ildj[axes] = found
        return known.ildj[axes]

    def _by_inverse(self, known: _Known, axes: Any, kwargs: dict[str, Any]) -> Any:
        y = self._y_of(known, kwargs)
        found = self._inverse_log_det_jacobian(y, **kwargs)
        return _summed(y, found, self.inverse_min_event_ndims, axes)

    def _by_forward(self, known: _Known, axes: Any, kwargs: dict[str, Any]) -> Any:
        x = self._x_of(known, kwargs)
        found = -self._forward_log_det_jacobian(x, **kwargs)
        return _summed(x, found, self.forward_min_event_ndims, axes)

    def _several_ildj(self, y: Any, event_ndims: Any, kwargs: dict[str, Any]) -> Any:
        least = self.inverse_min_event_ndims
        axes = self._summed_axes(event_ndims, least)
        found = self._inverse_log_det_jacobian(y, **kwargs)
        return tuple(_summed(y, part, least, axes) for part in found)

    # ---- checks ----

    @contextmanager
    def _name_scope(self, name: str | None = None, values: Any = None) -> Iterator[str]:
        with (
            scopes.name_scope(self.name),
            scopes.name_scope(name, values=list(values or ()) + self.graph_parents) as scope,
        ):
            yield scope

    def _tensor(self, value: Any, name: str) -> Tensor:
        found = convert_to_tensor(value, name=name)
        if (
            self.dtype is not None
            and dtypes.as_dtype(self.dtype).base_dtype != found.dtype.base_dtype
        ):
            raise TypeError(f"Input had dtype {found.dtype} but expected {self.dtype}.")
        return found

    def _checked_event_ndims(self, least: int, event_ndims: Any) -> list[Any]:
        """Raises where a number of event axes is known to be wrong; else its checks in the run."""
        number = convert_to_tensor(event_ndims, name="event_ndims")
        if not number.dtype.is_integer:
            raise ValueError(f"Expected integer dtype, got dtype {number.dtype}")
        if number.shape.ndims not in (None, 0):
            raise ValueError(f"Expected scalar event_ndims, got shape {number.shape}")
        known = constant_value(number)
        if known is None:
            return [asserts.assert_greater_equal(number, least)] if self.validate_args else []
        if known < least:
            raise ValueError(f"event_ndims ({known}) must be larger than min_event_ndims ({least})")
        return []

    def _maybe_get_static_event_ndims(self, event_ndims: Any) -> int | None:
        """A number of event axes as int; None where only the run knows it."""
        known = constant_value(convert_to_tensor(event_ndims))
        return None if known is None else int(known)


def _summed(value: Any, ildj: Any, least: int, axes: Any) -> Any:
    """Log-determinants, summed over the axes of events beyond the minimum number."""
    ndims = value.shape.ndims
    if isinstance(axes, int) and ndims is not None:
        ones: Any = array.ones(array.shape(value)[ndims - axes - least : ndims - least], ildj.dtype)
        found = reduction.reduce_sum(ones * ildj, axis=[-1 - i for i in range(axes)])
        if ildj.shape.ndims is not None:
            outer = value.shape[ndims - axes - least : ndims - least]
            shape = broadcast_static_shape(ildj.shape, outer)
            found.set_shape(shape[: shape.ndims - axes] if shape.ndims is not None else shape)
        return found
    rank = array.rank(value)
    ones = array.ones(array.shape(value)[rank - axes - least : rank - least], ildj.dtype)
    dims = [-1 - i for i in range(axes)] if isinstance(axes, int) else array.range(-axes, 0)
    return reduction.reduce_sum(ones * ildj, axis=dims)


class ConditionalBijector(Bijector):
    """A bijector whose methods take further arguments, which go to those of the subclass."""

    # a subclass gives one of these

    def _inverse_log_det_jacobian(self, y: Any, **kwargs: Any) -> Any:
        return super()._inverse_log_det_jacobian(y)

    def _forward_log_det_jacobian(self, x: Any, **kwargs: Any) -> Any:
        return super()._forward_log_det_jacobian(x)

    def forward(self, x: Any, name: str = "forward", **condition_kwargs: Any) -> Any:
        """As Bijector.forward, given further arguments."""
        return self._call_forward(x, name, **condition_kwargs)

    def inverse(self, y: Any, name: str = "inverse", **condition_kwargs: Any) -> Any:
        """As Bijector.inverse, given further arguments."""
        return self._call_inverse(y, name, **condition_kwargs)

    def inverse_log_det_jacobian(
        self,
        y: Any,
        event_ndims: Any,
        name: str = "inverse_log_det_jacobian",
        **condition_kwargs: Any,
    ) -> Any:
        """As Bijector.inverse_log_det_jacobian, given further arguments."""
        return self._call_inverse_log_det_jacobian(y, event_ndims, name, **condition_kwargs)

    def forward_log_det_jacobian(
        self,
        x: Any,
        event_ndims: Any,
        name: str = "forward_log_det_jacobian",
        **condition_kwargs: Any,
    ) -> Any:
        """As Bijector.forward_log_det_jacobian, given further arguments."""
        return self._call_forward_log_det_jacobian(x, event_ndims, name, **condition_kwargs)
