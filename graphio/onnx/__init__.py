"""ONNX: whole models in and out, and single nodes. Needs the onnx package; the engines do not.

model = graphio.onnx.load("resnet.onnx", "cinfer")
probabilities = model.signature("predict")(input=images)["probabilities"]
"""

from __future__ import annotations

from graphio.onnx.conversion import SIGNATURE, convert, load
from graphio.onnx.exporting import export, from_model
from graphio.onnx.importing import Imported, import_model
from graphio.onnx.nodes import call

__all__ = [
    "SIGNATURE",
    "Imported",
    "call",
    "convert",
    "export",
    "from_model",
    "import_model",
    "load",
]
