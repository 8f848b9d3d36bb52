"""Indices, places and choices."""

from __future__ import annotations

import ml_dtypes
import numpy as np

from graphio.support.errors import UnimplementedError
from refusals import DOUBLE, FLOAT, f, i, of, refused, texts

refused("Gather", [f(3), f(2)], "has no kernel; it takes", UnimplementedError)
refused("Gather", [f(0), i(1)], "the axis that it selects from is empty")
refused("Gather", [f(*[1] * 9), i(*[1] * 9)], "rank 17", runtime=None)
refused("Gather", [f(3), of(np.int64, 1, 2) * 7], "indices[0, 0] = 7")
refused("GatherND", [f(3), i()], "indices")
refused("GatherND", [f(3), i(1)], "batch", batch_dims=-1)
refused("GatherND", [f(3), i(1, 1, 1)], "expected rank 3 or more", batch_dims=2)
refused("GatherND", [f(3), i(1, 2)], "a coordinate has 2 numbers")
refused("GatherND", [f(3, 2), i(2, 1)], "batch axis 0 is 3 in data and 2 in indices", batch_dims=1)
refused("GatherND", [f(3), i(1)], "batch", batch_dims=17)
refused("GatherND", [f(*[1] * 10), i(*[1] * 9)], "rank 17", runtime=None)
refused("GatherND", [f(3), f(1, 1)], "has no kernel; it takes", UnimplementedError)
refused("ScatterND", [f(3), i(1, 1), f(2)], "updates")
refused("ScatterND", [f(3), i(1, 1), of(DOUBLE, 1)], "they must be equal: cast one")
refused("ScatterND", [f(3), i(1, 1), f(1, 1)], "updates")
refused("ScatterND", [f(3), i(1, 1), f(1)], "expected none, add", reduction="a" * 40)
refused(
    "ScatterElements",
    [texts(3), i(1), texts(1)],
    "two strings at one index",
    UnimplementedError,
    runtime=None,
    reduction="add",
)
refused("GatherElements", [f(3), i(4, 1)], "the ranks must be equal")
refused("GatherElements", [f(3, 2), i(4, 3)], "no axis but 0 larger", axis=0)
refused("ScatterElements", [f(3), i(1), f(2)], "updates")
refused("ScatterElements", [f(3), i(1), of(DOUBLE, 1)], "they must be equal: cast one")
refused("ScatterElements", [f(3), i(1), f(1, 1)], "updates")
refused(
    "graphio.ScatterSum",
    [i(1), texts(1), np.array(2)],
    "has no kernel; it takes",
    UnimplementedError,
    outputs=[object],
)
refused("graphio.ScatterSum", [i(1), f(1), [2, 2]], "expected", outputs=[FLOAT], runtime=None)
refused("graphio.ScatterSum", [i(1), f(1), np.array(-1)], "0 or more", outputs=[FLOAT])
refused(
    "graphio.ScatterSum",
    [i(), f(*[1] * 16), np.array(1)],
    "its shape must begin with",
    outputs=[FLOAT],
    runtime=None,
)
refused("graphio.ScatterSum", [i(2), f(3), np.array(1)], "values", outputs=[FLOAT])
refused(
    "TopK",
    [of(np.bool_, 3), [1]],
    "has no kernel",
    UnimplementedError,
    outputs=[np.bool_, np.int64],
)
refused("TopK", [texts(3), [1]], "has no kernel", UnimplementedError, outputs=[object, np.int64])
refused("TopK", [f(3), [1, 1]], "at most 1", outputs=[FLOAT, np.int64])
refused("TopK", [f(3), i(0)], "k is", outputs=[FLOAT, np.int64])
refused("Unique", [of(ml_dtypes.float8_e5m2, 3)], "has no kernel", UnimplementedError, runtime=None)
refused("Trilu", [f(3, 3), f(1)], "has no kernel; it takes", UnimplementedError)
refused("Trilu", [f(3, 3), [1, 1]], "k is")
refused("Trilu", [f(3)], "rank")
refused("EyeLike", [f(2, 2)], "no kernel for type", UnimplementedError, dtype=-1)
refused("EyeLike", [f(2, 2)], "no kernel for type", UnimplementedError, dtype=99)
refused(
    "EyeLike",
    [f(2, 2)],
    "no kernel for type",
    UnimplementedError,
    dtype=14,
    outputs=[np.complex64],
    runtime=None,
)
refused("EyeLike", [f(2)], "expected a matrix")
refused("Compress", [f(2), f(2)], "has no kernel; it takes", UnimplementedError)
refused("Compress", [f(2), of(np.bool_, 1, 2)], "condition")
refused("ReverseSequence", [f(2, 2), [1, 1]], "batch_axis", batch_axis=-1, time_axis=0)
refused(
    "ReverseSequence",
    [f(2, 2), of(np.int32, 2)],
    "has no kernel; it takes",
    UnimplementedError,
    batch_axis=0,
    time_axis=1,
)
refused("ReverseSequence", [f(2, 2), i(1, 2)], "sequence_lens is", batch_axis=0, time_axis=1)
refused("TensorScatter", [f(1, 3, 2), of(DOUBLE, 1, 1, 2)], "they must be equal: cast one")
refused("TensorScatter", [f(1, 3, 2), f(1, 2)], "update")
refused(
    "TensorScatter",
    [f(1, 3, 2), f(1, 1, 2), of(np.int32, 1)],
    "has no kernel; it takes",
    UnimplementedError,
)
refused("TensorScatter", [f(1, 3, 2), f(1, 1, 2), i(1, 1)], "indices")
refused("TensorScatter", [f(1, 3, 2), f(1, 1, 2)], "mode", mode="a" * 60)
refused("Where", [f(2), f(2), f(2)], "has no kernel; it takes", UnimplementedError)
refused("Where", [of(np.bool_, 2), f(2), of(DOUBLE, 2)], "they must be equal", outputs=[FLOAT])
refused("Clip", [texts(2)], "no kernel", UnimplementedError)
refused("Clip", [f(2), of(DOUBLE)], "they must be equal: cast one")
refused("Clip", [f(2), None, of(DOUBLE)], "they must be equal: cast one")
refused("Clip", [f(2), f(2)], "bound min")
refused("ArgMax", [texts(2)], "no kernel", UnimplementedError, outputs=[np.int64])
refused("ArgMax", [of(np.bool_, 2)], "no kernel", UnimplementedError, outputs=[np.int64])
refused("CumSum", [f(2), [0, 0]], "at most 1 numbers", runtime=None)
refused("CumSum", [f(2), i(0)], "axis must be one number")
refused("CumSum", [texts(2), [0]], "no kernel", UnimplementedError)
refused(
    "graphio.CheckSparseIndices",
    [of(np.int32, 1, 1), [2]],
    "has no kernel; it takes",
    UnimplementedError,
    runtime=None,
)
refused("graphio.CheckSparseIndices", [i(1), [2]], "indices")
refused(
    "graphio.CheckSparseIndices",
    [i(1, 1), of(np.int32, 1)],
    "has no kernel; it takes",
    UnimplementedError,
    runtime=None,
)
refused("graphio.CheckSparseIndices", [i(1, 1), i(1, 1)], "one number a coordinate")
refused("graphio.CheckSparseIndices", [i(2, 0), i(0)], "indices[1] = [] is repeated", ordered=1)
refused("graphio.CheckEqual", [np.arange(200), np.arange(200) + 1], ": [0,1,2", message="m" * 300)
refused(
    "graphio.CheckEqual",
    [of(np.int32, 1), [1]],
    "has no kernel; it takes",
    UnimplementedError,
    runtime=None,
)
refused("GatherND", [f(3, 3), i(2, 1)], "batch", batch_dims=-1)
refused("ScatterND", [f(3), i(1, 1), f(1)], "expected none, add", reduction="x")
refused("ScatterND", [f(3), f(1, 1), f(1)], "has no kernel; it takes", UnimplementedError)
refused("GatherElements", [f(3), f(1)], "has no kernel; it takes", UnimplementedError)
refused("ScatterElements", [f(3), f(1), f(1)], "has no kernel; it takes", UnimplementedError)
refused("graphio.IndexRange", [i(3) - 1], "IndexRange", limit=-1)
refused("graphio.NonZeroDivisor", [i(3)], "NonZeroDivisor")
refused(
    "ScatterElements",
    [f(3), of(np.int32, 1).astype(np.int8), f(1)],
    "has no kernel; it takes",
    UnimplementedError,
)
