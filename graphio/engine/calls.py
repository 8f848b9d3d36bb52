"""What callers of either engine give: names, dtypes and shapes."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any

import numpy as np

from graphio.engine import array_likes
from graphio.engine.interface import TensorSpec
from graphio.schema import dtypes
from graphio.support import errors

Array = np.ndarray[Any, Any]
OBJECT = np.dtype(object)
#: of a model's metadata: the signature to take where none is named
DEFAULT_SIGNATURE = "default_signature"
_ORDER = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}  # what Python numbers may become, upwards


def check_source(source: Any) -> None:
    """Raises TypeError: it is neither a path nor bytes."""
    if isinstance(source, (str, os.PathLike)):
        return
    try:
        memoryview(source)
    except TypeError:
        found = "None" if source is None else f"of type {type(source).__name__}"
        raise TypeError(
            f"source is {found}, expected a path or the bytes of a model file"
        ) from None


def fits(shape: Sequence[int], static: Sequence[int | None]) -> bool:
    """Whether a shape is one that the static shape, None being any size, admits."""
    return len(shape) == len(static) and all(
        want is None or want == got for want, got in zip(static, shape, strict=True)
    )


def convert(value: Any, wanted: np.dtype[Any], what: str) -> Array:
    """value as a contiguous array of the wanted dtype.

    Python numbers and lists become what is wanted where nothing is cut off (no float becomes an
    integer); arrays are cast within their kind only. Text becomes bytes.

    Raises:
        InvalidArgumentError: naming `what` and both dtypes.
    """
    if wanted == OBJECT:
        return _strings(value, what)
    if isinstance(value, np.ndarray) and value.dtype == wanted and lies_plainly(value):
        if not isinstance(value, np.ma.MaskedArray):
            return value
    try:
        found = array_likes.to_numpy(value)
    except (ValueError, TypeError) as error:
        raise errors.InvalidArgumentError(message=f"{what}: {error}") from None
    value = found if hasattr(value, "dtype") else value  # an array of any library
    if not _castable(value, found, wanted):
        name = dtypes.of_numpy(wanted).name
        raise errors.InvalidArgumentError(
            message=f"{what} is {_described(found)}, expected {name}; convert it with "
            "numpy's astype"
        )
    made = found
    if not isinstance(value, np.ndarray):
        try:
            made = np.asarray(value, wanted)
        except OverflowError as error:
            raise errors.InvalidArgumentError(message=f"{what}: {error}") from None
        except (RuntimeError, TypeError):  # of a list of another library's arrays
            made = found
    return np.require(made, wanted, ("C", "A"))


def _described(found: Array) -> str:
    """The dtype, with what an object array holds."""
    if found.dtype != OBJECT or not found.size:
        return str(found.dtype)
    return f"an array of objects, such as {array_likes.odd_element(found)}"


def lies_plainly(value: Array) -> bool:
    """Whether an array's elements follow each other, at addresses that C can read them from."""
    flags = value.flags
    return flags.c_contiguous and flags.aligned


def convert_value(value: Any, kinds: Sequence[str], wanted: np.dtype[Any], what: str) -> Any:
    """As `convert`, for what may be a sequence of values or an optional one.

    Args:
        value: an array, a list of values, or None for an optional value that holds nothing.
        kinds: see TensorSpec.
        wanted: dtype of the arrays.
        what: for errors.

    Raises:
        InvalidArgumentError: naming `what`.
    """
    if not kinds:
        return convert(value, wanted, what)
    if kinds[0] == "optional":
        return None if value is None else convert_value(value, kinds[1:], wanted, what)
    if not isinstance(value, (list, tuple)):
        raise errors.InvalidArgumentError(
            message=f"{what} is {type(value).__name__}, expected a list of values"
        )
    return [
        convert_value(v, kinds[1:], wanted, f"{what}, element {i},") for i, v in enumerate(value)
    ]


def _castable(value: Any, found: Array, wanted: np.dtype[Any]) -> bool:
    if isinstance(value, (np.ndarray, np.generic)):
        return np.can_cast(found.dtype, wanted, "same_kind")
    if found.dtype.kind not in _ORDER or wanted.kind not in _ORDER:
        return False
    return 0 in found.shape or _ORDER[found.dtype.kind] <= _ORDER[wanted.kind]


