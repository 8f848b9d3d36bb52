"""Arguments of callers of either engine: names, dtypes and shapes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence, Sized
from typing import Any, TypeVar

import numpy as np

from graphio.engine import array_likes
from graphio.engine.interface import TensorSpec
from graphio.schema import dtypes
from graphio.support import errors

Array = np.ndarray[Any, Any]
S = TypeVar("S")
OBJECT = np.dtype(object)
#: of a model's metadata: the signature to take where none is named
DEFAULT_SIGNATURE = "default_signature"
_ORDER = {"b": 0, "u": 1, "i": 1, "f": 2, "c": 3}  # Python numbers may become a later kind


def fits(shape: Sequence[int], static: Sequence[int | None]) -> bool:
    """Whether a shape is one that the static shape, None being any size, admits."""
    return len(shape) == len(static) and all(
        want is None or want == got for want, got in zip(static, shape, strict=True)
    )


def state_or_new(given: Any, kind: type[S]) -> S:
    """The state that a load was given; None: a new one of the engine's class.

    Raises:
        TypeError: the state is another engine's, or something else.
    """
    if given is None:
        return kind()
    if not isinstance(given, kind):
        found = type(given)
        raise TypeError(
            f"state is a {found.__module__}.{found.__qualname__}, expected a "
            f"{kind.__module__}.{kind.__qualname__}: load with the target of the session or model "
            "whose state it is"
        )
    return given


def convert(value: Any, expected: np.dtype[Any], what: str) -> Array:
    """value as a contiguous array of the expected dtype.

    Python numbers and lists are converted where nothing is cut off (no float becomes an
    integer); arrays are cast within their kind only. Text becomes bytes.

    Raises:
        InvalidArgumentError: naming `what` and both dtypes.
    """
    if expected == OBJECT:
        return _strings(value, what)
    if isinstance(value, np.ndarray) and value.dtype == expected and lies_plainly(value):
        if not isinstance(value, np.ma.MaskedArray):
            return value
    try:
        found = array_likes.to_numpy(value)
    except (ValueError, TypeError) as error:
        raise errors.InvalidArgumentError(message=f"{what}: {error}") from None
    value = found if hasattr(value, "dtype") else value  # an array of any library
    if not _castable(value, found, expected):
        name = dtypes.of_numpy(expected).name
        raise errors.InvalidArgumentError(
            message=f"{what} is {_described(found)}, expected {name}; convert it with "
            "numpy's astype"
        )
    made = found
    if not isinstance(value, np.ndarray):
        try:
            made = np.asarray(value, expected)
        except OverflowError as error:
            raise errors.InvalidArgumentError(message=f"{what}: {error}") from None
        except (RuntimeError, TypeError):  # of a list of another library's arrays
            made = found
    return np.require(made, expected, ("C", "A"))


def _described(found: Array) -> str:
    """The dtype, with what an object array holds."""
    if found.dtype != OBJECT or not found.size:
        return str(found.dtype)
    return f"an array of objects, such as {array_likes.odd_element(found)}"


def lies_plainly(value: Array) -> bool:
    """Whether an array's elements follow each other, at addresses that C can read them from."""
    flags = value.flags
    return flags.c_contiguous and flags.aligned


def convert_value(value: Any, kinds: Sequence[str], expected: np.dtype[Any], what: str) -> Any:
    """As `convert`, for what may be a sequence of values or an optional one.

    Args:
        value: an array, a list of values, or None for an optional value that holds nothing.
        kinds: see TensorSpec.
        expected: dtype of the arrays.
        what: for errors.

    Raises:
        InvalidArgumentError: naming `what`.
    """
    if not kinds:
        return convert(value, expected, what)
    if kinds[0] == "optional":
        return None if value is None else convert_value(value, kinds[1:], expected, what)
    if not isinstance(value, (list, tuple)):
        raise errors.InvalidArgumentError(
            message=f"{what} is {type(value).__name__}, expected a list of values"
        )
    return [
        convert_value(v, kinds[1:], expected, f"{what}, element {i},") for i, v in enumerate(value)
    ]


def _castable(value: Any, found: Array, expected: np.dtype[Any]) -> bool:
    if isinstance(value, (np.ndarray, np.generic)):
        return np.can_cast(found.dtype, expected, "same_kind")
    if found.dtype.kind not in _ORDER or expected.kind not in _ORDER:
        return False
    return 0 in found.shape or _ORDER[found.dtype.kind] <= _ORDER[expected.kind]


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
    signature: str, expected: Iterable[str], nameless: Sequence[Any], named: Mapping[str, Any]
) -> Mapping[str, Any]:
    """The inputs of a call by name: a signature with one input takes it without its name, too.

    Raises:
        TypeError: there are several inputs, or several were given.
    """
    keys = list(expected)
    if len(keys) == len(nameless) == 1 and not named:
        return {keys[0]: nameless[0]}
    inputs = ", ".join(f"{key}=..." for key in keys)
    what = "one input, with or without its name" if len(keys) == 1 else "its inputs by name"
    raise TypeError(f"signature {signature!r} takes {what}: ({inputs})")


def wrong_names(
    signature: str, expected: Iterable[str], given: Iterable[str]
) -> errors.InvalidArgumentError:
    """The error of a call that misses inputs of a signature or gives unknown ones."""
    inputs, names = list(expected), list(given)
    missing = [key for key in inputs if key not in names]
    unknown = [key for key in names if key not in inputs]
    wrong = [f"misses {', '.join(missing)}"] if missing else []
    wrong += [f"gives unknown {', '.join(unknown)}"] if unknown else []
    return errors.InvalidArgumentError(
        message=f"signature {signature!r}: the call {' and '.join(wrong)}; its inputs are "
        f"{', '.join(inputs) or 'none'}"
    )


def check_inputs_count(signature: str, expected: Iterable[str], given: int) -> None:
    """Raises InvalidArgumentError unless there is a value for each input of a signature."""
    keys = list(expected)
    if given != len(keys):
        raise errors.InvalidArgumentError(
            message=f"signature {signature!r} takes {len(keys)} inputs "
            f"({', '.join(keys) or 'none'}), {given} were given"
        )


def check_outputs_count(signature: str, expected: Sized, given: int) -> None:
    """Raises InvalidArgumentError unless there is an array for each output of a signature."""
    if given != len(expected):
        raise errors.InvalidArgumentError(
            message=f"signature {signature!r} has {len(expected)} outputs, {given} arrays were "
            "given for them"
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
