"""tf.layers.experimental: layers whose variables belong to no scope."""

from __future__ import annotations

from graphio.layers.keras_style import keras_style_scope, set_keras_style

__all__ = ["keras_style_scope", "set_keras_style"]
