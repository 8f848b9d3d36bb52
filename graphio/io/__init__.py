"""tf.io: files."""

from __future__ import annotations

from graphio.io import gfile

__all__ = ["gfile"]
