"""Calling what only the host can do: functions that a model knows by name, for both engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from graphio.engine import calls
from graphio.engine.interface import Array, HostFunction
from graphio.engine.media import functions
from graphio.schema import dtypes, small_types
from graphio.support import errors

#: The declared type of an output: the element type's number; the shape, None for what is unknown.
Declared = tuple[int, tuple[int | None, ...] | None]

#: The status of an exception of a function, as in TensorFlow; the first that fits.
_CLASSES: tuple[tuple[type[BaseException], type[errors.OpError]], ...] = (
    (StopIteration, errors.OutOfRangeError),
    (MemoryError, errors.ResourceExhaustedError),
    (NotImplementedError, errors.UnimplementedError),
    (ValueError, errors.InvalidArgumentError),
    (TypeError, errors.InvalidArgumentError),
)

#: TensorFlow's names of element types where they differ from numpy's.
_TF_NAMES = {"float32": "float", "float64": "double", "float16": "half"}


def call(
    host: Mapping[str, HostFunction], name: str, inputs: Sequence[Any], outputs: Sequence[Declared]
) -> list[Array]:
    """Calls a function by its name and checks what it gives.

    Args:
        host: the functions that are there.
        name: of the one to call.
        inputs: arrays, which the function gets as they are.
        outputs: element type numbers and static shapes as they are declared.

    Returns:
        Arrays of the declared types that the function does not share.

    Raises:
        FailedPreconditionError: there is no function of the name.
        InvalidArgumentError: it gives something else than declared.
        OpError: what the function raised, as TensorFlow classes it, with the exception as cause.
    """
    function = host.get(name) or functions.find(name)
    if function is None:
        raise errors.FailedPreconditionError(
            message=f"the host function {name!r} is not bound: a file holds its name alone; give it"
            f" when the model is loaded, load(..., host={{{name!r}: function}}), or to the graph "
            "with bind_host_function"
        )
    try:
        results = list(function(list(inputs)))
        _same_count(results, outputs, name)
        return [_checked(v, t, name, i) for i, (v, t) in enumerate(zip(results, outputs))]  # noqa: B905
    except Exception as error:
        raise failure(error) from (error.__cause__ if isinstance(error, errors.OpError) else error)


def _same_count(results: Sequence[Any], outputs: Sequence[Declared], name: str) -> None:
    if len(results) != len(outputs):
        raise errors.InvalidArgumentError(
            message=f"{name} returned {len(results)} values, but expects to see {len(outputs)} "
            "values"
        )


def failure(error: BaseException) -> errors.OpError:
    """The error of a run that an exception of a function becomes."""
    if isinstance(error, errors.OpError):
        return type(error)(None, None, error.message, error.error_code)
    made = next((c for e, c in _CLASSES if isinstance(error, e)), errors.UnknownError)
    return made(message=f"{type(error).__name__}: {error}")


def _checked(value: Any, declared: Declared, name: str, index: int) -> Array:
    """A copy of the value, which the function may go on using, if it is what was declared."""
    number, shape = declared
    expected = dtypes.of_number(number)
    text = expected.number == dtypes.STRING
    array = np.array(value, object if text else None, order="C")
    found = _found(array, name, index)
    if text:
        array = _bytes(array, name, index)
    elif found != expected:
        raise _wrong_type(name, index, found.name, expected.name)
    if shape is not None and not calls.fits(array.shape, shape):
        raise errors.InvalidArgumentError(
            message=f"{index}-th value returned by {name} has shape {list(array.shape)}, expected "
            f"{['?' if d is None else d for d in shape]}"
        )
    return array if text else array.astype(small_types.numpy_dtype(expected), copy=False)


def _found(array: Array, name: str, index: int) -> dtypes.ElementType:
    """The element type of an array. InternalError, as in TensorFlow, of what has none."""
    if array.dtype.kind == "O":
        other = [v for v in array.ravel() if not isinstance(v, (str, bytes, int, float, complex))]
        if other:
            raise errors.InternalError(
                message=f"Unsupported object type {type(other[0]).__name__}: the {index}-th value "
                f"returned by {name}"
            )
    try:
        return dtypes.of_numpy(array.dtype)
    except (TypeError, ValueError) as error:
        raise errors.InternalError(
            message=f"Unsupported numpy data type of the {index}-th value returned by {name}: "
            f"{error}"
        ) from None


def _bytes(array: Array, name: str, index: int) -> Array:
    """The array with text as UTF-8 bytes."""
    made = np.empty(array.shape, object)
    for position, value in np.ndenumerate(array):
        if not isinstance(value, (str, bytes)):
            raise _wrong_type(name, index, type(value).__name__, "string")
        made[position] = value.encode() if isinstance(value, str) else bytes(value)
    return made


def _wrong_type(name: str, index: int, found: str, expected: str) -> errors.OpError:
    """In TensorFlow's words, and ours where they differ."""
    ours = f" ({found}, expected {expected}; convert it in the function, or change Tout)"
    return errors.InvalidArgumentError(
        message=f"{index}-th value returned by {name} is {_TF_NAMES.get(found, found)}, but "
        f"expects {_TF_NAMES.get(expected, expected)}{ours}"
    )
