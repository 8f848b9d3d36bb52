"""tf.image: operators on images (h, w, c) or (n, h, w, c)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework import refusals
from graphio.ops.image.boxes import crop_and_resize, non_max_suppression, non_max_suppression_padded
from graphio.ops.image.colours import (
    adjust_hue,
    adjust_saturation,
    hsv_to_rgb,
    psnr,
    random_hue,
    random_saturation,
    rgb_to_hsv,
    rgb_to_yiq,
    rgb_to_yuv,
    sobel_edges,
    ssim,
    yiq_to_rgb,
    yuv_to_rgb,
)
from graphio.ops.image.cropping import (
    central_crop,
    crop_to_bounding_box,
    pad_to_bounding_box,
    resize_image_with_crop_or_pad,
    resize_image_with_pad,
)
from graphio.ops.image.cropping import resize_image_with_crop_or_pad as resize_with_crop_or_pad
from graphio.ops.image.imaging import (
    ResizeMethod,
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    convert_image_dtype,
    flip_left_right,
    flip_up_down,
    grayscale_to_rgb,
    image_gradients,
    per_image_standardization,
    random_brightness,
    random_contrast,
    random_flip_left_right,
    random_flip_up_down,
    resize_area,
    resize_bicubic,
    resize_bilinear,
    resize_images,
    resize_nearest_neighbor,
    rgb_to_grayscale,
    rot90,
    total_variation,
    transpose_image,
)
from graphio.ops.image.imaging import resize_images as resize
from graphio.ops.image.imaging import transpose_image as transpose
from graphio.ops.image.patches import extract_image_patches, extract_patches
from graphio.ops.random.more import random_crop

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "central_crop",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "extract_image_patches",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "non_max_suppression",
    "non_max_suppression_padded",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_saturation",
    "resize",
    "resize_area",
    "resize_bicubic",
    "resize_bilinear",
    "resize_image_with_crop_or_pad",
    "resize_image_with_pad",
    "resize_images",
    "resize_nearest_neighbor",
    "resize_with_crop_or_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "rot90",
    "sobel_edges",
    "ssim",
    "total_variation",
    "transpose",
    "transpose_image",
    "yiq_to_rgb",
    "yuv_to_rgb",
]

if not TYPE_CHECKING:  # type checkers report names that are left out
    __getattr__ = refusals.getter(__name__)
