"""The table of kernels: which function computes an operator, from which version on.

A kernel is made once per node: `make(call)` reads attributes and constants and returns the
function that a run calls with the input arrays (None for an absent one). It returns one array, or
a tuple where the node has several outputs. Kernels never change their inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from graphio.engine import custom
from graphio.engine.interface import HostFunction
from graphio.schema import dtypes, small_types
from graphio.schema.model_pb2 import Type
from graphio.support import errors

if TYPE_CHECKING:
    from graphio.runtime.plan import Block
    from graphio.runtime.state import State

Array = np.ndarray[Any, Any]
Function = Callable[..., Any]
Make = Callable[["Call"], Function]


@dataclass(frozen=True)
class Row:
    """One kernel for a range of versions.

    Attributes:
        domain, op: the operator.
        since, until: versions that it serves; until None: no end.
        types: one letter an input, see KINDS; equal letters mean equal dtypes; the last letter
            followed by "*" repeats. Empty: unchecked.
        fresh: the outputs never share memory with inputs, so they may leave without a copy.
        alias: the output is the first input; no step is needed.
        fold: with constant inputs the result is the same in every run.
        reuse: by input, a function that may write the result into that input's memory; a plan
            takes it where no later step reads the input.
        make: the factory.
        same: the function that every node has, where it needs no factory.
    """

    domain: str
    op: str
    since: int
    until: int | None
    types: str
    fresh: bool
    alias: bool
    fold: bool
    reuse: Mapping[int, Function]
    make: Make
    same: Function | None = None


#: The types that a letter of Row.types admits, as numpy's kind letters. Some letters mean the same,
#: so that two inputs may differ in dtype. cinfer/src/plan/kinds.c has the same table.
KINDS = {
    "A": ("any type", "fiubOc"),
    "E": ("any type", "fiubOc"),
    "P": ("types that are compared", "fiubOc"),
    "N": ("numbers", "fiu"),
    "M": ("numbers", "fiu"),
    "K": ("numbers", "fiu"),
    "X": ("numbers or bool", "fiub"),
    "F": ("floats", "f"),
    "H": ("floats", "f"),
    "V": ("float32", "f"),
    "G": ("float32, float16 or bfloat16", "f"),
    "W": ("floats, int32, int64, uint32 or uint64", "fiu"),
    "B": ("bool", "b"),
    "S": ("strings", "O"),
    "T": ("int32, int64 or strings", "iO"),
    "D": ("int32", "i"),
    "I": ("int32 or int64", "i"),
    "J": ("int32 or int64", "i"),
    "L": ("int64", "i"),
    "Z": ("integers", "iu"),
    "C": ("complex64 or complex128", "c"),
    "R": ("float32 or float64", "f"),
}

#: Letters of inputs that a kernel computes with: it sees float16 and bfloat16 as float32, and what
#: it gives is rounded once. Under A and E any type passes as it is.
_COMPUTED = "NMKXFHGW"
#: The element types of letters that admit fewer than all of their kinds.
_NARROW = {
    "D": (6,),
    "G": (1, 10, 16),
    "I": (6, 7),
    "J": (6, 7),
    "L": (7,),
    "R": (1, 11),
    "T": (6, 7, 8),
    "V": (1,),
    "W": (1, 6, 7, 10, 11, 12, 13, 16),
}
HALF = (10, 16)

_ROWS: dict[tuple[str, str], list[Row]] = {}


def kernel(
    op: str,
    since: int = 1,
    until: int | None = None,
    *,
    domain: str = "",
    types: str = "",
    fresh: bool = False,
    alias: bool = False,
    fold: bool = True,
    reuse: Mapping[int, Function] | None = None,
    same: Function | None = None,
) -> Callable[[Make], Make]:
    """Registers the factory that it decorates; the arguments are Row's."""

    def register(make: Make) -> Make:
        _ROWS.setdefault((domain, op), []).append(
            Row(domain, op, since, until, types, fresh, alias, fold, reuse or {}, make, same)
        )
        return make

    return register


def function(
    op: str,
    since: int,
    fn: Function,
    types: str,
    *,
    domain: str = "",
    fresh: bool = True,
    reuse: Mapping[int, Function] | None = None,
) -> None:
    """Registers a kernel that is the same function for every node."""
    register = kernel(op, since, domain=domain, types=types, fresh=fresh, reuse=reuse, same=fn)
    register(lambda call: fn)


#: Below it a fresh array costs less than asking.
_WORTH_REUSING = 1 << 14


def can_hold(x: Any, shape: tuple[int, ...]) -> bool:
    """Whether x owns its memory, is large enough to bother, and has the shape."""
    return (
        x.__class__ is np.ndarray
        and x.nbytes > _WORTH_REUSING
        and (x.shape == shape and x.base is None)
    )


def find(domain: str, op: str, version: int) -> Row | None:
    """The row that serves a version, None if there is none."""
    for row in _ROWS.get((domain, op), ()):
        if row.since <= version and (row.until is None or version <= row.until):
            return row
    return _custom(domain, op, version)


def _custom(domain: str, op: str, version: int) -> Row | None:
    """The row of a custom operator that has a kernel in Python."""
    made = custom.find(domain, op, version)
    if made is None or made.kernel is None:
        return None

    def make(call: Call) -> Function:
        attributes = made.attributes(call.attrs)

        def run(*inputs: Any) -> Any:
            found = made.compute(inputs, attributes)
            return found if len(found) > 1 else found[0]

        return run

    return Row(domain, op, 1, None, "", False, False, not made.row.stateful, {}, make)


