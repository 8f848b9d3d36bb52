"""Windows: convolution, pooling, resizing, sampling."""

from __future__ import annotations

import numpy as np

from graphio.support.errors import InvalidArgumentError, ResourceExhaustedError, UnimplementedError
from refusals import DOUBLE, FLOAT, f, i, of, refused, texts

LONG = 2**31
NONE = np.zeros((0, 1, LONG, 1), np.int8)
C2 = {"strides": [1, 1], "dilations": [1, 1], "group": 1, "auto_pad": "VALID"}
P2 = {"strides": [1, 1], "kernel_shape": [2, 2], "auto_pad": "VALID"}


def none(*shape: int, of: type = FLOAT) -> np.ndarray:
    """A tensor without elements, however long its other axes."""
    return np.zeros(shape, of)


two, three = f(1, 2, 2, 1), f(1, 1, 2, 2)
refused(
    "graphio.Conv2D",
    [of(np.int32, 1, 2, 2, 1)] * 2,
    "has no kernel; it takes",
    UnimplementedError,
    **C2,
)
refused("graphio.Conv2D", [f(2, 2, 1), f(1, 1, 1, 1)], "rank", **C2)
refused("graphio.Conv2D", [two, f(1, 1, 1)], "rank", **C2)
refused("graphio.Conv2D", [two, of(DOUBLE, 1, 1, 1, 1)], "type", **C2)
refused("graphio.Conv2D", [two, f(1, 1, 1, 1)], "group", **{**C2, "group": 0})
refused("graphio.Conv2D", [two, f(1, 1, 1, 1)], "group", **{**C2, "group": 2})
refused("graphio.Conv2D", [two, f(1, 1, 2, 1)], "group", **C2)
refused("graphio.Conv2D", [f(1, 2, 2, 2), f(1, 1, 1, 3)], "cannot be divided", **{**C2, "group": 2})
refused("graphio.Conv2D", [f(1, 2, 2, 3), f(1, 1, 1, 3)], "group", **{**C2, "group": 2})
refused("graphio.Conv2D", [two, none(1, 1, 1, 0)], "group", **{**C2, "group": -1})
refused("graphio.Conv2D", [none(0, 2, 2, 1), none(0, 1, 1, LONG)], "window", **C2, runtime=None)
refused("graphio.Conv2D", [none(1, LONG, 1, 0), none(1, 1, 0, 1)], "image axis", **C2, runtime=None)
refused("graphio.Conv2D", [two, f(1, 1, 1, 1)], "expected 1 to", **{**C2, "strides": [0, 1]})
refused(
    "graphio.Conv2D",
    [two, f(1, 1, 1, 1)],
    "expected 1 to",
    **{**C2, "strides": [LONG * 2, 1]},
    runtime=None,
)
refused("graphio.Conv2D", [two, f(1, 1, 1, 1)], "auto_pad", **{**C2, "auto_pad": "a" * 60})
refused("graphio.Conv2D", [two, f(3, 1, 1, 1)], "window", **C2)
refused("graphio.Conv2D", [two, f(1, 3, 1, 1)], "window", **C2)
dy = f(1, 2, 2, 1)
refused(
    "graphio.Conv2DGradInput",
    [[1, 2, 2, 1], f(1, 1, 1), dy],
    "expected two tensors of rank 4",
    outputs=[FLOAT],
    **C2,
)
refused(
    "graphio.Conv2DGradInput",
    [[1, 2, 2, 1], f(1, 1, 1, 1), f(2, 2, 1)],
    "expected two tensors of rank 4",
    outputs=[FLOAT],
    **C2,
)
refused(
    "graphio.Conv2DGradInput",
    [[1, 2, 2, 1], of(DOUBLE, 1, 1, 1, 1), dy],
    "they must be equal: cast one",
    outputs=[FLOAT],
    **C2,
)
refused(
    "graphio.Conv2DGradInput",
    [[1, 2, 3, 1], f(1, 1, 1, 1), dy],
    "from the image and the filters",
    outputs=[FLOAT],
    **C2,
)
refused("graphio.Conv2DGradInput", [[1, 2, 2], f(1, 1, 1, 1), dy], "shape", outputs=[FLOAT], **C2)
refused(
    "graphio.Conv2DGradInput",
    [[1, -2, 2, 1], f(1, 1, 1, 1), dy],
    "image axis",
    outputs=[FLOAT],
    **C2,
)
refused("graphio.Conv2DGradFilter", [two, [1, 1, 1], dy], "shape", **C2)
refused("graphio.Conv2DGradFilter", [two, [1, 1, -1, 1], dy], "group", **C2)
refused("graphio.Conv2DGradFilter", [two, [1, 1, 1, -1], dy], "outputs", **C2)
refused("graphio.Conv2DGradFilter", [two, [0, 1, 1, 1], dy], "window", **C2)
refused("graphio.Conv2DGradFilter", [two, [1, 2**40, 1, 1], dy], "window", **C2)
refused("graphio.MaxPool2D", [two], "kernel_shape", **{**P2, "kernel_shape": [2]})
refused("graphio.MaxPool2D", [two], "window", **{**P2, "kernel_shape": [0, 2]})
refused("graphio.MaxPool2D", [two], "window", **{**P2, "kernel_shape": [2, 0]})
refused("graphio.MaxPool2D", [two], "window", **{**P2, "kernel_shape": [2**40, 2]})
refused("graphio.MaxPool2D", [two], "window", **{**P2, "kernel_shape": [2, 2**40]})
for at in range(4):
    pads = [2 if n == at else 0 for n in range(4)]
    refused(
        "graphio.MaxPool2D",
        [two],
        "must be smaller than the window",
        **{**P2, "auto_pad": "NOTSET", "pads": pads},
        runtime=None,
    )
