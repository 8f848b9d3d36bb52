"""tf.contrib.image: rotations, movements and warps of images."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

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
    "angles_to_projective_transforms",
    "compose_transforms",
    "dense_image_warp",
    "flat_transforms_to_matrices",
    "interpolate_spline",
    "matrices_to_flat_transforms",
    "rotate",
    "sparse_image_warp",
    "transform",
    "translate",
    "translations_to_projective_transforms",
]

api_boundary.guard_namespace(sys.modules[__name__])

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
