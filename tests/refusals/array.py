"""Shapes, parts and layouts."""

from __future__ import annotations

import numpy as np

from graphio.support.errors import InvalidArgumentError, ResourceExhaustedError, UnimplementedError
from refusals import DOUBLE, f, i, of, refused, texts

HUGE = 2**62
FLAT = np.zeros((0, HUGE), np.int8)  # nothing, of a size that doubled is none

refused("Reshape", [f(2), [2, 0]], "copies an axis")
refused("Reshape", [f(2), [HUGE, 4]], "has 2 elements, the new shape at least 9223372036854775807")
refused("Reshape", [f(0, 2), [0, -1]], "new shape", allowzero=1)
refused("Reshape", [f(2), of(DOUBLE, 1)], "has no kernel; it takes", UnimplementedError)
refused("Reshape", [f(2), i(17)], "list of at most 16 numbers")
refused("Flatten", [f()], "out of range for rank 0", axis=2, runtime=None)
refused("Unsqueeze", [f(*[1] * 16), [0]], "rank 17", runtime=None)
refused("Transpose", [f(2, 3)], "perm", perm=[0, -1])
refused("Transpose", [f(2, 3)], "perm", perm=[0, 2])
refused("Transpose", [f(2, 3)], "perm", perm=[1, 1])
refused("Expand", [f(1), [-1]], "expected 0 or more")
refused(
    "Expand",
    [np.zeros((), np.int8), [HUGE, 2]],
    "larger",
    ResourceExhaustedError,
    runtime=InvalidArgumentError,
)
refused("Tile", [f(2, 3), [2]], "repeats has 1 numbers")
refused("Tile", [f(2), [-1]], "expected 0 or more")
refused("Tile", [FLAT, [1, 3]], "fits memory")
refused("Concat", [f(), f()], "scalars", axis=0)
refused("Concat", [FLAT, FLAT], "may differ", axis=1)
refused("Concat", [f(2), of(DOUBLE, 2)], "they must be equal: cast one", axis=0)
refused("Concat", [f(2), f(2, 2)], "may differ", axis=0)
refused("Split", [f(4), [-1, 5]], "split", outputs=[np.float32] * 2)
refused("Split", [f(4), [1, 2, 1]], "at most 2 numbers", outputs=[np.float32] * 2)
refused("Split", [f(4), [1, 1]], "split", outputs=[np.float32] * 2)
refused("Pad", [f(2), [1, 1]], "expected constant", mode="a" * 100, runtime=UnimplementedError)
refused("Pad", [f(2), [2**41, 1]], "expected -2^40", runtime=None)
refused("Pad", [f(2), [-(2**41), 1]], "expected -2^40")
refused("Pad", [f(2), [-2, -1]], "crop more")
refused("Pad", [np.zeros((0, HUGE + 1), np.int8), [0, 1, 0, 1]], "crop more", runtime=None)
refused("Pad", [f(2), [1, 1], of(DOUBLE, 1)], "they must be equal: cast one")
refused("Pad", [f(2), [1, 1], f(2)], "padding value", runtime=None)
refused("ConstantOfShape", [[2]], "expected 1", value=f(2), runtime=None)
refused("Range", [f(), f(2), f()], "expected one")
refused("Range", [f(), f(1, 1), f()], "expected one", runtime=None)
refused("Range", [f(), of(DOUBLE), f()], "they must be equal: cast one")
refused("Range", [of(np.bool_)] * 3, "has no kernel; it takes", UnimplementedError)
refused(
    "Range",
    [i(), np.array(2**62), np.array(1)],
    "larger",
    ResourceExhaustedError,
    runtime=InvalidArgumentError,
)
refused(
    "Range",
    [np.array(-(2**63)), np.array(2**63 - 1), np.array(1)],
    "larger",
    ResourceExhaustedError,
    runtime=InvalidArgumentError,
)
refused("OneHot", [texts(2), i(), f(2)], "has no kernel; it takes", UnimplementedError)
refused("OneHot", [i(2), i(), f(3)], "values")
refused("OneHot", [i(2), np.array(2**60), f(2)], "depth")
refused("OneHot", [i(2), of(np.bool_), f(2)], "has no kernel; it takes", UnimplementedError)
refused("OneHot", [i(2), np.array(1e18), f(2)], "depth")
refused("OneHot", [i(*[1] * 16), np.array(2), f(2)], "rank 17", runtime=None)