refused("graphio.MaxPool2D", [none(0, 2**31, 2, 1)], "image axis", **P2, runtime=None)
refused("graphio.MaxPool2DGrad", [two, f(1, 2, 1, 1)], "from the image and the window", **P2)
refused(
    "graphio.MaxPool2DGrad", [two, of(DOUBLE, 1, 1, 1, 1)], "they must be equal: cast one", **P2
)
refused(
    "graphio.AveragePool2DGrad",
    [[1, 2, 2], f(1, 1, 1, 1)],
    "expected n, h, w, c",
    outputs=[FLOAT],
    **P2,
)
refused(
    "graphio.AveragePool2DGrad",
    [[1, 3, 2, 1], f(1, 1, 1, 1)],
    "from the image and the window",
    outputs=[FLOAT],
    **P2,
)
refused(
    "graphio.AveragePool2DGrad",
    [[9, 2**30, 2**30, 1], f(1, 1, 1, 1)],
    "too many",
    outputs=[FLOAT],
    **{**P2, "kernel_shape": [1, 1]},
)

x, w = f(1, 1, 4, 4), f(1, 1, 2, 2)
refused("Conv", [x, of(DOUBLE, 1, 1, 2, 2)], "they must be equal: cast one")
refused("Conv", [x, f(1, 1, 2)], "rank")
refused("Conv", [of(np.int32, 1, 1, 2, 2)] * 2, "has no kernel; it takes", UnimplementedError)
refused("Conv", [x, w, of(DOUBLE, 1)], "b")
refused("Conv", [x, w, f(1, 1)], "b")
refused("Conv", [x, w], "group", group=2**40)
refused("Conv", [none(0, 0, 4, 4), none(0, 2**32, 2, 2)], "group")
refused("Conv", [x, w], "kernel", kernel_shape=[0, 2])
refused("Conv", [none(1, 0, 2**32, 4), none(1, 0, 2, 2)], "image axis", runtime=None)
refused("Conv", [f(1, 1), f(1, 1)], "rank")
refused("Conv", [x, w], "pads", pads=[2**40, 0, 0, 0])
refused("ConvTranspose", [x, w], "group", group=0)
refused("ConvTranspose", [x, w], "group", group=2**40)
refused("ConvTranspose", [x, f(2, 1, 2, 2)], "group")
refused("ConvTranspose", [f(1, 3, 2, 2), f(3, 1, 2, 2)], "group", group=2)
refused("ConvTranspose", [none(1, 0, 4, 4), none(0, 2**32, 2, 2)], "group", runtime=None)
refused("ConvTranspose", [none(1, 1, 0, 4), w], "expected 1 to")
refused("ConvTranspose", [none(0, 1, 2**32, 4), w], "expected 1 to", runtime=None)
refused("ConvTranspose", [x, w], "output_padding", output_padding=[1, 1])
refused("ConvTranspose", [x, w], "output_shape", output_shape=[3])
refused(
    "ConvTranspose",
    [x, w],
    "of the result has 3221225474",
    strides=[2**30, 1],
    output_padding=[0, 0],
    runtime=None,
)
refused("ConvTranspose", [x, w], "of the result has -5", pads=[5, 5, 5, 5])
refused(
    "graphio.ConvGradInput",
    [[1, 1, 4], w, f(1, 1, 3, 3)],
    "the shape has 3 numbers",
    outputs=[FLOAT],
)
refused(
    "graphio.ConvGradInput",
    [[1, 1, -4, 4], w, f(1, 1, 3, 3)],
    "the shape has size -4",
    outputs=[FLOAT],
)
refused("graphio.ConvGradInput", [[2, 1, 4, 4], w, f(1, 1, 3, 3)], "dy", outputs=[FLOAT])
refused("graphio.ConvGradWeight", [x, [1, 1, 2], f(1, 1, 3, 3)], "the shape has 3 numbers")
refused(
    "Col2Im", [of(np.int32, 1, 4, 1), [2, 2], [2, 2]], "has no kernel; it takes", UnimplementedError
)
refused("Col2Im", [f(1, 4, 1), [2, 2], [2]], "expected as many")
refused("Col2Im", [f(1, 4, 1), i(0), i(0)], "spatial axes")
refused("Col2Im", [f(1, 4, 1), [2, 2], [0, 2]], "the kernel has size")
refused("Col2Im", [f(1, 4, 1), [2, 2], [2, 2**40]], "the kernel has size")
refused("Col2Im", [f(4, 1), [2, 2], [2, 2]], "Col2Im")
refused("Col2Im", [f(1, 4, 2), [2, 2], [2, 2]], "Col2Im")
refused("Col2Im", [f(1, 4, 1), [-2, 2], [2, 2]], "image axis")
b8 = of(np.uint8, 1, 1, 4, 4)
refused("ConvInteger", [b8, f(1, 1, 2, 2)], "int8", UnimplementedError, outputs=[np.int32])
refused(
    "ConvInteger",
    [f(1, 1, 4, 4), of(np.uint8, 1, 1, 2, 2)],
    "int8",
    UnimplementedError,
    outputs=[np.int32],
)
refused("ConvInteger", [of(np.uint8, 1, 1), of(np.uint8, 1, 1)], "rank", outputs=[np.int32])
refused("ConvInteger", [b8, of(np.uint8, 1, 1, 2)], "rank", outputs=[np.int32])
refused(
    "ConvInteger",
    [b8, of(np.uint8, 1, 1, 2, 2), of(np.int8)],
    "they must be equal: cast one",
    outputs=[np.int32],
)
refused(
    "ConvInteger",
    [b8, of(np.uint8, 1, 1, 2, 2), of(np.uint8, 2)],
    "zero_point is",
    outputs=[np.int32],
)
refused(
    "ConvInteger",
    [b8, of(np.uint8, 1, 1, 2, 2), None, of(np.uint8, 2)],
    "zero_point is",
    outputs=[np.int32],
)
refused(
    "ConvInteger",
    [b8, of(np.uint8, 1, 1, 2, 2), None, of(np.uint8, 1, 1)],
    "zero_point is",
    outputs=[np.int32],
)
one8, one = of(np.uint8), f()
q = [b8, one, one8, of(np.uint8, 1, 1, 2, 2), one, one8, one, one8]
refused("QLinearConv", [*q[:7], f()], "y_zero_point", UnimplementedError, outputs=[np.uint8])
refused("QLinearConv", [*q[:6], f(2), one8], "y_scale", outputs=[np.uint8])
refused("QLinearConv", [*q[:4], f(3), *q[5:]], "scale", outputs=[np.uint8])
refused(
    "QLinearConv",
    [q[0], of(DOUBLE), *q[2:]],
    "has no kernel; it takes",
    UnimplementedError,
    outputs=[np.uint8],
)
refused("QLinearConv", [*q, of(np.int32, 2)], "b", outputs=[np.uint8])
deform = [f(1, 1, 3, 3), f(1, 1, 2, 2), f(1, 8, 2, 2)]
refused("DeformConv", [f(1, 1, 3), *deform[1:]], "of rank 4", UnimplementedError)
refused(
    "DeformConv",
    [of(np.int32, 1, 1, 3, 3), *deform[1:]],
    "has no kernel; it takes",
    UnimplementedError,
)
refused("DeformConv", [deform[0], f(1, 1, 2), deform[2]], "expected one type and rank")
refused(
    "DeformConv", [deform[0], of(DOUBLE, 1, 1, 2, 2), deform[2]], "they must be equal: cast one"
)
refused("DeformConv", deform, "offset_group", offset_group=0)
refused("DeformConv", deform, "offset_group", offset_group=2**40)
refused("DeformConv", [*deform[:2], of(DOUBLE, 1, 8, 2, 2)], "they must be equal: cast one")
refused("DeformConv", [*deform[:2], f(8, 2, 2)], "offset")
refused("DeformConv", [*deform[:2], f(2, 8, 2, 2)], "offset")
refused("DeformConv", [*deform[:2], f(1, 8, 2, 1)], "offset")

