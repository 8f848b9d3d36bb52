"""ONNX: single nodes, whole models in and out. Needs the onnx package; the engines do not."""

from __future__ import annotations

from graphio.onnx.nodes import call

__all__ = ["call"]
