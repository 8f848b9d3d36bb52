"""Resize, GridSample, RoiAlign, NonMaxSuppression, depth and space."""

from __future__ import annotations

import numpy as np

from cases import ALL_NUMBERS, FLOATS, bad, case, floats, integers
from graphio.support import errors

INVALID = errors.InvalidArgumentError
Array = np.ndarray
X = floats(1, 2, 4, 5)
F32 = np.float32


def linear(x: Array, sizes: tuple[int, int]) -> Array:
    """Half-pixel linear interpolation of the last two axes."""
    for axis, m in zip((2, 3), sizes, strict=True):
        n = x.shape[axis]
        at = np.clip((np.arange(m) + 0.5) * n / m - 0.5, 0, n - 1)
        x = np.apply_along_axis(lambda row, at=at, n=n: np.interp(at, np.arange(n), row), axis, x)
    return x


for sizes in ((8, 3), (4, 5), (7, 1)):
    case(
        "Resize",
        [X, None, None, np.array([1, 2, *sizes])],
        {"mode": "linear"},
        expect=lambda x, *_, s=sizes: linear(x, s),
        types=FLOATS,
        atol=1e-6,
        label=f"linear {sizes}",
    )
case(
    "Resize",
    [X, None, None, np.array([1, 2, 1, 5])],
    {"mode": "cubic", "coordinate_transformation_mode": "pytorch_half_pixel"},
    expect=lambda x, *_: x[:, :, :1],
    types=FLOATS,
    label="pytorch's one is the first",
)
for coordinates in ("half_pixel_symmetric", "align_corners", "asymmetric"):
    case(
        "Resize",
        [X[:, :, :0], None, np.array([1, 1, 2.5, 1.5], F32)],
        {"mode": "linear", "coordinate_transformation_mode": coordinates},
        expect=(np.zeros((1, 2, 0, X.shape[3] * 3 // 2)),),
        types=FLOATS,
        label=f"no rows, {coordinates}",
    )
NUMBERS = integers(2, 3, low=0, high=100)
for kind in ALL_NUMBERS:
    for label, attrs in (
        ("nearest", {}),
        ("floor", {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}),
    ):
        case(
            "Resize",
            [NUMBERS.astype(kind), None, np.array([2, 3], F32)],
            attrs,
            expect=(NUMBERS.repeat(2, 0).repeat(3, 1).astype(kind),),
            label=f"{label} {kind}",
        )
    ends = np.array([10, 20, 21]).astype(kind)
    case(
        "Resize",
        [ends, None, None, np.array([5])],
        {"mode": "linear", "coordinate_transformation_mode": "align_corners"},
        expect=(np.array([10, 15, 20, 20.5, 21]).astype(kind),),
        label=f"cut {kind}",
    )
# float32 holds none of these scales; the pixels are those of the scales that were meant.
for tenths in (3, 6, 7, 11, 17, 22, 33):
    row = np.arange(10, dtype=F32)
    positions = [i * 10 // tenths for i in range(tenths)]
    case(
        "Resize",
        [row, None, np.array([tenths / 10], F32)],
        {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"},
        expect=(row[positions],),
        label=f"floor of {tenths / 10}",
    )
case(
    "Resize",
    [np.array([1 << 62, -(1 << 62) + 1]), None, np.array([2], F32)],
    expect=(np.array([1 << 62, 1 << 62, -(1 << 62) + 1, -(1 << 62) + 1]),),
    label="large integers",
)
case(
    "Resize",
    [X, np.array([0.5, 2.0], F32), None, np.array([3])],
    {
        "coordinate_transformation_mode": "tf_crop_and_resize",
        "axes": [-1],
        "mode": "linear",
        "extrapolation_value": 7.0,
    },
    expect=lambda x, *_: np.stack([x[..., 2], x[..., 4] * 0 + 7, x[..., 4] * 0 + 7], -1),
    types=FLOATS,
    label="crop",
)
case(
    "Resize",
    [floats(2, 0, 3), None, np.array([1, 2, 2], F32)],
    expect=(np.zeros((2, 0, 6)),),
    types=FLOATS,
    label="empty",
)
for label, inputs, attrs, words in (
    ("both", [X, None, np.ones(4, F32), np.ones(4, np.int64)], {}, ["not both"]),
    ("neither", [X], {}, ["scales or sizes"]),
    ("few", [X, None, np.ones(3, F32)], {}, ["scales"]),
    ("zero scale", [X, None, np.array([1, 1, 0, 1], F32)], {}, ["axis", "scale"]),
    ("negative", [X, None, None, np.array([1, 1, -1, 1])], {}, ["axis 2"]),
    ("mode", [X, None, np.ones(4, F32)], {"mode": "best"}, ["mode", "best"]),
    ("axes", [X, None, np.ones(2, F32)], {"axes": [1, -3]}, ["twice"]),
    ("from nothing", [floats(0), None, None, np.array([3])], {}, ["size 0"]),
):
    bad("Resize", inputs, attrs, error=INVALID, words=words[:1], label=label)

GRID = np.array([[[[-1.0, -1.0], [1.0, 1.0], [0.0, 0.0], [-0.5, 3.0]]]])


def corners(x: Array, grid: Array) -> Array:
    middle = (x[..., 1, 2] + x[..., 2, 2]) / 2
    return np.stack([x[..., 0, 0], x[..., 3, 4], middle, x[..., 3, 1]], -1)[..., None, :]


case(
    "GridSample",
    [X, GRID],
    {"align_corners": 1, "padding_mode": "border"},
    expect=corners,
    types=FLOATS,
    atol=1e-6,
)
case("GridSample", [X, GRID[:, :0]], expect=(np.zeros((1, 2, 0, 4)),), types=FLOATS, label="empty")
case(
    "GridSample",
    [X, np.full((1, 1, 1, 2), np.nan)],
    expect=(np.zeros((1, 2, 1, 1)),),
    types=FLOATS,
    label="NaN",
)
for label, inputs, attrs, words in (
    ("numbers", [X, GRID[..., :1].copy()], {}, ["grid"]),
    ("rank", [X[0], GRID], {}, ["grid"]),
    ("mode", [X, GRID], {"mode": "best"}, ["mode"]),
    ("padding", [X, GRID], {"padding_mode": "best"}, ["padding_mode"]),
):
    bad("GridSample", inputs, attrs, error=INVALID, words=words, label=label)

ROI, ONE = np.array([[0.0, 0.0, 2.0, 2.0]]), np.array([0])
for mode in ("avg", "max"):  # one sample in the middle of each bin, on an element
    case(
        "RoiAlign",
        [np.abs(X), ROI, ONE],
        {"output_height": 2, "output_width": 2, "sampling_ratio": 1, "mode": mode},
        expect=lambda x, *_: x[:, :, :2, :2],
        types=FLOATS,
        label=mode,
    )
bad("RoiAlign", [X, ROI, ONE + 1], error=INVALID, words=["batch index 1"], label="batch")
bad("RoiAlign", [X, ROI[:, :3], ONE], error=INVALID, words=["rois"], label="corners")
bad("RoiAlign", [X, ROI, ONE], {"mode": "best"}, error=INVALID, words=["mode"], label="mode")

case(
    "MaxRoiPool",
    [X, np.array([[0.0, 0.5, 0.0, 3.5, 6.0]])],
    {"pooled_shape": [2, 2], "spatial_scale": 0.9},
    expect=lambda x, _: np.stack(
        [
            np.stack([x[:, :, :3, a:b].max((2, 3)), x[:, :, 3:, a:b].max((2, 3))], 2)
            for a, b in ((0, 2), (2, 4))
        ],
        3,
    ),
    types=FLOATS,
)
bad(
    "MaxRoiPool",
    [X, np.array([[1.0, 0, 0, 1, 1]])],
    {"pooled_shape": [1, 1]},
    error=INVALID,
    words=["region 0"],
    label="image",
)

BOXES = np.array([[[0, 0, 1, 1], [0, 0.1, 1, 1.1], [0, 5, 1, 6], [1, 6, 0, 5]]], F32)
SCORES = np.array([[[0.5, 0.9, np.nan, 0.5]]], F32)
LIMIT, OVERLAP, LEAST = np.array([3]), np.array([0.5], F32), np.array([0.5], F32)
for label, inputs, rows in (
    ("all", [BOXES, SCORES, LIMIT, OVERLAP], [[0, 0, 1], [0, 0, 3]]),
    ("least", [BOXES, SCORES, LIMIT, OVERLAP, LEAST], [[0, 0, 1]]),
    ("none", [BOXES, SCORES], []),
    ("no boxes", [BOXES[:, :0], SCORES[..., :0], LIMIT], []),
):
    case(
        "NonMaxSuppression",
        inputs,
        expect=(np.array(rows, np.int64).reshape(-1, 3),),
        label=label,
    )
bad(
    "NonMaxSuppression",
    [BOXES, SCORES[..., :2], LIMIT],
    error=INVALID,
    words=["boxes"],
    label="scores",
)
bad(
    "NonMaxSuppression",
    [BOXES, SCORES, LIMIT, OVERLAP * 4],
    error=INVALID,
    words=["iou_threshold"],
    label="overlap",
)

DEEP = integers(1, 8, 2, 3, low=0, high=100)
for kind in (*ALL_NUMBERS, "bool"):
    Z = DEEP.astype(kind)
    for mode, order in (("DCR", (0, 3, 4, 1, 5, 2)), ("CRD", (0, 1, 4, 2, 5, 3))):
        parts = (1, 2, 2, 2, 2, 3)
        wide = Z.reshape(parts).transpose(order).reshape(1, 2, 4, 6)
        attrs = {"blocksize": 2, "mode": mode}
        case("DepthToSpace", [Z], attrs, expect=(wide,), label=f"{mode} {kind}")
        if mode == "DCR":
            case("SpaceToDepth", [wide], {"blocksize": 2}, expect=(Z,), label=kind)
case(
    "DepthToSpace",
    [floats(0, 4, 1, 1)],
    {"blocksize": 2},
    expect=(np.zeros((0, 1, 2, 2)),),
    types=FLOATS,
)
bad("DepthToSpace", [floats(1, 3, 1, 1)], {"blocksize": 2}, error=INVALID, words=["block"])
bad(
    "DepthToSpace",
    [floats(1, 4, 1, 1)],
    {"blocksize": 0},
    error=INVALID,
    words=["blocksize"],
    label="0",
)
bad("SpaceToDepth", [floats(1, 1, 3, 2)], {"blocksize": 2}, error=INVALID, words=["block"])
bad(
    "SpaceToDepth",
    [floats(3, 2)],
    {"blocksize": 2},
    error=INVALID,
    words=["n, c, h, w"],
    label="rank",
)

# ---- kernels of gradients of operators that are linear in x: weights times dy ----

case(
    "ResizeGrad",
    [np.array([3]), np.array([1.0, 2.0, 3.0, 4.0, 5.0, 6.0]), None, np.array([2], F32)],
    domain="graphio",
    expect=(np.array([3.0, 7.0, 11.0]),),
    types=FLOATS,
)
case(
    "GridSampleGrad",
    [np.array([[[1.0, 3.0, 7.0]]]), np.array([[[-0.5]]]), np.array([[[2.0]]])],
    {"align_corners": 1},
    domain="graphio",
    expect=(np.array([[[1.0, 1.0, 0.0]]]), np.array([[[4.0]]])),
    types=FLOATS,
)
case(
    "RoiAlignGrad",
    [X[:, :1], np.array([[0.5, 0.5, 2.0, 1.5]]), ONE, np.array([[[[8.0]]]])],
    {"sampling_ratio": 1},
    domain="graphio",
    expect=lambda x, *_: np.pad([[[[1.0, 3.0], [1.0, 3.0]]]], ((0, 0), (0, 0), (0, 2), (0, 3))),
    types=FLOATS,
    label="corners",
)
for label, image, roi, ratio in (
    ("region", X, ROI * 1e9, 0),
    ("ratio", X, ROI, 65535),
    ("ratio in an image without columns", X[..., :0], ROI, 65535),
):
    bad(
        "RoiAlign",
        [image, roi, ONE],
        {"sampling_ratio": ratio},
        error=INVALID,
        words=["RoiAlign 'node'", "samples for a bin"],
        label=f"samples by {label}",
    )
case(
    "RoiAlign",
    [X, np.full((1, 4), np.inf), ONE],
    {"output_height": 2, "sampling_ratio": 1},
    expect=(np.zeros((1, X.shape[1], 2, 1)),),
    types=FLOATS,
    label="nowhere",
)
