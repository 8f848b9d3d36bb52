"""Feeds: which tensor a key means, and a value as the array that is fed.

TensorFlow's rules: numbers are cast to the tensor's dtype, floats to integers by truncation; only
Python integers that do not fit, other kinds and other shapes are refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from graphio.engine import array_likes, calls
from graphio.framework import dtypes
from graphio.framework.composite import Composite
from graphio.framework.constants import as_array
from graphio.framework.dtypes import DType
from graphio.framework.folding import constant_value
from graphio.framework.graph import Graph, Operation, Tensor
from graphio.framework.tensor_shape import Dimension
from graphio.schema.dtypes import ML_DTYPES

Array = np.ndarray[Any, Any]
_MOST_SHAPES = 1024
_NUMBERS = (int, float, complex, np.number, np.bool_, Dimension)


def fed_tensors(graph: Graph, feed_dict: Any) -> list[Tensor]:
    """The tensors that a feed_dict's keys stand for, in order.

    Raises:
        TypeError: a key is neither a tensor of this graph nor the name of one.
        ValueError: a key cannot be fed.
    """
    if not isinstance(feed_dict, Mapping):
        raise TypeError(f"feed_dict is {type(feed_dict).__name__}, expected a dict")
    return [_tensor(graph, leaf) for key in feed_dict for leaf in _leaves(key)]


def is_simple(feed_dict: Mapping[Any, Any]) -> bool:
    """Whether every key stands for one tensor."""
    return not any(isinstance(key, (tuple, Composite)) for key in feed_dict)


def values_of(feed_dict: Mapping[Any, Any]) -> Iterator[Any]:
    """The values in fed_tensors' order.

    Raises:
        ValueError: a key of several tensors has another number of values.
    """
    for key, value in feed_dict.items():
        yield from _paired(key, value)


def _leaves(key: Any) -> Iterator[Any]:
    if isinstance(key, tuple):
        for part in key:
            yield from _leaves(part)
    elif isinstance(key, Composite):
        yield from key.parts()
    else:
        yield key


def _paired(key: Any, value: Any) -> Iterator[Any]:
    parts = key.parts() if isinstance(key, Composite) else key
    if not isinstance(key, (tuple, Composite)):
        yield value
        return
    if isinstance(key, Composite) and isinstance(value, (tuple, list)):
        value = [*value, *_fixed(parts[len(value) :])]
        if value[len(parts) :] == [None]:  # of an IndexedSlices without a dense shape
            value = value[: len(parts)]
    if not isinstance(value, (tuple, list)) or len(value) != len(parts):
        raise ValueError(
            f"the feed key {key!r} stands for {len(parts)} tensors; feed as many values"
        )
    for part, inner in zip(parts, value, strict=True):
        yield from _paired(part, inner)


def _fixed(parts: Sequence[Any]) -> list[Any]:
    """The values of the last parts that a feed may leave out, because the graph has them fixed."""
    known = [constant_value(part) for part in parts]
    return [] if any(value is None for value in known) else known


def _tensor(graph: Graph, key: Any) -> Tensor:
    try:
        tensor = graph.as_graph_element(key, allow_operation=False)
    except (KeyError, TypeError, ValueError) as error:
        raise TypeError(f"Cannot interpret feed_dict key as Tensor: {error.args[0]}") from None
    assert isinstance(tensor, Tensor)
    if not graph.is_feedable(tensor):
        why = "it was marked so" if tensor.graph is graph else "it is inside a loop or branch"
        raise ValueError(f"Tensor {tensor.name} may not be fed: {why}.")
    return tensor


def _cast_error(raw: Array, dtype: np.dtype[Any]) -> type[Exception]:
    """The class of error by which numpy refuses the cast; of one that it does, ValueError."""
    try:
        raw.astype(dtype)
    except TypeError:
        return TypeError
    except ValueError:
        pass
    return ValueError


def _no_numbers(raw: Array) -> str:
    if raw.dtype != object or not raw.size:
        return "it holds no numbers"
    return f"it holds no numbers but objects, such as {array_likes.odd_element(raw)}"


def _holds_numbers(raw: Array) -> bool:
    """Whether every object is a number of Python's or numpy's, or a size of a shape."""
    return bool(raw.size) and all(isinstance(v, _NUMBERS) for v in raw.ravel())


class Feeder:
    """Turns the values fed to one tensor into arrays of its dtype.

    Attributes:
        tensor: what is fed.
        plain: the dtype of arrays that are taken as they are, if contiguous and of a shape in
        right: the shapes that were found to fit.
    """

    def __init__(self, tensor: Tensor, dtype: DType | None = None) -> None:
        self.tensor = tensor
        self._dtype = dtype or tensor.dtype
        inside = self._dtype.inside
        self._inside = None if inside is None else Feeder(tensor, inside)
        self._numpy = np.dtype(self._dtype.as_numpy_dtype)
        looked_at = inside is not None or self._numpy.hasobject  # in every run
        self.plain = None if looked_at else self._numpy
        self.right: set[tuple[int, ...]] = set()

    def __call__(self, value: Any) -> Any:
        """A contiguous array of the tensor's dtype; a list of such, or None, where it holds them.

        Raises:
            TypeError: a tensor as value, or a number that the dtype cannot hold.
            ValueError: the shape does not fit, or the value is not an array of such elements.
        """
        if self._inside is not None:
            return self._held(value, self._inside)
        array: Array
        if type(value) is np.ndarray and value.dtype is self._numpy and calls.lies_plainly(value):
            array = value
        else:
            array = self._converted(value)
        if array.shape not in self.right:
            self._check_shape(array)
        return array

    def _held(self, value: Any, inside: Feeder) -> Any:
        if self._dtype.kind == "optional":
            return None if value is None else inside(value)
        if not isinstance(value, (list, tuple)):
            raise self._refused(TypeError, value, "a sequence is fed as a list")
        return [inside(v) for v in value]

    def _check_shape(self, array: Array) -> None:
        if not self.tensor.shape.is_compatible_with(array.shape):
            raise ValueError(
                f"Cannot feed value of shape {array.shape} for Tensor {self.tensor.name}, which "
                f"has shape {self.tensor.shape}"
            )
        if len(self.right) >= _MOST_SHAPES:
            self.right.clear()
        self.right.add(array.shape)

    def _converted(self, value: Any) -> Array:
        if isinstance(value, (Tensor, Operation)) or hasattr(value, "_as_graph_element"):
            raise TypeError(
                "The value of a feed cannot be a tf.Tensor object. Acceptable feed values include "
                f"Python scalars, strings, lists, numpy ndarrays; for '{self.tensor.name}' "
                f"{value!r} was given"
            )
        if value is None:
            raise ValueError(f"None was fed to '{self.tensor.name}'; feed {self._expected()}")
        if self._dtype == dtypes.string:
            return self._strings(value)
        try:
            raw = array_likes.to_numpy(value)
        except (ValueError, TypeError) as error:
            kind = ValueError if isinstance(error, ValueError) else TypeError
            raise self._refused(kind, value, str(error)) from None
        if raw.dtype == self._numpy:
            return np.require(raw, None, ("C", "A"))
        if raw.dtype == object and _holds_numbers(raw):
            return self._of_objects(raw, value)
        if raw.dtype.kind == "V" and raw.dtype.name in ML_DTYPES.values():
            raw = raw.astype(np.float32)  # which has all their values
        self._check_kind(raw, value)
        with np.errstate(all="ignore"):
            return np.require(raw, self._numpy, ("C", "A"))

    def _of_objects(self, raw: Array, value: Any) -> Array:
        """An array of Python's numbers, each of which is cast as a number alone is."""
        try:
            return np.require(raw.astype(self._numpy), None, ("C", "A"))
        except OverflowError:
            raise self._refused(TypeError, value, "the integer does not fit") from None
        except (TypeError, ValueError) as error:
            raise self._refused(type(error), value, str(error)) from None

    def _check_kind(self, raw: Array, value: Any) -> None:
        requested = self._dtype
        if raw.dtype.kind not in "biufc":
            raise self._refused(_cast_error(raw, self._numpy), value, _no_numbers(raw))
        if raw.dtype.kind == "c" and not requested.is_complex:
            words = "it is complex: feed its .real, or make the placeholder complex"
            raise self._refused(TypeError, value, words)
        if requested.is_integer and raw.dtype.kind == "f" and not np.isfinite(raw).all():
            raise self._refused(ValueError, value, "no integer is NaN or infinite")
        from_python = not isinstance(value, (np.ndarray, np.generic))
        integers = requested.is_integer and raw.dtype.kind in "iu" and raw.size > 0
        if (
            from_python
            and integers
            and not requested.min <= raw.min() <= raw.max() <= requested.max
        ):
            raise self._refused(TypeError, value, "the integer does not fit")

    def _strings(self, value: Any) -> Array:
        if isinstance(value, int):
            raise self._refused(TypeError, value, "expected a string")
        try:
            return as_array(np.array(value, object), self._dtype)
        except (TypeError, ValueError) as error:
            raise self._refused(ValueError, value, str(error)) from None

    def _expected(self) -> str:
        what = "an array of " if self._inside is None else ""
        return f"{what}{self._dtype.name} and shape {self.tensor.shape}"

    def _refused(self, kind: type[Exception], value: Any, reason: str) -> Exception:
        text = repr(value)
        shown = text if len(text) <= 60 else text[:57] + "..."
        return kind(
            f"Type of feed value {shown} ({type(value).__name__}) is not compatible with Tensor "
            f"'{self.tensor.name}', {self._expected()}: {reason}."
        )
