"""Windows: convolution, pooling, resizing, sampling."""

from __future__ import annotations

import numpy as np

from corners import D, F, corner, numbers, ones

U8, I8, I32 = np.uint8, np.int8, np.int32
C2 = {"strides": [1, 1], "dilations": [1, 1], "group": 1, "auto_pad": "VALID"}
SLACK = 1e-4


def conv2d(x: tuple[int, ...], w: tuple[int, ...], of: type = F, **attrs: object) -> None:
    corner(
        "graphio.Conv2D", numbers(*x, of=of), numbers(*w, of=of), tolerance=SLACK, **{**C2, **attrs}
    )


for dtype in (F, D):
    conv2d((1, 4, 4, 0), (2, 2, 0, 3), dtype)
    conv2d((0, 4, 4, 2), (2, 2, 2, 3), dtype)
    conv2d((1, 4, 4, 2), (2, 2, 2, 0), dtype)
    conv2d((1, 2, 2, 2), (3, 3, 2, 3), dtype, auto_pad="NOTSET", pads=[0, 0, 1, 1])
    conv2d((1, 4, 4, 2), (1, 1, 2, 3), dtype, auto_pad="NOTSET", pads=[0, 1, 0, 0])
    conv2d((1, 4, 4, 2), (1, 1, 2, 3), dtype, auto_pad="NOTSET", pads=[0, 0, 1, 0])
    conv2d((1, 4, 4, 2), (1, 1, 2, 3), dtype, auto_pad="NOTSET", pads=[0, 0, 0, 1])
    conv2d((1, 6, 6, 2), (3, 3, 2, 3), dtype, auto_pad="SAME_UPPER")
    conv2d((1, 30, 30, 1), (30, 29, 1, 2), dtype)
    conv2d((1, 3, 3, 9000), (3, 3, 9000, 1), dtype)
    conv2d((2, 9, 9, 4), (3, 3, 1, 8), dtype, group=4)
    conv2d((2, 9, 9, 4), (3, 3, 2, 8), dtype, group=2)
    for x, w, y, attrs in (
        ([1, 4, 4, 2], (2, 2, 2, 3), (1, 3, 3, 3), {}),
        ([0, 4, 4, 2], (2, 2, 2, 3), (0, 3, 3, 3), {}),
        ([1, 4, 4, 0], (2, 2, 0, 3), (1, 3, 3, 3), {}),
        ([1, 4, 4, 2], (2, 2, 2, 0), (1, 3, 3, 0), {}),
        ([2, 5, 5, 4], (3, 3, 1, 4), (2, 5, 5, 4), {"group": 4, "auto_pad": "SAME_UPPER"}),
        ([1, 12, 12, 2], (2, 2, 2, 1), (1, 11, 11, 1), {}),
        ([2, 40, 40, 3], (5, 5, 3, 8), (2, 40, 40, 8), {"auto_pad": "SAME_UPPER"}),
        ([1, 6, 6, 2000], (1, 1, 2000, 3), (1, 6, 6, 3), {}),
        ([1, 7, 7, 2], (2, 2, 2, 3), (1, 2, 2, 3), {"strides": [3, 3]}),
    ):
        more = {**C2, **attrs}
        corner(
            "graphio.Conv2DGradInput",
            x,
            numbers(*w, of=dtype),
            numbers(*y, of=dtype),
            outputs=[dtype],
            tolerance=SLACK,
            **more,
        )
        corner(
            "graphio.Conv2DGradFilter",
            numbers(*x, of=dtype),
            list(w),
            numbers(*y, of=dtype),
            tolerance=1e-3,
            **more,
        )
    P2 = {"strides": [1, 1], "kernel_shape": [2, 2], "auto_pad": "VALID"}
    for shape in ((1, 4, 4, 0), (0, 4, 4, 2), (1, 5, 5, 3), (2, 30, 30, 70)):
        corner("graphio.MaxPool2D", numbers(*shape, of=dtype), **P2)
        corner("graphio.AveragePool2D", numbers(*shape, of=dtype), tolerance=1e-5, **P2)
        n, h, w_, c = shape
        corner(
            "graphio.MaxPool2DGrad",
            numbers(*shape, of=dtype),
            numbers(n, h - 1, w_ - 1, c, of=dtype),
            tolerance=1e-5,
            **P2,
        )
        corner(
            "graphio.AveragePool2DGrad",
            list(shape),
            numbers(n, h - 1, w_ - 1, c, of=dtype),
            outputs=[dtype],
            tolerance=1e-5,
            **P2,
        )
    bad = numbers(1, 4, 4, 1, of=dtype)
    bad[0, 1, 1] = np.nan
    bad[0, 2, 2] = np.nan
    corner("graphio.MaxPool2D", bad, **P2)
    corner("graphio.MaxPool2DGrad", bad, ones(1, 3, 3, 1, of=dtype), **P2)

    # ---- ONNX's, channels first ----
    for x, w, attrs in (
        ((1, 0, 4, 4), (3, 0, 2, 2), {}), ((0, 2, 4, 4), (3, 2, 2, 2), {}),
        ((1, 2, 4, 4), (0, 2, 2, 2), {}), ((1, 2, 4), (3, 2, 2), {}),
        ((1, 2, 3, 3, 3), (3, 2, 2, 2, 2), {}), ((1, 3, 5), (3, 1, 2), {"group": 3}),
        ((1, 3, 4, 4, 4), (3, 1, 2, 2, 2), {"group": 3}),
        ((1, 2, 9, 9), (2, 1, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
        ((1, 2, 9, 9), (2, 1, 3, 3), {"group": 2, "strides": [2, 2]}),
        ((1, 2, 9, 9), (2, 1, 3, 3), {"group": 2, "strides": [3, 3]}),
        ((1, 2, 9, 9), (2, 1, 3, 3), {"group": 2, "dilations": [2, 1]}),
        ((1, 2, 9, 9), (2, 1, 3, 3), {"group": 2, "dilations": [1, 2]}),
        ((1, 2, 9, 9), (2, 1, 3, 3), {"group": 2, "strides": [1, 2]}),
        ((1, 2, 9, 9), (2, 1, 3, 2), {"group": 2}),
        ((1, 2, 9, 9), (2, 1, 3, 3), {"group": 2, "pads": [2, 2, 2, 2]}),
        ((1, 2, 9, 9), (2, 1, 2, 3), {"group": 2}),
        ((1, 2, 1, 1), (2, 1, 3, 3), {"group": 2, "pads": [1, 1, 1, 1], "dilations": [1, 1]}),
        ((1, 2, 300, 300), (2, 1, 3, 3), {"group": 2, "pads": [1, 1, 1, 1]}),
        ((1, 2, 4, 4), (3, 2, 1, 1), {"pads": [0, 1, 0, 0]}),
        ((1, 2, 4, 4), (3, 2, 1, 1), {"pads": [0, 0, 1, 0]}),
        ((1, 8, 6, 6), (32, 8, 3, 3), {"pads": [3, 3, 3, 3]}),
        ((1, 8, 20, 20), (32, 8, 3, 3), {"pads": [1, 1, 1, 1]}),
        ((1, 8, 5, 5), (32, 8, 3, 3), {"pads": [1, 0, 1, 2], "strides": [2, 1]}),
        ((2, 8, 5, 5), (32, 4, 3, 3), {"group": 2}),
        ((1, 8, 5, 5), (32, 8, 1, 1), {"strides": [2, 2]}),
        ((1, 8, 5, 5), (32, 8, 1, 1), {"pads": [1, 1, 0, 0]}),
        ((1, 8, 12, 12), (32, 8, 3, 3), {"dilations": [2, 2]}),
        ((1, 1200, 3, 3), (2, 1200, 3, 3), {}), ((1, 2000, 3), (3, 2000, 3), {}),
    ):  # fmt: skip
        values = numbers(*x, of=dtype), numbers(*w, of=dtype)
        corner("Conv", *values, tolerance=1e-3, **attrs)
        corner("Conv", *values, numbers(w[0], of=dtype), tolerance=1e-3, **attrs)
        corner("Conv", *values, None, tolerance=1e-3, **attrs)
    for x, w, attrs in (
        ((1, 2, 3, 3), (2, 3, 2, 2), {}), ((1, 2, 3, 3), (2, 1, 2, 2), {"group": 2}),
        ((0, 2, 3, 3), (2, 3, 2, 2), {}),
        ((1, 2, 3, 3), (2, 3, 2, 2), {"output_shape": [6, 6], "strides": [2, 2]}),
        ((1, 2, 3, 3), (2, 3, 2, 2), {"output_shape": [1, 3, 6, 6], "strides": [2, 2]}),
        ((1, 2, 3, 3), (2, 3, 2, 2), {"strides": [2, 3], "dilations": [3, 3]}),
        ((1, 2, 3, 3), (2, 3, 2, 2), {"auto_pad": "SAME_LOWER", "strides": [2, 2]}),
        ((1, 0, 3, 3), (0, 3, 2, 2), {}), ((1, 2, 3), (2, 3, 2), {}),
        ((1, 2, 20, 20), (2, 40, 5, 5), {}), ((1, 2, 3, 3), (2, 0, 2, 2), {}),
        ((1, 2, 3, 3), (2, 3, 1, 1), {}), ((1, 2, 3, 3), (2, 3, 2, 2), {"pads": [2, 2, 2, 2]}),
        ((1, 100, 3, 3), (100, 100, 3, 3), {}),
    ):  # fmt: skip
        corner(
            "ConvTranspose", numbers(*x, of=dtype), numbers(*w, of=dtype), tolerance=1e-3, **attrs
        )
        corner(
            "ConvTranspose",
            numbers(*x, of=dtype),
            numbers(*w, of=dtype),
            numbers(w[1] * attrs.get("group", 1), of=dtype),
            tolerance=1e-3,
            **attrs,
        )
    for x, w, y, attrs in (
        ([1, 2, 4, 4], (3, 2, 2, 2), (1, 3, 3, 3), {}),
        ([1, 2, 4, 4], (3, 2, 2, 2), (1, 3, 2, 2), {}),
        ([0, 2, 4, 4], (3, 2, 2, 2), (0, 3, 3, 3), {}),
        ([1, 2, 4, 4], (2, 1, 2, 2), (1, 2, 3, 3), {"group": 2}),
        ([2, 3, 40, 40], (8, 3, 3, 3), (2, 8, 38, 38), {}),
        ([1, 2, 4, 4], (3, 2, 2, 2), (1, 3, 0, 0), {}),
        ([2, 20, 40, 40], (20, 20, 1, 1), (2, 20, 40, 40), {}),
        ([2, 2, 5], (3, 2, 2), (2, 3, 4), {}),
    ):  # fmt: skip
        corner(
            "graphio.ConvGradInput",
            x,
            numbers(*w, of=dtype),
            numbers(*y, of=dtype),
            outputs=[dtype],
            tolerance=1e-3,
            **attrs,
        )
        corner(
            "graphio.ConvGradWeight",
            numbers(*x, of=dtype),
            list(w),
            numbers(*y, of=dtype),
            tolerance=2e-2,
            **attrs,
        )
    corner("Col2Im", numbers(1, 4, 9, of=dtype), [4, 4], [2, 2])
    corner("Col2Im", numbers(0, 4, 9, of=dtype), [4, 4], [2, 2])
    corner(
        "DeformConv",
        numbers(1, 2, 4, 4, of=dtype),
        numbers(3, 2, 2, 2, of=dtype),
        numbers(1, 8, 3, 3, of=dtype),
        None,
        None,
        tolerance=1e-4,
    )
    corner(
        "DeformConv",
        numbers(1, 2, 4, 4, of=dtype),
        numbers(3, 2, 2, 2, of=dtype),
        numbers(1, 8, 3, 3, of=dtype),
        numbers(3, of=dtype),
        numbers(1, 4, 3, 3, of=dtype),
        tolerance=1e-4,
    )
    corner(
        "DeformConv",
        numbers(0, 2, 4, 4, of=dtype),
        numbers(3, 2, 2, 2, of=dtype),
        numbers(0, 8, 3, 3, of=dtype),
    )
    for shape, kernel, attrs in (
        ((1, 2, 5), [2], {}), ((1, 2, 5, 5), [2, 2], {}), ((1, 1, 4, 4, 4), [2, 2, 2], {}),
        ((0, 2, 5, 5), [2, 2], {}), ((1, 0, 5, 5), [2, 2], {}),
        ((1, 2, 5, 5), [3, 3], {"pads": [1, 1, 1, 1], "strides": [2, 2]}),
        ((1, 2, 50, 50), [3, 3], {"strides": [2, 2]}),
        ((1, 2, 5, 5), [2, 2], {"dilations": [2, 3]}),
        ((1, 2, 5, 5), [2, 2], {"auto_pad": "SAME_LOWER", "strides": [3, 3]}),
        ((1, 2, 5, 5), [2, 2], {"ceil_mode": 1, "strides": [2, 2]}),
        ((1, 2, 50, 50), [1, 1], {"strides": [9, 9]}),
        ((1, 2, 50, 600), [2, 2], {"strides": [2, 2]}),
        ((1, 2, 9, 1000), [3, 3], {"strides": [2, 2], "dilations": [1, 1]}),
        ((1, 2, 9, 40), [3, 3], {"strides": [2, 2], "dilations": [2, 1]}),
        ((1, 2, 9, 40), [2, 2], {"strides": [2, 2], "dilations": [1, 2]}),
        ((1, 2, 9, 40), [2, 2], {"strides": [1, 2]}), ((1, 2, 9, 40), [3, 3], {"strides": [1, 2]}),
        ((1, 2, 9, 40), [3, 3], {"strides": [2, 2], "dilations": [1, 2]}),
        ((1, 1, 3, 3), [2, 2], {"pads": [1, 1, 1, 1], "dilations": [3, 3]}),
    ):  # fmt: skip
        x = numbers(*shape, of=dtype)
        corner("MaxPool", x, kernel_shape=kernel, **attrs)
        for order in (0, 1):
            corner(
                "MaxPool",
                x,
                kernel_shape=kernel,
                storage_order=order,
                outputs=[dtype, np.int64],
                **attrs,
            )
        corner("AveragePool", x, kernel_shape=kernel, tolerance=1e-4, **attrs)
        corner("AveragePool", x, kernel_shape=kernel, count_include_pad=1, tolerance=1e-4, **attrs)
        corner("LpPool", x, kernel_shape=kernel, tolerance=1e-4, **attrs)
    for op in ("GlobalMaxPool", "GlobalAveragePool", "GlobalLpPool"):
        corner(op, numbers(1, 3, of=dtype), tolerance=1e-4)
        corner(op, numbers(1, 3, 40, of=dtype), tolerance=1e-4)
        corner(op, numbers(0, 3, 4, 4, of=dtype), tolerance=1e-4)
    positions = np.array([[[[0, 3], [8, 10]]]])
    corner(
        "MaxUnpool", numbers(1, 1, 2, 2, of=dtype), positions, kernel_shape=[2, 2], strides=[2, 2]
    )
    corner(
        "MaxUnpool",
        numbers(1, 1, 2, 2, of=dtype),
        positions,
        None,
        kernel_shape=[2, 2],
        strides=[2, 2],
    )
    corner(
        "MaxUnpool",
        numbers(1, 1, 2, 2, of=dtype),
        positions,
        [1, 1, 5, 5],
        kernel_shape=[2, 2],
        strides=[2, 2],
    )
    corner(
        "MaxUnpool",
        numbers(0, 1, 2, 2, of=dtype),
        positions[:0],
        kernel_shape=[2, 2],
        strides=[2, 2],
    )
    corner("LRN", numbers(1, 3, 4, 4, of=dtype), size=3, tolerance=1e-4)
    corner("LRN", numbers(0, 3, 4, 4, of=dtype), size=3, tolerance=1e-4)

    # ---- resizing and sampling ----
    for mode in ("nearest", "linear", "cubic"):
        for shape, sizes in (
            ((1, 1, 4, 4), [1, 1, 7, 7]),
            ((1, 1, 4, 4), [1, 1, 2, 3]),
            ((0, 1, 4, 4), [0, 1, 7, 7]),
            ((1, 1, 4, 4), [1, 1, 0, 3]),
            ((2, 3), [2, 9]),
            ((1, 1, 1, 1), [1, 1, 3, 3]),
        ):
            for attrs in (
                {},
                {"antialias": 1},
                {"exclude_outside": 1},
                {"coordinate_transformation_mode": "align_corners"},
                {"coordinate_transformation_mode": "half_pixel_symmetric"},
            ):
                if mode == "nearest" and attrs.get("antialias"):
                    continue
                if 0 in sizes and 0 not in shape:
                    continue
                corner(
                    "Resize",
                    numbers(*shape, of=dtype),
                    None,
                    None,
                    sizes,
                    mode=mode,
                    tolerance=1e-4,
                    **attrs,
                )
        roi = np.array([0, 0.2, 1, 1.7], F)
        corner(
            "Resize",
            numbers(3, 4, of=dtype),
            roi,
            None,
            [3, 6],
            mode=mode,
            coordinate_transformation_mode="tf_crop_and_resize",
            extrapolation_value=7.0,
            tolerance=1e-4,
        )
        corner(
            "Resize",
            numbers(3, 4, of=dtype),
            roi.astype(D),
            np.array([1, 2], F),
            None,
            mode=mode,
            coordinate_transformation_mode="tf_crop_and_resize",
            tolerance=1e-4,
        )
        corner(
            "Resize",
            numbers(3, 4, of=dtype),
            np.array([0, 0, 1, 1], F),
            np.array([1, 1], F),
            mode=mode,
            coordinate_transformation_mode="tf_crop_and_resize",
            tolerance=1e-4,
        )
        corner(
            "Resize",
            numbers(40, 4, of=dtype),
            None,
            np.array([0.3, 1], F),
            mode=mode,
            antialias=int(mode != "nearest"),
            tolerance=1e-4,
        )
        for scales in ([2.0, 3.0], [0.5, 1.0], [1.0, 1.0]):
            scale = np.array(scales, F)
            found = [int(np.floor(n * s)) for n, s in zip((3, 4), scales, strict=True)]
            corner(
                "graphio.ResizeGrad",
                [3, 4],
                numbers(*found, of=dtype),
                None,
                scale,
                None,
                outputs=[dtype],
                mode=mode,
                tolerance=1e-4,
            )
        corner(
            "graphio.ResizeGrad",
            [0, 4],
            numbers(0, 8, of=dtype),
            None,
            np.array([1, 2], F),
            outputs=[dtype],
            mode=mode,
        )
        for padding in ("zeros", "border", "reflection"):
            for shape, grid in (
                ((1, 1, 4, 4), (1, 2, 3, 2)),
                ((1, 1, 4), (1, 3, 1)),
                ((0, 1, 4, 4), (0, 2, 3, 2)),
                ((1, 1, 3, 4, 2), (1, 2, 2, 2, 3)),
                ((1, 1, 4, 4), (1, 0, 3, 2)),
            ):
                if mode == "cubic" and len(shape) == 5:
                    continue
                position = numbers(*grid, of=dtype)
                if position.size > 6:
                    position.flat[:3] = np.inf, -np.inf, 1e20
                corner(
                    "GridSample",
                    numbers(*shape, of=dtype),
                    position,
                    mode=mode,
                    padding_mode=padding,
                    tolerance=1e-3,
                )
    x, batch = numbers(2, 2, 5, 5, of=dtype), np.array([0, 1, 0])
    rois = np.array([[0, 0, 3, 3], [-9, -9, -8, -8], [2, 2, 2, 2]], dtype)
    for mode in ("avg", "max"):
        for ratio in (0, 2):
            for half in ("half_pixel", "output_half_pixel"):
                attrs = {
                    "mode": mode,
                    "sampling_ratio": ratio,
                    "coordinate_transformation_mode": half,
                    "output_height": 2,
                    "output_width": 2,
                }
                corner("RoiAlign", x, rois, batch, tolerance=1e-4, **attrs)
                corner("RoiAlign", x, rois[:0], batch[:0], tolerance=1e-4, **attrs)
                corner(
                    "graphio.RoiAlignGrad",
                    x,
                    rois,
                    batch,
                    numbers(3, 2, 2, 2, of=dtype),
                    tolerance=1e-4,
                    **attrs,
                )
    corner("RoiAlign", np.zeros((2, 0, 5, 5), dtype), rois, batch)
    boxes = np.array([[0, 0, 0, 3, 3], [1, -5, -5, -2, -2], [0, 2, 2, 90, 90]], dtype)
    corner("MaxRoiPool", x, boxes, pooled_shape=[2, 2])
    some = x.copy()
    some[0, 0, 1, 1] = some[0, 0, 2, 1] = np.nan
    corner("MaxRoiPool", some, boxes, pooled_shape=[2, 2])
    corner("RoiAlign", some, rois[:1], batch[:1], mode="max", sampling_ratio=2)
    corner(
        "graphio.RoiAlignGrad",
        some,
        rois[:1],
        batch[:1],
        ones(1, 2, 1, 1, of=dtype),
        mode="max",
        sampling_ratio=2,
    )
    corner("MaxRoiPool", x, boxes[:0], pooled_shape=[2, 2])

# ---- integers ----
for dtype in (np.int32, np.int64, U8, I8, np.uint64, np.int16):
    for mode in ("linear", "cubic", "nearest"):
        corner("Resize", numbers(3, 4, of=dtype), None, None, [5, 9], mode=mode)
for dtype in (I8, U8):
    corner("MaxPool", numbers(1, 2, 5, 5, of=dtype), kernel_shape=[2, 2])
    one = np.array(1, dtype)
    for x, w, attrs in (
        ((1, 2, 4, 4), (3, 2, 2, 2), {}), ((1, 2, 4), (3, 2, 2), {}),
        ((1, 2, 3, 3, 3), (3, 2, 2, 2, 2), {}), ((0, 2, 4, 4), (3, 2, 2, 2), {}),
        ((1, 0, 4, 4), (3, 0, 2, 2), {}), ((1, 2, 4, 4), (2, 1, 2, 2), {"group": 2}),
        ((1, 12, 4, 4), (12, 1, 2, 2), {"group": 12}),
        ((1, 2, 9, 9), (3, 2, 3, 3), {"strides": [2, 2], "pads": [4] * 4, "dilations": [2, 2]}),
        ((1, 2, 90, 90), (3, 2, 3, 3), {}), ((1, 2, 3, 3), (0, 2, 2, 2), {}),
        ((1, 2, 2, 2), (3, 2, 1, 1), {"pads": [0, 9, 0, 9]}),
        ((1, 2, 3, 3, 3), (2, 1, 2, 2, 2), {"group": 2}),
    ):  # fmt: skip
        values, weights = numbers(*x, of=dtype), numbers(*w, of=dtype, seed=1)
        corner("ConvInteger", values, weights, outputs=[I32], **attrs)
        corner("ConvInteger", values, weights, one, None, outputs=[I32], **attrs)
        each = np.arange(w[0]).astype(dtype) if w[0] else one
        corner("ConvInteger", values, weights, None, each, outputs=[I32], **attrs)
        for scale in (0.5, 1e38, float("nan")):
            about = [
                values,
                np.array(scale, F),
                one,
                weights,
                np.array(scale, F),
                one,
                np.array(0.25, F),
                one,
            ]
            corner("QLinearConv", *about, **attrs)
            corner("QLinearConv", *about, np.arange(w[0], dtype=I32), **attrs)
        about[4], about[5] = np.linspace(0.1, 2, max(w[0], 1)).astype(F), each
        about[1] = np.array(0.5, F)
        corner("QLinearConv", *about, None, **attrs)
boxes = np.array([[[0, 0, 1, 1], [0, 0, 1, 1.1], [2, 2, 2, 2], [0, 0.5, 1, 1.5]]], F)
scores = np.array([[[0.9, 0.8, 0.7, 0.95]]], F)
for extra in (
    [],
    [[2]],
    [None],
    [[-1]],
    [[9], None],
    [[9], np.array([0.4], F)],
    [[9], np.array([0.0], F), np.array([0.75], F)],
    [None, np.array([0.5], F)],
):
    corner("NonMaxSuppression", boxes, scores, *extra, outputs=[np.int64])
    corner("NonMaxSuppression", boxes, scores, *extra, center_point_box=1, outputs=[np.int64])
corner("NonMaxSuppression", boxes[:, :0], scores[:, :, :0], [3], outputs=[np.int64])
corner("NonMaxSuppression", boxes, scores[:, :0], [3], outputs=[np.int64])
for dtype in (F, D):
    conv2d((1, 4, 4, 2), (3, 3, 2, 3), dtype, auto_pad="SAME_LOWER")
    conv2d((1, 5, 4, 2), (3, 2, 2, 3), dtype, auto_pad="SAME_LOWER", strides=[2, 2])
    corner(
        "graphio.MaxPool2D",
        numbers(1, 4, 4, 2, of=dtype),
        kernel_shape=[2, 2],
        strides=[2, 1],
        auto_pad="SAME_LOWER",
    )
    corner(
        "MaxPool",
        numbers(1, 1, 3, 3, of=dtype),
        kernel_shape=[2, 2],
        pads=[5, 5, 5, 5],
        dilations=[9, 9],
    )
    corner(
        "MaxPool",
        numbers(1, 1, 3, 3, of=dtype),
        kernel_shape=[2, 2],
        pads=[5, 5, 5, 5],
        dilations=[9, 9],
        storage_order=1,
        outputs=[dtype, np.int64],
    )
    corner(
        "AveragePool",
        numbers(1, 1, 3, 3, of=dtype),
        kernel_shape=[2, 2],
        pads=[5, 5, 5, 5],
        dilations=[9, 9],
        count_include_pad=1,
    )
    corner(
        "graphio.AveragePoolGrad",
        [1, 1, 3, 3],
        numbers(1, 1, 2, 2, of=dtype),
        outputs=[dtype],
        kernel_shape=[2, 2],
        divisor="window",
        tolerance=1e-4,
    )
    corner(
        "graphio.ResizeGrad",
        [2, 4],
        numbers(2, 0, of=dtype),
        None,
        None,
        [2, 0],
        outputs=[dtype],
        mode="linear",
    )
    corner("Resize", numbers(2, 4, of=dtype), None, None, [2, 0], mode="linear")
    corner(
        "Resize",
        numbers(2, 4, of=dtype),
        None,
        None,
        np.array([3, 5]),
        mode="linear",
        tolerance=1e-4,
    )
    for taps in ([2.5], [1.0], [0.25], [8.0]):
        corner(
            "Resize",
            numbers(8, of=dtype),
            None,
            np.array(taps, F),
            mode="cubic",
            antialias=1,
            exclude_outside=1,
            tolerance=1e-4,
        )
        corner(
            "Resize",
            numbers(8, of=dtype),
            np.array([0, 1], F),
            np.array(taps, F),
            mode="linear",
            coordinate_transformation_mode="tf_crop_and_resize",
            tolerance=1e-4,
        )
        corner(
            "Resize",
            numbers(8, of=dtype),
            np.array([0.5, 0.5], F),
            np.array(taps, F),
            mode="nearest",
            coordinate_transformation_mode="tf_crop_and_resize",
            tolerance=1e-4,
        )
        corner(
            "Resize",
            numbers(8, of=dtype),
            np.array([-1e30, 1e30], F),
            np.array(taps, F),
            mode="nearest",
            coordinate_transformation_mode="tf_crop_and_resize",
            tolerance=1e-4,
        )
    corner(
        "Resize",
        numbers(8, of=dtype),
        None,
        None,
        [1],
        mode="linear",
        coordinate_transformation_mode="pytorch_half_pixel",
        tolerance=1e-4,
    )
    corner(
        "Resize",
        numbers(8, of=dtype),
        np.array([0.2, 0.9], F),
        None,
        [1],
        mode="linear",
        coordinate_transformation_mode="tf_crop_and_resize",
        tolerance=1e-4,
    )
    corner("Conv", numbers(1, 1, 1, 20000, of=dtype), numbers(1, 1, 1, 1, of=dtype), tolerance=1e-4)
    corner(
        "Conv",
        numbers(1, 40, 2, 2, of=dtype),
        numbers(4, 40, 2, 2, of=dtype),
        pads=[0, 9, 0, 9],
        tolerance=1e-3,
    )
for dtype in (U8, I8):
    sizes = np.array([1, 2, 3], dtype)
    corner("Resize", sizes, None, None, [9], mode="cubic")
    corner("Resize", sizes, None, None, [9], mode="cubic", cubic_coeff_a=-30.0)
for dtype in (np.uint64, np.int64, np.uint32):
    big = np.array([0, np.iinfo(dtype).max, np.iinfo(dtype).min, 5], dtype)
    corner("Resize", big, None, None, [7], mode="nearest")
    corner("Resize", big, None, None, [11], mode="cubic", cubic_coeff_a=-3.0)
corner("GridSample", numbers(1, 1, 0, 4), numbers(1, 2, 2, 2), padding_mode="reflection")
for policy in ("not_larger", "not_smaller"):
    for mode in ("nearest", "linear"):
        attrs = {"mode": mode, "keep_aspect_ratio_policy": policy, "tolerance": SLACK}
        corner("Resize", numbers(1, 1, 4, 6), None, None, [1, 1, 8, 9], **attrs)
        corner("Resize", numbers(4, 6), None, None, [2, 9], axes=[1, 0], **attrs)
for nearest in ("floor", "ceil", "round_prefer_ceil", "round_prefer_floor"):
    for position in ("asymmetric", "half_pixel", "align_corners"):
        attrs = {"nearest_mode": nearest, "coordinate_transformation_mode": position}
        for dtype in (F, D, U8, np.uint16, np.int64, np.float16):
            corner("Resize", numbers(3, 4, of=dtype), None, None, [5, 7], mode="nearest", **attrs)
outside = {"coordinate_transformation_mode": "tf_crop_and_resize", "mode": "linear"}
corner(
    "graphio.ResizeGrad",
    [4],
    numbers(6),
    np.array([-0.5, 1.5], F),
    None,
    [6],
    tolerance=SLACK,
    **outside,
    outputs=[F],
)
corner(
    "Resize", numbers(4), np.array([0.25, 0.75], F), np.array([1.0], F), tolerance=SLACK, **outside
)
for dtype in (F, D):
    for mode in ("linear", "nearest", "cubic"):
        for padding in ("zeros", "border", "reflection"):
            position = np.array([[[[-3.0, 0.5], [0.0, 1.0], [1.5, -1.0], [5.0, 0.25]]]], dtype)
            attrs = {"mode": mode, "padding_mode": padding, "align_corners": 1}
            for height in (1, 3):
                image = numbers(1, 1, height, 4, of=dtype)
                corner("GridSample", image, position, tolerance=1e-3, **attrs)
    regions = np.array([[-2, -2, 2, 9], [4, 4, 9, 9], [-9, 1, 2, 2], [1, 8, 2, 9]], dtype)
    image, at = numbers(1, 1, 5, 5, of=dtype), np.zeros(4, np.int64)
    corner("RoiAlign", image, regions, at, output_height=2, output_width=2, tolerance=SLACK)
    for divisor in ("window", "padded", "one"):
        attrs = {"kernel_shape": [2, 2], "pads": [1, 1, 1, 1], "strides": [2, 2]}
        dy = numbers(1, 1, 2, 2, of=dtype)
        corner(
            "graphio.AveragePoolGrad", [1, 1, 3, 3], dy, outputs=[dtype], divisor=divisor, **attrs
        )
