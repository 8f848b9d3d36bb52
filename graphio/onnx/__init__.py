"""ONNX: complete models in and out, and single nodes. Needs the onnx package; the engines do not.

model = graphio.onnx.load("resnet.onnx")
probabilities = model.signature("predict")(input=images)["probabilities"]

May import saved_model and below. Kernels know the newest meaning of each operator alone: an
import brings every model to opset 28 (upgrade/), and `schema/onnx_forms.json` says from which
version on a node has this meaning. Static types of nodes come from the onnx package; engines
infer their own.

    conversion       load and convert; reading: bytes, external data; exporting, emitting: out
    importing        nodes; expansion: function bodies; bodies: If, Loop, Scan; scope, nodes
    lowering         operators that become others; retyping, widening: types that kernels lack;
                     adapting: other inputs; sequences: those that are not needed
    inference        types by the onnx package; guards: nodes that its C++ does not survive
    ours             operators of domain graphio; ours_images, ours_windows: gradients, whose ONNX
                     form depends on static shapes; composed/: as compositions
    weights          initializers; training: optimizers; backend: for tools; ml/: ai.onnx.ml
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
