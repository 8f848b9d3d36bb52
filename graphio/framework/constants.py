"""Constants, placeholders, and the conversion of Python values to tensors.

TensorFlow's dtype rules: Python floats are float32, ints int32 (int64 where they do not fit),
numpy arrays keep their dtype; nothing is converted between tensors.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from graphio.engine import array_likes
from graphio.framework import conversions, dtypes, registered, scopes, source
from graphio.framework.dtypes import DType
from graphio.framework.graph import Tensor
from graphio.framework.tensor_shape import Dimension, TensorShape, as_shape
from graphio.schema.tensors import check_dims
from graphio.support import api_guard, errors

__all__ = [
    "constant",
    "convert_to_tensor",
    "placeholder",
    "placeholder_with_default",
    "with_sizes",
]

Array = np.ndarray[Any, Any]


@api_guard.guarded
@source.locating
def constant(
    value: Any,
    dtype: Any = None,
    shape: Any = None,
    name: str = "Const",
    verify_shape: bool = False,
) -> Tensor:
    """A tensor with the given numbers, which are copied.

    Args:
        value: number, string, bool, nested lists of them, or an array.
        dtype: None: by TensorFlow's rules for Python values, the array's own for arrays. Of an
            integer that it does not hold it takes the lowest bits, so -1 is 255 as uint8.
        shape: None: the value's; otherwise too few values repeat the last, and none are zeros or
            empty strings.
        name: of the operation.
        verify_shape: True refuses a shape that is not the value's.

    Raises:
        TypeError: the value is no such thing, or does not fit dtype.
        ValueError: ragged lists, None, or more values than shape has elements.
    """
    array = as_array(value, None if dtype is None else dtypes.as_dtype(dtype))
    if shape is not None:
        array = _fill_shape(array, as_shape(shape), verify_shape)
    label = name.decode() if isinstance(name, bytes) else name
    return node_of(array, dtypes.as_dtype(array.dtype), label)


def node_of(array: Array, kind: DType, name: str) -> Tensor:
    """A constant of an array that nothing else has, of the dtype given."""
    if not array.size and array.ndim > 1:
        try:
            check_dims(array.shape)
        except errors.DataLossError as error:  # numpy makes it, for it has no elements
            raise ValueError(error.message) from None
    operation = scopes.get_default_graph().add_operation(
        "Constant",
        [],
        [(kind, TensorShape(array.shape))],
        {"value": array},
        name=name,
        tf_type="Const",
    )
    return operation.outputs[0]


def _fill_shape(array: Array, shape: TensorShape, verify: bool) -> Array:
    dims = shape.as_list()
    count = shape.num_elements()
    if count is None:
        raise TypeError(f"constant: shape {shape} has unknown sizes")
    if verify and tuple(dims) != array.shape:
        raise TypeError(f"constant: expected shape {tuple(dims)}, got {array.shape}")
    if array.size > max(count, 1):  # one value fills any number of elements, 0 of them, too
        raise ValueError(
            f"constant: too many elements provided: needed at most {count} for shape {shape}, but "
            f"received {array.size}"
        )
    if array.size == 0:  # an empty constant fills with zeros, and with empty strings
        return np.full([d or 0 for d in dims], b"" if array.dtype == object else 0, array.dtype)
    flat = array.ravel()[: 0 if count == 0 else None]
    if flat.size < count:
        flat = np.concatenate([flat, np.repeat(flat[-1:], count - array.size)])
    return flat.reshape([d or 0 for d in dims])


def as_array(value: Any, dtype: DType | None) -> Array:
    """A fresh array of value by TensorFlow's rules; see constant."""
    if isinstance(value, Tensor):
        raise TypeError(f"'{value.name}' is a tensor; a constant needs numbers")
    if value is None:
        raise ValueError("None values not supported.")
    if isinstance(value, (np.ndarray, np.generic)):
        return _of_numpy(array_likes.to_numpy(value), dtype)
    if any(hasattr(value, protocol) for protocol in array_likes.PROTOCOLS):
        return _of_numpy(array_likes.to_numpy(value), dtype)
    flat = list(_leaves(value))
    if any(v is None for v in flat):
        raise ValueError("None values not supported.")
    if dtype is not None and dtype.is_integer and any(isinstance(v, Dimension) for v in flat):
        value = with_sizes(value)
        flat = list(_leaves(value))
    return _of_python(value, flat, dtype)


