"""Scenes of tf.contrib.slim.nets, on images as small as each network takes."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from typing import Any

import numpy as np

from contrib_scenes.recording import numbers

Scene = Callable[[Any, Any], Any]


def net(module: str, name: str, size: int, *arguments: Any, **options: Any) -> Scene:
    """Names and shapes of a network's variables and end points, each as a checksum.

    The values of a complete network are checked by the smaller scenes.
    """

    def scene(tf: Any, contrib: Any) -> Any:
        slim, nets = contrib("slim"), contrib("nets")
        family = getattr(nets, module)
        made = getattr(family, options.get("scope", f"{name}_arg_scope"))
        with tf.Graph().as_default():
            images = tf.zeros([1, size, size, 3])
            with slim.arg_scope(made()):
                outputs, ends = getattr(family, name)(images, *arguments, **options.get("args", {}))
            rows = [f"{v.op.name} {v.shape.as_list()}" for v in tf.global_variables()]
            rows += [f"{key} {y.shape.as_list()}" for key, y in sorted(ends.items())]
            losses = len(tf.get_collection(tf.GraphKeys.REGULARIZATION_LOSSES))
            trained, moving = len(tf.trainable_variables()), len(tf.get_collection("moving_vars"))
            shape = outputs.shape.as_list()
        print_of = [zlib.crc32(row.encode()) for row in rows]
        return tf.constant(np.int64([*print_of, losses, trained, moving, *shape]))

    return scene


def unit(module: str, **options: Any) -> Scene:
    """A residual network of two small blocks."""

    def scene(tf: Any, contrib: Any) -> Any:
        slim, nets = contrib("slim"), contrib("nets")
        family, block = getattr(nets, module), nets.resnet_utils.Block
        unit = {"depth": 8, "depth_bottleneck": 2}
        blocks = [
            block("a", family.bottleneck, [{**unit, "stride": 1}, {**unit, "stride": 2}]),
            block("b", family.bottleneck, [{**unit, "stride": 2}, {**unit, "stride": 1}]),
        ]
        images = tf.constant(numbers("image", (1, 17, 16, 3)))
        with slim.arg_scope(nets.resnet_utils.resnet_arg_scope()):
            outputs, ends = getattr(family, module)(images, blocks, is_training=False, **options)
        return [outputs, tf.constant(sorted(ends))]

    return scene


def small(module: str, end_point: str, size: int = 24, **options: Any) -> Scene:
    """An Inception network up to an end point."""

    def scene(tf: Any, contrib: Any) -> Any:
        slim, nets = contrib("slim"), contrib("nets")
        family = getattr(nets, module)
        images = tf.constant(numbers("image", (1, size, size, 3)))
        with slim.arg_scope(getattr(family, f"{module}_arg_scope")()):
            with slim.arg_scope([slim.batch_norm], is_training=False):
                outputs, ends = getattr(family, f"{module}_base")(
                    images, end_point, scope="net", **options
                )
        return [tf.reduce_mean(outputs, 3), tf.constant(sorted(ends))]

    return scene


SCENES: dict[str, Scene] = {
    "alexnet_v2": net("alexnet", "alexnet_v2", 224, 10),
    "overfeat": net("overfeat", "overfeat", 231, 10),
    "vgg_a": net("vgg", "vgg_a", 224, 10, scope="vgg_arg_scope"),
    "vgg_16": net("vgg", "vgg_16", 224, scope="vgg_arg_scope"),
    "vgg_19": net("vgg", "vgg_19", 224, 5, False, scope="vgg_arg_scope"),
    "inception_v1": net("inception_v1", "inception_v1", 224, 10),
    "inception_v2": net("inception_v2", "inception_v2", 224, 10),
    "inception_v2 of fewer filters": net(
        "inception_v2", "inception_v2", 96, 10, args={"depth_multiplier": 0.5}
    ),
    "inception_v3": net("inception_v3", "inception_v3", 299, 10),
    "resnet_v1_50": net("resnet_v1", "resnet_v1_50", 64, 10, scope="resnet_arg_scope"),
    "resnet_v1_101": net("resnet_v1", "resnet_v1_101", 64, scope="resnet_arg_scope"),
    "resnet_v2_50": net(
        "resnet_v2", "resnet_v2_50", 65, scope="resnet_arg_scope", args={"output_stride": 8}
    ),
    "resnet_v2_152": net("resnet_v2", "resnet_v2_152", 64, 10, scope="resnet_arg_scope"),
    "units of v1": unit("resnet_v1"),
    "units of v1 with classes": unit("resnet_v1", num_classes=3, global_pool=False),
    "units of v1 with dilations": unit("resnet_v1", output_stride=8),
    "units of v2": unit("resnet_v2", num_classes=3),
    "units of v2 without a root": unit("resnet_v2", include_root_block=False, output_stride=2),
    "inception_v1 to Mixed_3b": small("inception_v1", "Mixed_3b"),
    "inception_v2 to Mixed_4a": small("inception_v2", "Mixed_4a", depth_multiplier=0.25),
    "inception_v3 to Mixed_5c": small("inception_v3", "Mixed_5c", 80, depth_multiplier=0.1),
}
