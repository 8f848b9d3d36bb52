"""TensorBoard's plugins: the projector."""

from __future__ import annotations

from graphio.contrib.tensorboard.plugins import projector

__all__ = ["projector"]