def _strings(value: Any, what: str) -> Array:
    found = np.array(value, OBJECT)
    flat = found.reshape(-1)
    for i, element in enumerate(flat.tolist()):
        if isinstance(element, str):
            flat[i] = element.encode()
        elif not isinstance(element, bytes):
            raise errors.InvalidArgumentError(
                message=f"{what} holds {type(element).__name__}, expected bytes or str"
            )
    return found


def choose(name: str | None, signatures: Sequence[str], metadata: Mapping[str, str]) -> str:
    """The signature that a name asks for; None: the only one, or that which the model's metadata
    say to take for all, because they compute the same.

    Raises:
        ValueError: there is no such signature, or several and no name.
    """
    if name is None and len(signatures) == 1:
        return signatures[0]
    if name is None and metadata.get(DEFAULT_SIGNATURE) in signatures:
        return metadata[DEFAULT_SIGNATURE]
    if name is None or name not in signatures:
        what = "name a signature" if name is None else f"there is no signature {name!r}"
        raise ValueError(f"{what}: the model has {', '.join(signatures) or 'none'}")
    return name


def with_name(
    signature: str, wanted: Iterable[str], nameless: Sequence[Any], named: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The inputs of a call by name: a signature with one input takes it without its name, too.

    Raises:
        TypeError: there are several inputs, or several were given.
    """
    keys = list(wanted)
    if len(keys) == len(nameless) == 1 and not named:
        return {keys[0]: nameless[0]}
    inputs = ", ".join(f"{key}=..." for key in keys)
    what = "one input, with or without its name" if len(keys) == 1 else "its inputs by name"
    raise TypeError(f"signature {signature!r} takes {what}: ({inputs})")


def wrong_names(
    signature: str, wanted: Iterable[str], given: Iterable[str]
) -> errors.InvalidArgumentError:
    """The error of a call that misses inputs of a signature or gives unknown ones."""
    inputs, names = list(wanted), list(given)
    missing = [key for key in inputs if key not in names]
    unknown = [key for key in names if key not in inputs]
    wrong = [f"misses {', '.join(missing)}"] if missing else []
    wrong += [f"gives unknown {', '.join(unknown)}"] if unknown else []
    return errors.InvalidArgumentError(
        message=f"signature {signature!r}: the call {' and '.join(wrong)}; its inputs are "
        f"{', '.join(inputs) or 'none'}"
    )


def check_inputs_count(signature: str, wanted: Iterable[str], given: int) -> None:
    """Raises InvalidArgumentError unless there is a value for each input of a signature."""
    keys = list(wanted)
    if given != len(keys):
        raise errors.InvalidArgumentError(
            message=f"signature {signature!r} takes {len(keys)} inputs "
            f"({', '.join(keys) or 'none'}), {given} were given"
        )


def check_outputs_count(signature: str, wanted: Sized, given: int) -> None:
    """Raises InvalidArgumentError unless there is an array for each output of a signature."""
    if given != len(wanted):
        raise errors.InvalidArgumentError(
            message=f"signature {signature!r} has {len(wanted)} outputs, {given} arrays were given "
            "for them"
        )


def check_output(spec: TensorSpec, signature: str, array: Any) -> None:
    """Raises InvalidArgumentError if an array cannot take an output of a signature."""
    what = f"output {spec.name!r} of signature {signature!r}"
    dtype = dtypes.of_numpy(spec.dtype).name
    if spec.kinds or spec.dtype == OBJECT:
        kinds = " ".join(spec.kinds) or dtype
        problem = f"{what} is {kinds}, for which no array can be given: leave it to the run"
    elif not isinstance(array, np.ndarray):
        problem = f"arrays for results must be arrays, not {type(array).__name__} ({what})"
    elif array.dtype != spec.dtype:
        problem = f"{what} is {dtype}, the array given for it {array.dtype}"
    elif not lies_plainly(array) or not array.flags.writeable:
        problem = f"the array given for {what} must be contiguous, aligned and writable"
    else:
        return
    raise errors.InvalidArgumentError(message=problem)


def wrong_shape(key: str, given: Sequence[int], found: Sequence[int]) -> errors.OpError:
    """The error of an array for an output that has another shape than the result."""
    return errors.InvalidArgumentError(
        message=f"the array for output {key!r} has shape {tuple(given)}, the result has "
        f"{tuple(found)}"
    )