def with_sizes(value: Any) -> Any:
    """Nested lists with the sizes of Dimensions instead of these."""
    if isinstance(value, (list, tuple)):
        return [with_sizes(v) for v in value]
    return int(value) if isinstance(value, Dimension) else value


def _of_numpy(array: Array, dtype: DType | None) -> Array:
    if array.dtype == object and dtype not in (None, dtypes.string):
        return _of_python(array.tolist(), list(array.ravel()), dtype)
    if array.dtype.kind in "OSU":
        array = _strings(array)
    if dtype is None or dtypes.as_dtype(array.dtype) == dtype:
        kind = array.dtype
        return np.array(array, kind if kind.isnative else kind.newbyteorder("="), order="C")
    if array.dtype.kind == "c" and (dtype.is_floating or dtype.is_integer):
        raise TypeError(f"Expected {dtype.name}, got an array of {array.dtype}.{_NO_COMPLEX}")
    if (array.dtype == object) != (dtype == dtypes.string):
        raise TypeError(f"Expected {dtype.name}, got an array of {array.dtype}")
    with np.errstate(all="ignore"):
        converted: Array = array.astype(dtype.as_numpy_dtype, order="C")
        return converted


def _strings(array: Array) -> Array:
    out = np.empty(array.shape, object)
    for index, element in np.ndenumerate(array):
        if not isinstance(element, (str, bytes)):
            raise TypeError(f"Expected string, got {element!r} of type {type(element).__name__}")
        out[index] = element.encode() if isinstance(element, str) else element
    return out


def _leaves(value: Any) -> Any:
    if isinstance(value, (list, tuple, range)):
        for child in value:
            yield from _leaves(child)
    elif hasattr(value, "__array__") and not isinstance(value, (np.generic, Tensor)):
        held = np.asarray(value)
        yield from held.ravel() if held.dtype == object else held.ravel().tolist()
    else:
        yield value


#: Python types that each kind of dtype takes; a bool is an int there, so 1 or 0 among numbers
_ACCEPTS: dict[str, tuple[type, ...]] = {
    "b": (bool, np.bool_),
    "i": (int, np.integer),
    "u": (int, np.integer),
    "f": (int, float, np.integer, np.floating),
    "c": (int, float, complex, np.number),
    "O": (str, bytes),
}


_NO_COMPLEX = " Give the real part (.real), or use a complex dtype: tf.cast(x, tf.complex64)."


def _of_python(value: Any, flat: list[Any], dtype: DType | None) -> Array:
    for v in flat:
        if isinstance(v, Tensor):
            raise TypeError(f"'{v.name}' is a tensor; use tf.stack to join tensors")
    chosen = _inferred(flat, value) if dtype is None else dtype
    if not chosen.number and flat:
        raise TypeError(
            f"Expected {chosen.name}, got {flat[0]!r} of type '{type(flat[0]).__name__}' instead"
            ": no tensor has that dtype"
        )
    kind = np.dtype(chosen.as_numpy_dtype).kind
    if kind not in _ACCEPTS:  # ml_dtypes
        kind = "i" if chosen.is_integer else "f"
    accepts = _ACCEPTS[kind]
    for v in flat:
        if not isinstance(v, accepts):
            raise TypeError(
                f"Expected {chosen.name}, got {v!r} of type '{type(v).__name__}' instead."
                + (_NO_COMPLEX if isinstance(v, (complex, np.complexfloating)) else "")
            )
    try:
        if chosen == dtypes.string:
            return _strings(_object_array(value))
        with np.errstate(all="ignore"):
            if kind in "iu":
                return _integers(value, chosen)
            return np.array(value, dtype=chosen.as_numpy_dtype)
    except (ValueError, OverflowError) as error:
        text = str(error)
        if "inhomogeneous" in text or "sequence" in text:
            shown = repr(value) if len(repr(value)) <= 60 else f"{repr(value)[:57]}..."
            raise ValueError(
                f"the nested lists are ragged, expected equal lengths at every level: {shown}"
            ) from None
        raise TypeError(f"{value!r} does not fit {chosen.name}: {text}") from None