def known(domain: str, op: str, version: int) -> bool:
    """Whether there is a kernel."""
    return find(domain, op, version) is not None


def operators() -> list[tuple[str, str]]:
    """(domain, name) of every operator with a kernel, sorted."""
    return sorted(_ROWS)


@dataclass
class Call:
    """The facts that a factory learns about the node that it makes a function for.

    Attributes:
        name, op, version: of the node.
        attrs: its attributes as Python values; subgraphs are in `bodies`.
        dtypes: element type numbers of the inputs; 0 where absent or unknown.
        outputs: static types of the outputs.
        constants: for each input its array if that is the same in every run, else None.
        bodies: compiled subgraphs by attribute.
        captures: names of the outer values that follow the inputs in the function's arguments.
        borrowed: whether inputs may share memory that the caller or the state owns.
        state: what the node's variables and generators live in.
        host: functions that HostCall nodes call.
    """

    name: str
    op: str
    version: int
    attrs: Mapping[str, Any]
    dtypes: Sequence[int] = ()
    outputs: Sequence[Type] = ()
    constants: Sequence[Array | None] = ()
    bodies: Mapping[str, Block] = field(default_factory=dict)
    captures: Sequence[str] = ()
    borrowed: bool = True
    state: State | None = None
    host: Mapping[str, HostFunction] = field(default_factory=dict)

    def integer(self, key: str, default: int) -> int:
        """An integer attribute."""
        value = self.attrs.get(key, default)
        if isinstance(value, int):
            return value
        raise _wrong_kind(key, value, "an integer")

    def number(self, key: str, default: float) -> float:
        """A number attribute; files hold float32, and a default is one, too."""
        value = self.attrs.get(key, default)
        if isinstance(value, (float, int)):
            return float(np.float32(value))
        raise _wrong_kind(key, value, "a number")

    def text(self, key: str, default: str) -> str:
        """A string attribute."""
        value = self.attrs.get(key, default)
        value = value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        if isinstance(value, str):
            return value
        raise _wrong_kind(key, value, "text")

    def integers(self, key: str) -> list[int] | None:
        """A list of integers, None if the attribute is absent."""
        value = self.attrs.get(key)
        if value is None or (isinstance(value, list) and all(isinstance(i, int) for i in value)):
            return value
        raise _wrong_kind(key, value, "a list of integers")

    def array(self, key: str) -> Array | None:
        """A tensor attribute, None if it is absent."""
        value = self.attrs.get(key)
        if value is None or isinstance(value, np.ndarray):
            return value
        raise _wrong_kind(key, value, "a tensor")

    def dtype(self, key: str) -> np.dtype[Any]:
        """The dtype that an attribute gives by its number."""
        return numpy_dtype(self.integer(key, 0))

    def constant(self, index: int) -> Array | None:
        """The array of an input that is the same in every run."""
        return self.constants[index] if index < len(self.constants) else None


def _wrong_kind(key: str, value: Any, expected: str) -> errors.OpError:
    return errors.InvalidArgumentError(
        message=f"attribute {key!r} is {type(value).__name__}, expected {expected}"
    )


def numpy_dtype(number: int) -> np.dtype[Any]:
    """The numpy dtype of an element type, that of ml_dtypes where numpy has none."""
    return small_types.numpy_dtype(dtypes.of_number(number))


def letter_of(row: Row, index: int) -> str:
    """The letter of an input; "" where the row does not say."""
    letters = row.types.rstrip("*")
    if index < len(letters):
        return letters[index]
    return letters[-1] if letters and row.types.endswith("*") else ""


def computes(row: Row, index: int) -> bool:
    """Whether the kernel computes with the input, rather than moving its elements."""
    letter = letter_of(row, index)
    return letter != "" and letter in _COMPUTED


def check_types(row: Row, found: Sequence[int]) -> None:
    """Refuses dtypes that the kernel does not take.

    Args:
        row: the kernel.
        found: element type numbers of the inputs; 0: unknown, -1: absent.

    Raises:
        UnimplementedError: an input's dtype is none of those that the kernel takes.
        InvalidArgumentError: two inputs that must agree differ.
    """
    seen: dict[str, tuple[int, int]] = {}
    for i, number in enumerate(found):
        letter = letter_of(row, i)
        if not letter or number <= 0:
            continue
        words, kinds = KINDS[letter]
        admitted = number in _NARROW.get(letter, (number,))
        if letter not in "AE" and (_kind(number) not in kinds or not admitted):
            raise errors.UnimplementedError(
                message=f"input {i} has type {dtypes.name(number)}, for which this operator has no "
                f"kernel; it takes {words}"
            )
        widened = number in HALF and letter in _COMPUTED
        computed = dtypes.BY_NAME["float32"].number if widened else number
        first, other = seen.setdefault(letter, (i, computed))
        if other != computed and letter not in "IJL":
            raise errors.InvalidArgumentError(
                message=f"input {i} has type {dtypes.name(number)}, input {first} has "
                f"{dtypes.name(other)}; they must be equal: cast one"
            )


def _kind(number: int) -> str:
    """numpy's letter for the kind of an element type; "-" where numpy has none."""
    dtype = dtypes.of_number(number).numpy
    return "f" if number in HALF else "-" if dtype is None else dtype.kind
