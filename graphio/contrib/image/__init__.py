"""tf.contrib.image: rotations, movements and warps of images, their colours and components."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from graphio.contrib.image.colours import adjust_hsv_in_yiq, random_hsv_in_yiq
from graphio.contrib.image.colours import adjust_hsv_in_yiq as adjust_yiq_hsv
from graphio.contrib.image.colours import random_hsv_in_yiq as random_yiq_hsv
from graphio.contrib.image.matching import bipartite_match, connected_components
from graphio.contrib.image.transforms import (
    angles_to_projective_transforms,
    compose_transforms,
    flat_transforms_to_matrices,
    matrices_to_flat_transforms,
    rotate,
    transform,
    translate,
    translations_to_projective_transforms,
)
from graphio.contrib.image.warps import dense_image_warp, interpolate_spline, sparse_image_warp
from graphio.framework import api_boundary, refusals

__all__ = [
    "adjust_hsv_in_yiq",
    "adjust_yiq_hsv",
    "angles_to_projective_transforms",
    "bipartite_match",
    "compose_transforms",
    "connected_components",
    "dense_image_warp",
    "flat_transforms_to_matrices",
    "interpolate_spline",
    "matrices_to_flat_transforms",
    "random_hsv_in_yiq",
    "random_yiq_hsv",
    "rotate",
    "sparse_image_warp",
    "transform",
    "translate",
    "translations_to_projective_transforms",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