def _integers(value: Any, requested: DType) -> Array:
    """Python's integers by their lowest bits, if 64 bits hold them: -1 as uint8 is 255."""
    array = np.array(value)
    if array.dtype.kind not in "iu":  # integers below 0 together with those of 2**63 and more
        array = np.array(value, dtype=object)
    if array.size and not _in_range(array, requested):
        low, high = -(2**63), 2**63 if requested.min else 2**64
        if int(array.min()) < low or int(array.max()) >= high:
            raise ValueError(f"out of range for {requested.name}")
        array = np.vectorize(lambda v: int(v) & 2**64 - 1, otypes=[np.uint64])(array)
    return array.astype(requested.as_numpy_dtype)


def _in_range(array: Array, requested: DType) -> bool:
    return bool(int(array.min()) >= requested.min and int(array.max()) <= requested.max)


def _object_array(value: Any) -> Array:
    try:
        array = np.array(value)
    except UnicodeDecodeError:  # strings together with bytes that are not UTF-8
        return np.array(value, dtype=object)
    if array.dtype.kind in "SU":  # numpy drops trailing zero bytes: keep the objects
        array = np.array(value, dtype=object)
    return array


def _inferred(flat: list[Any], value: Any) -> DType:
    if not flat:
        return dtypes.float32
    numpy_scalars = [v for v in flat if isinstance(v, np.generic)]
    if len(numpy_scalars) == len(flat):
        common = np.result_type(*{v.dtype for v in numpy_scalars})
        if common not in (np.float64, np.int64):  # of lists, these are as Python's numbers
            return dtypes.as_dtype(common)
    if any(isinstance(v, (str, bytes)) for v in flat):
        return dtypes.string
    if all(isinstance(v, (bool, np.bool_)) for v in flat):
        return dtypes.bool
    if any(isinstance(v, complex) for v in flat):
        return dtypes.complex128
    if any(isinstance(v, (float, np.floating)) for v in flat):
        return dtypes.float32
    if all(isinstance(v, (int, np.integer)) for v in flat):
        fits = all(-(2**31) <= v < 2**31 for v in flat)
        return dtypes.int32 if fits else dtypes.int64
    odd = next(v for v in flat if not isinstance(v, (int, float)))
    raise TypeError(
        f"Failed to convert {value!r} to a tensor: {type(odd).__name__} is not a type of its "
        "elements; expected numbers, bools or strings"
    )


@api_guard.guarded
@source.locating
def convert_to_tensor(
    value: Any,
    dtype: Any = None,
    name: str | None = None,
    preferred_dtype: Any = None,
    as_ref: bool = False,
    dtype_hint: Any = None,
) -> Tensor:
    """A tensor of value: itself if it is one, a variable's read, a constant, a stack of tensors.

    Args:
        value: tensor, Variable, IndexedSlices, array, number, string, nested lists of these.
        dtype: that the tensor must have; None: value's own.
        name: of a new operation.
        preferred_dtype: taken if value can have it.
        as_ref: accepted; there are no reference tensors.
        dtype_hint: the newer name of preferred_dtype.

    Raises:
        TypeError: value cannot become a tensor, or does not fit dtype.
        ValueError: value is a tensor of another dtype.
    """
    requested = None if dtype is None else dtypes.as_dtype(dtype).base_dtype
    preferred_dtype = dtype_hint if preferred_dtype is None else preferred_dtype
    if isinstance(value, Tensor):
        return conversions.of_dtype(value, requested)
    hint = None if preferred_dtype is None else dtypes.as_dtype(preferred_dtype).base_dtype
    found = conversions.converted(value, requested, hint, name)
    if found is not None:
        return found
    if isinstance(value, TensorShape):
        if not value.is_fully_defined():
            raise ValueError(f"Cannot convert a partially known TensorShape to a Tensor: {value}")
        if requested not in (None, dtypes.int32, dtypes.int64):
            raise TypeError(
                f"Cannot convert TensorShape {value} to {requested}; sizes are int32 or int64"
            )
        sizes = np.array(value.as_list(), np.int64)
        large = sizes.size > 0 and int(sizes.max()) > dtypes.int32.max
        if large and requested == dtypes.int32:
            raise ValueError(f"the shape {value} does not fit int32: a dimension is too large")
        kind = requested or (dtypes.int64 if large else dtypes.int32)
        return constant(sizes, kind, name=name or "Const")
    if isinstance(value, Dimension):
        return constant(value.value, requested or dtypes.int32, name=name or "Const")
    if hasattr(value, "__tf_tensor__"):
        return conversions.of_dtype(value.__tf_tensor__(requested, name), requested)
    if isinstance(value, (list, tuple)) and any(_is_symbolic(v) for v in _leaves(value)):
        return _stacked(value, requested, name)
    if requested is None and preferred_dtype is not None:
        try:
            return constant(value, preferred_dtype, name=name or "Const")
        except (TypeError, ValueError):
            pass
    return constant(value, requested, name=name or "Const")


