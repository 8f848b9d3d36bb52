"""Networks for images, as definitions; their values come from checkpoints or training."""

from __future__ import annotations

import sys

from graphio.contrib.slim.nets import (
    alexnet,
    inception,
    inception_v1,
    inception_v2,
    inception_v3,
    overfeat,
    resnet_utils,
    resnet_v1,
    resnet_v2,
    vgg,
)
from graphio.framework import api_boundary

__all__ = [
    "alexnet",
    "inception",
    "inception_v1",
    "inception_v2",
    "inception_v3",
    "overfeat",
    "resnet_utils",
    "resnet_v1",
    "resnet_v2",
    "vgg",
]

_GUARDED_MODULES = (
    alexnet, inception, inception_v1, inception_v2, inception_v3, overfeat, resnet_utils, resnet_v1,
    resnet_v2, vgg,
)  # fmt: skip
api_boundary.guard_namespace(sys.modules[__name__])
