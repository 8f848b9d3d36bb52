"""tf.audio: sounds in WAV files."""

from __future__ import annotations

from typing import TYPE_CHECKING

from graphio.framework import refusals
from graphio.ops.media.sounds import decode_wav, encode_wav

__all__ = ["decode_wav", "encode_wav"]

if not TYPE_CHECKING:
    __getattr__ = refusals.getter(__name__)