refused("MaxPool", [of(np.int32, 1, 1, 2, 2)], "no kernel", UnimplementedError, kernel_shape=[2, 2])
refused("LpPool", [of(np.int8, 1, 1, 2, 2)], "no kernel", UnimplementedError, kernel_shape=[2, 2])
refused(
    "AveragePool", [of(np.int32, 1, 1, 2, 2)], "no kernel", UnimplementedError, kernel_shape=[2, 2]
)
refused("MaxPool", [x], "kernel_shape is absent")
refused("MaxPool", [x], "kernel_shape", kernel_shape=[2**40, 2])
refused("MaxPool", [x], "auto_pad", kernel_shape=[2, 2], auto_pad="a" * 60)
refused("MaxPool", [f(2, 2)], "expected n, c and 1 or more axes", kernel_shape=[2])
refused("GlobalMaxPool", [f(2)], "expected n, c and 0 or more axes")
refused(
    "MaxPool",
    [none(0, 1, LONG * 2, 1)],
    "expected fewer than 2^31",
    kernel_shape=[1, 1],
    runtime=None,
)
refused("LpPool", [x], "p is", kernel_shape=[2, 2], p=2**31)
refused("LpPool", [x], "p is", kernel_shape=[2, 2], p=0)
refused(
    "graphio.AveragePoolGrad",
    [[1, 1, 4, 4], f(1, 1, 3, 3)],
    "none of window, padded and one",
    outputs=[FLOAT],
    kernel_shape=[2, 2],
    divisor="x",
)
refused(
    "graphio.AveragePoolGrad",
    [[1, 1, 4, 4], f(1, 2, 3, 3)],
    "expected another shape",
    outputs=[FLOAT],
    kernel_shape=[2, 2],
)
places = i(1, 1, 2, 2)
refused("MaxUnpool", [f(1, 2), i(1, 2)], "must have one shape", kernel_shape=[2, 2])
refused(
    "MaxUnpool",
    [f(1, 1, 2, 2), of(np.int32, 1, 1, 2, 2)],
    "has no kernel; it takes",
    UnimplementedError,
    kernel_shape=[2, 2],
)
refused("MaxUnpool", [f(1, 1, 2, 2), i(1, 1, 2)], "must have one shape", kernel_shape=[2, 2])
refused("MaxUnpool", [f(1, 1, 2, 2), i(1, 1, 2, 1)], "must have one shape", kernel_shape=[2, 2])
refused(
    "MaxUnpool",
    [f(1, 1, 2, 2), places, [1, 1, 1, 1]],
    "smaller than the attributes",
    kernel_shape=[2, 2],
)
refused("MaxUnpool", [f(1, 1, 2, 2), places - 1], "index", kernel_shape=[2, 2])
refused(
    "MaxUnpool",
    [none(0, 1, LONG, 1), none(0, 1, LONG, 1, of=np.int64)],
    "too large",
    ResourceExhaustedError,
    kernel_shape=[1, 1],
    runtime=None,
)

