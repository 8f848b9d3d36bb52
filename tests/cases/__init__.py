"""Cases: one row drives every check of an operator, in both engines.

A row gives a node's inputs and attributes and what must come out. test_operators.py runs it with
inputs that are fed and with inputs that are constants, compares value, dtype and shape, compares
the engines with each other, and, where the operator has a body, the body with the kernel.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from graphio.schema import dtypes, operators

Array = np.ndarray[Any, Any]
FLOATS = ("float32", "float64")
INTS = ("int32", "int64")
NUMBERS = FLOATS + INTS
ALL_NUMBERS = (*NUMBERS, "int8", "uint8", "int16", "uint16", "uint32", "uint64")
TOLERANCE = {"float32": 2e-6, "float64": 1e-13}


@dataclass(frozen=True)
class Case:
    """One node.

    Attributes:
        op, domain, version: of the node.
        inputs: arrays, None for an absent one.
        attrs: int, float, str, lists of ints or floats, arrays, DType numbers as ints.
        outputs: what must come out.
        rtol, atol: for floats; integers must be equal.
        label: distinguishes cases of one operator.
        body: whether the operator's body must give the same, if it has one.
    """

    op: str
    domain: str
    version: int
    inputs: tuple[Array | None, ...]
    attrs: Mapping[str, Any]
    outputs: tuple[Array, ...]
    rtol: float
    atol: float
    label: str
    body: bool = True

    def __str__(self) -> str:
        shapes = ",".join("-" if x is None else f"{x.dtype}{list(x.shape)}" for x in self.inputs)
        return f"{self.op}-{self.label or shapes}"


@dataclass(frozen=True)
class BadCase:
    """A node that must be refused: with which class, and which words are in the message."""

    op: str
    domain: str
    version: int
    inputs: tuple[Array | None, ...]
    attrs: Mapping[str, Any]
    error: type[Exception]
    words: tuple[str, ...]
    outputs: int = 1
    label: str = field(default="")

    def __str__(self) -> str:
        return f"{self.op}-{self.label}"


CASES: list[Case] = []
BAD: list[BadCase] = []


def case(
    op: str,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any] | None = None,
    *,
    expect: Callable[..., Any] | Sequence[Any],
    domain: str = "",
    version: int | None = None,
    types: Sequence[str] | None = None,
    dtype: str | None = None,
    rtol: float | None = None,
    atol: float = 0.0,
    label: str = "",
    body: bool = True,
) -> None:
    """Adds a row, once for every type.

    Args:
        op, domain, version: the operator; None: the oldest version that expresses the node.
        inputs: arrays or lists; those of floats take each of the types, others keep theirs.
        attrs: of the node.
        expect: the outputs, or what gives them from the inputs (floats as float64); a tuple where
            there are several.
        types: None: the inputs as they are.
        dtype: of the outputs; None: each output of `expect` that is of floats takes the type.
        rtol, atol: None: by type.
        label: distinguishes cases of one operator.
        body: see Case.
    """
    for kind in types or (None,):
        arrays = tuple(None if x is None else _typed(np.asarray(x), kind) for x in inputs)
        given = [None if x is None else _wide(x) for x in arrays]
        with np.errstate(all="ignore"):
            found = expect(*given) if callable(expect) else tuple(expect)
        results = found if isinstance(found, tuple) else (found,)
        main = kind or next((str(x.dtype) for x in arrays if x is not None), "float32")
        CASES.append(
            Case(
                op,
                domain,
                version or _version(op, domain, arrays, attrs or {}),
                arrays,
                attrs or {},
                tuple(_result(np.asarray(r), main, dtype) for r in results),
                TOLERANCE.get(main, 0.0) if rtol is None else rtol,
                atol,
                f"{label}{'-' if label and kind else ''}{kind or ''}",
                body,
            )
        )


def _typed(x: Array, kind: str | None) -> Array:
    """Arrays of floats take the type; others (indices, conditions) are what they are."""
    return np.array(x.astype(kind) if kind is not None and x.dtype == np.float64 else x, order="C")


def _wide(x: Array) -> Array:
    return x.astype(np.float64) if x.dtype == np.float32 else x


def _result(x: Array, main: str, dtype: str | None) -> Array:
    if dtype is not None:
        return x.astype(dtype)
    return x.astype(main) if x.dtype == np.float64 and main in FLOATS else x


def _version(op: str, domain: str, arrays: Sequence[Array | None], attrs: Mapping[str, Any]) -> int:
    numbers = [dtypes.of_numpy(x.dtype).number for x in arrays if x is not None]
    return operators.version_for(op, domain, numbers, attributes=attrs, inputs=len(arrays))


def bad(
    op: str,
    inputs: Sequence[Any],
    attrs: Mapping[str, Any] | None = None,
    *,
    error: type[Exception],
    words: Sequence[str],
    domain: str = "",
    version: int | None = None,
    outputs: int = 1,
    label: str = "",
) -> None:
    """Adds a row that must be refused; see BadCase."""
    arrays = tuple(None if x is None else np.asarray(x) for x in inputs)
    number = version or _version(op, domain, arrays, attrs or {})
    BAD.append(
        BadCase(op, domain, number, arrays, attrs or {}, error, tuple(words), outputs, label)
    )


def floats(*shape: int, seed: int = 0, low: float = -2.0, high: float = 2.0) -> Array:
    """Numbers between low and high, the same in every run."""
    values = np.random.RandomState(seed).uniform(low, high, shape)
    return values.astype(np.float32).astype(np.float64)


def integers(*shape: int, low: int, high: int, seed: int = 0, dtype: str = "int64") -> Array:
    """Integers in [low, high), the same in every run."""
    return np.random.RandomState(seed).randint(low, high, shape).astype(dtype)
