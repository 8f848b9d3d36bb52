"""float16 and bfloat16 in kernels that compute in float32: widened, computed, rounded once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from graphio.runtime import registry
from graphio.runtime.registry import Array, Call, Function, Row
from graphio.schema import dtypes, small_types

FLOAT = 1


def needed(row: Row, numbers: Sequence[int]) -> bool:
    """Whether inputs that a kernel computes with have, or may have, half types."""
    halves = (*registry.HALF, 0)
    return any(n in halves and registry.computes(row, i) for i, n in enumerate(numbers))


def make(row: Row, call: Call) -> Function:
    """The kernel's function behind conversions.

    Args:
        row: the kernel.
        call: the node; element type 0 stands for one that only the run knows.
    """
    computed = [registry.computes(row, i) for i in range(len(call.dtypes))]
    certain = [c and n in registry.HALF for c, n in zip(computed, call.dtypes, strict=True)]
    wide = replace(
        call,
        dtypes=[FLOAT if c else n for c, n in zip(certain, call.dtypes, strict=True)],
        constants=[_widened(x) if x is not None else None for x in call.constants],
    )
    kernel = row.make(wide)
    declared = [t.tensor.dtype for t in call.outputs]

    def run(*inputs: Any) -> Any:
        pairs = zip(inputs, computed, strict=True)
        kinds = [x.dtype for x, c in pairs if c and x is not None and _is_half(x.dtype)]
        if not kinds:
            return kernel(*inputs)
        made = kernel(*(_widened(x) if c else x for x, c in zip(inputs, computed, strict=True)))
        if isinstance(made, tuple):
            return tuple(map(_narrowed, made, declared, kinds * len(made)))
        return _narrowed(made, declared[0], kinds[0])

    return run


def _is_half(dtype: np.dtype[Any]) -> bool:
    return dtype == np.float16 or dtype.name == "bfloat16"


def _widened(x: Array | None) -> Array | None:
    return x.astype(np.float32) if x is not None and _is_half(x.dtype) else x


def _narrowed(x: Any, declared: int, kind: np.dtype[Any]) -> Any:
    """The output in the type that the model declares, which is the inputs' where it does not."""
    if x is None or x.dtype != np.float32 or declared not in (*registry.HALF, 0):
        return x
    if declared == dtypes.BY_NAME["float16"].number:
        kind = np.dtype(np.float16)
    elif declared:
        kind = small_types.numpy_dtype(dtypes.of_number(declared))
    with np.errstate(over="ignore"):
        return x.astype(kind)
