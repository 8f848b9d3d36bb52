"""Rules for normalisation, dropout, resizing, scattering."""

from __future__ import annotations

import numpy as np
import onnx

from graphio.onnx.upgrade.step import Step, Unsupported

__all__ = [
    "dropout_mask_type",
    "dropout_mode",
    "dropout_ratio",
    "normalization_mode",
    "normalization_outputs",
    "normalization_spatial",
    "reshape_shape",
    "resize_asymmetric",
    "resize_corners",
    "resize_inputs",
    "scales_of_sides",
    "scatter_elements",
    "upsample_to_resize",
]


def normalization_mode(step: Step) -> None:
    """BatchNormalization 6 trains unless is_test says otherwise."""
    if step.take("is_test", 0):
        _drop_outputs(step, 1)
    else:
        step.set("training_mode", 1)


def _drop_outputs(step: Step, first: int) -> None:
    """Removes the outputs from `first` on, which nothing may read."""
    for i in range(first, len(step.node.output)):
        if step.is_read(i):
            raise Unsupported(
                f"its output {step.output(i)!r} has no equal in later opsets",
                "remove what reads it",
            )
    step.keep_outputs(first)


def normalization_spatial(step: Step) -> None:
    """spatial=0 has a mean and a variance for each position of each channel: as many channels."""
    if step.take("spatial", 1):
        return
    x, mean = step.input(0), step.input(3)
    shape = step.add("Shape", x, suffix="shape")
    flat = step.constant([-1], "all")
    statistics = step.add("Shape", mean, suffix="statistics_shape")
    step.set_input(0, step.add("Flatten", x, suffix="matrix", axis=1))
    for i, name in enumerate(("scale", "bias", "mean", "var"), 1):
        step.set_input(i, step.add("Reshape", step.input(i), flat, suffix=name))
    shapes = ((0, "y", shape), (1, "running_mean", statistics), (2, "running_var", statistics))
    for i, name, shape in shapes:
        if step.output(i):
            made, old = step.redirect_output(i, f"flat_{name}")
            step.add_after("Reshape", made, shape, output=old, suffix=name, allowzero=1)


def normalization_outputs(step: Step) -> None:
    """BatchNormalization 9 trains where it has more outputs than Y."""
    if any(step.node.output[1:]):
        step.set("training_mode", 1)
    _drop_outputs(step, 3)


def dropout_mode(step: Step) -> None:
    """Dropout 6 drops unless is_test says otherwise."""
    if not step.take("is_test", 0):
        step.set_input(2, step.constant(True, "training_mode", np.bool_))


def dropout_mask_type(step: Step) -> None:
    """Dropout 7 gives the mask in the data's type."""
    if not step.is_read(1):
        step.keep_outputs(1)
        return
    mask, old = step.redirect_output(1, "mask")
    step.add_after("CastLike", mask, step.input(0), output=old, suffix="mask_like")


def dropout_ratio(step: Step) -> None:
    """Dropout 10 has the ratio as an attribute, by default 0.5 as the input is."""
    ratio = step.constant_of("ratio")
    if ratio is not None:
        step.set_input(1, ratio)


def scales_of_sides(step: Step) -> None:
    """Upsample 1 scales the height and the width of images in NCHW."""
    height, width = step.take("height_scale"), step.take("width_scale")
    step.set("scales", [1.0, 1.0, height, width])
    if step.value("mode") == "bilinear":
        step.set("mode", "linear")


def upsample_to_resize(step: Step) -> None:
    """Upsample 9 takes the pixel at or before a coordinate."""
    step.node.op_type = "Resize"
    _make_asymmetric(step, step.input(0), step.input(1), "floor")


def _make_asymmetric(step: Step, data: str, scales: str, nearest: str) -> None:
    step.set_inputs(data, "", scales)
    step.set("coordinate_transformation_mode", "asymmetric")
    if step.value("mode", "nearest") == "nearest":
        step.set("nearest_mode", nearest)


def resize_asymmetric(step: Step) -> None:
    """Resize 10 takes the pixel before a coordinate where it enlarges, after it where it shrinks.

    So a Resize with unknown scales becomes two: one that enlarges and one that shrinks.
    """
    data, scales = step.input(0), step.input(1)
    known = step.known(scales)
    linear = step.value("mode", "nearest") != "nearest"
    if linear or (known is not None and (known >= 1).all()):
        _make_asymmetric(step, data, scales, "floor")
    elif known is not None and (known <= 1).all():
        _make_asymmetric(step, data, scales, "ceil")
    else:
        one = step.constant(1, "one", np.float32)
        larger = step.add("Max", scales, one, suffix="scales_up")
        enlarged = step.add(
            "Resize",
            data,
            "",
            larger,
            suffix="enlarged",
            mode="nearest",
            coordinate_transformation_mode="asymmetric",
            nearest_mode="floor",
        )
        smaller = step.add("Min", scales, one, suffix="scales_down")
        _make_asymmetric(step, enlarged, smaller, "ceil")


