"""Where ONNX Runtime's answer is wrong, undefined by the standard, or a crash of the process."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from differential_rows import Array, Call


@dataclass(frozen=True)
class Defect:
    """A case in which ONNX Runtime is wrong, or must not run."""

    op: str
    reason: str
    applies: Callable[[Call, list[Array]], bool]


def _divides_by_zero(call: Call, inputs: list[Array]) -> bool:
    x = inputs[1]
    return x.dtype.kind in "iu" and bool((x == 0).any() or (x.astype(np.int64) == -1).any())


def _has_nan(call: Call, inputs: list[Array]) -> bool:
    return any(x.dtype.kind == "f" and bool(np.isnan(x).any()) for x in inputs)


def _is_empty(call: Call, inputs: list[Array]) -> bool:
    return any(x.size == 0 for x in inputs)


def _leaves_the_type(call: Call, inputs: list[Array]) -> bool:
    """From floats to integers: beyond the range of the smallest type that is drawn."""
    x = inputs[0]
    with np.errstate(invalid="ignore"):
        return x.dtype.kind == "f" and not bool(((x > -1) & (x < 128)).all())


def _power_of_integers(call: Call, inputs: list[Array]) -> bool:
    """Negative exponents, and what doubles cannot hold."""
    a, b = inputs
    if a.dtype.kind not in "iu" or not (a.size and b.size):
        return False
    with np.errstate(all="ignore"):
        large = np.abs(a.astype(np.float64)).max() ** b.astype(np.float64).max()
    return bool((b < 0).any()) or not large < 2**31


def _no_logarithm(call: Call, inputs: list[Array]) -> bool:
    return inputs[0].dtype.kind in "iu" or _is_empty(call, inputs)


def _no_axes(call: Call, inputs: list[Array]) -> bool:
    return len(inputs) > 1 and inputs[1].size == 0


def _matmul_overflows(call: Call, inputs: list[Array]) -> bool:
    x = inputs[0]
    with np.errstate(over="ignore"):
        size = np.prod(np.maximum(np.abs(x.astype(np.float64)), 1))
    return x.dtype.kind in "iu" and not size < 2**31


def _last_part_is_empty(call: Call, inputs: list[Array]) -> bool:
    parts, size = call.attrs.get("num_outputs", 0), inputs[0].shape[call.attrs["axis"]]
    return bool(parts) and (parts - 1) * -(-size // parts) == size


def _constant_channel(call: Call, inputs: list[Array]) -> bool:
    x = inputs[0].astype(np.float64)
    return bool((x.std(tuple(call.attrs["axes"])) < 1e-3).any())


def _same_and_gaps(call: Call, inputs: list[Array]) -> bool:
    """SAME with strides beyond the kernel: the padding would be negative."""
    strides, kernel = call.attrs["strides"], call.attrs["kernel_shape"]
    return "SAME" in call.attrs.get("auto_pad", "") and any(
        s > k for s, k in zip(strides, kernel, strict=True)
    )


def _backward_from_before_the_start(call: Call, inputs: list[Array]) -> bool:
    if len(inputs) < 5:
        return False
    sizes = [inputs[0].shape[axis] for axis in inputs[3].tolist()]
    begins = zip(inputs[1].tolist(), inputs[4].tolist(), sizes, strict=True)
    return any(step < 0 and start < -size for start, step, size in begins)


def _of(*types: str) -> Callable[[Call, list[Array]], bool]:
    return lambda call, inputs: inputs[0].dtype.name in types


#: reason, the condition, operators
TABLE = (
    ("division by zero, and of the smallest number by -1, ends the process", _divides_by_zero,
     "Div Mod"),
    ("NaN is passed over, or comes anywhere; ours is numpy's", _has_nan,
     "ArgMax ArgMin TopK MaxPool GlobalMaxPool Softmax LogSoftmax Hardmax ReduceMax ReduceMin "
     "QuantizeLinear Unique Max Min Clip ScatterND ScatterElements Sign"),
    ("an axis of size 0 is not reduced", _is_empty,
     "ReduceSum ReduceMean ReduceProd ReduceL1 ReduceL2 ReduceSumSquare ReduceLogSumExp ReduceMax "
     "ReduceMin"),
    ("integers: the logarithm of 0 or less is undefined, and rounding differs", _no_logarithm,
     "ReduceLogSum ReduceLogSumExp"),
    ("what the type cannot hold is undefined; ours saturates", _leaves_the_type, "Cast CastLike"),
    ("integers go through double; to a negative power ours are 0", _power_of_integers, "Pow"),
    ("the kernel is missing, which the run reports", _of("float64"), "GRU LSTM RNN"),
    ("the kernel is missing, which the run reports", _of("int32", "uint8"), "Resize"),
    ("the kernel is missing, which the run reports", _of("float16"), "ScatterND"),
    ("four axes alone", lambda call, inputs: inputs[0].ndim != 4, "LRN"),
    ("nothing to sum is refused, or alpha and beta are forgotten", _is_empty, "MatMul Gemm"),
    ("a variance of 0 becomes less", _constant_channel, "MeanVarianceNormalization"),
    ("divides in float32; the standard: in the type of the scale", _of("float16"),
     "QuantizeLinear"),
    ("float64 is computed in float32, as stash_type allows", _of("float64"), "GroupNormalization"),
    ("wrapping around one element is refused", lambda call, inputs: call.attrs["mode"] == "wrap",
     "Pad"),
    ("integers that overflow do not wrap", _matmul_overflows, "ReduceProd"),
    ("a last part of nothing is refused", _last_part_is_empty, "Split"),
    ("constants are float32", _of("float64"), "Gelu"),
    ("the bias is cast to the integers by the standard's body", lambda call, inputs:
     inputs[0].dtype.kind != "f", "Shrink"),
    ("float64 is computed in float32", _of("float64"), "Shrink"),
    ("axes that are none are taken for absent ones", _no_axes, "Squeeze"),
    ("backward from before the first element: it has that one; numpy, the standard's reference and "
     "ours nothing", _backward_from_before_the_start, "Slice"),
    ("SAME with gaps between windows shifts them", _same_and_gaps, "AveragePool LpPool MaxPool"),
)  # fmt: skip

DEFECTS = [Defect(op, reason, applies) for reason, applies, ops in TABLE for op in ops.split()]