refused("Resize", [x, None, None, [1, 1, 2, 2]], "mode", mode="a" * 60)
refused("Resize", [f(2), None, None, [2, 2, 2]], "axes", axes=[0, 0, 0])
refused("Resize", [f(2), None, i(1)], "has no kernel; it takes", UnimplementedError)
refused("Resize", [f(2), None, None, of(FLOAT, 1)], "has no kernel; it takes", UnimplementedError)
refused("Resize", [f(2), None, f(1, 1)], "scales")
refused("Resize", [f(2), None, f(2)], "scales")
refused(
    "Resize",
    [f(2), None, None, [2]],
    "roi is absent",
    coordinate_transformation_mode="tf_crop_and_resize",
)
refused("Resize", [f(2), None, f(1) * FLOAT(1e10)], "size")
refused("Resize", [f(2), None, None, [2**31]], "size")
refused("Resize", [none(0), None, None, [2]], "size")
refused("Resize", [texts(2), None, f(1)], "has no kernel; it takes", UnimplementedError)
refused(
    "graphio.ResizeGrad",
    [[2], of(np.int32, 4), None, f(1) * 2],
    "has no kernel; it takes",
    UnimplementedError,
    outputs=[FLOAT],
)
refused(
    "graphio.ResizeGrad", [[2], f(5), None, f(1) * 2], "expected another shape", outputs=[FLOAT]
)
refused(
    "graphio.ResizeGrad",
    [[1, 1, 2], f(2, 1, 4), None, f(3) * np.array([1, 1, 2], FLOAT)],
    "expected another shape",
    outputs=[FLOAT],
)
refused("DepthToSpace", [f(1, 4, 1, 1)], "blocksize", blocksize=LONG)
refused("DepthToSpace", [f(1, 4, 1, 1)], "expected DCR or CRD", blocksize=2, mode="a" * 60)
refused("SpaceToDepth", [f(1, 1, 2, 3)], "does not divide", blocksize=2)