#: nearest_mode that counts from half a pixel further left
_HALF_LEFT = {"floor": "round_prefer_ceil", "round_prefer_floor": "ceil"}


def resize_inputs(step: Step) -> None:
    """Resize 11 has all of its inputs; what is unused is absent now, not empty."""
    sizes = step.known(step.input(3))
    if sizes is not None and not sizes.size:
        step.set_inputs(*(step.input(i) for i in range(3)))
    if step.input(3):
        step.set_input(2, "")
    mode = step.value("coordinate_transformation_mode")
    if mode != "tf_crop_and_resize":
        step.set_input(1, "")
    if mode == "tf_half_pixel_for_nn":
        _without_half_pixel_for_nn(step)


def _without_half_pixel_for_nn(step: Step) -> None:
    """It counts from (x + 0.5) / scale: half a pixel further right than half_pixel does."""
    nearest = step.value("nearest_mode", "round_prefer_floor")
    if step.value("mode", "nearest") != "nearest" or nearest not in _HALF_LEFT:
        raise Unsupported(
            "coordinate_transformation_mode 'tf_half_pixel_for_nn' is gone",
            "use 'half_pixel', or mode 'nearest' with nearest_mode 'floor'",
        )
    step.set("coordinate_transformation_mode", "half_pixel")
    step.set("nearest_mode", _HALF_LEFT[nearest])


_LARGEST = 1 << 31  # times as large: no size is


def resize_corners(step: Step) -> None:
    """Resize 18 aligns corners by the complete lengths of both; later ones by length times scale,
    which need not be an integer. Given the sizes, all are equal."""
    mode, axes = step.attribute("coordinate_transformation_mode"), step.attribute("axes")
    scales = step.input(2)
    if mode is None or mode.s != b"align_corners" or not scales or step.input(3):
        return
    if step.attribute("antialias") is not None or (axes is not None and axes.ref_attr_name):
        return
    sizes = _sizes(step, scales, None if axes is None else list(axes.ints))
    if sizes:
        step.drop("keep_aspect_ratio_policy")
        step.set_input(2, "")
        step.set_input(3, sizes)


def _sizes(step: Step, scales: str, axes: list[int] | None) -> str:
    """The data's sizes times the scales; "" where they are known to be integers."""
    data, known = step.input(0), step.known(scales)
    if known is not None and not ((0 < known) & (known < _LARGEST)).all():
        return ""  # the run refuses them
    kept = 0
    if known is not None and axes is None:
        kept = next((i for i, factor in enumerate(known) if factor != 1), len(known))
    dims = step.dims(data)
    old = None if dims is None else dims[kept:] if axes is None else [dims[a] for a in axes]
    if known is not None and old is not None and None not in old:
        exact = np.asarray(old, np.float32) * known[kept:]
        if (exact == np.floor(exact)).all():
            return ""
        new = step.constant(exact.astype(np.int64), "new_sizes")
    else:
        factors = scales
        if known is not None and kept:
            factors = step.constant(known[kept:], "factors", np.float32)
        new = _scaled(step, data, factors, kept, axes)
    if not kept:
        return new
    return step.add(
        "Concat", step.add("Shape", data, suffix="kept", end=kept), new, suffix="sizes", axis=0
    )


def _scaled(step: Step, data: str, factors: str, first: int, axes: list[int] | None) -> str:
    """The sizes from a dimension on, or along axes, times the factors, without fractions."""
    shape = step.add("Shape", data, suffix="shape", start=first)
    if axes is not None:
        shape = step.add("Gather", shape, step.constant(axes, "axes"), suffix="old_sizes")
    wide = step.add("Cast", shape, suffix="real_sizes", to=onnx.TensorProto.FLOAT)
    exact = step.add("Mul", wide, factors, suffix="exact_sizes")
    return step.add("Cast", exact, suffix="new_sizes", to=onnx.TensorProto.INT64)


def scatter_elements(step: Step) -> None:
    """Scatter has another name."""
    step.node.op_type = "ScatterElements"


def reshape_shape(step: Step) -> None:
    """Reshape 1 has the shape as an attribute."""
    shape = step.constant_of("shape")
    if shape is None:
        raise Unsupported("it has no attribute 'shape'", "give the new shape")
    step.set_input(1, shape)
