"""tf.image: operators on images (h, w, c) or (n, h, w, c), and pictures in files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework import refusals
from graphio.ops.image.boxes import crop_and_resize, non_max_suppression, non_max_suppression_padded
from graphio.ops.image.colours import (
    adjust_hue,
    adjust_saturation,
    hsv_to_rgb,
    random_hue,
    random_saturation,
    rgb_to_hsv,
    rgb_to_yiq,
    rgb_to_yuv,
    sobel_edges,
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
from graphio.ops.image.distortion import sample_distorted_bounding_box
from graphio.ops.image.drawing import draw_bounding_boxes
from graphio.ops.image.glimpses import extract_glimpse
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
from graphio.ops.image.similarity import psnr, ssim, ssim_multiscale
from graphio.ops.image.suppression import (
    combined_non_max_suppression,
    non_max_suppression_overlaps,
    non_max_suppression_with_scores,
)
from graphio.ops.media.decoding import (
    decode_and_crop_jpeg,
    decode_bmp,
    decode_gif,
    decode_image,
    decode_jpeg,
    decode_png,
    extract_jpeg_shape,
    is_jpeg,
)
from graphio.ops.media.encoding import (
    adjust_jpeg_quality,
    encode_jpeg,
    encode_png,
    random_jpeg_quality,
)
from graphio.ops.random.more import random_crop

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_jpeg_quality",
    "adjust_saturation",
    "central_crop",
    "combined_non_max_suppression",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_bmp",
    "decode_gif",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "draw_bounding_boxes",
    "encode_jpeg",
    "encode_png",
    "extract_glimpse",
    "extract_image_patches",
    "extract_jpeg_shape",
    "extract_patches",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "image_gradients",
    "is_jpeg",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
    "pad_to_bounding_box",
    "per_image_standardization",
    "psnr",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_jpeg_quality",
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
    "sample_distorted_bounding_box",
    "sobel_edges",
    "ssim",
    "ssim_multiscale",
    "total_variation",
    "transpose",
    "transpose_image",
    "yiq_to_rgb",
    "yuv_to_rgb",
]

if not TYPE_CHECKING:  # type checkers report names that are left out
    __getattr__ = refusals.getter(__name__)