grid = f(1, 2, 2, 2)
refused(
    "GridSample", [of(np.int32, 1, 1, 2, 2), grid], "has no kernel; it takes", UnimplementedError
)
refused("GridSample", [x, of(np.int32, 1, 2, 2, 2)], "has no kernel; it takes", UnimplementedError)
refused("GridSample", [f(1, 1), f(1, 1)], "grid")
refused("GridSample", [f(*[1] * 16), f(*[1] * 16)], "grid")
refused("GridSample", [x, f(2, 2, 2, 2)], "grid")
for wrong in (f(1, 2, 2), f(1, 1, 2, 1)):
    refused("graphio.GridSampleGrad", [x, grid, wrong], "dy must have", outputs=[FLOAT] * 2)
boxes, scores = f(1, 2, 4), f(1, 1, 2)
refused(
    "NonMaxSuppression",
    [of(DOUBLE, 1, 2, 4), scores],
    "has no kernel; it takes",
    UnimplementedError,
    outputs=[np.int64],
)
refused(
    "NonMaxSuppression",
    [boxes, of(DOUBLE, 1, 1, 2)],
    "has no kernel; it takes",
    UnimplementedError,
    outputs=[np.int64],
)
refused("NonMaxSuppression", [f(2, 4), scores], "boxes", outputs=[np.int64])
refused("NonMaxSuppression", [boxes, f(1, 2)], "boxes", outputs=[np.int64])
refused("NonMaxSuppression", [f(1, 2, 3), scores], "boxes", outputs=[np.int64])
refused("NonMaxSuppression", [boxes, f(2, 1, 2)], "boxes", outputs=[np.int64])
refused("NonMaxSuppression", [boxes, scores, i(0)], "must be one integer", outputs=[np.int64])
refused(
    "NonMaxSuppression",
    [boxes, scores, [1], of(DOUBLE)],
    "has no kernel; it takes",
    UnimplementedError,
    outputs=[np.int64],
)
refused("NonMaxSuppression", [boxes, scores, [1], f(2)], "must be one float32", outputs=[np.int64])
refused("NonMaxSuppression", [boxes, scores, [1], -f(1)], "iou_threshold", outputs=[np.int64])
rois, batch = f(1, 4), i(1)
refused(
    "RoiAlign",
    [of(np.int32, 1, 1, 2, 2), rois, batch],
    "has no kernel; it takes",
    UnimplementedError,
)
refused("RoiAlign", [x, of(DOUBLE, 1, 4), batch], "they must be equal: cast one")
for wrong in (
    [f(1, 2, 2), rois, batch],
    [x, f(4), batch],
    [x, rois, i(1, 1)],
    [x, rois, i(2)],
    [x, f(1, 3), batch],
):
    refused("RoiAlign", wrong, "expected x")
