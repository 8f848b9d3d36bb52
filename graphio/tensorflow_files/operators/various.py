"""Images, sampling, quantization, sorted and distinct elements."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

import graphio as tf
from graphio.ops.math.buckets import bucketize
from graphio.tensorflow_files.calls import Call, Row
from graphio.tensorflow_files.operators.text import sparse

__all__ = ["ROWS", "SAME"]

SAME = {
    "AdjustHue": "image.adjust_hue", "AdjustSaturation": "image.adjust_saturation",
    "ControlTrigger": "no_op", "DebugGradientIdentity": "identity",
    "GuaranteeConst": "guarantee_const", "HSVToRGB": "image.hsv_to_rgb",
    "InTopKV2": "nn.in_top_k", "MulNoNan": "math.multiply_no_nan",
    "RGBToHSV": "image.rgb_to_hsv", "TensorScatterSub": "tensor_scatter_sub",
    "UnravelIndex": "unravel_index", "UnsortedSegmentProd": "unsorted_segment_prod",
}  # fmt: skip


# ---- elements ----


def _bincount(c: Call) -> Any:
    weights = None if c[2].shape.num_elements() == 0 else c[2]
    size, dtype = c.known(1), c[2].dtype
    return tf.bincount(c[0], weights, size, size, dtype, name=c.name)


def _bucketize(c: Call) -> Any:
    return bucketize(c[0], list(c.attr("boundaries").list.f), name=c.name)


def _histogram(c: Call) -> Any:
    dtype = c.dtype("dtype", tf.int32)
    return tf.histogram_fixed_width(c[0], c[1], c.known(2), dtype, name=c.name)


def _cumulative(c: Call) -> Any:
    axis = int(c.constant(1))
    return tf.math.cumulative_logsumexp(
        c[0], axis, c.flag("exclusive"), c.flag("reverse"), name=c.name
    )


def _norm(c: Call) -> Any:
    axes = c.known(1)
    return tf.math.reduce_euclidean_norm(c[0], axes, c.flag("keep_dims"), name=c.name)


def _stitch(c: Call) -> Any:
    count = c.integer("N")
    return tf.dynamic_stitch(c.tensors[:count], c.tensors[count:], name=c.name)


def _unique_v2(counts: bool, c: Call) -> Any:
    if c.constant(1).size and c[0].shape.ndims != 1:
        raise NotImplementedError("finds the distinct parts of a tensor along an axis, not vectors")
    function = tf.unique_with_counts if counts else tf.unique
    return list(function(c[0], c.dtype("out_idx", tf.int32), name=c.name))


def _bound(side: str, c: Call) -> Any:
    return tf.searchsorted(c[0], c[1], side, c.dtype("out_type", tf.int32), name=c.name)


def _nth(c: Call) -> Any:
    """The element that is number n of the last axis when it is sorted."""
    direction = "DESCENDING" if c.flag("reverse") else "ASCENDING"
    return tf.gather(tf.sort(c[0], direction=direction), c[1], axis=-1, name=c.name)


def _reversed(c: Call) -> Any:
    axes = np.flatnonzero(c.constant(1)).tolist()
    return tf.reverse(c[0], axes, name=c.name)


def _in_place(function: str, c: Call) -> Any:
    x, rows, v = c.tensors
    return getattr(tf, function)(x, tf.expand_dims(rows, -1), v, name=c.name)


def _permuted(values: bool, c: Call) -> Any:
    """DataFormatDimMap: the axes of one layout in another; DataFormatVecPermute: a vector, or
    rows, ordered so."""
    source, target = c.text("src_format", "NHWC"), c.text("dst_format", "NCHW")
    if not values:
        table = tf.constant([target.index(axis) for axis in source], c[0].dtype)
        return tf.gather(table, tf.floormod(c[0], len(source)), name=c.name)
    if c[0].shape[0].value == 2:
        source, target = (_spatial(order) for order in (source, target))
    order = [source.index(axis) for axis in target]
    return tf.gather(c[0], order, name=c.name)


def _spatial(order: str) -> str:
    """The axes of the image alone."""
    return "".join(axis for axis in order if axis in "HWD")


# ---- images and nets ----


def _extract_patches(c: Call) -> Any:
    return tf.image.extract_image_patches(
        c[0], c.integers("ksizes"), c.integers("strides"), c.integers("rates"), c.text("padding"),
        name=c.name,
    )  # fmt: skip


def _crop_and_resize(c: Call) -> Any:
    size = [int(n) for n in c.constant(3)]
    method, outside = c.text("method", "bilinear"), c.number("extrapolation_value", 0.0)
    return tf.image.crop_and_resize(c[0], c[1], c[2], size, method, outside, name=c.name)


def _suppress(c: Call) -> Any:
    overlap = c[3] if len(c) > 3 else c.number("iou_threshold", 0.5)
    lowest = c[4] if len(c) > 4 else float("-inf")
    return tf.image.non_max_suppression(c[0], c[1], c[2], overlap, lowest, name=c.name)


def _dilation(c: Call) -> Any:
    settings = (c.integers("strides"), c.integers("rates"), c.text("padding"))
    return tf.nn.dilation2d(c[0], c[1], *settings, name=c.name)


def _max_pool_argmax(c: Call) -> Any:
    return list(
        tf.nn.max_pool_with_argmax(
            c[0], c.integers("ksize"), c.integers("strides"), c.text("padding"),
            output_dtype=c.dtype("Targmax", tf.int64), name=c.name,
            include_batch_in_index=c.flag("include_batch_in_index"),
        )
    )  # fmt: skip


def _normalized(c: Call) -> Any:
    epsilon, scaled = c.number("variance_epsilon", 0.001), c.flag("scale_after_normalization")
    return tf.nn.batch_norm_with_global_normalization(
        c[0], c[1], c[2], c[3], c[4], epsilon, scaled, name=c.name
    )


def _padded_conv(resized: bool, c: Call) -> Any:
    x = c[0]
    if resized:
        x = tf.image.resize_bilinear(x, c.known(1), c.flag("resize_align_corners"))
    paddings, weights = c.constant(2 if resized else 1), c[-1]
    x = tf.pad(x, paddings.tolist(), c.text("mode"))
    return tf.nn.conv2d(x, weights, c.integers("strides"), c.text("padding"), name=c.name)


def _cross_entropy(is_sparse: bool, c: Call) -> Any:
    """The losses, and the gradients of the logits."""
    logits, labels = c[0], c[1]
    if is_sparse:
        losses = tf.nn.sparse_softmax_cross_entropy_with_logits(labels=labels, logits=logits)
        labels = tf.one_hot(labels, tf.shape(logits)[-1], dtype=logits.dtype)
    else:
        losses = tf.nn.softmax_cross_entropy_with_logits_v2(labels, logits)
    return [tf.identity(losses, name=c.name), tf.nn.softmax(logits) - labels]


def _greedy(c: Call) -> Any:
    (found,), logits = tf.nn.ctc_greedy_decoder(c[0], c[1], c.flag("merge_repeated"))
    return [*sparse(found), logits]


def _ctc_loss(c: Call) -> Any:
    """The losses, and the gradients of the inputs."""
    inputs, lengths = c[0], c[3]
    classes = tf.to_int64(tf.reduce_max(lengths))
    labels = tf.SparseTensor(
        c[1], c[2], tf.stack([tf.shape(inputs, out_type=tf.int64)[1], classes])
    )
    losses = tf.nn.ctc_loss(
        labels, inputs, lengths, c.flag("preprocess_collapse_repeated"),
        c.flag("ctc_merge_repeated", True), c.flag("ignore_longer_outputs_than_inputs"),
    )  # fmt: skip
    return [losses, tf.gradients(losses, inputs)[0]]


# ---- quantization ----


def _quantized(function: str, count: int, c: Call) -> Any:
    settings: dict[str, Any] = {
        "num_bits": c.integer("num_bits", 8), "narrow_range": c.flag("narrow_range")
    }  # fmt: skip
    if "args" in function:
        settings |= {"min": c.number("min", -6.0), "max": c.number("max", 6.0)}
    made = getattr(tf, function)(*c.tensors, **settings, name=c.name)
    return list(made) if count > 1 else made


# ---- draws ----


def _seed(c: Call) -> int | None:
    return c.integer("seed2", 0) or c.integer("seed", 0) or None


def _gamma(c: Call) -> Any:
    return tf.random_gamma(c.known(0), c[1], dtype=c[1].dtype, seed=_seed(c), name=c.name)


def _poisson(c: Call) -> Any:
    dtype = c.dtype("R", c.dtype("dtype", tf.int64))
    return tf.random_poisson(c[1], c.known(0), dtype, _seed(c), name=c.name)


def _multinomial(c: Call) -> Any:
    dtype = c.dtype("output_dtype", tf.int64)
    return tf.multinomial(c[0], c.known(1), _seed(c), output_dtype=dtype, name=c.name)


def _stateless(function: str, c: Call) -> Any:
    dtype = c.dtype("dtype", tf.float32)
    return getattr(tf.random, function)(c.known(0), c[1], dtype=dtype, name=c.name)


def _stateless_integers(c: Call) -> Any:
    dtype = c.dtype("dtype")
    return tf.random.stateless_uniform(c.known(0), c[1], c[2], c[3], dtype, name=c.name)


def _stateless_multinomial(c: Call) -> Any:
    dtype = c.dtype("output_dtype", tf.int64)
    return tf.random.stateless_multinomial(c[0], c.known(1), c[2], dtype, name=c.name)


def _candidates(function: str, c: Call) -> Any:
    settings = [c.integer("num_true"), c.integer("num_sampled"), c.flag("unique")]
    made = getattr(tf.nn, function)(c[0], *settings, c.integer("range_max"), _seed(c), name=c.name)
    return list(made)


def _accidental(c: Call) -> Any:
    return list(tf.nn.compute_accidental_hits(c[0], c[1], c.integer("num_true"), name=c.name))


ROWS: dict[str, Row] = {
    "AccumulateNV2": lambda c: tf.add_n(c.tensors, name=c.name),
    "AdjustContrastv2": lambda c: tf.identity(tf.image.adjust_contrast(c[0], c[1]), name=c.name),
    "BatchNormWithGlobalNormalization": _normalized,
    "BatchToSpace": lambda c: tf.batch_to_space(
        c[0], c.known(1), c.integer("block_size"), name=c.name
    ),
    "Bincount": _bincount,
    "Bucketize": _bucketize,
    "CTCGreedyDecoder": _greedy,
    "CTCLoss": _ctc_loss,
    "ComputeAccidentalHits": _accidental,
    "CropAndResize": _crop_and_resize,
    "CumulativeLogsumexp": _cumulative,
    "DataFormatDimMap": partial(_permuted, False),
    "DataFormatVecPermute": partial(_permuted, True),
    "Dilation2D": _dilation,
    "DynamicPartition": lambda c: tf.dynamic_partition(
        c[0], c[1], c.integer("num_partitions"), name=c.name
    ),
    "DynamicStitch": _stitch,
    "EuclideanNorm": _norm,
    "ExtractImagePatches": _extract_patches,
    "FakeQuantWithMinMaxArgs": partial(_quantized, "fake_quant_with_min_max_args", 1),
    "FakeQuantWithMinMaxArgsGradient": partial(
        _quantized, "fake_quant_with_min_max_args_gradient", 1
    ),
    "FakeQuantWithMinMaxVars": partial(_quantized, "fake_quant_with_min_max_vars", 1),
    "FakeQuantWithMinMaxVarsGradient": partial(
        _quantized, "fake_quant_with_min_max_vars_gradient", 3
    ),
    "FakeQuantWithMinMaxVarsPerChannel": partial(
        _quantized, "fake_quant_with_min_max_vars_per_channel", 1
    ),
    "FakeQuantWithMinMaxVarsPerChannelGradient": partial(
        _quantized, "fake_quant_with_min_max_vars_per_channel_gradient", 3
    ),
    "FusedPadConv2D": partial(_padded_conv, False),
    "FusedResizeAndPadConv2D": partial(_padded_conv, True),
    "HistogramFixedWidth": _histogram,
    "InTopK": lambda c: tf.nn.in_top_k(c[0], c[1], c.integer("k"), name=c.name),
    "InplaceAdd": partial(_in_place, "tensor_scatter_add"),
    "InplaceSub": partial(_in_place, "tensor_scatter_sub"),
    "InplaceUpdate": partial(_in_place, "tensor_scatter_update"),
    "ListDiff": lambda c: list(tf.setdiff1d(c[0], c[1], c.dtype("out_idx", tf.int32), name=c.name)),
    "LogUniformCandidateSampler": partial(_candidates, "log_uniform_candidate_sampler"),
    "LowerBound": partial(_bound, "left"),
    "MaxPoolWithArgmax": _max_pool_argmax,
    "Multinomial": _multinomial,
    "NonMaxSuppression": _suppress,
    "NonMaxSuppressionV2": _suppress,
    "NonMaxSuppressionV3": _suppress,
    "NthElement": _nth,
    "ParallelDynamicStitch": _stitch,
    "RandomGamma": _gamma,
    "RandomPoisson": _poisson,
    "RandomPoissonV2": _poisson,
    "RandomShuffle": lambda c: tf.random_shuffle(c[0], _seed(c), name=c.name),
    "ResizeArea": lambda c: tf.image.resize_area(
        c[0], c.known(1), c.flag("align_corners"), name=c.name
    ),
    "Reverse": _reversed,
    "SoftmaxCrossEntropyWithLogits": partial(_cross_entropy, False),
    "SpaceToBatch": lambda c: tf.space_to_batch(
        c[0], c.known(1), c.integer("block_size"), name=c.name
    ),
    "SparseSoftmaxCrossEntropyWithLogits": partial(_cross_entropy, True),
    "StatelessMultinomial": _stateless_multinomial,
    "StatelessRandomNormal": partial(_stateless, "stateless_normal"),
    "StatelessRandomUniform": partial(_stateless, "stateless_uniform"),
    "StatelessRandomUniformInt": _stateless_integers,
    "StatelessTruncatedNormal": partial(_stateless, "stateless_truncated_normal"),
    "UniformCandidateSampler": partial(_candidates, "uniform_candidate_sampler"),
    "UniqueV2": partial(_unique_v2, False),
    "UniqueWithCounts": lambda c: list(
        tf.unique_with_counts(c[0], c.dtype("out_idx", tf.int32), name=c.name)
    ),
    "UniqueWithCountsV2": partial(_unique_v2, True),
    "UpperBound": partial(_bound, "right"),
}