def _is_symbolic(value: Any) -> bool:
    return isinstance(value, Tensor) or conversions.is_convertible(value)


def _stacked(value: Any, requested: DType | None, name: str | None) -> Tensor:
    tensors = [convert_to_tensor(v) for v in _leaves(value) if _is_symbolic(v)]
    kind = requested or tensors[0].dtype
    if requested is None and any(t.dtype.base_dtype != kind.base_dtype for t in tensors):
        found = ", ".join(f"'{t.name}' is {t.dtype.name}" for t in tensors)
        raise TypeError(f"a list of tensors of different dtypes makes none: {found}; cast them")
    parts = [_packed(v, kind) for v in value]
    return registered.stack(parts, name or "packed")


def _packed(value: Any, kind: DType) -> Tensor:
    """A part of a list as a tensor; one of another dtype is cast to what the list shall have."""
    if not _is_symbolic(value):
        return convert_to_tensor(value, kind)
    return registered.cast(convert_to_tensor(value), kind)


@api_guard.guarded
@source.locating
def placeholder(dtype: Any, shape: Any = None, name: str | None = None) -> Tensor:
    """A tensor that must be fed.

    Args:
        dtype: of the values.
        shape: None: any; sizes may be None.
        name: of the operation.
    """
    kind, static = dtypes.as_dtype(dtype), as_shape(shape)
    operation = scopes.get_default_graph().add_operation(
        "Placeholder",
        [],
        [(kind, static)],
        {"dtype": kind, "shape": (kind, static)},
        domain="graphio",
        name=name or "Placeholder",
    )
    return operation.outputs[0]


@api_guard.guarded
@source.locating
def placeholder_with_default(input: Any, shape: Any, name: str | None = None) -> Tensor:
    """A tensor that may be fed, and else has the value of input.

    Args:
        input: the default value.
        shape: that fed values must have; sizes may be None.
        name: of the operation.

    Raises:
        ValueError: input does not have the shape.
    """
    default = convert_to_tensor(input, name="input")
    static = as_shape(shape)
    if not static.is_compatible_with(default.shape):
        raise ValueError(
            f"placeholder_with_default: input '{default.name}' has shape {default.shape}, which is "
            f"not of the shape {static} given"
        )
    operation = scopes.get_default_graph().add_operation(
        "PlaceholderWithDefault",
        [default],
        [(default.dtype, static)],
        {"shape": (default.dtype, static)},
        domain="graphio",
        name=name or "PlaceholderWithDefault",
    )
    return operation.outputs[0]


def constant_from(tensor: Tensor) -> Tensor | None:
    """The same constant in the current graph; None if the tensor is not a constant."""
    if tensor.op.op != "Constant":
        return None
    return node_of(tensor.op.attrs["value"], tensor.dtype, "Const")


from graphio.framework.folding import constant_shape, constant_value  # noqa: E402, F401 - the same package