refused("RoiAlign", [x, rois, f(1)], "has no kernel; it takes", UnimplementedError)
for name, number in (
    ("output_height", 0),
    ("output_width", 0),
    ("output_height", 2**24),
    ("output_width", 2**24),
    ("sampling_ratio", -1),
    ("sampling_ratio", 2**16),
):
    refused("RoiAlign", [x, rois, batch], "out of range", **{name: number})
refused(
    "RoiAlign",
    [x, rois, batch],
    "coordinate_transformation_mode",
    coordinate_transformation_mode="x",
)
refused("RoiAlign", [x, rois, batch], "mode", mode="x")
refused("RoiAlign", [x, rois, batch - 1], "batch")
for wrong in (f(1, 1, 1), f(1, 1, 2, 1)):
    refused("graphio.RoiAlignGrad", [x, rois, batch, wrong], "dy must have")
for shape in ([2], [0, 1], [1, 0], [2**24, 1], [1, 2**24]):
    refused("MaxRoiPool", [x, f(1, 5)], "pooled_shape must be", pooled_shape=shape)
refused(
    "MaxRoiPool",
    [of(np.int32, 1, 1, 2, 2), f(1, 5)],
    "has no kernel; it takes",
    UnimplementedError,
    pooled_shape=[1, 1],
)
refused("MaxRoiPool", [x, of(DOUBLE, 1, 5)], "they must be equal: cast one", pooled_shape=[1, 1])
for wrong in ([f(1, 1, 2), f(1, 5)], [x, f(5)], [x, f(1, 4)]):
    refused("MaxRoiPool", wrong, "expected x", pooled_shape=[1, 1])
refused(
    "DepthToSpace",
    [none(1, 0, 2**60, 4, of=np.int8)],
    "x is too large",
    ResourceExhaustedError,
    blocksize=2**10,
    runtime=InvalidArgumentError,
)
refused(
    "DepthToSpace",
    [none(1, 0, 4, 2**60, of=np.int8)],
    "x is too large",
    ResourceExhaustedError,
    blocksize=2**10,
    runtime=InvalidArgumentError,
)
refused(
    "SpaceToDepth",
    [none(1, 2**60, 0, 0, of=np.int8)],
    "x is too large",
    ResourceExhaustedError,
    blocksize=2**20,
    runtime=InvalidArgumentError,
)
refused("Conv", [none(1, 0, 1, 1), none(0, 0, 2**30, 2)], "does not fit")
refused(
    "NonMaxSuppression",
    [boxes, scores, [1], of(DOUBLE, 1)],
    "has no kernel; it takes",
    UnimplementedError,
    outputs=[np.int64],
)
refused("DepthToSpace", [f(1, 4, 1, 1)], "expected DCR or CRD", blocksize=2, mode="X")
# Tensors without elements may have any other sizes.
MANY = 2**30
refused(
    "Conv",
    [none(1, 0, 4, 4), none(2**31, 0, 2, 2)],
    "too much memory at once",
    ResourceExhaustedError,
    runtime=None,
)
refused(
    "Conv",
    [none(0, 0, MANY, MANY), none(1, 0, 1, 1)],
    "too many elements",
    ResourceExhaustedError,
    runtime=None,
)
refused(
    "graphio.Conv2D",
    [none(1, 2, 2, 0), none(1, 1, 0, 2**31)],
    "outputs, expected 0 to",
    runtime=None,
    **C2,
)
refused(
    "graphio.Conv2D",
    [none(0, MANY, MANY, 0), none(MANY, MANY, 0, 1)],
    "taps is too large",
    ResourceExhaustedError,
    runtime=None,
    **C2,
)
refused(
    "graphio.MaxPool2D",
    [none(0, MANY, MANY, 1)],
    "is too large",
    ResourceExhaustedError,
    runtime=None,
    **{**P2, "kernel_shape": [MANY, MANY]},
)
