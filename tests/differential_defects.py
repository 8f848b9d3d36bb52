"""Where ONNX Runtime's answer is wrong, undefined by the standard, or a crash of the process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from differential_rows import Array, Call


@dataclass(frozen=True)
class Defect:
    """Where ONNX Runtime is wrong, or must not be asked."""

    op: str
    reason: str
    applies: Callable[[Call, list[Array]], bool]



def _divides_by_zero(call: Call, inputs: list[Array]) -> bool:
    x = inputs[1]
    return x.dtype.kind in "iu" and bool((x == 0).any() or (x.astype(np.int64) == -1).any())


def _has_nan(call: Call, inputs: list[Array]) -> bool:
    return inputs[0].dtype.kind == "f" and bool(np.isnan(inputs[0]).any())


def _is_empty(call: Call, inputs: list[Array]) -> bool:
    return any(x.size == 0 for x in inputs)


def _leaves_the_type(call: Call, inputs: list[Array]) -> bool:
    """From floats to integers: beyond the least of the types that are drawn."""
    x = inputs[0]
    with np.errstate(invalid="ignore"):
        return x.dtype.kind == "f" and not bool(((x > -1) & (x < 128)).all())


def _negative_power(call: Call, inputs: list[Array]) -> bool:
    x = inputs[1]
    return all(i.dtype.kind in "iu" for i in inputs) and bool((x < 0).any())


def _of(*types: str) -> Callable[[Call, list[Array]], bool]:
    return lambda call, inputs: inputs[0].dtype.name in types


def _always(call: Call, inputs: list[Array]) -> bool:
    return True


ZERO = "integers: division by zero, and of the least number by -1, ends the process"
NAN = "NaN is passed over or comes anywhere; ours is that of numpy"
EMPTY = "an axis of size 0 is not reduced"
NO_KERNEL = "the kernel is missing, which is told in the run"

DEFECTS: list[Defect] = [
    *(Defect(op, ZERO, _divides_by_zero) for op in ("Div", "Mod")),
    *(Defect(op, NAN, _has_nan) for op in "ArgMax ArgMin TopK MaxPool GlobalMaxPool".split()),
    *(
        Defect(f"Reduce{op}", EMPTY, _is_empty)
        for op in "Sum Mean Prod L1 L2 SumSquare LogSum LogSumExp Max Min".split()
    ),
    *(Defect(op, "what the type cannot hold is undefined; ours saturates", _leaves_the_type)
      for op in ("Cast", "CastLike")),
    Defect("Pow", "integers to a negative power are undefined; ours is 0", _negative_power),
    *(Defect(op, NO_KERNEL, _of("float64")) for op in ("GRU", "LSTM", "RNN")),
    Defect("LRN", "of four axes alone", lambda call, inputs: inputs[0].ndim != 4),
    Defect("MatMul", "nothing to sum is refused", _is_empty),
    Defect("QuantizeLinear", "divides in float32; the standard: in the type of the scale",
           _of("float16")),
    Defect("GroupNormalization", "float64 is computed in float32, as stash_type allows",
           _of("float64")),
    Defect("Resize", NO_KERNEL, _of("int32", "uint8")),
    Defect("ScatterND", NO_KERNEL, _of("float16")),
]
